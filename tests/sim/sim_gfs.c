/* The cluster's file system under a nemesis: three namenodes, six chunk servers
 * and clients, with crashes, losses of power, pauses, cuts, slow, full and
 * failing disks and skewed clocks. What was synced is readable in its place at
 * every moment it is asked for and at the end, every file is back at its copies
 * within a bound, and no chunk is left that no file consists of.
 */
#include "base/core/arena.h"
#include "base/runtime/sim_nemesis.h"
#include "gfs-lite/gfs.h"
#include "tests/lib/check_main.h"
#include "tests/unit/gfs-lite/cell.h"

#define SEEDS      4
#define WRITERS    3
#define RECORD_MAX 20000
#define STORM_US   UINT64_C(30000000)
#define CALM_S     240

struct sim_writer {
    struct cell *cell;
    unsigned number;
    struct buf synced; /* What the file begins with. */
    struct buf all;    /* What was appended, acknowledged or not. */
    uint64_t syncs;
    bool stop;
    bool done;
};

static struct sim_writer writers[WRITERS];

static void path_of(const struct sim_writer *s, char path[16])
{
    snprintf(path, 16, "w/%u", s->number);
}

/* Append and sync until the file fails; then open it again behind what it
 * has. */
static void run_writer(void *arg)
{
    struct sim_writer *s = arg;
    struct world *w = sim_director(s->cell->sim);
    struct fs *fs = cell_client(s->cell, w, "writer");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer = NULL;
    char path[16];
    path_of(s, path);
    while (!s->stop) {
        size_t at = s->all.len;
        size_t len = 1 + world_random(w) % RECORD_MAX;
        if (!writer && fs_create(fs, path, &o, &writer, NULL)) {
            world_sleep_us(w, 500000);
            continue;
        }
        for (size_t i = 0; i < len; i++)
            buf_append_byte(&s->all, (char)world_random(w));
        if (fs_writer_append(writer, s->all.data + at, len, NULL) ||
            fs_writer_sync(writer, NULL))
            break; /* Its file stays as it is: it will be looked at. */
        buf_append(&s->synced, s->all.data + s->synced.len,
                   s->all.len - s->synced.len);
        s->syncs++;
        world_sleep_us(w, 20000 + world_random(w) % 200000);
    }
    fs_writer_close(writer);
    fs_close(fs);
    s->done = true;
}

static void check_synced(struct fs *fs, const struct sim_writer *s)
{
    struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    size_t want = s->synced.len;
    char path[16];
    int rc;
    if (want == 0)
        return;
    path_of(s, path);
    rc = fs_read_all(fs, path, 1 << 28, &got, &err);
    if (rc || got.len < want)
        cell_print_trace();
    ck_assert_msg(rc == 0, "%s: %s", path, err.text);
    ck_assert_msg(got.len >= want, "%s: %zu bytes, %zu were synced", path,
                  got.len, want);
    ck_assert_mem_eq(got.data, s->synced.data, want);
    ck_assert_uint_le(got.len, s->all.len);
    ck_assert_mem_eq(got.data, s->all.data, got.len);
    buf_close(&got);
}

static bool is_healthy(struct fs *fs, struct gfs_status *st)
{
    struct arena a;
    int rc;
    arena_init(&a);
    rc = gfs_get_status(fs, &a, st, NULL);
    arena_close(&a);
    return rc == 0 && !st->safe_mode && !st->lost && !st->under_replicated &&
           !st->copying && !st->open_files;
}

static uint64_t chunks_on_disks(struct cell *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < c->chunk_count; i++)
        if (c->chunks[i].chunkserver) {
            struct chunkserver_stats s;
            chunkserver_get_stats(c->chunks[i].chunkserver, &s);
            sum += s.chunks;
        }
    return sum;
}

static void storm(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct world *machines[CELL_NAMENODES_MAX + CELL_CHUNKS_MAX];
    struct nemesis_options o = {.seed = world_random(w),
                                .machines = machines,
                                .duration_us = STORM_US,
                                .down_max = 1};
    struct gfs_status st = {.files = 0};
    struct fs *fs = cell_client(c, w, "checker");
    unsigned calm = 0;
    bool done = false;
    for (unsigned i = 0; i < c->namenode_count; i++)
        machines[o.machine_count++] = c->namenodes[i].world;
    for (unsigned i = 0; i < c->chunk_count; i++)
        machines[o.machine_count++] = c->chunks[i].world;
    world_sleep_us(w, 3000000);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct sim_writer){.cell = c, .number = i};
        sim_spawn(w, "writer", run_writer, &writers[i]);
    }
    nemesis_run(c->sim, &o, NULL);
    for (unsigned i = 0; i < WRITERS; i++)
        writers[i].stop = true;
    while (!done) {
        world_sleep_us(w, 200000);
        done = true;
        for (unsigned i = 0; i < WRITERS; i++)
            done &= writers[i].done;
    }
    while (!is_healthy(fs, &st) && calm++ < CALM_S)
        world_sleep_us(w, 1000000);
    if (calm >= CALM_S)
        cell_print_trace();
    ck_assert_msg(calm < CALM_S,
                  "after %d s: safe %d lost %llu few %llu copying %llu open "
                  "%llu",
                  CALM_S, st.safe_mode, (unsigned long long)st.lost,
                  (unsigned long long)st.under_replicated,
                  (unsigned long long)st.copying,
                  (unsigned long long)st.open_files);
    for (unsigned i = 0; i < WRITERS; i++) {
        check_synced(fs, &writers[i]);
        buf_close(&writers[i].synced);
        buf_close(&writers[i].all);
    }
    /* Full reports have told of all that is left over. */
    for (calm = 0; calm < CALM_S; calm++) {
        if (is_healthy(fs, &st) && chunks_on_disks(c) == st.chunks * 3)
            break;
        world_sleep_us(w, 1000000);
    }
    ck_assert_uint_eq(chunks_on_disks(c), st.chunks * 3);
    fs_close(fs);
}

START_TEST(test_storms)
{
    unsigned long long seed = test_seed();
    for (unsigned i = 0; i < SEEDS; i++) {
        struct cell *c = cell_new(seed + i, 3, 6);
        fprintf(stderr, "seed %llu\n", seed + i);
        cell_run(c, storm);
        cell_free(c);
    }
}

END_TEST

TEST_MAIN("sim_gfs", test_storms)
