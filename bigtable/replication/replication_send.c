/* Batches on their way, and the first copy of a table.
 */
#include <stdatomic.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/replication/replication_stream.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */

/* Cells of a row that are copied in one commit: a row may have any number. */
#define COPY_CELLS_MAX ((size_t)10000)
#define SECOND_NS      UINT64_C(1000000000)
/* Between looks for the flag that stops the stream. */
#define NAP_US UINT64_C(100000)

/* --- batches ------------------------------------------------------------- */

static void grow_batch(struct replication_batch *b)
{
    size_t room = b->room ? 2 * b->room : 64;
    b->list = mem_realloc(b->list, room * sizeof(struct quarry_mutation *));
    for (; b->room < room; b->room++)
        b->list[b->room] = quarry_mutation_new(SLICE_LIT("-"));
}

struct quarry_mutation *
replication_batch_next(struct replication_batch *b,
                       const struct quarry_replication *r,
                       struct slice row,
                       const struct quarry_origin *origin)
{
    struct quarry_mutation *m;
    if (b->count == b->room)
        grow_batch(b);
    m = b->list[b->count];
    quarry_mutation_reset(m, row);
    quarry_mutation_set_origin(m, origin, r->to_site);
    return m;
}

void replication_batch_keep(struct replication_batch *b)
{
    PRE(b->count < b->room);
    b->bytes += quarry_mutation_bytes(b->list[b->count++]);
}

bool replication_batch_is_full(const struct replication_batch *b)
{
    return b->bytes >= REPLICATION_BATCH_BYTES ||
           b->count >= REPLICATION_BATCH_ROWS;
}

void replication_batch_clear(struct replication_batch *b)
{
    b->count = 0;
    b->bytes = 0;
}

void replication_batch_close(struct replication_batch *b)
{
    for (size_t i = 0; i < b->room; i++)
        quarry_mutation_free(b->list[i]);
    mem_free(b->list);
    *b = (struct replication_batch){.list = NULL};
}

int replication_check_stop(const struct quarry_replication *r, struct err *err)
{
    if (r->stop && atomic_load(r->stop))
        return err_set(err, ERR_CANCELLED, "the stream was stopped");
    return 0;
}

/* A second of silence pays for a second. */
int replication_pay(struct quarry_replication *r,
                    uint64_t bytes,
                    struct err *err)
{
    struct world *w = quarry_world(r->from);
    uint64_t now_ns = world_mono_ns(w);
    int rc = replication_check_stop(r, err);
    if (r->bytes_per_s == 0)
        return rc;
    r->paid_ns =
        MAX_OF(r->paid_ns, now_ns > SECOND_NS ? now_ns - SECOND_NS : now_ns);
    r->paid_ns += (uint64_t)((double)bytes * 1e9 / (double)r->bytes_per_s);
    while (rc == 0 && r->paid_ns > now_ns) {
        world_sleep_us(w, MIN_OF((r->paid_ns - now_ns) / 1000 + 1, NAP_US));
        now_ns = world_mono_ns(w);
        rc = replication_check_stop(r, err);
    }
    return rc;
}

int replication_apply(const struct quarry_replication *r,
                      struct quarry_mutation *const *list,
                      size_t count,
                      struct err *err)
{
    int *codes = mem_zalloc(count + 1, sizeof(*codes));
    int rc = 0;
    if (count)
        rc = quarry_apply_each(r->target, list, count, NULL, codes, err);
    if (rc)
        err_wrap(err, "the other end, table %s", quarry_table_name(r->target));
    mem_free(codes);
    return rc;
}

/* Apply the batch, which is empty afterwards, and pay for it. */
static int send_batch(struct quarry_replication *r, struct err *err)
{
    struct replication_batch *b = &r->batch;
    uint64_t bytes = b->bytes;
    int rc = replication_apply(r, b->list, b->count, err);
    replication_batch_clear(b);
    return rc ? rc : replication_pay(r, bytes, err);
}

/* --- changes ------------------------------------------------------------- */

void replication_add_change(struct quarry_replication *r,
                            const struct quarry_change *c,
                            struct replication_batch *b,
                            uint64_t *bytes)
{
    struct quarry_origin origin = c->origin;
    struct quarry_mutation *m;
    *bytes = 0;
    if (origin.site == r->to_site)
        return; /* It is where it came from. */
    if (origin.site == 0)
        origin =
            (struct quarry_origin){r->from_site, c->commit_us, c->sequence};
    m = replication_batch_next(b, r, c->row, &origin);
    if (!replication_rules_apply(&r->rules, c, m))
        return;
    *bytes = quarry_mutation_bytes(m);
    replication_batch_keep(b);
}

int quarry_replication_send(struct quarry_replication *r,
                            const struct quarry_change *list,
                            size_t count,
                            uint64_t *bytes,
                            struct err *err)
{
    uint64_t sent = 0;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint64_t one;
        replication_add_change(r, &list[i], &r->batch, &one);
        sent += one;
        if (replication_batch_is_full(&r->batch))
            rc = send_batch(r, err);
    }
    if (rc == 0)
        rc = send_batch(r, err);
    if (bytes)
        *bytes = sent;
    return rc;
}

/* --- the copy ------------------------------------------------------------ */

/* Has the other end kept changes of writes? Where it keeps none, none count. */
static int has_changes(struct quarry_replication *r, bool *any, struct err *err)
{
    const struct quarry_changes_options o = {.start = buf_slice(&r->start),
                                             .end = buf_slice(&r->end),
                                             .since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes = 1};
    const struct quarry_change *list;
    struct quarry_changes *c = NULL;
    struct err why = ERR_INIT;
    size_t count = 0;
    int rc = quarry_changes_open(r->target, &o, &c, &why);
    *any = false;
    if (rc == ERR_UNSUPPORTED)
        return 0;
    if (rc == 0)
        rc = quarry_changes_next(c, 0, &list, &count, &why);
    quarry_changes_close(c);
    *any = count > 0;
    return rc ? err_copy(err, &why) : 0;
}

int quarry_replication_begin(struct quarry_replication *r,
                             struct buf *token,
                             struct err *err)
{
    struct quarry_changes_options o = {.start = buf_slice(&r->start),
                                       .end = buf_slice(&r->end)};
    struct quarry_changes *c = NULL;
    bool any;
    int rc = has_changes(r, &any, err);
    if (rc)
        return rc;
    o.since_us = any ? QUARRY_CHANGES_OLDEST : 0;
    rc = quarry_changes_open(r->source, &o, &c, err);
    if (rc == 0)
        quarry_changes_token(c, token);
    quarry_changes_close(c);
    return rc;
}

/* Add the cells of @row that are sent, in as many commits as it takes. */
static int copy_row(struct quarry_replication *r,
                    const struct quarry_row *row,
                    struct err *err)
{
    const struct quarry_origin origin = {.site = r->from_site};
    struct quarry_mutation *m = NULL;
    size_t head = 0;
    int rc = 0;
    for (size_t i = 0; i < row->cell_count && rc == 0; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        char room[FAMILY_NAME_BYTES_MAX + 1];
        const char *to =
            replication_rules_family(&r->rules, cell->family, room);
        if (!to || !replication_rules_column(&r->rules, cell->qualifier))
            continue;
        if (!m) {
            m = replication_batch_next(&r->batch, r, row->key, &origin);
            head = quarry_mutation_count(m);
        }
        quarry_mutation_set(m, to, cell->qualifier, cell->timestamp_us,
                            cell->value);
        if (quarry_mutation_count(m) < COPY_CELLS_MAX + head &&
            quarry_mutation_bytes(m) < REPLICATION_BATCH_BYTES)
            continue;
        replication_batch_keep(&r->batch);
        rc = send_batch(r, err);
        m = NULL;
    }
    if (m && rc == 0)
        replication_batch_keep(&r->batch);
    return rc;
}

static int copy_rows(struct quarry_replication *r,
                     struct quarry_scanner *s,
                     quarry_replication_at at,
                     void *arg,
                     struct err *err)
{
    const struct quarry_row *row;
    struct buf last = BUF_INIT;
    uint64_t rows = 0;
    int rc;
    while ((rc = quarry_scanner_next(s, &row, err)) == 0) {
        uint64_t bytes;
        if (row) {
            rc = copy_row(r, row, err);
            buf_clear(&last);
            buf_append_slice(&last, row->key);
            rows++;
        }
        bytes = r->batch.bytes;
        if (rc == 0 && row && !replication_batch_is_full(&r->batch))
            continue;
        if (rc == 0)
            rc = send_batch(r, err);
        if (rc == 0 && at && last.len)
            rc = at(arg, buf_slice(&last), rows, bytes, err);
        rows = 0;
        if (rc || !row)
            break;
    }
    buf_close(&last);
    return rc;
}

int quarry_replication_copy(struct quarry_replication *r,
                            const struct slice *after,
                            quarry_replication_at at,
                            void *arg,
                            struct err *err)
{
    struct quarry_range range = {buf_slice(&r->start), buf_slice(&r->end)};
    const struct quarry_read_options o = {.ranges = &range, .range_count = 1};
    struct quarry_scanner *s = NULL;
    struct buf next = BUF_INIT;
    int rc;
    if (after) {
        buf_append_slice(&next, *after);
        buf_append_byte(&next, '\0');
        range.start = buf_slice(&next);
    }
    if (range.end.len && slice_cmp(range.start, range.end) >= 0) {
        buf_close(&next);
        return 0;
    }
    rc = quarry_scan(r->source, &o, &s, err);
    if (rc == 0)
        rc = copy_rows(r, s, at, arg, err);
    quarry_scanner_close(s);
    buf_close(&next);
    return rc;
}
