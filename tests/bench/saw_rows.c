/* Programs beside the data: a scan with a filter, a scan that counts, and the
 * plain scan of the same table, in turn.
 *
 *     bench_saw_rows DIRECTORY BYTES ROUNDS
 *
 * The table (about BYTES of keys and values, made when DIRECTORY lacks it)
 * looks like that of a crawl: four small columns of one family and a body of
 * 400 bytes in each row, three rows in four with status 200. Prints lines of
 * figure, ours, peer, ratio, unit: rows a second of CPU time, medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "sawzall-lite/sawzall.h"

#define BODY_BYTES 400
#define ROW_BYTES  520 /* About: with key, columns and values. */
#define BATCH      512
#define ROUNDS_MAX 100

static void check(int rc, const struct err *err)
{
    if (rc) {
        fprintf(stderr, "bench_saw_rows: %s\n", err->text);
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* --- the table ----------------------------------------------------------- */

static void fill(struct quarry_mutation *m, struct rand_gen *r, unsigned long i)
{
    static const char *const status[] = {"200", "200", "200", "404"};
    static const char *const types[] = {"text/html", "text/html",
                                        "application/json", "image/png"};
    char key[64];
    char number[32];
    char body[BODY_BYTES];
    struct slice family = SLICE_LIT("status");

    snprintf(key, sizeof(key), "com.example.host%05lu/page/%08lu", i / 50, i);
    snprintf(number, sizeof(number), "%u", (unsigned)(rand_u64(r) % 100000));
    for (size_t k = 0; k < sizeof(body); k++)
        body[k] = (char)('a' + rand_u64(r) % 16);
    quarry_mutation_reset(m, slice_str(key));
    quarry_mutation_set(m, "http", family, 1000000,
                        slice_str(status[rand_u64(r) % 4]));
    quarry_mutation_set(m, "http", SLICE_LIT("type"), 1000000,
                        slice_str(types[rand_u64(r) % 4]));
    quarry_mutation_set(m, "http", SLICE_LIT("length"), 1000000,
                        slice_str(number));
    quarry_mutation_set(m, "http", SLICE_LIT("server"), 1000000,
                        SLICE_LIT("nginx"));
    quarry_mutation_set(m, "page", SLICE_LIT("body"), 1000000,
                        slice_make(body, sizeof(body)));
}

static void make(struct quarry *q, unsigned long rows)
{
    const struct quarry_family_spec families[] = {{"http", ""}, {"page", ""}};
    const struct quarry_group_spec group = {"default", "compression=zstd"};
    const struct quarry_write_options w = {.durability = QUARRY_DEFERRED};
    struct quarry_mutation *batch[BATCH];
    struct quarry_table *t;
    struct rand_gen r;
    struct err err = ERR_INIT;
    size_t n = 0;

    rand_init(&r, 1);
    check(quarry_table_create(q, "rows", families, 2, &group, 1, &err), &err);
    check(quarry_table_open(q, "rows", &t, &err), &err);
    for (size_t i = 0; i < BATCH; i++)
        batch[i] = quarry_mutation_new(SLICE_LIT("x"));
    for (unsigned long i = 0; i < rows; i++) {
        fill(batch[n++], &r, i);
        if (n == BATCH || i + 1 == rows) {
            check(quarry_apply_batch(t, batch, n, &w, NULL, &err), &err);
            n = 0;
        }
    }
    for (size_t i = 0; i < BATCH; i++)
        quarry_mutation_free(batch[i]);
    quarry_table_close(t);
    check(quarry_flush(q, &err), &err);
    check(quarry_table_compact(q, "rows", &err), &err);
}

/* --- the measured -------------------------------------------------------- */

/* All rows, or those @program keeps: CPU seconds. */
static double
scan(struct quarry_table *t, const char *program, unsigned long *rows)
{
    struct quarry_read_options o = {
        .program = program, .program_len = program ? strlen(program) : 0};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    struct err err = ERR_INIT;
    double begin = cpu_seconds();

    *rows = 0;
    check(quarry_scan(t, &o, &s, &err), &err);
    for (;;) {
        check(quarry_scanner_next(s, &row, &err), &err);
        if (!row)
            break;
        ++*rows;
    }
    quarry_scanner_close(s);
    return cpu_seconds() - begin;
}

/* The tables of @program over all rows: CPU seconds. */
static double aggregate(struct quarry_table *t, const char *program)
{
    struct saw_compile_options co = {.restricted = true};
    struct saw_run_options ro = {.seed = 1};
    struct buf diagnostics = BUF_INIT;
    struct saw_program *p;
    struct saw_run *run;
    struct err err = ERR_INIT;
    uint64_t rows;
    double begin = cpu_seconds();

    if (saw_compile(&co, slice_str(program), "bench", &p, &diagnostics) != 0)
        check(err_set(&err, ERR_INVALID, "%s", buf_cstr(&diagnostics)), &err);
    check(saw_run_new(p, &ro, &run, &err), &err);
    check(quarry_run_program(t, NULL, run, &rows, &err), &err);
    saw_run_free(run);
    saw_program_free(p);
    buf_close(&diagnostics);
    return cpu_seconds() - begin;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static void figure(const char *name,
                   double *ours,
                   double *plain,
                   int rounds,
                   unsigned long rows)
{
    double ratio[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        ratio[i] = plain[i] / ours[i];
    qsort(ratio, (size_t)rounds, sizeof(double), by_value);
    qsort(ours, (size_t)rounds, sizeof(double), by_value);
    printf("%s\t%.0f\t%.0f\t%.2f\trows/s cpu\n", name,
           (double)rows / ours[rounds / 2],
           (double)rows / (ours[rounds / 2] * ratio[rounds / 2]),
           ratio[rounds / 2]);
}

#define WHERE(condition) "r: Row = input; if (" condition ") emit keep <- r;\n"

static const struct {
    const char *name;
    const char *program;
    bool aggregates;
} cases[] = {
    {"saw_keep_if_status_200",
     WHERE("string(cell(r, \"http:status\")) == \"200\""), false},
    {"saw_keep_if_status_404",
     WHERE("int(string(cell(r, \"http:status\"))) == 404"), false},
    {"saw_keep_if_type_matches",
     WHERE("match(\"^text/\", string(cell(r, \"http:type\")))"), false},
    {"saw_sum_by_status",
     "r: Row = input; n: table sum[s: string] of int;\n"
     "emit n[string(cell(r, \"http:status\"))] <- 1;\n",
     true},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(int argc, char **argv)
{
    static double times[CASES][ROUNDS_MAX];
    static double plain[ROUNDS_MAX];
    struct buf target = BUF_INIT;
    struct quarry_table *t;
    struct quarry *q;
    struct err err = ERR_INIT;
    unsigned long rows;
    unsigned long kept;
    int rounds;

    if (argc != 4) {
        fprintf(stderr, "usage: bench_saw_rows DIRECTORY BYTES ROUNDS\n");
        return 2;
    }
    rounds = atoi(argv[3]);
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = 5;
    buf_printf(&target, "file:%s", argv[1]);
    check(quarry_open(buf_cstr(&target), NULL, &q, &err), &err);
    if (quarry_table_open(q, "rows", &t, NULL) != 0) {
        make(q, strtoul(argv[2], NULL, 10) / ROW_BYTES);
        check(quarry_table_open(q, "rows", &t, &err), &err);
    }
    scan(t, NULL, &rows); /* Warms caches for all. */
    for (int i = 0; i < rounds; i++) {
        plain[i] = scan(t, NULL, &rows);
        for (size_t k = 0; k < CASES; k++)
            times[k][i] = cases[k].aggregates
                              ? aggregate(t, cases[k].program)
                              : scan(t, cases[k].program, &kept);
    }
    for (size_t k = 0; k < CASES; k++)
        figure(cases[k].name, times[k], plain, rounds, rows);
    quarry_table_close(t);
    quarry_close(q);
    buf_close(&target);
    return 0;
}
