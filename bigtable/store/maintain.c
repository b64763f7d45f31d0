/* Upkeep of tables on demand: a minor compaction of one tablet, a major
 * compaction of a table (Bigtable, section 5.4), and rows to cut a table at for
 * parallel work. Points come from the indexes of the SSTables of each tablet's
 * largest group; a tablet gets as many as its share of the table's bytes.
 */
#include "bigtable/store/maintain.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"

int flush_tablet(struct store *s, struct tablet *t, struct err *err)
{
    struct writer *turn;
    int rc = 0;
    PRE(store_of(t) == s);
    write_turn_take(&s->env, &turn);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (!tablet_group_is_clean(t->groups[i]))
            tablet_group_freeze(t->groups[i], s->queue.last_sequence);
    write_turn_give(&s->env, turn);
    for (size_t i = 0; i < atomic_load(&t->group_count) && rc == 0; i++)
        rc = lsm_flush(t->groups[i]->lsm, err);
    return rc;
}

static int compact_tablet(struct store *s, struct tablet *t, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count) && rc == 0; i++)
        rc = background_compact_major(s, t->groups[i], err);
    return rc;
}

static bool
maintain_overlaps(const struct tablet *t, struct slice start, struct slice end)
{
    struct slice first = buf_slice(&t->start);
    struct slice behind = buf_slice(&t->end);
    PRE(t->end.len == 0 ||
        slice_cmp(buf_slice(&t->start), buf_slice(&t->end)) < 0);
    return (behind.len == 0 || slice_cmp(start, behind) < 0) &&
           (end.len == 0 || slice_cmp(first, end) < 0);
}

int compact_table(struct store *s,
                  struct table_part *t,
                  struct slice start,
                  struct slice end,
                  struct err *err)
{
    struct table_part_view *v;
    int rc = store_flush(s, err);
    if (rc)
        return rc;
    v = table_part_get_view(t);
    if (!v)
        return table_part_gone(t, err);
    for (size_t i = 0; i < v->tablet_count && rc == 0; i++) {
        if (maintain_overlaps(v->tablets[i], start, end))
            rc = compact_tablet(s, v->tablets[i], err);
        if (rc == ERR_CANCELLED)
            rc = 0; /* It was split meanwhile: its halves are fresh. */
    }
    table_part_view_unref(v);
    if (rc)
        err_wrap(err, "compact table %s", t->name);
    return rc;
}

/* --- split points -------------------------------------------------------- */

struct points {
    struct buf bytes;   /* Row names, one after the other. */
    struct buf lengths; /* size_t of each. */
    struct buf scratch;
    size_t count;
};

static void add_point(struct points *p, struct slice row)
{
    PRE(row.len > 0);
    buf_append_slice(&p->bytes, row);
    buf_append(&p->lengths, &row.len, sizeof(row.len));
    p->count++;
}

/* The group of @t with the most bytes in tables; NULL when all are empty. */
static struct tablet_group *largest_group(const struct tablet *t)
{
    struct tablet_group *best = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        if (stats.table_bytes > bytes) {
            bytes = stats.table_bytes;
            best = t->groups[i];
        }
    }
    POST(!best == (bytes == 0));
    return best;
}

/* Points inside one tablet, which gets @parts pieces. */
static int add_inner_points(struct points *p,
                            const struct tablet *t,
                            size_t parts,
                            struct err *err)
{
    struct tablet_group *g = largest_group(t);
    struct buf keys = BUF_INIT;
    struct cursor c;
    size_t count = 0;
    int rc;
    if (!g || parts < 2)
        return 0;
    rc = lsm_split_points(g->lsm, parts, &keys, &count, err);
    c = cursor_make(buf_slice(&keys));
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct slice row = cell_key_plain_row(cursor_lslice(&c), &p->scratch);
        if (tablet_contains(t, row) && !slice_eq(row, buf_slice(&t->start)))
            add_point(p, row);
    }
    buf_close(&keys);
    return rc;
}

static uint64_t view_bytes(const struct table_part_view *v)
{
    uint64_t bytes = 0;
    PRE(v->tablets);
    for (size_t i = 0; i < v->tablet_count; i++)
        bytes += tablet_table_bytes(v->tablets[i]);
    return bytes;
}

static int collect_points(struct points *p,
                          const struct table_part_view *v,
                          size_t parts,
                          struct err *err)
{
    uint64_t total = view_bytes(v);
    int rc = 0;
    PRE(v->tablet_count > 0);
    for (size_t i = 0; i < v->tablet_count && rc == 0; i++) {
        const struct tablet *t = v->tablets[i];
        double share =
            total ? (double)tablet_table_bytes(t) / (double)total : 0.0;
        if (i > 0)
            add_point(p, buf_slice(&t->start));
        rc = add_inner_points(p, t, (size_t)((double)parts * share + 0.5), err);
    }
    return rc;
}

static struct slice *lay_out(const struct points *p)
{
    const size_t *lengths = (const size_t *)(const void *)p->lengths.data;
    struct slice *keys = mem_alloc(p->count * sizeof(*keys) + p->bytes.len + 1);
    char *at = (char *)(keys + p->count);
    PRE(p->lengths.len == p->count * sizeof(size_t));
    if (p->bytes.len)
        memcpy(at, p->bytes.data, p->bytes.len);
    for (size_t i = 0; i < p->count; i++) {
        keys[i] = slice_make(at, lengths[i]);
        at += lengths[i];
    }
    POST(at == (char *)(keys + p->count) + p->bytes.len);
    return keys;
}

int table_split_points(struct table_part *t,
                       size_t parts,
                       struct slice **keys,
                       size_t *count,
                       struct err *err)
{
    struct points p = {BUF_INIT, BUF_INIT, BUF_INIT, 0};
    struct table_part_view *v = table_part_get_view(t);
    int rc;
    PRE(keys);
    PRE(count);
    *keys = NULL;
    *count = 0;
    if (!v)
        return table_part_gone(t, err);
    rc = collect_points(&p, v, parts, err);
    if (rc == 0) {
        *keys = lay_out(&p);
        *count = p.count;
    }
    buf_close(&p.bytes);
    buf_close(&p.lengths);
    buf_close(&p.scratch);
    table_part_view_unref(v);
    return rc;
}
