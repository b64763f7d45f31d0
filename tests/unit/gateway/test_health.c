/* The health service answers for the services there are, and for no other. */
#include <stdio.h>

#include "tests/unit/gateway/fixture.h"

#define HEALTH "/grpc.health.v1.Health/"

static int check(const char *service)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(service));
    return call(HEALTH "Check", &b);
}

static void expect_serving(void)
{
    struct slice message;
    size_t at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert(slice_eq_str(message, "\x08\x01"));
}

static void run_check(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(check(""), GRPC_OK);
    expect_serving();
    ck_assert_int_eq(check("google.bigtable.v2.Bigtable"), GRPC_OK);
    expect_serving();
    ck_assert_int_eq(check("no.such.Service"), GRPC_NOT_FOUND);
    close_all();
}

START_TEST(test_check)
{
    run(run_check);
}

END_TEST

static void run_watch(void *arg)
{
    struct buf b = BUF_INIT;
    (void)arg;
    open_all();
    client.timeout = "2S";
    ck_assert_int_eq(call(HEALTH "Watch", &b), GRPC_DEADLINE_EXCEEDED);
    expect_serving();
    close_all();
}

START_TEST(test_watch)
{
    /* It says so at once, and stays. */
    run(run_watch);
}

END_TEST

/* The answer @number of reflection to the question @asked about @what. */
static struct slice
reflect(const char *version, unsigned asked, const char *what, unsigned number)
{
    struct buf b = BUF_INIT;
    struct buf path = BUF_INIT;
    struct slice message;
    size_t at = 0;
    buf_printf(&path,
               "/grpc.reflection.%s.ServerReflection/"
               "ServerReflectionInfo",
               version);
    pb_put_bytes(&b, 1, SLICE_LIT("host"));
    pb_put_bytes(&b, asked, slice_str(what));
    ck_assert_int_eq(call(buf_cstr(&path), &b), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert(slice_eq_str(pb_find(message, 1), "host"));
    buf_close(&path);
    return pb_find(message, number);
}

/* The descriptor that reflection v1 gives for a file's name (3) or a symbol
 * (4); empty: none. It is borrowed until the next call. */
static struct slice described(unsigned asked, const char *what)
{
    return pb_find(reflect("v1", asked, what, 4), 1);
}

/* Is @symbol described, and by @file? */
static void expect_described(const char *symbol, const char *file)
{
    struct slice found = described(4, symbol);
    ck_assert_msg(slice_eq_str(pb_find(found, 1), file), "%s is in %.*s",
                  symbol, SLICE_ARG(pb_find(found, 1)));
}

static void run_symbols(void *arg)
{
    static const char *const unknown[] = {
        "google.bigtable.v2",
        "google.bigtable.v2.",
        "google.bigtable.v2.Ro",
        "google.bigtable.v2.Row.nothing",
        "google.bigtable.v2.Bigtable.Nothing",
        "google.bigtable.v2.Bigtable.ReadRows.more",
        "Row",
        ".",
        "",
    };
    (void)arg;
    open_all();
    expect_described("google.bigtable.v2.Bigtable",
                     "google/bigtable/v2/bigtable.proto");
    expect_described("google.bigtable.v2.Bigtable.ReadRows",
                     "google/bigtable/v2/bigtable.proto");
    expect_described("google.bigtable.v2.ReadRowsResponse.CellChunk",
                     "google/bigtable/v2/bigtable.proto");
    expect_described("google.bigtable.v2.Row", "google/bigtable/v2/data.proto");
    expect_described("google.bigtable.v2.RowFilter.Interleave",
                     "google/bigtable/v2/data.proto");
    expect_described("google.bigtable.admin.v2.Table.TimestampGranularity",
                     "google/bigtable/admin/v2/table.proto");
    expect_described("google.bigtable.admin.v2.StorageType",
                     "google/bigtable/admin/v2/common.proto");
    expect_described("google.protobuf.Timestamp",
                     "google/protobuf/timestamp.proto");
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        ck_assert_msg(described(4, unknown[i]).len == 0, "%s", unknown[i]);
    ck_assert_uint_eq(described(3, "google/bigtable/v2/none.proto").len, 0);
    close_all();
}

START_TEST(test_symbols)
{
    /* Services, methods, messages and what lies in them; nothing that only
     * begins like one of them. */
    run(run_symbols);
}

END_TEST

/* All imports of @file are served as well, and theirs. */
static void check_imports(const char *file, unsigned depth)
{
    struct buf copy = BUF_INIT;
    struct pb_field f;
    struct cursor c;
    ck_assert_uint_lt(depth, 10);
    buf_append_slice(&copy, described(3, file));
    ck_assert_msg(copy.len > 0, "%s is not here", file);
    ck_assert(pb_is_message(buf_slice(&copy)));
    c = cursor_make(buf_slice(&copy));
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 3)) {
            char name[100];
            snprintf(name, sizeof(name), "%.*s", SLICE_ARG(f.bytes));
            check_imports(name, depth + 1);
        }
    buf_close(&copy);
}

static void run_imports(void *arg)
{
    (void)arg;
    open_all();
    check_imports("google/bigtable/v2/bigtable.proto", 0);
    check_imports("google/bigtable/admin/v2/bigtable_table_admin.proto", 0);
    check_imports("google/bigtable/admin/v2/bigtable_instance_admin.proto", 0);
    check_imports("google/longrunning/operations.proto", 0);
    check_imports("google/rpc/error_details.proto", 0);
    close_all();
}

START_TEST(test_imports)
{
    run(run_imports);
}

END_TEST

static void run_reflection(void *arg)
{
    static const char *const versions[] = {"v1", "v1alpha"};
    (void)arg;
    open_all();
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        const char *v = versions[i];
        struct cursor in = cursor_make(reflect(v, 7, "", 6));
        struct pb_field f;
        unsigned count = 0;
        while (pb_next(&in, &f)) {
            char name[100];
            snprintf(name, sizeof(name), "%.*s",
                     SLICE_ARG(pb_find(f.bytes, 1)));
            ck_assert_int_eq(check(name), GRPC_OK);
            in = cursor_make(reflect(v, 7, "", 6)); /* The reply went. */
            for (unsigned k = 0; k <= count; k++)
                ck_assert(pb_next(&in, &f));
            count++;
        }
        ck_assert_uint_eq(count, 7);
        ck_assert_uint_gt(reflect(v, 4, "grpc.health.v1.Health", 4).len, 100);
        ck_assert_uint_gt(reflect(v, 3, "grpc/health/v1/health.proto", 4).len,
                          100);
        ck_assert_uint_eq(pb_find_integer(reflect(v, 4, "no.Thing", 7), 1),
                          GRPC_NOT_FOUND);
        ck_assert_uint_eq(pb_find_integer(reflect(v, 6, "x", 7), 1),
                          GRPC_NOT_FOUND);
        ck_assert_uint_eq(pb_find_integer(reflect(v, 9, "x", 7), 1),
                          GRPC_UNIMPLEMENTED);
    }
    close_all();
}

/* Reflection names the services that there are, all of them healthy, and
 * describes what it can. */
START_TEST(test_reflection)
{
    run(run_reflection);
}

END_TEST

TEST_MAIN("health",
          test_check,
          test_watch,
          test_reflection,
          test_symbols,
          test_imports)
