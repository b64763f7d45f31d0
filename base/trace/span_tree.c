/* Ordering the spans of a trace and correcting their clocks. The clock of the
 * process with the earliest root is taken as it is; others are fixed one after
 * the other, each by all of its bounds with processes that are fixed already.
 */
#include "base/trace/span_tree.h"

#include <stdlib.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"

#define NO_SPAN SIZE_MAX

struct tree {
    struct tree_span *spans;
    size_t count;
    size_t *parent;      /* Index; NO_SPAN: none. */
    size_t *first_child; /* Index; NO_SPAN: none. */
    size_t *next;        /* Sibling. */
    bool *visited;
    bool *is_fixed; /* Processes. */
    int64_t *shift;
    unsigned process_count;
};

/* --- parents ------------------------------------------------------------- */

static void find_parents(struct tree *t)
{
    struct hash_map map;
    hash_map_init(&map, HASH_KEYS_BORROWED);
    for (size_t i = 0; i < t->count; i++) {
        bool added;
        union hash_value *v =
            hash_map_put(&map, hash_key_u64(&t->spans[i].id), &added);
        if (added)
            v->pointer = &t->spans[i];
    }
    for (size_t i = 0; i < t->count; i++) {
        union hash_value *v =
            t->spans[i].parent
                ? hash_map_get(&map, hash_key_u64(&t->spans[i].parent))
                : NULL;
        const struct tree_span *p = v ? v->pointer : NULL;
        t->parent[i] =
            p && p != &t->spans[i] ? (size_t)(p - t->spans) : NO_SPAN;
    }
    hash_map_close(&map);
}

/* --- clocks -------------------------------------------------------------- */

/* The shifts that a process's clock may have. */
struct clock_bounds {
    int64_t low;
    int64_t high;
    bool any;
};

static void narrow_bounds(struct clock_bounds *b, int64_t low, int64_t high)
{
    if (low > high) /* They overlap: the middle is as good as any. */
        low = high = low / 2 + high / 2;
    b->low = b->any ? MAX_OF(b->low, low) : low;
    b->high = b->any ? MIN_OF(b->high, high) : high;
    b->any = true;
}

/* The bounds that span @i and its parent set to the clock of @process, if one
 * of the two is of that and the other's clock is fixed. */
static void bound_clock(const struct tree *t,
                        size_t i,
                        unsigned process,
                        struct clock_bounds *b)
{
    const struct tree_span *c = &t->spans[i];
    const struct tree_span *p;
    int64_t begin;
    int64_t end;
    if (t->parent[i] == NO_SPAN)
        return;
    p = &t->spans[t->parent[i]];
    if (p->process == c->process)
        return;
    begin = p->start_us - c->start_us;
    end = p->start_us + p->duration_us - (c->start_us + c->duration_us);
    if (c->process == process && t->is_fixed[p->process])
        narrow_bounds(b, begin + t->shift[p->process],
                      end + t->shift[p->process]);
    else if (p->process == process && t->is_fixed[c->process])
        narrow_bounds(b, t->shift[c->process] - end,
                      t->shift[c->process] - begin);
}

/* The least shift within @b. */
static int64_t choose_shift(const struct clock_bounds *b)
{
    if (b->low > b->high)
        return b->low / 2 + b->high / 2;
    if (b->low > 0)
        return b->low;
    return b->high < 0 ? b->high : 0;
}

static bool fix_clock(struct tree *t, unsigned process)
{
    struct clock_bounds b = {.any = false};
    if (t->is_fixed[process])
        return false;
    for (size_t i = 0; i < t->count; i++)
        bound_clock(t, i, process, &b);
    if (!b.any)
        return false;
    t->shift[process] = choose_shift(&b);
    t->is_fixed[process] = true;
    return true;
}

static void fix_clocks(struct tree *t)
{
    const struct tree_span *first = NULL;
    bool more = true;
    for (size_t i = 0; i < t->count; i++)
        if (t->parent[i] == NO_SPAN &&
            (!first || t->spans[i].start_us < first->start_us))
            first = &t->spans[i];
    if (first)
        t->is_fixed[first->process] = true;
    while (more) {
        more = false;
        for (unsigned p = 0; p < t->process_count; p++)
            more |= fix_clock(t, p);
    }
    for (size_t i = 0; i < t->count; i++)
        t->spans[i].shift_us = t->shift[t->spans[i].process];
}

/* --- order --------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    const struct tree_span *x = *(const struct tree_span *const *)a;
    const struct tree_span *y = *(const struct tree_span *const *)b;
    int64_t s = x->start_us + x->shift_us;
    int64_t u = y->start_us + y->shift_us;
    if (s != u)
        return s < u ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Append the tree below @root to @out, parents first. */
static size_t
walk_tree(struct tree *t, size_t root, struct tree_span *out, size_t at)
{
    size_t i = root;
    unsigned depth = 0;
    while (i != NO_SPAN) {
        if (!t->visited[i]) {
            t->visited[i] = true;
            out[at] = t->spans[i];
            out[at++].depth = depth;
        }
        if (t->first_child[i] != NO_SPAN) {
            size_t child = t->first_child[i];
            t->first_child[i] = t->next[child];
            if (t->visited[child])
                continue;
            t->parent[child] = i;
            i = child;
            depth++;
        } else if (i == root) {
            i = NO_SPAN;
        } else {
            i = t->parent[i];
            depth--;
        }
    }
    return at;
}

/* Children in the order of their beginnings. */
static void link_children(struct tree *t, struct tree_span *const *sorted)
{
    for (size_t i = 0; i < t->count; i++)
        t->first_child[i] = t->next[i] = NO_SPAN;
    for (size_t n = t->count; n > 0; n--) {
        size_t i = (size_t)(sorted[n - 1] - t->spans);
        size_t p = t->parent[i];
        if (p == NO_SPAN)
            continue;
        t->next[i] = t->first_child[p];
        t->first_child[p] = i;
    }
}

static void order_spans(struct tree *t)
{
    struct tree_span **sorted = mem_alloc((t->count + 1) * sizeof(*sorted));
    struct tree_span *out = mem_alloc((t->count + 1) * sizeof(*out));
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->spans[i].at = i;
        sorted[i] = &t->spans[i];
    }
    qsort(sorted, t->count, sizeof(*sorted), compare_starts);
    link_children(t, sorted);
    for (int circles = 0; circles < 2; circles++)
        for (size_t n = 0; n < t->count; n++) {
            size_t i = (size_t)(sorted[n] - t->spans);
            if (!t->visited[i] && (circles || t->parent[i] == NO_SPAN))
                at = walk_tree(t, i, out, at);
        }
    POST(at == t->count);
    for (size_t i = 0; i < t->count; i++)
        t->spans[i] = out[i];
    mem_free(out);
    mem_free(sorted);
}

void span_tree_sort(struct tree_span *spans,
                    size_t count,
                    unsigned process_count)
{
    struct tree t = {.spans = spans,
                     .count = count,
                     .parent = mem_zalloc(count + 1, sizeof(size_t)),
                     .first_child = mem_zalloc(count + 1, sizeof(size_t)),
                     .next = mem_zalloc(count + 1, sizeof(size_t)),
                     .visited = mem_zalloc(count + 1, sizeof(bool)),
                     .is_fixed = mem_zalloc(process_count + 1, sizeof(bool)),
                     .shift = mem_zalloc(process_count + 1, sizeof(int64_t)),
                     .process_count = process_count};
    for (size_t i = 0; i < count; i++)
        PRE(spans[i].process < process_count);
    find_parents(&t);
    fix_clocks(&t);
    order_spans(&t);
    mem_free(t.parent);
    mem_free(t.first_child);
    mem_free(t.next);
    mem_free(t.visited);
    mem_free(t.is_fixed);
    mem_free(t.shift);
}
