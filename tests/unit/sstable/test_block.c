/* Blocks give back what was put in, find what is there, and survive bytes that
 * are no block. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/rand.h"
#include "bigtable/sstable/block.h"
#include "tests/lib/check_main.h"

enum {
    ENTRIES = 300
};

static struct slice number_key(char *room, int i)
{
    return slice_make(room, (size_t)sprintf(room, "key/%02d/%05d", i / 50, i));
}

static struct slice build(struct block_builder *b, uint32_t every, int count)
{
    struct slice last = SLICE_EMPTY;
    char rooms[2][32];
    block_builder_init(b, every);
    for (int i = 0; i < count; i++) {
        struct slice key = number_key(rooms[i & 1], i * 2);
        char value[32];
        size_t len = (size_t)sprintf(value, "value of %d", i * 2);
        block_builder_add(b, key, key_shared_bytes(last, key),
                          slice_make(value, i % 7 ? len : 0));
        last = key;
    }
    return block_builder_finish(b);
}

/* Every entry is found by its key, and by any key between it and the one
 * before; walking from it gives the rest in order. */
static void check_seeks(uint32_t every)
{
    struct block_builder b;
    struct block_iter it;
    struct slice block = build(&b, every, ENTRIES);
    char room[32];
    block_iter_init(&it);
    ck_assert_int_eq(block_iter_open(&it, block, NULL), 0);
    for (int i = -1; i < ENTRIES * 2 + 1; i++) {
        struct slice target = i < 0 ? SLICE_EMPTY : number_key(room, i);
        int want = i < 0 ? 0 : (i + 1) / 2;
        char expected[32];
        block_iter_seek(&it, target);
        ck_assert_int_eq(it.valid, want < ENTRIES);
        for (int k = want; k < ENTRIES && k < want + 20; k++) {
            ck_assert(
                slice_eq(block_iter_key(&it), number_key(expected, k * 2)));
            ck_assert_int_eq(block_iter_value(&it).len == 0, k % 7 == 0);
            block_iter_next(&it);
        }
        want = i < 0 ? 0 : i / 2 + 1;
        block_iter_after(&it, target);
        ck_assert_int_eq(it.valid, want < ENTRIES);
        if (it.valid)
            ck_assert(
                slice_eq(block_iter_key(&it), number_key(expected, want * 2)));
    }
    ck_assert(!it.bad);
    block_iter_close(&it);
    block_builder_close(&b);
}

START_TEST(test_seek_finds_every_entry)
{
    check_seeks(1);
    check_seeks(8);
    check_seeks(1000);
}

END_TEST

/* With a restart an entry, entries can be reached by number. */
START_TEST(test_index_and_at_are_inverse)
{
    struct block_builder b;
    struct block_iter it;
    struct slice block = build(&b, 1, ENTRIES);
    block_iter_init(&it);
    ck_assert_int_eq(block_iter_open(&it, block, NULL), 0);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        block_iter_at(&it, i);
        ck_assert(it.valid);
        ck_assert_uint_eq(block_iter_index(&it), i);
    }
    block_iter_close(&it);
    block_builder_close(&b);
}

END_TEST

/* Keys longer than the iterator's own room, and empty values, come back. */
START_TEST(test_long_keys)
{
    struct block_builder b;
    struct block_iter it;
    char *key = malloc(70000);
    memset(key, 'k', 70000);
    block_builder_init(&b, 8);
    block_builder_add(&b, slice_make(key, 10), 0, SLICE_EMPTY);
    block_builder_add(&b, slice_make(key, 60000), 10, SLICE_LIT("v"));
    block_builder_add(&b, slice_make(key, 70000), 60000, SLICE_EMPTY);
    block_iter_init(&it);
    ck_assert_int_eq(block_iter_open(&it, block_builder_finish(&b), NULL), 0);
    block_iter_seek(&it, slice_make(key, 65000));
    ck_assert(it.valid);
    ck_assert(slice_eq(block_iter_key(&it), slice_make(key, 70000)));
    block_iter_close(&it);
    block_builder_close(&b);
    free(key);
}

END_TEST

/* Any bytes at all: an error or entries inside the block, never a fault. */
START_TEST(test_damage_is_no_fault)
{
    struct rand_gen r;
    struct block_builder b;
    struct slice block = build(&b, 8, 40);
    char *copy = malloc(block.len);
    rand_init(&r, test_seed());
    for (int round = 0; round < 20000; round++) {
        struct block_iter it;
        size_t len = rand_one_in(&r, 4) ? rand_below(&r, block.len) : block.len;
        int steps = 0;
        memcpy(copy, block.data, len);
        for (uint64_t n = rand_below(&r, 6); n > 0 && len > 0; n--)
            copy[rand_below(&r, len)] = (char)rand_u64(&r);
        block_iter_init(&it);
        if (block_iter_open(&it, slice_make(copy, len), NULL) == 0) {
            char room[32];
            block_iter_seek(&it, number_key(room, (int)rand_below(&r, 80)));
            for (; it.valid && steps < 1000; steps++) {
                struct slice v = block_iter_value(&it);
                ck_assert(v.data >= copy && v.data + v.len <= copy + len);
                block_iter_next(&it);
            }
        }
        block_iter_close(&it);
    }
    free(copy);
    block_builder_close(&b);
}

END_TEST

/* key_shared_bytes counts equal leading bytes. */
START_TEST(test_shared_bytes)
{
    char a[40];
    char b[40];
    memset(a, 'x', sizeof(a));
    for (size_t n = 0; n <= sizeof(a); n++) {
        memset(b, 'x', sizeof(b));
        if (n < sizeof(b))
            b[n] = 'y';
        for (size_t len = 0; len <= sizeof(a); len++)
            ck_assert_uint_eq(
                key_shared_bytes(slice_make(a, sizeof(a)), slice_make(b, len)),
                len < n ? len : n);
    }
}

END_TEST

TEST_MAIN("block",
          test_seek_finds_every_entry,
          test_index_and_at_are_inverse,
          test_long_keys,
          test_damage_is_no_fault,
          test_shared_bytes)
