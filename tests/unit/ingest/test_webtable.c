/* Archives become the rows that docs/crawl.md describes, a second import
 * changes nothing, and damage is told with file and offset. */
#include "tests/unit/ingest/webtable_store.h"

/* --- Tests --------------------------------------------------------------- */

/* A page gives its row contents, head, language and metadata; its links give
 * anchors on the rows they lead to. */
START_TEST(test_page)
{
    struct store s;
    struct buf b = BUF_INIT;
    const char *row = "com.example.www/a/b?c=1";
    add(&b, "response", "https://www.Example.com/a/b?c=1#frag",
        "2024-01-01T00:00:00.250000Z",
        HTTP "WARC-Record-ID: <urn:uuid:7>\r\nWARC-IP-Address: 1.2.3.4\r\n"
             "WARC-Payload-Digest: "
             "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        "Server: x\r\nETag: \"e\"\r\n\r\n"
        "<html lang=EN-us><title> A &amp; B </title><body>"
        "<a href='../d'>to <b>d</b></a><a href=//other.org>Other</a>"
        "<a href='http://other.org/#x'>again</a><a href='#here'>no</a>"
        "<a href='mailto:a@b'>no</a><a href='/a/b?c=1'>self</a>"
        "<img src=i.png></body></html>");
    store_open(&s);
    import_text(&s, "page.warc", buf_slice(&b));
    ck_assert_uint_eq(s.report.page_count, 1);
    ck_assert_uint_eq(s.report.link_count, 2);
    ck_assert_uint_eq(s.report.damage_count, 0);
    expect(&s, row, "http", "status", "200");
    expect(&s, row, "http", "url", "https://www.Example.com/a/b?c=1#frag");
    expect(&s, row, "http", "content-type", "text/html; charset=utf-8");
    expect(&s, row, "http", "server", "x");
    expect(&s, row, "http", "etag", "\"e\"");
    expect(&s, row, "language", "", "en-us");
    expect(&s, row, "meta", "title", "A & B");
    expect(&s, row, "meta", "charset", "utf-8");
    expect(&s, row, "meta", "id", "urn:uuid:7");
    expect(&s, row, "meta", "ip", "1.2.3.4");
    expect(&s, row, "meta", "source", "page.warc:0");
    expect(&s, row, "meta", "type", "response");
    expect(&s, row, "meta", "links", "6");
    expect(&s, row, "meta", "images", "1");
    expect(&s, row, "meta", "digest", "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A");
    expect_at(&s, "com.example.www/d", "anchor", row, T0 + 250000, "to d");
    expect_at(&s, "org.other/", "anchor", row, T0 + 250000, "Other");
    store_close(&s);
    buf_close(&b);
}

END_TEST

/* Captures of one URL are versions of one row; those of one second, as of a
 * redirect from http to https, do not hide each other. */
START_TEST(test_versions)
{
    struct store s;
    struct buf b = BUF_INIT;
    int64_t moved;
    int64_t answered;
    add(&b, "response", "http://e.com/", "2024-01-01T00:00:00Z", HTTP,
        "HTTP/1.1 301 M\r\nLocation: https://e.com/\r\n\r\n");
    add(&b, "response", "https://e.com/", "2024-01-01T00:00:00Z", HTTP,
        "HTTP/1.1 200 OK\r\n\r\nnew");
    add(&b, "response", "http://e.com/", "2023-01-01T00:00:00Z", HTTP,
        "HTTP/1.1 200 OK\r\n\r\nold");
    store_open(&s);
    import_text(&s, "versions.warc", buf_slice(&b));
    moved = cell_time(&s, "com.e/", "http", "status", "301");
    answered = cell_time(&s, "com.e/", "http", "status", "200");
    ck_assert_int_eq(moved / SECOND, T0 / SECOND);
    ck_assert_int_eq(answered / SECOND, T0 / SECOND);
    ck_assert_int_ne(moved, answered);
    expect_at(&s, "com.e/", "http", "location", moved, "https://e.com/");
    expect_at(&s, "com.e/", "contents", "", answered, "new");
    ck_assert_int_eq(cell_time(&s, "com.e/", "contents", "", "old") / SECOND,
                     T0 / SECOND - 31536000);
    store_close(&s);
    buf_close(&b);
}

END_TEST

/* A revisit has its own time and the contents of the capture it refers to,
 * found by time or by digest, on the same row or another. */
START_TEST(test_revisits)
{
    struct store s;
    struct buf b = BUF_INIT;
    const char *digest = "WARC-Payload-Digest: "
                         "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";
    char more[600];
    snprintf(more, sizeof(more), HTTP "%s", digest);
    add(&b, "response", "http://e.com/a", "2024-01-01T00:00:00Z", more,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbody");
    snprintf(more, sizeof(more),
             HTTP "%sWARC-Profile: http://netpreserve.org/warc/1.0/revisit/"
                  "identical-payload-digest\r\n"
                  "WARC-Refers-To-Target-URI: http://e.com/a\r\n"
                  "WARC-Refers-To-Date: 2024-01-01T00:00:00Z\r\n",
             digest);
    add(&b, "revisit", "http://other.com/", "2024-01-02T00:00:00Z", more,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    snprintf(more, sizeof(more), "%sWARC-Profile: x\r\n", digest);
    add(&b, "revisit", "http://e.com/a", "2024-01-03T00:00:00Z", more, "");
    add(&b, "revisit", "http://e.com/none", "2024-01-03T00:00:00Z", more, "");
    store_open(&s);
    import_text(&s, "revisits.warc", buf_slice(&b));
    ck_assert_uint_eq(s.report.revisit_count, 3);
    ck_assert_uint_eq(s.report.revisit_filled, 2);
    expect(&s, "com.other/", "contents", "", "body");
    expect(&s, "com.other/", "meta", "revisit-of",
           "identical-payload-digest 2024-01-01T00:00:00Z http://e.com/a");
    expect(&s, "com.other/", "http", "status", "200");
    ck_assert_int_eq(cell_time(&s, "com.e/a", "contents", "", "body") / SECOND,
                     T0 / SECOND + 2 * 86400);
    expect(&s, "com.e/none", "contents", "", NULL);
    expect(&s, "com.e/none", "meta", "type", "revisit");
    store_close(&s);
    buf_close(&b);
}

END_TEST

/* Revisits beyond what memory may hold are filled all the same, also those of
 * revisits, in whatever order they came: the table is the one that memory
 * without a bound gives. */
START_TEST(test_many_revisits)
{
    static const uint64_t bounds[] = {(uint64_t)64 << 20, 1, 5000, 40000};
    struct buf b = BUF_INIT;
    uint64_t first = 0;
    size_t cells;
    char path[500];
    const char *paths[] = {path};
    for (int i = 499; i >= 0; i--) {
        char uri[64];
        char date[64];
        char more[400];
        snprintf(uri, sizeof(uri), "http://e.com/%d", i / 5);
        snprintf(date, sizeof(date), "2024-01-%02dT00:00:%02dZ", i % 5 + 1,
                 i % 60);
        if (i % 5 == 0) {
            snprintf(more, sizeof(more), "body of %d", i / 5);
            add(&b, "resource", uri, date, "", more);
            continue;
        }
        /* Of the revisit of the day before. */
        snprintf(more, sizeof(more),
                 "WARC-Profile: x/identical-payload-digest\r\n"
                 "WARC-Refers-To-Date: 2024-01-%02dT00:00:%02dZ\r\n",
                 i % 5, (i - 1) % 60);
        add(&b, "revisit", uri, date, more, "");
    }
    snprintf(path, sizeof(path), "%s/many.warc", work_dir());
    write_file(path, buf_slice(&b));
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct store s;
        struct ingest_options o;
        ingest_options_init(&o);
        o.revisit_bytes_max = bounds[i];
        store_open(&s);
        import_paths(&s, paths, 1, &o);
        ck_assert_uint_eq(s.report.revisit_count, 400);
        ck_assert_uint_eq(s.report.revisit_filled, 400);
        if (i == 0)
            first = table_hash(&s, &cells);
        ck_assert_uint_eq(table_hash(&s, &cells), first);
        expect(&s, "com.e/7", "contents", "", "body of 7");
        store_close(&s);
    }
    buf_close(&b);
}

END_TEST

/* Resources, texts made of pages, names looked up and crawl notes have their
 * places; requests have none. */
START_TEST(test_other_records)
{
    struct store s;
    struct buf b = BUF_INIT;
    add(&b, "resource", "http://e.com/r", "2024-01-01T00:00:00Z",
        "Content-Type: image/x\r\n", "blob");
    add(&b, "conversion", "http://e.com/r", "2024-01-01T00:00:00Z",
        "Content-Type: text/plain\r\nWARC-Refers-To: <urn:uuid:1>\r\n"
        "WARC-Identified-Content-Language: eng\r\n",
        "plain words");
    add(&b, "response", "dns:www.e.com", "2024-01-01T00:00:00Z",
        "Content-Type: text/dns\r\n", "1.2.3.4");
    add(&b, "metadata", "http://e.com/r", "2024-01-01T00:00:00Z",
        "Content-Type: application/warc-fields\r\n", "via: x\r\n");
    add(&b, "request", "http://e.com/r", "2024-01-01T00:00:00Z", HTTP,
        "GET /r HTTP/1.1\r\n\r\n");
    add(&b, "metadata", "urn:x", "2024-02-01T00:00:00Z",
        "Content-Type: application/json\r\n",
        "{\"Envelope\":{\"WARC-Header-Metadata\":{\"WARC-Type\":\"response\","
        "\"WARC-Target-URI\":\"http://e.com/w\",\"WARC-Date\":"
        "\"2024-01-01T00:00:00Z\"},\"Payload-Metadata\":{"
        "\"HTTP-Response-Metadata\":{\"Response-Message\":{\"Status\":\"200\"}"
        ",\"Headers\":{\"Content-Type\":\"text/html\"},\"HTML-Metadata\":{"
        "\"Head\":{\"Title\":\"W\"},\"Links\":[{\"path\":\"A@/href\","
        "\"url\":\"/x\",\"text\":\"X\"},{\"path\":\"IMG@/src\",\"url\":"
        "\"/i\"}]}}}}}");
    store_open(&s);
    import_text(&s, "other.warc", buf_slice(&b));
    ck_assert_uint_eq(s.report.skipped_count, 1);
    expect(&s, "com.e/r", "contents", "", "blob");
    expect(&s, "com.e/r", "contents", "text", "plain words");
    expect(&s, "com.e/r", "http", "content-type", "image/x");
    expect(&s, "com.e/r", "language", "", "eng");
    expect(&s, "com.e/r", "meta", "converted-from", "urn:uuid:1");
    expect(&s, "com.e/r", "meta", "fields", "via: x\r\n");
    expect(&s, "com.e.www:dns", "contents", "", "1.2.3.4");
    expect_at(&s, "com.e/w", "http", "status", T0, "200");
    expect_at(&s, "com.e/w", "meta", "title", T0, "W");
    expect_at(&s, "com.e/x", "anchor", "com.e/w", T0, "X");
    store_close(&s);
    buf_close(&b);
}

END_TEST

/* An archive ends in damage and holds a bad record in the middle: the rest is
 * there, and the report names both places. */
START_TEST(test_damage_is_reported)
{
    struct store s;
    struct buf plain = BUF_INIT;
    struct buf file = BUF_INIT;
    size_t bad;
    add(&plain, "resource", "http://e.com/1", "2024-01-01T00:00:00Z", "", "1");
    add_gzip(&file, buf_slice(&plain));
    plain.len = 0;
    bad = file.len;
    add(&plain, "resource", "http://e.com/2", "2024-01-01T00:00:00Z", "", "2");
    add_gzip(&file, buf_slice(&plain));
    file.data[file.len - 8] ^= 1; /* Its checksum. */
    plain.len = 0;
    add(&plain, "resource", "http://e.com/3", "2024-01-01T00:00:00Z", "", "3");
    add(&plain, "resource", "not a uri", "2024-01-01T00:00:00Z", "", "4");
    add_gzip(&file, buf_slice(&plain));
    store_open(&s);
    import_text(&s, "damaged.warc.gz", buf_slice(&file));
    expect(&s, "com.e/1", "contents", "", "1");
    expect(&s, "com.e/2", "contents", "", NULL);
    expect(&s, "com.e/3", "contents", "", "3");
    ck_assert_uint_ge(s.report.lost_count, 2);
    ck_assert_uint_eq(s.report.damage[0].offset, bad);
    ck_assert_ptr_nonnull(strstr(s.report.damage[0].file, "damaged.warc.gz"));
    ck_assert_ptr_nonnull(strstr(s.report.damage[0].reason, "checksum"));
    store_close(&s);
    buf_close(&plain);
    buf_close(&file);
}

END_TEST

/* Segments over two files give one page; one that lacks its end is kept up to
 * there, and told. */
START_TEST(test_segments)
{
    struct store s;
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    char one[500];
    char two[500];
    const char *paths[] = {one, two};
    add(&a, "resource", "http://e.com/s", "2024-01-01T00:00:00Z",
        "WARC-Record-ID: <urn:uuid:s>\r\nWARC-Segment-Number: 1\r\n", "abc");
    add(&a, "resource", "http://e.com/t", "2024-01-01T00:00:00Z",
        "WARC-Record-ID: <urn:uuid:t>\r\nWARC-Segment-Number: 1\r\n", "half");
    add(&b, "continuation", "http://e.com/s", "2024-01-01T00:00:00Z",
        "WARC-Segment-Origin-ID: <urn:uuid:s>\r\nWARC-Segment-Number: 2\r\n"
        "WARC-Segment-Total-Length: 6\r\n",
        "def");
    snprintf(one, sizeof(one), "%s/one.warc", work_dir());
    snprintf(two, sizeof(two), "%s/two.warc", work_dir());
    write_file(one, buf_slice(&a));
    write_file(two, buf_slice(&b));
    store_open(&s);
    import_paths(&s, paths, 2, NULL);
    expect(&s, "com.e/s", "contents", "", "abcdef");
    expect(&s, "com.e/t", "contents", "", "half");
    expect(&s, "com.e/t", "meta", "truncated", "damaged");
    ck_assert_uint_eq(s.report.lost_count, 1);
    store_close(&s);
    buf_close(&a);
    buf_close(&b);
}

END_TEST

/* Two crawlers fetch one page in the same second: both captures are kept,
 * whichever file is read first or at the same time as the other, and the table
 * is the same, after a rerun too. */
START_TEST(test_same_second_in_two_files)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    char one[500];
    char two[500];
    uint64_t first = 0;
    size_t cells;
    add(&a, "response", "http://e.com/", "2024-01-01T00:00:00Z",
        HTTP "WARC-Record-ID: <urn:uuid:a>\r\n", "HTTP/1.1 301 M\r\n\r\n");
    add(&b, "response", "https://e.com/", "2024-01-01T00:00:00Z",
        HTTP "WARC-Record-ID: <urn:uuid:b>\r\n", "HTTP/1.1 200 OK\r\n\r\npage");
    add(&b, "conversion", "https://e.com/", "2024-01-01T00:00:00Z",
        "Content-Type: text/plain\r\nWARC-Refers-To: <urn:uuid:b>\r\n",
        "words");
    snprintf(one, sizeof(one), "%s/one.warc", work_dir());
    snprintf(two, sizeof(two), "%s/two.warc", work_dir());
    write_file(one, buf_slice(&a));
    write_file(two, buf_slice(&b));
    for (int i = 0; i < 4; i++) {
        const char *paths[] = {i & 1 ? two : one, i & 1 ? one : two};
        const struct ingest_options *all = NULL;
        struct ingest_options o;
        struct store s;
        int64_t at;
        ingest_options_init(&o);
        o.tasks = i < 2 ? 1 : 2;
        store_open(&s);
        import_paths(&s, paths, 2, &o);
        at = cell_time(&s, "com.e/", "http", "status", "200");
        ck_assert_int_eq(at / SECOND, T0 / SECOND);
        ck_assert_int_ne(at, cell_time(&s, "com.e/", "http", "status", "301"));
        expect_at(&s, "com.e/", "contents", "", at, "page");
        expect_at(&s, "com.e/", "contents", "text", at, "words");
        if (i == 0)
            first = table_hash(&s, &cells);
        ck_assert_uint_eq(table_hash(&s, &cells), first);
        import_paths(&s, paths, 1, all);
        ck_assert_uint_eq(table_hash(&s, &cells), first);
        store_close(&s);
    }
    buf_close(&a);
    buf_close(&b);
}

END_TEST

/* Pages over the limit are cut at it, marked and reported. */
START_TEST(test_page_limit)
{
    struct store s;
    struct buf b = BUF_INIT;
    struct ingest_options o;
    char path[500];
    const char *paths[] = {path};
    char *page;
    buf_printf(&b, "WARC/1.0\r\nWARC-Type: resource\r\n"
                   "WARC-Target-URI: http://e.com/big\r\n"
                   "WARC-Date: 2024-01-01T00:00:00Z\r\n"
                   "Content-Length: 3000000\r\n\r\n");
    buf_append_fill(&b, 'x', 3000000);
    buf_append_str(&b, "\r\n\r\n");
    add(&b, "resource", "http://e.com/small", "2024-01-01T00:00:00Z", "", "y");
    snprintf(path, sizeof(path), "%s/big.warc", work_dir());
    write_file(path, buf_slice(&b));
    store_open(&s);
    ingest_options_init(&o);
    o.page_bytes_max = 1000;
    import_paths(&s, paths, 1, &o);
    page = cell(&s, "com.e/big", "contents", "", INT64_MIN);
    ck_assert_uint_eq(strlen(page), 1000);
    free(page);
    expect(&s, "com.e/big", "meta", "truncated", "length");
    expect(&s, "com.e/small", "contents", "", "y");
    ck_assert_uint_eq(s.report.lost_count, 1);
    store_close(&s);
    buf_close(&b);
}

END_TEST

static int
try_import(struct store *s, const char *table, const char *path, struct err *e)
{
    const struct ingest_job job = {
        .q = s->q, .table = table, .paths = &path, .path_count = 1};
    return ingest_warc(&job, &s->report, e);
}

/* Mistakes of the caller are named: no such file, a directory, a table of
 * another shape, a file that is no archive. */
START_TEST(test_mistakes)
{
    struct store s;
    struct err err = ERR_INIT;
    struct quarry_family_spec family = {"cf", ""};
    const char *none = "/nonexistent/x.warc";
    const char *dir = work_dir();
    char path[500];
    const char *text = path;
    snprintf(path, sizeof(path), "%s/text.txt", work_dir());
    write_file(path, SLICE_LIT("hello\n"));
    store_open(&s);
    ck_assert_int_eq(try_import(&s, "web", none, &err), ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, none));
    ck_assert_int_eq(try_import(&s, "web", dir, &err), ERR_INVALID);
    ck_assert_int_eq(quarry_table_create(s.q, "t", &family, 1, NULL, 0, &err),
                     0);
    ck_assert_int_eq(try_import(&s, "t", text, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "contents"));
    ck_assert_int_eq(try_import(&s, "web", text, &err), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ingest_report_free(&s.report);
    store_close(&s);
}

END_TEST

/* A real crawl, imported twice: every record is accounted for, and the second
 * time no cell changes. */
START_TEST(test_rerun_changes_nothing)
{
    struct store s;
    char *files[3];
    const char *paths[3];
    size_t cells;
    size_t again;
    uint64_t first;
    files[0] = test_shared("data/crawl/warc/pywb--iana.warc.gz");
    files[1] = test_shared("data/crawl/warc/pywb--hist-test.warc.gz");
    files[2] = test_shared("data/crawl/tricky/pywb--dupes.warc.gz");
    if (!files[0])
        return;
    for (int i = 0; i < 3; i++)
        paths[i] = files[i];
    store_open(&s);
    import_paths(&s, paths, 3, NULL);
    ck_assert_uint_eq(s.report.record_count, 343 + 385 + 25);
    ck_assert_uint_eq(s.report.page_count + s.report.revisit_count +
                          s.report.skipped_count,
                      s.report.record_count - 0);
    ck_assert_uint_gt(s.report.revisit_filled, 50);
    first = table_hash(&s, &cells);
    ck_assert_uint_gt(cells, 3000);
    import_paths(&s, paths, 3, NULL);
    ck_assert_uint_eq(table_hash(&s, &again), first);
    ck_assert_uint_eq(again, cells);
    store_close(&s);
    for (int i = 0; i < 3; i++)
        free(files[i]);
}

END_TEST

TEST_MAIN("webtable",
          test_page,
          test_versions,
          test_revisits,
          test_many_revisits,
          test_other_records,
          test_damage_is_reported,
          test_segments,
          test_same_second_in_two_files,
          test_page_limit,
          test_mistakes,
          test_rerun_changes_nothing)
