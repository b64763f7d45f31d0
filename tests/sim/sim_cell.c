/* Defects that storms over the whole cell have found, each as the shortest
 * story that shows it. */
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/runtime/fiber.h"
#include "gfs-lite/gfs.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"

#define SECOND_US UINT64_C(1000000)

static struct sim_cluster *sim;
static struct sim_cell *cell;

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(sim), us);
}

static void play(const struct sim_cell_options *o, void (*scenario)(void *))
{
    sim = sim_cluster_new(test_seed());
    cell = sim_cell_new(sim, o);
    sim_cluster_run(sim, scenario, NULL);
    sim_cell_free(cell);
    sim_cluster_free(sim);
}

/* --- a late writer ------------------------------------------------------- */

/* A writer whose machine is cut off from the chunk servers before its first
 * bytes reach them. */
struct late_writer {
    struct world *machine;
    bool ready;
    bool done;
    int rc;
};

static void write_late(void *arg)
{
    struct late_writer *l = arg;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs *fs = sim_cell_fs(cell, l->machine, "late");
    struct fs_writer *w;
    ck_assert_int_eq(fs_create(fs, "f", &o, &w, NULL), 0);
    for (unsigned i = 0; i < cell->options.chunk_servers; i++)
        sim_cut(l->machine, cell->chunks[i].world, true);
    l->ready = true;
    l->rc = fs_writer_append_sync(w, "late", 4, NULL);
    l->done = true;
    fs_writer_close(w);
    fs_close(fs);
}

static bool restart_servers;

static void take_from_late_writer(void *arg)
{
    struct late_writer l = {
        .machine = sim_machine_new(sim, "late",
                                   &(struct sim_options){.network_us = 300})};
    struct fs *fs;
    uint64_t length = 99;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    sim_boot(l.machine, write_late, &l);
    while (!l.ready)
        sleep_us(1000);
    sleep_us(SECOND_US / 2);
    fs = sim_cell_fs(cell, sim_director(sim), "taker");
    ck_assert_int_eq(fs_recover(fs, "f", &length, NULL), 0);
    ck_assert_uint_eq(length, 0);
    for (unsigned i = 0; restart_servers && i < 3; i++) {
        sim_stop(cell->chunks[i].world);
        sim_boot_again(cell->chunks[i].world);
    }
    sim_heal(sim);
    while (!l.done)
        sleep_us(SECOND_US / 10);
    ck_assert_int_ne(l.rc, 0);
    fs_close(fs);
    sim_cell_stop(cell);
}

/* Once a file was taken from its writer, no server acknowledges bytes of it
 * that come late, not even of a chunk it has never heard of: not when it was
 * asked to refuse them, and not when it has forgotten that in a restart. */
START_TEST(test_a_file_that_was_taken_gets_no_late_bytes)
{
    for (int i = 0; i < 2; i++) {
        restart_servers = i;
        play(&(struct sim_cell_options){.namenodes = 1, .chunk_servers = 3},
             take_from_late_writer);
    }
}

END_TEST

/* --- one order of records ------------------------------------------------ */

/* The last chunk of the shared file. */
static struct gfs_chunk last_chunk(struct fs *fs)
{
    struct gfs_chunk c;
    struct gfs_layout l;
    struct arena a;
    arena_init(&a);
    ck_assert_int_eq(gfs_get_layout(fs, "r", 0, &a, &l, NULL), 0);
    ck_assert_uint_gt(l.chunk_count, 0);
    c = l.chunks[l.chunk_count - 1];
    arena_close(&a);
    return c;
}

/* While @server is silent, and until after it is declared dead. */
static unsigned look_while_silent(struct fs *fs, struct world *server)
{
    struct gfs_chunk before = last_chunk(fs);
    unsigned same = 0;
    sim_cut(server, cell->namenodes[0].world, true);
    for (int i = 0; i < 60; i++) {
        struct gfs_chunk now = last_chunk(fs);
        sleep_us(SECOND_US / 10);
        if (now.sealed || now.handle != before.handle)
            continue;
        same++;
        ck_assert_uint_eq(now.servers.count, before.servers.count);
        ck_assert_mem_eq(now.servers.numbers, before.servers.numbers,
                         now.servers.count * sizeof(now.servers.numbers[0]));
    }
    sim_cut(server, cell->namenodes[0].world, false);
    sleep_us(2 * SECOND_US);
    return same;
}

static void lose_servers(void *arg)
{
    struct fs *fs;
    uint64_t offset;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    fs = sim_cell_fs(cell, sim_director(sim), "appender");
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(
            gfs_record_append(fs, "r", SLICE_LIT("one"), &offset, NULL), 0);
        ck_assert_uint_gt(look_while_silent(fs, cell->chunks[i].world), 10);
    }
    fs_close(fs);
    sim_cell_stop(cell);
}

/* Whichever server is taken for dead, all appenders of records go to the same
 * first one: two would give one place to two records. */
START_TEST(test_records_have_one_order)
{
    play(&(struct sim_cell_options){.namenodes = 1, .chunk_servers = 3},
         lose_servers);
}

END_TEST

TEST_MAIN("cell",
          test_a_file_that_was_taken_gets_no_late_bytes,
          test_records_have_one_order)
