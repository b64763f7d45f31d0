/* The same records come out of an archive however it is packed and read, and
 * damage costs no more than the member or record it is in. */
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/digest.h"
#include "tests/unit/warc/archive_build.h"

enum {
    RECORDS = 40
};

/* Records as plain text, and where each starts. */
struct corpus {
    struct buf text;
    size_t starts[RECORDS + 1];
};

static void corpus_make(struct corpus *c, struct rand_gen *r, size_t most)
{
    buf_init(&c->text);
    for (int i = 0; i < RECORDS; i++) {
        c->starts[i] = c->text.len;
        add_record(&c->text, r, i, most, "\r\n", 2);
    }
    c->starts[RECORDS] = c->text.len;
}

static struct slice corpus_record(const struct corpus *c, int i)
{
    return slice_sub(buf_slice(&c->text), c->starts[i], c->starts[i + 1]);
}

static void expect_same(const struct session *a, const struct session *b)
{
    ck_assert_int_eq(b->code, 0);
    ck_assert_msg(b->count == a->count, "%zu records, not %zu (%s)", b->count,
                  a->count, b->last_reason);
    for (size_t i = 0; i < a->count; i++)
        ck_assert_msg(a->seen[i].hash == b->seen[i].hash, "record %zu", i);
}

/* Read @file whole, in random pieces, and with long blocks in pieces: the
 * records are those of @want, with nothing lost. */
static void expect_reads(const struct session *want,
                         struct buf *file,
                         struct rand_gen *r,
                         bool notes_allowed)
{
    for (int way = 0; way < 3; way++) {
        struct session s = {.file = buf_slice(file)};
        s.chop = way == 1 ? r : NULL;
        session_run(&s, way == 2 ? 1000 : 0);
        expect_same(want, &s);
        ck_assert_msg(s.lost == 0, "way %d: %s", way, s.last_reason);
        if (!notes_allowed)
            ck_assert_msg(s.notes == 0, "way %d: %s", way, s.last_reason);
        session_close(&s);
    }
    file->len = 0;
}

/* Plain, gzip by record, in one member, with borders anywhere, with empty
 * members and padding, zstd with and without a dictionary: all the same. */
START_TEST(test_packings_are_alike)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 12; round++) {
        static const size_t sizes[] = {0, 30, 3000, 60000};
        struct corpus c;
        struct session want = {0};
        struct buf file = BUF_INIT;
        struct buf packed_dict = BUF_INIT;
        struct slice all;
        struct slice dict;
        corpus_make(&c, &r, sizes[round % 4]);
        all = buf_slice(&c.text);
        dict = slice_sub(all, 0, 2000);
        want.file = all;
        session_run(&want, 0);
        ck_assert_uint_eq(want.count, RECORDS);

        buf_append_slice(&file, all);
        expect_reads(&want, &file, &r, false);
        for (int i = 0; i < RECORDS; i++)
            add_gzip(&file, corpus_record(&c, i));
        expect_reads(&want, &file, &r, false);
        add_gzip(&file, all);
        expect_reads(&want, &file, &r, false);
        for (size_t at = 0; at < all.len;) {
            size_t n = 1 + rand_below(&r, all.len / 10 + 1);
            add_gzip(&file, slice_sub(all, at, at + n));
            at += n;
        }
        expect_reads(&want, &file, &r, false);
        for (int i = 0; i < RECORDS; i++) {
            add_gzip(&file, corpus_record(&c, i));
            if (i % 5 == 0)
                add_gzip(&file, SLICE_EMPTY);
            if (i % 7 == 0)
                buf_append_fill(&file, '\0', 100);
        }
        expect_reads(&want, &file, &r, true);
        for (int i = 0; i < RECORDS; i++)
            add_zstd(&file, corpus_record(&c, i), SLICE_EMPTY);
        expect_reads(&want, &file, &r, false);
        add_skippable(&file, 0x184D2A5D, dict);
        for (int i = 0; i < RECORDS; i++) {
            add_zstd(&file, corpus_record(&c, i), dict);
            if (i == 3)
                add_skippable(&file, 0x184D2A53, SLICE_LIT("not for us"));
        }
        expect_reads(&want, &file, &r, false);
        add_zstd(&packed_dict, dict, SLICE_EMPTY);
        add_skippable(&file, 0x184D2A5D, buf_slice(&packed_dict));
        for (int i = 0; i < RECORDS; i++)
            add_zstd(&file, corpus_record(&c, i), dict);
        expect_reads(&want, &file, &r, false);

        for (int i = 0; i < RECORDS; i++) {
            if (i % 5 == 0)
                add_skippable(&file, 0x184D2A53, SLICE_LIT("not for us"));
            add_lz4(&file, corpus_record(&c, i));
        }
        expect_reads(&want, &file, &r, false);
        add_lz4(&file, all);
        expect_reads(&want, &file, &r, false);
        for (size_t at = 0; at < all.len;) {
            size_t n = 1 + rand_below(&r, all.len / 10 + 1);
            add_lz4(&file, slice_sub(all, at, at + n));
            at += n;
        }
        expect_reads(&want, &file, &r, false);

        buf_close(&packed_dict);
        buf_close(&file);
        buf_close(&c.text);
        session_close(&want);
    }
}

END_TEST

/* A response whose block is text that looks like records, and its digest. */
static void add_judged_record(struct buf *out, int i, size_t lines)
{
    struct buf block = BUF_INIT;
    struct digest d;
    char label[DIGEST_TEXT_MAX];
    for (size_t k = 0; k < lines; k++)
        buf_printf(&block, "line %zu\r\n\r\nWARC/1.0\r\n", k);
    digest_of(DIGEST_SHA1, buf_slice(&block), &d);
    digest_format(&d, label);
    buf_printf(out,
               "WARC/1.0\r\nWARC-Type: response\r\n"
               "WARC-Target-URI: http://host.example/%d\r\n"
               "WARC-Date: 2024-01-01T00:00:00Z\r\n"
               "WARC-Record-ID: <urn:test:%d>\r\n"
               "WARC-Block-Digest: %s\r\nContent-Length: %zu\r\n\r\n",
               i, i, label, block.len);
    buf_append_slice(out, buf_slice(&block));
    buf_append_str(out, "\r\n\r\n");
    buf_close(&block);
}

/* The fields of a head are still valid when the block after it moved the
 * buffer: the head and parts of the block are in members of their own. */
START_TEST(test_heads_outlive_the_buffer)
{
    struct buf text = BUF_INIT;
    struct buf file = BUF_INIT;
    struct session want = {0};
    struct session s = {.fresh = true};
    for (int i = 0; i < 6; i++)
        add_judged_record(&text, i, (size_t)4000 << (i % 3 * 2));
    want.file = buf_slice(&text);
    session_run(&want, 0);
    ck_assert_uint_eq(want.count, 6);
    for (size_t at = 0; at < text.len; at += 20000)
        add_gzip(&file, slice_sub(buf_slice(&text), at, at + 20000));
    s.file = buf_slice(&file);
    session_run(&s, 0);
    expect_same(&want, &s);
    ck_assert_msg(s.lost + s.notes == 0, "%s", s.last_reason);
    session_close(&s);
    session_close(&want);
    buf_close(&text);
    buf_close(&file);
}

END_TEST

/* Offset and length of each record of a file with a member per record are those
 * of its member, so that the record can be read alone. */
START_TEST(test_offsets_are_those_of_members)
{
    struct rand_gen r;
    struct corpus c;
    struct buf file = BUF_INIT;
    size_t at[RECORDS + 1];
    struct session s = {0};
    rand_init(&r, test_seed());
    corpus_make(&c, &r, 2000);
    for (int i = 0; i < RECORDS; i++) {
        at[i] = file.len;
        add_gzip(&file, corpus_record(&c, i));
    }
    at[RECORDS] = file.len;
    s.file = buf_slice(&file);
    session_run(&s, 0);
    ck_assert_uint_eq(s.count, RECORDS);
    for (int i = 0; i < RECORDS; i++) {
        ck_assert_uint_eq(s.seen[i].offset, at[i]);
        ck_assert_uint_eq(s.seen[i].length, at[i + 1] - at[i]);
    }
    session_close(&s);
    buf_close(&file);
    buf_close(&c.text);
}

END_TEST

static bool has_record(const struct session *s, uint64_t hash)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->seen[i].hash == hash)
            return true;
    return false;
}

/* A byte changed anywhere in a member of gzip or zstd costs at most that
 * member's record, and is reported when it does. */
static void flip_bytes(bool zstd)
{
    struct rand_gen r;
    struct corpus c;
    struct buf file = BUF_INIT;
    struct session want = {0};
    size_t at[RECORDS + 1];
    rand_init(&r, test_seed());
    corpus_make(&c, &r, 400);
    want.file = buf_slice(&c.text);
    session_run(&want, 0);
    for (int i = 0; i < RECORDS; i++) {
        at[i] = file.len;
        if (zstd)
            add_zstd(&file, corpus_record(&c, i), SLICE_EMPTY);
        else
            add_gzip(&file, corpus_record(&c, i));
    }
    at[RECORDS] = file.len;
    for (int round = 0; round < 1500; round++) {
        size_t pos = rand_below(&r, file.len);
        char old = file.data[pos];
        struct session s = {.file = buf_slice(&file)};
        file.data[pos] = (char)(old ^ (1 << rand_below(&r, 8)));
        session_run(&s, 0);
        for (int i = 0; i < RECORDS; i++) {
            bool hit = pos >= at[i] && pos < at[i + 1];
            bool there = has_record(&s, want.seen[i].hash);
            ck_assert_msg(there || hit, "byte %zu cost record %d: %s", pos, i,
                          s.last_reason);
            ck_assert_msg(there || s.lost > 0, "byte %zu: silent", pos);
        }
        ck_assert_uint_le(s.count, RECORDS);
        file.data[pos] = old;
        session_close(&s);
    }
    session_close(&want);
    buf_close(&file);
    buf_close(&c.text);
}

START_TEST(test_a_bad_gzip_member_costs_its_record)
{
    flip_bytes(false);
}

END_TEST

START_TEST(test_a_bad_zstd_frame_costs_its_record)
{
    flip_bytes(true);
}

END_TEST

/* A file cut anywhere gives every whole record before the cut, and a report
 * unless the cut is between two. */
START_TEST(test_cut_anywhere)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int compression = 0; compression < 3; compression++) {
        struct corpus c;
        struct buf file = BUF_INIT;
        struct session want = {0};
        size_t at[RECORDS + 1];
        corpus_make(&c, &r, 300);
        want.file = buf_slice(&c.text);
        session_run(&want, 0);
        for (int i = 0; i < RECORDS; i++) {
            at[i] = file.len;
            if (compression == 0)
                buf_append_slice(&file, corpus_record(&c, i));
            else if (compression == 1)
                add_gzip(&file, corpus_record(&c, i));
            else
                add_zstd(&file, corpus_record(&c, i), SLICE_EMPTY);
        }
        at[RECORDS] = file.len;
        for (int round = 0; round < 600; round++) {
            size_t n = 1 + rand_below(&r, file.len);
            struct session s = {.file = slice_sub(buf_slice(&file), 0, n)};
            size_t whole = 0;
            bool between = false;
            session_run(&s, 0);
            for (int i = 0; i < RECORDS; i++) {
                whole += at[i + 1] <= n;
                between |=
                    at[i + 1] == n ||
                    (compression == 0 && n < at[i + 1] && n + 4 >= at[i + 1]);
            }
            for (size_t i = 0; i < whole; i++)
                ck_assert_msg(has_record(&s, want.seen[i].hash),
                              "cut at %zu cost record %zu", n, i);
            ck_assert_msg(between || s.lost > 0 || s.code, "cut at %zu: silent",
                          n);
            session_close(&s);
        }
        session_close(&want);
        buf_close(&file);
        buf_close(&c.text);
    }
}

END_TEST

/* --- damage of plain files, case by case --------------------------------- */

#define HEAD(type, n)                                                          \
    "WARC/1.0\r\nWARC-Type: " type "\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"   \
    "WARC-Target-URI: <http://a.example/" n ">\r\nContent-Length: "

#define MAX_LENGTH "9223372036854775807"

struct plain_case {
    const char *name;
    struct slice text;
    const char *blocks; /* Of the records, joined by '|'. */
    bool lost;
    bool note;
};

static void expect_case(const struct plain_case *k)
{
    struct warc_reader_options opts;
    struct session s = {.file = k->text};
    struct warc_reader *r;
    const struct warc_record *rec;
    struct buf got = BUF_INIT;
    opts = (struct warc_reader_options){
        .read = session_read, .ctx = &s, .on_damage = session_damage};
    r = warc_reader_new(&opts);
    while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
        if (got.len)
            buf_append_byte(&got, '|');
        buf_append_slice(&got, rec->block);
        buf_append_str(&got, rec->cut ? "~" : "");
    }
    ck_assert_msg(strcmp(buf_cstr(&got), k->blocks) == 0, "%s: %s", k->name,
                  got.data);
    ck_assert_msg((s.lost > 0) == k->lost, "%s: %s", k->name, s.last_reason);
    ck_assert_msg((s.notes > 0) == k->note, "%s: %s", k->name, s.last_reason);
    warc_reader_free(r);
    buf_close(&got);
}

/* Wrong lengths, odd separators and heads cost nothing, or no more than they
 * must. */
START_TEST(test_plain_damage)
{
    static const char huge[] = "99999999999999999999999999";
    struct buf absurd = BUF_INIT;
    const struct plain_case cases[] = {
        {"good",
         SLICE_LIT(HEAD("resource", "1") "3\r\n\r\nabc\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abc|def", false, false},
        {"length too small",
         SLICE_LIT(HEAD("resource", "1") "2\r\n\r\nabcde\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abcde|def", false, true},
        {"length too big",
         SLICE_LIT(HEAD("resource", "1") "17\r\n\r\nabcde\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abcde|def", false, true},
        {"length swallows the file",
         SLICE_LIT(HEAD("resource", "1") "4000\r\n\r\nabcde\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abcde|def", false, true},
        {"no length",
         SLICE_LIT("WARC/1.0\r\nWARC-Type: resource\r\n\r\nabc\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abc|def", false, true},
        {"negative length",
         SLICE_LIT(HEAD("resource", "1") "-5\r\n\r\nabc\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abc|def", false, true},
        {"length near the end of 64 bits",
         SLICE_LIT(HEAD("resource", "1") MAX_LENGTH "\r\n\r\nabc\r\n\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abc|def", false, true},
        {"one line end behind the block",
         SLICE_LIT(HEAD("resource", "1") "3\r\n\r\nabc\r\n" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n"),
         "abc|def", false, false},
        {"none at all",
         SLICE_LIT(HEAD("resource", "1") "3\r\n\r\nabc" HEAD(
             "resource", "2") "3\r\n\r\ndef"),
         "abc|def", false, false},
        {"NULs between",
         SLICE_LIT(HEAD("resource", "1") "3\r\n\r\nabc\r\n\r\n\0\0" HEAD(
             "resource", "2") "3\r\n\r\ndef\r\n\r\n\0"),
         "abc|def", false, true},
        {"LF alone",
         SLICE_LIT("WARC/0.18\nwarc-type: resource\ncontent-LENGTH: 3\n\nabc\n"
                   "\nWARC/1.1\nWARC-Type:resource\nContent-Length : 3\n\ndef"
                   "\n\n"),
         "abc|def", false, false},
        {"garbage in front",
         SLICE_LIT(
             "some text\r\n" HEAD("resource", "1") "3\r\n\r\nabc\r\n\r\n"),
         "abc", true, false},
        {"garbage between",
         SLICE_LIT(
             HEAD("resource", "1") "3\r\n\r\nabc\r\n\r\n????\r\n\r\n" HEAD(
                 "resource", "2") "3\r\n\r\ndef\r\n\r\n"),
         "abc|def", true, false},
        {"cut in the block", SLICE_LIT(HEAD("resource", "1") "30\r\n\r\nabc"),
         "abc~", true, false},
        {"a record inside a record is no damage",
         SLICE_LIT(HEAD("resource",
                        "1") "24\r\n\r\n\r\n\r\nWARC/1.0\r\nA: b\r\n"
                             "\r\nxx\r\n\r\n" HEAD("resource",
                                                   "2") "3\r\n\r\ndef\r\n\r\n"),
         "\r\n\r\nWARC/1.0\r\nA: b\r\n\r\nxx|def", false, false},
        {"unfinished head", SLICE_LIT("WARC/1.0\r\nWARC-Type: x"), "", true,
         false},
        {"ARC 1",
         SLICE_LIT("filedesc://x.arc 0.0.0.0 20240101000000 text/plain 19\n"
                   "1 0 Test\nURL etc.\n\n\n"
                   "http://a/b c d 1.2.3.4 20240101000000 text/html 3\nabc\n"
                   "http://a/2 1.2.3.4 20240101000000 text/html 3\ndef\n"),
         "1 0 Test\nURL etc.\n\n|abc|def", false, false},
        {"ARC 2",
         SLICE_LIT("filedesc://x.arc 0.0.0.0 20240101000000 text/plain 200 - - "
                   "0 x.arc 9\n2 0 Test\n\n"
                   "http://a/1 1.2.3.4 20240101000000 text/html 200 - - 99 "
                   "x.arc 3\nabc\n"),
         "2 0 Test\n|abc", false, false},
        {"ARC with a wrong length",
         SLICE_LIT("filedesc://x.arc 0.0.0.0 20240101000000 text/plain 9\n"
                   "1 0 Test\n\n"
                   "http://a/1 1.2.3.4 20240101000000 text/html 30\nabc\n"
                   "http://a/2 1.2.3.4 20240101000000 text/html 3\ndef\n"),
         "1 0 Test\n|abc|def", false, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_case(&cases[i]);
    buf_printf(&absurd, HEAD("resource", "1") "%s\r\n\r\nabc\r\n\r\n", huge);
    expect_case(&(struct plain_case){"absurd length", buf_slice(&absurd), "",
                                     true, false});
    buf_close(&absurd);
}

END_TEST

/* Heads give their fields whatever their dress. */
START_TEST(test_heads)
{
    const struct slice text = SLICE_LIT(
        "WARC/1.1\r\nwarc-TYPE : Response\r\n"
        "WARC-Target-URI: <http://a.example/x y>\r\n"
        "WARC-Date: 2016-09-19T18:03:53.123456789Z\r\n"
        "WARC-Record-ID: urn:uuid:1\r\n"
        "WARC-Concurrent-To: <urn:uuid:2>\r\n"
        "WARC-Concurrent-To: <urn:uuid:3>\r\n"
        "X-Folded: one\r\n\ttwo\r\n  three\r\n"
        "no colon here\r\n"
        "Content-Type:application/http\r\nContent-Length: 0\r\n\r\n\r\n\r\n");
    struct session s = {.file = text};
    struct warc_reader_options opts = {.read = session_read, .ctx = &s};
    struct warc_reader *r = warc_reader_new(&opts);
    const struct warc_record *rec;
    struct slice v;
    ck_assert_int_eq(warc_reader_next(r, &rec, NULL), 0);
    ck_assert_ptr_nonnull(rec);
    ck_assert_int_eq(rec->type, WARC_RESPONSE);
    ck_assert(slice_eq_str(rec->version, "1.1"));
    ck_assert(slice_eq_str(rec->uri, "http://a.example/x y"));
    ck_assert(slice_eq_str(rec->id, "urn:uuid:1"));
    ck_assert_int_eq(rec->time_us, INT64_C(1474308233123456));
    ck_assert(warc_record_header(rec, "warc-concurrent-to", &v));
    ck_assert(slice_eq_str(v, "<urn:uuid:2>"));
    ck_assert(warc_record_header(rec, "x-folded", &v));
    ck_assert(slice_eq_str(v, "one two three"));
    ck_assert(!warc_record_header(rec, "absent", &v));
    ck_assert_uint_eq(rec->length, text.len);
    ck_assert_int_eq(warc_reader_next(r, &rec, NULL), 0);
    ck_assert_ptr_null(rec);
    warc_reader_free(r);
}

END_TEST

/* A file of another kind is refused as such; an empty file is an empty archive.
 */
START_TEST(test_no_archive)
{
    struct session text = {.file = SLICE_LIT("My diary,\nnothing here.\n")};
    struct session none = {.file = SLICE_EMPTY};
    session_run(&text, 0);
    ck_assert_int_eq(text.code, ERR_CORRUPT);
    session_run(&none, 0);
    ck_assert_int_eq(none.code, 0);
    ck_assert_uint_eq(none.count, 0);
}

END_TEST

/* Hostile input takes time in proportion to its size: many starts that lead
 * nowhere, and heads whose lengths reach over each other. */
START_TEST(test_hostile_input_ends)
{
    struct buf b = BUF_INIT;
    struct session s = {0};
    for (int i = 0; i < 200000; i++)
        buf_append_str(&b, "\x1f\x8b\x08");
    s.file = buf_slice(&b);
    session_run(&s, 0);
    session_close(&s);
    b.len = 0;
    for (int i = 0; i < 20000; i++)
        buf_append_str(&b, "WARC/1.0\r\nContent-Length: 1000000\r\n\r\n");
    s.file = buf_slice(&b);
    session_run(&s, 0);
    session_close(&s);
    b.len = 0;
    for (int i = 0; i < 100000; i++)
        buf_append_str(&b, "\nWARC/1.");
    s.file = buf_slice(&b);
    session_run(&s, 0);
    session_close(&s);
    b.len = 0;
    for (int i = 0; i < 20000; i++)
        buf_append_str(&b, "http://a 1.1.1.1 20240101000000 t 9999999\n");
    s.file = buf_slice(&b);
    session_run(&s, 0);
    session_close(&s);
    buf_close(&b);
}

END_TEST

/* A bomb of a member is decompressed in steps: reading its first record does
 * not take its whole size in memory. */
START_TEST(test_large_members_stream)
{
    struct buf text = BUF_INIT;
    struct buf file = BUF_INIT;
    struct session s = {0};
    for (int i = 0; i < 3; i++) {
        buf_printf(&text, "WARC/1.0\r\nContent-Length: %d\r\n\r\n", 30 << 20);
        buf_append_fill(&text, 'x', 30 << 20);
        buf_append_str(&text, "\r\n\r\n");
    }
    add_gzip(&file, buf_slice(&text));
    s.file = buf_slice(&file);
    session_run(&s, 1 << 20);
    ck_assert_uint_eq(s.count, 3);
    ck_assert_uint_eq(s.lost, 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(s.seen[i].block_len, 30 << 20);
    session_close(&s);
    buf_close(&text);
    buf_close(&file);
}

END_TEST

TEST_MAIN("warc reader",
          test_packings_are_alike,
          test_heads_outlive_the_buffer,
          test_offsets_are_those_of_members,
          test_a_bad_gzip_member_costs_its_record,
          test_a_bad_zstd_frame_costs_its_record,
          test_cut_anywhere,
          test_plain_damage,
          test_heads,
          test_no_archive,
          test_hostile_input_ends,
          test_large_members_stream)
