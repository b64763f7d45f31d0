/* Records of the writer are read back by the reader, and their digests are
 * right. */
#include "mapreduce/warc/archive_writer.h"
#include "mapreduce/warc/digest.h"
#include "tests/unit/warc/archive_build.h"

/* Random blocks in pieces come back whole, with their URI, time and digest,
 * from plain, gzip and zstd files. */
START_TEST(test_there_and_back)
{
    static const enum warc_compression packings[] = {WARC_PLAIN, WARC_GZIP,
                                                     WARC_ZSTD};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t p = 0; p < 3; p++) {
        struct warc_writer *w = warc_writer_new(packings[p], 6);
        struct buf file = BUF_INIT;
        struct buf blocks[20];
        struct session s = {0};
        struct warc_reader_options opts = {
            .read = session_read, .ctx = &s, .on_damage = session_damage};
        struct warc_reader *reader;
        const struct warc_record *rec;
        warc_writer_put_info(w, "x.warc.gz", 0, &file);
        for (int i = 0; i < 20; i++) {
            struct slice parts[3];
            char uri[40];
            struct warc_write_record put = {
                .type = "response",
                .time_us = INT64_C(1700000000123456) + i,
                .id = SLICE_EMPTY,
                .content_type = SLICE_LIT("application/http"),
                .headers = SLICE_LIT("X-More: yes\r\n"),
                .parts = parts,
                .part_count = 3,
            };
            size_t n = rand_below(&r, 5000);
            buf_init(&blocks[i]);
            for (size_t k = 0; k < n; k++)
                buf_append_byte(&blocks[i], (char)rand_u64(&r));
            for (size_t k = 0; k < 3; k++)
                parts[k] = slice_sub(buf_slice(&blocks[i]), n * k / 3,
                                     n * (k + 1) / 3);
            snprintf(uri, sizeof(uri), "http://e.com/%d", i);
            put.uri = slice_str(uri);
            warc_writer_put(w, &put, &file);
        }
        s.file = buf_slice(&file);
        reader = session_reader(&opts);
        ck_assert_int_eq(warc_reader_next(reader, &rec, NULL), 0);
        ck_assert_int_eq(rec->type, WARC_INFO);
        for (int i = 0; i < 20; i++) {
            struct slice more;
            ck_assert_int_eq(warc_reader_next(reader, &rec, NULL), 0);
            ck_assert_ptr_nonnull(rec);
            ck_assert(slice_eq(rec->block, buf_slice(&blocks[i])));
            ck_assert_int_eq(rec->time_us, INT64_C(1700000000123456) + i);
            ck_assert_int_eq(digest_check(rec->block_digest, rec->block),
                             DIGEST_SAME);
            ck_assert(warc_record_header(rec, "x-more", &more));
            ck_assert_uint_eq(rec->id.len, 45);
            buf_close(&blocks[i]);
        }
        ck_assert_int_eq(warc_reader_next(reader, &rec, NULL), 0);
        ck_assert_ptr_null(rec);
        ck_assert_uint_eq(s.lost + s.notes, 0);
        warc_writer_free(w);
        buf_close(&file);
    }
}

END_TEST

TEST_MAIN("writer", test_there_and_back)
