/* Encoded values sort as the values do, and read back as themselves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/ordered_key.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    PAIRS = 20000
};

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static struct buf a;
static struct buf b;

/* Order of what a and b hold now; both are cleared. */
static int encoded_order(enum key_order order)
{
    int c = sign(slice_cmp(buf_slice(&a), buf_slice(&b)));
    buf_clear(&a);
    buf_clear(&b);
    return order == KEY_DESCENDING ? -c : c;
}

static struct slice random_bytes(struct rand_gen *r, char *p)
{
    size_t len = rand_below(r, 6);
    for (size_t i = 0; i < len; i++)
        p[i] = "\0\1\2\376\377a"[rand_below(r, 6)];
    return slice_make(p, len);
}

/* Strings full of zeros and prefixes of each other keep their order, also in
 * front of another part of the key. */
START_TEST(test_bytes)
{
    struct rand_gen r;
    struct buf back = BUF_INIT;
    char x[8];
    char y[8];
    rand_init(&r, test_seed());
    for (int i = 0; i < PAIRS; i++) {
        enum key_order order = i % 2 ? KEY_DESCENDING : KEY_ASCENDING;
        struct slice s = random_bytes(&r, x);
        struct slice t = random_bytes(&r, y);
        struct cursor c;
        ordered_put_bytes(&a, s, order);
        c = cursor_make(buf_slice(&a));
        buf_clear(&back);
        ordered_get_bytes(&c, &back, order);
        ck_assert(!c.bad && c.p == c.end && slice_eq(buf_slice(&back), s));
        ordered_put_bytes(&b, t, order);
        if (!slice_eq(s, t)) { /* What follows must not matter. */
            buf_append_byte(&a, (char)rand_u64(&r));
            buf_append_byte(&b, (char)rand_u64(&r));
        }
        ck_assert_int_eq(encoded_order(order), sign(slice_cmp(s, t)));
    }
    buf_close(&back);
}

END_TEST

/* Integers of all magnitudes and signs. */
START_TEST(test_integers)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < PAIRS; i++) {
        enum key_order order = i % 2 ? KEY_DESCENDING : KEY_ASCENDING;
        int64_t x = (int64_t)rand_u64(&r) >> rand_below(&r, 64);
        int64_t y = (int64_t)rand_u64(&r) >> rand_below(&r, 64);
        struct cursor c;
        ordered_put_i64(&a, x, order);
        c = cursor_make(buf_slice(&a));
        ck_assert_int_eq(ordered_get_i64(&c, order), x);
        ordered_put_i64(&b, y, order);
        ck_assert_int_eq(encoded_order(order), (x > y) - (x < y));
        ordered_put_u64(&a, (uint64_t)x, order);
        ordered_put_u64(&b, (uint64_t)y, order);
        ck_assert_int_eq(encoded_order(order), ((uint64_t)x > (uint64_t)y) -
                                                   ((uint64_t)x < (uint64_t)y));
    }
}

END_TEST

/* Doubles, infinities among them. */
START_TEST(test_doubles)
{
    static const double edges[] = {-INFINITY, -1e300, -1,  -1e-320, 0,
                                   1e-320,    0.5,    1e9, INFINITY};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < PAIRS; i++) {
        enum key_order order = i % 2 ? KEY_DESCENDING : KEY_ASCENDING;
        double x = edges[rand_below(&r, ARRAY_LEN(edges))];
        double y = (rand_double(&r) - 0.5) * pow(10, rand_double(&r) * 200);
        struct cursor c;
        ordered_put_double(&a, x, order);
        c = cursor_make(buf_slice(&a));
        ck_assert(ordered_get_double(&c, order) == x);
        ordered_put_double(&b, y, order);
        ck_assert_int_eq(encoded_order(order), (x > y) - (x < y));
    }
}

END_TEST

/* A cut or malformed key is told apart and leaves nothing behind. */
START_TEST(test_damage)
{
    static const char *const broken[] = {"", "abc", "ab\0", "ab\0\2"};
    static const size_t lens[] = {0, 3, 3, 4};
    struct buf back = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        struct cursor c = cursor_make(slice_make(broken[i], lens[i]));
        ordered_get_bytes(&c, &back, KEY_ASCENDING);
        ck_assert(c.bad);
        ck_assert_uint_eq(back.len, 0);
        c = cursor_make(slice_make(broken[i], lens[i]));
        ck_assert_int_eq(ordered_get_i64(&c, KEY_ASCENDING), 0);
        ck_assert(c.bad);
    }
    buf_close(&back);
}

END_TEST

TEST_MAIN("ordered_key", test_bytes, test_integers, test_doubles, test_damage)
