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

/* --- policies ------------------------------------------------------------ */

#define DAY_S INT64_C(86400)

/* Keep automated backups of the table for @days; 0: make none. */
static int set_policy(int64_t days)
{
    struct buf b = BUF_INIT;
    size_t table = pb_open(&b, 1);
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    if (days) {
        size_t policy = pb_open(&b, 13);
        put_expiry(&b, 1, days * DAY_S);
        pb_close(&b, policy);
    }
    pb_close(&b, table);
    table = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("automated_backup_policy"));
    pb_close(&b, table);
    return call(TABLES "UpdateTable", &b);
}

/* The client connects again: an idle connection would be closed. */
static void pass_hours(uint64_t hours)
{
    grpc_client_close(&client);
    world_sleep_us(world, hours * 3600 * 1000000);
    client = (struct grpc_client){.stream = 0};
    grpc_client_open(&client, gateway_address(gateway));
}

/* The table's backups; the first is restored as the table "copy". */
static size_t count_backups(bool restores)
{
    struct slice message = SLICE_EMPTY;
    struct slice first = SLICE_EMPTY;
    struct cursor c;
    struct pb_field f;
    size_t at = 0;
    size_t count = 0;
    ck_assert_int_eq(list_backups("source_table=" TABLE), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    c = cursor_make(message);
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 1) && count++ == 0)
            first = pb_find(f.bytes, 1);
    if (restores) {
        char *name = mem_strndup(first.data, first.len);
        ck_assert_int_eq(restore(TABLES "RestoreTable", "copy", name), GRPC_OK);
        mem_free(name);
    }
    return count;
}

static void run_policy(void *arg)
{
    struct quarry_snapshots *snapshots;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(write_cell("r", "f", "q", 1000, SLICE_LIT("v")), GRPC_OK);
    ck_assert_int_eq(set_policy(2), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(set_policy(3), GRPC_OK);
    pass_hours(23);
    ck_assert_uint_eq(count_backups(false), 0);
    pass_hours(2);
    ck_assert_uint_eq(count_backups(true), 1);
    /* A server that is started again neither forgets nor repeats. */
    close_all();
    open_all();
    pass_hours(1);
    ck_assert_uint_eq(count_backups(false), 1);
    pass_hours(24);
    ck_assert_uint_eq(count_backups(false), 2);
    ck_assert_int_eq(set_policy(0), GRPC_OK);
    pass_hours(25);
    ck_assert_uint_eq(count_backups(false), 2);
    /* Nobody asks: they go all the same. */
    pass_hours(3 * 24);
    ck_assert_int_eq(quarry_snapshot_list(quarry, &snapshots, NULL), 0);
    ck_assert_uint_eq(snapshots->count, 0);
    quarry_snapshots_free(snapshots);
    close_all();
}

START_TEST(test_policy)
{
    /* A table with a policy is backed up once a day, also by a server that
     * restarts, and each backup goes when its time is over. */
    run(run_policy);
}

END_TEST

/* --- hot backups --------------------------------------------------------- */

static int create_hot(const char *id, int64_t type, int64_t standard_s)
{
    struct buf b = BUF_INIT;
    size_t backup;
    int64_t now_s = (int64_t)(world_now_us(world) / 1000000);
    pb_put_bytes(&b, 1, SLICE_LIT(CLUSTER));
    pb_put_bytes(&b, 2, slice_str(id));
    backup = pb_open(&b, 3);
    pb_put_bytes(&b, 2, SLICE_LIT(TABLE));
    put_expiry(&b, 3, now_s + 5 * DAY_S);
    pb_put_integer(&b, 11, type);
    put_expiry(&b, 12, now_s + standard_s);
    pb_close(&b, backup);
    return call(TABLES "CreateBackup", &b);
}

static uint64_t type_of(const char *name)
{
    struct slice message;
    size_t at = 0;
    ck_assert_int_eq(call_named(TABLES "GetBackup", name), GRPC_OK);
    ck_assert(grpc_reply_next(&reply, &at, &message));
    ck_assert(pb_has_field(message, 12));
    return pb_find_integer(message, 11);
}

static void run_hot(void *arg)
{
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    ck_assert_int_eq(create_hot("b", 1, DAY_S), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_hot("b", 2, 3600), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create_hot("b", 2, DAY_S), GRPC_OK);
    ck_assert_uint_eq(type_of(CLUSTER "/backups/b"), 2);
    pass_hours(25);
    ck_assert_uint_eq(type_of(CLUSTER "/backups/b"), 1);
    close_all();
}

START_TEST(test_hot)
{
    /* A hot backup is a standard one from the time on that it has. */
    run(run_hot);
}

END_TEST

TEST_MAIN("backup", test_backups, test_policy, test_hot)
