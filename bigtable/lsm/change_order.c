/* Two lists of chunks that only grow: nodes, and marks. The writer publishes a
 * count behind what it counts; a mark is published before the first node of its
 * commit.
 */
#include "bigtable/lsm/change_order.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/lsm/skip_list.h"
#include "bigtable/row/cell_key.h"

/* A store may have thousands of small memtables. */
#define CHUNK_COUNT_MIN ((size_t)16)
#define CHUNK_COUNT_MAX ((size_t)4096)

struct order_chunk {
    struct order_chunk *_Atomic next;
    atomic_size_t count;
    size_t cap;
    uint64_t first; /* Number of the first node, once there is one. */
    const struct skip_node *nodes[];
};

struct mark_chunk {
    struct mark_chunk *_Atomic next;
    atomic_size_t count;
    size_t cap;
    struct change_mark marks[];
};

struct change_order {
    struct order_chunk *first;
    struct order_chunk *last;
    struct mark_chunk *first_marks;
    struct mark_chunk *last_marks;
    struct change_mark mark; /* The last one, for the writer. */
};

static struct order_chunk *order_chunk_new(size_t cap)
{
    struct order_chunk *c =
        mem_alloc(sizeof(*c) + cap * sizeof(const struct skip_node *));
    PRE(cap > 0);
    atomic_init(&c->next, NULL);
    atomic_init(&c->count, 0);
    c->cap = cap;
    c->first = 0;
    return c;
}

static struct mark_chunk *mark_chunk_new(size_t cap)
{
    struct mark_chunk *c = mem_alloc(sizeof(*c) + cap * sizeof(*c->marks));
    PRE(cap > 0);
    atomic_init(&c->next, NULL);
    atomic_init(&c->count, 0);
    c->cap = cap;
    return c;
}

struct change_order *change_order_new(void)
{
    struct change_order *o = mem_zalloc(1, sizeof(*o));
    o->first = o->last = order_chunk_new(CHUNK_COUNT_MIN);
    o->first_marks = o->last_marks = mark_chunk_new(CHUNK_COUNT_MIN);
    POST(o->mark.sequence == 0);
    return o;
}

void change_order_free(struct change_order *o)
{
    if (!o)
        return;
    while (o->first) {
        struct order_chunk *c = o->first;
        o->first = atomic_load(&c->next);
        mem_free(c);
    }
    while (o->first_marks) {
        struct mark_chunk *c = o->first_marks;
        o->first_marks = atomic_load(&c->next);
        mem_free(c);
    }
    mem_free(o);
}

/* --- the writer ---------------------------------------------------------- */

static void add_mark(struct change_order *o, struct change_mark mark)
{
    struct mark_chunk *c = o->last_marks;
    size_t count = atomic_load_explicit(&c->count, memory_order_relaxed);

    PRE(o->mark.sequence < mark.sequence);
    PRE(o->mark.us <= mark.us);
    INVARIANT(count <= c->cap);
    if (count == c->cap) {
        c = mark_chunk_new(MIN_OF(2 * c->cap, CHUNK_COUNT_MAX));
        atomic_store_explicit(&o->last_marks->next, c, memory_order_release);
        o->last_marks = c;
        count = 0;
    }
    c->marks[count] = mark;
    atomic_store_explicit(&c->count, count + 1, memory_order_release);
    o->mark = mark;
}

void change_order_note(struct change_order *o,
                       uint64_t sequence,
                       int64_t us,
                       bool again)
{
    PRE(us >= o->mark.us);
    if (o->mark.sequence < sequence &&
        (again || us > o->mark.us || o->mark.sequence == 0))
        add_mark(o, (struct change_mark){sequence, us});
}

size_t change_order_add(struct change_order *o, const struct skip_node *n)
{
    struct order_chunk *c = o->last;
    size_t count = atomic_load_explicit(&c->count, memory_order_relaxed);
    size_t grown = 0;

    PRE(o->mark.sequence > 0);
    INVARIANT(count <= c->cap);
    if (UNLIKELY(count == c->cap)) {
        c = order_chunk_new(MIN_OF(2 * c->cap, CHUNK_COUNT_MAX));
        c->first = cell_key_sequence(skip_node_key(n));
        atomic_store_explicit(&o->last->next, c, memory_order_release);
        o->last = c;
        count = 0;
        grown = sizeof(*c) + c->cap * sizeof(c->nodes[0]);
    } else if (UNLIKELY(count == 0)) {
        c->first = cell_key_sequence(skip_node_key(n));
    }
    c->nodes[count] = n;
    atomic_store_explicit(&c->count, count + 1, memory_order_release);
    return grown;
}

/* --- recovery ------------------------------------------------------------ */

void change_order_note_loose(struct change_order *o,
                             uint64_t sequence,
                             int64_t us)
{
    PRE(sequence > 0);
    if (o->mark.sequence == sequence)
        return;
    o->mark = (struct change_mark){0, 0};
    add_mark(o, (struct change_mark){sequence, us});
}

static int by_node(const void *a, const void *b)
{
    uint64_t x =
        cell_key_sequence(skip_node_key(*(const struct skip_node *const *)a));
    uint64_t y =
        cell_key_sequence(skip_node_key(*(const struct skip_node *const *)b));
    return (x > y) - (x < y);
}

static int by_mark(const void *a, const void *b)
{
    uint64_t x = ((const struct change_mark *)a)->sequence;
    uint64_t y = ((const struct change_mark *)b)->sequence;
    return (x > y) - (x < y);
}

static void sort_marks(struct change_order *o, const struct change_order *from)
{
    struct buf list = BUF_INIT;
    struct change_mark *marks;
    size_t count;
    PRE(o != from);
    PRE(o->mark.sequence == 0);
    for (const struct mark_chunk *c = from->first_marks; c;
         c = atomic_load(&c->next))
        buf_append(&list, c->marks, atomic_load(&c->count) * sizeof(*c->marks));
    marks = (void *)list.data;
    count = list.len / sizeof(*marks);
    if (count)
        qsort(marks, count, sizeof(*marks), by_mark);
    for (size_t i = 0; i < count; i++)
        if (marks[i].sequence > o->mark.sequence)
            add_mark(o, (struct change_mark){marks[i].sequence,
                                             MAX_OF(marks[i].us, o->mark.us)});
    buf_close(&list);
}

void change_order_sort(struct change_order *o)
{
    struct change_order *fresh = change_order_new();
    struct change_order old = *o;
    struct buf list = BUF_INIT;
    const struct skip_node *const *nodes;
    size_t count;
    for (const struct order_chunk *c = o->first; c; c = atomic_load(&c->next))
        buf_append(&list, c->nodes,
                   atomic_load(&c->count) * sizeof(c->nodes[0]));
    count = list.len / sizeof(*nodes);
    if (count)
        qsort(list.data, count, sizeof(*nodes), by_node);
    nodes = (const void *)list.data;
    sort_marks(fresh, o);
    for (size_t i = 0; i < count; i++)
        (void)change_order_add(fresh, nodes[i]);
    buf_close(&list);
    *o = *fresh;
    *fresh = old;
    change_order_free(fresh);
}

/* --- readers ------------------------------------------------------------- */

static size_t order_count(const struct order_chunk *c)
{
    ASSERT_SLOW(c->count <= c->cap);
    return atomic_load_explicit(&c->count, memory_order_acquire);
}

static const struct order_chunk *order_next(const struct order_chunk *c)
{
    return atomic_load_explicit(&c->next, memory_order_acquire);
}

static size_t marks_count(const struct mark_chunk *c)
{
    ASSERT_SLOW(c->count <= c->cap);
    return atomic_load_explicit(&c->count, memory_order_acquire);
}

static const struct mark_chunk *marks_next(const struct mark_chunk *c)
{
    return atomic_load_explicit(&c->next, memory_order_acquire);
}

uint64_t change_order_first(const struct change_order *o)
{
    PRE(o->first);
    return order_count(o->first) ? o->first->first : UINT64_MAX;
}

void change_order_copy_marks(const struct change_order *o,
                             uint64_t sequence_max,
                             struct change_marks *out)
{
    for (const struct mark_chunk *c = o->first_marks; c; c = marks_next(c)) {
        size_t count = marks_count(c);
        for (size_t i = 0; i < count; i++) {
            if (c->marks[i].sequence > sequence_max)
                return;
            change_marks_add(out, c->marks[i]);
        }
    }
}

bool change_order_find_mark(const struct change_order *o,
                            uint64_t sequence,
                            struct change_mark *out)
{
    const struct mark_chunk *c = o->first_marks;
    const struct mark_chunk *next;
    size_t low = 0;
    size_t high;
    PRE(o->first_marks);
    while ((next = marks_next(c)) && marks_count(next) &&
           next->marks[0].sequence <= sequence)
        c = next;
    high = marks_count(c);
    while (low < high) { /* Marks before `low` are at or before it. */
        size_t middle = low + (high - low) / 2;
        if (c->marks[middle].sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *out = c->marks[low - 1];
    POST(out->sequence <= sequence);
    return true;
}

/* Take over the marks up to the entry the cursor is at. */
static void order_cursor_mark(struct order_cursor *c)
{
    while (c->marks) {
        if (c->mark_at == marks_count(c->marks)) {
            const struct mark_chunk *next = marks_next(c->marks);
            if (!next || marks_count(next) == 0)
                return;
            c->marks = next;
            c->mark_at = 0;
        }
        if (c->marks->marks[c->mark_at].sequence > c->sequence)
            return;
        c->us = c->marks->marks[c->mark_at].us;
        c->mark = c->marks->marks[c->mark_at].sequence;
        c->mark_at++;
    }
}

/* At the entry c->at of the chunk, or the first one of the next. */
static void order_cursor_show(struct order_cursor *c)
{
    c->node = NULL;
    while (c->chunk && c->at == order_count(c->chunk)) {
        const struct order_chunk *next = order_next(c->chunk);
        if (!next || c->at < c->chunk->cap)
            return;
        c->chunk = next;
        c->at = 0;
    }
    c->sequence = cell_key_sequence(skip_node_key(c->chunk->nodes[c->at]));
    if (c->sequence > c->sequence_max)
        return;
    c->node = c->chunk->nodes[c->at];
    order_cursor_mark(c);
    INVARIANT(c->node);
    POST(c->sequence <= c->sequence_max);
}

void order_cursor_open(struct order_cursor *c,
                       const struct change_order *o,
                       uint64_t after,
                       uint64_t sequence_max)
{
    const struct order_chunk *next;
    PRE(o->first);

    *c = (struct order_cursor){.chunk = o->first,
                               .marks = o->first_marks,
                               .sequence_max = sequence_max};
    while ((next = order_next(c->chunk)) && order_count(next) &&
           next->first <= after)
        c->chunk = next;
    order_cursor_show(c);
    while (c->node && c->sequence <= after)
        order_cursor_next(c);
}

void order_cursor_next(struct order_cursor *c)
{
    PRE(c->node);
    c->at++;
    order_cursor_show(c);
}
