/* One damaged byte costs no more than the record it is in: every byte of small
 * archives is changed in turn, in every compression. */
#include "mapreduce/warc/digest.h"
#include "tests/unit/warc/archive_build.h"

enum {
    RECORDS = 4
};

/* A hand-made archive: where each record starts, and its block. */
struct sample {
    struct buf text;
    size_t starts[RECORDS + 1];
    struct slice blocks[RECORDS]; /* Into text. */
    char uris[RECORDS][40];
};

enum dress {
    DRESS_DIGESTS,
    DRESS_PAYLOAD_DIGESTS,
    DRESS_PLAIN,
    DRESS_LOWER_CASE,
    DRESS_ARC,
    DRESS_COUNT
};

static const char *const bodies[RECORDS] = {
    "<html>one\r\n\r\nwith a blank line</html>",
    "<html>two, the SECRET one</html>\n",
    "<html>three\n\nWARC/1.0 is a format, http://x/ 1.2.3.4 a pair</html>",
    "<html>four</html>",
};

static void add_block(struct buf *out, int i)
{
    buf_printf(out,
               "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               strlen(bodies[i]), bodies[i]);
}

static void add_digest(struct buf *out, const char *name, struct slice s)
{
    struct digest d;
    char text[DIGEST_TEXT_MAX];
    digest_of(DIGEST_SHA1, s, &d);
    digest_format(&d, text);
    buf_printf(out, "%s: %s\r\n", name, text);
}

static void add_warc_head(struct buf *out, enum dress dress, int i, size_t n)
{
    struct buf block = BUF_INIT;
    add_block(&block, i);
    buf_printf(out, "%s/1.0\r\nWARC-Type: response\r\n",
               dress == DRESS_LOWER_CASE ? "warc" : "WARC");
    buf_printf(out, "WARC-Target-URI: http://h%d.example/\r\n", i);
    buf_printf(out, "WARC-Date: 2020-01-01T00:00:0%dZ\r\n", i);
    buf_printf(out, "WARC-Record-ID: <urn:test:%d>\r\n", i);
    if (dress == DRESS_DIGESTS)
        add_digest(out, "WARC-Block-Digest", buf_slice(&block));
    if (dress == DRESS_PAYLOAD_DIGESTS)
        add_digest(out, "WARC-Payload-Digest", slice_str(bodies[i]));
    buf_printf(out,
               "Content-Type: application/http; msgtype=response\r\n"
               "Content-Length: %zu\r\n\r\n",
               n);
    buf_close(&block);
}

static void sample_make(struct sample *s, enum dress dress)
{
    size_t at[RECORDS];
    size_t len[RECORDS];
    buf_init(&s->text);
    for (int i = 0; i < RECORDS; i++) {
        struct buf block = BUF_INIT;
        add_block(&block, i);
        s->starts[i] = s->text.len;
        snprintf(s->uris[i], sizeof(s->uris[i]), "http://h%d.example/", i);
        if (dress == DRESS_ARC)
            buf_printf(&s->text,
                       "http://h%d.example/ 10.0.0.%d 2020010100000%d "
                       "text/html %zu\n",
                       i, i, i, block.len);
        else
            add_warc_head(&s->text, dress, i, block.len);
        at[i] = s->text.len;
        len[i] = block.len;
        buf_append_slice(&s->text, buf_slice(&block));
        buf_append_str(&s->text, dress == DRESS_ARC ? "\n" : "\r\n\r\n");
        buf_close(&block);
    }
    s->starts[RECORDS] = s->text.len;
    for (int i = 0; i < RECORDS; i++)
        s->blocks[i] = slice_make(s->text.data + at[i], len[i]);
}

/* Which record of @s this block is; -1: none of them. */
static int block_index(const struct sample *s, struct slice block)
{
    for (int i = 0; i < RECORDS; i++)
        if (slice_eq(s->blocks[i], block))
            return i;
    return -1;
}

/* The result of reading a damaged copy. */
struct outcome {
    size_t delivered[RECORDS]; /* Blocks byte for byte, */
    size_t altered;            /* and others, */
    size_t cut;                /* of these marked as cut short. */
    size_t lost;
    size_t notes;
    char reason[300];
};

static void
outcome_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    struct session *s = ctx;
    session_damage(s, offset, reason, lost);
}

static void read_sample(const struct sample *s,
                        struct slice file,
                        bool verify,
                        uint64_t block_max,
                        struct outcome *o)
{
    struct session session = {.file = file};
    struct warc_reader_options opts = {
        .read = session_read,
        .ctx = &session,
        .on_damage = outcome_damage,
        .size_bytes = file.len,
        .verify = verify,
        .block_bytes_max = block_max,
    };
    struct warc_reader *r = session_reader(&opts);
    const struct warc_record *rec;
    memset(o, 0, sizeof(*o));
    while (warc_reader_next(r, &rec, NULL) == 0 && rec) {
        int i = block_index(s, rec->block);
        if (i >= 0)
            o->delivered[i]++;
        else
            o->altered++;
        o->cut += rec->cut;
    }
    o->lost = session.lost;
    o->notes = session.notes;
    snprintf(o->reason, sizeof(o->reason), "%s", session.last_reason);
}

static size_t total(const struct outcome *o)
{
    size_t n = o->altered;
    for (int i = 0; i < RECORDS; i++)
        n += o->delivered[i];
    return n;
}

/* @hit was damaged at @pos: the others are there once each, and what is not
 * handed out is told. */
static void expect_outcome(const struct outcome *o,
                           const char *what,
                           size_t pos,
                           int mask,
                           int hit,
                           bool exact)
{
    size_t n = total(o);
    for (int i = 0; i < RECORDS; i++)
        ck_assert_msg(i == hit || o->delivered[i] == 1,
                      "%s, byte %zu ^ %02x: record %d of %d is there %zu times "
                      "(%s)",
                      what, pos, mask, i, hit, o->delivered[i], o->reason);
    ck_assert_msg(n <= RECORDS, "%s, byte %zu ^ %02x: %zu records (%s)", what,
                  pos, mask, n, o->reason);
    /* Bytes of a bad member that are no record may have been one. */
    ck_assert_msg(exact ? o->lost - o->cut + n == RECORDS
                        : o->lost - o->cut + n >= RECORDS,
                  "%s, byte %zu ^ %02x: %zu records and %zu lost (%s)", what,
                  pos, mask, n, o->lost, o->reason);
}

static int record_of(const size_t *starts, size_t pos)
{
    int i = 0;
    while (i + 1 < RECORDS && starts[i + 1] <= pos)
        i++;
    return i;
}

static const int masks[] = {0x01, 0x03, 0x04, 0x20, 0x80};

/* Change each byte of @file, whose records start at @starts. */
static void sweep(const struct sample *s,
                  struct buf *file,
                  const size_t *starts,
                  bool exact,
                  const char *what)
{
    for (size_t pos = 0; pos < file->len; pos++) {
        for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
            struct outcome o;
            file->data[pos] = (char)(file->data[pos] ^ masks[m]);
            read_sample(s, buf_slice(file), false, 0, &o);
            expect_outcome(&o, what, pos, masks[m], record_of(starts, pos),
                           exact);
            file->data[pos] = (char)(file->data[pos] ^ masks[m]);
        }
    }
}

static const char *const dress_names[DRESS_COUNT] = {
    "WARC with digests", "WARC with payload digests", "WARC",
    "warc in lower case", "ARC"};

/* Uncompressed archives, with digests and without. */
START_TEST(test_uncompressed)
{
    for (int d = 0; d < DRESS_COUNT; d++) {
        struct sample s;
        struct buf file = BUF_INIT;
        sample_make(&s, (enum dress)d);
        buf_append_slice(&file, buf_slice(&s.text));
        sweep(&s, &file, s.starts, true, dress_names[d]);
        buf_close(&file);
        buf_close(&s.text);
    }
}

END_TEST

/* Told to verify, the reader hands out no block that its digest denies. */
START_TEST(test_verified)
{
    struct sample s;
    struct buf file = BUF_INIT;
    struct outcome o;
    sample_make(&s, DRESS_DIGESTS);
    buf_append_slice(&file, buf_slice(&s.text));
    for (int i = 0; i < RECORDS; i++) {
        size_t at = (size_t)(s.blocks[i].data - s.text.data);
        for (size_t k = 0; k < s.blocks[i].len; k++) {
            file.data[at + k] = (char)(file.data[at + k] ^ 0x10);
            read_sample(&s, buf_slice(&file), true, 0, &o);
            expect_outcome(&o, "verified", at + k, 0x10, i, true);
            ck_assert_uint_eq(o.altered, 0);
            ck_assert_uint_eq(o.lost, 1);
            file.data[at + k] = (char)(file.data[at + k] ^ 0x10);
        }
    }
    buf_close(&file);
    buf_close(&s.text);
}

END_TEST

static void add_zstd_plain(struct buf *out, struct slice s)
{
    add_zstd(out, s, SLICE_EMPTY);
}

static const struct {
    void (*add)(struct buf *out, struct slice s);
    const char *name;
} packings[] = {{add_gzip, "gzip"}, {add_zstd_plain, "zstd"}, {add_lz4, "lz4"}};

#define PACKINGS ARRAY_LEN(packings)

/* The text damaged first, then packed as one member or frame. */
START_TEST(test_one_member)
{
    for (int d = 0; d < DRESS_COUNT; d++) {
        struct sample s;
        struct buf text = BUF_INIT;
        sample_make(&s, (enum dress)d);
        buf_append_slice(&text, buf_slice(&s.text));
        for (size_t pos = 0; pos < text.len; pos++) {
            struct buf file = BUF_INIT;
            struct outcome o;
            text.data[pos] = (char)(text.data[pos] ^ 3);
            packings[pos % PACKINGS].add(&file, buf_slice(&text));
            read_sample(&s, buf_slice(&file), false, 0, &o);
            expect_outcome(&o, dress_names[d], pos, 3, record_of(s.starts, pos),
                           true);
            text.data[pos] = (char)(text.data[pos] ^ 3);
            buf_close(&file);
        }
        buf_close(&text);
        buf_close(&s.text);
    }
}

END_TEST

/* A member or frame a record, changed after compression. */
START_TEST(test_member_by_record)
{
    for (size_t way = 0; way < 2 * PACKINGS; way++) {
        struct sample s;
        struct buf file = BUF_INIT;
        size_t starts[RECORDS + 1];
        sample_make(&s, way < PACKINGS ? DRESS_DIGESTS : DRESS_PLAIN);
        for (int i = 0; i < RECORDS; i++) {
            struct slice rec =
                slice_sub(buf_slice(&s.text), s.starts[i], s.starts[i + 1]);
            starts[i] = file.len;
            packings[way % PACKINGS].add(&file, rec);
        }
        starts[RECORDS] = file.len;
        sweep(&s, &file, starts, false, packings[way % PACKINGS].name);
        buf_close(&file);
        buf_close(&s.text);
    }
}

END_TEST

/* One member for all, changed after compression: what its digest proves comes
 * out, nothing else, and a loss is told. */
START_TEST(test_one_member_changed_inside)
{
    struct sample s;
    struct buf file = BUF_INIT;
    size_t most = 0;
    sample_make(&s, DRESS_DIGESTS);
    add_gzip(&file, buf_slice(&s.text));
    for (size_t pos = 10; pos < file.len; pos++) {
        struct outcome o;
        file.data[pos] = (char)(file.data[pos] ^ 4);
        read_sample(&s, buf_slice(&file), false, 0, &o);
        ck_assert_msg(o.altered == 0, "byte %zu: %s", pos, o.reason);
        ck_assert_msg(total(&o) == RECORDS || o.lost > 0,
                      "byte %zu: silent %zu records %zu notes: %s", pos,
                      total(&o), o.notes, o.reason);
        most = total(&o) > most ? total(&o) : most;
        file.data[pos] = (char)(file.data[pos] ^ 4);
    }
    ck_assert_uint_eq(most, RECORDS);
    buf_close(&file);
    buf_close(&s.text);
}

END_TEST

/* Bytes between two good records are skipped and reported; both are kept. */
START_TEST(test_garbage_between)
{
    static const char *const garbage[] = {"garbage\n", "\x01", "x\r\n\r\n",
                                          "WARC", "http://a/ b\n"};
    for (int d = 0; d < DRESS_COUNT; d++) {
        for (size_t g = 0; g < ARRAY_LEN(garbage); g++) {
            struct sample s;
            struct buf file = BUF_INIT;
            struct outcome o;
            sample_make(&s, (enum dress)d);
            buf_append_slice(&file,
                             slice_sub(buf_slice(&s.text), 0, s.starts[2]));
            for (int k = 0; k < 20; k++)
                buf_append_str(&file, garbage[g]);
            buf_append_str(&file, "\n");
            buf_append_slice(
                &file, slice_sub(buf_slice(&s.text), s.starts[2], s.text.len));
            read_sample(&s, buf_slice(&file), false, 0, &o);
            for (int i = 0; i < RECORDS; i++)
                ck_assert_msg(o.delivered[i] == 1, "%s, garbage %zu: %s",
                              dress_names[d], g, o.reason);
            ck_assert_uint_eq(o.altered, 0);
            ck_assert_uint_eq(o.lost, 1);
            buf_close(&file);
            buf_close(&s.text);
        }
    }
}

END_TEST

/* A length that grew past the limit of whole blocks swallows no neighbour. */
START_TEST(test_length_over_the_limit)
{
    struct sample s;
    struct buf file = BUF_INIT;
    struct outcome o;
    const char *digits;
    sample_make(&s, DRESS_DIGESTS);
    digits = strstr(s.text.data + s.starts[1], "\r\nContent-Length: ") + 18;
    buf_append_slice(&file, slice_sub(buf_slice(&s.text), 0,
                                      (size_t)(digits - s.text.data)));
    buf_append_str(&file, "9");
    buf_append_slice(&file,
                     slice_sub(buf_slice(&s.text),
                               (size_t)(digits - s.text.data), s.text.len));
    buf_append_fill(&file, '\n', 10000);
    read_sample(&s, buf_slice(&file), false, 600, &o);
    for (int i = 0; i < RECORDS; i++)
        ck_assert_msg(o.delivered[i] == 1, "record %d: %s", i, o.reason);
    buf_close(&file);
    buf_close(&s.text);
}

END_TEST

/* A record with @block, whose digest is of the first @digested bytes of it, and
 * which claims @more bytes behind it. */
static void add_claim(struct buf *out,
                      int i,
                      struct slice block,
                      size_t digested,
                      size_t more)
{
    buf_printf(out,
               "WARC/1.0\r\nWARC-Type: resource\r\n"
               "WARC-Target-URI: http://h%d.example/\r\n",
               i);
    add_digest(out, "WARC-Block-Digest", slice_sub(block, 0, digested));
    buf_printf(out, "Content-Length: %zu\r\n\r\n", block.len + more);
    buf_append_slice(out, block);
    buf_append_str(out, "\r\n\r\n");
}

/* A length that reaches exactly to the end of the next record: that one is
 * found wherever it starts, whatever part of a start lies before it. */
START_TEST(test_swallowed_neighbour)
{
    static const char *const before[] = {"w", "wa", "WAR", "\r\n\r\nWARC/",
                                         "warwarwar"};
    for (size_t n = 0; n < 3 * 16 * ARRAY_LEN(before); n++) {
        struct sample s;
        struct buf block = BUF_INIT;
        struct buf next = BUF_INIT;
        struct buf file = BUF_INIT;
        struct outcome o;
        sample_make(&s, DRESS_DIGESTS);
        buf_append_fill(&block, 'x', n / ARRAY_LEN(before));
        buf_append_str(&block, before[n % ARRAY_LEN(before)]);
        add_claim(&next, 1, s.blocks[1], s.blocks[1].len, 0);
        add_claim(&file, 0, buf_slice(&block), block.len, next.len);
        buf_append_slice(&file, buf_slice(&next));
        add_claim(&file, 2, s.blocks[2], s.blocks[2].len, 0);
        read_sample(&s, buf_slice(&file), false, 0, &o);
        ck_assert_msg(o.delivered[1] == 1 && o.delivered[2] == 1 &&
                          o.altered == 1 && o.lost == 0,
                      "block of %zu bytes: %s", block.len, o.reason);
        buf_close(&file);
        buf_close(&next);
        buf_close(&block);
        buf_close(&s.text);
    }
}

END_TEST

/* A record's start inside a record that fills its member is part of its block,
 * whatever the digest is of: in the last member as in the others. */
START_TEST(test_member_filled)
{
    for (size_t way = 0; way < PACKINGS; way++) {
        struct sample s;
        struct buf file = BUF_INIT;
        struct outcome o;
        sample_make(&s, DRESS_DIGESTS);
        for (int i = 0; i < RECORDS; i++) {
            struct buf block = BUF_INIT;
            struct buf rec = BUF_INIT;
            buf_append_str(&block, "part\r\n\r\n");
            add_claim(&block, i, s.blocks[i], s.blocks[i].len, 0);
            add_claim(&rec, i, buf_slice(&block), strlen("part"), 0);
            packings[way].add(&file, buf_slice(&rec));
            buf_close(&rec);
            buf_close(&block);
        }
        read_sample(&s, buf_slice(&file), false, 0, &o);
        ck_assert_msg(o.altered == RECORDS && total(&o) == RECORDS &&
                          o.lost == 0 && o.notes == 0,
                      "%s: %zu records: %s", packings[way].name, total(&o),
                      o.reason);
        buf_close(&file);
        buf_close(&s.text);
    }
}

END_TEST

TEST_MAIN("warc damage",
          test_uncompressed,
          test_verified,
          test_one_member,
          test_member_by_record,
          test_one_member_changed_inside,
          test_garbage_between,
          test_length_over_the_limit,
          test_swallowed_neighbour,
          test_member_filled)
