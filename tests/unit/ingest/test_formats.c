/* Kinds are told by the first bytes, separators by the lines, and cells and
 * packed streams come back as they were. */
#include <stdio.h>
#include <string.h>

#include "base/core/rand.h"
#include "mapreduce/ingest/cell_parser.h"
#include "mapreduce/ingest/cell_record.h"
#include "mapreduce/ingest/csv_fields.h"
#include "mapreduce/ingest/detect.h"
#include "mapreduce/warc/decompress.h"
#include "mapreduce/warc/packer.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

/* The kind of @text; INGEST_KINDS: refused. */
static enum ingest_kind kind_of(const char *text)
{
    struct ingest_detected d;
    struct err err = ERR_INIT;
    int rc = ingest_sniff(slice_str(text), true, &d, &err);
    return rc ? INGEST_KINDS : d.kind;
}

static char separator_of(const char *text)
{
    char c = '?';
    return csv_sniff_separator(slice_str(text), true, &c) ? c : '\0';
}

struct source {
    struct slice rest;
    struct rand_gen *chop;
};

static int
read_source(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct source *s = ctx;
    (void)err;
    if (s->chop)
        len = 1 + (size_t)rand_below(s->chop, len);
    *got = MIN_OF(len, s->rest.len);
    if (*got)
        memcpy(dst, s->rest.data, *got);
    s->rest = slice_sub(s->rest, *got, s->rest.len);
    return 0;
}

/* --- Tests --------------------------------------------------------------- */

/* Each kind is told by its text; a text of two kinds is the stricter one. */
START_TEST(test_kinds_are_told)
{
    static const struct {
        const char *text;
        enum ingest_kind kind;
    } cases[] = {
        {"WARC/1.0\r\n", INGEST_KIND_WARC},
        {"warc/1.1\r\n", INGEST_KIND_WARC},
        {"filedesc://x 0 1 text/plain 1\n", INGEST_KIND_WARC},
        {"{\"id\": 1}\n", INGEST_KIND_JSONL},
        {"bad\n{\"id\": 1}\n", INGEST_KINDS},
        {"{bad\n{\"id\": 1}\n", INGEST_KIND_JSONL},
        {"{\"row\": \"a\", \"cells\": []}\n", INGEST_KIND_CELLS},
        {"{\"row\": \"a\", \"cells\": 3}\n", INGEST_KIND_JSONL},
        {"{\n\"a\": 1}\n", INGEST_KINDS},
        {"[1]\n", INGEST_KINDS},
        {"row,family,qualifier,timestamp_us,value\n", INGEST_KIND_CELLS},
        {"a\tf:q\t5\tv\n", INGEST_KIND_CELLS},
        {"a\tf:q\t\tv\twith tabs\n", INGEST_KIND_CELLS},
        {"a\tb\tc\td\n", INGEST_KIND_CSV},
        {"a\tf:q\tx\tv\n", INGEST_KIND_CSV},
        {"a,b\n1,2\n", INGEST_KIND_CSV},
        {"\xef\xbb\xbf"
         "a,b\n1,2\n",
         INGEST_KIND_CSV},
        {"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1\n",
         INGEST_KIND_ACCESS_LOG},
        {"words of a text\nand more\n", INGEST_KINDS},
        {"<html>a,b</html>\n", INGEST_KINDS},
        {"\n \n", INGEST_KIND_EMPTY},
        {"", INGEST_KIND_EMPTY},
        {"a\rb\rc", INGEST_KINDS},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ck_assert_msg(kind_of(cases[i].text) == cases[i].kind, "%s: %d",
                      cases[i].text, (int)kind_of(cases[i].text));
}

END_TEST

/* The separator is what cuts the lines alike, whatever is more frequent. */
START_TEST(test_separators_are_told)
{
    ck_assert_int_eq(separator_of("a,b\n1,2\n"), ',');
    ck_assert_int_eq(separator_of("a;b\n1,5;2,5,6\n3;4,5\n"), ';');
    ck_assert_int_eq(separator_of("a\tb c, d\n1\t2\n"), '\t');
    ck_assert_int_eq(separator_of("a|b\n\"1,2,3\n4\"|5\n"), '|');
    ck_assert_int_eq(separator_of("\"a;b;c\",d\n\"x\"\"y;\",2\n"), ',');
    ck_assert_int_eq(separator_of("one\ntwo\n"), '\0');
    ck_assert_int_eq(separator_of("a,b\nc\nd\ne\nf\n"), '\0');
    ck_assert_int_eq(separator_of(""), '\0');
}

END_TEST

/* Any stream packed comes back, in one part or several, read in any pieces. */
START_TEST(test_packed_streams_come_back)
{
    static const size_t sizes[] = {0, 1, 70000, ((size_t)4 << 20) + 3};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int packing = PACKING_GZIP; packing < PACKINGS; packing++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            struct packer *p;
            struct buf plain = BUF_INIT;
            struct buf packed = BUF_INIT;
            struct source s;
            struct warc_reader_options opts = {.read = read_source, .ctx = &s};
            struct decompressor u;
            struct err err = ERR_INIT;
            while (plain.len < sizes[i])
                buf_append_fill(&plain, (char)('a' + rand_below(&r, 20)),
                                MIN_OF(1 + (size_t)rand_below(&r, 300),
                                       sizes[i] - plain.len));
            if (packer_new((enum packing)packing, &p, &err)) {
                ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
                buf_close(&plain);
                continue;
            }
            for (size_t at = 0; at < plain.len;) {
                size_t n = 1 + (size_t)rand_below(&r, plain.len - at);
                ck_assert_int_eq(
                    packer_put(p, slice_sub(buf_slice(&plain), at, at + n),
                               &packed, &err),
                    0);
                at += n;
            }
            ck_assert_int_eq(packer_end(p, &packed, &err), 0);
            packer_free(p);
            s = (struct source){buf_slice(&packed), i < 3 ? &r : NULL};
            decompress_init(&u);
            decompress_start(&u, &opts);
            ck_assert_int_eq(decompress_need(&u, plain.len + 1, &err), 0);
            ck_assert(!u.damaged);
            ck_assert_uint_eq(decompress_avail(&u), plain.len);
            ck_assert(plain.len == 0 ||
                      memcmp(decompress_data(&u), plain.data, plain.len) == 0);
            decompress_close(&u);
            buf_close(&plain);
            buf_close(&packed);
        }
    }
}

END_TEST

/* A cell's record gives the cell, and no other bytes are one by accident. */
START_TEST(test_cell_records)
{
    const struct quarry_bulk_cell cell = {SLICE_LIT("row\0x"), "family",
                                          SLICE_LIT("q\xff"), -5,
                                          SLICE_LIT("value")};
    char family[CELL_RECORD_FAMILY_BYTES];
    struct quarry_bulk_cell got;
    struct buf value = BUF_INIT;
    struct slice schema;
    cell_record_put(&value, &cell);
    ck_assert(cell_record_get(cell.row, buf_slice(&value), family, &got));
    ck_assert(slice_eq(got.row, cell.row));
    ck_assert_str_eq(got.family, "family");
    ck_assert(slice_eq(got.qualifier, cell.qualifier));
    ck_assert_int_eq(got.timestamp_us, -5);
    ck_assert(slice_eq(got.value, cell.value));
    for (size_t n = 0; n + cell.value.len < value.len; n++)
        ck_assert(!cell_record_get(cell.row, slice_sub(buf_slice(&value), 0, n),
                                   family, &got));
    ck_assert(!cell_record_get(SLICE_EMPTY, buf_slice(&value), family, &got));
    buf_clear(&value);
    cell_record_put_head(&value, SLICE_LIT("{}"));
    ck_assert(cell_record_head(SLICE_EMPTY, buf_slice(&value), &schema));
    ck_assert(slice_eq_str(schema, "{}"));
    ck_assert(!cell_record_head(cell.row, buf_slice(&value), &schema));
    buf_close(&value);
}

END_TEST

TEST_MAIN("formats",
          test_kinds_are_told,
          test_separators_are_told,
          test_packed_streams_come_back,
          test_cell_records)
