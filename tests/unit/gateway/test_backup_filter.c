/* Filters of backups, as the API has them. Pure. */
#include "base/core/buf.h"
#include "base/core/pb.h"
#include "bigtable/gateway/backup_filter.h"
#include "bigtable/gateway/backup_order.h"
#include "tests/lib/check_main.h"

static struct buf backup;

/* "2026-03-01T00:00:00Z" */
#define MARCH_S 1772323200

static void make_backup(void)
{
    size_t at;
    buf_clear(&backup);
    pb_put_bytes(&backup, 1,
                 SLICE_LIT("projects/p/instances/i/clusters/c/backups/"
                           "Nightly-1"));
    pb_put_bytes(&backup, 2, SLICE_LIT("projects/p/instances/i/tables/web"));
    at = pb_open(&backup, 4);
    pb_put_integer(&backup, 1, MARCH_S);
    pb_close(&backup, at);
    pb_put_integer(&backup, 6, 4096);
    pb_put_integer(&backup, 7, 2);
}

static void expect(const char *filter, bool wanted)
{
    struct err err = ERR_INIT;
    bool fits = !wanted;
    int rc =
        backup_filter_fits(slice_str(filter), buf_slice(&backup), &fits, &err);
    ck_assert_msg(rc == 0, "%s: %s", filter, err.text);
    ck_assert_msg(fits == wanted, "%s", filter);
}

START_TEST(test_comparisons)
{
    make_backup();
    expect("", true);
    expect("  ", true);
    expect("name:nightly", true);
    expect("name:weekly", false);
    expect("source_table:projects/p/instances/i/tables/web", true);
    expect("source_table:\"projects/p/instances/i/tables/web\"", true);
    expect("source_table:projects/p/instances/i/tables/web2", false);
    expect("source_table = web", false);
    expect("source_table!=web", true);
    expect("STATE:ready", true);
    expect("state=CREATING", false);
    expect("size_bytes > 4095", true);
    expect("size_bytes>=4096", true);
    expect("size_bytes < 4096", false);
    expect("size_bytes <= 4096", true);
    expect("start_time < \"2026-03-01T00:00:01Z\"", true);
    expect("start_time < 2026-03-01T00:00:00Z", false);
    expect("start_time = 2026-03-01T00:00:00Z", true);
    buf_close(&backup);
}

END_TEST

START_TEST(test_expressions)
{
    /* Both AND and nothing join; AND binds before OR. */
    make_backup();
    expect("(name:nightly) AND (state:READY)", true);
    expect("(name:nightly) (state:CREATING)", false);
    expect("name:nightly state:READY size_bytes:4096", true);
    expect("NOT name:weekly", true);
    expect("not (name:nightly or name:weekly)", false);
    expect("name:weekly AND state:READY OR size_bytes:4096", true);
    expect("name:weekly AND (state:READY OR size_bytes:4096)", false);
    expect("((((name:nightly))))", true);
    buf_close(&backup);
}

END_TEST

START_TEST(test_malformed)
{
    /* Refused whatever the backup is, and without deep recursion. */
    static const char *const bad[] = {
        "name",         "name:",         "owner:me",   "(name:x",
        "name:x)",      "name:\"x",      "state:GONE", "size_bytes:many",
        "start_time:1", "name:x AND",    "NOT",        "name ~ x",
        "()",           "size_bytes:-1", "AND name:x",
    };
    struct buf deep = BUF_INIT;
    bool fits;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(backup_filter_fits(slice_str(bad[i]), SLICE_EMPTY, &fits,
                                         NULL) == ERR_INVALID,
                      "%s", bad[i]);
    buf_append_fill(&deep, '(', 100000);
    ck_assert_int_eq(
        backup_filter_fits(buf_slice(&deep), SLICE_EMPTY, &fits, NULL),
        ERR_INVALID);
    buf_close(&deep);
}

END_TEST

/* A backup that began at second @start, of @bytes bytes. */
static void put_backup(struct buf *b, const char *name, int start, int bytes)
{
    size_t at;
    pb_put_bytes(b, 1, slice_str(name));
    at = pb_open(b, 4);
    pb_put_integer(b, 1, start);
    pb_close(b, at);
    pb_put_integer(b, 6, bytes);
}

static void expect_order(const char *order_by, int wanted)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct backup_order o;
    struct err err = ERR_INIT;
    int c;
    put_backup(&a, "Alpha", 5, 100);
    put_backup(&b, "beta", 9, 100);
    ck_assert_msg(backup_order_parse(slice_str(order_by), &o, &err) == 0, "%s",
                  err.text);
    c = backup_order_compare(&o, buf_slice(&a), buf_slice(&b));
    ck_assert_msg((c > 0) - (c < 0) == wanted, "%s: %d", order_by, c);
    c = backup_order_compare(&o, buf_slice(&b), buf_slice(&a));
    ck_assert_msg((c > 0) - (c < 0) == -wanted, "%s: %d", order_by, c);
    ck_assert_int_eq(backup_order_compare(&o, buf_slice(&a), buf_slice(&a)), 0);
    buf_close(&a);
    buf_close(&b);
}

START_TEST(test_order)
{
    static const char *const bad[] = {
        "owner", "name,",         ",name", "name up", "name desc desc",
        "name;", "name asc desc", ",",     "desc",    "start_time descending",
    };
    struct backup_order o;
    struct err err = ERR_INIT;
    expect_order("", 1); /* The newest first. */
    expect_order("  ", 1);
    expect_order("start_time", -1);
    expect_order("Start_Time ASC", -1);
    expect_order("start_time desc", 1);
    expect_order("name", -1);
    expect_order("name  desc", 1);
    expect_order("size_bytes desc", -1); /* Then by name. */
    expect_order("size_bytes,start_time desc", 1);
    expect_order("state , size_bytes desc , name desc", 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(backup_order_parse(slice_str(bad[i]), &o, &err) ==
                          ERR_INVALID,
                      "%s", bad[i]);
}

END_TEST

/* More keys than there is room for are refused. */
START_TEST(test_order_is_bounded)
{
    struct buf text = BUF_INIT;
    struct backup_order o;
    for (int i = 0; i < BACKUP_ORDER_KEYS_MAX; i++)
        buf_append_slice(&text, i ? SLICE_LIT(",name") : SLICE_LIT("name"));
    ck_assert_int_eq(backup_order_parse(buf_slice(&text), &o, NULL), 0);
    buf_append_slice(&text, SLICE_LIT(",name"));
    ck_assert_int_eq(backup_order_parse(buf_slice(&text), &o, NULL),
                     ERR_INVALID);
    buf_close(&text);
}

END_TEST

TEST_MAIN("backup filter",
          test_comparisons,
          test_expressions,
          test_malformed,
          test_order,
          test_order_is_bounded)
