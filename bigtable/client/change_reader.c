/* Readers of changes: the partitions of a table in turn, each by the target's
 * operations. A partition that turns out to lie in several tablets is cut.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/client/client.h"

#define BATCH_BYTES     ((size_t)1 << 20)
#define BATCH_BYTES_MAX ((size_t)16 << 20)
/* Of a table in several partitions, so that a waiting call looks at all. */
#define WAIT_SLICE_US ((uint64_t)200000)

struct quarry_changes {
    struct quarry_table *table;          /* Borrowed. */
    struct change_partition *partitions; /* In order of rows; owned. */
    size_t partition_count;
    size_t turn; /* The one that is read next. */
    size_t batch_bytes;
    struct buf batch;   /* Of the last call, */
    struct buf entries; /* and what the changes are made of: all entries, */
    struct buf changes; /* and the changes. */
};

/* --- partitions ---------------------------------------------------------- */

static void insert_partition(struct quarry_changes *c,
                             size_t at,
                             const struct change_partition *p)
{
    PRE(at <= c->partition_count);
    c->partitions = mem_realloc(c->partitions, (c->partition_count + 1) *
                                                   sizeof(*c->partitions));
    memmove(&c->partitions[at + 1], &c->partitions[at],
            (c->partition_count - at) * sizeof(*c->partitions));
    c->partitions[at] = *p;
    c->partition_count++;
}

/* Find the places of all tablets of the range. */
static int place_all(struct quarry_changes *c, int64_t us, struct err *err)
{
    for (size_t i = 0; i < c->partition_count; i++) {
        struct change_partition rest = {.watermark_us = 0};
        bool cut = false;
        int rc = c->table->ops->changes_place(c->table, us, &c->partitions[i],
                                              &rest, &cut, err);
        if (cut)
            insert_partition(c, i + 1, &rest);
        if (rc)
            return rc;
    }
    return 0;
}

static int begin(struct quarry_changes *c,
                 const struct quarry_changes_options *o,
                 struct err *err)
{
    struct change_partition all = {.watermark_us = 0};
    if (o->token.len)
        return change_token_get(o->token, &c->partitions, &c->partition_count,
                                err);
    if (o->end.len && slice_cmp(o->start, o->end) >= 0)
        return err_set(err, ERR_INVALID, "the range of rows is empty");
    buf_append_slice(&all.start, o->start);
    buf_append_slice(&all.end, o->end);
    insert_partition(c, 0, &all);
    return place_all(c, o->since_us, err);
}

int quarry_changes_open(struct quarry_table *t,
                        const struct quarry_changes_options *options,
                        struct quarry_changes **out,
                        struct err *err)
{
    static const struct quarry_changes_options defaults = {.since_us = 0};
    const struct quarry_changes_options *o = options ? options : &defaults;
    struct quarry_changes *c = mem_zalloc(1, sizeof(*c));
    int rc;
    c->table = t;
    c->batch_bytes =
        MIN_OF(o->batch_bytes ? o->batch_bytes : BATCH_BYTES, BATCH_BYTES_MAX);
    rc = begin(c, o, err);
    if (rc) {
        quarry_changes_close(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

void quarry_changes_close(struct quarry_changes *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->partition_count; i++)
        change_partition_close(&c->partitions[i]);
    mem_free(c->partitions);
    buf_close(&c->batch);
    buf_close(&c->entries);
    buf_close(&c->changes);
    mem_free(c);
}

/* --- reading ------------------------------------------------------------- */

/* Decode the batch. Entries move while they grow: changes get theirs at the
 * end. */
static int decode_batch(struct quarry_changes *c, struct err *err)
{
    struct cursor at = cursor_make(buf_slice(&c->batch));
    struct quarry_change change;
    struct buf ops = BUF_INIT;
    struct quarry_change *list;
    size_t count;
    size_t entry = 0;
    buf_clear(&c->entries);
    buf_clear(&c->changes);
    while (change_batch_next(&at, &ops, &change)) {
        buf_append(&c->entries, ops.data, ops.len);
        buf_append(&c->changes, &change, sizeof(change));
    }
    buf_close(&ops);
    if (at.bad)
        return err_set(err, ERR_CORRUPT, "malformed batch of changes");
    list = (void *)c->changes.data;
    count = c->changes.len / sizeof(*list);
    for (size_t i = 0; i < count; i++) {
        list[i].entries =
            (const struct quarry_change_entry *)(const void *)c->entries.data +
            entry;
        entry += list[i].entry_count;
    }
    return 0;
}

/* Read partition @i; the batch has what it had. */
static int read_partition(struct quarry_changes *c,
                          size_t i,
                          uint64_t wait_us,
                          struct err *err)
{
    struct change_result r = {.change_count = 0};
    struct change_partition rest = {.watermark_us = 0};
    struct change_partition *p = &c->partitions[i];
    bool cut = false;
    int rc = c->table->ops->changes_read(c->table, c->batch_bytes, wait_us, p,
                                         &rest, &cut, &r, err);
    if (rc == 0)
        p->watermark_us = MAX_OF(p->watermark_us, r.watermark_us);
    buf_close(&c->batch);
    c->batch = r.batch;
    if (cut)
        insert_partition(c, i + 1, &rest);
    return rc;
}

/* Look once at each partition, until one has something. */
static int
read_round(struct quarry_changes *c, uint64_t wait_us, struct err *err)
{
    size_t looked = 0;
    int rc = 0;
    buf_clear(&c->batch);
    while (rc == 0 && looked < c->partition_count && c->batch.len == 0) {
        size_t before = c->partition_count;
        size_t i = c->turn % c->partition_count;
        rc = read_partition(c, i, before == 1 ? wait_us : 0, err);
        c->turn = i + 1;
        looked += 1;
    }
    return rc ? rc : decode_batch(c, err);
}

int quarry_changes_next(struct quarry_changes *c,
                        uint64_t wait_us,
                        const struct quarry_change **list,
                        size_t *count,
                        struct err *err)
{
    struct world *w = c->table->quarry->world;
    const struct target_ops *ops = c->table->ops;
    uint64_t start_ns = world_mono_ns(w);
    uint64_t left_us = wait_us;
    int rc;
    for (;;) {
        uint64_t moment = ops->changes_moment(c->table);
        uint64_t spent_us;
        rc = read_round(c, left_us, err);
        spent_us = (world_mono_ns(w) - start_ns) / 1000;
        if (rc || c->batch.len || spent_us >= wait_us)
            break;
        left_us = wait_us - spent_us;
        ops->changes_wait(c->table, moment, MIN_OF(left_us, WAIT_SLICE_US));
    }
    *list = (const void *)c->changes.data;
    *count = rc ? 0 : c->changes.len / sizeof(struct quarry_change);
    return rc;
}

void quarry_changes_token(const struct quarry_changes *c, struct buf *token)
{
    change_token_put(token, c->partitions, c->partition_count);
}

int64_t quarry_changes_watermark(const struct quarry_changes *c)
{
    int64_t us = INT64_MAX;
    for (size_t i = 0; i < c->partition_count; i++)
        us = MIN_OF(us, c->partitions[i].watermark_us);
    return us;
}
