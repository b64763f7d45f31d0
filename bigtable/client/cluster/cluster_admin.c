/* Calls of the master, most of them changes of tables: each is tried again
 * while there is no master, with the same idempotency key in every try. A try
 * whose answer was lost may have taken effect: `unsure` says so, and an answer
 * that the table exists (or does not) then counts as success.
 */
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/lock_files.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/control_calls.h"

/* A call of the master. */
struct order {
    struct cluster *cluster;
    uint32_t method;
    struct table_order order;
    struct slice body; /* Instead of `order`, if not empty. */
    struct buf *reply; /* NULL: it has none. */
    uint64_t key;      /* The same in every try. */
    bool unsure;       /* An earlier try may have been done. */
};

static int find_master(struct cluster *c, struct buf *address, struct err *err)
{
    struct slice text;
    int rc = lock_file_read(c->master, &text, NULL, err);
    if (rc == ERR_NOTFOUND || (rc == 0 && slice_trim(text).len == 0)) {
        rc = err_set(err, ERR_UNAVAILABLE, "the cluster has no master yet");
        err_hint(err, "does a server run with the role master? see: "
                      "quarry cluster status");
    }
    if (rc == 0)
        buf_append_slice(address, slice_trim(text));
    return rc;
}

static int call_master(struct order *o, struct slice body, struct err *err)
{
    struct cluster *c = o->cluster;
    bool sent = false;
    struct rpc_call_options opts = {.idempotency_key = o->key,
                                    .act_as = slice_str(c->as ? c->as : ""),
                                    .sent = &sent};
    struct buf address = BUF_INIT;
    int rc = find_master(c, &address, err);
    if (rc == 0) {
        c->counts->master_calls++;
        rc = channel_set_call(c->channels, buf_slice(&address), o->method,
                              &opts, body, SLICE_EMPTY, o->reply, NULL, err);
        if (rc == ERR_UNAVAILABLE || rc == ERR_CLOSED || rc == ERR_DEADLINE) {
            o->unsure |= sent;
            lock_file_forget(c->master);
            err_wrap(err, "master %s", buf_cstr(&address));
        }
    }
    buf_close(&address);
    return rc;
}

static int order_on_loop(void *arg, struct err *err)
{
    struct order *o = arg;
    struct retry retry = {.cluster = o->cluster};
    struct buf body = BUF_INIT;
    int rc;
    o->key = world_random(o->cluster->world) | 1;
    if (o->body.len)
        buf_append_slice(&body, o->body);
    else
        table_order_put(&o->order, &body);
    do
        rc = call_master(o, buf_slice(&body), err);
    while (rc && retry_again(&retry, &rc, err));
    buf_close(&body);
    return rc;
}

static int give_order(struct order *o, uint64_t timeout_us, struct err *err)
{
    return cluster_do(o->cluster, "master call", timeout_us, order_on_loop, o,
                      err);
}

int cluster_call_master(struct cluster *c,
                        uint32_t method,
                        struct slice body,
                        uint64_t timeout_us,
                        struct buf *reply,
                        bool *unsure,
                        struct err *err)
{
    struct order o = {
        .cluster = c, .method = method, .body = body, .reply = reply};
    int rc = give_order(&o, timeout_us, err);
    if (unsure)
        *unsure = o.unsure;
    return rc;
}

/* --- tables -------------------------------------------------------------- */

struct comparison {
    struct cluster *cluster;
    const char *name;
    struct slice schema;
    bool same;
};

static int compare_on_loop(void *arg, struct err *err)
{
    struct comparison *c = arg;
    struct cluster_table *t;
    struct buf there = BUF_INIT;
    int rc = cluster_table_new(c->cluster, c->name, &t, err);
    if (rc)
        return rc;
    schema_encode(t->schema, &there);
    c->same = slice_eq(buf_slice(&there), c->schema);
    buf_close(&there);
    cluster_table_unref(t);
    return 0;
}

/* After a lost answer: a table that is as we asked for is ours. */
static bool is_made(struct cluster *c, const char *name, struct slice schema)
{
    struct comparison cmp = {c, name, schema, false};
    return cluster_do(c, "table compare", 0, compare_on_loop, &cmp, NULL) ==
               0 &&
           cmp.same;
}

int cluster_table_create(struct quarry *q,
                         const char *name,
                         const struct schema *schema,
                         struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct order o = {.cluster = q->cluster, .method = MASTER_CREATE_TABLE};
    int rc = schema_check_table_name(slice_str(name), err);
    if (rc)
        return rc;
    schema_encode(schema, &bytes);
    o.order.name = slice_str(name);
    o.order.schema = buf_slice(&bytes);
    rc = give_order(&o, 0, err);
    if (rc == ERR_EXISTS && o.unsure &&
        is_made(q->cluster, name, o.order.schema))
        rc = 0;
    buf_close(&bytes);
    return rc;
}

int cluster_table_drop(struct quarry *q, const char *name, struct err *err)
{
    struct order o = {.cluster = q->cluster,
                      .method = MASTER_DROP_TABLE,
                      .order = {.name = slice_str(name)}};
    int rc = give_order(&o, 0, err);
    return rc == ERR_NOTFOUND && o.unsure ? 0 : rc;
}

int cluster_table_alter(struct quarry *q,
                        const char *name,
                        const struct quarry_alter *changes,
                        size_t change_count,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct order o = {.cluster = q->cluster,
                      .method = MASTER_ALTER_TABLE,
                      .order = {.name = slice_str(name)}};
    int rc;
    if (change_count > ALTER_CHANGES_MAX)
        return err_set(err, ERR_TOOBIG, "alter table %s: more than %d changes",
                       name, ALTER_CHANGES_MAX);
    alter_put(changes, change_count, &bytes);
    o.order.schema = buf_slice(&bytes);
    rc = give_order(&o, 0, err);
    if (rc)
        err_wrap(err, "alter table %s", name);
    buf_close(&bytes);
    return rc;
}

/* --- maintenance --------------------------------------------------------- */

int cluster_flush(struct quarry *q, struct err *err)
{
    struct order o = {.cluster = q->cluster,
                      .method = MASTER_FLUSH,
                      .order = {.name = SLICE_EMPTY}};
    return give_order(&o, CLUSTER_NO_TIMEOUT, err);
}

int cluster_table_split(struct quarry *q,
                        const char *name,
                        struct slice row,
                        struct err *err)
{
    struct order o = {.cluster = q->cluster,
                      .method = MASTER_SPLIT,
                      .order = {.name = slice_str(name), .row = row}};
    return give_order(&o, 0, err);
}

int cluster_table_move_tablet(struct quarry *q,
                              const char *name,
                              struct slice row,
                              const char *server,
                              struct quarry_move *out,
                              struct err *err)
{
    const struct move_order m = {
        .table = slice_str(name), .row = row, .server = slice_str(server)};
    struct move_reply r = {.tablet = 0};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    move_order_put(&m, &body);
    rc = cluster_call_master(q->cluster, MASTER_MOVE, buf_slice(&body),
                             CLUSTER_NO_TIMEOUT, &reply, NULL, err);
    if (rc == 0)
        rc = move_reply_get(buf_slice(&reply), &r, err);
    *out = (struct quarry_move){r.tablet, r.from, r.to, r.unserved_us};
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int cluster_table_compact(struct quarry *q,
                          const char *name,
                          struct slice start,
                          struct slice end,
                          struct err *err)
{
    struct order o = {
        .cluster = q->cluster,
        .method = MASTER_COMPACT,
        .order = {.name = slice_str(name), .row = start, .row_end = end}};
    return give_order(&o, CLUSTER_NO_TIMEOUT, err);
}

int cluster_table_drop_rows(struct quarry *q,
                            const char *name,
                            struct slice start,
                            struct slice end,
                            struct err *err)
{
    struct order o = {
        .cluster = q->cluster,
        .method = MASTER_DROP_ROWS,
        .order = {.name = slice_str(name), .row = start, .row_end = end}};
    return give_order(&o, CLUSTER_NO_TIMEOUT, err);
}
