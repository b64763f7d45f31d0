/* quarry bench: how fast this machine and this disk are.
 *
 * A few phases on a scratch store beside the target, DIR.bench, which is
 * removed at the end. This file also has the options of `bench tables`
 * (bench_tables.c). scripts/bench compares with other systems.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/bench_tables.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"

#define BENCH_TABLE "bench"
#define BATCH_ROWS  100
#define READS_MAX   200000
#define SYNCED_ROWS 500

struct bench {
    struct cli *cli;            /* Borrowed. */
    struct quarry *store;       /* Owned. */
    struct quarry_table *table; /* Owned. */
    struct sheet sheet;
    uint64_t rows;
    uint64_t value_bytes;
    char *value; /* Owned; half of it compresses. */
};

static struct slice key_of(uint64_t i, char text[32])
{
    int n = snprintf(text, 32, "%016llx", (unsigned long long)hash_mix(i));
    return slice_make(text, (size_t)n);
}

static void
add_result(struct bench *b, const char *phase, uint64_t count, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    sheet_add_str(&b->sheet, phase);
    sheet_add_u64(&b->sheet, count);
    sheet_addf(&b->sheet, "%.3f", seconds);
    sheet_addf(&b->sheet, "%.0f", (double)count / seconds);
    sheet_addf(&b->sheet, "%.1f", seconds * 1e6 / (double)count);
}

static int bench_fill(struct bench *b, struct err *err)
{
    static const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct quarry_mutation *batch[BATCH_ROWS];
    uint64_t start = world_mono_ns(b->cli->world);
    int rc = ERR_OK;
    char text[32];
    PRE(b->rows % BATCH_ROWS == 0);
    for (size_t i = 0; i < BATCH_ROWS; i++)
        batch[i] = quarry_mutation_new(SLICE_LIT("x"));
    for (uint64_t i = 0; i < b->rows && !rc && !interrupted();
         i += BATCH_ROWS) {
        for (size_t j = 0; j < BATCH_ROWS; j++) {
            quarry_mutation_reset(batch[j], key_of(i + j, text));
            quarry_mutation_set(batch[j], "f", SLICE_LIT("q"), QUARRY_NOW,
                                slice_make(b->value, b->value_bytes));
        }
        rc =
            quarry_apply_batch(b->table, batch, BATCH_ROWS, &logged, NULL, err);
    }
    if (!rc)
        rc = quarry_flush(b->store, err);
    for (size_t i = 0; i < BATCH_ROWS; i++)
        quarry_mutation_free(batch[i]);
    if (!rc)
        add_result(b, "fill, batches of 100", b->rows,
                   world_mono_ns(b->cli->world) - start);
    return rc;
}

static int write_synced(struct bench *b, struct err *err)
{
    uint64_t start = world_mono_ns(b->cli->world);
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    int rc = ERR_OK;
    char text[32];
    for (uint64_t i = 0; i < SYNCED_ROWS && !rc && !interrupted(); i++) {
        quarry_mutation_reset(m, key_of(i, text));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), QUARRY_NOW,
                            slice_make(b->value, b->value_bytes));
        rc = quarry_apply(b->table, m, NULL, err);
    }
    quarry_mutation_free(m);
    if (!rc)
        add_result(b, "write, each synced", SYNCED_ROWS,
                   world_mono_ns(b->cli->world) - start);
    return rc;
}

static int read_random(struct bench *b, struct err *err)
{
    uint64_t count = MIN_OF(b->rows, (uint64_t)READS_MAX);
    uint64_t start = world_mono_ns(b->cli->world);
    struct buf value = BUF_INIT;
    struct rand_gen chance;
    int rc = ERR_OK;
    char text[32];
    rand_init(&chance, 1);
    for (uint64_t i = 0; i < count && !rc && !interrupted(); i++) {
        bool found;
        struct slice key = key_of(rand_below(&chance, b->rows), text);
        buf_clear(&value);
        rc =
            quarry_get(b->table, key, "f", SLICE_LIT("q"), &value, &found, err);
        if (!rc && !found)
            rc = err_set(err, ERR_CORRUPT, "bench: row %s is not there", text);
    }
    buf_close(&value);
    if (!rc)
        add_result(b, "read a random row", count,
                   world_mono_ns(b->cli->world) - start);
    return rc;
}

static int scan_all(struct bench *b, struct err *err)
{
    uint64_t start = world_mono_ns(b->cli->world);
    struct quarry_scanner *s;
    const struct quarry_row *row;
    uint64_t count = 0;
    int rc = quarry_scan(b->table, NULL, &s, err);
    if (rc)
        return rc;
    while (!interrupted() && !(rc = quarry_scanner_next(s, &row, err)) && row)
        count++;
    quarry_scanner_close(s);
    if (!rc)
        add_result(b, "scan all rows", count,
                   world_mono_ns(b->cli->world) - start);
    return rc;
}

static int run_phases(struct bench *b, struct err *err)
{
    static int (*const phases[])(struct bench *, struct err *) = {
        bench_fill, read_random, scan_all, write_synced};
    struct quarry_family_spec family = {"f", ""};
    int rc =
        quarry_table_create(b->store, BENCH_TABLE, &family, 1, NULL, 0, err);
    if (!rc)
        rc = quarry_table_open(b->store, BENCH_TABLE, &b->table, err);
    for (size_t i = 0; i < ARRAY_LEN(phases) && !rc && !interrupted(); i++)
        rc = phases[i](b, err);
    if (!rc && interrupted())
        rc = err_set(err, ERR_CANCELLED, "bench: interrupted");
    quarry_table_close(b->table);
    return rc;
}

static void make_value(struct bench *b)
{
    struct rand_gen chance;
    struct buf v = BUF_INIT;
    PRE(!b->value);
    rand_init(&chance, 7);
    for (uint64_t i = 0; i < b->value_bytes; i++)
        buf_append_byte(&v, i % 2 ? 'x' : (char)rand_below(&chance, 256));
    b->value = buf_take(&v);
}

/* The store DIR.bench is made, used and removed. */
static int with_store(struct bench *b, struct err *err)
{
    struct buf target = BUF_INIT;
    struct quarry_options opts = {.world = b->cli->world};
    struct fs *fs = NULL;
    int rc;
    PRE(!b->store);
    buf_printf(&target, "file:%s.bench", cli_directory(b->cli));
    (void)interrupt_watch();
    rc = cli_master_keys(b->cli, &opts.master_keys, err);
    if (!rc)
        rc = cli_open_waiting(b->cli, buf_cstr(&target), &opts, &b->store, err);
    if (rc)
        goto out;
    rc = run_phases(b, err);
    quarry_close(b->store);
    if (fs_local_open(b->cli->world, buf_cstr(&target) + 5, &fs, NULL) == 0) {
        (void)!fs_remove_tree(fs, ".", NULL);
        fs_close(fs);
        (void)!world_rmdir(b->cli->world, buf_cstr(&target) + 5, NULL);
    }
out:
    buf_close(&target);
    return rc;
}

static const struct option bench_options[] = {
    {"rows", 0, "N", "how many (200000)"},
    {"value", 0, "BYTES", "of each value (1000)"},
    {NULL, 0, NULL, NULL},
};

static int run_bench(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"phase", SHEET_TEXT},
                                                  {"rows", SHEET_NUMBER},
                                                  {"seconds", SHEET_NUMBER},
                                                  {"rows_per_s", SHEET_NUMBER},
                                                  {"us_per_row", SHEET_NUMBER}};
    struct bench b = {.cli = cli, .rows = 200000, .value_bytes = 1000};
    int rc = args_number(args, "rows", BATCH_ROWS, 1000000000, &b.rows, err);
    if (!rc)
        rc = args_number(args, "value", 1, 1 << 20, &b.value_bytes, err);
    if (rc)
        return rc;
    b.rows = b.rows / BATCH_ROWS * BATCH_ROWS;
    make_value(&b);
    sheet_init(&b.sheet, columns, ARRAY_LEN(columns));
    rc = with_store(&b, err);
    if (!rc)
        sheet_print(&b.sheet, cli->format);
    sheet_close(&b.sheet);
    mem_free(b.value);
    return rc;
}

static const struct option tables_options[] = {
    {"rows", 0, "N", "how many (200000)"},
    {"clients", 0, "N", "threads, each with calls and scans of its own (4)"},
    {"depth", 0, "N", "calls of one row that each has under way (256)"},
    {"seconds", 0, "N", "of a workload, at most (20)"},
    {"only", 0, "TEXT", "workloads with that in their names"},
    {"batch", 0, "N", "rows that a write carries (1)"},
    {"value", 0, "BYTES", "of each value (1000)"},
    {NULL, 0, NULL, NULL},
};

const struct command bench_commands[] = {
    {.name = "bench tables",
     .arguments = "[OPTION…]",
     .summary = "Measure the six workloads of the Bigtable paper on a target",
     .details = "Makes the table bench-tables and drops it. Writes are synced.",
     .examples = "quarry -t cluster:quarry-cluster bench tables",
     .options = {tables_options},
     .run = run_bench_tables},
    {.name = "bench",
     .arguments = "[OPTION…]",
     .summary = "Measure reads and writes on this machine",
     .details = "Works on a scratch store beside the target, DIR.bench, and "
                "removes it.",
     .examples = "quarry bench --rows 1000000",
     .options = {bench_options},
     .run = run_bench},
    {.name = NULL},
};
