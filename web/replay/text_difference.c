/* Equal beginnings and ends aside, a table of the lengths of common
 * subsequences; where it would be too large, all lines between have changed. */
#include "web/replay/text_difference.h"

#include <stdint.h>

#include "base/core/panic.h"

/* Cells of the table: two bytes each. */
#define TABLE_CELLS_MAX ((size_t)8 << 20)

struct lines {
    struct slice *at; /* Owned array. */
    size_t count;
};

static void lines_split(struct slice text, struct lines *out)
{
    size_t cap = 0;
    *out = (struct lines){.at = NULL};
    while (text.len && out->count < DIFFERENCE_LINES_MAX) {
        size_t n = slice_find_byte(text, '\n');
        if (out->count == cap) {
            cap = cap ? cap * 2 : 256;
            out->at = mem_realloc(out->at, cap * sizeof(*out->at));
        }
        out->at[out->count++] = slice_sub(text, 0, n);
        text = slice_sub(text, n + 1, text.len);
    }
}

static struct difference_row *add_row(struct difference *d)
{
    if (d->count == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 256;
        d->at = mem_realloc(d->at, d->cap * sizeof(*d->at));
    }
    d->at[d->count] = (struct difference_row){.is_same = false};
    return &d->at[d->count++];
}

static void
add_same(struct difference *d, struct slice left, struct slice right)
{
    *add_row(d) = (struct difference_row){true, left, right, true, true};
}

/* Lines that differ, beside each other. */
static void add_changed(struct difference *d,
                        const struct slice *left,
                        size_t left_count,
                        const struct slice *right,
                        size_t right_count)
{
    for (size_t i = 0; i < left_count || i < right_count; i++) {
        struct difference_row *r = add_row(d);
        r->has_left = i < left_count;
        r->has_right = i < right_count;
        r->left = r->has_left ? left[i] : SLICE_EMPTY;
        r->right = r->has_right ? right[i] : SLICE_EMPTY;
    }
    d->removed += left_count;
    d->added += right_count;
}

/* table[i * (m + 1) + j]: the longest common subsequence of a[i..], b[j..]. */
static uint16_t *
make_table(const struct slice *a, size_t n, const struct slice *b, size_t m)
{
    uint16_t *table = mem_zalloc((n + 1) * (m + 1), sizeof(*table));
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            uint16_t *cell = &table[i * (m + 1) + j];
            uint16_t below = cell[m + 1];
            uint16_t right = cell[1];
            if (slice_eq(a[i], b[j]))
                *cell = (uint16_t)(cell[m + 2] + 1);
            else
                *cell = MAX_OF(below, right);
        }
    return table;
}

static void add_compared(struct difference *d,
                         const struct slice *a,
                         size_t n,
                         const struct slice *b,
                         size_t m)
{
    uint16_t *table = make_table(a, n, b, m);
    size_t i = 0, j = 0, i0 = 0, j0 = 0;
    while (i < n || j < m) {
        const uint16_t *cell = &table[i * (m + 1) + j];
        if (i < n && j < m && slice_eq(a[i], b[j])) {
            add_changed(d, a + i0, i - i0, b + j0, j - j0);
            add_same(d, a[i++], b[j++]);
            i0 = i;
            j0 = j;
        } else if (j == m || (i < n && cell[m + 1] >= cell[1])) {
            i++;
        } else {
            j++;
        }
    }
    add_changed(d, a + i0, n - i0, b + j0, m - j0);
    mem_free(table);
}

static void add_middle(struct difference *d, struct lines a, struct lines b)
{
    if (a.count == 0 || b.count == 0) {
        add_changed(d, a.at, a.count, b.at, b.count);
    } else if ((a.count + 1) > TABLE_CELLS_MAX / (b.count + 1) ||
               a.count > UINT16_MAX || b.count > UINT16_MAX) {
        d->is_coarse = true;
        add_changed(d, a.at, a.count, b.at, b.count);
    } else {
        add_compared(d, a.at, a.count, b.at, b.count);
    }
}

void difference_make(struct slice left,
                     struct slice right,
                     struct difference *out)
{
    struct lines a, b;
    size_t front = 0, back = 0, shorter;
    lines_split(left, &a);
    lines_split(right, &b);
    shorter = MIN_OF(a.count, b.count);
    *out = (struct difference){.at = NULL};
    while (front < shorter && slice_eq(a.at[front], b.at[front])) {
        add_same(out, a.at[front], b.at[front]);
        front++;
    }
    while (back < shorter - front &&
           slice_eq(a.at[a.count - 1 - back], b.at[b.count - 1 - back]))
        back++;
    if (a.count > front + back || b.count > front + back)
        add_middle(
            out,
            (struct lines){a.at ? a.at + front : NULL, a.count - front - back},
            (struct lines){b.at ? b.at + front : NULL, b.count - front - back});
    for (; back > 0; back--)
        add_same(out, a.at[a.count - back], b.at[b.count - back]);
    mem_free(a.at);
    mem_free(b.at);
}

void difference_close(struct difference *d)
{
    mem_free(d->at);
    *d = (struct difference){.at = NULL};
}
