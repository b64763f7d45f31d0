/* Whatever dies, and whenever: what tablet servers acknowledged is found again,
 * and a server that was declared dead neither writes nor answers. */
#include "base/core/rand.h"
#include "bigtable/store/manifest.h"
#include "tests/lib/server_counter.h"
#include "tests/unit/tablet_server/fixture.h"

enum {
    ROWS = 200,
    TABLETS = 4,
    LEASE_US = 5 * SECOND
};

/* The acknowledged contents of each row; 0: none. A write whose outcome is
 * not known may hold either. */
static unsigned known[ROWS];
static unsigned maybe[ROWS];

static void forget_model(void)
{
    memset(known, 0, sizeof(known));
    memset(maybe, 0, sizeof(maybe));
}

static const char *const ends[TABLETS] = {"r050", "r100", "r150", ""};

static const char *start_of(int i)
{
    return i ? ends[i - 1] : "";
}

static void write_row(struct node *n, unsigned i, unsigned value)
{
    char row[16];
    char text[16];
    if (!sim_is_up(n->world))
        return;
    snprintf(row, sizeof(row), "r%03u", i);
    snprintf(text, sizeof(text), "%u", value);
    maybe[i] = value;
    for (int t = 0; t < TABLETS; t++)
        if (strcmp(row, ends[t]) < 0 || !*ends[t]) {
            if (put(n, bounds_of(ends[t]).id, row, text, NULL) == 0)
                known[i] = value;
            return;
        }
}

/* Every row of the tablets in the records, read where they are. */
static void check_all(struct node *n)
{
    struct buf got = BUF_INIT;
    for (size_t k = 0; k < fake_row_count; k++) {
        struct tablet_bounds b;
        ck_assert_int_eq(
            tablet_bounds_get(buf_slice(&fake_rows[k].row.bounds), &b, NULL),
            0);
        OK(read_all(n, b.id, &got, err));
    }
    for (unsigned i = 0; i < ROWS; i++) {
        char is[32];
        char may_be[32];
        snprintf(is, sizeof(is), "r%03u=%u ", i, known[i]);
        snprintf(may_be, sizeof(may_be), "r%03u=%u ", i, maybe[i]);
        ck_assert_msg(known[i] == 0 || strstr(buf_cstr(&got), is) ||
                          strstr(buf_cstr(&got), may_be),
                      "row %u is not %u", i, known[i]);
    }
    buf_close(&got);
}

/* Its session is over for everybody, as when the master has taken its lock. */
static void await_death(struct node *n)
{
    char path[64];
    struct chubby_handle *h;
    snprintf(path, sizeof(path), BIGTABLE_LOCK_SERVERS "/%08llu",
             (unsigned long long)n->number);
    OK(chubby_open(master_session, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h,
                   err));
    OK(chubby_acquire(h, CHUBBY_EXCLUSIVE, err));
    OK(chubby_delete(h, err));
    chubby_close(h);
}

/* Everything that the dead server had goes to @to, once its log is sorted. */
static void give_all(struct node *to, uint64_t epoch)
{
    for (size_t k = 0; k < fake_row_count; k++) {
        struct tablet_location l;
        struct tablet_bounds b;
        struct buf location = BUF_INIT;
        struct buf key = BUF_INIT;
        OK(tablet_location_get(buf_slice(&fake_rows[k].row.location), &l, err));
        if (l.server == to->number)
            continue;
        l = (struct tablet_location){to->number, epoch, slice_str(to->address)};
        tablet_location_put(&l, &location);
        set_buf(&fake_rows[k].row.location, buf_slice(&location));
        OK(tablet_bounds_get(buf_slice(&fake_rows[k].row.bounds), &b, err));
        set_buf(&key, buf_slice(&fake_rows[k].key));
        OK(order(to, TABLET_LOAD, b.id, epoch, buf_slice(&key), SLICE_EMPTY,
                 err));
        buf_close(&location);
        buf_close(&key);
    }
}

static void take_over(struct node *dead, struct node *to, uint64_t epoch)
{
    sort_log(to, dead->number);
    give_all(to, epoch);
}

static void load_all(struct node *n)
{
    make_table();
    for (int i = 0; i < TABLETS; i++) {
        make_tablet(10 + (uint64_t)i, start_of(i), ends[i], n, 1);
        OK(order_of(n, TABLET_LOAD, ends[i], err));
    }
}

/* A server has all tablets; another, if any, has none yet. */
static void begin_with(struct node *full, struct node *empty)
{
    begin();
    boot(full);
    if (empty)
        boot(empty);
    load_all(full);
}

/* Its power goes, and its lock with it. */
static void lose(struct node *n)
{
    sim_crash(n->world, SIM_CRASH_POWER);
    sim_await_end(n->world);
    await_death(n);
}

static void
run_with(task_fn scenario, uint64_t seed, void *arg, uint64_t log_bytes)
{
    start_cluster(seed);
    server_options.log_bytes = log_bytes;
    server_options.rows = fake_metadata();
    server_options.memtable_bytes = 16 << 10;
    server_options.log_segment_bytes = 8 << 10;
    forget_model();
    sim_cluster_run(cluster, scenario, arg);
    forget_rows();
    free_cluster();
}

static void run(task_fn scenario, uint64_t seed, void *arg)
{
    run_with(scenario, seed, arg, 0);
}

/* --- Tests --------------------------------------------------------------- */

/* Random writes over several tablets, some flushed; the server dies, another
 * sorts its log and takes its tablets over; and again: all rows are as the
 * model says. */
static void generations(void *arg)
{
    struct rand_gen r;
    unsigned value = 0;
    rand_init(&r, *(uint64_t *)arg);
    begin_with(&nodes[0], NULL);
    for (int life = 0; life < 3; life++) {
        struct node *n = &nodes[life];
        size_t writes = 100 + rand_below(&r, 300);
        for (size_t i = 0; i < writes; i++) {
            write_row(n, (unsigned)rand_below(&r, ROWS), ++value);
            if (rand_one_in(&r, 100))
                OK(order_of(n, TABLET_FLUSH, ends[rand_below(&r, TABLETS)],
                            err));
        }
        boot(&nodes[life + 1]);
        lose(n);
        take_over(n, &nodes[life + 1], (uint64_t)life + 2);
        check_all(&nodes[life + 1]);
    }
    end();
}

START_TEST(test_generations)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 5; i++) {
        uint64_t s = seed + i;
        run(generations, s, &s);
    }
}

END_TEST

/* Does the record of a tablet say that it needs log @log? */
static bool is_needed(uint64_t log)
{
    struct tablet_state *state = mem_alloc(sizeof(*state));
    bool needed = false;
    for (size_t k = 0; k < fake_row_count; k++) {
        OK(tablet_state_get(buf_slice(&fake_rows[k].row.state), state, err));
        for (size_t i = 0; i < state->log_count; i++)
            needed |= state->logs[i] == log;
    }
    mem_free(state);
    return needed;
}

struct two_logs {
    uint64_t seed;
    unsigned
        both; /* Runs in which both logs were needed at the second death. */
};

/* A server that took over from a dead one serves what it has in memory alone.
 * It dies, too, before or while it writes that to files: the third one finds
 * the rest in both logs. If it lives on, the first log is needed no more. */
static void two_logs(void *arg)
{
    struct two_logs *t = arg;
    struct rand_gen r;
    unsigned value = 0;
    rand_init(&r, t->seed);
    begin_with(&nodes[0], NULL);
    for (int i = 0; i < 200; i++)
        write_row(&nodes[0], (unsigned)rand_below(&r, ROWS), ++value);
    boot(&nodes[1]);
    lose(&nodes[0]);
    boot(&nodes[2]);
    take_over(&nodes[0], &nodes[1], 2);
    for (uint64_t n = rand_below(&r, 4); n > 0; n--)
        write_row(&nodes[1], (unsigned)rand_below(&r, ROWS), ++value);
    if (rand_one_in(&r, 4)) {
        world_sleep_us(director, 5 * SECOND);
        ck_assert(!is_needed(nodes[0].number));
    }
    t->both += is_needed(nodes[0].number);
    lose(&nodes[1]);
    take_over(&nodes[1], &nodes[2], 3);
    check_all(&nodes[2]);
    end();
}

START_TEST(test_two_logs)
{
    struct two_logs t = {.seed = test_seed()};
    for (int i = 0; i < 10; i++, t.seed++)
        run(two_logs, t.seed, &t);
    ck_assert_uint_gt(t.both, 0);
}

END_TEST

/* How much a server handed out of what it had sorted. */
static uint64_t batches_of(const struct node *n)
{
    return server_calls(n->rpc, "tablet.log_read") -
           server_failures(n->rpc, "tablet.log_read");
}

/* One server has the log sorted in memory, another one loads the tablets from
 * there; or the holder is gone by then, or releases it in between, or has
 * room for a part alone: nothing is lost. */
static void elsewhere(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    struct node *holder = &nodes[2];
    struct buf holders = BUF_INIT;
    struct rand_gen r;
    unsigned value = 0;
    rand_init(&r, seed);
    begin_with(&nodes[0], NULL);
    for (int i = 0; i < 300; i++)
        write_row(&nodes[0], (unsigned)rand_below(&r, ROWS), ++value);
    lose(&nodes[0]);
    boot(&nodes[1]);
    boot(holder);
    sort_log_at(holder, nodes[0].number, &holders);
    ck_assert_uint_gt(holders.len, 0);
    order_holders = buf_slice(&holders);
    if (seed % 4 == 1) {
        sim_crash(holder->world, SIM_CRASH_POWER);
        sim_await_end(holder->world);
    } else if (seed % 4 == 2) {
        world_sleep_us(director, 100 * SECOND);
    }
    give_all(&nodes[1], 2);
    if (seed % 4 != 1)
        ck_assert_uint_gt(batches_of(holder), 0);
    order_holders = SLICE_EMPTY;
    check_all(&nodes[1]);
    buf_close(&holders);
    end();
}

START_TEST(test_elsewhere)
{
    for (uint64_t seed = 0; seed < 8; seed++)
        run_with(elsewhere, seed, &seed, seed % 4 == 3 ? 20000 : 0);
}

END_TEST

/* A server that stands still while its session ends, and whose tablets others
 * have: when it wakes, it neither writes nor answers, and its process ends.
 */
static void fenced(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    struct buf got = BUF_INIT;
    (void)arg;
    begin_with(a, b);
    write_row(a, 7, 1);
    sim_pause(a->world);
    await_death(a);
    take_over(a, b, 2);
    OK(put(b, bounds_of("r050").id, "r007", "2", err));
    known[7] = maybe[7] = 2;
    sim_resume(a->world);
    ck_assert_int_ne(put(a, 10, "r007", "3", NULL), 0);
    ck_assert_int_ne(read_all(a, 10, &got, NULL), 0);
    buf_close(&got);
    world_sleep_us(director, LEASE_US);
    ck_assert(!sim_is_up(a->world));
    check_all(b);
    end();
}

START_TEST(test_fenced)
{
    run(fenced, 1, NULL);
}

END_TEST

/* The failure that the nth access to METADATA causes. */
struct crash_plan {
    uint64_t at;
    bool reached;
    bool too_late; /* All is done. */
};

static void crash_when_due(void *arg)
{
    struct crash_plan *p = arg;
    while (fake_calls < p->at && !p->too_late)
        world_sleep_us(director, 100);
    p->reached = !p->too_late;
    if (p->reached)
        sim_crash(nodes[0].world, SIM_CRASH_POWER);
}

/* The server dies at any step of loading, splitting and unloading; another
 * takes over what the records say, and has all that was acknowledged, in
 * tablets that cover the table. */
static void crash_anywhere(void *arg)
{
    struct crash_plan *p = arg;
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    struct fiber *f;
    begin();
    boot(a);
    boot(b);
    make_table();
    for (int i = 0; i < TABLETS; i++)
        make_tablet(10 + (uint64_t)i, start_of(i), ends[i], a, 1);
    fake_lost_in = UINT_MAX;
    fake_calls = 0;
    p->too_late = false;
    f = fiber_start(loop_self(), "crasher", crash_when_due, p);
    for (int i = 0; i < TABLETS && sim_is_up(a->world); i++)
        (void)!order_of(a, TABLET_LOAD, ends[i], NULL);
    for (unsigned i = 0; i < ROWS; i += 7)
        write_row(a, i, i + 1);
    if (sim_is_up(a->world))
        (void)!order(a, TABLET_SPLIT, 10, 1, SLICE_EMPTY, SLICE_LIT("r020"),
                     NULL);
    for (unsigned i = 3; i < ROWS; i += 7)
        if (i >= 50)
            write_row(a, i, i + 1);
    if (sim_is_up(a->world))
        (void)!order_of(a, TABLET_UNLOAD, ends[2], NULL);
    p->too_late = fake_calls < p->at;
    fiber_join(f);
    if (p->reached) {
        sim_await_end(a->world);
        await_death(a);
        take_over(a, b, 2);
        check_all(b);
    }
    end();
}

START_TEST(test_crash_anywhere)
{
    struct crash_plan p = {.at = 1, .reached = true};
    for (; p.reached && p.at < 100; p.at++)
        run(crash_anywhere, p.at, &p);
    ck_assert_uint_gt(p.at, 12); /* It did what it is about. */
}

END_TEST

/* Answers of METADATA are lost: every order ends well all the same, and nothing
 * is done twice. */
static void lost_answers(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    (void)arg;
    begin();
    boot(a);
    boot(b);
    fake_calls = 0;
    fake_lost_in = 0;
    load_all(a);
    fake_lost_in = 3;
    for (unsigned i = 0; i < ROWS; i += 3)
        write_row(a, i, i + 1);
    OK(order(a, TABLET_SPLIT, 10, 1, SLICE_EMPTY, SLICE_LIT("r020"), err));
    OK(order_of(a, TABLET_UNLOAD, "r100", err));
    fake_lost_in = 0;
    assign("r100", b, 2);
    OK(order_of(b, TABLET_LOAD, "r100", err));
    OK(order_of(a, TABLET_UNLOAD, "r020", err));
    assign("r020", b, 3);
    OK(order_of(b, TABLET_LOAD, "r020", err));
    sim_crash(a->world, SIM_CRASH_KILL);
    sim_await_end(a->world);
    await_death(a);
    take_over(a, b, 4);
    check_all(b);
    end();
}

START_TEST(test_lost_answers)
{
    run(lost_answers, 1, NULL);
}

END_TEST

/* The tablet becomes another's just after its row was changed. */
static bool give_away(struct fake_row *f)
{
    const struct tablet_location l = {nodes[1].number, 2,
                                      slice_str(nodes[1].address)};
    struct buf location = BUF_INIT;
    tablet_location_put(&l, &location);
    set_buf(&f->row.location, buf_slice(&location));
    buf_close(&location);
    fake_changed = NULL;
    return true;
}

/* A server that never hears that METADATA names its new SSTable, because
 * the tablet became another's meanwhile, leaves the file there: the other
 * reads it. */
static void file_stays(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    (void)arg;
    begin_with(a, b);
    write_row(a, 7, 1);
    fake_changed = give_away;
    ck_assert_int_ne(order_of(a, TABLET_FLUSH, "r050", NULL), 0);
    ck_assert(!fake_changed);
    lose(a);
    sort_log(b, a->number);
    OK(order_of(b, TABLET_LOAD, "r050", err));
    take_over(a, b, 2);
    check_all(b);
    end();
}

START_TEST(test_file_stays)
{
    run(file_stays, 1, NULL);
}

END_TEST

/* A server that says that it does not have a tablet does not load it in that
 * epoch any more, whatever order comes late; nor does one that has unloaded it.
 */
static void left(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin();
    boot(a);
    make_table();
    make_tablet(10, "", "", a, 1);
    ck_assert_int_eq(order_of(a, TABLET_UNLOAD, "", NULL), ERR_NOTFOUND);
    ck_assert_int_eq(order_of(a, TABLET_LOAD, "", NULL), ERR_ABORTED);
    assign("", a, 2);
    OK(order_of(a, TABLET_LOAD, "", err));
    OK(order_of(a, TABLET_UNLOAD, "", err));
    assign("", a, 2);
    ck_assert_int_eq(order_of(a, TABLET_LOAD, "", NULL), ERR_ABORTED);
    assign("", a, 3);
    OK(order_of(a, TABLET_LOAD, "", err));
    end();
}

START_TEST(test_left)
{
    run(left, 1, NULL);
}

END_TEST

/* A server is stopped while METADATA is away, and cannot write down what it
 * wants to hand over: its log stays whole, and all is found in it. */
static void stop_alone(void *arg)
{
    struct node *a = &nodes[0];
    struct node *b = &nodes[1];
    (void)arg;
    begin();
    OK(chubby_write(master_lock, SLICE_LIT("s1:700"), 0, err));
    boot(a);
    boot(b);
    load_all(a);
    for (unsigned i = 0; i < 3 * ROWS; i++)
        write_row(a, i % ROWS, i + 1);
    fake_away = true;
    sim_stop(a->world);
    sim_await_end(a->world);
    fake_away = false;
    await_death(a);
    take_over(a, b, 2);
    check_all(b);
    end();
}

START_TEST(test_stop_alone)
{
    run(stop_alone, 1, NULL);
}

END_TEST

/* Files cannot be made for a while: flushes fail, and so do writes when memory
 * is full. Afterwards everything continues. */
static void files_away(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin_with(a, NULL);
    write_row(a, 7, 1);
    OK(order_of(a, TABLET_FLUSH, "r050", err));
    write_row(a, 7, 2);
    OK(world_rename(director, "/fs/" STORE_TABLES_DIR, "/fs/away", err));
    OK(fs_replace(files, STORE_TABLES_DIR, SLICE_EMPTY, err)); /* In the way. */
    ck_assert_int_ne(order_of(a, TABLET_FLUSH, "r050", NULL), 0);
    for (unsigned i = 0; i < 1000; i++) /* More than a memtable. */
        write_row(a, i % 50, i + 10);
    OK(world_remove(director, "/fs/" STORE_TABLES_DIR, err));
    OK(world_rename(director, "/fs/away", "/fs/" STORE_TABLES_DIR, err));
    while (put(a, bounds_of("r050").id, "r008", "2", NULL) != 0)
        ck_assert_uint_lt(world_mono_ns(director),
                          100 * (uint64_t)SECOND * 1000);
    known[8] = maybe[8] = 2;
    OK(order_of(a, TABLET_FLUSH, "r050", err));
    check_all(a);
    end();
}

START_TEST(test_files_away)
{
    run(files_away, 1, NULL);
}

END_TEST

/* The change that splits a tablet fails, and is not made: its server sees that,
 * though the state of the upper half is that of the parent, and makes it. */
static void split_refused(void *arg)
{
    struct node *a = &nodes[0];
    (void)arg;
    begin_with(a, NULL);
    write_row(a, 7, 1);
    write_row(a, 30, 1);
    OK(order_of(a, TABLET_FLUSH, "r050", err));
    fake_refusals = 1;
    OK(order(a, TABLET_SPLIT, 10, 1, SLICE_EMPTY, SLICE_LIT("r020"), err));
    ck_assert_uint_eq(fake_row_count, TABLETS + 1);
    ck_assert(slice_eq_str(bounds_of("r020").start, ""));
    ck_assert(slice_eq_str(bounds_of("r050").start, "r020"));
    check_all(a);
    end();
}

START_TEST(test_split_refused)
{
    run(split_refused, 1, NULL);
}

END_TEST

TEST_MAIN("tablet_server recover",
          test_generations,
          test_two_logs,
          test_elsewhere,
          test_fenced,
          test_crash_anywhere,
          test_lost_answers,
          test_file_stays,
          test_left,
          test_stop_alone,
          test_files_away,
          test_split_refused)
