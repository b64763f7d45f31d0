/* Intrinsics on strings and bytes: known answers, and the edges of Unicode. */
#include "tests/unit/sawzall-lite/builtin_call.h"

#define EQ(got, want) ck_assert_str_eq((got), (want))

/* Positions count characters, not bytes. */
START_TEST(test_find)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "strfind", a_str(&h, "b"), a_str(&h, "abcb")), "1");
    EQ(CALL(&h, "strrfind", a_str(&h, "b"), a_str(&h, "abcb")), "3");
    EQ(CALL(&h, "strfind", a_str(&h, "é"), a_str(&h, "aéé")), "1");
    EQ(CALL(&h, "strrfind", a_str(&h, "é"), a_str(&h, "aéé")), "2");
    EQ(CALL(&h, "strfind", a_str(&h, ""), a_str(&h, "abc")), "0");
    EQ(CALL(&h, "strrfind", a_str(&h, ""), a_str(&h, "日本")), "2");
    EQ(CALL(&h, "strfind", a_str(&h, "abcd"), a_str(&h, "abc")), "-1");
    EQ(CALL(&h, "strfind", a_str(&h, "x"), a_str(&h, "")), "-1");
    EQ(CALL(&h, "bytesfind", a_bytes(&h, "\0b", 2), a_bytes(&h, "a\0b\0b", 5)),
       "1");
    EQ(CALL(&h, "bytesrfind", a_bytes(&h, "\0b", 2), a_bytes(&h, "a\0b\0b", 5)),
       "3");
    host_close(&h);
}

END_TEST

/* Case follows Unicode, also where the bytes of a character grow or shrink. */
START_TEST(test_case)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "lowercase", a_str(&h, "AZ[@`az")), "\"az[@`az\"");
    EQ(CALL(&h, "uppercase", a_str(&h, "AZ{@`az")), "\"AZ{@`AZ\"");
    EQ(CALL(&h, "uppercase", a_str(&h, "éßÿσ")), "\"ÉßŸΣ\"");
    EQ(CALL(&h, "lowercase", a_str(&h, "ÉẞŸΣЖ")), "\"éßÿσж\"");
    EQ(CALL(&h, "lowercase", a_str(&h, "\xe2\x84\xaa")), "\"k\""); /* Kelvin. */
    EQ(CALL(&h, "uppercase", a_str(&h, "\xf0\x90\x90\xa8")),
       "\"\xf0\x90\x90\x80\""); /* Deseret. */
    EQ(CALL(&h, "lowercase", a_str(&h, "")), "\"\"");
    host_close(&h);
}

END_TEST

START_TEST(test_replace)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "strreplace", a_str(&h, "aXbXc"), a_str(&h, "X"),
            a_str(&h, "--"), a_bool(true)),
       "\"a--b--c\"");
    EQ(CALL(&h, "strreplace", a_str(&h, "aXbXc"), a_str(&h, "X"), a_str(&h, ""),
            a_bool(false)),
       "\"abXc\"");
    EQ(CALL(&h, "strreplace", a_str(&h, "aaa"), a_str(&h, "aa"), a_str(&h, "b"),
            a_bool(true)),
       "\"ba\"");
    EQ(CALL(&h, "strreplace", a_str(&h, "abc"), a_str(&h, ""), a_str(&h, "x"),
            a_bool(true)),
       "\"abc\"");
    h.ctx.bytes_max = 100000;
    {
        char many[3001];
        memset(many, 'a', 3000);
        many[3000] = '\0';
        EQ(CALL(&h, "strreplace", a_str(&h, many), a_str(&h, "a"),
                a_str(&h, many), a_bool(true)),
           "fail: strreplace: the result is over the memory limit");
    }
    host_close(&h);
}

END_TEST

/* Groups up to the last that took part; positions in characters. */
START_TEST(test_match)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "match", a_str(&h, "b+c"), a_str(&h, "abbbc")), "true");
    EQ(CALL(&h, "match", a_str(&h, "^b"), a_str(&h, "abbbc")), "false");
    EQ(CALL(&h, "matchstrs", a_str(&h, "(a)|(b)"), a_str(&h, "a")),
       "{\"a\", \"a\"}");
    EQ(CALL(&h, "matchstrs", a_str(&h, "(a)|(b)"), a_str(&h, "b")),
       "{\"b\", \"\", \"b\"}");
    EQ(CALL(&h, "matchstrs", a_str(&h, "x"), a_str(&h, "b")), "{}");
    EQ(CALL(&h, "matchposns", a_str(&h, "(é+)(.)"), a_str(&h, "aééx")),
       "{1, 4, 1, 3, 3, 4}");
    EQ(CALL(&h, "matchposns", a_str(&h, "(a)|(b)"), a_str(&h, "日b")),
       "{1, 2, 0, 0, 1, 2}");
    EQ(CALL(&h, "matchposns", a_str(&h, "$"), a_str(&h, "日b")), "{2, 2}");
    ck_assert(strncmp(CALL(&h, "match", a_str(&h, "("), a_str(&h, "a")),
                      "check: ", 7) == 0);
    host_close(&h);
}

END_TEST

START_TEST(test_csv)
{
    struct host h;
    struct saw_array *which;
    struct arg fields = {.type = &saw_type_array_of_int};
    host_init(&h);
#define LINE(s) a_bytes(&h, s, sizeof(s) - 1)
    EQ(CALL(&h, "splitcsvline", LINE(" a , b")), "{bytes({97}), bytes({98})}");
    EQ(CALL(&h, "splitcsvline", LINE("\"x,\"\"y\" junk,z,")),
       "{bytes({120, 44, 34, 121}), bytes({122}), bytes({})}");
    EQ(CALL(&h, "splitcsvline", LINE("")), "{}");
    EQ(CALL(&h, "splitcsvline", LINE("\"open")),
       "{bytes({111, 112, 101, 110})}");
    which = saw_array_new(&h.ctx, 2);
    which->items[0].i = 2;
    which->items[1].i = 3;
    fields.v.a = which;
    EQ(CALL(&h, "splitcsv", LINE("a,b,c\nd,e\n"), fields),
       "{bytes({98}), bytes({99}), bytes({101}), bytes({})}");
    which->items[1].i = 0;
    EQ(CALL(&h, "splitcsv", LINE("a,b"), fields),
       "undef: splitcsv: fields are numbered from 1");
    host_close(&h);
}

END_TEST

static const char *roundtrip(struct host *h,
                             const char *to,
                             const char *from,
                             struct arg in,
                             bool flag)
{
    const struct saw_builtin *there = saw_builtin_find(slice_str(to));
    const struct saw_builtin *back = saw_builtin_find(slice_str(from));
    union saw_slot args[2] = {in.v, {.i = flag}};
    const struct saw_type *types[2] = {&saw_type_bytes, &saw_type_bool};
    struct saw_call site = {.builtin = there,
                            .arg_count = 2,
                            .arg_types = types,
                            .result_type = &saw_type_bytes};
    union saw_slot out;
    ck_assert_int_eq(there->fn(&h->ctx, &site, args, &out), SAW_OK);
    args[0] = out;
    ck_assert_int_eq(back->fn(&h->ctx, &site, args, &out), SAW_OK);
    buf_clear(&h->text);
    saw_value_print(&saw_type_bytes, out, SAW_PRINT_SOURCE, &h->text);
    return buf_cstr(&h->text);
}

/* Every length of input comes back from each code. */
START_TEST(test_codecs_round_trip)
{
    struct host h;
    char data[40];
    host_init(&h);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 77);
    for (size_t n = 0; n <= sizeof(data); n++) {
        struct arg in = a_bytes(&h, data, n);
        struct buf want = BUF_INIT;
        saw_value_print(&saw_type_bytes, in.v, SAW_PRINT_SOURCE, &want);
        for (int flag = 0; flag < 2; flag++) {
            EQ(roundtrip(&h, "tobase64", "frombase64", in, flag),
               buf_cstr(&want));
            EQ(roundtrip(&h, "zlibcompress", "zlibuncompress", in, flag),
               buf_cstr(&want));
        }
        EQ(roundtrip(&h, "gzip", "gunzip", in, false), buf_cstr(&want));
        buf_close(&want);
    }
    host_close(&h);
}

END_TEST

START_TEST(test_base64_refuses_what_is_not)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "tobase64", a_bytes(&h, "a", 1), a_bool(false)),
       "bytes({89, 81, 61, 61})");
    EQ(CALL(&h, "tobase64", a_bytes(&h, "a", 1), a_bool(true)),
       "bytes({89, 81})");
    static const char *const bad[] = {
        "Y", "YQ=", "YQ==x", "Y\xff==", "====", "YQ-=", "YQ==="};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CALL(&h, "frombase64", a_bytes(&h, bad[i], strlen(bad[i])),
             a_bool(false));
        ck_assert_msg(h.status == SAW_UNDEF, "%s", bad[i]);
    }
    host_close(&h);
}

END_TEST

/* Compressed data that is cut, or followed by more, or a bomb. */
START_TEST(test_bad_compressed_data)
{
    struct host h;
    union saw_slot args[2];
    union saw_slot packed;
    const struct saw_type *types[2] = {&saw_type_bytes, &saw_type_bool};
    struct saw_call site = {.arg_count = 2, .arg_types = types};
    static char zeros[1 << 20];
    host_init(&h);
    args[0].s = saw_bytes_dup(&h.ctx, slice_make(zeros, sizeof(zeros)));
    args[1].i = 0;
    ck_assert_int_eq(saw_builtin_find(SLICE_LIT("zlibcompress"))
                         ->fn(&h.ctx, &site, args, &packed),
                     SAW_OK);
    CALL(&h, "zlibuncompress", a_bytes(&h, packed.s->data, packed.s->len - 1),
         a_bool(false));
    ck_assert_int_eq(h.status, SAW_UNDEF);
    CALL(&h, "zlibuncompress", a_bytes(&h, "", 0), a_bool(false));
    ck_assert_int_eq(h.status, SAW_UNDEF);
    {
        char *longer = malloc(packed.s->len + 1);
        memcpy(longer, packed.s->data, packed.s->len);
        longer[packed.s->len] = 'x';
        CALL(&h, "zlibuncompress", a_bytes(&h, longer, packed.s->len + 1),
             a_bool(false));
        ck_assert_int_eq(h.status, SAW_UNDEF);
        free(longer);
    }
    h.ctx.bytes_max = 1 << 19;
    CALL(&h, "zlibuncompress", (struct arg){&saw_type_bytes, packed},
         a_bool(false));
    ck_assert_int_eq(h.status, SAW_FAIL);
    host_close(&h);
}

END_TEST

/* printf, with the language's types. */
START_TEST(test_format)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "format", a_str(&h, "%d|%5d|%-5d|%05d|%x|%#x|%o"), a_int(-7),
            a_int(42), a_int(42), a_int(42), a_int(255), a_int(255), a_int(8)),
       "\"-7|   42|42   |00042|ff|0xff|10\"");
    EQ(CALL(&h, "format", a_str(&h, "%d %u"), a_int(INT64_MIN),
            a_uint(UINT64_MAX)),
       "\"-9223372036854775808 18446744073709551615\"");
    EQ(CALL(&h, "format", a_str(&h, "%.3f %e %g"), a_float(3.14159),
            a_float(12345.678), a_float(0.5)),
       "\"3.142 1.234568e+04 0.5\"");
    EQ(CALL(&h, "format", a_str(&h, "%s|%6s|%-6s|%.2s"), a_str(&h, "日本語"),
            a_str(&h, "日本"), a_str(&h, "日本"), a_str(&h, "日本語")),
       "\"日本語|    日本|日本    |日本\"");
    EQ(CALL(&h, "format", a_str(&h, "%q"), a_str(&h, "a\"b\n")),
       "\"\\\"a\\\\\\\"b\\\\n\\\"\"");
    EQ(CALL(&h, "format", a_str(&h, "100%% %b %c %k"), a_bool(true),
            a_int(0x65e5), a_int('\'')),
       "\"100% true 日 '\\\\''\"");
    EQ(CALL(&h, "format", a_str(&h, "%T"), a_int(1)), "\"int\"");
    EQ(CALL(&h, "format", a_str(&h, "%t"), a_time(0)),
       "\"Wed Dec 31 16:00:00 PST 1969\"");
    EQ(CALL(&h, "format", a_str(&h, "%d"), a_str(&h, "x")),
       "check: %d does not print a value of type string");
    EQ(CALL(&h, "format", a_str(&h, "%d")),
       "check: too few arguments for the format");
    EQ(CALL(&h, "format", a_str(&h, "x"), a_int(1)),
       "check: too many arguments for the format");
    EQ(CALL(&h, "format", a_str(&h, "%n"), a_int(1)),
       "check: there is no format verb %n");
    EQ(CALL(&h, "format", a_str(&h, "%99999999999d"), a_int(1)),
       "check: a width over 9999");
    host_close(&h);
}

END_TEST

START_TEST(test_sort)
{
    struct host h;
    struct arg a = {.type = &saw_type_array_of_int};
    host_init(&h);
    a.v.a = saw_array_new(&h.ctx, 5);
    for (int i = 0; i < 5; i++)
        a.v.a->items[i].i = (int64_t[]){3, 1, 2, 1, -9}[i];
    EQ(CALL(&h, "sort", a), "{-9, 1, 1, 2, 3}");
    EQ(CALL(&h, "sortx", a), "{4, 1, 3, 2, 0}");
    a.v.a = saw_array_new(&h.ctx, 0);
    EQ(CALL(&h, "sort", a), "{}");
    EQ(CALL(&h, "sort", a_int(1)),
       "check: expected an array of a basic type, not int");
    host_close(&h);
}

END_TEST

START_TEST(test_numbers)
{
    struct host h;
    host_init(&h);
    EQ(CALL(&h, "abs", a_int(-3)), "3");
    EQ(CALL(&h, "abs", a_int(INT64_MIN)), "-9223372036854775808");
    EQ(CALL(&h, "abs", a_float(-0.5)), "0.5");
    EQ(CALL(&h, "min", a_str(&h, "b"), a_str(&h, "ab")), "\"ab\"");
    EQ(CALL(&h, "max", a_time(3), a_time(7)), "7T");
    EQ(CALL(&h, "max", a_int(3), a_float(1)),
       "check: expected int, like the first argument");
    EQ(CALL(&h, "highbit", a_int(0)), "0");
    EQ(CALL(&h, "highbit", a_int(15)), "4");
    EQ(CALL(&h, "highbit", a_int(-1)), "64");
    EQ(CALL(&h, "nrand", a_int(0)),
       "undef: nrand() argument 0 <= 0; must be positive");
    EQ(CALL(&h, "nrand", a_int(1)), "0");
    EQ(CALL(&h, "assert", a_bool(false), a_str(&h, "no")),
       "fail: assertion failed: no");
    EQ(CALL(&h, "assert", a_bool(true)), "");
    EQ(CALL(&h, "atan2", a_float(0), a_float(1)), "0.0");
    host_close(&h);
}

END_TEST

TEST_MAIN("builtin_text",
          test_find,
          test_case,
          test_replace,
          test_match,
          test_csv,
          test_codecs_round_trip,
          test_base64_refuses_what_is_not,
          test_bad_compressed_data,
          test_format,
          test_sort,
          test_numbers)
