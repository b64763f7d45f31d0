/* Backups through the public API. */
#include "tests/unit/gateway/fixture.h"

#define CLUSTER INSTANCE "/clusters/c"

static void put_expiry(struct buf *b, unsigned number, int64_t seconds)
{
    size_t opened = pb_open(b, number);
    pb_put_integer(b, 1, seconds);
    pb_close(b, opened);
}

static int create_backup(const char *id, int64_t expires_s)
{
    struct buf b = BUF_INIT;
    size_t backup;
    pb_put_bytes(&b, 1, SLICE_LIT(CLUSTER));
    pb_put_bytes(&b, 2, slice_str(id));
    backup = pb_open(&b, 3);
    pb_put_bytes(&b, 2, SLICE_LIT(TABLE));
    put_expiry(&b, 3, expires_s);
    pb_close(&b, backup);
    return call(TABLES "CreateBackup", &b);
}

static int restore(const char *method, const char *table, const char *from)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE));
    pb_put_bytes(&b, 2, slice_str(table));
    pb_put_bytes(&b, 3, slice_str(from));
    return call(method, &b);
}

static int copy_backup(const char *id, const char *from, int64_t expires_s)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(CLUSTER));
    pb_put_bytes(&b, 2, slice_str(id));
    pb_put_bytes(&b, 3, slice_str(from));
    put_expiry(&b, 4, expires_s);
    return call(TABLES "CopyBackup", &b);
}

/* The reply is a list of one resource with this name. */
static void expect_one(const char *name)
{
    struct slice message;
    size_t at = 0;
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert(slice_eq_str(pb_find(pb_find(message, 1), 1), name));
}

static int list_ordered(const char *filter, const char *order_by)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(INSTANCE "/clusters/-"));
    pb_put_bytes(&b, 2, slice_str(filter));
    pb_put_bytes(&b, 3, slice_str(order_by));
    return call(TABLES "ListBackups", &b);
}

static int list_backups(const char *filter)
{
    return list_ordered(filter, "");
}

/* ListBackups with @order_by names b1 and b2 in the order @wanted. */
static void expect_order(const char *order_by, const char *wanted)
{
    struct buf names = BUF_INIT;
    struct slice message = SLICE_EMPTY;
    struct cursor c;
    struct pb_field field;
    size_t at = 0;
    ck_assert_int_eq(list_ordered("", order_by), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    c = cursor_make(message);
    while (pb_next(&c, &field)) {
        struct slice name = pb_find(field.bytes, 1);
        buf_append_slice(&names, slice_sub(name, name.len - 2, name.len));
    }
    ck_assert_str_eq(buf_cstr(&names), wanted);
    buf_close(&names);
}

static void run_backups(void *arg)
{
    int64_t now_s = (int64_t)(world_now_us(world) / 1000000);
    struct buf b;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(write_cell("r", "f", "q", 1000, SLICE_LIT("v")), GRPC_OK);
    ck_assert_int_eq(create_backup("b1", now_s - 5), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_backup("b1", now_s + 3600), GRPC_OK);
    ck_assert_int_eq(create_backup("b1", now_s + 3600), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(create_backup("a/b", now_s + 3600), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(call_named(TABLES "GetBackup", CLUSTER "/backups/b1"),
                     GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "GetBackup", CLUSTER "/backups/b9"),
                     GRPC_NOT_FOUND);
    ck_assert_int_eq(call_named(TABLES "DeleteTable", TABLE), GRPC_OK);
    ck_assert_int_eq(restore(TABLES "RestoreTable", "t", CLUSTER "/backups/b1"),
                     GRPC_OK);
    ck_assert_int_eq(restore(TABLES "RestoreTable", "t", CLUSTER "/backups/b1"),
                     GRPC_ALREADY_EXISTS);
    b = read_request();
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
    expect_rows("r{f:q@1000=v}\n");
    world_sleep_us(world, 1000000);
    ck_assert_int_eq(copy_backup("b2", CLUSTER "/backups/b1", now_s + 60),
                     GRPC_OK);
    expect_order("", "b2b1"); /* The newest first. */
    expect_order("start_time", "b1b2");
    expect_order("expire_time", "b2b1");
    expect_order(" state desc , name desc", "b2b1");
    ck_assert_int_eq(list_ordered("", "owner"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(call_named(TABLES "DeleteBackup", CLUSTER "/backups/b1"),
                     GRPC_OK);
    ck_assert_int_eq(call_named(TABLES "DeleteBackup", CLUSTER "/backups/b1"),
                     GRPC_NOT_FOUND);
    ck_assert_int_eq(call_named(TABLES "ListBackups", INSTANCE "/clusters/-"),
                     GRPC_OK);
    expect_one(CLUSTER "/backups/b2");
    ck_assert_int_eq(list_backups("name:b2 AND source_table:" TABLE), GRPC_OK);
    expect_one(CLUSTER "/backups/b2");
    ck_assert_int_eq(list_backups("name:b1"), GRPC_OK);
    ck_assert_uint_eq(reply.data.len, 5); /* An empty message. */
    ck_assert_int_eq(list_backups("owner:me"), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(restore(TABLES "RestoreTable", "u", CLUSTER "/backups/b2"),
                     GRPC_OK);
    world_sleep_us(world, UINT64_C(61000000));
    ck_assert_int_eq(call_named(TABLES "GetBackup", CLUSTER "/backups/b2"),
                     GRPC_NOT_FOUND);
    close_all();
}

START_TEST(test_backups)
{
    /* A backup and its copies can be restored until they expire. */
    run(run_backups);
}

END_TEST

TEST_MAIN("backup", test_backups)
