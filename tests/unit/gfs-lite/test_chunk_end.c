/* A writer at the end of a chunk, before the next has any bytes: its servers
 * have not been told to sync it yet, and nothing that is promised may miss
 * them.
 */
#include "base/core/arena.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define CHUNK_BYTES  50000
#define RECORD_BYTES 5000
#define SERVERS      5

/* --- Fixture ------------------------------------------------------------- */

static void run_cells(void (*scenario)(struct cell *c))
{
    run_both_ways(scenario, SERVERS, CHUNK_BYTES, false);
}

/* A writer of "f", and what it has appended and flushed. */
struct writer {
    struct cell *cell;
    struct fs *fs;
    struct fs_writer *w;
    struct buf data;
};

static void append(struct writer *k)
{
    size_t at = k->data.len;
    fill(&k->data, at, RECORD_BYTES, 3);
    OK(fs_writer_append(k->w, k->data.data + at, RECORD_BYTES, err));
    OK(fs_writer_flush(k->w, err));
}

/* It has written one chunk, and no more. */
static void begin(struct writer *k, struct cell *c)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    *k = (struct writer){.cell = c,
                         .fs = cell_client(c, sim_director(c->sim), "writer")};
    OK(fs_create(k->fs, "f", &o, &k->w, err));
    while (k->data.len < CHUNK_BYTES)
        append(k);
}

static void end(struct writer *k)
{
    check_file(k->fs, "f", buf_slice(&k->data));
    fs_close(k->fs);
    buf_close(&k->data);
}

/* --- Helpers ------------------------------------------------------------- */

static void lose_power(struct cell_node *n)
{
    sim_crash(n->world, SIM_CRASH_POWER);
    sim_await_end(n->world);
    sim_boot(n->world, cell_run_chunkserver, n);
}

static void lose_all_power(struct cell *c)
{
    for (unsigned i = 0; i < SERVERS; i++)
        lose_power(&c->chunks[i]);
}

/* "f" has @all chunks, of which @open are not sealed. */
static void assert_chunks(const struct writer *k, size_t all, size_t open)
{
    struct gfs_layout l;
    struct arena a;
    size_t unsealed = 0;
    arena_init(&a);
    OK(gfs_get_layout(k->fs, "f", 0, &a, &l, err));
    for (size_t i = 0; i < l.chunk_count; i++)
        unsealed += !l.chunks[i].sealed;
    ck_assert_uint_eq(l.chunk_count, all);
    ck_assert_uint_eq(unsealed, open);
    arena_close(&a);
}

/* One of the servers of the first chunk. */
static struct cell_node *find_server(const struct writer *k)
{
    struct cell_node *found = NULL;
    struct gfs_layout l;
    struct arena a;
    arena_init(&a);
    OK(gfs_get_layout(k->fs, "f", 0, &a, &l, err));
    for (unsigned i = 0; i < SERVERS; i++)
        if (slice_eq_str(l.servers[0].address, k->cell->chunks[i].address))
            found = &k->cell->chunks[i];
    arena_close(&a);
    ck_assert_ptr_nonnull(found);
    return found;
}

/* --- Tests --------------------------------------------------------------- */

static void sync_there(struct cell *c)
{
    struct writer k;
    begin(&k, c);
    OK(fs_writer_sync(k.w, err));
    lose_all_power(c);
    check_file(k.fs, "f", buf_slice(&k.data));
    append(&k);
    fs_writer_close(k.w);
    end(&k);
}

/* A sync there is one of the chunk that ended, and the writer continues.
 */
START_TEST(test_sync_at_the_end)
{
    run_cells(sync_there);
}

END_TEST

static void lose_server(struct cell *c)
{
    struct writer k;
    begin(&k, c);
    lose_power(find_server(&k));
    OK(fs_writer_sync(k.w, err));
    lose_all_power(c);
    check_file(k.fs, "f", buf_slice(&k.data));
    append(&k);
    fs_writer_close(k.w);
    end(&k);
}

/* A server that lost its power there, and what it had: a sync that is answered
 * holds without it. */
START_TEST(test_server_dies_at_the_end)
{
    run_cells(lose_server);
}

END_TEST

static void go_on(struct cell *c)
{
    struct writer k;
    begin(&k, c);
    append(&k);
    assert_chunks(&k, 2, 2);
    for (int i = 0; i < 3; i++) {
        append(&k);
        world_sleep_us(sim_director(c->sim), 1000000);
    }
    assert_chunks(&k, 2, 1);
    fs_writer_close(k.w);
    end(&k);
}

/* Once the next chunk takes bytes the one before is synced, and sealed without
 * being asked for. */
START_TEST(test_next_has_it_synced)
{
    run_cells(go_on);
}

END_TEST

static void close_there(struct cell *c)
{
    struct writer k;
    begin(&k, c);
    fs_writer_close(k.w);
    assert_chunks(&k, 1, 0);
    end(&k);
}

/* A file that is closed there has one chunk, sealed. */
START_TEST(test_close_at_the_end)
{
    run_cells(close_there);
}

END_TEST

static void take_there(struct cell *c)
{
    struct fs *taker = cell_client(c, sim_director(c->sim), "taker");
    struct writer k;
    uint64_t length;
    begin(&k, c);
    OK(fs_recover(taker, "f", &length, err));
    ck_assert_uint_eq(length, k.data.len);
    ck_assert_int_eq(
        fs_writer_append(k.w, "x", 1, NULL) || fs_writer_flush(k.w, NULL), 1);
    fs_writer_close(k.w);
    fs_close(taker);
    end(&k);
}

/* A client that takes the file over there has all of it, and its writer learns
 * that. */
START_TEST(test_taken_at_the_end)
{
    run_cells(take_there);
}

END_TEST

TEST_MAIN("gfs_chunk_end",
          test_sync_at_the_end,
          test_server_dies_at_the_end,
          test_next_has_it_synced,
          test_close_at_the_end,
          test_taken_at_the_end)
