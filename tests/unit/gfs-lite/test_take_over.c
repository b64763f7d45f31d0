/* A file is taken from its writer: the log of a server that died, or that does
 * not know yet that another continues in its place. */
#include "base/core/arena.h"
#include "tests/unit/gfs-lite/cell_files.h"

/* --- Fixture ------------------------------------------------------------- */

/* A process on a machine of its own that appends records to "log". */
struct logger {
    struct cell *cell;
    struct world *world;
    struct buf data;  /* Appended. */
    uint64_t synced;  /* Of these, what a sync has answered. */
    unsigned records; /* How many at most. */
    int rc;           /* Of the append that failed. */
    bool done;
};

static void run_logger(void *arg)
{
    struct logger *l = arg;
    struct fs *fs = cell_client(l->cell, l->world, "logger");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    struct err why = ERR_INIT;
    OK(fs_create(fs, "log", &o, &w, err));
    for (unsigned i = 0; l->rc == 0 && i < l->records; i++) {
        size_t at = l->data.len;
        fill(&l->data, at, 700, 7);
        l->rc = i % 3 == 2
                    ? fs_writer_append(w, l->data.data + at, 700, &why)
                    : fs_writer_append_sync(w, l->data.data + at, 700, &why);
        if (l->rc == 0 && i % 3 != 2)
            l->synced = l->data.len;
        world_sleep_us(l->world, 1000);
    }
    fs_writer_close(w);
    fs_close(fs);
    l->done = true;
}

static void start_logger(struct cell *c,
                         struct logger *l,
                         struct world *w,
                         unsigned records)
{
    *l = (struct logger){.cell = c, .world = w, .records = records};
    sim_spawn(w, "logger", run_logger, l);
}

static void await_logger(struct cell *c, const struct logger *l)
{
    while (!l->done)
        world_sleep_us(sim_director(c->sim), 10000);
}

/* --- Expectations -------------------------------------------------------- */

/* "log" has @length bytes of what was appended, all that was synced among
 * them, and is nobody's. */
static void check_taken(struct fs *fs, const struct logger *l, uint64_t length)
{
    struct arena a;
    struct gfs_stat s;
    ck_assert_uint_ge(length, l->synced);
    ck_assert_uint_le(length, l->data.len);
    check_file(fs, "log", slice_make(l->data.data, length));
    arena_init(&a);
    OK(gfs_stat(fs, "log", &s, err));
    ck_assert(!s.is_open);
    ck_assert_uint_eq(s.size_bytes, length);
    arena_close(&a);
}

/* --- Tests --------------------------------------------------------------- */

static void take_from_the_living(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    struct logger l;
    uint64_t length;
    uint64_t again;
    await_servers(c, fs);
    start_logger(c, &l, c->chunks[4].world, 100000);
    world_sleep_us(sim_director(c->sim), 2000000);
    ck_assert_uint_gt(l.synced, 0);
    OK(fs_recover(fs, "log", &length, err));
    check_taken(fs, &l, length);
    await_logger(c, &l);
    ck_assert_int_eq(l.rc, ERR_ABORTED);
    check_taken(fs, &l, length);
    OK(fs_recover(fs, "log", &again, err));
    ck_assert_uint_eq(again, length);
    /* Two of the servers may be lost: each copy has that length. */
    sim_crash(c->chunks[0].world, SIM_CRASH_POWER);
    sim_crash(c->chunks[1].world, SIM_CRASH_POWER);
    check_taken(fs, &l, length);
    buf_close(&l.data);
    fs_close(fs);
}

/* A writer that lives and continues to append loses its file in the middle: all
 * it had synced is there, and from then on its appends fail. */
START_TEST(test_living_writer_is_fenced)
{
    run_in_cell(1, 5, take_from_the_living);
}

END_TEST

static void take_from_the_cut_off(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    struct world *w = c->chunks[4].world;
    struct logger l;
    uint64_t length;
    await_servers(c, fs);
    start_logger(c, &l, w, 100000);
    world_sleep_us(sim_director(c->sim), 2000000);
    sim_partition(c->sim, &w, 1);
    OK(fs_recover(fs, "log", &length, err));
    check_taken(fs, &l, length);
    sim_heal(c->sim);
    await_logger(c, &l);
    ck_assert_int_eq(l.rc, ERR_ABORTED);
    check_taken(fs, &l, length);
    buf_close(&l.data);
    fs_close(fs);
}

/* A writer whose machine, with the chunk server on it, is cut off finds its
 * file taken when it is back. */
START_TEST(test_writer_that_was_cut_off_is_fenced)
{
    run_in_cell(1, 5, take_from_the_cut_off);
}

END_TEST

static void take_from_the_dead(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "taker");
    struct logger l;
    uint64_t length;
    await_servers(c, fs);
    start_logger(c, &l, c->chunks[4].world, 100000);
    world_sleep_us(director, 2000000 + test_seed() % 1000);
    sim_crash(c->chunks[4].world, SIM_CRASH_POWER);
    sim_await_end(c->chunks[4].world);
    /* And a leader that dies in the middle of it. */
    for (unsigned i = 0; i < c->namenode_count; i++)
        if (namenode_is_leader(c->namenodes[i].namenode)) {
            sim_crash(c->namenodes[i].world, SIM_CRASH_KILL);
            break;
        }
    OK(fs_recover(fs, "log", &length, err));
    check_taken(fs, &l, length);
    buf_close(&l.data);
    fs_close(fs);
}

/* The log of a machine that lost its power is whole for the server that
 * continues it, though the leading namenode dies too. */
START_TEST(test_log_of_a_dead_machine)
{
    run_in_cell(3, 5, take_from_the_dead);
}

END_TEST

static void take_at_once(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "taker");
    struct logger l;
    uint64_t length;
    uint64_t before;
    await_servers(c, fs);
    start_logger(c, &l, c->chunks[4].world, 100000);
    world_sleep_us(director, 2000000 + test_seed() % 1000);
    sim_crash(c->chunks[4].world, SIM_CRASH_KILL);
    sim_await_end(c->chunks[4].world);
    before = sim_cluster_now_us(c->sim);
    OK(fs_recover(fs, "log", &length, err));
    ck_assert_uint_le(sim_cluster_now_us(c->sim) - before, 4000000);
    check_taken(fs, &l, length);
    buf_close(&l.data);
    fs_close(fs);
}

/* The log of a process that was killed, with the chunk server in it, is had
 * long before that server is given up: the others lack nothing. */
START_TEST(test_log_of_a_killed_process)
{
    struct cell *c = cell_new(test_seed(), 1, 5);
    c->namenode_options.server_dead_us = 60000000;
    cell_run(c, take_at_once);
    cell_free(c);
}

END_TEST

/* A take-over that runs beside the director. */
struct taker {
    struct fs *fs;
    uint64_t length;
    int rc;
    bool done;
};

static void run_taker(void *arg)
{
    struct taker *t = arg;
    struct err why = ERR_INIT;
    t->rc = fs_recover(t->fs, "log", &t->length, &why);
    t->done = true;
}

static void take_beside_rot(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "taker");
    struct taker t = {.fs = fs};
    struct logger l;
    await_servers(c, fs);
    start_logger(c, &l, c->chunks[3].world, 400);
    while (!l.done && l.data.len < 200 * 700)
        world_sleep_us(director, 1000);
    sim_crash(c->chunks[3].world, SIM_CRASH_POWER);
    for (unsigned i = 1; i < 3; i++)
        sim_crash(c->chunks[i].world, SIM_CRASH_KILL);
    for (unsigned i = 1; i < 4; i++)
        sim_await_end(c->chunks[i].world);
    for (int i = 0; i < 6; i++) /* One may hit what says nothing. */
        ck_assert(sim_rot(c->chunks[0].world, "/chunkserver/chunks"));
    sim_spawn(director, "taker", run_taker, &t);
    world_sleep_us(director, 8000000);
    ck_assert(!t.done);
    for (unsigned i = 1; i < 3; i++)
        sim_boot(c->chunks[i].world, cell_run_chunkserver, &c->chunks[i]);
    while (!t.done)
        world_sleep_us(director, 10000);
    ck_assert_int_eq(t.rc, 0);
    check_taken(fs, &l, t.length);
    buf_close(&l.data);
    fs_close(fs);
}

/* The one copy that can be reached has rotted, and nobody has read it: it does
 * not become the file; the others are waited for. */
START_TEST(test_a_copy_alone_is_read_first)
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    /* One machine is the writer's alone. */
    cell_add_node(c, &c->chunks[3], "c", 3);
    c->namenode_options.server_dead_us = 60000000;
    cell_run(c, take_beside_rot);
    cell_free(c);
}

END_TEST

static void take_what_nobody_writes(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    uint64_t length;
    ck_assert_int_eq(fs_recover(fs, "none", &length, NULL), ERR_NOTFOUND);
    OK(fs_mkdirs(fs, "d", err));
    ck_assert_int_eq(fs_recover(fs, "d", &length, NULL), ERR_INVALID);
    write_file(fs, "f", SLICE_LIT("whole"), true);
    OK(fs_recover(fs, "f", &length, err));
    ck_assert_uint_eq(length, 5);
    check_file(fs, "f", SLICE_LIT("whole"));
    /* Of a writer that has not begun. */
    OK(fs_create(fs, "e", &o, &w, err));
    OK(fs_recover(fs, "e", &length, err));
    ck_assert_uint_eq(length, 0);
    ck_assert_int_eq(fs_writer_append_sync(w, "x", 1, NULL), ERR_ABORTED);
    fs_writer_close(w);
    check_file(fs, "e", SLICE_EMPTY);
    fs_close(fs);
}

/* A closed file stays as it is; one that was only created becomes empty for
 * good; what is no file is refused. */
START_TEST(test_taking_what_nobody_writes)
{
    run_in_cell(1, 3, take_what_nobody_writes);
}

END_TEST

/* Opening "log" fails with @want after @from_s to @to_s seconds, and the
 * message says what was lost. */
static void
check_unopened(struct fs *fs, int want, uint64_t from_s, uint64_t to_s)
{
    struct world *w = fs_world(fs);
    uint64_t before = world_mono_ns(w);
    struct err why = ERR_INIT;
    struct fs_reader *r;
    uint64_t took_s;
    ck_assert_int_eq(fs_open(fs, "log", &r, &why), want);
    took_s = (world_mono_ns(w) - before) / 1000000000;
    ck_assert_uint_ge(took_s, from_s);
    ck_assert_uint_le(took_s, to_s);
    ck_assert_msg(strstr(why.text, "log: chunk ") && why.hint[0], "%s",
                  why.text);
}

static void set_servers(struct cell *c, struct fs *fs, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        OK(gfs_set_server_state(fs, c->chunks[i].address, GFS_SERVER_GONE,
                                err));
}

static void open_without_servers(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "reader");
    struct buf got = BUF_INIT;
    struct logger l;
    await_servers(c, fs);
    start_logger(c, &l, c->chunks[3].world, 100000);
    world_sleep_us(director, 2000000);
    for (unsigned i = 0; i < 4; i++)
        sim_crash(c->chunks[i].world, SIM_CRASH_KILL);
    world_sleep_us(director, 10000000);
    check_unopened(fs, ERR_UNAVAILABLE, 39, 60);
    set_servers(c, fs, 2);
    check_unopened(fs, ERR_UNAVAILABLE, 39, 60);
    set_servers(c, fs, 3);
    check_unopened(fs, ERR_CORRUPT, 0, 1);
    /* And yet one comes back. */
    sim_boot(c->chunks[1].world, cell_run_chunkserver, &c->chunks[1]);
    world_sleep_us(director, 10000000);
    OK(fs_read_all(fs, "log", 1 << 28, &got, err));
    check_taken(fs, &l, got.len);
    buf_close(&got);
    buf_close(&l.data);
    fs_close(fs);
}

/* A file whose last chunk is on dead servers alone is waited for, until all of
 * them are said to be gone: then an open is answered at once. */
START_TEST(test_servers_that_are_gone)
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    /* One machine is the writer's alone. */
    cell_add_node(c, &c->chunks[3], "c", 3);
    cell_run(c, open_without_servers);
    cell_free(c);
}

END_TEST

/* --- Files left open ----------------------------------------------------- */

#define LEFT_FILES 120

/* Leaves files open, with a copy each. */
static void run_leaver(void *arg)
{
    struct logger *l = arg;
    struct fs *fs = cell_client(l->cell, l->world, "leaver");
    struct fs_write_options o = {.mode = FS_WRITE_LOG, .replication = 1};
    struct fs_writer *w[LEFT_FILES];
    for (unsigned i = 0; i < LEFT_FILES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%u", i);
        OK(fs_create(fs, name, &o, &w[i], err));
        OK(fs_writer_append_sync(w[i], "some", 4, err));
    }
    l->done = true;
    cell_serve_until_cancelled(l->world);
    for (unsigned i = 0; i < LEFT_FILES; i++)
        fs_writer_close(w[i]);
    fs_close(fs);
}

/* Is the copy of file @i on machine @name? */
static bool is_on(struct fs *fs, unsigned i, const char *name)
{
    struct fs_reader *r;
    const char *machine;
    char path[16];
    bool is;
    snprintf(path, sizeof(path), "f%u", i);
    OK(fs_open(fs, path, &r, err));
    ck_assert_uint_eq(fs_locality(r, 0, 4, &machine, 1), 1);
    is = strcmp(machine, name) == 0;
    fs_reader_close(r);
    return is;
}

static bool is_left_open(struct fs *fs, unsigned i)
{
    struct gfs_stat s;
    char path[16];
    snprintf(path, sizeof(path), "f%u", i);
    OK(gfs_stat(fs, path, &s, err));
    return s.is_open;
}

static void close_what_can_be(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "watcher");
    struct logger l = {.cell = c, .world = c->chunks[3].world};
    bool hopeless[LEFT_FILES];
    unsigned count = 0;
    sim_spawn(l.world, "leaver", run_leaver, &l);
    await_logger(c, &l);
    for (unsigned i = 0; i < LEFT_FILES; i++) {
        hopeless[i] = !is_on(fs, i, "c0");
        count += hopeless[i];
    }
    ck_assert_uint_gt(count, 30);
    ck_assert_uint_lt(count, LEFT_FILES - 10);
    for (unsigned i = 1; i < 4; i++)
        sim_crash(c->chunks[i].world, SIM_CRASH_KILL);
    world_sleep_us(director, 120000000);
    for (unsigned i = 0; i < LEFT_FILES; i++)
        ck_assert_msg(is_left_open(fs, i) == hopeless[i], "f%u", i);
    fs_close(fs);
}

/* A client dies, and servers with it: what can be closed of what it wrote is
 * closed, however many files wait for a server that does not come back. */
START_TEST(test_hopeless_files_keep_nobody_waiting)
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    /* One machine is the writer's alone. */
    cell_add_node(c, &c->chunks[3], "c", 3);
    cell_run(c, close_what_can_be);
    cell_free(c);
}

END_TEST

TEST_MAIN("gfs_take_over",
          test_servers_that_are_gone,
          test_hopeless_files_keep_nobody_waiting,
          test_living_writer_is_fenced,
          test_writer_that_was_cut_off_is_fenced,
          test_log_of_a_dead_machine,
          test_log_of_a_killed_process,
          test_a_copy_alone_is_read_first,
          test_taking_what_nobody_writes)
