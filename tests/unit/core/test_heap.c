/* A heap gives its items in order, whatever was put and taken out before. */
#include <stdlib.h>

#include "base/core/heap.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    ITEMS_MAX = 64
};

/* Items know where they are. */
struct item {
    uint64_t key;
    size_t at; /* SIZE_MAX: not in the heap. */
};

struct model {
    struct item all[ITEMS_MAX];
    struct item *heap[ITEMS_MAX];
    size_t count;
    unsigned comparisons;
};

static bool
item_before(struct model *m, struct item *const *a, struct item *const *b)
{
    m->comparisons++;
    return (*a)->key < (*b)->key;
}

static void item_placed(struct model *m, struct item **item, size_t at)
{
    ck_assert_ptr_eq(m->heap[at], *item);
    (*item)->at = at;
}

HEAP_DEFINE_PLACED(item_heap,
                   struct item *,
                   struct model *,
                   item_before,
                   item_placed);

static void check(const struct model *m)
{
    size_t in = 0;
    for (size_t i = 0; i < m->count; i++) {
        ck_assert_uint_eq(m->heap[i]->at, i);
        if (i > 0)
            ck_assert_uint_ge(m->heap[i]->key, m->heap[(i - 1) / 2]->key);
    }
    for (size_t i = 0; i < ITEMS_MAX; i++)
        in += m->all[i].at != SIZE_MAX;
    ck_assert_uint_eq(in, m->count);
}

static void put(struct model *m, struct item *i, uint64_t key)
{
    i->key = key;
    m->heap[m->count++] = i;
    item_heap_sift_up(m, m->heap, m->count - 1);
}

static void take_out(struct model *m, struct item *i)
{
    size_t at = i->at;
    i->at = SIZE_MAX;
    item_heap_take_out(m, m->heap, &m->count, at);
}

/* One drawn change. */
static void step(struct model *m, struct rand_gen *r)
{
    struct item *i = &m->all[rand_below(r, ITEMS_MAX)];
    uint64_t key = rand_below(r, 20);
    if (i->at == SIZE_MAX) {
        put(m, i, key);
    } else if (rand_one_in(r, 2)) {
        take_out(m, i);
    } else { /* Its key changes where it is. */
        bool up = key < i->key;
        i->key = key;
        if (up)
            item_heap_sift_up(m, m->heap, i->at);
        else
            item_heap_sift_down(m, m->heap, m->count, i->at);
    }
}

static void init(struct model *m)
{
    *m = (struct model){.count = 0};
    for (size_t i = 0; i < ITEMS_MAX; i++)
        m->all[i].at = SIZE_MAX;
}

/* Items that come, go and change are where they belong after each step. */
START_TEST(test_drawn_changes)
{
    struct model m;
    struct rand_gen r;
    rand_init(&r, test_seed());
    init(&m);
    for (int i = 0; i < 20000; i++) {
        step(&m, &r);
        check(&m);
    }
    for (uint64_t last = 0; m.count > 0;) {
        struct item *first = m.heap[0];
        ck_assert_uint_ge(first->key, last);
        last = first->key;
        take_out(&m, first);
        check(&m);
    }
}

END_TEST

static bool
number_before(const uint64_t *unused, const uint64_t *a, const uint64_t *b)
{
    (void)unused;
    return *a > *b;
}

HEAP_DEFINE(number_heap, uint64_t, const uint64_t *, number_before);

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x < *y) - (*x > *y);
}

/* Any numbers, made a heap, come out as if sorted. */
START_TEST(test_sorts)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t n = 0; n < 300; n++) {
        uint64_t heap[300];
        uint64_t sorted[300];
        size_t count = n;
        for (size_t i = 0; i < n; i++)
            heap[i] = sorted[i] = rand_below(&r, 100);
        qsort(sorted, n, sizeof(*sorted), by_number);
        number_heap_make(NULL, heap, n);
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(heap[0], sorted[i]);
            number_heap_take_out(NULL, heap, &count, 0);
        }
    }
}

END_TEST

/* An item that stays first costs two comparisons, a change a logarithm. */
START_TEST(test_comparisons)
{
    struct model m;
    init(&m);
    for (size_t i = 0; i < ITEMS_MAX; i++)
        put(&m, &m.all[i], i);
    m.comparisons = 0;
    item_heap_sift_down(&m, m.heap, m.count, 0);
    ck_assert_uint_le(m.comparisons, 2);
    m.heap[0]->key = 1000;
    m.comparisons = 0;
    item_heap_sift_down(&m, m.heap, m.count, 0);
    ck_assert_uint_le(m.comparisons, 12);
    check(&m);
}

END_TEST

TEST_MAIN("heap", test_drawn_changes, test_sorts, test_comparisons)
