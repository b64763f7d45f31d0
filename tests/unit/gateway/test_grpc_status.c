/* Codes, timeouts and details of a status, as they are in headers. */
#include "tests/unit/gateway/grpc_fixture.h"

START_TEST(test_status_texts)
{
    /* Timeouts are read as the protocol has them; nothing overflows. */
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"20S", 20000000000},
                {"5M", 300000000000},
                {"20100m", 20100000000},
                {"7u", 7000},
                {"1n", 1},
                {"0S", 0},
                {"2H", 7200000000000}};

    static const char *const bad[] = {"",    "S",          "5",  "5s",
                                      "-1S", "123456789S", "1 S"};
    uint64_t ns;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        ck_assert(grpc_parse_timeout(slice_str(good[i].text), &ns));
        ck_assert_uint_eq(ns, good[i].ns);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!grpc_parse_timeout(slice_str(bad[i]), &ns), "%s",
                      bad[i]);
    ck_assert(grpc_parse_timeout(SLICE_LIT("99999999H"), &ns));
    ck_assert_uint_gt(ns, UINT64_C(1) << 60);
    for (int rc = 0; rc >= ERR_ABORTED; rc--)
        ck_assert_int_eq(grpc_code_of(rc) == GRPC_OK, rc == 0);
}

END_TEST

static void run_details(void *arg)
{
    static const char details[] =
        "CAgSGnRvbyBmYXN0OyBhZ2FpbiBpbiAxNTAwIG1zGjYKKHR5cGUuZ29vZ2xl"
        "YXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SCgoICAEQgMq17gE";
    struct grpc_client c = {.stream = 0};
    struct grpc_reply r;
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/fast", SLICE_EMPTY, &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_str_eq(r.details, details);
    ck_assert_str_eq(r.timing, "gfet4t7; dur=1");
    grpc_reply_close(&r);
    ck_assert_int_eq(grpc_client_call(&c, "/t/full", SLICE_EMPTY, &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_str_eq(r.details, "");
    grpc_reply_close(&r);
    ck_assert_int_eq(grpc_client_call(&c, "/t/some", SLICE_EMPTY, &r), 0);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert_str_eq(r.timing, "gfet4t7; dur=26");
    grpc_reply_close(&r);
    grpc_client_close(&c);
    grpc_server_close(server);
}

/* A call over a rate is told when to retry, as clients of the API read it; a
 * call over another limit is not. Every reply says how long it took. */
START_TEST(test_details)
{
    run(run_details);
}

END_TEST

TEST_MAIN("grpc status", test_status_texts, test_details)
