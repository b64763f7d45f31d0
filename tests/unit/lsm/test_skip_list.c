/* Skip lists whose keys have versions: what is known of their beginnings must
 * not change their order. */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
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

/* The list holds @keys, in order, forwards and at every search. */
static void check_list(const struct skip_list *l, char *keys, size_t count)
{
    const struct skip_node *n = skip_list_seek(l, SLICE_EMPTY);
    qsort(keys, count, KEY_BYTES, compare_keys);
    for (size_t i = 0; i < count; i++, n = skip_node_next(n)) {
        struct slice key = slice_make(keys + i * KEY_BYTES, KEY_BYTES);
        ck_assert_ptr_nonnull(n);
        ck_assert(slice_eq(skip_node_key(n), key));
        ck_assert(slice_eq(skip_node_value(n), key));
        ck_assert_ptr_eq(skip_list_seek(l, key), n);
    }
    ck_assert_ptr_null(n);
}

/* Whatever share of the keys are versions of ones that are there, and in
 * whatever runs rows come in order, all are found in their order. */
static void insert_many(struct rand_gen *r, uint64_t stems, size_t count)
{
    struct chunk_pool *pool = chunk_pool_new();
    char *keys = malloc(count * KEY_BYTES);
    struct skip_list l;
    uint64_t stem = 0;
    skip_list_init(&l, pool);
    for (size_t i = 0; i < count; i++) {
        char *key = keys + i * KEY_BYTES;
        struct slice k = slice_make(key, KEY_BYTES);
        make_key(r, stems, i, key);
        if (i / 500 % 2) /* In order. */
            put_be64(key, stem++ % stems * 3);
        if (rand_below(r, 50) == 0) { /* One that has no versions. */
            put_be64(key, get_be64(key) + 1);
            skip_list_insert(&l, k, k);
        } else {
            skip_list_insert_version(&l, k, STEM_BYTES, k);
        }
    }
    check_list(&l, keys, count);
    check_levels(&l);
    skip_list_close(&l);
    chunk_pool_free(pool);
    free(keys);
}

START_TEST(test_versions)
{
    static const uint64_t stems[] = {1, 10, 300, 3000, 1000000};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
        insert_many(&r, stems[i], 20000);
}

END_TEST

TEST_MAIN("skip_list", test_versions)
