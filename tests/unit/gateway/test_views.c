/* Views in the admin API are made, changed and deleted as the service does it;
 * through an authorized view a client reads and changes what it has, and
 * nothing else. */
#include "tests/unit/gateway/fixture.h"

#define INSTANCES "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define VIEW      TABLE "/authorizedViews/v"

/* --- Helpers ------------------------------------------------------------- */

/* Rows "a…" and "m…"; of f the qualifier "q" and the prefix "p", all of g. */
static void put_subset(struct buf *b)
{
    size_t subset = pb_open(b, 2);
    size_t entry;
    size_t value;
    pb_put_bytes(b, 1, SLICE_LIT("a"));
    pb_put_bytes(b, 1, SLICE_LIT("m"));
    entry = pb_open(b, 2);
    pb_put_bytes(b, 1, SLICE_LIT("f"));
    value = pb_open(b, 2);
    pb_put_bytes(b, 1, SLICE_LIT("q"));
    pb_put_bytes(b, 1, SLICE_LIT("q"));
    pb_put_bytes(b, 1, SLICE_LIT("px"));
    pb_put_bytes(b, 2, SLICE_LIT("p"));
    pb_put_bytes(b, 2, SLICE_LIT("pp"));
    pb_put_bytes(b, 2, SLICE_LIT("p"));
    pb_close(b, value);
    pb_close(b, entry);
    entry = pb_open(b, 2);
    pb_put_bytes(b, 1, SLICE_LIT("g"));
    value = pb_open(b, 2);
    pb_put_bytes(b, 2, SLICE_EMPTY);
    pb_close(b, value);
    pb_close(b, entry);
    pb_close(b, subset);
}

static int create_view(const char *id, bool protect)
{
    struct buf b = BUF_INIT;
    size_t view;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_bytes(&b, 2, slice_str(id));
    view = pb_open(&b, 3);
    put_subset(&b);
    if (protect)
        pb_put_integer(&b, 4, 1);
    pb_close(&b, view);
    return call(TABLES "CreateAuthorizedView", &b);
}

static struct slice only_message(void)
{
    struct slice message;
    size_t at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    return message;
}

static int get_view(const char *name, int64_t shown)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(name));
    pb_put_integer(&b, 2, shown);
    return call(TABLES "GetAuthorizedView", &b);
}

/* --- the admin API ------------------------------------------------------- */

static int update_protection(int64_t on, struct slice etag)
{
    struct buf b = BUF_INIT;
    size_t part = pb_open(&b, 1);
    pb_put_bytes(&b, 1, SLICE_LIT(VIEW));
    pb_put_bytes(&b, 3, etag);
    pb_put_integer(&b, 4, on);
    pb_close(&b, part);
    part = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("deletion_protection"));
    pb_close(&b, part);
    return call(TABLES "UpdateAuthorizedView", &b);
}

static int delete_view(struct slice etag)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(VIEW));
    pb_put_bytes(&b, 2, etag);
    return call(TABLES "DeleteAuthorizedView", &b);
}

static size_t list_views(int64_t size, const char *token, struct buf *next)
{
    struct buf b = BUF_INIT;
    struct cursor c;
    struct pb_field f;
    size_t count = 0;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    pb_put_integer(&b, 2, size);
    pb_put_bytes(&b, 3, slice_str(token));
    ck_assert_int_eq(call(TABLES "ListAuthorizedViews", &b), GRPC_OK);
    c = cursor_make(only_message());
    buf_clear(next);
    while (pb_next(&c, &f)) {
        count += f.number == 1;
        if (pb_is_bytes(&f, 2))
            buf_append_slice(next, f.bytes);
    }
    return count;
}

static void run_admin(void *arg)
{
    struct buf etag = BUF_INIT;
    struct buf next = BUF_INIT;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_view("v", false), GRPC_NOT_FOUND); /* No table. */
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_view("v", true), GRPC_OK);
    ck_assert_int_eq(create_view("v", true), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(create_view("-", true), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(get_view(TABLE "/authorizedViews/no", 3), GRPC_NOT_FOUND);
    ck_assert_int_eq(get_view(VIEW, 1), GRPC_OK);
    ck_assert(slice_eq(pb_find(only_message(), 1), SLICE_LIT(VIEW)));
    ck_assert(!pb_has_field(only_message(), 3));
    ck_assert_int_eq(get_view(VIEW, 2), GRPC_OK);
    ck_assert(!pb_has_field(only_message(), 2));
    ck_assert_uint_eq(pb_find_integer(only_message(), 4), 1);
    ck_assert_int_eq(get_view(VIEW, 0), GRPC_OK); /* All of it. */
    ck_assert(pb_has_field(only_message(), 2));
    buf_append_slice(&etag, pb_find(only_message(), 3));
    ck_assert_int_eq(delete_view(SLICE_EMPTY), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(update_protection(0, SLICE_LIT("old")), GRPC_ABORTED);
    ck_assert_int_eq(update_protection(0, buf_slice(&etag)), GRPC_OK);
    ck_assert_int_eq(delete_view(buf_slice(&etag)), GRPC_ABORTED);
    ck_assert_int_eq(create_view("w", false), GRPC_OK);
    ck_assert_int_eq(create_view("x", false), GRPC_OK);
    ck_assert_uint_eq(list_views(0, "", &next), 3);
    ck_assert_uint_eq(list_views(2, "", &next), 2);
    ck_assert_uint_eq(list_views(2, buf_cstr(&next), &next), 1);
    ck_assert_uint_eq(next.len, 0);
    ck_assert_int_eq(delete_view(SLICE_EMPTY), GRPC_OK);
    ck_assert_int_eq(get_view(VIEW, 3), GRPC_NOT_FOUND);
    /* Views go with their table. */
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_uint_eq(list_views(0, "", &next), 0);
    buf_close(&etag);
    buf_close(&next);
    close_all();
}

START_TEST(test_admin_of_authorized_views)
{
    run(run_admin);
}

END_TEST

static int create_named(const char *path,
                        const char *parent,
                        const char *id,
                        const char *text)
{
    struct buf b = BUF_INIT;
    size_t part;
    pb_put_bytes(&b, 1, slice_str(parent));
    pb_put_bytes(&b, 2, slice_str(id));
    part = pb_open(&b, 3);
    pb_put_bytes(&b, 2, slice_str(text));
    pb_close(&b, part);
    return call(path, &b);
}

static int update_query(const char *path, const char *name)
{
    struct buf b = BUF_INIT;
    size_t part = pb_open(&b, 1);
    pb_put_bytes(&b, 1, slice_str(name));
    pb_put_bytes(&b, 2, SLICE_LIT("SELECT 2"));
    pb_close(&b, part);
    part = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("query"));
    pb_close(&b, part);
    return call(path, &b);
}

static void run_others(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(
        create_named(INSTANCES "CreateLogicalView", INSTANCE, "l", "SELECT 1"),
        GRPC_OK);
    ck_assert_int_eq(
        create_named(INSTANCES "CreateLogicalView", INSTANCE, "m", ""),
        GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(
        update_query(INSTANCES "UpdateLogicalView", INSTANCE "/logicalViews/l"),
        GRPC_OK);
    ck_assert_int_eq(
        call_named(INSTANCES "GetLogicalView", INSTANCE "/logicalViews/l"),
        GRPC_OK);
    ck_assert(slice_eq(pb_find(only_message(), 2), SLICE_LIT("SELECT 2")));
    ck_assert_int_eq(create_named(INSTANCES "CreateMaterializedView", INSTANCE,
                                  "m", "SELECT 1"),
                     GRPC_OK);
    ck_assert_int_eq(update_query(INSTANCES "UpdateMaterializedView",
                                  INSTANCE "/materializedViews/m"),
                     GRPC_INVALID_ARGUMENT); /* Its query stays. */
    ck_assert_int_eq(call_named(INSTANCES "ListMaterializedViews", INSTANCE),
                     GRPC_OK);
    ck_assert(slice_eq(pb_find(pb_find(only_message(), 1), 1),
                       SLICE_LIT(INSTANCE "/materializedViews/m")));
    ck_assert_int_eq(call_named(INSTANCES "DeleteMaterializedView",
                                INSTANCE "/materializedViews/m"),
                     GRPC_OK);
    ck_assert_int_eq(
        create_named(TABLES "CreateSchemaBundle", TABLE, "b", "\x12\x01x"),
        GRPC_OK);
    ck_assert_int_eq(
        call_named(TABLES "GetSchemaBundle", TABLE "/schemaBundles/b"),
        GRPC_OK);
    ck_assert(slice_eq(pb_find(only_message(), 2), SLICE_LIT("\x12\x01x")));
    ck_assert_int_eq(
        call_named(TABLES "DeleteSchemaBundle", TABLE "/schemaBundles/b"),
        GRPC_OK);
    ck_assert_int_eq(
        call_named(TABLES "GetSchemaBundle", TABLE "/schemaBundles/b"),
        GRPC_NOT_FOUND);
    close_all();
}

/* Logical and materialized views and schema bundles are kept and given back. */
START_TEST(test_other_views)
{
    run(run_others);
}

END_TEST

/* --- the data API -------------------------------------------------------- */

static void read_view(const char *start, const char *end, const char *key)
{
    struct buf b = BUF_INIT;
    size_t rows = pb_open(&b, 2);
    if (*start || *end) {
        size_t range = pb_open(&b, 2);
        pb_put_bytes(&b, 1, slice_str(start));
        pb_put_bytes(&b, 3, slice_str(end));
        pb_close(&b, range);
    }
    if (*key)
        pb_put_bytes(&b, 1, slice_str(key));
    pb_close(&b, rows);
    pb_put_bytes(&b, 9, SLICE_LIT(VIEW));
    call(DATA "ReadRows", &b);
}

/* MutateRow through the view: SetCell, or (1) DeleteFromColumn, (2)
 * DeleteFromFamily, (3) DeleteFromRow. */
static int
change(const char *row, const char *family, const char *qualifier, int kind)
{
    struct buf b = BUF_INIT;
    size_t mutation;
    size_t part;
    pb_put_bytes(&b, 2, slice_str(row));
    if (kind == 0) {
        put_set(&b, 3, family, qualifier, 1000, SLICE_LIT("new"));
    } else {
        mutation = pb_open(&b, 3);
        part = pb_open(&b, (unsigned)kind + 1);
        if (kind < 3)
            pb_put_bytes(&b, 1, slice_str(family));
        if (kind < 2)
            pb_put_bytes(&b, 2, slice_str(qualifier));
        pb_close(&b, part);
        pb_close(&b, mutation);
    }
    pb_put_bytes(&b, 6, SLICE_LIT(VIEW));
    return call(DATA "MutateRow", &b);
}

static int increment(const char *row, const char *qualifier)
{
    struct buf b = BUF_INIT;
    size_t rule;
    pb_put_bytes(&b, 2, slice_str(row));
    rule = pb_open(&b, 3);
    pb_put_bytes(&b, 1, SLICE_LIT("f"));
    pb_put_bytes(&b, 2, slice_str(qualifier));
    pb_put_integer(&b, 4, 1);
    pb_close(&b, rule);
    pb_put_bytes(&b, 6, SLICE_LIT(VIEW));
    return call(DATA "ReadModifyWriteRow", &b);
}

static void fill(void)
{
    static const char *const keys[] = {"Z", "a", "ab", "b", "m1", "n"};
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_view("v", false), GRPC_OK);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        write_cell(keys[i], "f", "o", 1000, SLICE_LIT("1"));
        write_cell(keys[i], "f", "px", 1000, SLICE_LIT("2"));
        write_cell(keys[i], "f", "q", 1000, SLICE_LIT("3"));
        write_cell(keys[i], "f", "qq", 1000, SLICE_LIT("4"));
    }
    write_cell("ab", "g", "any", 1000, SLICE_LIT("5"));
}

/* SampleRowKeys of the view (or the table), of the rows from "aa" to "m" if
 * @range: the keys, each followed by a blank. */
static void expect_samples(bool view, bool range, const char *expected)
{
    struct buf b = BUF_INIT;
    struct buf keys = BUF_INIT;
    struct slice message;
    size_t at = 0;
    pb_put_bytes(&b, view ? 4 : 1, view ? SLICE_LIT(VIEW) : SLICE_LIT(TABLE));
    if (range) {
        size_t part = pb_open(&b, 6);
        pb_put_bytes(&b, 1, SLICE_LIT("aa"));
        pb_put_bytes(&b, 3, SLICE_LIT("m"));
        pb_close(&b, part);
    }
    ck_assert_int_eq(call(DATA "SampleRowKeys", &b), GRPC_OK);
    while (grpc_reply_next(&reply, &at, &message)) {
        buf_append_slice(&keys, pb_find(message, 1));
        buf_append_byte(&keys, ' ');
    }
    ck_assert_mem_eq(keys.data, expected, strlen(expected));
    ck_assert_uint_eq(keys.len, strlen(expected));
    buf_close(&keys);
}

static void run_samples(void *arg)
{
    (void)arg;
    open_all();
    fill();
    expect_samples(false, false, "Z  "); /* Its first row, and the end. */
    expect_samples(false, true, "m ");
    expect_samples(true, false, "n ");
    expect_samples(true, true, "b ");
    close_all();
}

/* The last sample is the end of what is sampled: the table's, that of the range
 * asked for, or of the rows that a view has. */
START_TEST(test_samples_of_ranges)
{
    run(run_samples);
}

END_TEST

static void run_data(void *arg)
{
    (void)arg;
    open_all();
    fill();
    read_view("", "", "");
    expect_rows("a{f:px@1000=2 f:q@1000=3}\n"
                "ab{f:px@1000=2 f:q@1000=3 g:any@1000=5}\n"
                "m1{f:px@1000=2 f:q@1000=3}\n");
    read_view("aa", "m", "");
    expect_rows("ab{f:px@1000=2 f:q@1000=3 g:any@1000=5}\n");
    read_view("", "", "a");
    expect_rows("a{f:px@1000=2 f:q@1000=3}\n");
    read_view("", "", "b");
    expect_rows("");
    read_view("b", "m", "");
    expect_rows("");
    /* Changes. */
    ck_assert_int_eq(change("a", "f", "q", 0), GRPC_OK);
    ck_assert_int_eq(change("b", "f", "q", 0), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(change("a", "f", "o", 0), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(change("a", "f", "px", 1), GRPC_OK);
    ck_assert_int_eq(change("a", "f", "o", 1), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(change("ab", "f", "", 2), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(change("ab", "g", "", 2), GRPC_OK);
    ck_assert_int_eq(change("ab", "", "", 3), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(increment("a", "pn"), GRPC_OK);
    ck_assert_int_eq(increment("a", "n"), GRPC_PERMISSION_DENIED);
    ck_assert_int_eq(increment("b", "pn"), GRPC_PERMISSION_DENIED);
    read_view("", "", "ab");
    expect_rows("ab{f:px@1000=2 f:q@1000=3}\n");
    close_all();
}

/* A read through a view gives what it has; a change of anything else is refused
 * and makes nothing. */
START_TEST(test_data_of_authorized_views)
{
    run(run_data);
}

END_TEST

TEST_MAIN("gateway_views",
          test_admin_of_authorized_views,
          test_other_views,
          test_data_of_authorized_views,
          test_samples_of_ranges)
