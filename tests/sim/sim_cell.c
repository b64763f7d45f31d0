/* What storms over the whole cell have found, each as the shortest story that
 * shows it. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
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

/* --- a late writer ----------------------------------------------------- */

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

TEST_MAIN("cell", test_a_file_that_was_taken_gets_no_late_bytes)
