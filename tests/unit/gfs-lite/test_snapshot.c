/* Snapshots of a cell that take many commands: a reader sees none or all of
 * one, a change of the source waits, and neither a leader nor a client that
 * dies leaves a part of one. */
#include "tests/unit/gfs-lite/cell_files.h"

#define DIRECTORIES 150
#define FILES       10

/* --- Fixture ------------------------------------------------------------- */

struct looker {
    struct cell *cell;
    struct fs *fs;
    bool seen;  /* The copy is there, */
    bool ended; /* and its command was answered. */
    unsigned looks;
};

static void run(void (*scenario)(struct cell *c))
{
    for (uint64_t seed = test_seed(), end = seed + 4; seed < end; seed++) {
        struct cell *c = cell_new(seed, 3, 3);
        cell_add_node(c, &c->chunks[3], "c", 3); /* For a client. */
        c->namenode_options.copy_step = 1;
        cell_run(c, scenario);
        cell_free(c);
    }
}

static void sleep_us(struct cell *c, uint64_t us)
{
    world_sleep_us(sim_director(c->sim), us);
}

/* The tree d. */
static void make_tree(struct fs *fs)
{
    char path[32];
    for (unsigned i = 0; i < DIRECTORIES; i++) {
        snprintf(path, sizeof(path), "d/%u/%u", i / 10, i % 10);
        OK(fs_mkdirs(fs, path, err));
    }
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "d/3/%u/f", i);
        write_file(fs, path, SLICE_LIT("content"), true);
    }
}

static uint64_t tree_entries(void)
{
    return DIRECTORIES + DIRECTORIES / 10 + FILES;
}

/* --- Helpers ------------------------------------------------------------- */

/* Is there a copy? All of it, then. */
static bool look(struct fs *fs)
{
    struct gfs_stat s;
    int rc = gfs_stat(fs, "s", &s, NULL);
    if (rc == ERR_NOTFOUND)
        return false;
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(s.entry_count, tree_entries());
    ck_assert_uint_eq(s.file_count, FILES);
    ck_assert_uint_eq(s.bytes, FILES * strlen("content"));
    return true;
}

static void run_looker(void *arg)
{
    struct looker *l = arg;
    while (!l->ended) {
        bool seen = look(l->fs);
        ck_assert(seen || !l->seen);
        l->seen = seen;
        l->looks++;
        sleep_us(l->cell, 1000);
    }
}

static void run_snapshot(void *arg)
{
    struct looker *l = arg;
    OK(gfs_snapshot(l->fs, "d", "s", err));
    l->ended = true;
    ck_assert(look(l->fs));
}

static void kill_leader(struct cell *c)
{
    for (unsigned n = 0; n < c->namenode_count; n++)
        if (c->namenodes[n].namenode &&
            namenode_is_leader(c->namenodes[n].namenode)) {
            sim_crash(c->namenodes[n].world, SIM_CRASH_POWER);
            sim_await_end(c->namenodes[n].world);
            sim_boot_again(c->namenodes[n].world);
            return;
        }
}

static void await_copy(struct cell *c, struct fs *fs)
{
    for (int i = 0; i < 200 && !look(fs); i++)
        sleep_us(c, 50000);
    ck_assert(look(fs));
    for (unsigned i = 0; i < FILES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "s/3/%u/f", i);
        check_file(fs, path, SLICE_LIT("content"));
    }
}

/* --- Tests --------------------------------------------------------------- */

static void change_leaders(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct looker l = {.cell = c, .fs = cell_client(c, w, "looker")};
    struct fs *fs = cell_client(c, w, "late");
    struct rand_gen r;
    make_tree(fs);
    sim_spawn(w, "snapshot", run_snapshot, &l);
    sim_spawn(w, "looker", run_looker, &l);
    rand_init(&r, test_seed());
    sleep_us(c, 30000 + rand_below(&r, 60000));
    ck_assert(!look(fs));
    kill_leader(c);
    /* Late: it waits, and is not in the copy. */
    OK(fs_mkdirs(fs, "d/late", err));
    ck_assert(look(fs));
    while (!l.ended)
        sleep_us(c, 10000);
    ck_assert_uint_gt(l.looks, 10);
    await_copy(c, fs);
    sleep_us(c, 100000); /* The looker's last look. */
    fs_close(l.fs);
    fs_close(fs);
}

/* The leader dies amid a snapshot: the next one continues, and the client
 * learns the end from it. */
START_TEST(test_leader_dies)
{
    run(change_leaders);
}

END_TEST

static void run_lone_snapshot(void *arg)
{
    struct cell *c = arg;
    struct fs *fs = cell_client(c, c->chunks[3].world, "lone");
    (void)!gfs_snapshot(fs, "d", "s", NULL);
    fs_close(fs);
}

static void lose_client(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    make_tree(fs);
    sim_spawn(c->chunks[3].world, "lone", run_lone_snapshot, c);
    sleep_us(c, 60000);
    ck_assert(!look(fs));
    sim_crash(c->chunks[3].world, SIM_CRASH_KILL);
    sim_await_end(c->chunks[3].world);
    await_copy(c, fs);
    OK(fs_remove_tree(fs, "d", err));
    await_copy(c, fs);
    fs_close(fs);
}

/* The client dies amid its snapshot: it is made nevertheless. */
START_TEST(test_client_dies)
{
    run(lose_client);
}

END_TEST

static void write_meanwhile(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct looker l = {.cell = c, .fs = cell_client(c, w, "looker")};
    struct fs *fs = cell_client(c, w, "writer");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    make_tree(fs);
    OK(gfs_append_open(fs, "d/3/4/f", &o, &writer, err));
    sim_spawn(w, "snapshot", run_snapshot, &l);
    sleep_us(c, 30000);
    OK(fs_writer_append_sync(writer, " and more", 9, err));
    ck_assert(!look(fs)); /* The writer did not wait. */
    fs_writer_close(writer);
    ck_assert(!look(fs));
    check_file(fs, "d/3/4/f", SLICE_LIT("content and more"));
    while (!l.ended)
        sleep_us(c, 10000);
    await_copy(c, fs);
    fs_close(l.fs);
    fs_close(fs);
}

/* A writer that has a file of the source open continues meanwhile, and nothing
 * of that is in the copy. */
START_TEST(test_writers_do_not_wait)
{
    run(write_meanwhile);
}

END_TEST

static void set_copies(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    char path[32];
    make_tree(fs);
    OK(gfs_set_replication(fs, "d", 2, err));
    for (unsigned i = 0; i < FILES; i++) {
        struct gfs_stat s;
        snprintf(path, sizeof(path), "d/3/%u/f", i);
        OK(gfs_stat(fs, path, &s, err));
        ck_assert_uint_eq(s.replication, 2);
    }
    fs_close(fs);
}

/* Copies are set for all files of a tree, in as many commands as it takes. */
START_TEST(test_copies_of_a_tree)
{
    run(set_copies);
}

END_TEST

TEST_MAIN("snapshot",
          test_leader_dies,
          test_client_dies,
          test_writers_do_not_wait,
          test_copies_of_a_tree)
