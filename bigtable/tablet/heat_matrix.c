/* Pictures of heat: gathering the bounds that records of heat have, and
 * adding the records up in the ranges that a picture has. A record whose
 * range spans several of the picture's is divided evenly: where in it the
 * rows were is not known. */
#include "bigtable/tablet/heat_matrix.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

/* --- bounds -------------------------------------------------------------- */

struct heat_bounds {
    struct slice table;
    struct slice start;
    struct slice end;
    struct hash_map seen;             /* Keys; their bytes are the map's. */
    const struct heat_layout *latest; /* Of the record before. */
    struct arena arena;
    struct slice *keys; /* Owned; their bytes are in the arena. */
    size_t count;
    size_t cap;
};

struct heat_bounds *
heat_bounds_new(struct slice table, struct slice start, struct slice end)
{
    struct heat_bounds *b = mem_zalloc(1, sizeof(*b));
    b->table = table;
    b->start = start;
    b->end = end;
    hash_map_init(&b->seen, HASH_KEYS_COPIED);
    arena_init(&b->arena);
    return b;
}

void heat_bounds_free(struct heat_bounds *b)
{
    if (!b)
        return;
    hash_map_close(&b->seen);
    arena_close(&b->arena);
    mem_free(b->keys);
    mem_free(b);
}

void heat_bounds_add_key(struct heat_bounds *b, struct slice key)
{
    bool added;
    PRE(b->count <= HEAT_BOUNDS_MAX);
    if (slice_cmp(key, b->start) <= 0 ||
        (b->end.len && slice_cmp(key, b->end) >= 0) ||
        b->count == HEAT_BOUNDS_MAX)
        return;
    hash_map_put(&b->seen, key, &added)->number = 1;
    if (!added)
        return;
    if (b->count == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        b->keys = mem_realloc(b->keys, b->cap * sizeof(*b->keys));
    }
    b->keys[b->count++] = arena_dup(&b->arena, key);
}

void heat_bounds_add(void *ctx, const struct heat_record *r)
{
    struct heat_bounds *b = ctx;
    const struct heat_layout *l = r->layout;
    PRE(l->count >= 1);
    PRE(l->count <= HEAT_RANGES_MAX);
    if (l == b->latest || !slice_eq_str(b->table, l->table))
        return;
    b->latest = l;
    for (size_t i = 0; i <= l->count; i++)
        heat_bounds_add_key(b, l->bounds[i]);
}

static int compare_keys(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

const struct slice *
heat_bounds_list(struct heat_bounds *b, size_t max, size_t *count)
{
    size_t kept = MIN_OF(b->count, max);
    PRE(max > 0);
    if (b->count)
        qsort(b->keys, b->count, sizeof(*b->keys), compare_keys);
    for (size_t i = 0; i < kept; i++)
        b->keys[i] = b->keys[(i + 1) * b->count / (kept + 1)];
    if (kept < b->count)
        b->count = kept;
    *count = kept;
    return b->keys;
}

/* --- the matrix ---------------------------------------------------------- */

void heat_matrix_init(struct heat_matrix *m)
{
    PRE(m->step > 0);
    PRE(m->times > 0);
    PRE(m->times <= HEAT_MATRIX_TIMES_MAX);
    PRE(m->ranges > 0);
    PRE(m->ranges <= HEAT_MATRIX_RANGES_MAX);
    m->values = mem_zalloc(m->times * m->ranges, sizeof(*m->values));
}

void heat_matrix_close(struct heat_matrix *m)
{
    mem_free(m->values);
    m->values = NULL;
}

/* Is a range that ends at @end before the key @start? */
static bool ends_by(struct slice end, struct slice start)
{
    return end.len && slice_cmp(end, start) <= 0;
}

/* The ranges of the picture that overlap [@start, @end): [*@first, *@last).
 * Returns the number of parts that it is divided by: theirs, and one for each
 * side on which it reaches beyond. */
static size_t find_ranges(const struct heat_matrix *m,
                          struct slice start,
                          struct slice end,
                          size_t *first,
                          size_t *last)
{
    const struct slice *b = m->bounds;
    size_t low = 0, high = m->ranges;
    PRE(m->ranges > 0);
    while (low < high) { /* The first range that does not end by @start. */
        size_t middle = (low + high) / 2;
        if (ends_by(b[middle + 1], start))
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    high = m->ranges;
    while (low < high) { /* The first that begins at @end or behind it. */
        size_t middle = (low + high) / 2;
        if (end.len && slice_cmp(b[middle], end) >= 0)
            high = middle;
        else
            low = middle + 1;
    }
    *last = low;
    POST(*first <= *last);
    POST(*last <= m->ranges);
    return *last - *first + (slice_cmp(start, b[0]) < 0) +
           (b[m->ranges].len && !ends_by(end, b[m->ranges]));
}

/* Add @value to each of the ranges in the steps that @r covers. */
static void add_value(struct heat_matrix *m,
                      const struct heat_record *r,
                      size_t first,
                      size_t last,
                      double value)
{
    PRE(first < last);
    PRE(last <= m->ranges);
    for (uint32_t k = 0; k < r->span; k++) {
        uint32_t minute = r->minute + k;
        double *row;
        if (minute < m->from || (minute - m->from) / m->step >= m->times)
            continue;
        row = m->values + (minute - m->from) / m->step * m->ranges;
        for (size_t i = first; i < last; i++)
            row[i] += value;
    }
}

void heat_matrix_add(void *ctx, const struct heat_record *r)
{
    struct heat_matrix *m = ctx;
    const struct heat_layout *l = r->layout;
    PRE(m->values);
    PRE(r->span > 0);
    if (!slice_eq_str(m->table, l->table))
        return;
    for (size_t i = 0; i < l->count; i++) {
        uint64_t count = r->counts[i][m->what];
        size_t first, last, parts;
        if (count == 0)
            continue;
        parts = find_ranges(m, l->bounds[i], l->bounds[i + 1], &first, &last);
        if (first < last)
            add_value(m, r, first, last,
                      (double)count / (double)parts / r->span);
    }
}
