/* Sources of entries: iterators over a group, and rows of the scan cache. A row
 * that is read again soon is collected and put into the cache.
 */
#include "bigtable/read/row_source.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/read/scan_cache.h"
#include "bigtable/row/explain.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"

static void row_source_check(const struct row_source *s)
{
    INVARIANT(!s->iter == (s->cached != NULL)); /* INV-1 */
    INVARIANT(!s->cached || !s->cached->oversized);
    INVARIANT(!s->cached || s->at <= s->cached->pair_count);
}

/* --- iterators ----------------------------------------------------------- */

static void iter_show(struct entry_source *e, const struct lsm_iter *it)
{
    e->valid = lsm_iter_entry(it, &e->key, &e->value, &e->stays);
}

static int iter_seek(struct entry_source *e, struct slice key, struct err *err)
{
    struct lsm_iter *it = ((struct row_source *)e->it)->iter;
    int rc = lsm_iter_seek(it, key, err);
    iter_show(e, it);
    return rc;
}

static int iter_next(struct entry_source *e, struct err *err)
{
    struct lsm_iter *it = ((struct row_source *)e->it)->iter;
    int rc = lsm_iter_next(it, err);
    iter_show(e, it);
    return rc;
}

static const struct entry_source_ops iter_ops = {iter_seek, iter_next};

/* A compaction that ends when a read of the past begins leaves its entries in
 * two places. */
static int past_next(struct entry_source *e, struct err *err)
{
    struct row_source *s = e->it;
    int rc;
    PRE(s->is_past && s->iter);
    buf_clear(&s->last);
    buf_append_slice(&s->last, e->key);
    do {
        rc = iter_next(e, err);
    } while (rc == 0 && e->valid && slice_eq(e->key, buf_slice(&s->last)));
    return rc;
}

static const struct entry_source_ops past_ops = {iter_seek, past_next};

/* --- cached rows --------------------------------------------------------- */

static struct slice key_at(const struct row_source *s, size_t i)
{
    const struct scan_pair *p = scan_entry_pair(s->cached, i);
    INVARIANT(p->key_at + p->key_len <= s->cached->bytes_len);
    return slice_make(scan_entry_bytes(s->cached) + p->key_at, p->key_len);
}

static void cached_show(struct entry_source *e, const struct row_source *s)
{
    const struct scan_pair *p;
    e->valid = s->at < s->cached->pair_count;
    if (!e->valid)
        return;
    p = scan_entry_pair(s->cached, s->at);
    INVARIANT(p->value_at + p->value_len <= s->cached->bytes_len);
    e->key = key_at(s, s->at);
    e->value =
        slice_make(scan_entry_bytes(s->cached) + p->value_at, p->value_len);
    e->stays = true; /* As long as the row is referenced. */
}

static int
cached_seek(struct entry_source *e, struct slice key, struct err *err)
{
    struct row_source *s = e->it;
    size_t low = 0;
    size_t high = s->cached->pair_count;
    (void)err;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(key_at(s, middle), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    POST(low <= s->cached->pair_count);
    s->at = low;
    cached_show(e, s);
    return 0;
}

static int cached_next(struct entry_source *e, struct err *err)
{
    struct row_source *s = e->it;
    (void)err;
    PRE(s->at < s->cached->pair_count);
    s->at++;
    cached_show(e, s);
    return 0;
}

static const struct entry_source_ops cached_ops = {cached_seek, cached_next};

static int
cached_seek_explained(struct entry_source *e, struct slice key, struct err *err)
{
    struct row_source *s = e->it;
    PRE(s->explain);
    int rc = cached_seek(e, key, err);
    s->explain->counts.entries_from_scan_cache += e->valid;
    return rc;
}

static int cached_next_explained(struct entry_source *e, struct err *err)
{
    struct row_source *s = e->it;
    int rc = cached_next(e, err);
    PRE(s->explain);
    s->explain->counts.entries_from_scan_cache += e->valid;
    return rc;
}

static const struct entry_source_ops cached_ops_explained = {
    cached_seek_explained, cached_next_explained};

/* --- filling the cache --------------------------------------------------- */

/* Entries of a row, on their way into the cache. */
struct gathered {
    struct buf pairs; /* struct scan_pair. */
    struct buf bytes;
};

static void
row_source_gather(struct gathered *g, struct slice key, struct slice value)
{
    struct scan_pair p = {(uint32_t)g->bytes.len, (uint32_t)key.len,
                          (uint32_t)(g->bytes.len + key.len),
                          (uint32_t)value.len};
    PRE(g->bytes.len + key.len + value.len <= UINT32_MAX);
    buf_append(&g->pairs, &p, sizeof(p));
    buf_append_slice(&g->bytes, key);
    buf_append_slice(&g->bytes, value);
}

/* All entries of @row, unless they are more than @bytes_max (*@whole). */
static int gather_row(struct gathered *g,
                      struct lsm_iter *it,
                      struct slice row,
                      size_t bytes_max,
                      bool *whole,
                      struct err *err)
{
    int rc = lsm_iter_seek(it, row, err);
    PRE(g->pairs.len % sizeof(struct scan_pair) == 0);
    *whole = true;
    while (rc == 0 && lsm_iter_valid(it) &&
           slice_starts_with(lsm_iter_key(it), row)) {
        struct slice key = lsm_iter_key(it);
        struct slice value = lsm_iter_value(it);
        if (g->pairs.len + g->bytes.len + sizeof(struct scan_pair) + key.len +
                value.len >
            bytes_max) {
            *whole = false;
            return 0;
        }
        row_source_gather(g, key, value);
        rc = lsm_iter_next(it, err);
    }
    return rc;
}

static struct scan_entry *new_row(const struct scan_key *k,
                                  const struct gathered *g)
{
    size_t count = g->pairs.len / sizeof(struct scan_pair);
    struct scan_entry *e = scan_entry_new(k, count, g->bytes.len);
    PRE(g->pairs.len % sizeof(struct scan_pair) == 0);
    if (count) {
        memcpy(e->data, g->pairs.data, g->pairs.len);
        memcpy(scan_entry_bytes(e), g->bytes.data, g->bytes.len);
    }
    return e;
}

/* Read the whole row from @s, a row that is read often, and keep it. */
static int keep_row(struct row_source *s,
                    const struct row_place *p,
                    const struct scan_key *k,
                    struct err *err)
{
    struct scan_cache *cache = p->env->scan_cache;
    struct gathered g = {BUF_INIT, BUF_INIT};
    struct scan_entry *e;
    bool whole;
    int rc = gather_row(&g, s->iter, p->encoded, scan_cache_entry_max(cache),
                        &whole, err);
    PRE(s->iter);
    PRE(!s->cached);
    if (rc == 0) {
        if (!whole) { /* Remember only that. */
            buf_clear(&g.pairs);
            buf_clear(&g.bytes);
        }
        e = new_row(k, &g);
        e->oversized = !whole;
        scan_cache_put(cache, e, &p->env->stamps, p->row, p->complete);
        if (whole) {
            lsm_iter_free(s->iter);
            s->iter = NULL;
            s->cached = e;
        } else {
            scan_entry_unref(e);
        }
    }
    buf_close(&g.pairs);
    buf_close(&g.bytes);
    return rc;
}

/* --- opening ------------------------------------------------------------- */

int row_source_open(struct row_source *s,
                    struct lsm_snapshot *snapshot,
                    const struct lsm_read_options *opts,
                    struct err *err)
{
    PRE(snapshot);
    *s = (struct row_source){.iter = NULL};
    return lsm_iter_new(snapshot, opts, &s->iter, err);
}

int row_source_open_past(struct row_source *s,
                         struct lsm_snapshot *snapshot,
                         const struct lsm_read_options *opts,
                         struct err *err)
{
    int rc = row_source_open(s, snapshot, opts, err);
    POST(rc || s->iter); /* INV-1 */
    s->is_past = true;
    return rc;
}

int row_source_open_row(struct row_source *s,
                        const struct row_place *place,
                        const struct lsm_read_options *opts,
                        struct err *err)
{
    struct scan_cache *cache = place->env->scan_cache;
    struct lsm_read_options whole = *opts;
    bool oversized = false;
    struct scan_key k;
    int rc;
    PRE(place->encoded.len > 0);
    PRE(place->complete <= opts->sequence_max);
    if (!cache)
        return row_source_open(s, place->snapshot, opts, err);
    *s = (struct row_source){.iter = NULL};
    k = scan_key_make(place->tablet->life, place->generation,
                      (uint32_t)place->group, place->encoded,
                      hash64_slice(place->encoded));
    s->cached = scan_cache_get(cache, &k, &place->env->stamps, place->row,
                               opts->sequence_max);
    s->explain = opts->explain;
    if (s->cached && !s->cached->oversized)
        return 0;
    oversized = s->cached != NULL;
    scan_entry_unref(s->cached);
    if (oversized || !scan_cache_wants(cache, &k))
        return row_source_open(s, place->snapshot, opts, err);
    whole.time_min_us = whole.time_max_us = 0; /* Whatever others ask for. */
    rc = row_source_open(s, place->snapshot, &whole, err);
    if (rc == 0)
        rc = keep_row(s, place, &k, err);
    if (rc)
        row_source_close(s);
    return rc;
}

void row_source_close(struct row_source *s)
{
    PRE(!s->iter || !s->cached); /* INV-1 */
    lsm_iter_free(s->iter);
    scan_entry_unref(s->cached);
    buf_close(&s->last);
    *s = (struct row_source){.iter = NULL};
}

struct entry_source row_source_entries(struct row_source *s)
{
    const struct entry_source_ops *cached =
        s->explain ? &cached_ops_explained : &cached_ops;
    const struct entry_source_ops *iterated =
        s->is_past ? &past_ops : &iter_ops;
    row_source_check(s);
    PRE(!s->is_past || s->iter); /* INV-1 */
    return (struct entry_source){.it = s, .ops = s->iter ? iterated : cached};
}
