/* Proto tuples and protocol buffers' wire format. */
#include "base/core/rand.h"
#include "tests/unit/sawzall-lite/builtin_call.h"

static const struct saw_field inner_fields[] = {
    {.name = {"b", 1}, .type = &saw_type_bool, .tag = 1},
    {.name = {"s", 1}, .type = &saw_type_string, .tag = 2},
};
static const struct saw_type inner = {.kind = SAW_TUPLE,
                                      .fields = inner_fields,
                                      .field_count = 2,
                                      .proto = true,
                                      .message = true};
static const struct saw_field fields[] = {
    {.name = {"i", 1}, .type = &saw_type_int, .tag = 1},
    {.name = {"z", 1},
     .type = &saw_type_int,
     .tag = 2,
     .proto = SAW_PROTO_SINT64},
    {.name = {"x", 1},
     .type = &saw_type_int,
     .tag = 3,
     .proto = SAW_PROTO_FIXED32},
    {.name = {"f", 1}, .type = &saw_type_float, .tag = 4},
    {.name = {"g", 1},
     .type = &saw_type_float,
     .tag = 5,
     .proto = SAW_PROTO_FLOAT},
    {.name = {"s", 1}, .type = &saw_type_string, .tag = 6},
    {.name = {"a", 1}, .type = &saw_type_array_of_int, .tag = 7},
    {.name = {"m", 1}, .type = &inner, .tag = 8},
};
static const struct saw_type outer = {.kind = SAW_TUPLE,
                                      .fields = fields,
                                      .field_count = ARRAY_LEN(fields),
                                      .proto = true};

static const char *decode(struct host *h, const char *wire, size_t len)
{
    return CONVERT(h, &outer, a_bytes(h, wire, len));
}

#define DECODE(s) decode(&h, s, sizeof(s) - 1)

/* Fields are read in any order, unknown ones are skipped, absent ones are
 * zero. */
START_TEST(test_reading)
{
    struct host h;
    host_init(&h);
    ck_assert_str_eq(DECODE(""),
                     "{0, 0, 0, 0.0, 0.0, \"\", {}, {false, \"\"}}");
    ck_assert_str_eq(DECODE("\x08\x96\x01\x10\x03\x1d\x05\0\0\0"),
                     "{150, -2, 5, 0.0, 0.0, \"\", {}, {false, \"\"}}");
    ck_assert_str_eq(DECODE("\x32\x02hi\x21\0\0\0\0\0\0\xf8\x3f"
                            "\x2d\0\0\xc0\x3f"),
                     "{0, 0, 0, 1.5, 1.5, \"hi\", {}, {false, \"\"}}");
    /* Repeated, apart and packed. */
    ck_assert_str_eq(DECODE("\x38\x01\x08\x05\x38\x02\x3a\x02\x03\x04"),
                     "{5, 0, 0, 0.0, 0.0, \"\", {1, 2, 3, 4}, {false, \"\"}}");
    /* A message, a group, and unknown fields of each wire type. */
    ck_assert_str_eq(DECODE("\x42\x06\x08\x01\x12\x02hi"),
                     "{0, 0, 0, 0.0, 0.0, \"\", {}, {true, \"hi\"}}");
    ck_assert_str_eq(DECODE("\x43\x08\x01\x44"),
                     "{0, 0, 0, 0.0, 0.0, \"\", {}, {true, \"\"}}");
    ck_assert_str_eq(DECODE("\x78\x01\x79........\x7a\x01x\x7d....\x7b\x08\x01"
                            "\x7c\x08\x07"),
                     "{7, 0, 0, 0.0, 0.0, \"\", {}, {false, \"\"}}");
    /* Of another wire type: skipped. */
    ck_assert_str_eq(DECODE("\x0a\x01x"),
                     "{0, 0, 0, 0.0, 0.0, \"\", {}, {false, \"\"}}");
    host_close(&h);
}

END_TEST

START_TEST(test_malformed)
{
    static const char *const bad[] = {"\x08",     "\x32\x05hi", "\x7c",
                                      "\x43\x08", "\x0f",       "\x79..."};
    struct host h;
    host_init(&h);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(strcmp(decode(&h, bad[i], strlen(bad[i])),
                             "undef: malformed protocol buffer") == 0,
                      "%zu: %s", i, buf_cstr(&h.text));
    host_close(&h);
}

END_TEST

/* A tuple that was written reads back equal, absent fields included. */
START_TEST(test_round_trip)
{
    static const char wire[] =
        "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x03\x1d\x05\0\0\0"
        "\x21\0\0\0\0\0\0\xf8\x3f\x2d\0\0\xc0\x3f\x32\x02hi\x38\x01\x38\x02"
        "\x42\x04\x12\x02hi";
    struct host h;
    const struct saw_type *types[1] = {&saw_type_bytes};
    struct saw_call site = {
        .arg_count = 1, .arg_types = types, .result_type = &outer};
    union saw_slot v;
    union saw_slot out;
    host_init(&h);
    v = a_bytes(&h, wire, sizeof(wire) - 1).v;
    ck_assert_int_eq(saw_convert(&h.ctx, &site, &v, &out), SAW_OK);
    types[0] = &outer;
    site.result_type = &saw_type_bytes;
    v = out;
    ck_assert_int_eq(saw_convert(&h.ctx, &site, &v, &out), SAW_OK);
    ck_assert(
        slice_eq(saw_str_slice(out.s), slice_make(wire, sizeof(wire) - 1)));
    host_close(&h);
}

END_TEST

/* Random bytes never do harm. */
START_TEST(test_hostile_bytes)
{
    struct host h;
    struct rand_gen r;
    rand_init(&r, test_seed());
    host_init(&h);
    for (int i = 0; i < 100000; i++) {
        char wire[40];
        size_t n = rand_below(&r, sizeof(wire));
        for (size_t k = 0; k < n; k++)
            wire[k] = rand_one_in(&r, 2) ? (char)rand_below(&r, 0x50)
                                         : (char)rand_u64(&r);
        decode(&h, wire, n);
        ck_assert_int_ne(h.status, SAW_FAIL);
        arena_reset(&h.arena);
    }
    host_close(&h);
}

END_TEST

TEST_MAIN("builtin_proto",
          test_reading,
          test_malformed,
          test_round_trip,
          test_hostile_bytes)
