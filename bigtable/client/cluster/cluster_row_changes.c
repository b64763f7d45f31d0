/* Changes of a row that depend on what is in it: every try carries the same
 * numbers, under which the tablet remembers what it answered. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/resolve.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"

/* A call that must be done once. */
struct once {
    struct cluster *cluster;
    struct cluster_table *table;
    struct slice row;
    uint32_t method;
    struct change_block id; /* One number. */
    /* Writes the body and the attachment for the tablet @where. */
    void (*put)(const struct once *o,
                const struct location *where,
                struct buf *body,
                struct buf *attachment);
    void *ctx;
    struct buf reply;
    struct buf reply_attachment;
};

static int try_at(struct once *o, struct location *where, struct err *err)
{
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    int rc;
    o->put(o, where, &body, &attachment);
    buf_clear(&o->reply);
    buf_clear(&o->reply_attachment);
    rc = tablet_call(o->cluster, where, o->method, NULL, buf_slice(&body),
                     buf_slice(&attachment), &o->reply, &o->reply_attachment,
                     err);
    buf_close(&body);
    buf_close(&attachment);
    return rc;
}

static int try_once(struct once *o, struct err *err)
{
    struct location *where;
    int rc = cluster_table_refresh(o->table, err);
    if (rc == 0)
        rc = locator_find(o->cluster->locator, o->table->id, o->row, &where,
                          err);
    if (rc)
        return rc;
    rc = try_at(o, where, err);
    location_unref(where);
    return rc;
}

static int do_once(struct once *o, struct err *err)
{
    struct retry retry = {.cluster = o->cluster, .is_change = true};
    int rc;
    change_ids_open(o->cluster->changes, &o->id, 1);
    do
        rc = try_once(o, err);
    while (rc && retry_again(&retry, &rc, err));
    change_ids_close(o->cluster->changes, &o->id);
    return rc;
}

static void once_close(struct once *o)
{
    buf_close(&o->reply);
    buf_close(&o->reply_attachment);
}

/* --- check and mutate ---------------------------------------------------- */

struct check {
    struct quarry_table *table;
    struct slice row;
    const struct quarry_filter *predicate;
    const struct quarry_mutation *if_true;
    const struct quarry_mutation *if_false;
    uint8_t durability;
    bool matched;
};

static void put_check(const struct once *o,
                      const struct location *where,
                      struct buf *body,
                      struct buf *attachment)
{
    const struct check *c = o->ctx;
    uint64_t tablet = where->tablet;
    struct check_request r = {.tablet = tablet,
                              .origin = change_ids_origin(o->cluster->changes),
                              .sequence = o->id.first,
                              .durability = c->durability,
                              .row = c->row,
                              .has_filter = c->predicate != NULL,
                              .has_true = c->if_true != NULL,
                              .has_false = c->if_false != NULL};
    struct buf filter = BUF_INIT;
    if (c->predicate)
        filter_encode(c->predicate, &filter);
    r.filter = buf_slice(&filter);
    check_request_put(&r, body);
    if (c->if_true)
        row_change_mutation_put(tablet, 0, c->if_true, attachment);
    if (c->if_false)
        row_change_mutation_put(tablet, 0, c->if_false, attachment);
    buf_close(&filter);
}

static int check_branch(struct cluster_table *t,
                        const struct quarry_mutation *m,
                        struct slice row,
                        struct err *err)
{
    int rc = m ? mutation_check(m, err) : 0;
    if (rc == 0 && m && !slice_eq(buf_slice(&m->row), row))
        rc = err_set(err, ERR_INVALID,
                     "check and mutate: a mutation is of another row");
    if (rc == 0 && m)
        rc = mutation_families_check(t, m, err);
    return rc;
}

/* Refuse requests that are invalid whatever the row holds. */
static int
check_request(struct cluster_table *t, const struct check *c, struct err *err)
{
    int rc = row_name_check(c->row, err);
    if (rc == 0)
        rc = check_branch(t, c->if_true, c->row, err);
    if (rc == 0)
        rc = check_branch(t, c->if_false, c->row, err);
    if (rc == 0 && !c->if_true && !c->if_false)
        rc = err_set(err, ERR_INVALID,
                     "check and mutate: there is nothing to apply");
    if (rc == 0 && c->predicate)
        rc = filter_check(c->predicate, err);
    return rc;
}

static int check_on_loop(void *arg, struct err *err)
{
    struct check *c = arg;
    struct cluster_table *t = cluster_table_ref(c->table->remote);
    struct once o = {.cluster = t->cluster,
                     .table = t,
                     .row = c->row,
                     .method = TABLET_CHECK,
                     .put = put_check,
                     .ctx = c};
    struct check_reply reply = {false};
    int rc = cluster_table_refresh(t, err);
    if (rc == 0)
        rc = check_request(t, c, err);
    if (rc == 0)
        rc = do_once(&o, err);
    if (rc == 0)
        rc = check_reply_get(buf_slice(&o.reply), &reply, err);
    c->matched = reply.matched;
    once_close(&o);
    cluster_table_unref(t);
    return rc;
}

int cluster_check_and_mutate(struct quarry_table *t,
                             struct slice row,
                             const struct quarry_filter *predicate,
                             const struct quarry_mutation *if_true,
                             const struct quarry_mutation *if_false,
                             const struct quarry_write_options *opts,
                             bool *matched,
                             struct err *err)
{
    struct check c = {.table = t,
                      .row = row,
                      .predicate = predicate,
                      .if_true = if_true,
                      .if_false = if_false,
                      .durability = cluster_durability(opts)};
    int rc = cluster_do(t->quarry->cluster, "tables check", 0, check_on_loop,
                        &c, err);
    if (rc == 0 && matched)
        *matched = c.matched;
    return rc;
}

/* --- read, modify, write ------------------------------------------------- */

struct modification {
    struct quarry_table *table;
    struct modify_request request;
    struct quarry_row **out;
};

static void put_modify(const struct once *o,
                       const struct location *where,
                       struct buf *body,
                       struct buf *attachment)
{
    const struct modification *m = o->ctx;
    struct modify_request r = m->request;
    (void)attachment;
    r.tablet = where->tablet;
    r.origin = change_ids_origin(o->cluster->changes);
    r.sequence = o->id.first;
    modify_request_put(&r, body);
}

static int
take_row(const struct once *o, struct quarry_row **out, struct err *err)
{
    const struct quarry_row *row;
    struct row_decoder d;
    int rc;
    row_decoder_init(&d, buf_slice(&o->reply_attachment));
    rc = row_decoder_next(&d, &row, err);
    if (rc == 0 && !row)
        rc = err_set(err, ERR_CORRUPT, "an answer without a row");
    if (rc == 0 && out)
        *out = row_copy(row);
    row_decoder_close(&d);
    return rc;
}

static int check_rules(const struct modify_request *r, struct err *err)
{
    size_t bytes = 0;
    if (r->rule_count == 0)
        return err_set(err, ERR_INVALID, "read, modify, write: no rules");
    for (size_t i = 0; i < r->rule_count; i++)
        bytes += r->rules[i].append.len + r->rules[i].qualifier.len;
    if (r->rule_count > MODIFY_RULES_MAX || bytes > MODIFY_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "read, modify, write: %zu rules of %zu bytes are more "
                       "than one call takes",
                       r->rule_count, bytes);
    return row_name_check(r->row, err);
}

static int modify_on_loop(void *arg, struct err *err)
{
    struct modification *m = arg;
    struct cluster_table *t = cluster_table_ref(m->table->remote);
    struct once o = {.cluster = t->cluster,
                     .table = t,
                     .row = m->request.row,
                     .method = TABLET_MODIFY,
                     .put = put_modify,
                     .ctx = m};
    int rc = check_rules(&m->request, err);
    if (rc == 0)
        rc = do_once(&o, err);
    if (rc == 0)
        rc = take_row(&o, m->out, err);
    once_close(&o);
    cluster_table_unref(t);
    return rc;
}

int cluster_read_modify_write(struct quarry_table *t,
                              struct slice row,
                              const struct quarry_rmw_rule *rules,
                              size_t rule_count,
                              const struct quarry_write_options *opts,
                              struct quarry_row **out,
                              struct err *err)
{
    struct modification m = {.table = t,
                             .request = {.durability = cluster_durability(opts),
                                         .row = row,
                                         .rule_count = rule_count,
                                         .rules = rules},
                             .out = out};
    return cluster_do(t->quarry->cluster, "tables modify", 0, modify_on_loop,
                      &m, err);
}
