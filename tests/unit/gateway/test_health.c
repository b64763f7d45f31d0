/* The health service answers for the services there are, and for no other. */
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

TEST_MAIN("health", test_check, test_watch)
