/* The cost of a look-up by an index, beside a read of one row by its key, in
 * turns: of a unique index and of another, each value of which has one row.
 *
 *     bench_index TARGET [KEY]
 *
 * Prints "read_us unique_us plain_us read_cpu_us unique_cpu_us plain_cpu_us":
 * of the clock, and of this process's processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_index.h"

enum {
    ROUNDS = 10,
    CALLS = 300, /* A round. */
    ROWS = 20000,
    BATCH = 500,
    WAYS = 3
};

static struct err err;
static struct quarry *q;
static struct quarry_table *table;

static void check(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_index: %s\n", err.text);
    exit(1);
}

static double now_us(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        exit(1);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct slice name_of(char kind, uint64_t n, char text[24])
{
    snprintf(text, 24, "%c%08llu", kind, (unsigned long long)n);
    return slice_str(text);
}

static void fill(void)
{
    for (uint64_t begin = 0; begin < ROWS; begin += BATCH) {
        struct quarry_mutation *list[BATCH];
        for (uint64_t i = 0; i < BATCH; i++) {
            char text[24];
            list[i] = quarry_mutation_new(name_of('r', begin + i, text));
            quarry_mutation_set(list[i], "f", SLICE_LIT("u"), QUARRY_NOW,
                                name_of('u', begin + i, text));
            quarry_mutation_set(list[i], "f", SLICE_LIT("p"), QUARRY_NOW,
                                name_of('p', begin + i, text));
        }
        check(quarry_apply_batch(table, list, BATCH, NULL, NULL, &err));
        for (uint64_t i = 0; i < BATCH; i++)
            quarry_mutation_free(list[i]);
    }
    check(quarry_flush(q, &err));
}

static void make_index(const char *column, bool unique)
{
    const struct quarry_index_column by[] = {{"f", slice_str(column)}};
    const struct quarry_index_spec spec = {.table = "people",
                                           .name = column,
                                           .columns = by,
                                           .column_count = 1,
                                           .unique = unique};
    check(quarry_index_create(q, &spec, NULL, NULL, &err));
}

static void read_by_key(uint64_t n)
{
    struct quarry_row *row;
    char text[24];
    check(quarry_read_row(table, name_of('r', n, text), NULL, &row, &err));
    if (!row || row->cell_count != 2)
        exit(1);
    quarry_row_free(row);
}

static void look_up(uint64_t n, const char *index)
{
    char text[24];
    struct slice value = name_of(index[0], n, text);
    const struct quarry_index_query query = {
        .index = index, .equal = &value, .equal_count = 1};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    unsigned rows = 0;
    check(quarry_index_scan(table, &query, NULL, &s, &err));
    do {
        check(quarry_scanner_next(s, &row, &err));
        rows += row != NULL;
    } while (row);
    quarry_scanner_close(s);
    if (rows != 1)
        exit(1);
}

static void run_way(int way, uint64_t n)
{
    if (way == 0)
        read_by_key(n);
    else
        look_up(n, way == 1 ? "u" : "p");
}

int main(int argc, char **argv)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    const struct quarry_options o = {.key_file = argc > 2 ? argv[2] : NULL};
    double wall[WAYS] = {0.0, 0.0, 0.0};
    double cpu[WAYS] = {0.0, 0.0, 0.0};
    struct rand_gen rand;
    if (argc < 2)
        return 2;
    rand_init(&rand, 1);
    check(quarry_open(argv[1], &o, &q, &err));
    check(quarry_table_create(q, "people", &family, 1, NULL, 0, &err));
    check(quarry_table_open(q, "people", &table, &err));
    fill();
    make_index("u", true);
    make_index("p", false);
    check(quarry_flush(q, &err));
    for (int i = 0; i < ROUNDS * WAYS; i++) {
        double wall_us = now_us(CLOCK_MONOTONIC);
        double cpu_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
        for (int k = 0; k < CALLS; k++)
            run_way(i % WAYS, rand_below(&rand, ROWS));
        wall[i % WAYS] += now_us(CLOCK_MONOTONIC) - wall_us;
        cpu[i % WAYS] += now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
    }
    for (int i = 0; i < 2 * WAYS; i++)
        printf("%.1f%c",
               (i < WAYS ? wall[i] : cpu[i - WAYS]) / (ROUNDS * CALLS),
               i + 1 < 2 * WAYS ? ' ' : '\n');
    quarry_table_close(table);
    quarry_close(q);
    return 0;
}
