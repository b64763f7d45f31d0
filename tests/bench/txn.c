/* The cost of a transaction: transfers between two rows, each of two reads and
 * two writes, beside two single-row writes that are synced one after the other,
 * in turns; and timestamps by batches.
 *
 *     bench_txn TARGET [KEY]
 *
 * Prints "transfer_us two_writes_us timestamps_per_s".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_txn.h"

enum {
    ROUNDS = 10,
    CALLS = 100, /* A round. */
    ROWS = 1000,
    BATCHES = 200
};

static struct err err;
static struct quarry *q;
static struct quarry_table *table;

static void check(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_txn: %s\n", err.text);
    exit(1);
}

static struct slice row_name(uint64_t n, char text[24])
{
    snprintf(text, 24, "row%08llu", (unsigned long long)n);
    return slice_str(text);
}

static int transfer(struct quarry_txn *t, void *ctx, struct err *e)
{
    const uint64_t *rows = ctx;
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct buf value = BUF_INIT;
        char name[24];
        char text[24];
        bool found;
        long n;
        rc = quarry_txn_get(t, table, row_name(rows[i], name), "f",
                            SLICE_LIT("balance"), &value, &found, e);
        n = rc == 0 && found ? atol(buf_cstr(&value)) : 0;
        snprintf(text, sizeof(text), "%ld", i ? n + 1 : n - 1);
        if (rc == 0)
            rc = quarry_txn_put(t, table, slice_str(name), "f",
                                SLICE_LIT("balance"), slice_str(text), e);
        buf_close(&value);
    }
    return rc;
}

static void run_transfer(uint64_t rows[2])
{
    check(quarry_txn_run(q, NULL, transfer, rows, &err));
}

static void run_writes(uint64_t rows[2])
{
    for (int i = 0; i < 2; i++) {
        char name[24];
        struct quarry_mutation *m =
            quarry_mutation_new(row_name(ROWS + rows[i], name));
        quarry_mutation_set(m, "f", SLICE_LIT("balance"), QUARRY_NOW,
                            SLICE_LIT("100"));
        check(quarry_apply(table, m, NULL, &err));
        quarry_mutation_free(m);
    }
}

/* Seconds that CALLS of @call take. */
static double time_calls(struct world *w,
                         struct rand_gen *rand,
                         void (*call)(uint64_t rows[2]))
{
    uint64_t begin = world_mono_ns(w);
    for (int i = 0; i < CALLS; i++) {
        uint64_t rows[2] = {rand_below(rand, ROWS / 2),
                            ROWS / 2 + rand_below(rand, ROWS / 2)};
        call(rows);
    }
    return (double)(world_mono_ns(w) - begin) / 1e9;
}

static double time_stamps(struct world *w)
{
    uint64_t begin = world_mono_ns(w);
    int64_t first;
    for (int i = 0; i < BATCHES; i++)
        check(quarry_timestamps(q, QUARRY_TIMESTAMPS_MAX, &first, &err));
    return (double)(world_mono_ns(w) - begin) / 1e9;
}

int main(int argc, char **argv)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    const struct quarry_options o = {.key_file = argc > 2 ? argv[2] : NULL};
    struct world *w = world_real_new();
    struct rand_gen rand;
    double transfers = 0.0;
    double writes = 0.0;
    if (argc < 2)
        return 2;
    rand_init(&rand, 1);
    check(quarry_open(argv[1], &o, &q, &err));
    check(quarry_table_create(q, "accounts", &family, 1, NULL, 0, &err));
    check(quarry_table_enable_transactions(q, "accounts", &err));
    check(quarry_table_open(q, "accounts", &table, &err));
    for (int i = 0; i < ROUNDS; i++) {
        transfers += time_calls(w, &rand, run_transfer);
        writes += time_calls(w, &rand, run_writes);
    }
    printf("%.1f %.1f %.0f\n", transfers * 1e6 / (ROUNDS * CALLS),
           writes * 1e6 / (ROUNDS * CALLS),
           (double)BATCHES * QUARRY_TIMESTAMPS_MAX / time_stamps(w));
    quarry_table_close(table);
    quarry_close(q);
    world_free(w);
    return 0;
}
