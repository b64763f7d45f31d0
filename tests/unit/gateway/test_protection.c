/* Deletion is refused of protected tables, their families and their instance,
 * of clusters and instances with backups, and of the last cluster. The
 * operations listed are those that exist. */
#include "tests/unit/gateway/fixture.h"

#define INSTANCES  "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define OPERATIONS "/google.longrunning.Operations/"

/* --- Helpers ------------------------------------------------------------- */

static struct slice reply_message(void)
{
    struct slice message;
    size_t at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    return message;
}

static int protect(bool on)
{
    struct buf b = BUF_INIT;
    size_t opened = pb_open(&b, 1);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (on)
        pb_put_integer(&b, 9, 1);
    pb_close(&b, opened);
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("deletion_protection"));
    pb_close(&b, opened);
    return call(TABLES "UpdateTable", &b);
}

/* Drop family g, and raise the versions of f before. */
static int drop_family(void)
{
    struct buf b = BUF_INIT;
    size_t opened;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("f"));
    pb_put_bytes(&b, 3, SLICE_LIT("\x0a\x02\x08\x09"));
    pb_close(&b, opened);
    opened = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("g"));
    pb_put_integer(&b, 4, 1);
    pb_close(&b, opened);
    return call(TABLES "ModifyColumnFamilies", &b);
}

static int drop_rows(const char *prefix)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (prefix)
        pb_put_bytes(&b, 2, slice_str(prefix));
    else
        pb_put_integer(&b, 3, 1);
    return call(TABLES "DropRowRange", &b);
}

static int create_cluster(const char *id)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, slice_str(id));
    pb_put_bytes(&b, 3, SLICE_EMPTY);
    return call(INSTANCES "CreateCluster", &b);
}

static int create_backup(void)
{
    struct buf b = BUF_INIT;
    size_t backup;
    size_t expires;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE "/clusters/c1"));
    pb_put_bytes(&b, 2, SLICE_LIT("b"));
    backup = pb_open(&b, 3);
    pb_put_bytes(&b, 2, SLICE_LIT(TABLE));
    expires = pb_open(&b, 3);
    pb_put_integer(&b, 1, (int64_t)(world_now_us(world) / 1000000) + 60);
    pb_close(&b, expires);
    pb_close(&b, backup);
    return call(TABLES "CreateBackup", &b);
}

/* --- Tests --------------------------------------------------------------- */

static void run_protected(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_table("other"), GRPC_OK);
    ck_assert_int_eq(write_cell("a", "f", "q", 1000, SLICE_LIT("1")), GRPC_OK);
    ck_assert_int_eq(write_cell("a", "g", "q", 1000, SLICE_LIT("2")), GRPC_OK);
    ck_assert_int_eq(write_cell("b", "g", "q", 1000, SLICE_LIT("3")), GRPC_OK);
    ck_assert_int_eq(protect(true), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(drop_family(), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(call_named(INSTANCES "DeleteInstance", INSTANCE),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(call_named(TABLES "GetTable", INSTANCE "/tables/other"),
                     GRPC_OK); /* Nothing was deleted before. */
    read_all();
    expect_rows("a{f:q@1000=1 g:q@1000=2}\nb{g:q@1000=3}\n");
    /* Rows are not what it protects. */
    ck_assert_int_eq(drop_rows("b"), GRPC_OK);
    read_all();
    expect_rows("a{f:q@1000=1 g:q@1000=2}\n");
    ck_assert_int_eq(drop_rows(NULL), GRPC_OK);
    close_all();
    open_all(); /* It is kept. */
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(protect(false), GRPC_OK);
    ck_assert_int_eq(drop_family(), GRPC_OK);
    ck_assert_int_eq(protect(true), GRPC_OK);
    ck_assert_int_eq(protect(false), GRPC_OK);
    ck_assert_int_eq(call_named(INSTANCES "DeleteInstance", INSTANCE), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "GetTable", TABLE), GRPC_NOT_FOUND);
    close_all();
}

START_TEST(test_protected_tables)
{
    /* A protected table, its families and its instance stay, whatever call
     * would delete them. */
    run(run_protected);
}

END_TEST

static void run_left_over(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(protect(true), GRPC_OK);
    ck_assert_int_eq(quarry_table_drop(quarry, "inst.t", NULL), 0);
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    close_all();
}

START_TEST(test_tables_dropped_behind_the_api)
{
    /* A new table does not inherit the extras of an old one of its name. */
    run(run_left_over);
}

END_TEST

static void run_clusters(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_cluster("c1"), GRPC_OK);
    ck_assert_int_eq(
        call_named(INSTANCES "DeleteCluster", INSTANCE "/clusters/c1"),
        GRPC_FAILED_PRECONDITION); /* The last one. */
    ck_assert_int_eq(create_cluster("c2"), GRPC_OK);
    ck_assert_int_eq(create_backup(), GRPC_OK);
    ck_assert_int_eq(
        call_named(INSTANCES "DeleteCluster", INSTANCE "/clusters/c1"),
        GRPC_FAILED_PRECONDITION); /* It has a backup. */
    ck_assert_int_eq(call_named(INSTANCES "DeleteInstance", INSTANCE),
                     GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(
        call_named(INSTANCES "DeleteCluster", INSTANCE "/clusters/none"),
        GRPC_NOT_FOUND);
    ck_assert_int_eq(
        call_named(INSTANCES "DeleteCluster", INSTANCE "/clusters/c2"),
        GRPC_OK);
    ck_assert_int_eq(
        call_named(TABLES "DeleteBackup", INSTANCE "/clusters/c1/backups/b"),
        GRPC_OK);
    ck_assert_int_eq(call_named(INSTANCES "DeleteInstance", INSTANCE), GRPC_OK);
    close_all();
}

START_TEST(test_clusters_and_backups)
{
    /* Backups outlive the wish to delete what holds them. */
    run(run_clusters);
}

END_TEST

static int list_filtered(const char *filter)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, slice_str(filter));
    pb_put_bytes(&b, 4, SLICE_LIT("operations"));
    return call(OPERATIONS "ListOperations", &b);
}

static void expect_filtered(const char *filter, size_t expected)
{
    struct cursor c;
    struct pb_field f;
    size_t count = 0;
    ck_assert_int_eq(list_filtered(filter), GRPC_OK);
    c = cursor_make(reply_message());
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, 1);
    ck_assert_msg(count == expected, "%s: %zu", filter, count);
}

static void expect_filters(void)
{
    expect_filtered("done = true", 3);
    expect_filtered("NOT done=true", 0);
    expect_filtered("metadata.@type:CreateCluster", 2);
    expect_filtered("response.@type = "
                    "type.googleapis.com/google.bigtable.admin.v2.Table",
                    1);
    expect_filtered("done=true AND (name:tables OR name:c1)", 2);
    ck_assert_int_eq(list_filtered("done = perhaps"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(list_filtered("state = READY"), GRPC_INVALID_ARGUMENT);
    ck_assert(strstr(buf_cstr(&reply.text), "metadata.@type"));
}

static size_t list_operations(const char *name, int64_t size, struct buf *token)
{
    struct buf b = BUF_INIT;
    struct cursor c;
    struct pb_field f;
    size_t count = 0;
    pb_put_bytes(&b, 4, slice_str(name));
    if (size)
        pb_put_integer(&b, 2, size);
    if (token->len)
        pb_put_bytes(&b, 3, buf_slice(token));
    ck_assert_int_eq(call(OPERATIONS "ListOperations", &b), GRPC_OK);
    buf_clear(token);
    buf_append_slice(token, pb_find(reply_message(), 2));
    c = cursor_make(reply_message());
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, 1);
    return count;
}

static void run_operations(void *arg)
{
    struct buf name = BUF_INIT;
    struct buf token = BUF_INIT;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(call_named(OPERATIONS "GetOperation", "operations/x"),
                     GRPC_NOT_FOUND);
    ck_assert_int_eq(call_named(OPERATIONS "GetOperation", ""), GRPC_NOT_FOUND);
    ck_assert_int_eq(protect(true), GRPC_OK);
    buf_append_slice(&name, pb_find(reply_message(), 1));
    ck_assert_int_eq(create_cluster("c1"), GRPC_OK);
    ck_assert_int_eq(create_cluster("c2"), GRPC_OK);
    ck_assert_int_eq(call_named(OPERATIONS "GetOperation", buf_cstr(&name)),
                     GRPC_OK);
    ck_assert_uint_eq(pb_find_integer(reply_message(), 3), 1);
    ck_assert(slice_eq_str(pb_find(pb_find(pb_find(reply_message(), 5), 2), 1),
                           TABLE));
    ck_assert_int_eq(call_named(OPERATIONS "WaitOperation", buf_cstr(&name)),
                     GRPC_OK);
    ck_assert_int_eq(call_named(OPERATIONS "CancelOperation", buf_cstr(&name)),
                     GRPC_OK);
    ck_assert_uint_eq(list_operations("operations", 0, &token), 3);
    ck_assert_uint_eq(list_operations("operations/" TABLE, 0, &token), 1);
    ck_assert_uint_eq(list_operations("projects/p", 0, &token), 3);
    ck_assert_uint_eq(list_operations("projects/q", 0, &token), 0);
    ck_assert_uint_eq(list_operations("operations", 2, &token), 2);
    ck_assert_uint_gt(token.len, 0);
    ck_assert_uint_eq(list_operations("operations", 2, &token), 1);
    ck_assert_uint_eq(token.len, 0);
    expect_filters();
    ck_assert_int_eq(call_named(OPERATIONS "DeleteOperation", buf_cstr(&name)),
                     GRPC_OK);
    ck_assert_int_eq(call_named(OPERATIONS "GetOperation", buf_cstr(&name)),
                     GRPC_NOT_FOUND);
    grpc_client_close(&client); /* It would be left meanwhile. */
    world_sleep_us(world, UINT64_C(25) * 3600 * 1000000);
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
    ck_assert_int_eq(protect(false), GRPC_OK);
    ck_assert_uint_eq(list_operations("operations", 0, &token), 1);
    buf_close(&name);
    buf_close(&token);
    close_all();
}

START_TEST(test_operations)
{
    /* Operations that there were are found for a day; others are not. */
    run(run_operations);
}

END_TEST

TEST_MAIN("protection",
          test_protected_tables,
          test_tables_dropped_behind_the_api,
          test_clusters_and_backups,
          test_operations)
