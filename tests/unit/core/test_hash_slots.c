/* Slots hold what a plain list would, whatever comes and goes. */
#include <stdlib.h>

#include "base/core/hash_slots.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    KEYS = 200
};

/* Hashes are few, so that runs are long and go around the end. */
struct slot {
    uint32_t key; /* 0: free. */
    uint32_t value;
};

static bool slot_is_free(const struct slot *s)
{
    return s->key == 0;
}

static uint64_t hash_of_key(uint32_t key)
{
    return (uint64_t)key * 7 % 23 * 5;
}

static uint64_t slot_hash(const struct slot *s)
{
    return hash_of_key(s->key);
}

HASH_SLOTS_DEFINE(slots, struct slot, slot_is_free, slot_hash);

struct set {
    struct slot *at;
    size_t cap;
    size_t count;
    uint32_t model[KEYS + 1]; /* Of each key its value; 0: not there. */
};

static size_t find(const struct set *s, uint32_t key)
{
    size_t at;
    HASH_SLOTS_SEEK(at, s->cap, hash_of_key(key),
                    s->at[at].key == 0 || s->at[at].key == key);
    return at;
}

static void put(struct set *s, uint32_t key, uint32_t value)
{
    size_t at;
    if (s->count + 1 >= s->cap) {
        struct slot *more = mem_zalloc(s->cap * 2, sizeof(*more));
        slots_move(s->at, s->cap, more, s->cap * 2);
        mem_free(s->at);
        s->at = more;
        s->cap *= 2;
    }
    at = find(s, key);
    s->count += s->at[at].key == 0;
    s->at[at] = (struct slot){key, value};
    s->model[key] = value;
}

static void take_out(struct set *s, uint32_t key)
{
    size_t at = find(s, key);
    ck_assert_uint_eq(s->at[at].key, key);
    slots_take_out(s->at, s->cap, at);
    s->count--;
    s->model[key] = 0;
}

static void check(const struct set *s)
{
    size_t taken = 0;
    for (uint32_t key = 1; key <= KEYS; key++) {
        const struct slot *slot = &s->at[find(s, key)];
        ck_assert_uint_eq(slot->key ? slot->value : 0, s->model[key]);
    }
    for (size_t i = 0; i < s->cap; i++)
        taken += s->at[i].key != 0;
    ck_assert_uint_eq(taken, s->count);
}

/* Everything that was put and not taken out is found, nothing else is, and no
 * slot is lost. */
START_TEST(test_drawn_changes)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 40; round++) {
        struct set s = {.at = mem_zalloc(4, sizeof(struct slot)), .cap = 4};
        uint64_t keys = 1 + rand_below(&r, KEYS);
        for (int i = 0; i < 400; i++) {
            uint32_t key = (uint32_t)(1 + rand_below(&r, keys));
            if (s.model[key] && rand_one_in(&r, 2))
                take_out(&s, key);
            else
                put(&s, key, (uint32_t)(1 + rand_below(&r, 1000)));
            check(&s);
        }
        mem_free(s.at);
    }
}

END_TEST

TEST_MAIN("hash_slots", test_drawn_changes)
