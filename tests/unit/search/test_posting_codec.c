/* Postings as bytes: what was written is read, and nothing else is. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"
#include "web/search/build/word_weights.h"
#include "web/search/segment/posting_codec.h"

struct block {
    uint32_t docs[POSTING_BLOCK_MAX];
    uint32_t frequencies[POSTING_BLOCK_MAX];
    int8_t differences[POSTING_BLOCK_MAX];
    size_t count;
    uint32_t base;
    uint32_t end;
};

/* Values of all sizes: most small, some anywhere. */
static uint32_t draw(struct rand_gen *r, uint32_t max)
{
    unsigned bits = (unsigned)rand_below(r, 32);
    return (uint32_t)rand_below(r,
                                MIN_OF((uint64_t)max, UINT64_C(1) << bits) + 1);
}

static void draw_block(struct rand_gen *r, struct block *b)
{
    uint64_t next;
    b->base = draw(r, 1 << 20);
    b->count = rand_below(r, 3) ? 1 + rand_below(r, POSTING_BLOCK_MAX)
                                : POSTING_BLOCK_MAX;
    next = b->base;
    for (size_t i = 0; i < b->count; i++) {
        next += rand_below(r, 40) ? rand_below(r, 9) : draw(r, 1 << 22);
        b->docs[i] = (uint32_t)next++;
        b->differences[i] = (int8_t)((int)rand_below(r, 125) - 62);
        b->frequencies[i] = 1 + draw(r, 5000);
    }
    b->end = (uint32_t)next + draw(r, 1 << 10);
}

static void put_block(struct buf *out, const struct block *b)
{
    posting_block_put(out, b->base, b->end, b->docs, b->frequencies,
                      b->differences, b->count);
}

static bool
get_block(struct slice bytes, const struct block *b, struct block *got)
{
    struct bit_reader r;
    return posting_docs_get(&r, bytes, b->base, b->end, b->count, got->docs) &&
           posting_values_get(&r, b->count, got->frequencies, got->differences);
}

/* Any block is read as it was written. */
START_TEST(test_blocks)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        struct block b;
        struct block got;
        struct buf bytes = BUF_INIT;
        draw_block(&r, &b);
        put_block(&bytes, &b);
        ck_assert(get_block(buf_slice(&bytes), &b, &got));
        for (size_t k = 0; k < b.count; k++) {
            ck_assert_uint_eq(b.docs[k], got.docs[k]);
            ck_assert_int_eq(b.differences[k], got.differences[k]);
            ck_assert_uint_eq(b.frequencies[k], got.frequencies[k]);
        }
        buf_close(&bytes);
    }
}

END_TEST

/* Damaged bytes are refused, or give documents in order and below the end: they
 * never give more. */
START_TEST(test_damaged_blocks)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        struct block b;
        struct block got;
        struct buf bytes = BUF_INIT;
        draw_block(&r, &b);
        put_block(&bytes, &b);
        bytes.data[rand_below(&r, bytes.len)] ^=
            (char)(1 + rand_below(&r, 255));
        buf_truncate(&bytes, bytes.len - rand_below(&r, 2));
        if (get_block(buf_slice(&bytes), &b, &got))
            for (size_t k = 0; k < b.count; k++) {
                ck_assert_uint_ge(got.docs[k],
                                  k ? got.docs[k - 1] + 1 : b.base);
                ck_assert_uint_lt(got.docs[k], b.end);
                ck_assert_uint_ge(got.frequencies[k], 1);
            }
        buf_close(&bytes);
    }
}

END_TEST

static size_t draw_positions(struct rand_gen *r, uint32_t length, uint32_t *out)
{
    size_t count = 0;
    uint32_t step = 1 + draw(r, length);
    for (uint32_t at = draw(r, step - 1); at < length && count < 400;
         at += 1 + draw(r, step))
        out[count++] = at;
    if (count == 0)
        out[count++] = length - 1;
    return count;
}

/* Positions of postings one after the other are read as they were written, or
 * skipped. */
START_TEST(test_positions)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        static uint32_t lists[16][400];
        size_t counts[16];
        uint32_t lengths[16];
        uint32_t got[400];
        struct buf bytes = BUF_INIT;
        struct bit_writer w = {.out = &bytes};
        struct bit_reader reader;
        for (int k = 0; k < 16; k++) {
            lengths[k] = 1 + draw(&r, 1 << 20);
            counts[k] = draw_positions(&r, lengths[k], lists[k]);
            positions_put(&w, lengths[k], lists[k], counts[k]);
        }
        bit_writer_end(&w);
        bit_reader_init(&reader, buf_slice(&bytes));
        for (int k = 0; k < 16; k++) {
            bool skip = rand_below(&r, 2);
            ck_assert(positions_get(&reader, lengths[k], counts[k],
                                    skip ? NULL : got));
            if (!skip)
                ck_assert_mem_eq(got, lists[k], counts[k] * sizeof(*got));
        }
        /* One byte fewer: the last list cannot be whole, or ended before. */
        bit_reader_init(&reader,
                        slice_sub(buf_slice(&bytes), 0, bytes.len - 1));
        for (int k = 0; k < 16; k++)
            if (!positions_get(&reader, lengths[k], counts[k], got))
                break;
        ck_assert(reader.bad || reader.p == reader.end);
        buf_close(&bytes);
    }
}

END_TEST

/* Any bytes give positions below the length, or are refused. */
START_TEST(test_any_positions)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        char bytes[64];
        uint32_t got[64];
        uint32_t length = 1 + draw(&r, 1 << 16);
        size_t count = 1 + rand_below(&r, 64);
        struct bit_reader reader;
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (char)(rand_below(&r, 3) ? 0 : rand_below(&r, 256));
        bit_reader_init(&reader,
                        slice_make(bytes, rand_below(&r, sizeof(bytes) + 1)));
        if (positions_get(&reader, length, count, got))
            for (size_t k = 0; k < count; k++) {
                ck_assert_uint_lt(got[k], length);
                ck_assert(k == 0 || got[k] > got[k - 1]);
            }
    }
}

END_TEST

/* The guess is what the ranking gives to words of the body, or nearly. */
START_TEST(test_guess)
{
    for (uint32_t length = 1; length < 5000; length += 7)
        for (uint32_t frequency = 1; frequency < 40; frequency++) {
            double w = word_kind_part(WORD_BODY, length) * frequency;
            int differ = (int)posting_weight_guess(frequency, length) -
                         (int)word_weight(w);
            ck_assert_int_le(abs(differ), 1);
        }
    ck_assert_uint_eq(posting_weight_guess(1, POSTING_POSITION_MAX), 1);
    ck_assert_uint_eq(posting_weight_guess(POSTING_POSITION_MAX, 1), 63);
}

END_TEST

TEST_MAIN("posting_codec",
          test_blocks,
          test_guess,
          test_damaged_blocks,
          test_positions,
          test_any_positions)
