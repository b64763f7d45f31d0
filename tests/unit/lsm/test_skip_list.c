/* Skip lists whose keys have versions: neither what is known of their
 * beginnings nor that they are inserted together must change their order. */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/lsm/skip_list.h"
#include "bigtable/sstable/chunk_pool.h"
#include "tests/lib/check_main.h"

#define STEM_BYTES 8
#define KEY_BYTES  16

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, KEY_BYTES);
}

/* A key of one of @stems rows: newer versions come first, mostly. */
static void
make_key(struct rand_gen *r, uint64_t stems, uint64_t number, char *key)
{
    uint64_t stem = rand_below(r, stems);
    uint64_t version = rand_below(r, 8) ? number : rand_below(r, number + 1);
    put_be64(key, stem * 3);
    put_be64(key + STEM_BYTES, ~(version << 20 | number));
}

/* Searches walk on along every level: each is in order. */
static void check_levels(const struct skip_list *l)
{
    for (size_t level = 1; level < SKIP_LIST_HEIGHT_MAX; level++) {
        const struct skip_node *n = atomic_load(&l->head->next[level]);
        while (n) {
            const struct skip_node *next = atomic_load(&n->next[level]);
            ck_assert_uint_gt(n->height, level);
            if (next)
                ck_assert_int_lt(
                    slice_cmp(skip_node_key(n), skip_node_key(next)), 0);
            n = next;
        }
    }
}

/* The list holds @keys, in order, forwards, backwards and at every search. */
static void check_list(const struct skip_list *l, char *keys, size_t count)
{
    const struct skip_node *n = skip_list_seek(l, SLICE_EMPTY);
    const struct skip_node *prev = l->head;
    ck_assert_uint_eq(atomic_load(&l->count), count);
    qsort(keys, count, KEY_BYTES, compare_keys);
    for (size_t i = 0; i < count; i++, n = skip_node_next(n)) {
        struct slice key = slice_make(keys + i * KEY_BYTES, KEY_BYTES);
        ck_assert_ptr_nonnull(n);
        ck_assert(slice_eq(skip_node_key(n), key));
        ck_assert(slice_eq(skip_node_value(n), key));
        ck_assert_ptr_eq(skip_list_seek(l, key), n);
        ck_assert_ptr_eq(n->prev, prev);
        prev = n;
    }
    ck_assert_ptr_null(n);
}

#define LISTS 2

struct lists {
    struct skip_list list[LISTS];
    char *keys[LISTS]; /* Those that were inserted. */
    size_t count[LISTS];
    struct skip_batch *batch;
};

/* The next key of one of the lists, out of @stems rows; it and those before it
 * may come in order. */
static void
insert_one(struct rand_gen *r, struct lists *l, uint64_t stems, uint64_t number)
{
    size_t i = rand_below(r, LISTS);
    char *key = l->keys[i] + l->count[i]++ * KEY_BYTES;
    struct slice k = slice_make(key, KEY_BYTES);
    size_t stem_bytes = STEM_BYTES;
    make_key(r, stems, number, key);
    if (number / 500 % 2)
        put_be64(key, number % stems * 3);
    if (rand_below(r, 50) == 0) { /* One that has no versions. */
        put_be64(key, get_be64(key) + 1);
        stem_bytes = 0;
    }
    if (number / 1000 % 4)
        skip_batch_insert(l->batch, &l->list[i], k, stem_bytes, k);
    else
        skip_list_insert(&l->list[i], k, stem_bytes, k);
}

/* Whatever share of the keys are versions of ones that are there, in whatever
 * runs rows come in order, and however many go in together, all are found in
 * their order. */
static void insert_many(struct rand_gen *r, uint64_t stems, size_t count)
{
    struct chunk_pool *pool = chunk_pool_new();
    struct lists l = {.batch = skip_batch_new()};
    for (size_t i = 0; i < LISTS; i++) {
        skip_list_init(&l.list[i], pool);
        l.keys[i] = malloc(count * KEY_BYTES);
    }
    for (size_t i = 0; i < count; i++) {
        insert_one(r, &l, stems, i);
        if (rand_below(r, 100) == 0 || (i + 1) % 1000 == 0)
            skip_batch_end(l.batch);
    }
    for (size_t i = 0; i < LISTS; i++) {
        check_list(&l.list[i], l.keys[i], l.count[i]);
        check_levels(&l.list[i]);
        skip_list_close(&l.list[i]);
        free(l.keys[i]);
    }
    skip_batch_free(l.batch);
    chunk_pool_free(pool);
}

START_TEST(test_versions)
{
    static const uint64_t stems[] = {1, 10, 300, 3000, 1000000};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
        insert_many(&r, stems[i], 40000);
}

END_TEST

TEST_MAIN("skip_list", test_versions)
