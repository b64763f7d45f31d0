/* Mutations taken from where they lie, beside the same ones copied. */
#include <stdlib.h>
#include <string.h>

#include "base/core/pb.h"
#include "base/core/rand.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/row/mutation.h"
#include "tests/lib/check_main.h"

enum {
    ROUNDS = 5000,
    FIELDS_MAX = 7
};

#define NOW_US INT64_C(1700000000123000)

static struct slice text_of(struct rand_gen *r, size_t max)
{
    static char text[4000];
    size_t len = rand_below(r, max + 1);
    if (!text[0])
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = (char)('a' + i % 26);
    return slice_make(text + rand_below(r, 26), len);
}

static int64_t some_time(struct rand_gen *r)
{
    switch (rand_below(r, 6)) {
    case 0: return 0;
    case 1: return -1;                 /* The server's. */
    case 2: return INT64_C(123456789); /* No milliseconds. */
    case 3: return -2000;
    default: return (int64_t)rand_below(r, UINT64_C(1) << 50) / 1000 * 1000;
    }
}

/* A message SetCell: mostly as clients write it, and else in any order, with
 * fields left out, or there twice. */
static void put_set_cell(struct buf *b, struct rand_gen *r)
{
    bool odd = rand_one_in(r, 3);
    size_t count = odd ? rand_below(r, FIELDS_MAX) : 4;
    for (size_t i = 0; i < count; i++) {
        switch (odd ? rand_below(r, 5) : i) {
        case 0: pb_put_bytes(b, 1, text_of(r, odd ? 80 : 10)); break;
        case 1: pb_put_bytes(b, 2, text_of(r, odd ? 700 : 10)); break;
        case 2: pb_put_integer(b, 3, some_time(r)); break;
        case 3: pb_put_bytes(b, 4, text_of(r, odd ? 40 : 3000)); break;
        default: pb_put_bytes(b, 1, slice_make("a\0b", 3));
        }
    }
}

/* A message Mutation, which also may be none. */
static void put_mutation(struct buf *b, struct rand_gen *r)
{
    do {
        struct buf inside = BUF_INIT;
        put_set_cell(&inside, r);
        pb_put_bytes(b,
                     (unsigned)(rand_one_in(r, 8) ? 1 + rand_below(r, 6) : 1),
                     buf_slice(&inside));
        buf_close(&inside);
    } while (rand_one_in(r, 10));
    if (rand_one_in(r, 20))
        b->len -= rand_below(r, b->len + 1);
}

struct outcome {
    struct quarry_mutation m;
    struct err err;
    int rc;
};

static void begin(struct outcome *o, char *room, size_t bytes)
{
    *o = (struct outcome){.err = ERR_INIT};
    mutation_begin(&o->m, slice_str("row"), room, bytes);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    struct err first = ERR_INIT;
    struct err second = ERR_INIT;
    ck_assert_int_eq(a->rc, b->rc);
    ck_assert_str_eq(a->err.text, b->err.text);
    ck_assert_uint_eq(a->m.count, b->m.count);
    ck_assert_int_eq(mutation_check(&a->m, &first),
                     mutation_check(&b->m, &second));
    ck_assert_str_eq(first.text, second.text);
    ck_assert(slice_eq(buf_slice(&a->m.ops), buf_slice(&b->m.ops)));
}

/* Returns whether the taken one lies in the message. */
static bool check_one(struct slice message)
{
    size_t bytes = message.len + MUTATION_OP_BYTES;
    char *rooms[2] = {malloc(bytes), malloc(bytes)};
    /* Bytes around the message must not change. */
    char *around = malloc(message.len + 2);
    struct outcome copied;
    struct outcome taken;
    bool in_place;
    around[0] = around[message.len + 1] = 'x';
    if (message.len)
        memcpy(around + 1, message.data, message.len);
    begin(&copied, rooms[0], bytes);
    begin(&taken, rooms[1], bytes);
    copied.rc = request_mutation_add(&copied.m, message, NOW_US, &copied.err);
    taken.rc = request_mutation_take(
        &taken.m, slice_make(around + 1, message.len), NOW_US, &taken.err);
    check_same(&taken, &copied);
    ck_assert_int_eq(around[0], 'x');
    ck_assert_int_eq(around[message.len + 1], 'x');
    in_place = taken.m.ops.data != rooms[1];
    if (in_place) {
        ck_assert(taken.m.ops.data > around);
        ck_assert(taken.m.ops.data + taken.m.ops.len <=
                  around + 1 + message.len);
    }
    mutation_end(&copied.m);
    mutation_end(&taken.m);
    free(rooms[0]);
    free(rooms[1]);
    free(around);
    return in_place;
}

/* Whatever a message says, and however it says it, taking it is adding it; and
 * what clients send is not copied. */
START_TEST(test_take)
{
    struct rand_gen r;
    size_t in_place = 0;
    rand_init(&r, test_seed());
    for (int i = 0; i < ROUNDS; i++) {
        struct buf b = BUF_INIT;
        put_mutation(&b, &r);
        in_place += check_one(buf_slice(&b));
        buf_close(&b);
    }
    ck_assert_uint_gt(in_place, ROUNDS / 5);
    ck_assert_uint_lt(in_place, ROUNDS);
}

END_TEST

/* The form that the official clients send, whatever the lengths. */
START_TEST(test_usual_form)
{
    for (size_t len = 1; len < 300; len += 7) {
        struct rand_gen r;
        struct buf cell = BUF_INIT;
        struct buf b = BUF_INIT;
        rand_init(&r, len);
        pb_put_bytes(&cell, 1, slice_str("f"));
        pb_put_bytes(&cell, 2, slice_sub(slice_str("qualifier"), 0, len % 9));
        pb_put_integer(&cell, 3, NOW_US);
        pb_put_head(&cell, 4, len);
        buf_append_fill(&cell, 'v', len);
        pb_put_bytes(&b, 1, buf_slice(&cell));
        ck_assert(check_one(buf_slice(&b)));
        buf_close(&cell);
        buf_close(&b);
    }
}

END_TEST

TEST_MAIN("request mutation", test_take, test_usual_form)
