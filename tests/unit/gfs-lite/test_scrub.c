/* Chunk servers read what they keep before somebody needs it. */
#include "tests/unit/gfs-lite/cell_files.h"

#define BYTES    400000
#define FOUND_US UINT64_C(20000000)

static uint64_t found(const struct cell_node *n)
{
    struct chunkserver_stats s;
    chunkserver_get_stats(n->chunkserver, &s);
    return s.found_damage;
}

static void append(struct fs_writer *w, struct buf *all)
{
    size_t from = all->len;
    fill(all, from, BYTES, 9);
    OK(fs_writer_append(w, all->data + from, BYTES, err));
    OK(fs_writer_sync(w, err));
}

static void rot_while_open(struct cell *c)
{
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "writer");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf all = BUF_INIT;
    struct fs_writer *w;
    uint64_t until;
    OK(fs_create(fs, "log", &o, &w, err));
    append(w, &all);
    for (int i = 0; i < 6; i++) /* One may hit what says nothing. */
        ck_assert(sim_rot(c->chunks[0].world, "/chunkserver/chunks"));
    until = sim_cluster_now_us(c->sim) + FOUND_US;
    while (found(&c->chunks[0]) == 0 && sim_cluster_now_us(c->sim) < until)
        world_sleep_us(director, 10000);
    ck_assert_uint_eq(found(&c->chunks[0]), 1);
    /* Nothing was wrong elsewhere, and the writer continues. */
    for (unsigned i = 1; i < 3; i++)
        ck_assert_uint_eq(found(&c->chunks[i]), 0);
    append(w, &all);
    fs_writer_close(w);
    check_file(fs, "log", buf_slice(&all));
    buf_close(&all);
    fs_close(fs);
}

/* A log is open for days: a copy of its chunk that has rotted is found while
 * there are others. */
START_TEST(test_rot_in_an_open_chunk)
{
    run_in_cell(1, 3, rot_while_open);
}

END_TEST

static void write_while_scrubbed(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "writer");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf all = BUF_INIT;
    struct fs_writer *w;
    OK(fs_create(fs, "log", &o, &w, err));
    for (unsigned i = 0; i < 3000; i++) {
        size_t from = all.len;
        fill(&all, from, 1 + (size_t)i * 37 % 5000, 3);
        OK(fs_writer_append(w, all.data + from, all.len - from, err));
        if (i % 7 == 0)
            OK(fs_writer_sync(w, err));
    }
    OK(fs_writer_sync(w, err));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(found(&c->chunks[i]), 0);
    fs_writer_close(w);
    check_file(fs, "log", buf_slice(&all));
    buf_close(&all);
    fs_close(fs);
}

/* A chunk that is being written is not taken for damaged. */
START_TEST(test_an_open_chunk_is_scrubbed_while_it_grows)
{
    for (uint64_t seed = test_seed(), end = seed + 4; seed < end; seed++) {
        struct cell *c = cell_new(seed, 1, 3);
        c->chunk_options.scrub_round_us = 1000;
        c->write_way = seed % 2 ? GFS_WRITE_TO_EACH : GFS_WRITE_ALONG_CHAIN;
        cell_run(c, write_while_scrubbed);
        cell_free(c);
    }
}

END_TEST

TEST_MAIN("gfs_scrub",
          test_rot_in_an_open_chunk,
          test_an_open_chunk_is_scrubbed_while_it_grows)
