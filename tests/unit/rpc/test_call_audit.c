/* A call's body in the audit log: its values as JSON, and the first text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/rpc/call_audit.h"
#include "base/rpc/codec.h"
#include "base/rpc/rpc.h"
#include "base/runtime/audit.h"
#include "base/runtime/world.h"
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

/* The event names both who acted and on whose behalf, what was asked and why it
 * failed; without an audit log nothing is noted. */
START_TEST(test_event)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    struct audit *audit;
    struct buf body = BUF_INIT;
    char path[300];
    char line[2000];
    FILE *f;
    struct rpc_call call = {.principal = SLICE_LIT("ann"),
                            .actor = SLICE_LIT("gateway"),
                            .peer = SLICE_LIT("10.0.0.9:4711")};
    codec_put_array(&body, 1);
    codec_put_str(&body, SLICE_LIT("web"));
    call.body = buf_slice(&body);
    snprintf(path, sizeof(path), "%s/audit", test_tmpdir());
    call_audit(w, "master.nothing", &call, 0, NULL);
    ck_assert_int_eq(audit_open(w, path, "n1", &audit, &err), 0);
    world_set_audit(w, audit);
    err_set(&err, ERR_NOTFOUND, "no such table");
    call_audit(w, "master.drop_table", &call, ERR_NOTFOUND, &err);
    world_set_audit(w, NULL);
    audit_close(audit);
    f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
    ck_assert_ptr_nonnull(
        strstr(line, "\"who\":\"ann\",\"by\":\"gateway\",\"from\":"
                     "\"10.0.0.9:4711\",\"what\":\"master.drop_table\","
                     "\"on\":\"web\""));
    ck_assert_ptr_nonnull(strstr(line, "[\"web\"]"));
    ck_assert_ptr_nonnull(strstr(line, "\"why\":\"no such table\""));
    ck_assert_ptr_null(fgets(line, sizeof(line), f));
    fclose(f);
    buf_close(&body);
    world_free(w);
}

END_TEST

TEST_MAIN("call_audit", test_values, test_long, test_junk, test_event)
