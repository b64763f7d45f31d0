/* Ranges of keys have what an obvious model says they have. */
#include <string.h>

#include "base/core/key_range.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

#define KEY_BYTES_MAX 3

/* Few letters, among them the greatest: prefixes without an end are common. */
static struct slice random_key(struct rand_gen *r, char *room)
{
    static const char letters[] = {'\0', 'a', 'b', '\xff'};
    size_t n = rand_below(r, KEY_BYTES_MAX + 1);
    for (size_t i = 0; i < n; i++)
        room[i] = letters[rand_below(r, sizeof(letters))];
    return slice_make(room, n);
}

static bool model_has(struct slice start, struct slice end, struct slice key)
{
    return slice_cmp(key, start) >= 0 &&
           (end.len == 0 || slice_cmp(key, end) < 0);
}

/* A key is in the intersection of a prefix and a range exactly when it begins
 * with the prefix and lies in the range. */
START_TEST(test_intersection)
{
    char room[4][KEY_BYTES_MAX];
    struct buf end = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, 7);
    for (int i = 0; i < 20000; i++) {
        struct slice prefix = random_key(&r, room[0]);
        struct slice from = random_key(&r, room[1]);
        struct slice to = random_key(&r, room[2]);
        struct slice key = random_key(&r, room[3]);
        struct key_range both = key_range_intersect(
            key_range_of_prefix(prefix, &end), (struct key_range){from, to});
        bool want = slice_starts_with(key, prefix) && model_has(from, to, key);
        ck_assert(key_range_has(both, key) == want);
        ck_assert(!want || !key_range_is_empty(both));
    }
    buf_close(&end);
}

END_TEST

/* Nothing is in the range of nothing, also beside others. */
START_TEST(test_none)
{
    char room[2][KEY_BYTES_MAX];
    struct rand_gen r;
    rand_init(&r, 8);
    ck_assert(key_range_is_empty(KEY_RANGE_NONE));
    ck_assert(
        !key_range_is_empty((struct key_range){SLICE_EMPTY, SLICE_EMPTY}));
    for (int i = 0; i < 1000; i++) {
        struct key_range x = {random_key(&r, room[0]), random_key(&r, room[1])};
        ck_assert(key_range_is_empty(key_range_intersect(KEY_RANGE_NONE, x)));
    }
}

END_TEST

TEST_MAIN("key_range", test_intersection, test_none)
