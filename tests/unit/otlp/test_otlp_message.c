/* A span is written as OpenTelemetry's protocol has it, byte by byte, and texts
 * that are not UTF-8 do not spoil a request. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/pb.h"
#include "base/otlp/otlp_message.h"
#include "base/otlp/otlp_settings.h"
#include "base/trace/span_record.h"
#include "tests/lib/check_main.h"

static struct slice request_span(const struct span_record *r, struct buf *out)
{
    static char name[] = "service.name";
    static char value[] = "x";
    static const struct otlp_pair resource = {name, value};
    struct buf fields = BUF_INIT;
    struct slice all;
    otlp_message_add(&fields, r);
    otlp_message_put(out, &resource, 1, buf_slice(&fields));
    buf_close(&fields);
    all = pb_find(buf_slice(out), 1);
    ck_assert(pb_is_message(all));
    ck_assert(slice_eq_str(pb_find(pb_find(pb_find(all, 1), 1), 1), name));
    return pb_find(pb_find(all, 2), 2);
}

static const struct span_record record = {
    .trace = {UINT64_C(0x0102030405060708), UINT64_C(0x090a0b0c0d0e0f10)},
    .id = 0x11,
    .parent = 0x12,
    .kind = SPAN_SERVER,
    .flags = SPAN_SAMPLED,
    .status = -1,
    .start_us = 1000001,
    .duration_us = 500,
    .name = {"tablet.read", 11},
    .peer = {"a:1", 3},
    .attribute_count = 3,
    .attributes = {{"rows", 4, false, -3, {NULL, 0}},
                   {"table", 5, true, 0, {"\xff?", 2}},
                   {"tracestate", 10, true, 0, {"v=1", 3}}}};

static uint64_t fixed(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (f.number == number)
            return f.integer;
    return 0;
}

/* Ids big-endian, times in nanoseconds, OpenTelemetry's kinds and flags. */
START_TEST(test_fields)
{
    struct buf out = BUF_INIT;
    struct slice span = request_span(&record, &out);
    ck_assert(pb_is_message(span));
    ck_assert(slice_eq(pb_find(span, 1),
                       SLICE_LIT("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20")));
    ck_assert(slice_eq(pb_find(span, 2), SLICE_LIT("\0\0\0\0\0\0\0\x11")));
    ck_assert(slice_eq(pb_find(span, 4), SLICE_LIT("\0\0\0\0\0\0\0\x12")));
    ck_assert(slice_eq_str(pb_find(span, 3), "v=1"));
    ck_assert(slice_eq_str(pb_find(span, 5), "tablet.read"));
    ck_assert_uint_eq(pb_find_integer(span, 6), 2);
    ck_assert_uint_eq(fixed(span, 7), 1000001000);
    ck_assert_uint_eq(fixed(span, 8), 1000501000);
    ck_assert_uint_eq(fixed(span, 16), 0x301);
    ck_assert_uint_eq(pb_find_integer(pb_find(span, 15), 3), 2);
    buf_close(&out);
}

END_TEST

/* Attributes have names and typed values; bytes that are not UTF-8 are
 * replaced. */
START_TEST(test_attributes)
{
    struct buf out = BUF_INIT;
    struct slice span = request_span(&record, &out);
    struct cursor c = cursor_make(span);
    struct pb_field f;
    unsigned seen = 0;
    while (pb_next(&c, &f)) {
        struct slice key = pb_find(f.bytes, 1);
        struct slice value = pb_find(f.bytes, 2);
        if (f.number != 9)
            continue;
        ck_assert(!slice_eq_str(key, "tracestate"));
        if (slice_eq_str(key, "rows") && ++seen)
            ck_assert_int_eq((int64_t)pb_find_integer(value, 3), -3);
        if (slice_eq_str(key, "table") && ++seen)
            ck_assert(slice_eq_str(pb_find(value, 1), "??"));
        if (slice_eq_str(key, "network.peer.address") && ++seen)
            ck_assert(slice_eq_str(pb_find(value, 1), "a:1"));
        if (slice_eq_str(key, "quarry.kept") && ++seen)
            ck_assert(slice_eq_str(pb_find(value, 1), "sampled"));
    }
    ck_assert_uint_eq(seen, 4);
    buf_close(&out);
}

END_TEST

/* An answer tells how many spans the receiver refused; a hostile one tells
 * nothing. */
START_TEST(test_refused)
{
    struct buf partial = BUF_INIT;
    struct buf answer = BUF_INIT;
    struct slice why;
    pb_put_integer(&partial, 1, 7);
    pb_put_bytes(&partial, 2, SLICE_LIT("too old"));
    pb_put_bytes(&answer, 1, buf_slice(&partial));
    ck_assert_uint_eq(otlp_message_refused(buf_slice(&answer), &why), 7);
    ck_assert(slice_eq_str(why, "too old"));
    ck_assert_uint_eq(otlp_message_refused(SLICE_EMPTY, &why), 0);
    for (size_t i = 1; i < answer.len; i++)
        (void)otlp_message_refused(slice_make(answer.data, i), &why);
    ck_assert_uint_eq(otlp_message_refused(SLICE_LIT("<html>"), &why), 0);
    buf_close(&partial);
    buf_close(&answer);
}

END_TEST

TEST_MAIN("otlp_message", test_fields, test_attributes, test_refused)
