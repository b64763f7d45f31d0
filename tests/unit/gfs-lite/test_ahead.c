/* A writer continues in the next chunk while the one before is being synced:
 * no promised byte of either is lost, whichever process fails meanwhile.
 */
#include "base/core/arena.h"
#include "base/core/coding.h"
#include "gfs-lite/namenode/placement.h"
#include "tests/unit/gfs-lite/catalog_run.h"
#include "tests/unit/gfs-lite/cell_files.h"

#define CHUNK_BYTES  50000
#define RECORD_BYTES 5000
/* A disk that takes long to sync. */
#define SLOW_SYNC_US UINT64_C(1000000)

/* --- Fixture ------------------------------------------------------------- */

/* Of servers: no two chunks in a row need be on the same ones. The writer has a
 * machine of its own. */
#define SERVERS 6

static void run_cells(void (*scenario)(struct cell *c))
{
    run_both_ways(scenario, SERVERS, CHUNK_BYTES, true);
}

static void sleep_us(struct cell *c, uint64_t us)
{
    world_sleep_us(sim_director(c->sim), us);
}

/* A process on a machine of its own that appends records to "f". */
struct writer {
    struct cell *cell;
    struct world *world;
    struct fs *fs;
    struct fs_writer *w;
    struct buf data;  /* Appended and flushed. */
    uint64_t synced;  /* Of these. */
    unsigned records; /* To be appended. */
    bool sync;        /* After them, */
    bool close;       /* and the file is closed. */
    bool loses;       /* Another record, when it may, and a sync, which fail. */
    bool may_lose;
    bool appended; /* All of its records. */
    bool done;
};

/* False: its machine died. */
static bool append(struct writer *k)
{
    size_t at = k->data.len;
    struct err why = ERR_INIT;
    int rc;
    fill(&k->data, at, RECORD_BYTES, 3);
    rc = fs_writer_append(k->w, k->data.data + at, RECORD_BYTES, &why);
    if (rc == 0)
        rc = fs_writer_flush(k->w, &why);
    ck_assert_msg(rc == 0 || fiber_check(NULL), "%s", why.text);
    return rc == 0;
}

static void lose_record(struct writer *k)
{
    char record[RECORD_BYTES] = {0};
    while (!k->may_lose)
        world_sleep_us(k->world, 1000);
    OK(fs_writer_append(k->w, record, sizeof(record), err));
    ck_assert_int_ne(fs_writer_sync(k->w, NULL), 0);
}

static void run_writer(void *arg)
{
    struct writer *k = arg;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    k->fs = cell_client(k->cell, k->world, "writer");
    OK(fs_create(k->fs, "f", &o, &k->w, err));
    while (k->data.len < (size_t)k->records * RECORD_BYTES && append(k)) {
    }
    k->appended = true;
    if (k->loses)
        lose_record(k);
    if (k->sync && fiber_check(NULL) == 0 && fs_writer_sync(k->w, NULL) == 0)
        k->synced = k->data.len;
    k->done = true;
    while (!k->close && fiber_check(NULL) == 0)
        world_sleep_us(k->world, 10000);
    fs_writer_close(k->w);
    fs_close(k->fs);
    k->fs = NULL;
}

static void start(struct writer *k, struct cell *c, unsigned records)
{
    struct writer now = {.cell = c,
                         .world = c->chunks[SERVERS].world,
                         .records = records,
                         .sync = k->sync,
                         .close = k->close,
                         .loses = k->loses};
    *k = now;
    sim_spawn(k->world, "writer", run_writer, k);
}

static void await(struct cell *c, const struct writer *k)
{
    while (!k->done)
        sleep_us(c, 1000);
}

/* It uses what is on the caller's stack until then. */
static void await_close(struct cell *c, const struct writer *k)
{
    while (k->fs)
        sleep_us(c, 10000);
}

/* Chunks of "f" that are not sealed. */
static unsigned count_open(struct fs *fs)
{
    struct gfs_layout l;
    struct arena a;
    unsigned count = 0;
    arena_init(&a);
    if (gfs_get_layout(fs, "f", 0, &a, &l, NULL) == 0)
        for (size_t i = 0; i < l.chunk_count; i++)
            count += !l.chunks[i].sealed;
    arena_close(&a);
    return count;
}

/* The nodes of the servers of the first chunk of "f". */
static void find_first(struct cell *c, struct fs *fs, struct cell_node *out[3])
{
    struct gfs_layout l;
    struct arena a;
    unsigned count = 0;
    arena_init(&a);
    OK(gfs_get_layout(fs, "f", 0, &a, &l, err));
    ck_assert_uint_eq(l.chunk_count, 1);
    for (size_t i = 0; i < l.server_count; i++)
        for (unsigned k = 0; k < SERVERS; k++)
            if (slice_eq_str(l.servers[i].address, c->chunks[k].address))
                out[count++] = &c->chunks[k];
    arena_close(&a);
    ck_assert_uint_eq(count, 3);
}

/* Parks until the writer has flushed to its second chunk while the servers of
 * the first, @first, sync that. */
static void await_ahead(struct cell *c,
                        struct fs *fs,
                        const struct writer *k,
                        struct cell_node *first[3])
{
    struct sim_options slow = c->machine_options;
    slow.sync_us = SLOW_SYNC_US;
    while (k->data.len < CHUNK_BYTES / 2)
        sleep_us(c, 100);
    find_first(c, fs, first);
    for (unsigned i = 0; i < 3; i++)
        sim_set_options(first[i]->world, &slow);
    while (k->data.len < CHUNK_BYTES + 3 * RECORD_BYTES)
        sleep_us(c, 500);
    if (count_open(fs) != 2)
        cell_print_trace();
    ck_assert_uint_eq(count_open(fs), 2);
    ck_assert(!k->done);
}

static void restart(struct cell_node *n, enum sim_crash how, task_fn program)
{
    sim_crash(n->world, how);
    sim_await_end(n->world);
    sim_boot(n->world, program, n);
}

/* --- The namenode's state ------------------------------------------------ */

struct ahead {
    struct catalog m;
    struct gfs_result file;
    struct gfs_result first;
    struct gfs_result second;
};

static struct gfs_result
of_file(struct ahead *a, enum gfs_op op, uint64_t chunk, uint64_t length)
{
    return run(&a->m, (struct gfs_command){.op = op,
                                           .file = a->file.file,
                                           .epoch = a->file.epoch,
                                           .chunk = chunk,
                                           .length = length});
}

static struct gfs_result next_chunk(struct ahead *a, uint64_t length)
{
    return run(&a->m, (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                           .file = a->file.file,
                                           .epoch = a->file.epoch,
                                           .chunk = a->first.chunk,
                                           .length = length,
                                           .flags = GFS_AHEAD,
                                           .servers = {{7, 8}, 2}});
}

static void begin_ahead(struct ahead *a)
{
    begin(&a->m);
    a->file = run(&a->m, (struct gfs_command){.op = GFS_OP_CREATE,
                                              .path = SLICE_LIT("d/f"),
                                              .replication = 3});
    a->first = of_file(a, GFS_OP_ALLOCATE, 0, 0);
    ck_assert_int_eq(next_chunk(a, 0).code, ERR_INVALID);
    a->second = next_chunk(a, 1000);
    ck_assert_int_eq(a->second.code, 0);
    ck_assert_uint_eq(a->second.servers.count, 2);
    check_image(&a->m);
}

static uint64_t bytes_of(const struct ahead *a)
{
    struct inode *n;
    ck_assert_int_eq(names_find(&a->m.names, SLICE_LIT("d/f"), &n, NULL), 0);
    return inode_bytes(n);
}

/* The first chunk is settled, then the second ends as any other. Nothing goes
 * in another order. */
START_TEST(test_two_open_chunks)
{
    struct ahead a;
    begin_ahead(&a);
    ck_assert_int_eq(next_chunk(&a, 1000).code, ERR_ABORTED);
    ck_assert_int_eq(of_file(&a, GFS_OP_CLOSE, a.second.chunk, 5).code,
                     ERR_ABORTED);
    ck_assert_int_eq(of_file(&a, GFS_OP_SETTLE, a.second.chunk, 5).code,
                     ERR_ABORTED);
    ck_assert_uint_eq(bytes_of(&a), 0);
    run(&a.m, (struct gfs_command){.op = GFS_OP_SET_REPLICATION,
                                   .path = SLICE_LIT("d/f"),
                                   .replication = 5});
    ck_assert_int_eq(of_file(&a, GFS_OP_SETTLE, a.first.chunk, 1000).code, 0);
    check_image(&a.m);
    ck_assert_uint_eq(
        chunk_map_get(&a.m.names.chunks, a.second.chunk)->replication, 5);
    ck_assert_int_eq(of_file(&a, GFS_OP_CLOSE, a.second.chunk, 5).code, 0);
    ck_assert_uint_eq(bytes_of(&a), 1005);
    names_check(&a.m.names);
    catalog_close(&a.m);
}

END_TEST

/* A recovery of the first chunk keeps the second if nothing is missing between
 * them, else not; its writer can settle neither. */
START_TEST(test_recovery_of_the_first)
{
    for (uint64_t length = 0; length <= 1000; length += 500) {
        struct ahead a;
        struct gfs_result r;
        begin_ahead(&a);
        r = run(&a.m, (struct gfs_command){.op = GFS_OP_FENCE,
                                           .file = a.file.file,
                                           .chunk = a.first.chunk});
        ck_assert_int_eq(r.code, 0);
        ck_assert_int_eq(of_file(&a, GFS_OP_SETTLE, a.first.chunk, 1000).code,
                         ERR_ABORTED);
        r = run(&a.m, (struct gfs_command){.op = GFS_OP_SEAL,
                                           .file = a.file.file,
                                           .chunk = a.first.chunk,
                                           .version = r.version,
                                           .length = length});
        ck_assert_int_eq(r.code, 0);
        check_image(&a.m);
        ck_assert_int_eq(chunk_map_get(&a.m.names.chunks, a.second.chunk) !=
                             NULL,
                         length == 1000);
        ck_assert_int_eq(of_file(&a, GFS_OP_CLOSE, a.second.chunk, 5).code, 0);
        ck_assert_uint_eq(bytes_of(&a), length == 1000 ? 1005 : length);
        names_check(&a.m.names);
        catalog_close(&a.m);
    }
}

END_TEST

/* A file that is removed takes both with it. */
START_TEST(test_removed_with_two)
{
    struct ahead a;
    begin_ahead(&a);
    run(&a.m, (struct gfs_command){.op = GFS_OP_REMOVE,
                                   .path = SLICE_LIT("d"),
                                   .flags = GFS_TREE});
    check_image(&a.m);
    run(&a.m, (struct gfs_command){.op = GFS_OP_REAP});
    ck_assert_uint_eq(a.m.names.chunks.by_handle.count, 0);
    names_check(&a.m.names);
    catalog_close(&a.m);
}

END_TEST

static void put_numbers(struct buf *out, const uint8_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_put_varint(out, numbers[i]);
}

/* An image as versions before 5 wrote it: the file "f" of one chunk. Version 4
 * ends with the tree that is being copied. */
static void put_old_image(uint8_t version, struct buf *out)
{
    static const uint8_t chunks[] = {9, 1, 8, 1, 1, 1, 77, 3};
    static const uint8_t root[] = {3, 2, 1, 0, 1, 0, 0, 0, 0};
    static const uint8_t file[] = {2, 1, 0};
    static const uint8_t rest[] = {5, 3, 1, 8};
    buf_append_str(out, CATALOG_IMAGE_MAGIC);
    buf_put_varint(out, version);
    buf_put_varint(out, 1);
    put_numbers(out, chunks, sizeof(chunks));
    put_numbers(out, root, sizeof(root));
    put_numbers(out, file, sizeof(file));
    buf_put_lslice(out, SLICE_LIT("f"));
    put_numbers(out, rest, sizeof(rest));
    for (int i = version == 4 ? 5 : 4; i > 0; i--)
        buf_put_varint(out,
                       0); /* Open files, locks, sessions, servers, copy. */
}

/* Images of the versions before, in which no file was so far ahead, which did
 * not end with the tree that is being copied, and whose files had no owners,
 * are read: all may do everything with what is in them. */
START_TEST(test_older_images)
{
    for (uint8_t version = 1; version < 5; version++) {
        struct catalog m;
        struct buf image = BUF_INIT;
        struct err err = ERR_INIT;
        struct inode *n;
        catalog_init(&m);
        put_old_image(version, &image);
        ck_assert_msg(catalog_load(&m, buf_slice(&image), &err) == 0, "%s",
                      err.text);
        ck_assert_int_eq(names_find(&m.names, SLICE_LIT("f"), &n, NULL), 0);
        ck_assert_uint_eq(inode_bytes(n), 77);
        ck_assert_uint_eq(n->owner, 0);
        ck_assert_uint_eq(n->mode, GFS_MODE_FILE);
        ck_assert_uint_eq(n->parent->mode, GFS_MODE_DIRECTORY);
        names_check(&m.names);
        buf_close(&image);
        catalog_close(&m);
    }
}

END_TEST

/* --- The writer ---------------------------------------------------------- */

static void read_meanwhile(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "reader");
    struct writer k = {.sync = true, .close = true};
    struct fs_info info;
    start(&k, c, 15);
    await_ahead(c, fs, &k, first);
    while (k.data.len < (size_t)15 * RECORD_BYTES) {
        ck_assert(!k.done);
        sleep_us(c, 1000);
    }
    sleep_us(c, 10000);
    ck_assert(!k.done); /* The sync waits for both. */
    check_file(fs, "f", buf_slice(&k.data));
    OK(fs_stat(fs, "f", &info, err));
    ck_assert_uint_eq(info.size_bytes, k.data.len);
    await(c, &k);
    await_close(c, &k);
    check_file(fs, "f", buf_slice(&k.data));
    buf_close(&k.data);
    fs_close(fs);
}

/* Readers meanwhile see all that was flushed to either chunk; a sync is
 * answered when both are on the disks. */
START_TEST(test_readers_see_both)
{
    run_cells(read_meanwhile);
}

END_TEST

static void kill_server(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "reader");
    struct writer k = {.sync = true, .close = true};
    start(&k, c, 25);
    await_ahead(c, fs, &k, first);
    for (unsigned i = 0; i < 2; i++)
        restart(first[i],
                c->write_way == GFS_WRITE_TO_EACH ? SIM_CRASH_POWER
                                                  : SIM_CRASH_KILL,
                cell_run_chunkserver);
    await(c, &k);
    ck_assert_uint_eq(k.synced, k.data.len);
    await_close(c, &k);
    for (unsigned i = 0; i < SERVERS; i++)
        restart(&c->chunks[i], SIM_CRASH_POWER, cell_run_chunkserver);
    check_file(fs, "f", buf_slice(&k.data));
    buf_close(&k.data);
    fs_close(fs);
}

/* Servers die while they sync the first chunk: the writer has it recovered, and
 * a sync that was answered holds when all lose their power. */
START_TEST(test_servers_die_meanwhile)
{
    run_cells(kill_server);
}

END_TEST

static void kill_namenode(struct cell *c)
{
    struct cell_node *first[3];
    struct world *director = sim_director(c->sim);
    struct fs *fs = cell_client(c, director, "reader");
    struct writer k = {.sync = true, .close = true};
    char path[32];
    start(&k, c, 25);
    await_ahead(c, fs, &k, first);
    for (unsigned i = 0; c->write_way == GFS_WRITE_TO_EACH && i < 200; i++) {
        snprintf(path, sizeof(path), "directory-%u", i);
        OK(fs_mkdirs(fs, path, err)); /* Until there is an image. */
    }
    restart(&c->namenodes[0], SIM_CRASH_POWER, cell_run_namenode);
    await(c, &k);
    ck_assert_uint_eq(k.synced, k.data.len);
    check_file(fs, "f", buf_slice(&k.data));
    await_close(c, &k);
    ck_assert_uint_eq(count_open(fs), 0);
    check_file(fs, "f", buf_slice(&k.data));
    buf_close(&k.data);
    fs_close(fs);
}

/* The namenode starts over, from its log or an image: it knows both chunks. */
START_TEST(test_namenode_dies_meanwhile)
{
    run_cells(kill_namenode);
}

END_TEST

static void kill_writer(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    struct writer k = {.sync = true};
    uint64_t length;
    start(&k, c, 17);
    await_ahead(c, fs, &k, first);
    sim_crash(k.world, SIM_CRASH_KILL);
    sim_await_end(k.world);
    OK(fs_recover(fs, "f", &length, err));
    /* The last record may not have been acknowledged. */
    ck_assert_uint_le(length, k.data.len);
    ck_assert_uint_ge(length, k.data.len - RECORD_BYTES);
    check_file(fs, "f", slice_make(k.data.data, length));
    ck_assert_uint_eq(count_open(fs), 0);
    buf_close(&k.data);
    fs_close(fs);
}

static void lose_first(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "reader");
    struct writer k = {.sync = true};
    uint64_t length;
    start(&k, c, 15);
    await_ahead(c, fs, &k, first);
    while (k.data.len < (size_t)15 * RECORD_BYTES)
        sleep_us(c, 500);
    for (unsigned i = 0; i < 3; i++)
        restart(first[i], SIM_CRASH_POWER, cell_run_chunkserver);
    await(c, &k);
    sim_crash(k.world, SIM_CRASH_KILL);
    sim_await_end(k.world);
    OK(fs_recover(fs, "f", &length, err));
    ck_assert_uint_ge(length, k.synced);
    check_file(fs, "f", slice_make(k.data.data, length));
    buf_close(&k.data);
    fs_close(fs);
}

/* All servers of the first chunk lose their power: if a sync is answered all
 * the same, nothing is missing, and never is the second behind a gap. */
START_TEST(test_first_is_lost)
{
    run_cells(lose_first);
}

END_TEST

/* The writer dies: who takes the file over has all that was flushed, of both
 * chunks. */
START_TEST(test_writer_dies)
{
    run_cells(kill_writer);
}

END_TEST

static void lose_power(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "taker");
    struct writer k = {.sync = true};
    uint64_t length;
    start(&k, c, 17);
    await_ahead(c, fs, &k, first);
    for (unsigned i = 0; i <= SERVERS; i++)
        sim_crash(c->chunks[i].world, SIM_CRASH_POWER);
    for (unsigned i = 0; i <= SERVERS; i++)
        sim_await_end(c->chunks[i].world);
    for (unsigned i = 0; i < SERVERS; i++)
        sim_boot(c->chunks[i].world, cell_run_chunkserver, &c->chunks[i]);
    OK(fs_recover(fs, "f", &length, err));
    ck_assert_uint_le(length, k.data.len);
    check_file(fs, "f", slice_make(k.data.data, length));
    ck_assert_uint_eq(count_open(fs), 0);
    buf_close(&k.data);
    fs_close(fs);
}

/* All lose their power before anything is synced: what is left is what was
 * written up to some byte, never the second chunk behind less than the first.
 */
START_TEST(test_all_lose_power)
{
    run_cells(lose_power);
}

END_TEST

static void close_at_once(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "reader");
    struct writer k = {.close = true};
    start(&k, c, 15);
    await_ahead(c, fs, &k, first);
    await(c, &k);
    await_close(c, &k);
    ck_assert_uint_eq(count_open(fs), 0);
    check_file(fs, "f", buf_slice(&k.data));
    buf_close(&k.data);
    fs_close(fs);
}

/* A file that is closed meanwhile is closed with both of them. */
START_TEST(test_close_waits)
{
    run_cells(close_at_once);
}

END_TEST

/* A node of the servers of the second chunk of "f". */
static struct cell_node *find_second(struct cell *c, struct fs *fs)
{
    struct cell_node *found = NULL;
    struct gfs_layout l;
    struct arena a;
    arena_init(&a);
    OK(gfs_get_layout(fs, "f", 0, &a, &l, err));
    ck_assert_uint_eq(l.chunk_count, 2);
    for (size_t i = 0; i < l.server_count; i++)
        for (unsigned k = 0; k < SERVERS; k++)
            if (slice_eq_str(l.servers[i].address, c->chunks[k].address) &&
                gfs_server_set_has(&l.chunks[1].servers, l.servers[i].number))
                found = &c->chunks[k];
    arena_close(&a);
    ck_assert_ptr_nonnull(found);
    return found;
}

static void lose_file(struct cell *c)
{
    struct cell_node *first[3];
    struct fs *fs = cell_client(c, sim_director(c->sim), "remover");
    struct sim_options slow = c->machine_options;
    struct writer k = {.loses = true, .close = true};
    start(&k, c, 13);
    await_ahead(c, fs, &k, first);
    slow.sync_us = 2 * SLOW_SYNC_US;
    for (unsigned i = 0; i < SERVERS; i++)
        sim_set_options(c->chunks[i].world, &slow);
    while (!k.appended)
        sleep_us(c, 500);
    sim_crash(find_second(c, fs)->world, SIM_CRASH_KILL);
    OK(fs_remove(fs, "f", err));
    k.may_lose = true;
    await(c, &k);
    await_close(c, &k);
    buf_close(&k.data);
    fs_close(fs);
}

/* The file goes, and a server of the second chunk with it: the writer fails,
 * but not before its pieces that are still under way have ended. */
START_TEST(test_file_is_lost)
{
    run_cells(lose_file);
}

END_TEST

TEST_MAIN("gfs_ahead",
          test_file_is_lost,
          test_two_open_chunks,
          test_recovery_of_the_first,
          test_removed_with_two,
          test_older_images,
          test_readers_see_both,
          test_servers_die_meanwhile,
          test_first_is_lost,
          test_namenode_dies_meanwhile,
          test_writer_dies,
          test_all_lose_power,
          test_close_waits)
