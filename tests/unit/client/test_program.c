/* Sawzall programs beside the data: filters of scans, parallel runs that give
 * what one run would, and programs that misbehave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    ROWS = 3000
};

static struct err err;
static struct quarry *quarry;
static struct quarry_table *table;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- Fixture ------------------------------------------------------------- */

static void start(void)
{
    static const struct quarry_family_spec families[] = {{"text", ""},
                                                         {"size", "group=s"}};
    static const struct quarry_group_spec groups[] = {{"default", "block=1KiB"},
                                                      {"s", "block=1KiB"}};
    const struct quarry_write_options deferred = {QUARRY_DEFERRED};
    char target[300];
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &quarry, &err));
    OK(quarry_table_create(quarry, "t", families, 2, groups, 2, &err));
    OK(quarry_table_open(quarry, "t", &table, &err));
    for (int i = 0; i < ROWS; i++) {
        char row[32];
        char value[64];
        struct quarry_mutation *m;
        snprintf(row, sizeof(row), "row%05d", i);
        snprintf(value, sizeof(value), "%s number %d", i % 3 ? "a" : "the", i);
        m = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m, "text", SLICE_LIT("en"), 1, slice_str(value));
        if (i % 2)
            quarry_mutation_set(m, "size", SLICE_LIT("n"), 1, slice_str(value));
        OK(quarry_apply(table, m, &deferred, &err));
        quarry_mutation_free(m);
    }
    OK(quarry_flush(quarry, &err));
    OK(quarry_table_split(quarry, "t", SLICE_LIT("row01000"), &err));
}

static void finish(void)
{
    quarry_table_close(table);
    quarry_close(quarry);
}

static const char *const count_the =
    "r: Row = input;\n"
    "rows: table sum of int;\n"
    "the: table sum[w: string] of int;\n"
    "emit rows <- 1;\n"
    "v := string(r.column[\"text:en\"][0].value);\n"
    "emit the[v[0:1]] <- 1;\n";

/* --- Tests --------------------------------------------------------------- */

/* A parallel run counts each row once, over tablets and pieces. */
START_TEST(test_parallel_run)
{
    const struct saw_compile_options co = {.restricted = true};
    const struct saw_run_options ro = {.fuel_per_record = 0};
    struct quarry_read_options opts = {.versions = 0};
    struct buf diagnostics = BUF_INIT;
    struct saw_program *p;
    char *texts[2];
    start();
    ck_assert_msg(
        saw_compile(&co, slice_str(count_the), "count", &p, &diagnostics) == 0,
        "%s", buf_cstr(&diagnostics));
    for (int ordered = 0; ordered < 2; ordered++) {
        struct buf out = BUF_INIT;
        struct saw_run *run;
        uint64_t rows = 0;
        opts.ordered = ordered;
        OK(saw_run_new(p, &ro, &run, &err));
        OK(quarry_run_program(table, &opts, run, &rows, &err));
        ck_assert_uint_eq(rows, ROWS);
        saw_run_print(run, &out);
        texts[ordered] = buf_take(&out);
        saw_run_free(run);
    }
    ck_assert_str_eq(texts[0], texts[1]);
    ck_assert_msg(strstr(texts[0], "rows[] = 3000") != NULL, "%s", texts[0]);
    free(texts[0]);
    free(texts[1]);
    buf_close(&diagnostics);
    saw_program_free(p);
    finish();
}

END_TEST

static size_t
scan_count(const char *program, uint64_t limit, uint64_t fuel, int *rc)
{
    struct quarry_read_options opts = {.program = program,
                                       .program_len = strlen(program),
                                       .program_fuel = fuel,
                                       .row_limit = limit};
    struct quarry_scanner *s;
    const struct quarry_row *row;
    size_t n = 0;
    *rc = quarry_scan(table, &opts, &s, &err);
    if (*rc)
        return 0;
    for (;;) {
        *rc = quarry_scanner_next(s, &row, &err);
        if (*rc || !row)
            break;
        ck_assert_uint_gt(row->cell_count, 0);
        n++;
    }
    quarry_scanner_close(s);
    return n;
}

/* A program that keeps rows filters a scan; the limit counts what is kept. */
START_TEST(test_filter)
{
    const char *program =
        "r: Row = input;\n"
        "if (match(`^the`, string(r.column[\"text:en\"][0].value)))\n"
        "  emit keep <- r;\n";
    int rc;
    start();
    ck_assert_uint_eq(scan_count(program, 0, 0, &rc), ROWS / 3);
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_uint_eq(scan_count(program, 7, 0, &rc), 7);
    finish();
}

END_TEST

/* Programs that do not compile, keep nothing, or never end. */
START_TEST(test_bad_programs)
{
    int rc;
    start();
    scan_count("r: Row = ;", 0, 0, &rc);
    ck_assert_int_eq(rc, ERR_INVALID);
    ck_assert_msg(strstr(err.text, "the program does not compile:\n"
                                   "program:1:"),
                  "%s", err.text);
    scan_count("r: Row = input;", 0, 0, &rc);
    ck_assert_int_eq(rc, ERR_INVALID);
    ck_assert_str_eq(err.text, "the program keeps no rows (emit keep <- r;)");
    scan_count("r: Row = input;\nwhile (true) { }\nemit keep <- r;", 0, 0, &rc);
    ck_assert_int_eq(rc, ERR_EXHAUSTED);
    ck_assert_msg(strstr(err.text, "row \"row00000\": ") == err.text, "%s",
                  err.text);
    finish();
}

END_TEST

/* A request for unlimited fuel gets the server's maximum: a sort that would
 * take longer is not begun. */
START_TEST(test_fuel_max)
{
    int rc;
    start();
    scan_count("r: Row = input;\n"
               "a := sort(new(array of int, 12000000, 0));\n"
               "if (len(a) > 0)\n"
               "  emit keep <- r;",
               1, UINT64_MAX, &rc);
    ck_assert_int_eq(rc, ERR_EXHAUSTED);
    ck_assert_msg(strstr(err.text, "over 1000000000 instructions") != NULL,
                  "%s", err.text);
    finish();
}

END_TEST

TEST_MAIN("program",
          test_parallel_run,
          test_filter,
          test_bad_programs,
          test_fuel_max)
