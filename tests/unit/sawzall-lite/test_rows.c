/* Programs over table rows: columns, pushed-down names, filters. */
#include <stdlib.h>

#include "saw_run_text.h"
#include "tests/lib/check_main.h"

static struct saw_program *compile(const char *text)
{
    struct saw_compile_options opts = {.restricted = true};
    struct saw_program *p = NULL;
    struct buf d = BUF_INIT;
    int rc = saw_compile(&opts, slice_str(text), "rows.szl", &p, &d);

    ck_assert_msg(rc == 0, "%s", buf_cstr(&d));
    buf_close(&d);
    return p;
}

static const struct saw_cell cells[] = {
    {{"anchor", 6}, {"a.com", 5}, 5, {"text", 4}},
    {{"http", 4}, {"status", 6}, 9, {"200", 3}},
    {{"http", 4}, {"status", 6}, 3, {"404", 3}},
};

static const struct saw_row row = {{"com.x/", 6}, cells, 3};

static void expect(const char *program, const char *output)
{
    struct saw_program *p = compile(program);
    struct saw_run_options opts = {0};
    struct saw_run *r = NULL;
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;

    ck_assert_int_eq(saw_run_new(p, &opts, &r, &err), 0);
    ck_assert_msg(saw_run_row(r, &row, &err) == 0, "%s", err.text);
    saw_run_print(r, &out);
    ck_assert_str_eq(buf_cstr(&out), output);
    buf_close(&out);
    saw_run_free(r);
    saw_program_free(p);
}

/* cell() gives the newest value and is undefined for an absent column. */
START_TEST(test_cell)
{
    expect("r: Row = input;\n"
           "emit stdout <- string(r.key) + string(cell(r, \"http:status\"));\n"
           "if (!def(cell(r, \"http:length\"))) emit stdout <- \"absent\";\n",
           "com.x/200\nabsent\n");
}

END_TEST

/* r.column[name] holds all versions, whether looked up alone or as a map. */
START_TEST(test_columns)
{
    const char *one = "r: Row = input;\n"
                      "c: array of Cell = r.column[\"http:status\"];\n"
                      "emit stdout <- format(\"%d %s %d\", len(c),"
                      " string(c[1].value), int(c[1].time));\n";
    const char *all = "r: Row = input;\n"
                      "c: array of Cell = r.column[\"http:status\"];\n"
                      "emit stdout <- format(\"%d %s %d\", len(c),"
                      " string(c[1].value), int(c[1].time));\n"
                      "emit stdout <- string(len(keys(r.column)));\n";
    expect(one, "2 404 3\n");
    expect(all, "2 404 3\n2\n");
}

END_TEST

/* Constant names are what a scan has to read; anything else is everything. */
START_TEST(test_push_down)
{
    const struct slice *columns;
    bool all;
    struct saw_program *p =
        compile("r: Row = input; t: table sum of int;\n"
                "if (def(cell(r, \"http:status\"))) emit t <- 1;\n"
                "if (def(r.column[\"anchor:a.com\"])) emit t <- 1;\n"
                "if (def(cell(r, \"http:status\"))) emit t <- len(r.key);\n");
    ck_assert(saw_program_wants_rows(p));
    ck_assert(!saw_program_keeps_rows(p));
    ck_assert_uint_eq(saw_program_columns(p, &columns, &all), 2);
    ck_assert(!all);
    ck_assert(slice_eq_str(columns[0], "http:status"));
    ck_assert(slice_eq_str(columns[1], "anchor:a.com"));
    saw_program_free(p);
    p = compile("r: Row = input; when (c: each string; def(r.column[c]))"
                " emit stdout <- c;\n");
    ck_assert_uint_eq(saw_program_columns(p, &columns, &all), 0);
    ck_assert(all);
    saw_program_free(p);
    p = compile("emit stdout <- string(input);\n");
    ck_assert(!saw_program_wants_rows(p));
    saw_program_free(p);
}

END_TEST

struct kept {
    int count;
    size_t cells;
};

static int keep(void *ctx, const struct saw_row *r, struct err *err)
{
    struct kept *k = ctx;

    (void)err;
    k->count++;
    k->cells = r->cell_count;
    ck_assert(slice_eq(r->key, row.key));
    return 0;
}

/* A kept row is the row that came in; a changed one is what it became. */
START_TEST(test_keep)
{
    static const char *const programs[] = {
        "r: Row = input; if (string(cell(r, \"http:status\")) == \"200\")"
        " emit keep <- r;\n",
        "r: Row = input; n: map[string] of array of Cell = {:};\n"
        "n[\"f:q\"] = {{5T, input}}; r.column = n; emit keep <- r;\n",
        "r: Row = input; if (string(cell(r, \"http:status\")) == \"500\")"
        " emit keep <- r;\n"};
    static const struct kept want[] = {{1, 3}, {1, 1}, {0, 0}};
    size_t i;

    for (i = 0; i < 3; i++) {
        struct saw_program *p = compile(programs[i]);
        struct kept k = {0, 0};
        struct saw_run_options opts = {.keep = keep, .keep_ctx = &k};
        struct saw_run *r = NULL;
        struct err err = ERR_INIT;
        ck_assert(saw_program_keeps_rows(p));
        ck_assert_int_eq(saw_run_new(p, &opts, &r, &err), 0);
        ck_assert_msg(saw_run_row(r, &row, &err) == 0, "%s", err.text);
        ck_assert_int_eq(k.count, want[i].count);
        ck_assert_uint_eq(k.cells, want[i].cells);
        saw_run_free(r);
        saw_program_free(p);
    }
}

END_TEST

/* Any split of the records over two runs, merged, gives what one run gives. */
START_TEST(test_merge)
{
    struct saw_program *p =
        compile("n: table sum[w: string] of int;\n"
                "u: table unique(100) of string;\n"
                "top: table top(3) of string weight int;\n"
                "w: string = string(input); emit n[w] <- len(w);\n"
                "emit u <- w; emit top <- w weight 1;\n");
    struct saw_run_options opts = {0};
    struct saw_run *runs[3];
    struct err err = ERR_INIT;
    struct buf state = BUF_INIT;
    struct buf one = BUF_INIT;
    struct buf two = BUF_INIT;
    char word[16];
    int i;

    for (i = 0; i < 3; i++)
        ck_assert_int_eq(saw_run_new(p, &opts, &runs[i], &err), 0);
    for (i = 0; i < 300; i++) {
        struct slice s = slice_make(
            word, (size_t)snprintf(word, sizeof(word), "w%d", i * i % 37));
        ck_assert_int_eq(saw_run_record(runs[0], s, s, &err), 0);
        ck_assert_int_eq(saw_run_record(runs[1 + i % 2], s, s, &err), 0);
    }
    saw_run_encode_tables(runs[2], &state);
    ck_assert_msg(saw_run_merge_tables(runs[1], buf_slice(&state), &err) == 0,
                  "%s", err.text);
    saw_run_print(runs[0], &one);
    saw_run_print(runs[1], &two);
    ck_assert_uint_gt(one.len, 100);
    ck_assert_str_eq(buf_cstr(&one), buf_cstr(&two));
    /* A cut state is refused. */
    for (i = 0; i < (int)state.len; i += 7)
        ck_assert_int_ne(saw_run_merge_tables(
                             runs[2], slice_make(state.data, (size_t)i), &err),
                         0);
    for (i = 0; i < 3; i++)
        saw_run_free(runs[i]);
    saw_program_free(p);
    buf_close(&state);
    buf_close(&one);
    buf_close(&two);
}

END_TEST

/* A row that is only counted is a declaration that something needs. */
START_TEST(test_row_not_looked_at)
{
    const struct saw_compile_options opts = {.restricted = true};
    struct saw_program *p = NULL;
    struct buf d = BUF_INIT;
    ck_assert_int_eq(saw_compile(&opts,
                                 SLICE_LIT("r: Row = input;\n"
                                           "n: table sum of int;\n"
                                           "emit n <- 1;\n"),
                                 "rows.szl", &p, &d),
                     0);
    ck_assert_str_eq(buf_cstr(&d), "");
    ck_assert(saw_program_wants_rows(p));
    buf_close(&d);
    saw_program_free(p);
}

END_TEST

/* The cancel flag ends a record soon, also where few instructions do much. */
START_TEST(test_cancel)
{
    static const char *const programs[] = {
        "for (;;) ;\n",
        "s := new(string, 3000000, 'a'); b: bool;\n"
        "for (i := 0; i < 50; i++) b = match(\"b+c\", s);\n",
        "a := new(array of int, 300000, 0); b: array of int;\n"
        "for (i := 0; i < 50; i++) b = sort(a);\n",
    };
    atomic_bool cancel = true;
    struct saw_run_options opts = {.cancel = &cancel};

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct saw_program *p = compile(programs[i]);
        struct saw_run *r = NULL;
        struct err err = ERR_INIT;
        ck_assert_int_eq(saw_run_new(p, &opts, &r, &err), 0);
        ck_assert_int_eq(saw_run_record(r, SLICE_EMPTY, SLICE_EMPTY, &err),
                         ERR_CANCELLED);
        saw_run_free(r);
        saw_program_free(p);
    }
}

END_TEST

static int run_on_fuel(const char *source, uint64_t fuel)
{
    struct saw_program *p = compile(source);
    const struct saw_run_options opts = {.fuel_per_record = fuel};
    struct saw_run *r = NULL;
    int rc;

    ck_assert_int_eq(saw_run_new(p, &opts, &r, NULL), 0);
    rc = saw_run_record(r, SLICE_EMPTY, SLICE_EMPTY, NULL);
    saw_run_free(r);
    saw_program_free(p);
    return rc;
}

/* Sorting burns for what its comparisons walk: each of the ten rounds over a
 * thousand texts of 3,200 bytes is 200 instructions a text. */
START_TEST(test_sort_burns)
{
#define TEXTS(n)                                                               \
    "a := new(array of string, 1000, new(string, " #n ", 'x'));\n"             \
    "b := sort(a);\n"

    enum {
        ROUND = 1000 * 200
    };

    ck_assert_int_eq(run_on_fuel(TEXTS(1), ROUND), 0);
    ck_assert_int_eq(run_on_fuel(TEXTS(3200), 10 * ROUND), ERR_EXHAUSTED);
    ck_assert_int_eq(run_on_fuel(TEXTS(3200), 17 * ROUND), 0);
}

END_TEST

TEST_MAIN("rows",
          test_cell,
          test_columns,
          test_push_down,
          test_keep,
          test_merge,
          test_row_not_looked_at,
          test_cancel,
          test_sort_burns)
