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

TEST_MAIN("recovery", test_a_server_that_came_back_is_not_left_out)
