/* Quarry under measurement, through its C library: one family in one group, the
 * newest cell of one column a row. BENCH_SCAN_OFF in the environment switches
 * the scan cache off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "tests/bench/engine.h"

/* Mutations of a batch are kept and used again. */
#define BATCH_MAX 1024

const char *const engine_name = "quarry";

struct engine_thread {
    struct quarry_mutation *mutations[BATCH_MAX];
    size_t count;
    size_t made;
    struct buf value;
};

static struct quarry *store;
static struct quarry_table *table;
static struct quarry_write_options write_options;

static void check(int rc, const struct err *err)
{
    if (rc) {
        fprintf(stderr, "quarry: %s\n", err->text);
        exit(1);
    }
}

#define CHECK(call)                                                            \
    do {                                                                       \
        struct err error = ERR_INIT;                                           \
        check((call), &error);                                                 \
    } while (0)

static void make_table(const struct engine_config *c)
{
    char options[128];
    struct quarry_group_spec group = {.name = "default", .options = options};
    struct quarry_family_spec family = {.name = "f",
                                        .options = "versions=1,group=default"};
    snprintf(options, sizeof(options), "compression=%s,level=1,block=%zuKiB",
             c->zstd ? "zstd" : "none", c->block_bytes >> 10);
    CHECK(quarry_table_create(store, "bench", &family, 1, &group, 1, &error));
}

void engine_open(const struct engine_config *c)
{
    struct quarry_options o = {.cache_bytes = c->cache_bytes,
                               .memtable_bytes = 3 * c->memtable_bytes,
                               .background_tasks = 2,
                               .split_bytes = UINT64_MAX,
                               .scan_cache_off = getenv("BENCH_SCAN_OFF")};
    struct buf target = BUF_INIT;
    buf_printf(&target, "file:%s", c->dir);
    CHECK(quarry_open(buf_cstr(&target), &o, &store, &error));
    if (quarry_table_open(store, "bench", &table, NULL)) {
        make_table(c);
        CHECK(quarry_table_open(store, "bench", &table, &error));
    }
    write_options.durability = c->sync ? QUARRY_SYNCED : QUARRY_LOGGED;
    buf_close(&target);
}

void engine_close(void)
{
    quarry_table_close(table);
    quarry_close(store);
}

struct engine_thread *engine_thread_new(void)
{
    return calloc(1, sizeof(struct engine_thread));
}

void engine_thread_free(struct engine_thread *t)
{
    for (size_t i = 0; i < t->made; i++)
        quarry_mutation_free(t->mutations[i]);
    buf_close(&t->value);
    free(t);
}

void engine_put(struct engine_thread *t,
                const char *key,
                const char *value,
                size_t len)
{
    struct slice row = {key, ENGINE_KEY_BYTES};
    struct quarry_mutation *m;
    if (t->count == BATCH_MAX)
        engine_commit(t);
    if (t->count == t->made)
        t->mutations[t->made++] = quarry_mutation_new(row);
    else
        quarry_mutation_reset(t->mutations[t->count], row);
    m = t->mutations[t->count++];
    quarry_mutation_set(m, "f", SLICE_LIT("q"), QUARRY_NOW,
                        (struct slice){value, len});
}

void engine_commit(struct engine_thread *t)
{
    if (t->count == 1)
        CHECK(quarry_apply(table, t->mutations[0], &write_options, &error));
    else
        CHECK(quarry_apply_batch(table, t->mutations, t->count, &write_options,
                                 NULL, &error));
    t->count = 0;
}

long engine_get(struct engine_thread *t, const char *key)
{
    bool found;
    buf_clear(&t->value);
    CHECK(quarry_get(table, (struct slice){key, ENGINE_KEY_BYTES}, "f",
                     SLICE_LIT("q"), &t->value, &found, &error));
    return found ? (long)t->value.len : -1;
}

long engine_scan(struct engine_thread *t, const char *from, long max)
{
    struct quarry_range range = {.start = {from, ENGINE_KEY_BYTES}};
    struct quarry_read_options o = {
        .ranges = &range, .range_count = 1, .row_limit = (uint64_t)max};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    volatile char sink = 0;
    long count = 0;
    (void)t;
    CHECK(quarry_scan(table, &o, &s, &error));
    for (;;) {
        CHECK(quarry_scanner_next(s, &row, &error));
        if (!row)
            break;
        sink = (char)(sink + row->key.data[row->key.len - 1] +
                      row->cells[0].value.data[row->cells[0].value.len - 1]);
        count++;
    }
    quarry_scanner_close(s);
    return count;
}

void engine_compact(void)
{
    CHECK(quarry_table_compact(store, "bench", &error));
}

bool engine_is_busy(void)
{
    return false;
}
