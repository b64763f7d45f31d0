/* The file system of a cluster keeps what fs.h promises, while its servers come
 * and go. */
#include "base/core/arena.h"
#include "base/runtime/loop.h"
#include "tests/lib/check_main.h"
#include "tests/unit/gfs-lite/cell_files.h"

/* --- Names and bytes ----------------------------------------------------- */

static void read_parts(struct fs *fs, const char *path, struct slice data)
{
    struct fs_reader *r;
    char part[1000];
    size_t got;
    OK(fs_open(fs, path, &r, err));
    for (uint64_t at = 0; at < data.len; at += 70001) {
        size_t want = MIN_OF(sizeof(part), data.len - at);
        OK(fs_read_at(r, at, part, sizeof(part), &got, err));
        ck_assert_uint_eq(got, want);
        ck_assert_mem_eq(part, data.data + at, want);
    }
    OK(fs_read_at(r, data.len, part, 1, &got, err));
    ck_assert_uint_eq(got, 0);
    fs_reader_close(r);
}

static void do_basics(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    struct fs_info info;
    struct fs_reader *r;
    char **names;
    size_t count;
    fill(&data, 0, 3000000, 1);
    OK(fs_mkdirs(fs, "a/b", err));
    write_file(fs, "a/b/f", buf_slice(&data), true);
    check_file(fs, "a/b/f", buf_slice(&data));
    write_file(fs, "a/empty", SLICE_EMPTY, false);
    check_file(fs, "a/empty", SLICE_EMPTY);
    OK(fs_stat(fs, "a/b/f", &info, err));
    ck_assert_uint_eq(info.size_bytes, data.len);
    ck_assert(!info.is_directory);
    OK(fs_list(fs, "a", &names, &count, err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(names[0], "b");
    ck_assert_str_eq(names[1], "empty");
    fs_names_free(names, count);
    read_parts(fs, "a/b/f", buf_slice(&data));
    OK(fs_rename(fs, "a/b/f", "g", err));
    ck_assert_int_eq(fs_stat(fs, "a/b/f", &info, NULL), ERR_NOTFOUND);
    check_file(fs, "g", buf_slice(&data));
    read_parts(fs, "g", buf_slice(&data));
    OK(fs_replace(fs, "g", SLICE_LIT("new"), err));
    check_file(fs, "g", SLICE_LIT("new"));
    OK(fs_remove(fs, "g", err));
    ck_assert_int_eq(fs_open(fs, "g", &r, NULL), ERR_NOTFOUND);
    OK(fs_remove_tree(fs, "a", err));
    ck_assert_int_eq(fs_stat(fs, "../x", &info, NULL), ERR_INVALID);
    buf_close(&data);
    fs_close(fs);
}

/* Files and names do what they do in a directory. */
START_TEST(test_files_and_names)
{
    run_in_cell(1, 3, do_basics);
}

END_TEST

/* --- Chains that break --------------------------------------------------- */

/* Appends with flushes while chunk servers crash one after the other: what was
 * flushed is there at the end, in its place. */
static void write_through_crashes(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct gfs_client_stats stats;
    struct buf data = BUF_INIT;
    struct fs_writer *w;
    await_servers(c, fs);
    OK(fs_create(fs, "log", &o, &w, err));
    for (unsigned i = 0; i < 40; i++) {
        size_t at = data.len;
        struct cell_node *victim = &c->chunks[(i / 8) % c->chunk_count];
        if (i % 8 == 4)
            sim_crash(victim->world,
                      i % 16 == 4 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        if (i % 8 == 7) {
            sim_await_end(victim->world);
            sim_boot_again(victim->world);
        }
        fill(&data, at, 10000, 7);
        OK(fs_writer_append(w, data.data + at, data.len - at, err));
        OK(fs_writer_sync(w, err));
        check_file(fs, "log", buf_slice(&data));
    }
    fs_writer_close(w);
    check_file(fs, "log", buf_slice(&data));
    gfs_get_client_stats(fs, &stats);
    ck_assert_uint_ge(stats.recoveries, 2);
    buf_close(&data);
    fs_close(fs);
}

START_TEST(test_acknowledged_bytes_survive_crashes)
{
    for (unsigned i = 0; i < 3; i++) {
        struct cell *c = cell_new(test_seed() + i, 1, 5);
        cell_run(c, write_through_crashes);
        cell_free(c);
    }
}

END_TEST

/* The same when the writer sends to each server itself. */
START_TEST(test_bytes_sent_to_each_survive_crashes)
{
    for (unsigned i = 0; i < 3; i++) {
        struct cell *c = cell_new(test_seed() + i, 1, 5);
        c->write_way = GFS_WRITE_TO_EACH;
        cell_run(c, write_through_crashes);
        cell_free(c);
    }
}

END_TEST

/* --- Copies -------------------------------------------------------------- */

/* Wait until nothing is lost, missing or being copied. */
static void await_health(struct cell *c, struct fs *fs, unsigned seconds)
{
    struct gfs_status s = {.under_replicated = 1};
    for (unsigned i = 0; i < seconds; i++) {
        struct arena a;
        arena_init(&a);
        OK(gfs_get_status(fs, &a, &s, err));
        arena_close(&a);
        if (!s.safe_mode && !s.lost && !s.unreported && !s.under_replicated &&
            !s.copying)
            return;
        world_sleep_us(sim_director(c->sim), 1000000);
    }
    ck_abort_msg("after %u s: safe mode %d, lost %llu, too few copies %llu, "
                 "copying %llu",
                 seconds, s.safe_mode, (unsigned long long)s.lost,
                 (unsigned long long)s.under_replicated,
                 (unsigned long long)s.copying);
}

static void lose_a_server(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    fill(&data, 0, 500000, 3);
    for (unsigned i = 0; i < 10; i++) {
        char path[16];
        snprintf(path, sizeof(path), "f%u", i);
        write_file(fs, path, buf_slice(&data), true);
    }
    await_health(c, fs, 30);
    sim_crash(c->chunks[0].world, SIM_CRASH_POWER);
    sim_await_end(c->chunks[0].world);
    world_sleep_us(sim_director(c->sim), 5000000);
    await_health(c, fs, 60);
    /* Now another may go, and one more. */
    sim_crash(c->chunks[1].world, SIM_CRASH_POWER);
    sim_await_end(c->chunks[1].world);
    world_sleep_us(sim_director(c->sim), 5000000);
    await_health(c, fs, 60);
    for (unsigned i = 0; i < 10; i++) {
        char path[16];
        snprintf(path, sizeof(path), "f%u", i);
        check_file(fs, path, buf_slice(&data));
    }
    buf_close(&data);
    fs_close(fs);
}

/* Chunks of a server that died are copied from the others within a bound. */
START_TEST(test_copies_come_back)
{
    run_in_cell(1, 5, lose_a_server);
}

END_TEST

/* Bits that flip in a copy. */
#define ROTS 4

/* Small pieces of the file, each where it belongs. */
static void check_pieces(struct fs *fs, const char *path, struct slice want)
{
    struct fs_reader *r;
    char piece[300];
    size_t got;
    OK(fs_open(fs, path, &r, err));
    for (size_t at = 0; at + sizeof(piece) <= want.len; at += sizeof(piece)) {
        OK(fs_read_at(r, at, piece, sizeof(piece), &got, err));
        ck_assert_uint_eq(got, sizeof(piece));
        ck_assert_mem_eq(piece, want.data + at, sizeof(piece));
    }
    fs_reader_close(r);
}

static void rot(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    struct chunkserver_stats s;
    fill(&data, 0, 400000, 5);
    write_file(fs, "f", buf_slice(&data), true);
    world_sleep_us(sim_director(c->sim), 3000000);
    check_file(fs, "f", buf_slice(&data));  /* Now blocks count as checked. */
    for (unsigned i = 0; i < 2 * ROTS; i++) /* One may hit what says nothing. */
        ck_assert(sim_rot(c->chunks[i % 2].world, "/chunkserver/chunks"));
    check_pieces(fs, "f", buf_slice(&data));
    check_file(fs, "f", buf_slice(&data));
    world_sleep_us(sim_director(c->sim), 10000000);
    await_health(c, fs, 60);
    check_file(fs, "f", buf_slice(&data));
    chunkserver_get_stats(c->chunks[0].chunkserver, &s);
    ck_assert_uint_eq(s.found_damage, 1);
    buf_close(&data);
    fs_close(fs);
}

/* A flipped bit is found by the scrub, never served, and mended from another
 * copy. */
START_TEST(test_rot_is_found_and_mended)
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    c->chunk_options.scrub_bytes_per_s = 1 << 20;
    cell_run(c, rot);
    cell_free(c);
}

END_TEST

static void small_scrub(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct chunkserver_stats s;
    char name[16];
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        write_file(fs, name, slice_make("0123456789", 10), true);
    }
    world_sleep_us(sim_director(c->sim), 30000000);
    chunkserver_get_stats(c->chunks[0].chunkserver, &s);
    ck_assert_uint_ge(s.scrubbed_bytes, 2 * 200);
    ck_assert_uint_le(s.scrubbed_bytes, 4 * 200);
    fs_close(fs);
}

/* Small chunks are read every now and then, not as many of them as the bytes of
 * a large one: everybody else would wait. */
START_TEST(test_small_chunks_are_scrubbed_seldom)
{
    run_in_cell(1, 3, small_scrub);
}

END_TEST

struct returning {
    struct cell *cell;
    unsigned first; /* Of the servers. */
};

static void boot_later(void *arg)
{
    const struct returning *k = arg;
    struct cell *c = k->cell;
    world_sleep_us(sim_director(c->sim), 3000000);
    for (unsigned i = k->first; i < c->chunk_count; i++)
        sim_boot_again(c->chunks[i].world);
}

static void lose_sight(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct world *empty = c->chunks[0].world;
    struct returning others = {c, 1};
    struct fiber *boots;
    uint64_t before;
    struct fs *fs = cell_client(c, w, "test");
    struct fs *other = cell_client(c, w, "other");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    struct fs_reader *r;
    OK(fs_create(fs, "open", &o, &writer, err));
    OK(fs_writer_append(writer, "0123456789", 10, err));
    OK(fs_writer_sync(writer, err));
    for (unsigned i = 0; i < c->chunk_count; i++) {
        sim_crash(c->chunks[i].world, SIM_CRASH_KILL);
        sim_await_end(c->chunks[i].world);
    }
    OK(world_remove(empty, "/chunkserver/chunks/01/0000000000000001.chunk",
                    err));
    sim_boot_again(empty);
    world_sleep_us(w, 1000000);
    ck_assert_int_eq(fs_open(other, "open", &r, NULL), ERR_UNAVAILABLE);
    boots = fiber_start(loop_self(), "boots", boot_later, &others);
    before = world_mono_ns(w);
    OK(fs_open(other, "open", &r, err));
    ck_assert_uint_lt(world_mono_ns(w) - before, UINT64_C(10000000000));
    ck_assert_uint_eq(fs_reader_size(r), 10);
    fs_reader_close(r);
    fiber_join(boots);
    fs_writer_close(writer);
    fs_close(other);
    fs_close(fs);
}

/* A file that is being written is not taken for empty because one server has
 * lost its copy and the others cannot be asked; who opens it waits for them. */
START_TEST(test_length_of_what_cannot_be_seen)
{
    run_in_cell(1, 3, lose_sight);
}

END_TEST

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

static void cut_chunk_servers(struct cell *c)
{
    for (unsigned i = 0; i < c->chunk_count; i++)
        for (unsigned k = 0; k < c->chunk_count; k++)
            if (i != k)
                sim_cut(c->chunks[i].world, c->chunks[k].world, true);
}

static void fail_copies(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    write_file(fs, "f", slice_make("0123456789", 10), true);
    OK(gfs_set_replication(fs, "f", 1, err));
    world_sleep_us(sim_director(c->sim), 10000000);
    ck_assert_uint_eq(chunks_on_disks(c), 1);
    cut_chunk_servers(c);
    OK(gfs_set_replication(fs, "f", 3, err));
    world_sleep_us(sim_director(c->sim), 12000000);
    sim_heal(c->sim);
    await_health(c, fs, 20);
    ck_assert_uint_eq(chunks_on_disks(c), 3);
    fs_close(fs);
}

/* A copy that failed is ordered again at once, not when it is overdue. */
START_TEST(test_failed_copies_are_ordered_again)
{
    struct cell *c = cell_new(test_seed(), 1, 3);
    c->namenode_options.copy_timeout_us = 60000000;
    cell_run(c, fail_copies);
    cell_free(c);
}

END_TEST

static void leak(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    fill(&data, 0, 100000, 5);
    for (unsigned i = 0; i < 20; i++)
        write_file(fs, i % 2 ? "keep" : "drop", buf_slice(&data), true);
    sim_stop(c->chunks[1].world); /* It learns of the deletions later. */
    OK(fs_remove(fs, "drop", err));
    world_sleep_us(sim_director(c->sim), 5000000);
    sim_boot_again(c->chunks[1].world);
    world_sleep_us(sim_director(c->sim), 40000000);
    ck_assert_uint_eq(chunks_on_disks(c), 3);
    check_file(fs, "keep", buf_slice(&data));
    buf_close(&data);
    fs_close(fs);
}

/* Chunks that belong to no file leave the disks. */
START_TEST(test_no_chunk_leaks)
{
    run_in_cell(1, 3, leak);
}

END_TEST

static void leave(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct buf data = BUF_INIT;
    struct chunkserver_stats s;
    fill(&data, 0, 100000, 5);
    for (unsigned i = 0; i < 12; i++) {
        char path[16];
        snprintf(path, sizeof(path), "f%u", i);
        write_file(fs, path, buf_slice(&data), true);
    }
    await_health(c, fs, 30);
    OK(gfs_set_server_state(fs, c->chunks[0].address, GFS_SERVER_LEAVING, err));
    world_sleep_us(sim_director(c->sim), 30000000);
    await_health(c, fs, 60);
    sim_stop(c->chunks[0].world);
    world_sleep_us(sim_director(c->sim), 5000000);
    /* Nothing was only there: no copy is missing without it. */
    await_health(c, fs, 1);
    for (unsigned i = 1; i < 5; i++) {
        chunkserver_get_stats(c->chunks[i].chunkserver, &s);
        ck_assert_uint_gt(s.chunks, 0);
    }
    buf_close(&data);
    fs_close(fs);
}

/* A server that is told to leave is empty of what others lack before it goes.
 */
START_TEST(test_decommission)
{
    run_in_cell(1, 5, leave);
}

END_TEST

/* --- Writers that go, snapshots, records --------------------------------- */

struct silent_writer {
    struct cell *cell;
    struct slice data;
};

static void run_silent_writer(void *arg)
{
    struct silent_writer *s = arg;
    struct world *w = s->cell->chunks[4].world;
    struct fs *fs = cell_client(s->cell, w, "silent");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    OK(fs_create(fs, "f", &o, &writer, err));
    OK(fs_writer_append(writer, s->data.data, s->data.len, err));
    OK(fs_writer_sync(writer, err));
    cell_serve_until_cancelled(w);
    fs_writer_close(writer);
    fs_close(fs);
}

static void orphan(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf data = BUF_INIT;
    struct silent_writer s = {.cell = c};
    struct fs_writer *w;
    int rc = ERR_BUSY;
    fill(&data, 0, 100000, 5);
    s.data = buf_slice(&data);
    sim_spawn(c->chunks[4].world, "writer", run_silent_writer, &s);
    world_sleep_us(sim_director(c->sim), 3000000);
    check_file(fs, "f", buf_slice(&data));
    ck_assert_int_eq(gfs_append_open(fs, "f", &o, &w, NULL), ERR_BUSY);
    sim_crash(c->chunks[4].world, SIM_CRASH_POWER);
    sim_await_end(c->chunks[4].world);
    for (int i = 0; i < 60 && rc == ERR_BUSY; i++) {
        world_sleep_us(sim_director(c->sim), 1000000);
        rc = gfs_append_open(fs, "f", &o, &w, NULL);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(fs_writer_offset(w), data.len);
    OK(fs_writer_append(w, "more", 4, err));
    OK(fs_writer_flush(w, err));
    fs_writer_close(w);
    buf_append_str(&data, "more");
    check_file(fs, "f", buf_slice(&data));
    buf_close(&data);
    fs_close(fs);
}

/* A writer that falls silent loses its file, no byte it had synced, and others
 * may append. */
START_TEST(test_silent_writers_file_is_closed)
{
    run_in_cell(1, 5, orphan);
}

END_TEST

static void snapshot(struct cell *c)
{
    struct fs *fs = cell_client(c, sim_director(c->sim), "test");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    OK(fs_create(fs, "d/f", &o, &w, err));
    OK(fs_writer_append(w, "before", 6, err));
    OK(fs_writer_flush(w, err));
    OK(gfs_snapshot(fs, "d", "s", err));
    OK(fs_writer_append(w, " after", 6, err));
    OK(fs_writer_flush(w, err));
    fs_writer_close(w);
    check_file(fs, "d/f", SLICE_LIT("before after"));
    check_file(fs, "s/f", SLICE_LIT("before"));
    OK(fs_remove_tree(fs, "d", err));
    world_sleep_us(sim_director(c->sim), 5000000);
    check_file(fs, "s/f", SLICE_LIT("before"));
    OK(gfs_discard(fs, "s", err));
    ck_assert_int_eq(fs_open(fs, "s/f", &(struct fs_reader *){NULL}, NULL),
                     ERR_NOTFOUND);
    fs_close(fs);
}

/* A snapshot holds what was flushed before it and nothing later. */
START_TEST(test_snapshot_of_a_file_being_written)
{
    run_in_cell(1, 3, snapshot);
}

END_TEST

#define RECORDERS      4
#define RECORDS        30
#define RECORDER_BYTES 5000

struct recorder {
    struct cell *cell;
    unsigned number;
    uint64_t offsets[RECORDS];
    bool done;
};

static void put_record(struct buf *b, unsigned recorder, unsigned record)
{
    buf_printf(b, "<%u %u", recorder, record);
    buf_append_fill(b, 'x', RECORDER_BYTES - b->len - 1);
    buf_append_byte(b, '>');
}

static void run_recorder(void *arg)
{
    struct recorder *r = arg;
    struct fs *fs = cell_client(r->cell, sim_director(r->cell->sim), "rec");
    for (unsigned i = 0; i < RECORDS; i++) {
        struct buf b = BUF_INIT;
        put_record(&b, r->number, i);
        OK(gfs_record_append(fs, "records", buf_slice(&b), &r->offsets[i],
                             err));
        buf_close(&b);
    }
    fs_close(fs);
    r->done = true;
}

static void append_records(struct cell *c)
{
    static struct recorder recorders[RECORDERS];
    struct world *w = sim_director(c->sim);
    struct fs *fs = cell_client(c, w, "test");
    struct buf all = BUF_INIT;
    bool done = false;
    for (unsigned i = 0; i < RECORDERS; i++) {
        recorders[i] = (struct recorder){.cell = c, .number = i};
        sim_spawn(w, "recorder", run_recorder, &recorders[i]);
    }
    world_sleep_us(w, 20000);
    sim_crash(c->chunks[1].world, SIM_CRASH_KILL);
    sim_await_end(c->chunks[1].world);
    sim_boot_again(c->chunks[1].world);
    while (!done) {
        world_sleep_us(w, 100000);
        done = true;
        for (unsigned i = 0; i < RECORDERS; i++)
            done &= recorders[i].done;
    }
    OK(fs_read_all(fs, "records", 1 << 28, &all, err));
    ck_assert_uint_ge(all.len, RECORDERS * RECORDS * RECORDER_BYTES);
    for (unsigned i = 0; i < RECORDERS; i++)
        for (unsigned k = 0; k < RECORDS; k++) {
            struct buf b = BUF_INIT;
            uint64_t at = recorders[i].offsets[k];
            put_record(&b, i, k);
            ck_assert(slice_eq(slice_sub(buf_slice(&all), at, at + b.len),
                               buf_slice(&b)));
            buf_close(&b);
        }
    buf_close(&all);
    fs_close(fs);
}

/* Records of many writers are whole, each at the offset its writer was told,
 * though a server goes down meanwhile. */
START_TEST(test_records_of_many_writers)
{
    run_in_cell(1, 4, append_records);
}

END_TEST

static void append_filled(struct fs *fs, const char *path, char byte)
{
    struct buf b = BUF_INIT;
    uint64_t offset;
    buf_append_fill(&b, byte, RECORDER_BYTES);
    OK(gfs_record_append(fs, path, buf_slice(&b), &offset, err));
    buf_close(&b);
}

/* Any copy may be asked: as often as it takes. */
static void check_first_record(struct cell *c, const char *path)
{
    for (unsigned i = 0; i < 6; i++) {
        struct fs *fs = cell_client(c, sim_director(c->sim), "look");
        struct buf all = BUF_INIT;
        OK(fs_read_all(fs, path, 1 << 28, &all, err));
        for (unsigned k = 0; k < RECORDER_BYTES; k++)
            ck_assert_int_eq(all.data[k], 'a');
        buf_close(&all);
        fs_close(fs);
    }
}

static void lose_records(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct fs *fs = cell_client(c, w, "test");
    for (unsigned i = 0; i < 2 * c->chunk_count; i++) {
        struct world *victim = c->chunks[i % c->chunk_count].world;
        char path[32];
        snprintf(path, sizeof(path), "records%u", i);
        append_filled(fs, path, 'a');
        sim_crash(victim, SIM_CRASH_POWER);
        sim_await_end(victim);
        sim_boot_again(victim);
        world_sleep_us(w, 300000);
        append_filled(fs, path, 'b');
        check_first_record(c, path);
    }
    fs_close(fs);
}

/* A server that lost records with its power gives their places to no others:
 * the first one's copies are alike ever after. */
START_TEST(test_records_after_power_loss)
{
    run_in_cell(1, 3, lose_records);
}

END_TEST

/* --- Namenodes ----------------------------------------------------------- */

static void change_leaders(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct fs *fs = cell_client(c, w, "test");
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf data = BUF_INIT;
    struct fs_writer *writer;
    OK(fs_create(fs, "f", &o, &writer, err));
    for (unsigned i = 0; i < 12; i++) {
        char path[16];
        size_t at = data.len;
        for (unsigned n = 0; i % 3 == 1 && n < c->namenode_count; n++)
            if (c->namenodes[n].namenode &&
                namenode_is_leader(c->namenodes[n].namenode)) {
                sim_crash(c->namenodes[n].world, SIM_CRASH_POWER);
                sim_await_end(c->namenodes[n].world);
                sim_boot_again(c->namenodes[n].world);
                break;
            }
        snprintf(path, sizeof(path), "d/%u", i);
        write_file(fs, path, SLICE_LIT("small"), true);
        fill(&data, at, 20000, 1);
        OK(fs_writer_append(writer, data.data + at, 20000, err));
        OK(fs_writer_flush(writer, err));
    }
    fs_writer_close(writer);
    check_file(fs, "f", buf_slice(&data));
    for (unsigned i = 0; i < 12; i++) {
        char path[16];
        snprintf(path, sizeof(path), "d/%u", i);
        check_file(fs, path, SLICE_LIT("small"));
    }
    buf_close(&data);
    fs_close(fs);
}

/* Three namenodes: the leader's power goes again and again, and clients only
 * wait. */
START_TEST(test_leader_changes)
{
    run_in_cell(3, 3, change_leaders);
}

END_TEST

static void contend(struct cell *c)
{
    struct world *w = sim_director(c->sim);
    struct fs *a = cell_client(c, w, "first");
    struct fs *b = cell_client(c, w, "second");
    struct fs_lock *l;
    struct fs_lock *other;
    struct err err = ERR_INIT;
    ck_assert_int_eq(fs_lock(a, "LOCK", &l, NULL), 0);
    ck_assert_int_eq(fs_lock(b, "LOCK", &other, &err), ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "first"));
    fs_unlock(l);
    ck_assert_int_eq(fs_lock(b, "LOCK", &other, NULL), 0);
    fs_unlock(other);
    ck_assert_int_eq(fs_lock(a, "LOCK", &l, NULL), 0);
    mem_free(l);
    fs_close(a); /* Its session ends, and with it the lock. */
    ck_assert_int_eq(fs_lock(b, "LOCK", &other, NULL), 0);
    fs_unlock(other);
    fs_close(b);
}

/* A lock is held by one, and freed with its holder's session. */
START_TEST(test_locks_between_clients)
{
    run_in_cell(1, 3, contend);
}

END_TEST

TEST_MAIN("gfs",
          test_files_and_names,
          test_acknowledged_bytes_survive_crashes,
          test_bytes_sent_to_each_survive_crashes,
          test_copies_come_back,
          test_rot_is_found_and_mended,
          test_small_chunks_are_scrubbed_seldom,
          test_length_of_what_cannot_be_seen,
          test_failed_copies_are_ordered_again,
          test_no_chunk_leaks,
          test_decommission,
          test_silent_writers_file_is_closed,
          test_snapshot_of_a_file_being_written,
          test_records_of_many_writers,
          test_records_after_power_loss,
          test_leader_changes,
          test_locks_between_clients)
