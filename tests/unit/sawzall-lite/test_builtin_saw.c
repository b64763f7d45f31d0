/* Cutting strings by patterns, and the cache of patterns that a run keeps. */
#include "sawzall-lite/builtins/regexes.h"
#include "sawzall-lite/values/builtin.h"
#include "tests/unit/sawzall-lite/builtin_call.h"

/* The pieces and, after a bar, the rest. */
static const char *cut(struct host *h,
                       const char *text,
                       int64_t count,
                       const char *const *patterns,
                       const uint8_t *flags,
                       size_t n)
{
    const struct saw_str *s = a_str(h, text).v.s;
    const struct saw_str *p[8];
    struct saw_array *pieces = NULL;
    union saw_slot v;
    for (size_t i = 0; i < n; i++)
        p[i] = a_str(h, patterns[i]).v.s;
    buf_clear(&h->text);
    h->status = saw_saw(&h->ctx, &s, count, p, flags, n, &pieces);
    if (h->status != SAW_OK) {
        buf_append_str(&h->text, h->ctx.err.text);
        return buf_cstr(&h->text);
    }
    v.a = pieces;
    saw_value_print(&saw_type_array_of_string, v, SAW_PRINT_SOURCE, &h->text);
    buf_printf(&h->text, "|%.*s", SLICE_ARG(saw_str_slice(s)));
    return buf_cstr(&h->text);
}

#define PLAIN SAW_SAW_PLAIN
#define CUT(text, count, flags, ...)                                           \
    cut(&h, text, count, (const char *const[]){__VA_ARGS__}, flags,            \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* The results that the published interpreter's tests expect. */
START_TEST(test_published_examples)
{
    static const uint8_t plain[8] = {0};
    static const uint8_t skip_second[] = {PLAIN, SAW_SAW_SKIP};
    static const uint8_t submatch[] = {SAW_SAW_SUBMATCH, PLAIN};
    struct host h;
    host_init(&h);
    ck_assert_str_eq(CUT("hey this is", 1, plain, "^[a-z3]+", " |[0-9]*"),
                     "{\"hey\", \" \"}|this is");
    ck_assert_str_eq(
        CUT("hey a f3n1ng", INT64_MAX, plain, "^[a-z3]+", " |[0-9]*"),
        "{\"hey\", \" \", \"a\", \" \", \"f3n\", \"1\", \"ng\", \"\"}|");
    ck_assert_str_eq(CUT("bcdaaaaa", INT64_MAX, plain, "b*", "c*", "d*"),
                     "{\"b\", \"c\", \"d\"}|aaaaa");
    ck_assert_str_eq(CUT("aaaXbbbXcccXX", INT64_MAX, skip_second, "[^X]*", "X"),
                     "{\"aaa\", \"bbb\", \"ccc\", \"\", \"\"}|");
    ck_assert_str_eq(CUT("aaaXbbbXcccXX", INT64_MAX, plain, "[^X]*"),
                     "{\"aaa\", \"bbb\", \"ccc\", \"\", \"\"}|");
    ck_assert_str_eq(
        CUT("\"a, b\", 123", INT64_MAX, submatch, "\"?([^\"]*)\"?,", "[0-9]+"),
        "{\"a, b\", \"123\"}|");
    host_close(&h);
}

END_TEST

/* Counts, empty text, characters of several bytes, and groups without a part.
 */
START_TEST(test_edges)
{
    static const uint8_t plain[8] = {0};
    static const uint8_t submatch[] = {SAW_SAW_SUBMATCH};
    struct host h;
    host_init(&h);
    ck_assert_str_eq(CUT("a b c", 2, plain, "[a-z]"), "{\"a\", \"b\"}| c");
    ck_assert_str_eq(CUT("a b c", 0, plain, "[a-z]"), "{}|a b c");
    ck_assert_str_eq(CUT("a b c", -1, plain, "[a-z]"), "{}|a b c");
    ck_assert_str_eq(CUT("", INT64_MAX, plain, "x*"), "{\"\"}|");
    ck_assert_str_eq(CUT("日本", INT64_MAX, plain, "."), "{\"日\", \"本\"}|");
    ck_assert_str_eq(CUT("日本", INT64_MAX, plain, "x*"),
                     "{\"\", \"\", \"\"}|");
    ck_assert_str_eq(CUT("ab", 1, submatch, "(x)?(a)(y)?"), "{\"\", \"a\"}|b");
    CUT("ab", 1, plain, "(");
    ck_assert_int_eq(h.status, SAW_UNDEF);
    host_close(&h);
}

END_TEST

/* Far more patterns than the cache holds, many at once, stay right. */
START_TEST(test_cache_is_bounded_and_right)
{
    struct host h;
    host_init(&h);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            char pattern[32];
            char text[32];
            const struct regex *r;
            snprintf(pattern, sizeof(pattern), "^x%d$", i);
            snprintf(text, sizeof(text), "x%d", i);
            r = saw_regex_get(&h.ctx, a_str(&h, pattern).v.s, i % 50 == 0);
            ck_assert_ptr_nonnull(r);
            ck_assert(regex_search(r, slice_str(text), 0, NULL, 0));
            ck_assert(!regex_search(r, SLICE_LIT("y"), 0, NULL, 0));
        }
    }
    ck_assert_ptr_null(saw_regex_get(&h.ctx, a_str(&h, "[").v.s, true));
    ck_assert_ptr_null(saw_regex_get(&h.ctx, a_str(&h, "[").v.s, true));
    host_close(&h);
}

END_TEST

TEST_MAIN("builtin_saw",
          test_published_examples,
          test_edges,
          test_cache_is_bounded_and_right)
