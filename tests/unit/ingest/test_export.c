/* An import of an export makes the same cells again; and other readers of
 * archives can read it. */
#include <zlib.h>

#include "mapreduce/ingest/export.h"
#include "mapreduce/ingest/exported.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/digest.h"
#include "tests/unit/ingest/webtable_store.h"

/* --- Helpers ------------------------------------------------------------- */

static int append(void *ctx,
                  struct slice bytes,
                  const struct export_report *done,
                  struct err *err)
{
    (void)done;
    (void)err;
    buf_append_slice(ctx, bytes);
    return 0;
}

static struct export_report export_all(struct store *s,
                                       enum export_compression compression,
                                       struct buf *out)
{
    const struct quarry_read_options read = {.ranges = NULL};
    struct export_options o = {.compression = compression,
                               .file_name = "x.warc",
                               .write = append,
                               .ctx = out};
    struct export_report report;
    struct err err = ERR_INIT;
    ck_assert_msg(export_warc(s->t, &read, &o, &report, &err) == 0, "%s",
                  err.text);
    ck_assert_uint_eq(report.byte_count, out->len);
    return report;
}

static void tell(const char *what, const struct quarry_row *r, int64_t us)
{
    for (size_t i = 0; i < r->cell_count; i++) {
        const struct quarry_cell *c = &r->cells[i];
        if (c->timestamp_us == us)
            printf("%s %lld %.*s %.*s:%.*s (%zu) = %.*s\n", what, (long long)us,
                   SLICE_ARG(r->key), SLICE_ARG(c->family),
                   SLICE_ARG(c->qualifier), c->value.len,
                   (int)MIN_OF(c->value.len, (size_t)200), c->value.data);
    }
}

/* The first capture in which two tables differ, told; false when none does. */
static bool differ(struct store *a, struct store *b)
{
    struct quarry_scanner *x;
    struct quarry_scanner *y;
    const struct quarry_row *r;
    const struct quarry_row *q;
    bool same = true;
    ck_assert_int_eq(quarry_scan(a->t, NULL, &x, NULL), 0);
    ck_assert_int_eq(quarry_scan(b->t, NULL, &y, NULL), 0);
    do {
        ck_assert_int_eq(quarry_scanner_next(x, &r, NULL), 0);
        ck_assert_int_eq(quarry_scanner_next(y, &q, NULL), 0);
        same = !r == !q && (!r || slice_eq(r->key, q->key));
        for (size_t i = 0; same && r && i < r->cell_count; i++) {
            const struct quarry_cell *c = &r->cells[i];
            const struct quarry_cell *d = &q->cells[i];
            same = i < q->cell_count && slice_eq(c->family, d->family) &&
                   slice_eq(c->qualifier, d->qualifier) &&
                   c->timestamp_us == d->timestamp_us &&
                   slice_eq(c->value, d->value);
            if (!same) {
                tell("from", r, c->timestamp_us);
                tell("to", q, c->timestamp_us);
                if (i < q->cell_count && d->timestamp_us != c->timestamp_us) {
                    tell("from", r, d->timestamp_us);
                    tell("to", q, d->timestamp_us);
                }
            }
        }
        if (same && r && r->cell_count != q->cell_count) {
            printf("%.*s: %zu cells and %zu\n", SLICE_ARG(r->key),
                   r->cell_count, q->cell_count);
            same = false;
        } else if (!same && r && q && !slice_eq(r->key, q->key)) {
            printf("row %.*s or %.*s\n", SLICE_ARG(r->key), SLICE_ARG(q->key));
        }
    } while (same && r);
    quarry_scanner_close(x);
    quarry_scanner_close(y);
    return !same;
}

/* Import @from's export into another store and compare. */
static void there_and_back(struct store *from,
                           enum export_compression compression)
{
    struct store to;
    struct buf file = BUF_INIT;
    struct buf again = BUF_INIT;
    export_all(from, compression, &file);
    store_open(&to);
    import_text(&to, "back.warc", buf_slice(&file));
    ck_assert_uint_eq(to.report.damage_count, 0);
    ck_assert(!differ(from, &to));
    ck_assert(!differ(&to, from));
    /* The same table is the same file. */
    export_all(&to, compression, &again);
    ck_assert(slice_eq(buf_slice(&file), buf_slice(&again)));
    store_close(&to);
    buf_close(&file);
    buf_close(&again);
}

/* A response whose body is @body compressed by gzip under a head that says so.
 */
static void add_packed(struct buf *b, const char *uri, const char *body)
{
    struct buf packed = BUF_INIT;
    struct buf block = BUF_INIT;
    add_gzip(&packed, slice_str(body));
    buf_printf(&block,
               "HTTP/1.1 200 OK\r\nX-Quarry-Odd: kept\r\n"
               "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
               "Content-Type: text/html\r\n\r\n%zx\r\n",
               packed.len);
    buf_append_slice(&block, buf_slice(&packed));
    buf_append_str(&block, "\r\n0\r\n\r\n");
    buf_printf(b,
               "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\n"
               "WARC-Record-ID: <urn:uuid:packed>\r\n"
               "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
               "WARC-Date: 2024-01-01T00:00:00Z\r\n" HTTP
               "Content-Length: %zu\r\n\r\n",
               uri, block.len);
    buf_append_slice(b, buf_slice(&block));
    buf_append_str(b, "\r\n\r\n");
    buf_close(&packed);
    buf_close(&block);
}

/* One of everything that makes cells. */
static void add_all_kinds(struct buf *b)
{
    add_packed(b, "http://e.com/packed",
               "<html lang=de><title>T</title><a href=/x>to x</a>");
    add(b, "response", "http://e.com/a b", "2024-01-01T00:00:00Z",
        HTTP "WARC-Record-ID: <urn:uuid:1>\r\nWARC-IP-Address: 1.2.3.4\r\n"
             "WARC-Truncated: length\r\n",
        "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 4\n\n"
        "body");
    add(b, "response", "http://e.com/lies", "2024-01-01T00:00:00Z", HTTP,
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 99\r\n\r\nplain");
    add(b, "response", "http://e.com/none", "2024-01-01T00:00:00Z", HTTP,
        "HTTP/1.1 304 Not Modified\r\nETag: x");
    add(b, "response", "http://e.com/0.9", "2024-01-01T00:00:00Z", HTTP,
        "<html>no head</html>");
    add(b, "response", "dns:www.e.com", "2024-01-01T00:00:00Z",
        "Content-Type: text/dns\r\n", "1.2.3.4");
    add(b, "resource", "ftp://e.com:2121/r?q", "2024-01-01",
        "Content-Type: image/x\r\nWARC-Record-ID: <urn:uuid:r>\r\n", "blob");
    add(b, "conversion", "ftp://e.com:2121/r?q", "2024-01-01",
        "Content-Type: text/plain\r\nWARC-Refers-To: <urn:uuid:r>\r\n"
        "WARC-Identified-Content-Language: eng,deu\r\n",
        "plain words");
    add(b, "conversion", "ftp://e.com:2121/r?q", "2024-01-01",
        "Content-Type: application/x-more\r\nWARC-Refers-To: <urn:uuid:r>\r\n",
        "others");
    add(b, "metadata", "http://e.com/a b", "2024-01-01T00:00:00Z",
        "Content-Type: application/warc-fields\r\n"
        "WARC-Concurrent-To: <urn:uuid:1>\r\n",
        "via: x\r\n");
    add(b, "revisit", "http://e.com/a b", "2024-01-02T00:00:00Z",
        HTTP "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/"
             "server-not-modified\r\nWARC-Refers-To-Date: "
             "2024-01-01T00:00:00Z\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n");
    add(b, "revisit", "http://other.com/", "2024-01-02T00:00:00Z",
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/"
        "identical-payload-digest\r\nWARC-Refers-To-Target-URI: "
        "http://e.com/packed\r\nWARC-Refers-To-Date: 2024-01-01T00:00:00Z\r\n"
        "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n",
        "");
    add(b, "revisit", "http://other.com/lost", "2024-01-02T00:00:00Z",
        "WARC-Profile: x\r\nWARC-Refers-To: <urn:uuid:gone>\r\n", "");
    add(b, "response", "http://e.com/undated", "never", HTTP,
        "HTTP/1.1 200 OK\r\n\r\n");
}

/* --- Tests --------------------------------------------------------------- */

/* Records of every kind, with odd heads, codings, dates and no ids: their
 * export in each compression gives the table again. */
START_TEST(test_every_kind)
{
    struct store s;
    struct buf b = BUF_INIT;
    add_all_kinds(&b);
    store_open(&s);
    import_text(&s, "kinds.warc", buf_slice(&b));
    expect(&s, "com.other/", "meta", "type", "revisit");
    ck_assert_uint_eq(s.report.revisit_filled, 2);
    for (int p = EXPORT_PLAIN; p <= EXPORT_ZSTD; p++)
        there_and_back(&s, (enum export_compression)p);
    store_close(&s);
    buf_close(&b);
}

END_TEST

/* The records tell the original URI, the capture's time and true lengths and
 * digests, so that a reader that knows nothing of us decodes the body. */
START_TEST(test_records_are_true)
{
    struct store s;
    struct buf b = BUF_INIT;
    struct buf file = BUF_INIT;
    struct session session = {0};
    struct warc_reader_options opts = {
        .read = session_read, .ctx = &session, .on_damage = session_damage};
    struct warc_reader *reader;
    const struct warc_record *rec;
    struct http_message m;
    size_t count = 0;
    struct export_report report;
    add_all_kinds(&b);
    store_open(&s);
    import_text(&s, "kinds.warc", buf_slice(&b));
    report = export_all(&s, EXPORT_GZIP, &file);
    ck_assert_uint_eq(report.capture_count, 11);
    ck_assert_uint_eq(report.record_count, 14);
    ck_assert_uint_eq(report.left_out_count, 0);
    session.file = buf_slice(&file);
    reader = session_reader(&opts);
    while (warc_reader_next(reader, &rec, NULL) == 0 && rec) {
        count += rec->type != WARC_INFO;
        ck_assert_int_eq(digest_check(rec->block_digest, rec->block),
                         DIGEST_SAME);
        ck_assert_uint_eq(rec->date.len, 27);
        if (!http_parse(rec->block, &m) || rec->type == WARC_REVISIT)
            continue;
        ck_assert_int_eq(digest_check(rec->payload_digest, m.raw_body),
                         DIGEST_SAME);
        if (slice_eq_str(rec->uri, "http://e.com/packed")) {
            struct slice v;
            ck_assert(slice_starts_with(m.raw_body, SLICE_LIT("<html lang=")));
            ck_assert(http_header(&m, "content-length", &v));
            ck_assert_uint_eq(strtoul(v.data, NULL, 10), m.raw_body.len);
            ck_assert(!http_header(&m, "content-encoding", &v));
            ck_assert(!http_header(&m, "transfer-encoding", &v));
        }
    }
    ck_assert_uint_eq(count, report.record_count);
    ck_assert_uint_eq(session.lost + session.notes, 0);
    store_close(&s);
    buf_close(&b);
    buf_close(&file);
}

END_TEST

/* --- random captures ----------------------------------------------------- */

/* One of @texts, which end with NULL. */
static const char *any_of(struct rand_gen *r, const char *const *texts)
{
    size_t n = 0;
    while (texts[n])
        n++;
    return texts[rand_below(r, n)];
}

static const char *const odd_uris[] = {
    "http://e.com/",
    "http://e.com/a b",
    "http://e.com/a\tb",
    "http://E.com:80/x",
    "https://www.e.com/?q=1",
    "http://u:p@e.com/\x01",
    "<http://e.com/ang>",
    "dns:e.com",
    "ftp://e.com/f\x7f",
    "file:///tmp/a b",
    "urn:x:y",
    "http://\xc3\xbc.de/\xff",
    "http://[::1]:8/",
    "mailto:a@b",
    "http://e.com/%zz%00",
    NULL,
};

static const char *const odd_values[] = {
    "",
    "x",
    "1.2.3.4",
    "a\tb",
    "a\x01"
    "b",
    "\x7f",
    "a\rb",
    "%41",
    "<x>",
    "<>",
    "length",
    "\xff\xfe",
    "a; b=c",
    "en-US, de",
    "text/html; charset=windows-1251",
    NULL,
};

static const char *const odd_lines[] = {
    "Content-Type: text/html; charset=koi8-r",
    "content-type:text/plain",
    "Content-Length: 5",
    "Content-Encoding: gzip",
    "Transfer-Encoding: chunked",
    "Location: \x01/there\t",
    "ETag:",
    "X-Quarry-Content-Length: 7",
    " folded",
    "no colon",
    "Date: Tue, 15 Nov 1994 08:12:31 GMT",
    "Content-Language: fr, en",
    "Link: <http://e.com/next>; rel=next",
    NULL,
};

static const char *const odd_bodies[] = {
    "",
    "<html lang=de><title>T</title><base href=/b/><a href=x>to x</a>",
    "HTTP/1.1 200 OK\r\n\r\n<a href=http://e.com/y>y</a>",
    "<meta charset=euc-jp><a href='http://z.com/'>\xa4\xa2</a>",
    "5\r\nhello\r\n0\r\n\r\n",
    "\r\n\r\n",
    "plain",
    "WARC/1.0\r\nWARC-Type: response\r\n\r\n",
    NULL,
};

static const char *const odd_dates[] = {
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.123456Z",
    "2024",
    "never",
    "1969-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "",
    "2024-01-01T00:00:00.123456789Z",
    NULL,
};

static void add_odd_head(struct buf *out, struct rand_gen *r)
{
    static const char *const first[] = {"HTTP/1.1 200 OK", "HTTP/1.0 304",
                                        "HTTP/1.1 99999 \x01", "ICY 200 OK",
                                        NULL};
    buf_printf(out, "%s\r\n", any_of(r, first));
    for (uint64_t n = rand_below(r, 6); n > 0; n--)
        buf_printf(out, "%s%s", any_of(r, odd_lines),
                   rand_one_in(r, 4) ? "\n" : "\r\n");
    if (rand_one_in(r, 12)) {
        buf_append_str(out, "X-Long: ");
        buf_append_fill(out, 'l', 10000 + rand_below(r, 80000));
        buf_append_str(out, "\r\n");
    }
    if (!rand_one_in(r, 8))
        buf_append_str(out, "\r\n");
}

static void add_odd_field(struct buf *out, struct rand_gen *r, const char *name)
{
    if (!rand_one_in(r, 3))
        buf_printf(out, "%s: %s\r\n", name, any_of(r, odd_values));
}

/* Revisits are dated apart: one may have its contents of another, whose turn
 * must be before. */
static void add_odd_record(struct buf *out, struct rand_gen *r, int i)
{
    static const char *const types[] = {
        "response",   "response", "response", "resource", "revisit",
        "conversion", "metadata", "Revisit",  "RESPONSE", NULL,
    };
    static const char *const fields[] = {
        "Content-Type",    "WARC-Identified-Content-Language",
        "WARC-Truncated",  "WARC-Payload-Digest",
        "WARC-Profile",    "WARC-Refers-To",
        "WARC-IP-Address", "WARC-Record-ID",
    };
    struct buf block = BUF_INIT;
    const char *type = any_of(r, types);
    bool is_http = !rand_one_in(r, 3);
    if (is_http)
        add_odd_head(&block, r);
    buf_append_str(&block, any_of(r, odd_bodies));
    buf_printf(out, "WARC/1.0\r\nWARC-Type: %s\r\n", type);
    buf_printf(out, "WARC-Target-URI: %s\r\n", any_of(r, odd_uris));
    if ((type[0] | 0x20) == 'r' && type[2] == 'v')
        buf_printf(out, "WARC-Date: 2030-01-01T00:00:%02dZ\r\n", i % 60);
    else
        buf_printf(out, "WARC-Date: %s\r\n", any_of(r, odd_dates));
    if (is_http && !rand_one_in(r, 5))
        buf_append_str(out, HTTP);
    else if (rand_one_in(r, 4))
        buf_append_str(out, "Content-Type: application/warc-fields\r\n");
    for (size_t k = 0; k < ARRAY_LEN(fields); k++)
        add_odd_field(out, r, fields[k]);
    if (rand_one_in(r, 2))
        buf_printf(out, "WARC-Refers-To-Date: %s\r\n", any_of(r, odd_dates));
    if (rand_one_in(r, 3))
        buf_printf(out, "WARC-Refers-To-Target-URI: %s\r\n",
                   any_of(r, odd_uris));
    buf_printf(out, "Content-Length: %zu\r\n\r\n", block.len);
    buf_append_slice(out, buf_slice(&block));
    buf_append_str(out, "\r\n\r\n");
    buf_close(&block);
}

/* Other readers require of an export: heads of HTTP end in CR LF CR LF before
 * 32 KB, and only a record that begins with one is a response. */
static void expect_readable(struct store *s)
{
    struct buf file = BUF_INIT;
    struct session session = {0};
    struct warc_reader_options opts = {
        .read = session_read, .ctx = &session, .on_damage = session_damage};
    struct warc_reader *reader;
    const struct warc_record *rec;
    export_all(s, EXPORT_PLAIN, &file);
    session.file = buf_slice(&file);
    reader = session_reader(&opts);
    while (warc_reader_next(reader, &rec, NULL) == 0 && rec) {
        size_t n = 0;
        if (rec->type == WARC_RESPONSE)
            ck_assert(slice_starts_with(rec->content_type,
                                        SLICE_LIT("application/http")));
        if (!slice_starts_with(rec->content_type,
                               SLICE_LIT("application/http")))
            continue;
        while (n + 4 <= rec->block.len &&
               memcmp(rec->block.data + n, "\r\n\r\n", 4) != 0)
            n++;
        /* A head that was cut ends with its block. */
        ck_assert_msg(n < 32000, "%zu bytes of a head in a block of %zu", n,
                      rec->block.len);
    }
    ck_assert_uint_eq(session.lost + session.notes, 0);
    buf_close(&file);
}

/* Whatever an archive holds, what its import made of it comes back from an
 * export, cell by cell. */
START_TEST(test_random_captures)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 12; round++) {
        struct store s;
        struct buf b = BUF_INIT;
        for (int i = 0; i < 60; i++)
            add_odd_record(&b, &r, i);
        store_open(&s);
        import_text(&s, "odd.warc", buf_slice(&b));
        there_and_back(&s, (enum export_compression)(round % 3));
        expect_readable(&s);
        store_close(&s);
        buf_close(&b);
    }
}

END_TEST

/* Random heads, masked for random bodies, come back byte by byte. */
START_TEST(test_heads_there_and_back)
{
    static const char *const lines[] = {
        "Content-Length: 5",       "content-encoding:gzip",
        "X-Quarry-A: b",           "x-quarry-X-Quarry-Content-Length: 1",
        "Transfer-Encoding : x",   "junk without a colon",
        " folded: Content-Length", "Via: 1",
        "CONTENT-LENGTH: 5",       "",
    };
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        struct buf head = BUF_INIT;
        struct buf masked = BUF_INIT;
        struct buf back = BUF_INIT;
        buf_append_str(&head, "HTTP/1.1 200 OK\r\n");
        for (uint64_t n = rand_below(&r, 6); n > 0; n--)
            buf_printf(&head, "%s%s", lines[rand_below(&r, 10)],
                       rand_one_in(&r, 3) ? "\n" : "\r\n");
        exported_head_mask(buf_slice(&head), 7, &masked);
        ck_assert(slice_ends_with(buf_slice(&masked),
                                  SLICE_LIT("Content-Length: 7\r\n")));
        exported_head_unmask(buf_slice(&masked), &back);
        ck_assert(slice_eq(buf_slice(&head), buf_slice(&back)));
        buf_close(&head);
        buf_close(&masked);
        buf_close(&back);
    }
}

END_TEST

/* Rows that somebody else wrote, without URI, head or type, become resources of
 * the URI that their key tells. */
START_TEST(test_rows_of_others)
{
    struct store s;
    struct store back;
    struct buf b = BUF_INIT;
    struct buf file = BUF_INIT;
    struct quarry_mutation *m;
    add(&b, "resource", "http://e.com/1", "2024-01-01T00:00:00Z", "", "1");
    store_open(&s);
    import_text(&s, "one.warc", buf_slice(&b));
    m = quarry_mutation_new(SLICE_LIT("org.mine.www:8080/a?b"));
    quarry_mutation_set(m, "contents", SLICE_EMPTY, T0, SLICE_LIT("mine"));
    quarry_mutation_set(m, "meta", SLICE_LIT("id"), T0, SLICE_LIT("a\r\nb"));
    ck_assert_int_eq(quarry_apply(s.t, m, NULL, NULL), 0);
    quarry_mutation_free(m);
    export_all(&s, EXPORT_PLAIN, &file);
    store_open(&back);
    import_text(&back, "others.warc", buf_slice(&file));
    ck_assert_uint_eq(back.report.damage_count, 0);
    expect_at(&back, "org.mine.www:8080/a?b", "contents", "", T0, "mine");
    expect_at(&back, "org.mine.www:8080/a?b", "http", "url", T0,
              "http://www.mine.org:8080/a?b");
    store_close(&s);
    store_close(&back);
    buf_close(&b);
    buf_close(&file);
}

END_TEST

/* Real crawls of many makers come back cell by cell. */
START_TEST(test_real_crawls)
{
    static const char *const names[] = {
        "data/crawl/warc/pywb--iana.warc.gz",
        "data/crawl/warc/pywb--hist-test.warc.gz",
        "data/crawl/tricky/pywb--dupes.warc.gz",
        "data/crawl/tricky/warcio--example.arc.gz",
        "data/crawl/tricky/webarchive-discovery--IAH-20080430204825-00000-"
        "blackbook-truncated.arc.gz",
        "data/crawl/tricky/aut--issue-514.warc",
        "data/crawl/tricky/jwarc--cc.warc.gz",
        "data/crawl/tricky/warcio--example-wrong-chunks.warc.gz",
        "data/crawl/tricky/"
        "webarchive-discovery--transfer_compression_brotli.warc",
    };
    struct store s;
    store_open(&s);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = test_shared(names[i]);
        const char *paths[] = {path};
        if (path)
            import_paths(&s, paths, 1, NULL);
        free(path);
    }
    if (s.t)
        there_and_back(&s, EXPORT_GZIP);
    store_close(&s);
}

END_TEST

TEST_MAIN("export",
          test_every_kind,
          test_records_are_true,
          test_random_captures,
          test_heads_there_and_back,
          test_rows_of_others,
          test_real_crawls)
