/* A call's body in the audit log: its values as JSON, and the first text. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/rpc/call_audit.h"
#include "base/rpc/codec.h"
#include "tests/lib/check_main.h"

static void expect(const struct buf *body, const char *on, const char *json)
{
    struct buf out = BUF_INIT;
    struct slice found;
    call_audit_values(buf_slice(body), &found, &out);
    ck_assert_str_eq(buf_cstr(&out), json);
    ck_assert(slice_eq_str(found, on));
    buf_close(&out);
}

/* Lists are told as if their values were the message's. */
START_TEST(test_values)
{
    struct buf b = BUF_INIT;
    codec_put_array(&b, 4);
    codec_put_u64(&b, 7);
    codec_put_str(&b, SLICE_LIT(""));
    codec_put_array(&b, 2);
    codec_put_str(&b, SLICE_LIT("web\"table"));
    codec_put_bool(&b, true);
    codec_put_str(&b, SLICE_LIT("other"));
    expect(&b, "web\"table", "[7,\"\",\"web\\\"table\",true,\"other\"]");
    buf_close(&b);
}

END_TEST

/* Long values are cut. */
START_TEST(test_long)
{
    struct buf b = BUF_INIT;
    struct buf out = BUF_INIT;
    struct slice on;
    codec_put_array(&b, 100);
    for (int i = 0; i < 100; i++)
        codec_put_u64(&b, 1);
    expect(&b, "", "[1,1,1,1,1,1,1,1,1,1,1,1,\"...\"]");
    buf_clear(&b);
    buf_append_fill(&out, 'x', 5000);
    codec_put_array(&b, 1);
    codec_put_str(&b, buf_slice(&out));
    buf_clear(&out);
    call_audit_values(buf_slice(&b), &on, &out);
    ck_assert_uint_lt(out.len, 200);
    buf_close(&b);
    buf_close(&out);
}

END_TEST

/* Whatever bytes an unauthenticated peer sends, the line ends. */
START_TEST(test_junk)
{
    struct rand_gen r;
    rand_init(&r, 3);
    for (int i = 0; i < 20000; i++) {
        char bytes[64];
        struct buf out = BUF_INIT;
        struct slice on;
        size_t len = rand_below(&r, sizeof(bytes));
        for (size_t j = 0; j < len; j++)
            bytes[j] = (char)rand_u64(&r);
        call_audit_values(slice_make(bytes, len), &on, &out);
        ck_assert_int_eq(out.data[0], '[');
        ck_assert_int_eq(out.data[out.len - 1], ']');
        ck_assert_uint_lt(out.len, 12 * 700);
        buf_close(&out);
    }
}

END_TEST

TEST_MAIN("call_audit", test_values, test_long, test_junk)
