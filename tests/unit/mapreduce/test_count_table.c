/* A table of counts holds the sum of all that was added to each key, however
 * often it doubled, and says in time that it is full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/rand.h"
#include "mapreduce/shuffle/count_table.h"
#include "tests/lib/check_main.h"

enum {
    KEYS = 100000,
    KEY_BYTES = 24
};

/* The model: a sum for each number; its key follows from the number. */
struct fixture {
    struct rand_gen rand;
    struct count_table table;
    char *memory;
    int64_t *sums;
    uint64_t *seen;
};

static void setup(struct fixture *f, size_t memory)
{
    rand_init(&f->rand, test_seed());
    f->memory = aligned_alloc(64, memory);
    memset(f->memory, 0x5a, memory);
    f->sums = calloc(KEYS, sizeof(*f->sums));
    f->seen = calloc(KEYS, sizeof(*f->seen));
    count_table_init(&f->table, f->memory, memory);
}

static void teardown(struct fixture *f)
{
    free(f->memory);
    free(f->sums);
    free(f->seen);
}

/* Lengths on both sides of the 16 bytes that a slot holds; the number is at the
 * end, zeros among its bytes, and the bytes before it vary. */
static struct slice key_of(uint32_t number, char *out)
{
    size_t len = 4 + hash_mix(number) % (KEY_BYTES - 3);
    memset(out, 'k', len - 4);
    memcpy(out + len - 4, &number, 4);
    return slice_make(out, len);
}

static uint32_t number_of(struct slice key)
{
    uint32_t number = UINT32_MAX;
    if (key.len < 4)
        return number;
    memcpy(&number, key.data + key.len - 4, 4);
    return number;
}

static void add(struct fixture *f, uint32_t number)
{
    char bytes[KEY_BYTES];
    int64_t by = (int64_t)rand_below(&f->rand, 100) - 50;
    count_table_add(&f->table, key_of(number, bytes), by);
    f->sums[number] += by;
    f->seen[number]++;
}

/* The table has what was added since the last time, each key once. */
static void check_and_clear(struct fixture *f)
{
    uint32_t count = count_table_pack(&f->table);
    uint32_t known = 0;
    memset(count_table_sort_room(&f->table, 16), 0x5a, (size_t)32 * count);
    for (uint32_t i = 0; i < KEYS; i++)
        known += f->seen[i] > 0;
    ck_assert_uint_eq(count, known);
    for (uint32_t i = 0; i < count; i++) {
        char bytes[KEY_BYTES];
        const struct count_slot *s = &f->table.slots[i];
        uint32_t number = number_of(count_slot_key(s));
        if (number >= KEYS || f->seen[number] == 0 ||
            s->sum != f->sums[number] ||
            !slice_eq(count_slot_key(s), key_of(number, bytes)))
            ck_abort_msg("key %u has the wrong sum", number);
        f->seen[number] = 0;
        f->sums[number] = 0;
    }
    count_table_clear(&f->table);
}

/* Frequent keys and rare ones, through four doublings, twice in one memory. */
START_TEST(test_sums)
{
    struct fixture f;
    setup(&f, (size_t)16 << 20);
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 0; n < 2 * KEYS; n++) {
            uint64_t bound = 1 + rand_below(&f.rand, KEYS);
            add(&f, (uint32_t)rand_below(&f.rand, bound));
            if (f.table.full)
                ck_abort_msg("full of %u keys", f.table.used);
        }
        ck_assert_uint_ge(f.table.slot_mask + 1, 128 << 10);
        check_and_clear(&f);
    }
    teardown(&f);
}

END_TEST

/* In any amount of memory: full before a key is lost, and as good as new once
 * cleared. */
START_TEST(test_full)
{
    struct fixture f;
    setup(&f, COUNT_TABLE_BYTES_MIN + 64 * 12345);
    for (uint32_t n = 0, fulls = 0; fulls < 4; n++) {
        add(&f, (uint32_t)rand_below(&f.rand, KEYS));
        if (f.table.full) {
            ck_assert_uint_gt(f.table.used, 5000);
            check_and_clear(&f);
            fulls++;
        } else if (n > 4 * KEYS) {
            ck_abort_msg("never full");
        }
    }
    teardown(&f);
}

END_TEST

/* Keys made to collide fill the table long before it is, and none is lost. */
START_TEST(test_crowded)
{
    struct fixture f;
    uint32_t *hashes = calloc(KEYS, sizeof(*hashes));
    uint32_t used;
    setup(&f, (size_t)16 << 20);
    for (uint32_t n = 0; n < KEYS; n++)
        add(&f, n);
    count_table_settle(&f.table);
    for (uint32_t i = 0; i <= f.table.slot_mask; i++)
        if (f.table.slots[i].len1 != 0)
            hashes[number_of(count_slot_key(&f.table.slots[i]))] =
                f.table.slots[i].hash;
    check_and_clear(&f);
    /* A small table, and only keys whose homes are its last fifty slots: they
     * continue at its beginning. */
    count_table_init(&f.table, f.memory, (size_t)16 << 20);
    for (uint32_t n = 0; n < KEYS && !f.table.full; n++)
        if (hashes[n] >> 19 >= 8192 - 50)
            add(&f, n);
    ck_assert(f.table.full);
    used = f.table.used;
    ck_assert_uint_lt(used, 1000);
    check_and_clear(&f);
    /* Fewer of them stay where they are found while the table doubles. */
    for (uint32_t n = 0, near = 0; n < KEYS && near < used / 3; n++)
        if (hashes[n] >> 19 >= 8192 - 50) {
            add(&f, n);
            near++;
        }
    for (uint32_t n = 0; n < KEYS; n++)
        if (hashes[n] >> 19 < 8192 - 90) {
            add(&f, n);
            if (f.table.full)
                ck_abort_msg("full of %u keys", f.table.used);
        }
    check_and_clear(&f);
    free(hashes);
    teardown(&f);
}

END_TEST

TEST_MAIN("count_table", test_sums, test_full, test_crowded)
