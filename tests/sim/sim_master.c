/* The master of tablets keeps its promises whatever dies: no tablet is served
 * by two servers, none is loaded before the logs that have its entries are
 * sorted, and when all is calm every tablet is served and METADATA says by
 * whom. */
#include <stdio.h>

#include "base/runtime/loop.h"
#include "bigtable/master/master.h"
#include "bigtable/row/schema.h"
#include "tests/lib/lock_cell.h"
#include "tests/sim/fake_tablets.h"

enum {
    SERVERS = 5,
    MASTERS = 2,
    SECOND = 1000000
};

struct candidate {
    struct world *world;
    struct master *master;
    char name[16], address[32];
};

static struct fake_world all;
static struct fake fakes[FAKES_MAX];
static struct candidate candidates[MASTERS];
static struct world *cell;
static const char *const cell_addresses[] = {"s1:700"};

/* --- machines ------------------------------------------------------------ */

/* Print events on standard error if $QUARRY_TRACE is set: the logs of the
 * processes, and with "all", everything. */
static void print_line(void *ctx, const char *line)
{
    if (ctx || strstr(line, ": INFO master") || strstr(line, ": WARN") ||
        strstr(line, " note"))
        fprintf(stderr, "%s\n", line);
}

static struct lock_cell lock_service;

static int open_store(void *ctx, struct metadata_store **out, struct err *err)
{
    struct candidate *c = ctx;
    (void)err;
    *out = fake_store_new(&all, c->world);
    return 0;
}

static void master_main(void *arg)
{
    struct candidate *c = arg;
    struct rpc_server *rpc = rpc_server_new(c->world);
    struct master_options o = {.address = c->address,
                               .cell = cell_addresses,
                               .cell_count = 1,
                               .security = all.security,
                               .fs = all.fs,
                               .open_store = open_store,
                               .ctx = c,
                               .lease_ms = 2000,
                               .status_us = SECOND / 2,
                               .silent_us = SECOND,
                               .order_us = 10 * SECOND,
                               .balance_us = 2 * SECOND,
                               .still_us = 4 * SECOND,
                               .reread_us = 3 * SECOND,
                               .garbage_us = 5 * SECOND,
                               .garbage_age_us = 60 * (uint64_t)SECOND,
                               .merge_us = 2 * SECOND,
                               .merge_age_us = 5 * SECOND};
    struct rpc_listen_options listen = {.security = all.security};
    struct rpc_listener *listener = NULL;
    ck_assert_int_eq(master_open(c->world, rpc, &o, &c->master, NULL), 0);
    if (rpc_listen(rpc, c->address, &listen, &listener, NULL) == 0) {
        master_start(c->master);
        serve_until_cancelled();
        master_stop(c->master);
    }
    rpc_listener_close(listener);
    master_close(c->master);
    c->master = NULL;
    rpc_server_free(rpc);
}

static void start(uint64_t seed)
{
    struct sim_options o = {.network_us = 300, .sync_us = 200};
    memset(&all, 0, sizeof(all));
    memset(fakes, 0, sizeof(fakes));
    all.sim = sim_cluster_new(seed);
    if (getenv("QUARRY_TRACE"))
        sim_cluster_on_trace(all.sim, print_line,
                             strcmp(getenv("QUARRY_TRACE"), "all") == 0 ? &all
                                                                        : NULL);
    rand_init(&all.random, seed);
    all.security = rpc_security_none("test", "ann");
    all.cell = cell_addresses;
    all.cell_count = 1;
    cell = sim_machine_new(all.sim, "s1", &o);
    for (int i = 0; i < MASTERS; i++) {
        struct candidate *c = &candidates[i];
        snprintf(c->name, sizeof(c->name), "m%d", i + 1);
        snprintf(c->address, sizeof(c->address), "m%d:800", i + 1);
        c->world = sim_machine_new(all.sim, c->name, &o);
        c->master = NULL;
    }
    for (int i = 0; i < SERVERS; i++) {
        struct fake *f = &fakes[i];
        f->all = &all;
        snprintf(f->name, sizeof(f->name), "t%d", i + 1);
        snprintf(f->address, sizeof(f->address), "t%d:900", i + 1);
        f->world = sim_machine_new(all.sim, f->name, &o);
        all.fakes[all.fake_count++] = f;
    }
}

static void finish(void)
{
    for (size_t i = 0; i < all.row_count; i++)
        fake_free_row(all.rows[i]);
    rpc_security_free(all.security);
    sim_cluster_free(all.sim);
}

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(all.sim), us);
}

static void boot_all(void)
{
    ck_assert_int_eq(fs_local_open(sim_director(all.sim), "/fs", &all.fs, NULL),
                     0);
    lock_service = (struct lock_cell){cell, all.security, NULL};
    sim_boot(cell, lock_cell_main, &lock_service);
    for (int i = 0; i < MASTERS; i++)
        sim_boot(candidates[i].world, master_main, &candidates[i]);
    for (int i = 0; i < SERVERS; i++)
        sim_boot(fakes[i].world, fake_main, &fakes[i]);
}

static void stop_all(void)
{
    for (int i = 0; i < MASTERS; i++)
        if (sim_is_up(candidates[i].world))
            sim_stop(candidates[i].world);
    for (int i = 0; i < SERVERS; i++)
        if (sim_is_up(fakes[i].world))
            sim_stop(fakes[i].world);
    sim_stop(cell);
    fs_close(all.fs);
}

/* --- checks -------------------------------------------------------------- */

static bool overlap(const struct held *a, const struct held *b)
{
    return a->table == b->table &&
           (b->end.len == 0 ||
            slice_cmp(buf_slice(&a->start), buf_slice(&b->end)) < 0) &&
           (a->end.len == 0 ||
            slice_cmp(buf_slice(&b->start), buf_slice(&a->end)) < 0);
}

static bool serves(const struct fake *f, const struct held *h)
{
    return h->used && h->phase == TABLET_SERVING && f->number && f->chubby &&
           chubby_is_safe(f->chubby);
}

/* No row is served twice. */
static void check_single(void)
{
    static const struct held *served[FAKES_MAX * HELD_MAX];
    static const struct fake *by[FAKES_MAX * HELD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < all.fake_count; i++)
        for (size_t j = 0; j < HELD_MAX; j++)
            if (serves(all.fakes[i], &all.fakes[i]->held[j])) {
                by[n] = all.fakes[i];
                served[n++] = &all.fakes[i]->held[j];
            }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(!overlap(served[i], served[j]),
                          "tablets %llx of %s and %llx of %s overlap",
                          (unsigned long long)served[i]->id, by[i]->name,
                          (unsigned long long)served[j]->id, by[j]->name);
}

/* Is the tablet of @row served by the server it names? */
static bool row_is_true(const struct fake_row *row)
{
    struct tablet_bounds b;
    struct tablet_location l;
    ck_assert_int_eq(tablet_bounds_get(buf_slice(&row->tablet), &b, NULL), 0);
    ck_assert_int_eq(tablet_location_get(buf_slice(&row->location), &l, NULL),
                     0);
    for (size_t i = 0; i < all.fake_count; i++) {
        struct fake *f = all.fakes[i];
        struct held *h =
            f->number == l.server && l.server ? fake_held(f, b.id) : NULL;
        if (h && serves(f, h) && h->epoch == l.epoch &&
            slice_eq(buf_slice(&h->start), b.start) &&
            slice_eq(buf_slice(&h->end), b.end))
            return row->split.len == 0;
    }
    return false;
}

static size_t count_served(void)
{
    size_t n = 0;
    for (size_t i = 0; i < all.fake_count; i++)
        for (size_t j = 0; j < HELD_MAX; j++)
            n += serves(all.fakes[i], &all.fakes[i]->held[j]);
    return n;
}

/* Every row is true, and there is nothing beside but the root tablet. */
static bool all_is_true(void)
{
    for (size_t i = 0; i < all.row_count; i++)
        if (!row_is_true(all.rows[i]))
            return false;
    return count_served() == all.row_count + 1;
}

/* Tablets of a table follow each other without a gap. */
static void check_whole(void)
{
    struct buf end = BUF_INIT;
    uint64_t table = 0;
    for (size_t i = 0; i < all.row_count; i++) {
        struct tablet_bounds b;
        ck_assert_int_eq(
            tablet_bounds_get(buf_slice(&all.rows[i]->tablet), &b, NULL), 0);
        if (b.table == METADATA_TABLE_ID)
            continue;
        ck_assert(b.table == table ? slice_eq(b.start, buf_slice(&end))
                                   : b.start.len == 0 && end.len == 0);
        table = b.table;
        fake_set(&end, b.end);
    }
    ck_assert_uint_eq(end.len, 0);
    buf_close(&end);
}

static void wait_until_true(uint64_t seconds)
{
    for (uint64_t i = 0; i < seconds * 10; i++) {
        check_single();
        if (all_is_true())
            return;
        sleep_us(SECOND / 10);
    }
    for (size_t i = 0; i < all.row_count; i++) {
        struct tablet_bounds b;
        struct tablet_location l;
        ck_assert_int_eq(
            tablet_bounds_get(buf_slice(&all.rows[i]->tablet), &b, NULL), 0);
        ck_assert_int_eq(
            tablet_location_get(buf_slice(&all.rows[i]->location), &l, NULL),
            0);
        if (!row_is_true(all.rows[i]))
            fprintf(stderr, "tablet %llx [%.*s,%.*s) of server %llu is not\n",
                    (unsigned long long)b.id, SLICE_ARG(b.start),
                    SLICE_ARG(b.end), (unsigned long long)l.server);
    }
    ck_abort_msg("%zu tablets served, %zu rows", count_served(), all.row_count);
}

/* --- a client ------------------------------------------------------------ */

/* Call the present master, until the answer is other than "not the master". */
static int
ask_master(uint32_t method, const struct table_order *o, struct err *err)
{
    struct rpc_channel_options opts = {.security = all.security};
    struct rpc_call_options call = {.timeout_us = 30 * (uint64_t)SECOND};
    struct buf body = BUF_INIT;
    int rc = ERR_UNAVAILABLE;
    table_order_put(o, &body);
    for (int i = 0; i < 300 && rc == ERR_UNAVAILABLE; i++) {
        struct rpc_channel *c =
            rpc_channel_new(candidates[i % MASTERS].address, &opts);
        rc = rpc_call(c, method, &call, buf_slice(&body), SLICE_EMPTY, NULL,
                      NULL, err);
        rpc_channel_free(c);
        if (rc == ERR_UNAVAILABLE)
            sleep_us(SECOND / 5);
    }
    buf_close(&body);
    return rc;
}

static int create(const char *name, struct err *err)
{
    struct schema *s = schema_new();
    struct buf b = BUF_INIT;
    struct table_order o = {.name = slice_str(name)};
    int rc;
    schema_encode(s, &b);
    o.schema = buf_slice(&b);
    rc = ask_master(MASTER_CREATE_TABLE, &o, err);
    schema_free(s);
    buf_close(&b);
    return rc;
}

static void must_create(const char *name)
{
    struct err err = ERR_INIT;
    int rc = create(name, &err);
    ck_assert_msg(rc == 0 || rc == ERR_EXISTS, "%s: %s", name, err.text);
}

/* --- a fresh cluster ----------------------------------------------------- */

static void begin(void *arg)
{
    struct table_order o = {.name = SLICE_LIT("b"), .row = SLICE_LIT("500")};
    struct err err = ERR_INIT;
    (void)arg;
    all.calm = true;
    boot_all();
    must_create("a");
    must_create("b");
    ck_assert_int_eq(create("a", NULL), ERR_EXISTS);
    ck_assert_int_eq(create("METADATA", NULL), ERR_DENIED);
    ck_assert(all_is_true());
    ck_assert_uint_eq(all.row_count, 3);
    ck_assert_msg(ask_master(MASTER_SPLIT, &o, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(all.row_count, 4);
    ck_assert(all_is_true());
    o.row = SLICE_EMPTY;
    ck_assert_int_eq(ask_master(MASTER_FLUSH, &o, NULL), 0);
    ck_assert_int_eq(ask_master(MASTER_COMPACT, &o, NULL), 0);
    ck_assert_int_eq(ask_master(MASTER_DROP_TABLE, &o, NULL), 0);
    ck_assert_uint_eq(all.row_count, 2);
    ck_assert_int_eq(ask_master(MASTER_DROP_TABLE, &o, NULL), ERR_NOTFOUND);
    wait_until_true(1);
    stop_all();
}

/* From nothing: the root tablet, METADATA, tables made, split and dropped. */
START_TEST(test_fresh_cluster)
{
    start(test_seed());
    sim_cluster_run(all.sim, begin, NULL);
    finish();
}

END_TEST

static void drop_a(void *arg)
{
    struct table_order o = {.name = SLICE_LIT("a")};
    (void)arg;
    ck_assert_int_eq(ask_master(MASTER_DROP_TABLE, &o, NULL), 0);
}

static void make_again(void *arg)
{
    struct err err = ERR_INIT;
    (void)arg;
    all.calm = true;
    boot_all();
    for (uint64_t us = 2000; us < 20000; us += 1000) {
        struct fiber *f;
        int rc;
        must_create("a");
        f = fiber_start(loop_self(), "drop", drop_a, NULL);
        sleep_us(us);
        rc = create("a", &err);
        ck_assert_msg(rc == 0, "after %u us: %s", (unsigned)us, err.text);
        fiber_join(f);
        drop_a(NULL);
    }
    stop_all();
}

/* Creating a table whose name is just being dropped waits for that: a half
 * dropped table does not exist. */
START_TEST(test_made_again)
{
    start(test_seed());
    sim_cluster_run(all.sim, make_again, NULL);
    finish();
}

END_TEST

/* --- a death ------------------------------------------------------------- */

/* @arg not NULL: and a segment of its log goes. */
static void one_dies(void *arg)
{
    struct world *w = NULL;
    uint64_t before;
    all.calm = true;
    all.late = arg != NULL;
    boot_all();
    for (char name[2] = "a"; *name <= 'h'; ++*name)
        must_create(name);
    wait_until_true(10);
    for (int i = 0; i < SERVERS && !w; i++)
        for (size_t j = 0; j < HELD_MAX && !w; j++)
            if (fakes[i].held[j].used && fakes[i].held[j].table != 1)
                w = fakes[i].world;
    sim_crash(w, SIM_CRASH_POWER);
    sim_await_end(w);
    before = sim_cluster_now_us(all.sim);
    while (!all_is_true()) {
        check_single();
        sleep_us(SECOND / 20);
    }
    /* Its lease of 2 s, the lock's delay, probes, sorting, loading. */
    ck_assert_uint_le(sim_cluster_now_us(all.sim) - before,
                      6 * (uint64_t)SECOND);
    stop_all();
}

/* Tablets of a server that dies are served again soon after its lease. */
START_TEST(test_server_dies)
{
    for (uint64_t seed = test_seed(); seed < test_seed() + 5; seed++) {
        start(seed);
        sim_cluster_run(all.sim, one_dies, NULL);
        finish();
    }
}

END_TEST

/* A segment that the dead server no longer needed may be removed while its
 * log is recovered. */
START_TEST(test_segment_goes)
{
    start(test_seed());
    sim_cluster_run(all.sim, one_dies, &all);
    finish();
}

END_TEST

/* --- everything dies ----------------------------------------------------- */

static struct world *any_machine(void)
{
    uint64_t n = rand_below(&all.random, SERVERS + MASTERS);
    return n < MASTERS ? candidates[n].world : fakes[n - MASTERS].world;
}

static void begin_again(void)
{
    for (int i = 0; i < SERVERS + MASTERS; i++) {
        struct world *w =
            i < MASTERS ? candidates[i].world : fakes[i - MASTERS].world;
        if (!sim_is_up(w))
            sim_boot_again(w);
    }
}

static void trouble(void)
{
    struct world *w = any_machine();
    switch (rand_below(&all.random, 4)) {
    case 0:
    case 1:
        sim_crash(w, rand_one_in(&all.random, 2) ? SIM_CRASH_POWER
                                                 : SIM_CRASH_KILL);
        sim_await_end(w);
        break;
    case 2:
        if (!sim_is_up(w))
            break;
        sim_pause(w);
        sleep_us(rand_below(&all.random, 6 * SECOND));
        sim_resume(w);
        break;
    default:
        sim_partition(all.sim, &w, 1);
        sleep_us(rand_below(&all.random, 6 * SECOND));
        sim_heal(all.sim);
        break;
    }
}

static void under_trouble(void *arg)
{
    (void)arg;
    all.calm = true;
    boot_all();
    must_create("a");
    all.calm = false;
    for (int i = 0; i < 20; i++) {
        char name[8];
        trouble();
        for (int j = 0; j < 20; j++) {
            check_single();
            sleep_us(rand_below(&all.random, SECOND / 5));
        }
        begin_again();
        if (i % 5 == 1) {
            snprintf(name, sizeof(name), "t%d", i);
            (void)!create(name, NULL);
        }
    }
    sim_heal(all.sim);
    begin_again();
    all.calm = true;
    sleep_us(5 * SECOND);
    begin_again();
    wait_until_true(60);
    check_whole();
    stop_all();
}

/* Masters and servers die, pause and are cut off; answers are lost, disks fail,
 * tablets split behind the master's back. */
START_TEST(test_trouble)
{
    const char *more = getenv("QUARRY_SIM_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 10;
    for (uint64_t seed = test_seed(); seed < test_seed() + seeds; seed++) {
        start(seed);
        sim_cluster_run(all.sim, under_trouble, NULL);
        finish();
    }
}

END_TEST

TEST_MAIN("master",
          test_fresh_cluster,
          test_made_again,
          test_server_dies,
          test_segment_goes,
          test_trouble)
