/* Frames come back as they were sent, or are refused with the reason. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/rpc/frame.h"
#include "tests/lib/check_main.h"
#include "tests/lib/frame_header.h"

static struct frame sample(void)
{
    return (struct frame){.kind = FRAME_REQUEST,
                          .flags = FRAME_SAMPLED,
                          .call_id = 0x1122334455667788u,
                          .method = 77,
                          .status = ERR_CORRUPT,
                          .deadline_us = 1500000,
                          .trace = {0, 99},
                          .idempotency_key = 0xdeadbeefu,
                          .span_id = 0x12345678,
                          .body = SLICE_LIT("body"),
                          .attachment = SLICE_LIT("attachment")};
}

/* Every field of a header survives encoding. */
START_TEST(test_header_round_trip)
{
    struct frame f = sample();
    struct frame g;
    struct err err = ERR_INIT;
    char h[FRAME_HEADER_BYTES];

    frame_encode_header(&f, h);
    ck_assert_int_eq(frame_decode_header(h, &g, &err), 0);
    ck_assert_uint_eq(g.body.len, f.body.len);
    ck_assert_uint_eq(g.attachment.len, f.attachment.len);
    ck_assert_int_eq(
        frame_verify(&g, crc32c("body", 4), crc32c("attachment", 10), &err), 0);
    ck_assert_uint_eq(g.span_id, f.span_id);
    ck_assert_int_eq(g.kind, f.kind);
    ck_assert_uint_eq(g.flags, f.flags);
    ck_assert_uint_eq(g.call_id, f.call_id);
    ck_assert_uint_eq(g.method, f.method);
    ck_assert_int_eq(g.status, f.status);
    ck_assert_uint_eq(g.deadline_us, f.deadline_us);
    ck_assert(trace_id_eq(g.trace, f.trace));
    ck_assert_uint_eq(g.idempotency_key, f.idempotency_key);
}

END_TEST

/* Any single flipped bit of header, body or attachment is noticed. */
START_TEST(test_every_flipped_bit_is_noticed)
{
    struct frame f = sample();
    char h[FRAME_HEADER_BYTES];
    char body[4];
    frame_encode_header(&f, h);
    for (size_t bit = 0; bit < 8 * sizeof(h); bit++) {
        struct frame g;
        h[bit / 8] ^= (char)(1 << bit % 8);
        ck_assert_int_ne(frame_decode_header(h, &g, NULL), 0);
        h[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof(body); bit++) {
        struct frame g;
        uint32_t crc;
        memcpy(body, "body", 4);
        body[bit / 8] ^= (char)(1 << bit % 8);
        crc = crc32c(body, sizeof(body));
        ck_assert_int_eq(frame_decode_header(h, &g, NULL), 0);
        ck_assert_int_eq(frame_verify(&g, crc, g.attachment_crc, NULL),
                         ERR_CORRUPT);
        ck_assert_int_eq(frame_verify(&g, g.body_crc, crc, NULL), ERR_CORRUPT);
    }
}

END_TEST

/* An attachment in parts is the same as in one piece. */
START_TEST(test_parts)
{
    const struct slice parts[] = {SLICE_LIT("ach"), SLICE_EMPTY,
                                  SLICE_LIT("ment")};
    struct frame f = sample();
    char whole[FRAME_HEADER_BYTES];
    char h[FRAME_HEADER_BYTES];
    frame_encode_header(&f, whole);
    f.attachment = SLICE_LIT("att");
    f.parts = parts;
    f.part_count = 3;
    ck_assert_uint_eq(frame_attachment_bytes(&f), 10);
    frame_encode_header(&f, h);
    ck_assert_mem_eq(h, whole, sizeof(h));
}

END_TEST

/* Set a 32-bit field and make the header's checksum right again. */
static void forge(char *h, size_t at, uint32_t v)
{
    put_le32(h + at, v);
    put_le32(h + FRAME_HEADER_BYTES - 4, crc32c(h, FRAME_HEADER_BYTES - 4));
}

/* A correct checksum does not make a huge length or a new version welcome. */
START_TEST(test_limits_and_versions_are_named)
{
    struct frame f = sample();
    struct frame g;
    struct err err = ERR_INIT;
    char h[FRAME_HEADER_BYTES];

    frame_encode_header(&f, h);
    forge(h, 48, FRAME_BODY_BYTES_MAX + 1);
    ck_assert_int_eq(frame_decode_header(h, &g, &err), ERR_TOOBIG);
    ck_assert_str_eq(err.text,
                     "frame: body of 16777217 bytes, limit is 16777216");
    frame_encode_header(&f, h);
    forge(h, 52, UINT32_MAX);
    ck_assert_int_eq(frame_decode_header(h, &g, &err), ERR_TOOBIG);
    frame_encode_header(&f, h);
    forge(h, 4, 2u | FRAME_REQUEST << 8);
    ck_assert_int_eq(frame_decode_header(h, &g, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "frame: version 2, this program speaks 1");
}

END_TEST

/* Whom a request acts for comes back, and so does its body. */
START_TEST(test_act_as)
{
    struct frame f = sample();
    struct frame g;
    struct err err = ERR_INIT;
    char head[FRAME_HEADER_BYTES + 100];
    f.act_as = SLICE_LIT("alice");
    ck_assert_uint_eq(frame_head_bytes(&f), FRAME_HEADER_BYTES + 1 + 5 + 4);
    frame_encode_head(&f, head);
    ck_assert_int_eq(frame_decode_header(head, &g, &err), 0);
    ck_assert_uint_eq(g.flags, FRAME_SAMPLED | FRAME_ACT_AS);
    ck_assert_uint_eq(g.body.len, 10);
    g.body.data = head + FRAME_HEADER_BYTES;
    ck_assert_int_eq(frame_verify(&g, crc32c(g.body.data, g.body.len),
                                  g.attachment_crc, &err),
                     0);
    ck_assert_int_eq(frame_take_front(&g, &err), 0);
    ck_assert(slice_eq_str(g.act_as, "alice"));
    ck_assert(slice_eq_str(g.body, "body"));
}

END_TEST

/* Ids in full precede whom the call is for; without them come the low halves.
 */
START_TEST(test_trace)
{
    struct frame f = sample();
    struct frame g;
    struct err err = ERR_INIT;
    char head[FRAME_HEADER_BYTES + 100];
    f.act_as = SLICE_LIT("alice");
    f.trace = (struct trace_id){UINT64_MAX - 1, 99};
    f.span_id = UINT64_C(0x123456789abcdef0);
    f.is_wide = true;
    ck_assert_uint_eq(frame_head_bytes(&f),
                      FRAME_HEADER_BYTES + FRAME_TRACE_BYTES + 1 + 5 + 4);
    frame_encode_head(&f, head);
    ck_assert_int_eq(frame_decode_header(head, &g, &err), 0);
    ck_assert_uint_eq(g.trace.low, 99);
    ck_assert_uint_eq(g.span_id, 0x9abcdef0u);
    g.body.data = head + FRAME_HEADER_BYTES;
    ck_assert_int_eq(frame_verify(&g, crc32c(g.body.data, g.body.len),
                                  g.attachment_crc, &err),
                     0);
    ck_assert_int_eq(frame_take_front(&g, &err), 0);
    ck_assert(trace_id_eq(g.trace, f.trace));
    ck_assert_uint_eq(g.span_id, f.span_id);
    ck_assert(slice_eq_str(g.act_as, "alice"));
    ck_assert(slice_eq_str(g.body, "body"));
}

END_TEST

/* Ids that are cut, or in a frame that is no request, end the connection. */
START_TEST(test_malformed_trace)
{
    struct frame f = {.kind = FRAME_REQUEST, .flags = FRAME_TRACE};
    struct err err = ERR_INIT;
    f.body = SLICE_LIT("fifteen bytes..");
    ck_assert_int_eq(frame_take_front(&f, &err), ERR_CORRUPT);
    f.body = SLICE_LIT("sixteen bytes...");
    f.kind = FRAME_RESPONSE;
    ck_assert_int_eq(frame_take_front(&f, &err), ERR_CORRUPT);
    f.kind = FRAME_REQUEST;
    ck_assert_int_eq(frame_take_front(&f, &err), 0);
    ck_assert_uint_eq(f.body.len, 0);
}

END_TEST

/* An invalid principal, or one outside of a request, ends the connection. */
START_TEST(test_malformed_act_as)
{
    const struct slice bad[] = {SLICE_EMPTY,
                                SLICE_LIT("\0rest"),
                                SLICE_LIT("\x05"
                                          "alic"),
                                SLICE_LIT("\x02"
                                          "a\n"),
                                SLICE_LIT("\x02"
                                          "a,"),
                                SLICE_LIT("\x02"
                                          "a ")};
    struct err err = ERR_INIT;
    struct frame f = {.kind = FRAME_RESPONSE,
                      .flags = FRAME_ACT_AS,
                      .body = SLICE_LIT("\x01"
                                        "a")};
    ck_assert_int_eq(frame_take_front(&f, &err), ERR_CORRUPT);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        f = (struct frame){
            .kind = FRAME_REQUEST, .flags = FRAME_ACT_AS, .body = bad[i]};
        ck_assert_int_eq(frame_take_front(&f, &err), ERR_CORRUPT);
    }
    f.flags = 0;
    ck_assert_int_eq(frame_take_front(&f, &err), 0);
}

END_TEST

TEST_MAIN("frame",
          test_header_round_trip,
          test_every_flipped_bit_is_noticed,
          test_parts,
          test_limits_and_versions_are_named,
          test_act_as,
          test_trace,
          test_malformed_trace,
          test_malformed_act_as)
