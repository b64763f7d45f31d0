/* A chunk whose chain breaks is sealed with every copy that is there. */
#include "tests/unit/gfs-lite/cell_files.h"

#define SERVERS 3

static void write_some(struct fs_writer *w, struct buf *data)
{
    size_t at = data->len;
    fill(data, at, 10000, 7);
    OK(fs_writer_append(w, data->data + at, data->len - at, err));
    OK(fs_writer_sync(w, err));
}

static void come_back(struct cell *c, struct fs *fs, struct cell_node *n)
{
    sim_await_end(n->world);
    sim_boot_again(n->world);
    world_sleep_us(sim_director(c->sim), 1000000);
    await_servers(c, fs);
}

/* Write to the file @path; server @victim dies in between. */
static void write_while_one_dies(struct cell *c,
                                 struct fs *fs,
                                 const char *path,
                                 unsigned victim,
                                 struct buf *data)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    OK(fs_create(fs, path, &o, &w, err));
    write_some(w, data);
    sim_crash(c->chunks[victim].world, SIM_CRASH_KILL);
    write_some(w, data);
    fs_writer_close(w);
}

static void return_unnoticed(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    await_servers(c, fs);
    /* The namenode calls all of them. */
    write_while_one_dies(c, fs, "before", 0, &data);
    come_back(c, fs, &c->chunks[0]);
    sim_crash(c->chunks[1].world, SIM_CRASH_POWER);
    come_back(c, fs, &c->chunks[1]);
    fs_close(fs);
    /* Of the writer itself no connection is from before. */
    fs = cell_client(c, sim_director(c->sim), "test");
    buf_clear(&data);
    write_while_one_dies(c, fs, "f", 2, &data);
    sim_crash(c->chunks[0].world, SIM_CRASH_KILL);
    check_file(fs, "f", buf_slice(&data));
    buf_close(&data);
    fs_close(fs);
}

/* A server that has lost its power since the namenode last called it has a copy
 * like any other: when of two that have one the other dies, it is read. */
START_TEST(test_a_server_that_came_back_is_not_left_out)
{
    run_both_ways(return_unnoticed, SERVERS, 0, false);
}

END_TEST

/* --- lost disks ---------------------------------------------------------- */

/* Server @n has an empty disk and its old address. */
static void lose_disk(struct cell *c, struct fs *fs, struct cell_node *n)
{
    sim_crash(n->world, SIM_CRASH_KILL);
    n->disks_lost++;
    sim_await_end(n->world);
    sim_boot_again(n->world);
    world_sleep_us(sim_director(c->sim), 1000000);
    (void)fs;
}

/* Begin the log "log" while server 0 is the only one, and write to it. */
static struct fs_writer *
begin_alone(struct cell *c, struct fs *fs, struct buf *data)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG, .replication = SERVERS};
    struct fs_writer *w;
    for (unsigned i = 1; i < SERVERS; i++) {
        sim_crash(c->chunks[i].world, SIM_CRASH_KILL);
        sim_await_end(c->chunks[i].world);
    }
    world_sleep_us(sim_director(c->sim), 10000000);
    OK(fs_create(fs, "log", &o, &w, err));
    write_some(w, data);
    return w;
}

static size_t count_findings(struct fs *fs)
{
    struct gfs_findings f;
    struct arena a;
    size_t count;
    arena_init(&a);
    OK(gfs_check(fs, "", SLICE_EMPTY, &a, &f, err));
    count = f.count + f.early;
    arena_close(&a);
    return count;
}

/* Each try to recover "log" is a command that is synced: they must not follow
 * each other at once, however often clients ask. */
#define SYNCS_PER_SECOND_MAX 8

static void check_few_tries(struct cell *c, struct fs *taker)
{
    uint64_t syncs = sim_sync_count(c->namenodes[0].world);
    uint64_t begin_ns = world_mono_ns(sim_director(c->sim));
    struct err why = ERR_INIT;
    uint64_t length;
    ck_assert_int_ne(fs_recover(taker, "log", &length, &why), 0);
    syncs = sim_sync_count(c->namenodes[0].world) - syncs;
    ck_assert_uint_lt(syncs * 1000000000 /
                          (world_mono_ns(sim_director(c->sim)) - begin_ns),
                      SYNCS_PER_SECOND_MAX);
}

static void lose_only_disk(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct fs *taker;
    struct buf data = BUF_INIT;
    struct err why = ERR_INIT;
    uint64_t length;
    struct fs_writer *w;
    await_servers(c, fs);
    w = begin_alone(c, fs, &data);
    lose_disk(c, fs, &c->chunks[0]);
    taker = cell_client(c, sim_director(c->sim), "taker");
    /* Nobody may say that the log is empty. */
    ck_assert_int_ne(fs_recover(taker, "log", &length, &why), 0);
    ck_assert_msg(strstr(why.text, "no server that has it"), "%s", why.text);
    ck_assert_uint_gt(count_findings(fs), 0);
    check_few_tries(c, taker);
    fs_close(taker);
    fs_writer_close(w);
    fs_close(fs);
    buf_close(&data);
}

/* The only server of a log's open chunk comes back without its disk: what was
 * synced is lost, and nobody is told that there was nothing. */
START_TEST(test_a_lost_disk_is_no_empty_file)
{
    run_both_ways(lose_only_disk, SERVERS, 0, false);
}

END_TEST

static void get_copies(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    struct fs_writer *w;
    uint64_t length;
    await_servers(c, fs);
    w = begin_alone(c, fs, &data);
    ck_assert_uint_gt(count_findings(fs), 0);
    for (unsigned i = 1; i < SERVERS; i++)
        sim_boot_again(c->chunks[i].world);
    for (unsigned i = 0; count_findings(fs) > 0; i++) {
        ck_assert_uint_lt(i, 300);
        world_sleep_us(sim_director(c->sim), 100000);
    }
    for (unsigned i = 0; i + 1 < SERVERS; i++)
        lose_disk(c, fs, &c->chunks[i]);
    write_some(w, &data);
    OK(fs_recover(fs, "log", &length, err));
    check_file(fs, "log", buf_slice(&data));
    fs_writer_close(w);
    fs_close(fs);
    buf_close(&data);
}

/* A log whose writer is idle was begun while one server was there. Once others
 * are, it gets their copies; before that it is listed as one that has too few.
 */
START_TEST(test_an_idle_log_gets_copies)
{
    run_both_ways(get_copies, SERVERS, 0, false);
}

END_TEST

TEST_MAIN("recovery",
          test_a_server_that_came_back_is_not_left_out,
          test_a_lost_disk_is_no_empty_file,
          test_an_idle_log_gets_copies)
