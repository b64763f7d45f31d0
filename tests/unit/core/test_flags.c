/* Command lines are taken apart as the table says, and slips are explained. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/flags.h"
#include "base/core/macros.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------ */

struct values {
    bool keys_only;
    bool color;
    const char *start;
    struct flag_list columns;
    uint64_t versions;
    uint64_t block;
    uint64_t ttl;
    int64_t since;
    const char *format;
    struct flag_list rest;
    struct err err;
};

static const char *const formats[] = {"text", "json", "csv", NULL};

#define TABLE(v)                                                               \
    {                                                                          \
        FLAG_HEADING("Options:"),                                              \
            FLAG_SWITCH("keys-only", 'k', "print row keys alone",              \
                        &(v)->keys_only),                                      \
            FLAG_SWITCH("color", 0, "use colours", &(v)->color),               \
            FLAG_STRING("start", 's', "ROW", "first row", &(v)->start),        \
            FLAG_LIST("column", 'c', "RE", "columns", &(v)->columns),          \
            FLAG_U64("versions", 'n', "N", "newest cells per column",          \
                     &(v)->versions),                                          \
            FLAG_BYTES("block", 0, "SIZE", "block size", &(v)->block),         \
            FLAG_DURATION("ttl", 0, "TIME", "age limit", &(v)->ttl),           \
            FLAG_TIME("since", 0, "TIME", "oldest", &(v)->since),              \
            FLAG_CHOICE("format", 0, "FORMAT", "form of the output",           \
                        &(v)->format, formats),                                \
    }

static int parse(struct values *v, int argc, const char *const *argv)
{
    const struct flag table[] = TABLE(v);
    char *copy[32];
    *v = (struct values){.color = true};
    for (int i = 0; i < argc; i++)
        copy[i] = (char *)(uintptr_t)argv[i];
    return flags_parse(table, ARRAY_LEN(table), argc, copy, &v->rest, &v->err);
}

static void release(struct values *v)
{
    flag_list_close(&v->rest);
    flag_list_close(&v->columns);
}

#define PARSE(v, ...)                                                          \
    parse(v, (int)ARRAY_LEN(((const char *const[]){__VA_ARGS__})),             \
          (const char *const[]){__VA_ARGS__})

/* --- Tests -------------------------------------------------------------- */

/* Every spelling of every kind lands in its variable; the rest in order. */
START_TEST(test_all_kinds)
{
    struct values v;
    ck_assert_int_eq(PARSE(&v, "pages", "-k", "--no-color", "--start", "a",
                           "-cx", "--column=y", "-c", "z", "--versions", "3",
                           "--block=64KiB", "--ttl", "7d", "--since",
                           "1970-01-02", "--format", "json", "-", "-5", "--",
                           "--start"),
                     0);
    ck_assert(v.keys_only && !v.color);
    ck_assert_str_eq(v.start, "a");
    ck_assert_uint_eq(v.columns.count, 3);
    ck_assert_str_eq(v.columns.items[2], "z");
    ck_assert_uint_eq(v.versions, 3);
    ck_assert_uint_eq(v.block, 65536);
    ck_assert_uint_eq(v.ttl, UINT64_C(604800000000));
    ck_assert_int_eq(v.since, INT64_C(86400000000));
    ck_assert_str_eq(v.format, "json");
    ck_assert_uint_eq(v.rest.count, 4);
    ck_assert_str_eq(v.rest.items[0], "pages");
    ck_assert_str_eq(v.rest.items[1], "-");
    ck_assert_str_eq(v.rest.items[2], "-5");
    ck_assert_str_eq(v.rest.items[3], "--start");
    release(&v);
}

END_TEST

/* Each wrong use says which option and why. */
START_TEST(test_errors)
{
    struct values v;
    ck_assert_int_eq(PARSE(&v, "--verison", "3"), ERR_INVALID);
    ck_assert_str_eq(v.err.text, "unknown option --verison");
    ck_assert_str_eq(v.err.hint, "did you mean --versions?");
    ck_assert_int_eq(PARSE(&v, "-z"), ERR_INVALID);
    ck_assert_str_eq(v.err.text, "unknown option -z");
    ck_assert_int_eq(PARSE(&v, "--start"), ERR_INVALID);
    ck_assert_str_eq(v.err.text, "option --start: needs a value: ROW");
    ck_assert_int_eq(PARSE(&v, "--versions", "x"), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(v.err.text, "option --versions: number"));
    ck_assert_int_eq(PARSE(&v, "--format=xml"), ERR_INVALID);
    ck_assert_str_eq(v.err.text, "option --format: \"xml\" is not one of: "
                                 "text, json, csv");
    ck_assert_int_eq(PARSE(&v, "--no-color=on"), ERR_INVALID);
    ck_assert_int_eq(PARSE(&v, "--no-start"), ERR_INVALID);
    ck_assert_int_eq(PARSE(&v, "-kn"), ERR_INVALID);
    release(&v);
}

END_TEST

/* An option that takes a value is not mistaken for that value. */
START_TEST(test_given)
{
    struct values v;
    const struct flag table[] = TABLE(&v);
    char a[] = "--start";
    char b[] = "--versions";
    char c[] = "-k";
    char *argv[] = {a, b, c};
    size_t n = ARRAY_LEN(table);
    ck_assert(flags_given(table, n, 3, argv, "start"));
    ck_assert(!flags_given(table, n, 3, argv, "versions"));
    ck_assert(flags_given(table, n, 3, argv, "keys-only"));
}

END_TEST

/* Help lines are aligned and keep to the width. */
START_TEST(test_help)
{
    struct values v;
    const struct flag table[] = TABLE(&v);
    struct buf b = BUF_INIT;
    const char *p;
    flags_help(table, ARRAY_LEN(table), 40, &b);
    p = buf_cstr(&b);
    ck_assert_ptr_nonnull(
        strstr(p, "Options:\n  -k, --keys-only      print row"));
    ck_assert_ptr_nonnull(strstr(p, "      --format FORMAT  form of the\n"));
    while (*p) {
        ck_assert_uint_le(strcspn(p, "\n"), 40);
        p += strcspn(p, "\n") + 1;
    }
    buf_close(&b);
}

END_TEST

TEST_MAIN("flags", test_all_kinds, test_errors, test_given, test_help)
