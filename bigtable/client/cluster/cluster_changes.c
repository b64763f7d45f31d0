/* Changes of a cluster's table: each tablet's by calls of its server, which
 * carry the reader's place.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/wire/change_calls.h"

/* A call waits so long at the server; a reader of many tablets looks at all so
 * often. */
#define CALL_WAIT_US  UINT64_C(2000000)
#define ROUND_WAIT_US UINT64_C(50000)

struct changes_call {
    struct cluster_table *table;
    bool is_place;
    int64_t since_us;
    size_t batch_bytes;
    uint64_t wait_us;
    const struct change_partition *from;
    struct change_partition *to; /* All zero at first, as the next one. */
    struct change_partition *rest;
    bool cut;
    struct change_result *out; /* NULL: a place is asked for. */
};

static void put_request(const struct changes_call *k,
                        const struct location *where,
                        struct buf *body)
{
    const struct change_partition *p = k->to;
    const struct changes_request r = {
        .tablet = where->tablet,
        .generation = k->table->generation,
        .start = buf_slice(&p->start),
        .end = buf_slice(&p->end),
        .is_place = k->is_place,
        .since_us = (uint64_t)k->since_us,
        .low = p->at.low,
        .high = p->at.high,
        .row = buf_slice(&p->at.row),
        .row_sequence = p->at.row_sequence,
        .bytes_max = (uint32_t)MIN_OF(k->batch_bytes, (size_t)UINT32_MAX),
        .wait_us = (uint32_t)MIN_OF(k->wait_us, CALL_WAIT_US)};
    changes_request_put(&r, body);
}

static void take_reply(const struct changes_call *k,
                       const struct changes_reply *r,
                       struct buf *batch)
{
    struct change_position *at = &k->to->at;
    at->low = r->low;
    at->high = r->high;
    at->row_sequence = r->row_sequence;
    buf_clear(&at->row);
    buf_append_slice(&at->row, r->row);
    if (!k->out)
        return;
    k->out->change_count = r->change_count;
    k->out->watermark_us = (int64_t)r->watermark_us;
    k->out->caught_up = r->caught_up;
    k->out->batch = *batch;
    *batch = BUF_INIT;
}

static void changes_call_reset(struct changes_call *k)
{
    change_partition_close(k->to);
    *k->to = (struct change_partition){.watermark_us = 0};
    if (k->cut) {
        change_partition_close(k->rest);
        *k->rest = (struct change_partition){.watermark_us = 0};
    }
    k->cut = false;
}

/* Ask the server of the first rows. */
static int try_changes(struct changes_call *k, struct err *err)
{
    struct cluster *c = k->table->cluster;
    struct location *where;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf batch = BUF_INIT;
    struct changes_reply r;
    struct slice end;
    int rc = cluster_table_refresh(k->table, err);
    if (rc == 0)
        rc = locator_find(c->locator, k->table->id, buf_slice(&k->from->start),
                          &where, err);
    if (rc)
        return rc;
    changes_call_reset(k);
    change_partition_copy(k->from, k->to);
    end = buf_slice(&k->to->end);
    k->cut = where->end.len && (end.len == 0 || slice_cmp(where->end, end) < 0);
    if (k->cut)
        change_partition_cut(k->to, where->end, k->rest);
    put_request(k, where, &body);
    rc = tablet_call(c, where, TABLET_CHANGES, NULL, buf_slice(&body),
                     SLICE_EMPTY, &reply, &batch, err);
    if (rc == 0)
        rc = changes_reply_get(buf_slice(&reply), &r, err);
    if (rc == 0)
        take_reply(k, &r, &batch);
    location_unref(where);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&batch);
    return rc;
}

static int changes_on_loop(void *arg, struct err *err)
{
    struct changes_call *k = arg;
    struct retry retry = {.cluster = k->table->cluster};
    int rc;
    cluster_table_ref(k->table);
    do
        rc = try_changes(k, err);
    while (rc && retry_again(&retry, &rc, err));
    cluster_table_unref(k->table);
    return rc;
}

/* Make the call for @p, which becomes what was read; on an error it stays. */
static int do_changes(struct quarry_table *t,
                      struct changes_call *k,
                      struct change_partition *p,
                      bool *cut,
                      struct err *err)
{
    struct change_partition to = {.watermark_us = 0};
    int rc;
    PRE(t->remote);
    k->table = t->remote;
    k->from = p;
    k->to = &to;
    rc = cluster_do(t->remote->cluster, "changes", 0, changes_on_loop, k, err);
    if (rc) {
        changes_call_reset(k);
        *cut = false;
        return rc;
    }
    to.watermark_us = p->watermark_us;
    change_partition_close(p);
    *p = to;
    *cut = k->cut;
    return 0;
}

int cluster_changes_place(struct quarry_table *t,
                          int64_t us,
                          struct change_partition *p,
                          struct change_partition *rest,
                          bool *cut,
                          struct err *err)
{
    struct changes_call k = {.is_place = true, .since_us = us, .rest = rest};
    return do_changes(t, &k, p, cut, err);
}

int cluster_changes_read(struct quarry_table *t,
                         size_t batch_bytes,
                         uint64_t wait_us,
                         struct change_partition *p,
                         struct change_partition *rest,
                         bool *cut,
                         struct change_result *out,
                         struct err *err)
{
    struct changes_call k = {.batch_bytes = batch_bytes,
                             .wait_us = wait_us,
                             .rest = rest,
                             .out = out};
    return do_changes(t, &k, p, cut, err);
}

uint64_t cluster_changes_moment(struct quarry_table *t)
{
    (void)t;
    return 0;
}

/* A call of a table with one tablet has waited at its server. */
void cluster_changes_wait(struct quarry_table *t, uint64_t moment, uint64_t us)
{
    (void)moment;
    world_sleep_us(t->quarry->world, MIN_OF(us, ROUND_WAIT_US));
}
