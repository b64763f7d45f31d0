/* Users of one table, for benchmarks of clusters: they fill it, write at a
 * steady rate, or wait for rows that nobody serves.
 *
 *     bench_rows fill  SERVERS KEY TABLE FIRST COUNT
 *         rows FIRST to FIRST + COUNT, in synced batches: "rows/s"
 *     bench_rows pace SERVERS KEY TABLE FIRST COUNT RATE
 *         the same, RATE rows a second: "rows/s"
 *     bench_rows write SERVERS KEY TABLE COUNT RATE SECONDS
 *         RATE single rows a second, of the first COUNT, at random:
 *         "rows median_ms p99_ms worst_ms"; until SECONDS or SIGTERM
 *     bench_rows flush SERVERS KEY TABLE
 *         until all that all tables have is in files
 *     bench_rows await SERVERS KEY TABLE ROW…
 *         a line for each row when it is read: "unix_seconds ROW"
 *     bench_rows outage SERVERS KEY TABLE SECONDS ROW…
 *         each row is written again and again for SECONDS; then a line for
 *         each, the longest time without an answer: "seconds ROW"
 *
 * An empty KEY: a node without one. Row i has the key of 12 digits i *
 * 2654435761 mod 10^12, so that they come in no order and all tablets get some;
 * values are 1,000 bytes that do not compress.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/histogram.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/core/text.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"

#define SECOND_NS UINT64_C(1000000000)
#define CALL_US   UINT64_C(120000000)

enum {
    VALUE_BYTES = 1000,
    KEY_BYTES = 16,
    BATCH = 100,
    FILLERS = 6,
    WRITERS_MAX = 2048, /* Calls under way. */
};

static struct world *world;
static struct quarry_table *table;
static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

static void check(int rc, const struct err *err)
{
    if (rc) {
        fprintf(stderr, "bench_rows: %s\n", err->text);
        exit(1);
    }
}

static uint64_t number(const char *text)
{
    struct err err = ERR_INIT;
    uint64_t v = 0;
    check(text_parse_u64(slice_str(text), &v, &err), &err);
    return v;
}

static void set_row(struct quarry_mutation *m, uint64_t row, struct rand_gen *r)
{
    uint64_t words[VALUE_BYTES / 8];
    char key[KEY_BYTES];
    snprintf(key, sizeof(key), "%012llu",
             (unsigned long long)(row * 2654435761U % 1000000000000U));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = rand_u64(r);
    quarry_mutation_reset(m, slice_str(key));
    quarry_mutation_set(m, "f", SLICE_LIT("v"), QUARRY_NOW,
                        slice_make((const char *)words, sizeof(words)));
}

/* --- fill ---------------------------------------------------------------- */

struct filler {
    uint64_t first;
    uint64_t end;
    uint64_t rate; /* 0: as fast as it goes. */
    struct task *task;
};

static void await_turn(uint64_t due_ns)
{
    uint64_t now_ns = world_mono_ns(world);
    if (now_ns < due_ns)
        world_sleep_us(world, (due_ns - now_ns) / 1000);
}

static void run_filler(void *arg)
{
    struct filler *f = arg;
    struct quarry_mutation *batch[BATCH];
    struct err err = ERR_INIT;
    struct rand_gen r;
    uint64_t from = world_mono_ns(world);
    rand_init(&r, f->first);
    for (size_t i = 0; i < BATCH; i++)
        batch[i] = quarry_mutation_new(SLICE_LIT("x"));
    for (uint64_t row = f->first; row < f->end;) {
        size_t n = 0;
        if (f->rate)
            await_turn(from + (row - f->first) * SECOND_NS / f->rate);
        while (n < BATCH && row < f->end)
            set_row(batch[n++], row++, &r);
        check(quarry_apply_batch(table, batch, n, NULL, NULL, &err), &err);
    }
    for (size_t i = 0; i < BATCH; i++)
        quarry_mutation_free(batch[i]);
}

static void fill(uint64_t first, uint64_t count, uint64_t rate)
{
    struct filler f[FILLERS];
    uint64_t from = world_mono_ns(world);
    for (uint64_t i = 0; i < FILLERS; i++) {
        f[i] = (struct filler){.first = first + count * i / FILLERS,
                               .end = first + count * (i + 1) / FILLERS,
                               .rate = rate / FILLERS};
        f[i].task = task_start(world, "fill", run_filler, &f[i]);
    }
    for (size_t i = 0; i < FILLERS; i++)
        task_join(f[i].task);
    printf("%.0f\n",
           (double)count / ((double)(world_mono_ns(world) - from) / 1e9));
}

/* --- write --------------------------------------------------------------- */

struct writer {
    struct quarry_mutation *mutation;
    uint64_t due_ns; /* When the call should have begun. */
    struct writer *next;
};

static struct mutex lock;
static struct cond freed;
static struct writer *idle;
static struct histogram latency_us;

static void on_written(void *arg, int rc, const struct err *err)
{
    struct writer *w = arg;
    check(rc, err);
    mutex_lock(&lock);
    histogram_add(&latency_us, (world_mono_ns(world) - w->due_ns) / 1000);
    w->next = idle;
    idle = w;
    cond_signal(&freed);
    mutex_unlock(&lock);
}

static struct writer *take_writer(void)
{
    struct writer *w;
    mutex_lock(&lock);
    while (!idle)
        cond_wait(&freed, &lock);
    w = idle;
    idle = w->next;
    mutex_unlock(&lock);
    return w;
}

/* Time counts from when a row was due, so that none is left out while a call
 * before it waits. */
static void
write_rows(struct quarry *q, uint64_t count, uint64_t rate, uint64_t seconds)
{
    static struct writer writers[WRITERS_MAX];
    uint64_t from = world_mono_ns(world);
    struct rand_gen r;
    mutex_init(&lock);
    cond_init(&freed);
    histogram_init(&latency_us);
    rand_init(&r, from);
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        writers[i] =
            (struct writer){quarry_mutation_new(SLICE_LIT("x")), 0, idle};
        idle = &writers[i];
    }
    for (uint64_t n = 0; n < rate * seconds && !told_to_end; n++) {
        uint64_t due = from + n * SECOND_NS / rate;
        uint64_t now = world_mono_ns(world);
        struct writer *w = take_writer();
        if (now < due)
            world_sleep_us(world, (due - now) / 1000);
        w->due_ns = due;
        set_row(w->mutation, rand_below(&r, count), &r);
        quarry_apply_async(table, w->mutation, NULL, on_written, w);
    }
    quarry_drain(q);
    for (size_t i = 0; i < WRITERS_MAX; i++)
        quarry_mutation_free(writers[i].mutation);
    cond_close(&freed);
    mutex_close(&lock);
    printf("%llu %.3f %.3f %.3f\n", (unsigned long long)latency_us.count,
           (double)histogram_percentile(&latency_us, 50) / 1e3,
           (double)histogram_percentile(&latency_us, 99) / 1e3,
           (double)latency_us.max / 1e3);
}

/* --- await --------------------------------------------------------------- */

static void run_await(void *arg)
{
    struct err err = ERR_INIT;
    struct buf value = BUF_INIT;
    struct timespec now;
    bool found;
    check(quarry_get(table, slice_str(arg), "f", SLICE_LIT("v"), &value, &found,
                     &err),
          &err);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%lld.%06ld %s\n", (long long)now.tv_sec, now.tv_nsec / 1000,
           (const char *)arg);
    fflush(stdout);
    buf_close(&value);
}

static void await(char **rows, size_t count)
{
    struct task **tasks = mem_alloc((count + 1) * sizeof(struct task *));
    for (size_t i = 0; i < count; i++)
        tasks[i] = task_start(world, "await", run_await, rows[i]);
    for (size_t i = 0; i < count; i++)
        task_join(tasks[i]);
    mem_free(tasks);
}

/* --- outage -------------------------------------------------------------- */

#define OUTAGE_PAUSE_US 20000 /* Between an answer and the next write. */

struct outage {
    const char *row;
    uint64_t end_ns;
    uint64_t longest_ns;
    struct task *task;
};

static void run_outage(void *arg)
{
    struct outage *o = arg;
    struct err err = ERR_INIT;
    struct quarry_mutation *m = quarry_mutation_new(slice_str(o->row));
    for (uint64_t from; (from = world_mono_ns(world)) < o->end_ns;) {
        quarry_mutation_reset(m, slice_str(o->row));
        quarry_mutation_set(m, "f", SLICE_LIT("v"), QUARRY_NOW,
                            SLICE_LIT("value"));
        check(quarry_apply(table, m, NULL, &err), &err);
        o->longest_ns = MAX_OF(o->longest_ns, world_mono_ns(world) - from);
        world_sleep_us(world, OUTAGE_PAUSE_US);
    }
    quarry_mutation_free(m);
}

static void outage(uint64_t seconds, char **rows, size_t count)
{
    struct outage *o = mem_zalloc(count + 1, sizeof(*o));
    uint64_t end = world_mono_ns(world) + seconds * SECOND_NS;
    for (size_t i = 0; i < count; i++) {
        o[i] = (struct outage){.row = rows[i], .end_ns = end};
        o[i].task = task_start(world, "outage", run_outage, &o[i]);
    }
    for (size_t i = 0; i < count; i++) {
        task_join(o[i].task);
        printf("%.3f %s\n", (double)o[i].longest_ns / 1e9, o[i].row);
    }
    mem_free(o);
}

int main(int argc, char **argv)
{
    struct quarry_options o = {.timeout_us = CALL_US};
    struct err err = ERR_INIT;
    struct quarry *q;
    if (argc < 5) {
        fprintf(stderr, "bench_rows: expects MODE SERVERS KEY TABLE …\n");
        return 2;
    }
    signal(SIGTERM, on_signal);
    world = world_real_new();
    o.world = world;
    o.key_file = *argv[3] ? argv[3] : NULL;
    check(quarry_open(argv[2], &o, &q, &err), &err);
    check(quarry_table_open(q, argv[4], &table, &err), &err);
    if (strcmp(argv[1], "fill") == 0 && argc == 7)
        fill(number(argv[5]), number(argv[6]), 0);
    else if (strcmp(argv[1], "pace") == 0 && argc == 8)
        fill(number(argv[5]), number(argv[6]),
             MAX_OF(number(argv[7]), FILLERS));
    else if (strcmp(argv[1], "write") == 0 && argc == 8)
        write_rows(q, number(argv[5]), number(argv[6]), number(argv[7]));
    else if (strcmp(argv[1], "flush") == 0)
        check(quarry_flush(q, &err), &err);
    else if (strcmp(argv[1], "outage") == 0 && argc > 6)
        outage(number(argv[5]), &argv[6], (size_t)argc - 6);
    else
        await(&argv[5], (size_t)argc - 5);
    quarry_table_close(table);
    quarry_close(q);
    world_free(world);
    return 0;
}
