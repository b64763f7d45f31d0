/* Readers of changes: the partitions of a table in turn, each by the target's
 * operations. A partition that turns out to lie in several tablets is cut.
 * Where a change is in the batch that was returned last, the place behind it
 * follows from the places before and after the batch.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_batch.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/client/client.h"
#include "bigtable/quarry_changes.h"

#define BATCH_BYTES     ((size_t)1 << 20)
#define BATCH_BYTES_MAX ((size_t)16 << 20)
/* Of a table in several partitions, so that a waiting call looks at all. */
#define WAIT_SLICE_US ((uint64_t)200000)
/* Between two looks while others' writes end the waits. */
#define LOOK_PAUSE_US ((uint64_t)5000)

struct quarry_changes {
    struct quarry_table *table;          /* Borrowed. */
    struct change_partition *partitions; /* In order of rows; owned. */
    size_t partition_count;
    size_t turn; /* The one that is read next. */
    size_t batch_bytes;
    struct buf batch;       /* Of the last call, */
    struct buf entries;     /* and what the changes are made of: all entries, */
    struct buf changes;     /* and the changes. */
    size_t batch_partition; /* Which one it is of, */
    struct change_position from; /* where that was before, */
    int64_t from_us;             /* and the watermark of all. */
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
        int rc = fiber_check(err);
        if (rc == 0)
            rc = c->table->ops->changes_place(c->table, us, &c->partitions[i],
                                              &rest, &cut, err);
        if (cut)
            insert_partition(c, i + 1, &rest);
        if (rc)
            return rc;
    }
    return 0;
}

static int change_reader_begin(struct quarry_changes *c,
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
    rc = change_reader_begin(c, o, err);
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
    buf_close(&c->from.row);
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
    int rc;
    c->batch_partition = i;
    change_position_copy(&p->at, &c->from);
    rc = c->table->ops->changes_read(c->table, c->batch_bytes, wait_us, p,
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
    int rc = fiber_check(err);
    c->from_us = quarry_changes_watermark(c);
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
        if ((world_mono_ns(w) - start_ns) / 1000 - spent_us < LOOK_PAUSE_US)
            world_sleep_us(w, LOOK_PAUSE_US);
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

/* --- partitions and places for others ------------------------------------ */

size_t quarry_changes_part_count(const struct quarry_changes *c)
{
    return c->partition_count;
}

struct quarry_range
quarry_changes_part(const struct quarry_changes *c, size_t i, struct buf *token)
{
    const struct change_partition *p = &c->partitions[i];
    PRE(i < c->partition_count);
    if (token)
        change_token_put(token, p, 1);
    return (struct quarry_range){buf_slice(&p->start), buf_slice(&p->end)};
}

int quarry_changes_token_behind(struct quarry_changes *c,
                                size_t i,
                                struct buf *token,
                                struct err *err)
{
    const struct quarry_change *list = (const void *)c->changes.data;
    size_t count = c->changes.len / sizeof(*list);
    struct change_partition *p = &c->partitions[c->batch_partition];
    struct change_position there = p->at;
    struct change_position behind = {.low = 0};
    PRE(i < count);
    if (!change_position_behind(&c->from, &there, list, count, i, &behind)) {
        buf_close(&behind.row);
        return err_set(err, ERR_CORRUPT,
                       "a batch of changes from several windows");
    }
    p->at = behind;
    quarry_changes_token(c, token);
    p->at = there;
    buf_close(&behind.row);
    return 0;
}

void quarry_changes_watermarks(const struct quarry_changes *c, int64_t *us)
{
    const struct quarry_change *list = (const void *)c->changes.data;
    int64_t lowest = quarry_changes_watermark(c);
    for (size_t i = c->changes.len / sizeof(*list); i-- > 0;) {
        us[i] = MAX_OF(lowest, c->from_us);
        lowest = MIN_OF(lowest, list[i].commit_us - 1);
    }
}

/* One owned piece: the ranges, then their bytes. */
static struct quarry_range *copy_ranges(const struct quarry_changes *c)
{
    size_t bytes = c->partition_count * sizeof(struct quarry_range);
    struct quarry_range *list;
    char *to;
    for (size_t i = 0; i < c->partition_count; i++)
        bytes += c->partitions[i].start.len + c->partitions[i].end.len;
    list = mem_alloc(bytes);
    to = (char *)(list + c->partition_count);
    for (size_t i = 0; i < c->partition_count; i++) {
        const struct buf *ends[2] = {&c->partitions[i].start,
                                     &c->partitions[i].end};
        struct slice copies[2];
        for (size_t k = 0; k < 2; k++) {
            copies[k] = slice_make(to, ends[k]->len);
            if (ends[k]->len)
                memcpy(to, ends[k]->data, ends[k]->len);
            to += ends[k]->len;
        }
        list[i] = (struct quarry_range){copies[0], copies[1]};
    }
    return list;
}

int quarry_changes_partitions(struct quarry_table *t,
                              struct quarry_range **list,
                              size_t *count,
                              struct err *err)
{
    struct quarry_changes *c;
    int rc = quarry_changes_open(t, NULL, &c, err);
    *list = NULL;
    *count = 0;
    if (rc)
        return rc;
    *list = copy_ranges(c);
    *count = c->partition_count;
    quarry_changes_close(c);
    return 0;
}

int quarry_changes_token_range(struct slice token,
                               struct buf *start,
                               struct buf *end,
                               struct err *err)
{
    struct change_partition *list;
    size_t count;
    int rc = change_token_get(token, &list, &count, err);
    if (rc)
        return rc;
    buf_append_slice(start, buf_slice(&list[0].start));
    buf_append_slice(end, buf_slice(&list[count - 1].end));
    for (size_t i = 0; i < count; i++) {
        if (i > 0 &&
            !slice_eq(buf_slice(&list[i - 1].end), buf_slice(&list[i].start)))
            rc = err_set(err, ERR_INVALID,
                         "the partitions of a token are not neighbours");
        if (i > 0 && list[i].start.len == 0)
            rc = err_set(err, ERR_INVALID,
                         "the partitions of a token are not in order");
    }
    for (size_t i = 0; i < count; i++)
        change_partition_close(&list[i]);
    mem_free(list);
    return rc;
}

int quarry_changes_token_join(struct buf *token,
                              struct slice next,
                              struct err *err)
{
    struct slice rest = change_token_partitions(next);
    if (rest.len == 0)
        return err_set(err, ERR_INVALID, "a token without partitions");
    if (token->len)
        buf_append_slice(token, rest);
    else
        buf_append_slice(token, next);
    return 0;
}

uint64_t quarry_table_number(const struct quarry_table *t)
{
    return t->ops->table_number(t);
}
