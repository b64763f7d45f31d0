/* quarry bench tables: the six workloads of the Bigtable paper's figure 6, over
 * any target, as several clients with several calls of one row each under way.
 * The paper's figures, of its one tablet server (section 7) in 2005, are
 * printed beside: their ratio between workloads tells more than the ratio
 * alone.
 */
#include "cli/bench_tables.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/hash.h"
#include "base/core/histogram.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/table_printer.h"

/* R rows (values of 1,000 bytes if nothing else is said) under keys of their
 * number. A call that is answered begins the next one. Sequential workloads
 * give each client a range of its own; scans read such a range through the
 * scanner. A write, of one row or of a batch of them, is acknowledged once it
 * is on disk. A workload ends after its rows or its time, whichever is first.
 */

#define TABLE       "bench-tables"
#define CLIENTS_MAX 256
#define BATCH_MAX   256
#define DEPTH_MAX   1024
#define KEY_BYTES   12 /* Digits. */
/* Of memory that calls used, this much is kept for the next ones. */
#define KEEP_BYTES (32 << 20)

enum workload_kind {
    SEQUENTIAL_WRITE,
    RANDOM_WRITE,
    SEQUENTIAL_READ,
    RANDOM_READ,
    RANDOM_READ_MEMORY,
    SCAN,
};

struct workload {
    enum workload_kind kind;
    const char *name;
    unsigned paper; /* Values a second, one tablet server: figure 6. */
};

static const struct workload workloads[] = {
    {SEQUENTIAL_WRITE, "sequential writes", 8547},
    {RANDOM_WRITE, "random writes", 8850},
    {SCAN, "scans", 15385},
    {SEQUENTIAL_READ, "sequential reads", 4425},
    {RANDOM_READ, "random reads", 1212},
    {RANDOM_READ_MEMORY, "random reads (mem)", 10811},
};

struct bench {
    struct cli *cli;
    struct quarry_table *table;
    struct sheet sheet;
    uint64_t rows;
    uint64_t clients;
    uint64_t seconds;
    uint64_t value_bytes;
    uint64_t batch;   /* Rows a call writes. */
    const char *only; /* NULL: all workloads. */
    uint64_t depth;   /* Calls of one row that a client has under way. */
};

/* A call under way, and those that follow it. */
struct chain {
    struct client *client;
    struct quarry_mutation *mutation;
    uint64_t began_ns;
    uint64_t row;
};

/* A client at one workload. */
struct client {
    struct bench *bench;
    const struct workload *workload;
    uint64_t begin; /* Its rows are [begin, end). */
    uint64_t end;
    uint64_t stop_ns;
    struct task *task;
    struct rand_gen chance;
    struct histogram latency_us;
    char *value; /* Owned. */
    struct quarry_mutation *batch[BATCH_MAX];
    size_t batched;
    size_t done; /* Values of the call that ended last. */
    struct err err;
    int rc;
    struct mutex lock; /* Of what follows, and of what chains change above. */
    struct cond ended;
    uint64_t next;  /* Row, or count of them. */
    size_t running; /* Chains. */
    struct chain chains[DEPTH_MAX];
};

/* --- one operation ------------------------------------------------------- */

static bool is_write(enum workload_kind kind)
{
    return kind == SEQUENTIAL_WRITE || kind == RANDOM_WRITE;
}

static bool is_random(enum workload_kind kind)
{
    return kind == RANDOM_WRITE || kind == RANDOM_READ ||
           kind == RANDOM_READ_MEMORY;
}

static struct slice key_of(uint64_t i, char text[KEY_BYTES])
{
    for (size_t at = KEY_BYTES; at-- > 0; i /= 10)
        text[at] = (char)('0' + i % 10);
    return slice_make(text, KEY_BYTES);
}

static const char *family_of(enum workload_kind kind)
{
    return kind == RANDOM_READ_MEMORY ? "memory" : "disk";
}

/* As in the paper no two values are alike, and they do not compress. */
static void set_value(struct client *c, struct quarry_mutation *m)
{
    uint64_t bytes = c->bench->value_bytes;
    uint64_t from = rand_u64(&c->chance);
    for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t v = hash_mix(from + i);
        memcpy(c->value + i, &v, sizeof(v));
    }
    quarry_mutation_set(m, "disk", SLICE_LIT("v"), QUARRY_NOW,
                        slice_make(c->value, bytes));
}

/* Queue row @i; with the @last of a batch, write it. */
static int write_row(struct client *c, uint64_t i, bool last)
{
    char text[KEY_BYTES];
    int rc = 0;
    PRE(c->batched < c->bench->batch);
    quarry_mutation_reset(c->batch[c->batched], key_of(i, text));
    set_value(c, c->batch[c->batched++]);
    if (last || c->batched == c->bench->batch) {
        rc = quarry_apply_batch(c->bench->table, c->batch, c->batched, NULL,
                                NULL, &c->err);
        c->done = c->batched;
        c->batched = 0;
    }
    return rc;
}

/* --- a client ------------------------------------------------------------ */

static bool is_over(const struct client *c, uint64_t now_ns)
{
    return now_ns >= c->stop_ns;
}

static void run_scan(struct client *c)
{
    struct world *w = c->bench->cli->world;
    char from[KEY_BYTES], to[KEY_BYTES];
    struct quarry_range range = {key_of(c->begin, from), key_of(c->end, to)};
    const char *family = "disk";
    struct quarry_read_options o = {.ranges = &range,
                                    .range_count = 1,
                                    .families = &family,
                                    .family_count = 1,
                                    .versions = 1};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    uint64_t before = world_mono_ns(w);
    PRE(c->begin <= c->end);
    c->rc = quarry_scan(c->bench->table, &o, &s, &c->err);
    if (c->rc)
        return;
    while ((c->rc = quarry_scanner_next(s, &row, &c->err)) == 0 && row) {
        uint64_t now = world_mono_ns(w);
        histogram_add(&c->latency_us, (now - before) / 1000);
        before = now;
        if (is_over(c, now))
            break;
    }
    quarry_scanner_close(s);
}

/* Batches, one after the other. */
static void write_batches(struct client *c)
{
    struct world *w = c->bench->cli->world;
    bool random = is_random(c->workload->kind);
    uint64_t before = world_mono_ns(w);
    for (uint64_t i = c->begin; i < c->end && c->rc == 0; i++) {
        uint64_t row = random ? rand_below(&c->chance, c->bench->rows) : i;
        uint64_t now;
        c->rc = write_row(c, row, i + 1 == c->end);
        now = world_mono_ns(w);
        if (c->batched)
            continue;
        histogram_add_many(&c->latency_us, (now - before) / 1000, c->done);
        before = now;
        if (is_over(c, now))
            break;
    }
}

/* --- many calls of one row under way ------------------------------------- */

static void run_chain(struct chain *n);

static void end_call(struct chain *n, int rc, const struct err *err)
{
    struct client *c = n->client;
    uint64_t us = (world_mono_ns(c->bench->cli->world) - n->began_ns) / 1000;
    mutex_lock(&c->lock);
    histogram_add(&c->latency_us, us);
    if (rc && c->rc == 0)
        c->rc = err_copy(&c->err, err);
    mutex_unlock(&c->lock);
    run_chain(n);
}

static void on_written(void *arg, int rc, const struct err *err)
{
    end_call(arg, rc, err);
}

static void
on_read(void *arg, int rc, struct quarry_row *row, const struct err *err)
{
    struct chain *n = arg;
    struct err none = ERR_INIT;
    if (rc == 0 && !row)
        rc = err_set(&none, ERR_CORRUPT, "row %llu is not there",
                     (unsigned long long)n->row);
    quarry_row_free(row);
    end_call(n, rc, none.code ? &none : err);
}

/* Which row is next; false: none. PRE: the lock is held. */
static bool next_row(struct client *c, uint64_t now_ns, uint64_t *row)
{
    PRE(c->next <= c->end);
    if (c->next == c->end || c->rc || is_over(c, now_ns))
        return false;
    *row = c->next++;
    if (is_random(c->workload->kind))
        *row = rand_below(&c->chance, c->bench->rows);
    return true;
}

static void begin_read(struct chain *n, struct slice key)
{
    const char *family = family_of(n->client->workload->kind);
    const struct quarry_read_options o = {
        .families = &family, .family_count = 1, .versions = 1};
    quarry_read_row_async(n->client->bench->table, key, &o, on_read, n);
}

/* Begin the next call, or end. */
static void run_chain(struct chain *n)
{
    struct client *c = n->client;
    char text[KEY_BYTES];
    struct slice key;
    bool more;
    n->began_ns = world_mono_ns(c->bench->cli->world);
    mutex_lock(&c->lock);
    more = next_row(c, n->began_ns, &n->row);
    key = key_of(n->row, text);
    if (more && is_write(c->workload->kind)) {
        quarry_mutation_reset(n->mutation, key);
        set_value(c, n->mutation);
    }
    if (!more && --c->running == 0)
        cond_signal(&c->ended);
    mutex_unlock(&c->lock);
    if (more && is_write(c->workload->kind))
        quarry_apply_async(c->bench->table, n->mutation, NULL, on_written, n);
    else if (more)
        begin_read(n, key);
}

static void run_chains(struct client *c)
{
    size_t count = c->bench->depth;
    c->next = c->begin;
    c->running = count;
    for (size_t i = 0; i < count; i++) {
        c->chains[i] = (struct chain){
            .client = c, .mutation = quarry_mutation_new(SLICE_LIT("x"))};
        run_chain(&c->chains[i]);
    }
    mutex_lock(&c->lock);
    while (c->running > 0)
        cond_wait(&c->ended, &c->lock);
    mutex_unlock(&c->lock);
    for (size_t i = 0; i < count; i++)
        quarry_mutation_free(c->chains[i].mutation);
}

static void run_client(void *arg)
{
    struct client *c = arg;
    for (size_t i = 0; i < c->bench->batch; i++)
        c->batch[i] = quarry_mutation_new(SLICE_LIT("x"));
    if (c->workload->kind == SCAN)
        run_scan(c);
    else if (c->bench->batch > 1 && is_write(c->workload->kind))
        write_batches(c);
    else
        run_chains(c);
    for (size_t i = 0; i < c->bench->batch; i++)
        quarry_mutation_free(c->batch[i]);
}

/* --- a workload ---------------------------------------------------------- */

static void add_result(struct bench *b,
                       const struct workload *w,
                       const struct histogram *h,
                       uint64_t ns)
{
    double per_second = (double)h->count / ((double)ns / 1e9);
    sheet_add_str(&b->sheet, w->name);
    sheet_add_u64(&b->sheet, h->count);
    sheet_addf(&b->sheet, "%.2f", (double)ns / 1e9);
    sheet_addf(&b->sheet, "%.0f", per_second);
    sheet_add_u64(&b->sheet, histogram_percentile(h, 50));
    sheet_add_u64(&b->sheet, histogram_percentile(h, 99));
    sheet_add_u64(&b->sheet, w->paper);
    sheet_addf(&b->sheet, "%.1f", per_second / (double)w->paper);
}

static void start_clients(struct bench *b,
                          const struct workload *w,
                          struct client *clients,
                          uint64_t start_ns)
{
    for (uint64_t i = 0; i < b->clients; i++) {
        struct client *c = &clients[i];
        *c = (struct client){.bench = b,
                             .workload = w,
                             .begin = b->rows * i / b->clients,
                             .end = b->rows * (i + 1) / b->clients,
                             .stop_ns = start_ns + b->seconds * 1000000000,
                             .value = mem_zalloc(1, b->value_bytes)};
        histogram_init(&c->latency_us);
        mutex_init(&c->lock);
        cond_init(&c->ended);
        rand_init(&c->chance, i * 16 + (uint64_t)w->kind);
        c->task = task_start(b->cli->world, "client", run_client, c);
    }
}

static int
run_workload(struct bench *b, const struct workload *w, struct err *err)
{
    struct client *clients = mem_zalloc(b->clients, sizeof(*clients));
    uint64_t start = world_mono_ns(b->cli->world);
    struct histogram *all = mem_alloc(sizeof(*all));
    int rc = 0;
    cli_remark(b->cli, "%s", w->name);
    histogram_init(all);
    start_clients(b, w, clients, start);
    for (uint64_t i = 0; i < b->clients; i++) {
        task_join(clients[i].task);
        histogram_merge(all, &clients[i].latency_us);
        if (clients[i].rc && rc == 0)
            rc = err_copy(err, &clients[i].err);
        cond_close(&clients[i].ended);
        mutex_close(&clients[i].lock);
        mem_free(clients[i].value);
    }
    mem_free(clients);
    if (rc)
        err_wrap(err, "%s", w->name);
    else
        add_result(b, w, all, world_mono_ns(b->cli->world) - start);
    mem_free(all);
    return rc;
}

/* --- the table ----------------------------------------------------------- */

/* Sequential writes may have run out of time: give every row a value, in both
 * families, which is not measured. */
static int bench_tables_fill(struct bench *b, struct err *err)
{
    static const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct client *c = mem_zalloc(1, sizeof(*c));
    struct quarry_mutation *batch[BATCH_MAX];
    int rc = 0;
    c->bench = b;
    c->value = mem_zalloc(1, b->value_bytes);
    rand_init(&c->chance, 99);
    for (size_t i = 0; i < BATCH_MAX; i++)
        batch[i] = quarry_mutation_new(SLICE_LIT("x"));
    for (uint64_t row = 0; row < b->rows && rc == 0; row += BATCH_MAX) {
        size_t count = MIN_OF((uint64_t)BATCH_MAX, b->rows - row);
        for (size_t i = 0; i < count; i++) {
            char text[KEY_BYTES];
            quarry_mutation_reset(batch[i], key_of(row + i, text));
            set_value(c, batch[i]);
            quarry_mutation_set(batch[i], "memory", SLICE_LIT("v"), QUARRY_NOW,
                                slice_make(c->value, b->value_bytes));
        }
        rc = quarry_apply_batch(b->table, batch, count, &logged, NULL, err);
    }
    for (size_t i = 0; i < BATCH_MAX; i++)
        quarry_mutation_free(batch[i]);
    mem_free(c->value);
    mem_free(c);
    return rc;
}

static int run_all(struct bench *b, struct quarry *q, struct err *err)
{
    bool filled = false;
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(workloads) && rc == 0; i++) {
        const struct workload *w = &workloads[i];
        if (b->only && !strstr(w->name, b->only))
            continue;
        if (!is_write(w->kind) && !filled) {
            rc = bench_tables_fill(b, err);
            /* Reads meet files, as the paper's did. */
            if (rc == 0)
                rc = quarry_flush(q, err);
            filled = true;
        }
        if (rc == 0)
            rc = run_workload(b, w, err);
    }
    return rc;
}

static int with_table(struct bench *b, struct quarry *q, struct err *err)
{
    static const struct quarry_group_spec groups[] = {
        {"disk", "compression=none"}, {"memory", "compression=none,memory=on"}};
    static const struct quarry_family_spec families[] = {
        {"disk", "versions=1,group=disk"},
        {"memory", "versions=1,group=memory"}};
    int rc = quarry_table_create(q, TABLE, families, ARRAY_LEN(families),
                                 groups, ARRAY_LEN(groups), err);
    if (rc == ERR_EXISTS)
        err_hint(err,
                 "left by a run that was killed? quarry table drop " TABLE);
    if (rc)
        return rc;
    rc = quarry_table_open(q, TABLE, &b->table, err);
    if (rc == 0)
        rc = run_all(b, q, err);
    quarry_table_close(b->table);
    if (rc == 0)
        return quarry_table_drop(q, TABLE, err);
    (void)!quarry_table_drop(q, TABLE, NULL);
    return rc;
}

int run_bench_tables(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {
        {"workload", SHEET_TEXT},      {"values", SHEET_NUMBER},
        {"seconds", SHEET_NUMBER},     {"values_per_s", SHEET_NUMBER},
        {"p50_us", SHEET_NUMBER},      {"p99_us", SHEET_NUMBER},
        {"paper_per_s", SHEET_NUMBER}, {"ratio", SHEET_NUMBER}};
    struct bench b = {.cli = cli,
                      .rows = 200000,
                      .clients = 4,
                      .seconds = 20,
                      .value_bytes = 1000,
                      .batch = 1,
                      .depth = 256};
    struct quarry *q;
    int rc = args_number(args, "rows", 1, 1000000000, &b.rows, err);
    if (rc == 0)
        rc = args_number(args, "clients", 1, CLIENTS_MAX, &b.clients, err);
    if (rc == 0)
        rc = args_number(args, "seconds", 1, 86400, &b.seconds, err);
    if (rc == 0)
        rc = args_number(args, "batch", 1, BATCH_MAX, &b.batch, err);
    if (rc == 0)
        rc = args_number(args, "depth", 1, DEPTH_MAX, &b.depth, err);
    if (rc == 0)
        rc = args_number(args, "value", 8, 1 << 20, &b.value_bytes, err);
    if (rc == 0)
        rc = cli_store(cli, CLI_CREATE, &q, err);
    if (rc)
        return rc;
    b.clients = MIN_OF(b.clients, b.rows);
    b.only = args_value(args, "only");
    sheet_init(&b.sheet, columns, ARRAY_LEN(columns));
    mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    rc = with_table(&b, q, err);
    if (rc == 0)
        sheet_print(&b.sheet, cli->format);
    sheet_close(&b.sheet);
    return rc;
}
