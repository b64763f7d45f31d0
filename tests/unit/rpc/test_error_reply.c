/* Errors travel with code, detail and sentence, between versions too. */
#include <string.h>

#include "base/rpc/codec.h"
#include "base/rpc/error_reply.h"
#include "tests/lib/check_main.h"

static struct err travelled(const struct err *e)
{
    struct buf body = BUF_INIT;
    struct err got = ERR_INIT;
    error_reply_put(e, e->code, &body);
    ck_assert_int_eq(error_reply_get(buf_slice(&body), e->code, &got), e->code);
    buf_close(&body);
    return got;
}

/* The reader of an answer gets everything that its writer put in. */
START_TEST(test_round_trip)
{
    struct err e = ERR_INIT;
    struct err got;
    err_set(&e, ERR_UNAVAILABLE, "not the leader");
    err_hint(&e, "wait");
    got = travelled(&e);
    ck_assert_int_eq(got.detail, ERR_DETAIL_NONE);
    err_set_detail(&e, ERR_DETAIL_NOT_LEADER, "host:7201");
    got = travelled(&e);
    ck_assert_int_eq(got.detail, ERR_DETAIL_NOT_LEADER);
    ck_assert_str_eq(got.subject, "host:7201");
    ck_assert_str_eq(got.text, "not the leader");
    ck_assert_str_eq(got.hint, "wait");
    err_set(&e, ERR_EXHAUSTED, "over its rate");
    err_set_retry(&e, 120000);
    got = travelled(&e);
    ck_assert_int_eq(got.detail, ERR_DETAIL_RATE);
    ck_assert_uint_eq(got.retry_us, 120000);
}

END_TEST

/* Details of a handler's own connections are not sent to the caller. */
START_TEST(test_connections_stay_at_home)
{
    static const enum err_detail details[] = {
        ERR_DETAIL_REFUSED, ERR_DETAIL_OTHER_PROTOCOL, ERR_DETAIL_HUNG_UP};

    for (size_t i = 0; i < ARRAY_LEN(details); i++) {
        struct err e = ERR_INIT;
        struct buf body = BUF_INIT;
        err_set(&e, ERR_UNAVAILABLE, "connect to host:1: refused");
        err_set_detail(&e, details[i], "");
        ck_assert_int_eq(travelled(&e).detail, ERR_DETAIL_NONE);
        /* Nor is it believed of a server that says so. */
        codec_put_array(&body, 5);
        codec_put_str(&body, SLICE_LIT("no"));
        codec_put_str(&body, SLICE_EMPTY);
        codec_put_u64(&body, details[i]);
        codec_put_u64(&body, 0);
        codec_put_str(&body, SLICE_EMPTY);
        ck_assert_int_eq(error_reply_get(buf_slice(&body), ERR_IO, &e), ERR_IO);
        ck_assert_int_eq(e.detail, ERR_DETAIL_NONE);
        buf_close(&body);
    }
}

END_TEST

/* An older program writes two fields; it reads the first two of more. A newer
 * one has details and fields that are not known here. */
START_TEST(test_other_versions)
{
    struct buf body = BUF_INIT;
    struct err e = ERR_INIT;
    struct codec_reader r;
    codec_put_array(&body, 2);
    codec_put_str(&body, SLICE_LIT("gone"));
    codec_put_str(&body, SLICE_LIT("look"));
    ck_assert_int_eq(error_reply_get(buf_slice(&body), ERR_NOTFOUND, &e),
                     ERR_NOTFOUND);
    ck_assert_str_eq(e.text, "gone");
    ck_assert_str_eq(e.hint, "look");
    ck_assert_int_eq(e.detail, ERR_DETAIL_NONE);
    buf_clear(&body);
    codec_put_array(&body, 7);
    codec_put_str(&body, SLICE_LIT("new"));
    codec_put_str(&body, SLICE_EMPTY);
    codec_put_u64(&body, 4000);
    codec_put_u64(&body, 1);
    codec_put_str(&body, SLICE_LIT("x"));
    codec_put_nil(&body);
    codec_put_u64(&body, 9);
    ck_assert_int_eq(error_reply_get(buf_slice(&body), ERR_BUSY, &e), ERR_BUSY);
    ck_assert_str_eq(e.text, "new");
    ck_assert_int_eq(e.detail, ERR_DETAIL_NONE);
    err_set(&e, ERR_NOTFOUND, "tablet not here");
    err_set_detail(&e, ERR_DETAIL_ELSEWHERE, "");
    error_reply_put(&e, e.code, &body);
    r = codec_reader_make(buf_slice(&body));
    ck_assert_uint_ge(codec_get_array(&r), 2);
    ck_assert(slice_eq_str(codec_get_bytes(&r), "tablet not here"));
    ck_assert_uint_eq(codec_get_bytes(&r).len, 0);
    buf_close(&body);
}

END_TEST

/* Nobody is made to wait for long, and what is cut is malformed. */
START_TEST(test_hostile)
{
    struct buf body = BUF_INIT;
    struct err e = ERR_INIT;
    static char huge[2 * ERR_SUBJECT_BYTES];
    memset(huge, 'x', sizeof(huge));
    codec_put_array(&body, 5);
    codec_put_str(&body, SLICE_LIT("wait"));
    codec_put_str(&body, SLICE_EMPTY);
    codec_put_u64(&body, ERR_DETAIL_RATE);
    codec_put_u64(&body, UINT64_MAX);
    codec_put_str(&body, slice_make(huge, sizeof(huge)));
    ck_assert_int_eq(error_reply_get(buf_slice(&body), ERR_EXHAUSTED, &e),
                     ERR_EXHAUSTED);
    ck_assert_uint_eq(e.retry_us, ERR_RETRY_US_MAX);
    ck_assert_str_eq(e.subject, "");
    for (size_t n = 0; n < body.len; n++)
        ck_assert_int_eq(
            error_reply_get(slice_make(body.data, n), ERR_BUSY, &e),
            ERR_CORRUPT);
    buf_close(&body);
}

END_TEST

TEST_MAIN("error_reply",
          test_round_trip,
          test_connections_stay_at_home,
          test_other_versions,
          test_hostile)
