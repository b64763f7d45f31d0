/* A hash map behaves like an array of pairs that is searched from end to end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    KEYS = 400,
    STEPS = 60000
};

static struct slice key_of(char *text, size_t i)
{
    return slice_make(text, (size_t)sprintf(text, "key-%zu", i));
}

static void compare_all(const struct hash_map *m, const uint64_t *model)
{
    size_t at = 0;
    size_t count = 0;
    struct hash_slot *s;
    while ((s = hash_map_next(m, &at))) {
        size_t i = strtoul(s->key.data + 4, NULL, 10);
        ck_assert(i < KEYS && model[i]);
        ck_assert_uint_eq(s->value.number, model[i]);
        count++;
    }
    ck_assert_uint_eq(count, m->count);
    for (size_t i = 0; i < KEYS; i++)
        count -= model[i] != 0;
    ck_assert_uint_eq(count, 0);
}

/* Random puts, lookups and removals, with copied keys. */
START_TEST(test_model)
{
    static uint64_t model[KEYS];
    struct hash_map m;
    struct rand_gen r;
    char text[32];
    rand_init(&r, test_seed());
    hash_map_init(&m, HASH_KEYS_COPIED);
    for (int step = 0; step < STEPS; step++) {
        size_t i = rand_below(&r, 1 + rand_below(&r, KEYS));
        struct slice key = key_of(text, i);
        union hash_value old = {.number = 0};
        bool added;
        switch (rand_below(&r, 3)) {
        case 0:
            hash_map_put(&m, key, &added)->number = (uint64_t)step + 1;
            ck_assert_int_eq(added, model[i] == 0);
            model[i] = (uint64_t)step + 1;
            break;
        case 1:
            ck_assert_int_eq(hash_map_remove(&m, key, &old), model[i] != 0);
            ck_assert_uint_eq(old.number, model[i]);
            model[i] = 0;
            break;
        default: ck_assert_int_eq(hash_map_get(&m, key) != NULL, model[i] != 0);
        }
        if (step % 1000 == 0)
            compare_all(&m, model);
    }
    hash_map_clear(&m);
    ck_assert_ptr_null(hash_map_get(&m, key_of(text, 1)));
    hash_map_close(&m);
}

END_TEST

/* Borrowed keys are the caller's bytes. */
START_TEST(test_borrowed_keys)
{
    struct hash_map m;
    struct slice key = SLICE_LIT("here");
    size_t at = 0;
    hash_map_init(&m, HASH_KEYS_BORROWED);
    hash_map_put(&m, key, NULL)->pointer = &m;
    ck_assert_ptr_eq(hash_map_next(&m, &at)->key.data, key.data);
    ck_assert_ptr_eq(hash_map_get(&m, SLICE_LIT("here"))->pointer, &m);
    ck_assert_ptr_null(hash_map_get(&m, SLICE_EMPTY));
    hash_map_close(&m);
}

END_TEST

TEST_MAIN("hash_map", test_model, test_borrowed_keys)
