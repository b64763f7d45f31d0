/* A client that is about to be closed waits for no server that is gone. */
#include "tests/unit/gfs-lite/cell_files.h"

/* Of one call to one server; a client tries for a minute. */
#define TRY_US UINT64_C(7000000)

/* A call that cannot succeed, under way. */
struct doomed {
    struct cell *cell;
    struct fs *fs;
    struct fs_reader *reader;
    struct fs_writer *writer;
    int (*call)(struct doomed *d, struct err *err);
    int rc;
    bool done;
};

static void sleep_us(struct cell *c, uint64_t us)
{
    world_sleep_us(sim_director(c->sim), us);
}

static void run_doomed(void *arg)
{
    struct doomed *d = arg;
    struct err err = ERR_INIT;
    d->rc = d->call(d, &err);
    d->done = true;
}

/* It waits until it is told to hurry, and not longer than for one try. */
static void check_hurry(struct cell *c,
                        struct doomed *d,
                        int (*call)(struct doomed *d, struct err *err))
{
    uint64_t began;
    d->call = call;
    d->done = false;
    sim_spawn(sim_director(c->sim), "doomed", run_doomed, d);
    sleep_us(c, 20000000);
    ck_assert_msg(!d->done, "ended with %d by itself", d->rc);
    began = sim_cluster_now_us(c->sim);
    fs_hurry(d->fs);
    while (!d->done)
        sleep_us(c, 1000);
    ck_assert_uint_lt(sim_cluster_now_us(c->sim) - began, TRY_US);
    ck_assert_int_ne(d->rc, 0);
    /* Later ones do not wait either. */
    began = sim_cluster_now_us(c->sim);
    run_doomed(d);
    ck_assert_uint_lt(sim_cluster_now_us(c->sim) - began, TRY_US);
    ck_assert_int_ne(d->rc, 0);
}

/* --- Calls --------------------------------------------------------------- */

static int stat_file(struct doomed *d, struct err *err)
{
    struct fs_info info;
    return fs_stat(d->fs, "f", &info, err);
}

static int read_file(struct doomed *d, struct err *err)
{
    char byte;
    size_t got;
    return fs_read_at(d->reader, 0, &byte, 1, &got, err);
}

static int write_on(struct doomed *d, struct err *err)
{
    int rc = fs_writer_append(d->writer, "more", 4, err);
    return rc ? rc : fs_writer_sync(d->writer, err);
}

static int begin_file(struct doomed *d, struct err *err)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    int rc = fs_create(d->fs, "new", &o, &w, err);
    if (rc)
        return rc;
    rc = fs_writer_append_sync(w, "first", 5, err);
    fs_writer_close(w);
    return rc;
}

static int append_record(struct doomed *d, struct err *err)
{
    uint64_t at;
    return gfs_record_append(d->fs, "records", SLICE_LIT("one"), &at, err);
}

static int take_over(struct doomed *d, struct err *err)
{
    uint64_t length;
    return fs_recover(d->fs, "f", &length, err);
}

/* --- Tests --------------------------------------------------------------- */

static void open_doomed(struct cell *c, struct doomed *d)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    *d = (struct doomed){.cell = c};
    d->fs = cell_client(c, sim_director(c->sim), "writer");
    write_file(d->fs, "g", SLICE_LIT("to be read"), true);
    OK(fs_create(d->fs, "f", &o, &d->writer, err));
    OK(fs_writer_append_sync(d->writer, "first", 5, err));
    OK(fs_open(d->fs, "g", &d->reader, err));
}

static void close_doomed(struct doomed *d)
{
    fs_reader_close(d->reader);
    fs_writer_close(d->writer);
    fs_close(d->fs);
}

static void without_namenode(struct cell *c)
{
    static int (*const calls[])(struct doomed *, struct err *) = {
        stat_file, begin_file, append_record, take_over};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct doomed d;
        open_doomed(c, &d);
        sim_pause(c->namenodes[0].world);
        check_hurry(c, &d, calls[i]);
        close_doomed(&d);
        sim_resume(c->namenodes[0].world);
        sleep_us(c, 10000000);
    }
}

START_TEST(test_namenode_gone)
{
    run_in_cell(1, 3, without_namenode);
}

END_TEST

static void without_servers(struct cell *c)
{
    static int (*const calls[])(struct doomed *, struct err *) = {
        read_file, write_on, begin_file, append_record};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct doomed d;
        open_doomed(c, &d);
        for (unsigned k = 0; k < 3; k++)
            sim_pause(c->chunks[k].world);
        check_hurry(c, &d, calls[i]);
        close_doomed(&d);
        for (unsigned k = 0; k < 3; k++)
            sim_resume(c->chunks[k].world);
        sleep_us(c, 10000000);
    }
}

START_TEST(test_chunk_servers_gone)
{
    run_in_cell(1, 3, without_servers);
}

END_TEST

TEST_MAIN("gfs_hurry", test_namenode_gone, test_chunk_servers_gone)
