/* Where tablets are, as it is remembered: against a list that is searched from
 * its end. */
#include <stdio.h>

#include "base/core/rand.h"
#include "bigtable/client/cluster/location_map.h"
#include "tests/lib/check_main.h"

#define ROUNDS 20000

static const char *const keys[] = {"", "a", "b", "c", "d", "e", "f", "g", "h"};

enum {
    KEYS = sizeof(keys) / sizeof(keys[0])
};

static struct location make(uint64_t table, unsigned start, unsigned end)
{
    return (struct location){.table = table,
                             .start = slice_str(keys[start]),
                             .end = slice_str(end < KEYS ? keys[end] : ""),
                             .address = SLICE_LIT("host:1")};
}

static bool overlap(const struct location *a, const struct location *b)
{
    return a->table == b->table &&
           (a->end.len == 0 || slice_cmp(b->start, a->end) < 0) &&
           (b->end.len == 0 || slice_cmp(a->start, b->end) < 0);
}

/* The model: what was put, the newest last; what is overlapped is gone. */
struct model {
    struct location *items[ROUNDS];
    size_t count;
};

static void model_drop(struct model *m, size_t i)
{
    location_unref(m->items[i]);
    for (; i + 1 < m->count; i++)
        m->items[i] = m->items[i + 1];
    m->count--;
}

static bool model_put(struct model *m, struct location *l)
{
    for (size_t i = 0; i < m->count; i++)
        if (overlap(m->items[i], l) && m->items[i]->tablet == l->tablet &&
            m->items[i]->epoch > l->epoch)
            return false;
    for (size_t i = m->count; i > 0; i--)
        if (overlap(m->items[i - 1], l))
            model_drop(m, i - 1);
    m->items[m->count++] = location_ref(l);
    return true;
}

static struct location *
model_find(struct model *m, uint64_t table, struct slice row)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->items[i]->table == table && location_holds(m->items[i], row))
            return m->items[i];
    return NULL;
}

static void expect_same(struct model *model, struct location_map *map)
{
    ck_assert_uint_eq(model->count, map->count);
    for (uint64_t table = 1; table <= 4; table++)
        for (unsigned k = 0; k < KEYS; k++) {
            char row[4];
            ck_assert_ptr_eq(model_find(model, table, slice_str(keys[k])),
                             location_map_find(map, table, slice_str(keys[k])));
            snprintf(row, sizeof(row), "%sx", keys[k]);
            ck_assert_ptr_eq(model_find(model, table, slice_str(row)),
                             location_map_find(map, table, slice_str(row)));
        }
    for (size_t i = 1; i < map->count; i++)
        ck_assert(!overlap(map->items[i - 1], map->items[i]));
}

/* Whatever is put and forgotten, a row is found where the newest that holds it
 * says, and nothing that overlaps stays. */
START_TEST(test_the_newest_is_found)
{
    static struct model model;
    struct location_map map;
    struct rand_gen r;
    rand_init(&r, test_seed());
    location_map_init(&map, 1000);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned start = (unsigned)rand_below(&r, KEYS);
        unsigned end = start + 1 + (unsigned)rand_below(&r, KEYS - start);
        struct location l = make(1 + rand_below(&r, 3), start, end);
        struct location *made;
        l.tablet = rand_below(&r, 5);
        l.epoch = rand_below(&r, 4);
        made = location_new(&l);
        if (rand_one_in(&r, 4)) {
            struct location *known = model_find(&model, l.table, l.start);
            if (known && rand_one_in(&r, 2)) {
                location_map_forget(&map, known);
                for (size_t i = 0; i < model.count; i++)
                    if (model.items[i] == known)
                        model_drop(&model, i);
            } else if (known &&
                       (known->tablet != l.tablet || known->epoch != l.epoch)) {
                location_map_forget(&map, made); /* It is another. */
            }
        } else if (rand_one_in(&r, 50)) {
            location_map_forget_table(&map, l.table);
            for (size_t i = model.count; i > 0; i--)
                if (model.items[i - 1]->table == l.table)
                    model_drop(&model, i - 1);
        } else {
            bool want = model_put(&model, made);
            ck_assert(location_map_put(&map, made) == want);
        }
        location_unref(made);
        expect_same(&model, &map);
    }
    while (model.count)
        model_drop(&model, 0);
    location_map_close(&map);
}

END_TEST

/* There are never more than the bound, and what is found again and again is not
 * what goes. */
START_TEST(test_what_is_used_stays)
{
    struct location_map map;
    char start[16], end[16];
    location_map_init(&map, 100);
    for (int i = 0; i < 2000; i++) {
        struct location l = {.table = 2, .tablet = (uint64_t)i + 1};
        struct location *made;
        snprintf(start, sizeof(start), "%05d", i);
        snprintf(end, sizeof(end), "%05d", i + 1);
        l.start = slice_str(start);
        l.end = slice_str(end);
        l.address = SLICE_EMPTY;
        made = location_new(&l);
        ck_assert(location_map_put(&map, made));
        location_unref(made);
        ck_assert_uint_le(map.count, 100);
        for (int k = 0; k < 10 && k <= i; k++) {
            snprintf(start, sizeof(start), "%05d", k);
            ck_assert_msg(location_map_find(&map, 2, slice_str(start)) != NULL,
                          "%d was forgotten at %d", k, i);
        }
    }
    location_map_close(&map);
}

END_TEST

TEST_MAIN("location_map", test_the_newest_is_found, test_what_is_used_stays)
