/* Conversions: every pair there is, what has no result, and round trips. */
#include "base/core/rand.h"
#include "sawzall-lite/builtins/fingerprint.h"
#include "tests/unit/sawzall-lite/builtin_call.h"

#define EQ(got, want) ck_assert_str_eq((got), (want))
#define TO_INT        &saw_type_int
#define TO_STRING     &saw_type_string
#define TO_BYTES      &saw_type_bytes

START_TEST(test_text_to_int)
{
    struct host h;
    host_init(&h);
    EQ(CONVERT(&h, TO_INT, a_str(&h, "42")), "42");
    EQ(CONVERT(&h, TO_INT, a_str(&h, " -42")), "-42");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "0x1F")), "31");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "077")), "63");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "08"), a_int(10)), "8");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "0x1F"), a_int(16)), "31");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "zz"), a_int(36)), "1295");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "-9223372036854775808")),
       "-9223372036854775808");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "9223372036854775807")),
       "9223372036854775807");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "9223372036854775808")),
       "undef: string \"9223372036854775808\" overflows when "
       "converting to int");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "")),
       "undef: string \"\" contains no int");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "4x")),
       "undef: string \"4x\" contains extra chars");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "08")),
       "undef: string \"08\" contains extra chars");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "-")),
       "undef: string \"-\" contains no int");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "0x")),
       "undef: string \"0x\" contains extra chars");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "1"), a_int(1)), "undef: illegal base");
    EQ(CONVERT(&h, TO_INT, a_str(&h, "1"), a_int(37)), "undef: illegal base");
    EQ(CONVERT(&h, &saw_type_uint, a_str(&h, "18446744073709551615")),
       "18446744073709551615");
    EQ(CONVERT(&h, &saw_type_fingerprint, a_str(&h, "0xff")),
       "0x00000000000000ffP");
    host_close(&h);
}

END_TEST

START_TEST(test_floats)
{
    struct host h;
    host_init(&h);
    EQ(CONVERT(&h, TO_STRING, a_float(6)), "\"6.0\"");
    EQ(CONVERT(&h, TO_STRING, a_float(1e100)), "\"1e+100\"");
    EQ(CONVERT(&h, TO_STRING, a_float(0.1)), "\"0.1\"");
    EQ(CONVERT(&h, &saw_type_float, a_str(&h, "-1.5e3")), "-1500.0");
    EQ(CONVERT(&h, &saw_type_float, a_str(&h, "inf")), "inf");
    EQ(CONVERT(&h, &saw_type_float, a_str(&h, "1e999")),
       "undef: string \"1e999\" overflows when converting to float");
    EQ(CONVERT(&h, &saw_type_float, a_str(&h, "1.5x")),
       "undef: string \"1.5x\" contains extra chars");
    EQ(CONVERT(&h, TO_INT, a_float(-1.9)), "-1");
    EQ(CONVERT(&h, TO_INT, a_float(1e300)), "-9223372036854775808");
    EQ(CONVERT(&h, &saw_type_uint, a_float(0x1p63)), "9223372036854775808");
    EQ(CONVERT(&h, &saw_type_uint, a_float(-1)), "18446744073709551615");
    host_close(&h);
}

END_TEST

START_TEST(test_text_encodings)
{
    struct host h;
    host_init(&h);
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "é")), "bytes({-61, -87})");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "é"), a_str(&h, "latin-1")),
       "bytes({-23})");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "日"), a_str(&h, "LATIN-1")),
       "undef: character out of range converting to latin-1");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "0aFf"), a_str(&h, "hex")),
       "bytes({10, -1})");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "0"), a_str(&h, "hex")),
       "undef: odd number of characters for hex conversion");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "0g"), a_str(&h, "hex")),
       "undef: illegal hex value converting string to bytes");
    EQ(CONVERT(&h, TO_BYTES, a_str(&h, "x"), a_str(&h, "EBCDIC")),
       "undef: unknown encoding \"EBCDIC\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "\xc3\xa9", 2)), "\"é\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "a\xff\xc3z", 4)),
       "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "\xed\xa0\x80", 3)), /* Surrogate. */
       "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "a\0b", 3)),
       "undef: encountered 0 byte at index 1 converting from bytes to string");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "\xe9", 1), a_str(&h, "latin-1")),
       "\"é\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "\x01\xab", 2), a_str(&h, "hex")),
       "\"01ab\"");
    EQ(CONVERT(&h, TO_STRING, a_bytes(&h, "a\n", 2),
               a_str(&h, "array-literal")),
       "\"X\\\"610A\\\"\"");
    host_close(&h);
}

END_TEST

START_TEST(test_int_encodings)
{
    struct host h;
    host_init(&h);
    EQ(CONVERT(&h, TO_BYTES, a_int(1), a_str(&h, "fixed32-big")),
       "bytes({0, 0, 0, 1})");
    EQ(CONVERT(&h, TO_BYTES, a_int(-1), a_str(&h, "zigzag")), "bytes({1})");
    EQ(CONVERT(&h, TO_BYTES, a_int(300), a_str(&h, "varint")),
       "bytes({-84, 2})");
    EQ(CONVERT(&h, TO_BYTES, a_int(INT64_C(1) << 31),
               a_str(&h, "fixed32-little")),
       "undef: value 2147483648 out of range for 32-bit encoding");
    EQ(CONVERT(&h, TO_BYTES, a_int(1)),
       "check: this conversion takes an encoding (\"varint\", "
       "\"fixed64-little\", …) besides the value");
    EQ(CONVERT(&h, TO_INT, a_bytes(&h, "\xff\xff\xff\xfe", 4),
               a_str(&h, "fixed32-big")),
       "-2");
    EQ(CONVERT(&h, &saw_type_uint, a_bytes(&h, "\xff\xff\xff\xfe", 4),
               a_str(&h, "fixed32-big")),
       "4294967294");
    EQ(CONVERT(&h, TO_INT, a_bytes(&h, "\x80", 1), a_str(&h, "varint")),
       "undef: invalid varint value for decoding");
    EQ(CONVERT(&h, TO_INT, a_bytes(&h, "abc", 3), a_str(&h, "szl")),
       "undef: length of bytes value (3) wrong for conversion to int; should "
       "be 8");
    host_close(&h);
}

END_TEST

/* Ints come back from every base and encoding. */
START_TEST(test_ints_round_trip)
{
    static const char *const encodings[] = {"varint", "zigzag", "fixed64-big",
                                            "fixed64-little", "szl"};
    struct host h;
    struct rand_gen r;
    rand_init(&r, test_seed());
    host_init(&h);
    for (int i = 0; i < 3000; i++) {
        int64_t v = (int64_t)(rand_u64(&r) >> rand_below(&r, 64));
        int64_t base = 2 + (int64_t)rand_below(&r, 35);
        char want[32];
        char text[80];
        if (rand_one_in(&r, 2))
            v = -v;
        snprintf(want, sizeof(want), "%lld", (long long)v);
        snprintf(text, sizeof(text), "%s",
                 CONVERT(&h, TO_STRING, a_int(v), a_int(base)) + 1);
        text[strlen(text) - 1] = '\0';
        EQ(CONVERT(&h, TO_INT, a_str(&h, text), a_int(base)), want);
        for (size_t e = 0; e < ARRAY_LEN(encodings); e++) {
            const struct saw_type *types[2] = {&saw_type_int, &saw_type_string};
            struct saw_call site = {
                .arg_count = 2, .arg_types = types, .result_type = TO_BYTES};
            struct arg name = a_str(&h, encodings[e]);
            union saw_slot args[2] = {{.i = v}, name.v};
            union saw_slot out;
            ck_assert_int_eq(saw_convert(&h.ctx, &site, args, &out), SAW_OK);
            EQ(CONVERT(&h, TO_INT, (struct arg){&saw_type_bytes, out}, name),
               want);
        }
        arena_reset(&h.arena);
    }
    host_close(&h);
}

END_TEST

static struct arg strings(struct host *h, const char *const *v, size_t n)
{
    struct arg a = {.type = &saw_type_array_of_string};
    struct slice parts[8];
    for (size_t i = 0; i < n; i++)
        parts[i] = slice_str(v[i]);
    a.v.a = saw_array_of_texts(&h->ctx, SAW_STRING, parts, n);
    return a;
}

START_TEST(test_composites)
{
    static const char *const pairs[] = {"1", "2", "3", "x"};
    struct host h;
    const struct saw_type *map;
    host_init(&h);
    map = saw_type_map(&h.arena, &saw_type_int, &saw_type_string);
    EQ(CONVERT(&h, &saw_type_array_of_int, strings(&h, pairs, 3)), "{1, 2, 3}");
    EQ(CONVERT(&h, &saw_type_array_of_int, strings(&h, pairs, 4)),
       "undef: string \"x\" contains no int");
    EQ(CONVERT(&h, map, strings(&h, pairs, 4)), "{1: \"2\", 3: \"x\"}");
    EQ(CONVERT(&h, map, strings(&h, pairs, 3)),
       "undef: odd number of array elements in map conversion");
    EQ(CONVERT(&h, TO_STRING, strings(&h, pairs, 2)),
       "\"{ \\\"1\\\", \\\"2\\\" }\"");
    EQ(CONVERT(&h, &saw_type_array_of_int, a_str(&h, "é日"),
               a_str(&h, "unicode")),
       "{233, 26085}");
    EQ(CONVERT(&h, &saw_type_array_of_int, a_str(&h, "x")),
       "check: this conversion takes an encoding (a string) besides the value");
    ck_assert(
        strncmp(CONVERT(&h, map, a_int(1)), "check: cannot convert", 21) == 0);
    host_close(&h);
}

END_TEST

/* Only the conversions of the language exist. */
START_TEST(test_which_there_are)
{
    static const struct saw_type *const types[] = {
        &saw_type_bool,  &saw_type_bytes, &saw_type_fingerprint,
        &saw_type_float, &saw_type_int,   &saw_type_string,
        &saw_type_time,  &saw_type_uint};
    /* From (row) to (column), in that order; v needs an encoding. */
    static const char can[8][9] = {"=...yy.y", ".=y.vy.v", ".y=.yy.y",
                                   "...=yy.y", ".vyy=yyy", "yyyyy=yy",
                                   "....yy=y", ".vyyyyy="};
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < 8; k++) {
            char message[200];
            bool undef;
            const struct saw_type *layout = &saw_type_string;
            bool plain =
                saw_convert_check(types[i], types[k], NULL, 0, &undef, message);
            bool with = saw_convert_check(types[i], types[k], &layout, 1,
                                          &undef, message);
            ck_assert_msg(plain == (can[i][k] == 'y' || can[i][k] == '='),
                          "%zu %zu", i, k);
            if (can[i][k] == 'v')
                ck_assert(with);
        }
    }
}

END_TEST

/* An array's fingerprint is the sum of its parts'; a map's knows no order. */
START_TEST(test_fingerprints)
{
    static const char *const v[] = {"1", "2", "3"};
    struct host h;
    struct arg a;
    uint64_t fp;
    host_init(&h);
    a = strings(&h, v, 3);
    fp = saw_value_fingerprint(&saw_type_int, (union saw_slot){.i = 0});
    for (size_t i = 0; i < 3; i++)
        fp = saw_fingerprint_cat(
            fp, saw_value_fingerprint(&saw_type_string, a.v.a->items[i]));
    ck_assert_uint_eq(fp, saw_value_fingerprint(a.type, a.v));
    ck_assert_uint_ne(saw_fingerprint_cat(1, 2), saw_fingerprint_cat(2, 1));
    host_close(&h);
}

END_TEST

TEST_MAIN("builtin_convert",
          test_text_to_int,
          test_floats,
          test_text_encodings,
          test_int_encodings,
          test_ints_round_trip,
          test_composites,
          test_which_there_are,
          test_fingerprints)
