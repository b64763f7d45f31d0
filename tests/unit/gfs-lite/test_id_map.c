/* Maps from numbers to structs find what was put, and a walk meets all of it
 * though the map changes under way. */
#include <stdlib.h>

#include "base/core/rand.h"
#include "gfs-lite/id_map.h"
#include "tests/lib/check_main.h"

struct item {
    uint64_t id;
    bool there;
    bool stays; /* From the beginning of the walk to its end. */
    bool met;
};

#define ITEMS 6000

/* An item that is there throughout a walk comes, whatever is put and removed
 * between its steps. */
START_TEST(test_walk_meets_all)
{
    struct item *items = calloc(ITEMS, sizeof(*items));
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (unsigned round = 0; round < 60; round++) {
        struct id_map m = {.slots = NULL};
        struct id_map_walk walk = {0};
        struct item *e;
        size_t begin = rand_below(&r, ITEMS / 2) + 1;
        unsigned changes = (unsigned)rand_below(&r, 5);
        for (size_t i = 0; i < ITEMS; i++) {
            items[i] = (struct item){.id = i * 7 + 1};
            if (rand_below(&r, ITEMS) < begin) {
                items[i].there = items[i].stays = true;
                id_map_put(&m, &items[i]);
            }
        }
        while ((e = id_map_walk(&m, &walk))) {
            ck_assert(e->there);
            e->met = true;
            for (unsigned k = 0; k < changes; k++) {
                struct item *x = &items[rand_below(&r, ITEMS)];
                if (x->there)
                    id_map_remove(&m, x->id);
                else if (rand_below(&r, 3) == 0)
                    id_map_put(&m, x);
                else
                    continue;
                x->there = !x->there;
                x->stays = false;
            }
        }
        for (size_t i = 0; i < ITEMS; i++) {
            ck_assert(!items[i].stays || items[i].met);
            ck_assert_ptr_eq(id_map_get(&m, items[i].id),
                             items[i].there ? &items[i] : NULL);
        }
        id_map_close(&m);
    }
    free(items);
}

END_TEST

static size_t count_all(const struct id_map *m)
{
    size_t count = 0;
    size_t at = 0;
    const struct item *e;
    for (; (e = id_map_next(m, &at)); count++)
        ck_assert(e->there);
    return count;
}

/* A map that grows is never moved at once; what is in it is found meanwhile,
 * what was removed is not, and each item comes once. */
START_TEST(test_grows_little_by_little)
{
    struct item *items = calloc(ITEMS, sizeof(*items));
    struct id_map m = {.slots = NULL};
    struct rand_gen r;
    size_t there = 0;
    size_t growing = 0;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < ITEMS; i++) {
        struct item *x = &items[rand_below(&r, i + 1)];
        size_t cap = m.cap;
        items[i] = (struct item){.id = i * 7 + 1, .there = true};
        id_map_put(&m, &items[i]);
        there++;
        ck_assert(m.cap == cap || m.cap < 1024 || m.old);
        growing += m.old != NULL;
        if (x->there && rand_one_in(&r, 4)) {
            id_map_remove(&m, x->id);
            x->there = false;
            there--;
        }
        ck_assert_ptr_eq(id_map_get(&m, x->id), x->there ? x : NULL);
        ck_assert_uint_eq(m.count, there);
        if (m.old && rand_one_in(&r, 8))
            ck_assert_uint_eq(count_all(&m), there);
    }
    ck_assert_uint_gt(growing, 100);
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_ptr_eq(id_map_get(&m, items[i].id),
                         items[i].there ? &items[i] : NULL);
    id_map_close(&m);
    free(items);
}

END_TEST

TEST_MAIN("id_map", test_walk_meets_all, test_grows_little_by_little)
