/* Blocks that pass by in pieces: however they are cut all is well, and a bit
 * that changed or an end in a block is found. */
#include "base/core/buf.h"
#include "base/core/rand.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/records/pair_check.h"
#include "tests/lib/check_main.h"

static struct buf run;

/* Some blocks, of which some are compressed. */
static void write_run(struct rand_gen *r)
{
    struct pair_block_builder b;
    struct block_codec codec;
    unsigned blocks = 1 + (unsigned)rand_below(r, 5);
    block_codec_init(&codec, 1);
    pair_block_builder_init(&b);
    buf_clear(&run);
    for (unsigned i = 0; i < blocks; i++) {
        unsigned pairs = 1 + (unsigned)rand_below(r, 200);
        for (unsigned k = 0; k < pairs; k++) {
            char key[8];
            char value[16];
            for (size_t n = 0; n < sizeof(key); n++)
                key[n] = (char)('a' + rand_below(r, 26));
            for (size_t n = 0; n < sizeof(value); n++)
                value[n] = i % 2 ? 'v' : (char)rand_below(r, 256);
            pair_block_builder_add(&b, slice_make(key, sizeof(key)),
                                   slice_make(value, sizeof(value)));
        }
        pair_block_builder_finish(&b, &codec, &run);
    }
    pair_block_builder_close(&b);
    block_codec_close(&codec);
}

/* Feed the first @len bytes in pieces of any length. */
static int feed(struct rand_gen *r, size_t len)
{
    struct pair_check c = {.left = 0};
    size_t at = 0;
    int rc = 0;
    while (at < len && rc == 0) {
        size_t most = rand_below(r, 2) ? 20 : 5000;
        size_t n = 1 + rand_below(r, most);
        n = n < len - at ? n : len - at;
        rc = pair_check_feed(&c, slice_make(run.data + at, n), NULL);
        at += n;
    }
    return rc ? rc : pair_check_end(&c, NULL);
}

START_TEST(test_pieces)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 300; round++) {
        size_t at;
        write_run(&r);
        ck_assert_int_eq(feed(&r, run.len), 0);
        at = rand_below(&r, run.len);
        run.data[at] ^= (char)(1 << rand_below(&r, 8));
        ck_assert_int_eq(feed(&r, run.len), ERR_CORRUPT);
    }
    buf_close(&run);
}

END_TEST

START_TEST(test_ends)
{
    struct rand_gen r;
    struct pair_block_header h;
    size_t whole = 0;
    rand_init(&r, test_seed());
    write_run(&r);
    for (size_t n = 0; n <= run.len; n++) {
        ck_assert_int_eq(feed(&r, n), n == whole ? 0 : ERR_CORRUPT);
        if (n != whole || n == run.len)
            continue;
        ck_assert_int_eq(pair_block_header_decode(run.data + n, &h, NULL), 0);
        whole += BLOCK_HEADER_BYTES + h.stored_bytes;
    }
    ck_assert_uint_eq(whole, run.len);
    buf_close(&run);
}

END_TEST

TEST_MAIN("pair_check", test_pieces, test_ends)
