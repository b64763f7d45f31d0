/* SPECs mean what they say, and what is wrong with one is said. */
#include <stdio.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/job.h"
#include "tests/lib/check_main.h"

static struct world *world;

static struct mr_spec parse(const char *text, bool output, int want)
{
    struct mr_spec s;
    struct err err = ERR_INIT;
    int rc = mr_spec_parse(&s, text, output, world, &err);
    ck_assert_msg(rc == want, "%s: %d %s", text, rc, err.text);
    if (rc)
        ck_assert(err.text[0] != '\0');
    return s;
}

static void parse_bad(const char *text, bool output)
{
    struct mr_spec s = parse(text, output, ERR_INVALID);
    mr_spec_close(&s);
}

/* Kinds, names and paths. */
START_TEST(test_kinds)
{
    struct mr_spec s = parse("logs/*.txt", false, 0);
    ck_assert_int_eq(s.kind, MR_SPEC_FILE);
    ck_assert_str_eq(s.path, "logs/*.txt");
    mr_spec_close(&s);
    s = parse("warc:a?b.warc.gz", false, 0);
    ck_assert_int_eq(s.kind, MR_SPEC_WARC);
    ck_assert_str_eq(s.path, "a?b.warc.gz");
    mr_spec_close(&s);
    s = parse("side=records:/tmp/x//", true, 0);
    ck_assert_int_eq(s.kind, MR_SPEC_RECORDS);
    ck_assert_str_eq(s.name, "side");
    ck_assert_str_eq(s.path, "/tmp/x");
    mr_spec_close(&s);
    s = parse("file:a=b", true, 0);
    ck_assert_ptr_null(s.name);
    ck_assert_str_eq(s.path, "a=b");
    mr_spec_close(&s);
}

END_TEST

/* Each format of the table is found by its prefix and its kind, and no two
 * share either. */
START_TEST(test_formats)
{
    char text[64];
    unsigned count = 0;
    for (; input_format_at(count); count++) {
        const struct input_format *f = input_format_at(count);
        struct mr_spec s;
        snprintf(text, sizeof(text), "%sx", f->prefix);
        s = parse(text, false, 0);
        ck_assert_int_eq(s.kind, f->kind);
        ck_assert_str_eq(s.path, "x");
        mr_spec_close(&s);
        ck_assert(f->is_view || input_format_find(f->kind) == f);
        ck_assert_ptr_eq(input_format_of_text(text), f);
        s = parse(text, true, f->output ? 0 : ERR_INVALID);
        mr_spec_close(&s);
    }
    ck_assert_uint_eq(count, MR_SPEC_KINDS + 1); /* Views are tables. */
}

END_TEST

/* All options of a table, with escapes. */
START_TEST(test_table_options)
{
    struct mr_spec s = parse("table:web?columns=contents:,anchor:a%2cb"
                             "&prefix=com.%ff&versions=3&since=5&until=9"
                             "&live=yes",
                             false, 0);
    ck_assert_int_eq(s.kind, MR_SPEC_TABLE);
    ck_assert_str_eq(s.path, "web");
    ck_assert_uint_eq(s.column_count, 2);
    ck_assert_str_eq(s.columns[0], "contents:");
    ck_assert_str_eq(s.columns[1], "anchor:a,b");
    ck_assert(slice_eq(s.start, slice_make("com.\xff", 5)));
    ck_assert(slice_eq_str(s.end, "com/"));
    ck_assert_uint_eq(s.versions, 3);
    ck_assert_int_eq(s.since_us, 5);
    ck_assert_int_eq(s.until_us, 9);
    ck_assert(s.live);
    mr_spec_close(&s);
    s = parse("rows=table:web?bulk=yes", true, 0);
    ck_assert_str_eq(s.name, "rows");
    ck_assert_str_eq(s.path, "web");
    ck_assert(s.bulk);
    mr_spec_close(&s);
    s = parse("table:web?bulk=no", true, 0);
    ck_assert(!s.bulk);
    mr_spec_close(&s);
    s = parse("view:hits.by_day", false, 0);
    ck_assert_int_eq(s.kind, MR_SPEC_TABLE);
    ck_assert(s.view && s.live);
    ck_assert_str_eq(s.path, "hits.by_day");
    mr_spec_close(&s);
    parse_bad("view:hits", true);
}

END_TEST

static void check_rows(const char *text, const char *start, const char *end)
{
    struct mr_spec s = parse(text, false, 0);
    ck_assert_msg(slice_eq_str(s.start, start), "%s: %.*s", text,
                  SLICE_ARG(s.start));
    ck_assert_msg(slice_eq_str(s.end, end), "%s: %.*s", text, SLICE_ARG(s.end));
    mr_spec_close(&s);
}

/* Options that say which rows must all hold, in any order. */
START_TEST(test_rows)
{
    check_rows("table:t?prefix=a&start=a2", "a2", "b");
    check_rows("table:t?start=a2&prefix=a", "a2", "b");
    check_rows("table:t?end=a5&prefix=a", "a", "a5");
    check_rows("table:t?prefix=a&end=a5&start=a3", "a3", "a5");
    check_rows("table:t?start=A&end=z&prefix=a", "a", "b");
}

END_TEST

/* Nonsense is refused, and says why. */
START_TEST(test_nonsense)
{
    parse_bad("", false);
    parse_bad("table:", false);
    parse_bad("file:", true);
    parse_bad("warc:x", true);
    parse_bad("table:t?versions=0", false);
    parse_bad("table:t?versions=x", false);
    parse_bad("table:t?versions=99999999999", false);
    parse_bad("table:t?colour=red", false);
    parse_bad("table:t?prefix", false);
    parse_bad("table:t?prefix=a&prefix=b", false);
    parse_bad("table:t?start=a&prefix=b&start=b", false);
    parse_bad("table:t?end=a&end=b", false);
    parse_bad("table:t?prefix=%4", false);
    parse_bad("table:t?columns=,", false);
    parse_bad("table:t?columns=nocolon", false);
    parse_bad("table:t?versions=1", true);
    parse_bad("table:t?bulk=", true);
    parse_bad("table:t?bulk=yes&live=yes", true);
    parse_bad("table:t?bulk=yes", false);
    parse_bad("table:t?live=maybe", false);
}

END_TEST

/* No text makes the parser read where it should not. */
START_TEST(test_random_text)
{
    struct rand_gen r;
    char text[64];
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        struct mr_spec s;
        size_t n = rand_below(&r, 40);
        strcpy(text, rand_one_in(&r, 2) ? "table:t?" : "");
        for (size_t k = strlen(text), end = k + n; k < end; k++) {
            text[k] = "table:?&=%f,0columnsprefix"[rand_below(&r, 26)];
            text[k + 1] = '\0';
        }
        if (mr_spec_parse(&s, text, rand_one_in(&r, 2), world, NULL))
            i++;
        mr_spec_close(&s);
    }
}

END_TEST

int main(void)
{
    const TTest *const tests[] = {test_kinds, test_formats,  test_table_options,
                                  test_rows,  test_nonsense, test_random_text};
    world = world_real_new();
    return check_main("spec", tests, 6);
}
