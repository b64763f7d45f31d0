/* Plain tables come in row by row: csv with quotes, JSON lines, access logs;
 * what is malformed is reported with its place, and the rest is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bigtable/quarry.h"
#include "mapreduce/ingest/csv_fields.h"
#include "mapreduce/ingest/ingest.h"
#include "mapreduce/ingest/ingest_run.h"
#include "mapreduce/ingest/log_line.h"
#include "mapreduce/ingest/table_rows.h"
#include "tests/unit/warc/archive_build.h"

/* --- Fixture ------------------------------------------------------------- */

/* One directory for all files of a test. */
static const char *work_dir(void)
{
    static const char *dir;
    if (!dir)
        dir = test_tmpdir();
    return dir;
}

static struct quarry *q;
static struct ingest_report report;

static void open_store(void)
{
    char target[500];
    struct err err = ERR_INIT;
    snprintf(target, sizeof(target), "file:%s/store", work_dir());
    ck_assert_msg(quarry_open(target, NULL, &q, &err) == 0, "%s", err.text);
}

static void close_store(void)
{
    ingest_report_free(&report);
    quarry_close(q);
}

static int import_file(ingest_fn import,
                       const char *table,
                       const char *path,
                       const struct ingest_options *o,
                       struct err *err)
{
    const struct ingest_job job = {
        .q = q, .table = table, .paths = &path, .path_count = 1, .opts = o};
    ingest_report_free(&report);
    return import(&job, &report, err);
}

static int try_import_text(ingest_fn import,
                           const char *table,
                           const char *text,
                           const struct ingest_options *o,
                           struct err *err)
{
    char path[500];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s.txt", work_dir(), table);
    f = fopen(path, "wb");
    fputs(text, f);
    fclose(f);
    return import_file(import, table, path, o, err);
}

static void import_text(ingest_fn import,
                        const char *table,
                        const char *text,
                        const struct ingest_options *o)
{
    struct err err = ERR_INIT;
    ck_assert_msg(try_import_text(import, table, text, o, &err) == 0, "%s",
                  err.text);
}

/* More than half of @text is damaged, which is an error; the rest is there. */
static void
import_damaged_text(ingest_fn import, const char *table, const char *text)
{
    struct err err = ERR_INIT;
    ck_assert_int_eq(try_import_text(import, table, text, NULL, &err),
                     ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "3 of 5 lines"));
}

/* The whole table as "row family:qualifier@time=value|". Owned. */
static char *dump(const char *table)
{
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct buf b = BUF_INIT;
    ck_assert_int_eq(quarry_table_open(q, table, &t, NULL), 0);
    ck_assert_int_eq(quarry_scan(t, NULL, &s, NULL), 0);
    while (quarry_scanner_next(s, &row, NULL) == 0 && row)
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_printf(&b, "%.*s %.*s:%.*s@%lld=%.*s|", SLICE_ARG(row->key),
                       SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                       (long long)c->timestamp_us, SLICE_ARG(c->value));
        }
    quarry_scanner_close(s);
    quarry_table_close(t);
    return buf_take(&b);
}

static void expect_table(const char *table, const char *want)
{
    char *got = dump(table);
    ck_assert_str_eq(got, want);
    free(got);
}

/* --- csv ----------------------------------------------------------------- */

/* Quotes hold separators, quotes and line ends; the header names the columns;
 * the separator is guessed. */
START_TEST(test_csv)
{
    open_store();
    import_text(ingest_csv, "a",
                "\xef\xbb\xbfid,name,\"full, text\"\r\n"
                "1,Ann,\"a \"\"b\"\"\nc\"\r\n\r\n2,,x\r\n",
                NULL);
    expect_table("a", "1 data:full, text@0=a \"b\"\nc|1 data:name@0=Ann|"
                      "2 data:full, text@0=x|2 data:name@0=|");
    ck_assert_uint_eq(report.record_count, 2);
    import_text(ingest_csv, "b", "k;v\na;1,5\n", NULL);
    expect_table("b", "a data:v@0=1,5|");
    close_store();
}

END_TEST

/* Keys of several columns or of line numbers, times, no header. */
START_TEST(test_csv_options)
{
    struct ingest_options o;
    struct err err = ERR_INIT;
    char path[500];
    open_store();
    ingest_options_init(&o);
    o.family = "f";
    o.key = "x,y";
    import_text(ingest_csv, "a", "x,y,z\n1,2,3\n1,3,4\n", &o);
    expect_table("a", "1/2 f:x@0=1|1/2 f:y@0=2|1/2 f:z@0=3|"
                      "1/3 f:x@0=1|1/3 f:y@0=3|1/3 f:z@0=4|");
    o.key = "#";
    o.header = false;
    import_text(ingest_csv, "b", "a\tb\na\tb\n", &o);
    expect_table("b", "000000000001 f:1@0=a|000000000001 f:2@0=b|"
                      "000000000002 f:1@0=a|000000000002 f:2@0=b|");
    o.key = "2";
    o.header = true;
    o.time_field = "when";
    import_text(ingest_csv, "c",
                "when,id,v\n2024-01-01,k,1\n1704067200,l,2\nnever,m,3\n", &o);
    expect_table("c", "k f:v@1704067200000000=1|"
                      "k f:when@1704067200000000=2024-01-01|"
                      "l f:v@1704067200000000=2|"
                      "l f:when@1704067200000000=1704067200|"
                      "m f:v@0=3|m f:when@0=never|");
    ck_assert_uint_eq(report.damage_count, 1);
    ck_assert_uint_eq(report.damage[0].offset, 40);
    o.key = "nowhere";
    snprintf(path, sizeof(path), "%s/c.txt", work_dir());
    ck_assert_int_eq(import_file(ingest_csv, "c", path, &o, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "\"nowhere\""));
    ck_assert_ptr_nonnull(strstr(err.hint, "when, id, v"));
    close_store();
}

END_TEST

/* Lines without a key, a quote that never ends, fields too many: told, and the
 * rest is read. */
START_TEST(test_csv_damage)
{
    open_store();
    import_damaged_text(ingest_csv, "a", "k,v\n,1\nb,2,3\nc,4\n\"d,5\ne,6\n");
    expect_table("a", "b data:3@0=3|b data:v@0=2|c data:v@0=4|");
    ck_assert_uint_eq(report.damage_count, 3);
    ck_assert_uint_eq(report.lost_count, 3); /* The open quote's lines: two. */
    close_store();
}

END_TEST

/* Quoting and cutting are inverse, for any fields. */
START_TEST(test_csv_fields)
{
    struct rand_gen r;
    struct csv_fields f = {0};
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        struct buf text = BUF_INIT;
        struct buf want[6];
        size_t n = 1 + rand_below(&r, 6);
        for (size_t k = 0; k < n; k++) {
            size_t len = rand_below(&r, 8);
            bool quoted = rand_one_in(&r, 2);
            buf_init(&want[k]);
            if (k)
                buf_append_byte(&text, ',');
            if (quoted)
                buf_append_byte(&text, '"');
            while (len-- > 0) {
                char c = quoted ? "ab,\"\n "[rand_below(&r, 6)]
                                : "ab c"[rand_below(&r, 4)];
                buf_append_byte(&want[k], c);
                buf_append_byte(&text, c);
                if (c == '"')
                    buf_append_byte(&text, c);
            }
            if (quoted)
                buf_append_byte(&text, '"');
        }
        csv_split(&f, buf_slice(&text), ',');
        ck_assert_uint_eq(f.count, n);
        for (size_t k = 0; k < n; k++) {
            ck_assert(slice_eq(csv_field(&f, k), buf_slice(&want[k])));
            buf_close(&want[k]);
        }
        buf_close(&text);
    }
    csv_fields_close(&f);
}

END_TEST

/* --- jsonl --------------------------------------------------------------- */

/* Objects inside become dotted names, arrays stay JSON, null is nothing. */
START_TEST(test_jsonl)
{
    open_store();
    import_text(ingest_jsonl, "a",
                "{\"id\":\"k\",\"n\":1,\"o\":{\"p\":true,\"q\":{\"r\":\"s\"}},"
                "\"l\":[1,\"x\"],\"z\":null,\"big\":9007199254740993}\n"
                "\n"
                "{\"key\":7,\"f\":1.5}\n",
                NULL);
    expect_table("a", "7 data:f@0=1.5|7 data:key@0=7|"
                      "k data:big@0=9007199254740993|k data:id@0=k|"
                      "k data:l@0=[1,\"x\"]|k data:n@0=1|"
                      "k data:o.p@0=true|k data:o.q.r@0=s|");
    ck_assert_uint_eq(report.damage_count, 0);
    close_store();
}

END_TEST

/* A line that is not a JSON object, or has no key, is reported with its place.
 */
START_TEST(test_jsonl_damage)
{
    open_store();
    import_damaged_text(
        ingest_jsonl, "a",
        "{\"id\":\"a\"}\n{broken\n[1]\n{\"x\":1}\n{\"id\":\"b\"}\n");
    expect_table("a", "a data:id@0=a|b data:id@0=b|");
    ck_assert_uint_eq(report.lost_count, 3);
    ck_assert_uint_eq(report.damage[0].offset, 11);
    close_store();
}

END_TEST

/* --- access logs --------------------------------------------------------- */

static void expect_line(const char *line, const char *want)
{
    struct log_line l;
    char text[400];
    ck_assert_msg(log_line_parse(slice_str(line), &l), "%s", line);
    snprintf(text, sizeof(text), "%.*s %.*s %.*s %.*s %.*s %.*s %.*s %.*s",
             SLICE_ARG(l.vhost), SLICE_ARG(l.client), SLICE_ARG(l.user),
             SLICE_ARG(l.method), SLICE_ARG(l.path), SLICE_ARG(l.status),
             SLICE_ARG(l.bytes), SLICE_ARG(l.agent));
    ck_assert_str_eq(text, want);
}

/* Common and combined lines, with what scanners and proxies make of them. */
START_TEST(test_log_lines)
{
    struct log_line l;
#define D "[01/Jan/2024:00:00:00 +0000] "
    expect_line("1.2.3.4 - bob " D "\"GET /a HTTP/1.0\" 200 12",
                " 1.2.3.4 bob GET /a 200 12 ");
    expect_line("::1 - - " D
                "\"GET /a b HTTP/1.1\" 304 - \"-\" \"X \\\"Y\\\"\"",
                " ::1  GET /a b 304  X \\\"Y\\\"");
    expect_line("www.x.org:80 h - - " D "\"POST / HTTP/2.0\" 201 0 \"r\" \"a\"",
                "www.x.org:80 h  POST / 201 0 a");
    expect_line("1.2.3.4 - a b " D "\"GET /\" 200 1",
                " 1.2.3.4 a b GET / 200 1 ");
    expect_line("1.2.3.4 - - " D "\"-\" 408 0", " 1.2.3.4    408 0 ");
    ck_assert(!log_line_parse(slice_str(""), &l));
    ck_assert(!log_line_parse(slice_str("hello world"), &l));
    ck_assert(!log_line_parse(
        slice_str("1.2.3.4 - - [yesterday] \"GET /\" 200 1"), &l));
    ck_assert(!log_line_parse(slice_str("1.2.3.4 - - " D "\"GET / 200 1"), &l));
    ck_assert(
        !log_line_parse(slice_str("1.2.3.4 - - " D "\"GET /\" ok 1"), &l));
}

END_TEST

/* Each request has a row of its own, equal ones too, and a rerun adds none. */
START_TEST(test_log_rows)
{
    struct ingest_options o;
    const char *text = "1.2.3.4 - - " D "\"GET /\\x41 HTTP/1.1\" 200 5\n"
                       "1.2.3.4 - - " D "\"GET /\\x41 HTTP/1.1\" 200 5\n"
                       "nonsense\n# comment\n";
    char *first;
    char *second;
    size_t n = 0;
    open_store();
    ingest_options_init(&o);
    o.log_host = "www.e.com";
    import_text(ingest_access_log, "a", text, &o);
    ck_assert_uint_eq(report.row_count, 2);
    ck_assert_uint_eq(report.lost_count, 1);
    ck_assert_uint_eq(report.skipped_count, 1);
    first = dump("a");
    ck_assert_msg(
        strncmp(first, "com.e.www/2024-01-01T00:00:00Z/1.2.3.4/", 39) == 0,
        "%s", first);
    ck_assert_ptr_nonnull(strstr(first, "log:path@1704067200000000=/A|"));
    for (const char *p = first; (p = strstr(p, "log:status")) != NULL; p++)
        n++;
    ck_assert_uint_eq(n, 2);
    import_text(ingest_access_log, "a", text, &o);
    second = dump("a");
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    close_store();
}

END_TEST

/* A real log of 10,000 requests: every line makes a row. */
START_TEST(test_real_log)
{
    char *path = test_shared("data/other/logs/dev-apache_combined.log");
    struct err err = ERR_INIT;
    if (!path)
        return;
    open_store();
    ck_assert_msg(import_file(ingest_access_log, "a", path, NULL, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_ge(report.record_count, 6000);
    ck_assert_uint_eq(report.row_count, report.record_count);
    ck_assert_uint_eq(report.damage_count, 0);
    close_store();
    free(path);
}

END_TEST

/* --- gzip, times --------------------------------------------------------- */

/* A compressed file is decompressed on the way. */
START_TEST(test_packed_lines)
{
    char path[500];
    struct buf file = BUF_INIT;
    struct err err = ERR_INIT;
    FILE *f;
    snprintf(path, sizeof(path), "%s/a.csv.gz", work_dir());
    add_gzip(&file, SLICE_LIT("k,v\na,1\nb,"));
    add_gzip(&file, SLICE_LIT("2"));
    f = fopen(path, "wb");
    fwrite(file.data, 1, file.len, f);
    fclose(f);
    open_store();
    ck_assert_msg(import_file(ingest_csv, "a", path, NULL, &err) == 0, "%s",
                  err.text);
    expect_table("a", "a data:v@0=1|b data:v@0=2|");
    close_store();
    buf_close(&file);
}

END_TEST

/* Times as counts of seconds, ms, µs and ns, and as dates. */
START_TEST(test_field_times)
{
    static const char *const same[] = {
        "1704067200",
        "1704067200000",
        "1704067200000000",
        "1704067200000000000",
        "2024-01-01T00:00:00",
        "2024-01-01",
        "20240101",
        "20240101000000",
        " 1704067200.0 ",
    };
    int64_t us;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        ck_assert_msg(field_time(slice_str(same[i]), &us), "%s", same[i]);
        ck_assert_msg(us == INT64_C(1704067200000000), "%s: %lld", same[i],
                      (long long)us);
    }
    ck_assert(!field_time(slice_str(""), &us));
    ck_assert(!field_time(slice_str("soon"), &us));
    ck_assert(!field_time(slice_str("99999999999999999999999"), &us));
}

END_TEST

/* --- batches ------------------------------------------------------------- */

enum {
    BATCH_ROWS = 6000,
    PAGE_BYTES = 200 << 10
};

/* Every 23rd row is a page: in turn, each place of a batch has one. */
static size_t size_of_row(int i)
{
    return i % 23 == 0 ? PAGE_BYTES + (size_t)i : (size_t)(i % 100) + 1;
}

static size_t bytes_kept(const struct run_batch *b)
{
    size_t n = b->short_rows.bytes + b->long_rows.bytes;
    for (size_t i = 0; i < b->count; i++)
        n += b->sizes[i];
    return n;
}

static void put_rows(struct run *run, struct slice value)
{
    struct run_batch b;
    run_batch_init(&b, run);
    for (int i = 0; i < BATCH_ROWS; i++) {
        struct quarry_mutation *m;
        size_t n = size_of_row(i);
        char key[20];
        snprintf(key, sizeof(key), "%06d", i);
        ck_assert_int_eq(
            run_batch_row(&b, slice_str(key), i % 2 ? n : 0, &m, NULL), 0);
        run_batch_set(&b, m, "data", SLICE_LIT("v"), 1, slice_sub(value, 0, n));
        ck_assert_uint_le(bytes_kept(&b), 2 * RUN_BATCH_BYTES + PAGE_BYTES +
                                              BATCH_ROWS +
                                              RUN_BATCH_ROWS * 200);
    }
    ck_assert_int_eq(run_batch_flush(&b, NULL), 0);
    ck_assert_uint_eq(b.count, 0);
    ck_assert_uint_le(b.long_rows.bytes, RUN_BATCH_BYTES);
    run_batch_close(&b);
}

/* Mutations are used again, and however long rows and short ones take turns, a
 * batch keeps little more memory than it gathers; each row has its own value.
 */
START_TEST(test_batches_keep_little)
{
    const struct quarry_family_spec family = {"data", ""};
    struct run run = {.report = &report};
    struct buf value = BUF_INIT;
    open_store();
    for (int i = 0; i < PAGE_BYTES + BATCH_ROWS; i++)
        buf_append_byte(&value, (char)('a' + i % 26));
    mutex_init(&run.lock);
    ck_assert_int_eq(
        quarry_table_create(q, "batches", &family, 1, NULL, 0, NULL), 0);
    ck_assert_int_eq(quarry_table_open(q, "batches", &run.table, NULL), 0);
    put_rows(&run, buf_slice(&value));
    ck_assert_uint_eq(report.row_count, BATCH_ROWS);
    for (int i = 0; i < BATCH_ROWS; i++) {
        struct quarry_row *row = NULL;
        char key[20];
        snprintf(key, sizeof(key), "%06d", i);
        ck_assert_int_eq(
            quarry_read_row(run.table, slice_str(key), NULL, &row, NULL), 0);
        ck_assert_uint_eq(row->cell_count, 1);
        ck_assert(slice_eq(row->cells[0].value,
                           slice_sub(buf_slice(&value), 0, size_of_row(i))));
        quarry_row_free(row);
    }
    quarry_table_close(run.table);
    mutex_close(&run.lock);
    buf_close(&value);
    close_store();
}

END_TEST

TEST_MAIN("rows",
          test_csv,
          test_csv_options,
          test_csv_damage,
          test_csv_fields,
          test_jsonl,
          test_jsonl_damage,
          test_log_lines,
          test_log_rows,
          test_real_log,
          test_packed_lines,
          test_field_times,
          test_batches_keep_little)
