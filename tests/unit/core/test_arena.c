/* Memory from an arena does not overlap and stays unchanged until it is
 * reset. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    PIECES = 2000
};

struct piece {
    unsigned char *p;
    size_t len;
    unsigned char fill;
};

/* Pieces of all sizes, aligned, keep their bytes; over many resets. */
START_TEST(test_pieces_stay_apart)
{
    static struct piece pieces[PIECES];
    struct rand_gen r;
    struct arena a;
    rand_init(&r, test_seed());
    arena_init(&a);
    for (int round = 0; round < 5; round++) {
        size_t total = 0;
        for (int i = 0; i < PIECES; i++) {
            struct piece *q = &pieces[i];
            q->len = rand_below(&r, rand_one_in(&r, 100) ? 100000 : 200);
            q->fill = (unsigned char)rand_u64(&r);
            q->p = arena_alloc(&a, q->len);
            ck_assert_uint_eq((uintptr_t)q->p % 8, 0);
            memset(q->p, q->fill, q->len);
            total += q->len;
        }
        for (int i = 0; i < PIECES; i++)
            for (size_t k = 0; k < pieces[i].len; k++)
                if (pieces[i].p[k] != pieces[i].fill)
                    ck_abort_msg("piece %d byte %zu", i, k);
        ck_assert_uint_ge(a.bytes, total);
        ck_assert_uint_ge(a.reserved_bytes, a.bytes);
        arena_reset(&a);
        ck_assert_uint_eq(a.bytes, 0);
        ck_assert_uint_le(a.reserved_bytes, (1 << 20) + (1 << 16));
    }
    arena_close(&a);
}

END_TEST

/* Copies are equal, NUL-terminated and independent. */
START_TEST(test_copies)
{
    struct arena a;
    char text[] = "some text";
    struct slice copy;
    char *zeros;
    arena_init(&a);
    copy = arena_dup(&a, slice_str(text));
    text[0] = 'X';
    ck_assert_str_eq(copy.data, "some text");
    ck_assert_str_eq(arena_strdup(&a, "x"), "x");
    ck_assert_str_eq(arena_printf(&a, "%d-%s", 7, "y"), "7-y");
    zeros = arena_zalloc(&a, 5000);
    for (int i = 0; i < 5000; i++)
        if (zeros[i])
            ck_abort_msg("byte %d is not zero", i);
    arena_close(&a);
}

END_TEST

TEST_MAIN("arena", test_pieces_stay_apart, test_copies)
