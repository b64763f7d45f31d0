/* A tablet server that is told to end does so at once, also when nobody is left
 * who would answer what it has under way: as when a whole cluster ends. One
 * whose log was taken from it ends as one that lost its place. */
#include "tests/unit/tablet_server/fixture.h"

/* --- rows that nobody answers for ---------------------------------------- */

static bool silent;      /* From now on. */
static unsigned waiting; /* Fibers that ask meanwhile. */

/* As a call to a server that is gone: until its fiber is told to stop, or for
 * as long as such calls take. */
static int await_nobody(struct err *err)
{
    int rc = 0;
    waiting++;
    for (int i = 0; i < 2000 && rc == 0; i++) {
        world_sleep_us(director, SECOND / 100);
        rc = fiber_check(err);
    }
    waiting--;
    return rc ? rc : err_set(err, ERR_UNAVAILABLE, "nobody answers");
}

static int silent_read(struct tablet_rows *r,
                       struct slice key,
                       struct tablet_row *out,
                       struct err *err)
{
    return silent ? await_nobody(err) : fake_read(r, key, out, err);
}

static int silent_change(struct tablet_rows *r,
                         const struct tablet_row_change *c,
                         bool *done,
                         uint64_t *version,
                         struct err *err)
{
    *done = false;
    return silent ? await_nobody(err) : fake_change(r, c, done, version, err);
}

static struct tablet_rows *silent_metadata(void)
{
    static const struct tablet_rows_ops ops = {silent_read, silent_change,
                                               fake_create, fake_free};
    static struct tablet_rows rows = {&ops};
    return &rows;
}

static void run(task_fn scenario)
{
    start_cluster(test_seed());
    server_options.rows = silent_metadata();
    silent = false;
    sim_cluster_run(cluster, scenario, NULL);
    forget_rows();
    free_cluster();
}

/* --- orders of a master that will not learn their outcome ---------------- */

struct given {
    struct node *node;
    uint32_t method;
    const char *end_row;
};

static void give(void *arg)
{
    const struct given *g = arg;
    ck_assert_int_ne(order_of(g->node, g->method, g->end_row, NULL), 0);
}

/* Until it, or what it started, waits for an answer. */
static struct fiber *give_in_vain(struct given *g)
{
    struct fiber *f;
    silent = true;
    f = fiber_start(loop_self(), "order", give, g);
    while (waiting == 0)
        world_sleep_us(director, SECOND / 100);
    return f;
}

/* The node stops: within a second, though nobody answers. */
static void stop_at_once(struct node *n)
{
    uint64_t from = world_mono_ns(director);
    sim_stop(n->world);
    ck_assert_uint_le((world_mono_ns(director) - from) / 1000, SECOND);
}

/* --- Tests --------------------------------------------------------------- */

/* An order to load a tablet, whose record is to be read. */
static void load_waits(void *arg)
{
    struct node *n = &nodes[0];
    struct given g = {n, TABLET_LOAD, "m"};
    struct fiber *f;
    (void)arg;
    begin();
    boot(n);
    make_table();
    make_tablet(5, "", "m", n, 1);
    f = give_in_vain(&g);
    leaves = true;
    stop_at_once(n);
    fiber_join(f);
    end();
}

START_TEST(test_load_waits)
{
    run(load_waits);
}

END_TEST

/* An order whose thread is to write down what a flush has made. */
static void flush_waits(void *arg)
{
    struct node *n = &nodes[0];
    struct given g = {n, TABLET_FLUSH, "m"};
    struct fiber *f;
    (void)arg;
    begin();
    boot(n);
    make_table();
    make_tablet(5, "", "m", n, 1);
    OK(order_of(n, TABLET_LOAD, "m", err));
    OK(put(n, 5, "b", "1", err));
    f = give_in_vain(&g);
    leaves = true;
    stop_at_once(n);
    fiber_join(f);
    end();
}

START_TEST(test_flush_waits)
{
    run(flush_waits);
}

END_TEST

/* --- logs that were taken away ------------------------------------------- */

static bool taken; /* From now on. */
static const struct fs_ops *ops_below;

static int taken_append_sync(struct fs_writer *w,
                             const void *data,
                             size_t len,
                             struct err *err)
{
    int rc = taken ? err_set(err, ERR_ABORTED, "its chunk was recovered")
                   : ops_below->append(w, data, len, err);
    return rc ? rc : ops_below->sync(w, err);
}

static const struct fs_ops *with_taken(const struct fs_ops *ops)
{
    static struct fs_ops mine;
    ops_below = ops;
    mine = *ops;
    mine.append_sync = taken_append_sync;
    return &mine;
}

static void await_failure(struct node *n)
{
    while (sim_is_up(n->world))
        world_sleep_us(director, SECOND / 100);
    ck_assert_int_eq(n->failure, ERR_CLOSED);
}

/* While it begins to write it. */
static void log_taken_at_first(void *arg)
{
    struct node *n = &nodes[0];
    (void)arg;
    begin();
    files_with = with_taken;
    taken = true;
    sim_boot(n->world, node_main, n);
    await_failure(n);
    end();
}

START_TEST(test_log_taken_at_first)
{
    run(log_taken_at_first);
}

END_TEST

/* While it serves: writers are told so, too, and try elsewhere. */
static void log_taken(void *arg)
{
    struct node *n = &nodes[0];
    (void)arg;
    begin();
    files_with = with_taken;
    taken = false;
    boot(n);
    make_table();
    make_tablet(5, "", "m", n, 1);
    OK(order_of(n, TABLET_LOAD, "m", err));
    OK(put(n, 5, "b", "1", err));
    taken = true;
    ck_assert_int_eq(put(n, 5, "b", "2", NULL), ERR_CLOSED);
    await_failure(n);
    end();
}

START_TEST(test_log_taken)
{
    run(log_taken);
}

END_TEST

TEST_MAIN("tablet_server ending",
          test_load_waits,
          test_flush_waits,
          test_log_taken_at_first,
          test_log_taken)
