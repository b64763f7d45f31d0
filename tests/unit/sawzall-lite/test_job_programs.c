/* The Sawzall programs of jobs/ compile as a server compiles them and give the
 * right answers about a small web table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"

/* --- Fixture: three pages of two hosts, one page without contents -------- */

#define T2020 INT64_C(1577836800000000) /* 2020-01-01 */
#define DAY   INT64_C(86400000000)

/* SLICE_LIT is no constant expression. */
#define TEXT(s)                                                                \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }
#define CELL(f, q, t, v)                                                       \
    {                                                                          \
        TEXT(f), TEXT(q), t, TEXT(v)                                           \
    }

static const struct saw_cell first[] = {
    CELL("anchor", "org.b/x", T2020, "Home"),
    CELL("anchor", "org.b/y", T2020, "Start"),
    CELL("contents", "", T2020 + 40 * DAY, "<p>Hello</p>"),
    CELL("contents", "", T2020, "<p>old</p>"),
    CELL("http", "content-type", T2020, "text/html; charset=utf-8"),
    CELL("http", "status", T2020, "200"),
    CELL("language", "", T2020, "en"),
};
static const struct saw_cell second[] = {
    CELL("anchor", "org.a.www/", T2020, "Home"),
    CELL("contents", "", T2020, "<p>Hello</p>"),
    CELL("http", "content-type", T2020, "TEXT/HTML"),
    CELL("http", "status", T2020, "404"),
    CELL("language", "", T2020, "fr"),
};
static const struct saw_cell third[] = {
    CELL("contents", "", T2020 + DAY, "x"),
    CELL("http", "status", T2020, "404"),
};
static const struct saw_cell fourth[] = {
    CELL("anchor", "org.b/x", T2020, "Elsewhere"),
};

static const struct saw_row rows[] = {
    {TEXT("org.a.www/"), first, ARRAY_LEN(first)},
    {TEXT("org.b/x"), second, ARRAY_LEN(second)},
    {TEXT("org.b/y"), third, ARRAY_LEN(third)},
    {TEXT("org.c/"), fourth, ARRAY_LEN(fourth)},
};

/* --- Helpers ------------------------------------------------------------- */

static struct saw_program *compile(const char *name)
{
    struct saw_compile_options opts = {.restricted = true};
    struct saw_program *p = NULL;
    struct buf text = BUF_INIT;
    struct buf diagnostics = BUF_INIT;
    char path[500];
    FILE *f;
    int c;
    int rc;

    snprintf(path, sizeof(path), "%s/jobs/%s.szl", QUARRY_SOURCE_DIR, name);
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    while ((c = fgetc(f)) != EOF)
        buf_append_byte(&text, (char)c);
    fclose(f);
    rc = saw_compile(&opts, buf_slice(&text), name, &p, &diagnostics);
    ck_assert_msg(rc == 0 && diagnostics.len == 0, "%s",
                  buf_cstr(&diagnostics));
    buf_close(&text);
    buf_close(&diagnostics);
    return p;
}

/* Each row in a run of its own, the tables merged: as in an engine of many
 * tablets. */
static char *results(const char *name)
{
    struct saw_program *p = compile(name);
    struct saw_run_options opts = {.fuel_per_record = 1000000,
                                   .memory_bytes_max = 64 << 20};
    struct saw_run *all;
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    ck_assert(saw_program_wants_rows(p));
    ck_assert_int_eq(saw_run_new(p, &opts, &all, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct saw_run *one;
        struct buf state = BUF_INIT;
        ck_assert_int_eq(saw_run_new(p, &opts, &one, &err), 0);
        ck_assert_msg(saw_run_row(one, &rows[i], &err) == 0, "%s: %s", name,
                      err.text);
        saw_run_encode_tables(one, &state);
        ck_assert_int_eq(saw_run_merge_tables(all, buf_slice(&state), &err), 0);
        buf_close(&state);
        saw_run_free(one);
    }
    saw_run_print(all, &out);
    saw_run_free(all);
    saw_program_free(p);
    return buf_take(&out);
}

static void expect(const char *name, const char *want)
{
    char *got = results(name);
    ck_assert_str_eq(got, want);
    free(got);
}

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_top_hosts)
{
    expect("top_hosts", "pages[] = 3\nbytes_stored[] = 25\nhosts[] = 2\n"
                        "by_pages[] = b.org, 2, 0\n"
                        "by_pages[] = www.a.org, 1, 0\n"
                        "by_bytes[] = b.org, 13, 0\n"
                        "by_bytes[] = www.a.org, 12, 0\n");
}

END_TEST

START_TEST(test_link_texts)
{
    expect("link_texts",
           "links[] = 4\ntexts[] = Home, 2, 0\ntexts[] = Elsewhere, 1, 0\n"
           "texts[] = Start, 1, 0\ntargets[] = org.a.www/, 2, 0\n"
           "targets[] = org.b/x, 1, 0\ntargets[] = org.c/, 1, 0\n"
           "links_per_page[] = 1\nlinks_per_page[] = 1\nlinks_per_page[] = 1\n"
           "links_per_page[] = 1\nlinks_per_page[] = 1\nlinks_per_page[] = 1\n"
           "links_per_page[] = 1\nlinks_per_page[] = 2\nlinks_per_page[] = 2\n"
           "links_per_page[] = 2\nlinks_per_page[] = 2\n");
}

END_TEST

START_TEST(test_languages)
{
    expect("languages", "pages[en] = 1\npages[fr] = 1\n"
                        "characters[en] = 12\ncharacters[fr] = 12\n"
                        "hosts[en] = 1\nhosts[fr] = 1\n"
                        "examples[en] = org.a.www/\nexamples[fr] = org.b/x\n");
}

END_TEST

START_TEST(test_sizes_by_type)
{
    char *got = results("sizes_by_type");
    ck_assert(strstr(got, "documents[text/html] = 2\n"));
    ck_assert(strstr(got, "documents[unknown] = 1\n"));
    ck_assert(strstr(got, "total[text/html] = 24\n"));
    ck_assert(strstr(got, "largest[unknown] = org.b/y, 1\n"));
    free(got);
}

END_TEST

START_TEST(test_duplicates)
{
    char *got = results("duplicates");
    ck_assert(strstr(got, "pages[] = 3\n"));
    ck_assert(strstr(got, "distinct[] = 2\n"));
    ck_assert(strstr(got, "copies[] = 1, 0.5\ncopies[] = 2, 0.5\n"));
    free(got);
}

END_TEST

START_TEST(test_freshness)
{
    char *got = results("freshness");
    ck_assert_msg(strstr(got, "latest[2020-01] = 2\nlatest[2020-02] = 1\n"),
                  "%s", got);
    ck_assert(strstr(got, "captures[2020-01] = 3\ncaptures[2020-02] = 1\n"));
    ck_assert(strstr(got, "captures_per_page[1] = 2\n"
                          "captures_per_page[2] = 1\n"));
    ck_assert(strstr(got, "days_between[] = 40\n"));
    ck_assert(strstr(got, "oldest[] = org.b/x, 1577836800000000\n"));
    free(got);
}

END_TEST

START_TEST(test_http_status)
{
    expect("http_status", "answers[200] = 1\nanswers[404] = 2\n"
                          "failing[404] = b.org, 2, 0\n");
}

END_TEST

TEST_MAIN("job_programs",
          test_top_hosts,
          test_link_texts,
          test_languages,
          test_sizes_by_type,
          test_duplicates,
          test_freshness,
          test_http_status)
