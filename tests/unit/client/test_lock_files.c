/* The cached contents of a file are those the lock service has: once a writer
 * has its answer, no client reads the old contents, however late events come. A
 * file that did not change is fetched once. */
#include <stdio.h>

#include "base/rpc/security.h"
#include "base/runtime/world.h"
#include "base/sim/sim_cluster.h"
#include "bigtable/client/cluster/lock_files.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"
#include "tests/lib/check_main.h"
#include "tests/lib/lock_cell.h"

enum {
    ROUNDS = 20,
    LATE_US = 30000 /* The delay of the service's events to the reader. */
};

static const char path[] = BIGTABLE_LOCK_TABLES "/t";
/* Of a clone that a job made for itself. */
static const char own_path[] = BIGTABLE_LOCK_TABLES "/.job-1-0";
static const char *const servers[] = {LOCK_CELL_ADDRESS};
static struct sim_cluster *cluster;
static struct rpc_security *security;
static struct lock_cell cell;
static struct world *reader;
static struct chubby *session; /* The writer's. */

#define OK(call) ck_assert_int_eq((call), 0)

/* --- the reader ---------------------------------------------------------- */

static struct lock_files *files;
static struct lock_file *file;
static struct lock_file *own_file;

static void reader_main(void *arg)
{
    struct lock_files_options o = {.servers = LOCK_CELL_ADDRESS,
                                   .security = security};
    (void)arg;
    OK(lock_files_open(reader, &o, &files, NULL));
    file = lock_file_new(files, path);
    own_file = lock_file_new(files, own_path);
    serve_until_cancelled();
    lock_file_free(file);
    lock_file_free(own_file);
    lock_files_close(files);
}

struct reading {
    struct lock_file *of;
    int rc;
    char text[32];
    bool done;
};

static void read_it(void *arg)
{
    struct reading *r = arg;
    struct slice bytes = SLICE_EMPTY;
    r->rc = lock_file_read(r->of, &bytes, NULL, NULL);
    snprintf(r->text, sizeof(r->text), "%.*s", SLICE_ARG(bytes));
    r->done = true;
}

static void expect_of(struct lock_file *of, const char *text)
{
    struct reading r = {.of = of};
    sim_spawn(reader, "read", read_it, &r);
    while (!r.done)
        world_sleep_us(sim_director(cluster), 10);
    ck_assert_int_eq(r.rc, text ? 0 : ERR_NOTFOUND);
    ck_assert_str_eq(r.text, text ? text : "");
}

static void expect(const char *text)
{
    expect_of(file, text);
}

/* --- the writer ---------------------------------------------------------- */

static struct chubby_handle *open_node(const char *name, unsigned flags)
{
    struct chubby_handle *h;
    OK(chubby_open(session, name, CHUBBY_READ | CHUBBY_WRITE | flags, NULL, &h,
                   NULL));
    return h;
}

static void begin(void)
{
    const struct sim_link late = {.delay_us = LATE_US};
    const struct chubby_options o = {
        .servers = servers, .server_count = 1, .security = security};
    sim_boot(cell.machine, lock_cell_main, &cell);
    OK(chubby_connect(sim_director(cluster), &o, &session, NULL));
    chubby_close(open_node("/bigtable", CHUBBY_CREATE | CHUBBY_DIRECTORY));
    chubby_close(
        open_node(BIGTABLE_LOCK_TABLES, CHUBBY_CREATE | CHUBBY_DIRECTORY));
    sim_set_link(cluster, cell.machine, reader, &late);
    sim_boot(reader, reader_main, NULL);
    while (!own_file)
        world_sleep_us(sim_director(cluster), 1000);
}

static void end(void)
{
    sim_stop(reader);
    file = own_file = NULL;
    chubby_disconnect(session);
    sim_stop(cell.machine);
}

static void in_cell(task_fn fn)
{
    const struct sim_options o = {.network_us = 100, .sync_us = 100};
    cluster = sim_cluster_new(test_seed());
    security = rpc_security_none("test", "ann");
    reader = sim_machine_new(cluster, "r1", &o);
    cell =
        (struct lock_cell){sim_machine_new(cluster, "s1", &o), security, NULL};
    sim_cluster_run(cluster, fn, NULL);
    sim_cluster_free(cluster);
    rpc_security_free(security);
}

/* --- tests --------------------------------------------------------------- */

static void written(void *arg)
{
    struct chubby_handle *h;
    uint64_t calls;
    char text[32];
    (void)arg;
    begin();
    h = open_node(path, CHUBBY_CREATE);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof(text), "round %d", i);
        OK(chubby_write(h, slice_str(text), 0, NULL));
        expect(text);
    }
    calls = lock_files_calls(files);
    for (int i = 0; i < ROUNDS; i++)
        expect(text);
    ck_assert_uint_eq(lock_files_calls(files), calls);
    chubby_close(h);
    end();
}

START_TEST(test_written)
{
    in_cell(written);
}

END_TEST

static void made_and_deleted(void *arg)
{
    struct chubby_handle *h;
    (void)arg;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        expect(NULL);
        h = open_node(path, CHUBBY_CREATE | CHUBBY_NEW);
        OK(chubby_write(h, SLICE_LIT("it is"), 0, NULL));
        expect("it is");
        OK(chubby_delete(h, NULL));
        chubby_close(h);
    }
    expect(NULL);
    end();
}

START_TEST(test_made_and_deleted)
{
    in_cell(made_and_deleted);
}

END_TEST

/* How long it takes to delete @name once its reader has died. */
static uint64_t deletion_us(const char *name, struct lock_file **of)
{
    struct world *here = sim_director(cluster);
    struct chubby_handle *h;
    uint64_t before;
    begin();
    h = open_node(name, CHUBBY_CREATE | CHUBBY_NEW);
    OK(chubby_write(h, SLICE_LIT("it is"), 0, NULL));
    expect_of(*of, "it is");
    sim_crash(reader, SIM_CRASH_KILL);
    sim_await_end(reader);
    file = own_file = NULL;
    before = world_mono_ns(here);
    OK(chubby_delete(h, NULL));
    before = (world_mono_ns(here) - before) / 1000;
    chubby_close(h);
    chubby_disconnect(session);
    sim_stop(cell.machine);
    return before;
}

/* Dropping a job's own table waits for no attempt that was killed. Of other
 * tables no client may have the record once they are gone. */
static void reader_killed(void *arg)
{
    (void)arg;
    ck_assert_uint_gt(deletion_us(path, &file), 5000000);
    ck_assert_uint_lt(deletion_us(own_path, &own_file), 1000000);
}

START_TEST(test_reader_killed)
{
    in_cell(reader_killed);
}

END_TEST

TEST_MAIN("lock_files", test_written, test_made_and_deleted, test_reader_killed)
