/* Ids of traces and traceparents come back as they were written, and what is
 * not exactly one is refused. */
#include <string.h>

#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/trace/trace_id.h"
#include "tests/lib/check_main.h"

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* The example of the recommendation is read, and written as it was. */
START_TEST(test_traceparent_round_trip)
{
    struct traceparent p;
    char text[TRACEPARENT_TEXT_BYTES];
    ck_assert(traceparent_parse(SLICE_LIT(GOOD), &p));
    ck_assert_uint_eq(p.trace.high, UINT64_C(0x0af7651916cd43dd));
    ck_assert_uint_eq(p.trace.low, UINT64_C(0x8448eb211c80319c));
    ck_assert_uint_eq(p.span_id, UINT64_C(0xb7ad6b7169203331));
    ck_assert(p.sampled);
    traceparent_print(&p, text);
    ck_assert_str_eq(text, GOOD);
}

END_TEST

/* Only the lowest flag says that it is sampled; later versions may have further
 * fields after a dash. */
START_TEST(test_flags_and_versions)
{
    struct traceparent p;
    ck_assert(traceparent_parse(
        SLICE_LIT("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe"),
        &p));
    ck_assert(!p.sampled);
    ck_assert(traceparent_parse(
        SLICE_LIT("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        &p));
    ck_assert(traceparent_parse(SLICE_LIT("cc-0af7651916cd43dd8448eb211c80319c-"
                                          "b7ad6b7169203331-01-what-comes"),
                                &p));
}

END_TEST

/* A malformed traceparent is none and touches nothing. */
START_TEST(test_hostile_traceparents)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0z",
        "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    struct traceparent p = {.span_id = 77};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        ck_assert_msg(!traceparent_parse(slice_str(bad[i]), &p), "%s", bad[i]);
        ck_assert_uint_eq(p.span_id, 77);
    }
}

END_TEST

/* Any one byte changed gives a traceparent that is printed as it was read, or
 * none. */
START_TEST(test_changed_bytes)
{
    struct rand_gen r;
    rand_init(&r, 1);
    for (unsigned i = 0; i < 20000; i++) {
        char text[] = GOOD;
        char back[TRACEPARENT_TEXT_BYTES];
        struct traceparent p;
        text[rand_below(&r, sizeof(text) - 1)] = (char)rand_below(&r, 256);
        if (!traceparent_parse(slice_make(text, sizeof(text) - 1), &p))
            continue;
        traceparent_print(&p, back);
        ck_assert_mem_eq(back + 3, text + 3, 50);
    }
}

END_TEST

/* An id is 32 digits of either case. */
START_TEST(test_trace_id)
{
    struct trace_id id;
    char text[TRACE_ID_TEXT_BYTES];
    ck_assert(
        trace_id_parse(SLICE_LIT("0AF7651916cd43dd8448eb211c80319c"), &id));
    trace_id_print(id, text);
    ck_assert_str_eq(text, "0af7651916cd43dd8448eb211c80319c");
    ck_assert(
        !trace_id_parse(SLICE_LIT("00000000000000000000000000000000"), &id));
    ck_assert(!trace_id_parse(SLICE_LIT("0af7"), &id));
    ck_assert(
        !trace_id_parse(SLICE_LIT("0af7651916cd43dd8448eb211c80319c0"), &id));
}

END_TEST

TEST_MAIN("trace_id",
          test_traceparent_round_trip,
          test_flags_and_versions,
          test_hostile_traceparents,
          test_changed_bytes,
          test_trace_id)
