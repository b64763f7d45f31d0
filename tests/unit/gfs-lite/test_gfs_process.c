/* The cluster's file system in the real world, over loopback: descriptors for
 * local readers, plain threads as clients, and the engine's store on top. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"
#include "tests/lib/check_main.h"

#define CHUNKS 3

#define OK(call)                                                               \
    do {                                                                       \
        struct err err_ = ERR_INIT;                                            \
        struct err *err = &err_;                                               \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == 0, "%s: %d %s", #call, rc_, err->text);           \
    } while (0)

/* A namenode and its chunk servers, each on a loop of its own. */
struct server {
    struct cluster *cluster;
    struct loop *loop;
    struct rpc_server *rpc;
    struct rpc_listener *listener;
    struct namenode *namenode;
    struct chunkserver *chunkserver;
    unsigned index;
    char address[64];
};

struct cluster {
    struct world *world;
    struct server namenode;
    struct server chunks[CHUNKS];
};

static void open_namenode(void *arg)
{
    struct server *s = arg;
    char dir[200];
    struct replica_member self = {1, "127.0.0.1:0", true};
    struct replica_options replica = {.name = "test",
                                      .directory = dir,
                                      .id = 1,
                                      .members = &self,
                                      .member_count = 1};
    struct namenode_options o = {.replica = &replica};
    snprintf(dir, sizeof(dir), "%s/namenode", test_tmpdir());
    s->rpc = rpc_server_new(s->cluster->world);
    OK(namenode_open(s->cluster->world, s->rpc, &o, &s->namenode, err));
    OK(rpc_listen(s->rpc, "127.0.0.1:0", NULL, &s->listener, err));
    snprintf(s->address, sizeof(s->address), "%s",
             rpc_listener_address(s->listener));
}

static void open_chunkserver(void *arg)
{
    struct server *s = arg;
    char dir[200];
    char socket[200];
    char machine[16];
    struct chunkserver_options o = {.dir = dir,
                                    .namenodes = s->cluster->namenode.address,
                                    .machine = machine,
                                    .socket = socket,
                                    .heartbeat_us = 100000};
    snprintf(dir, sizeof(dir), "%s/chunk%u", test_tmpdir(), s->index);
    snprintf(socket, sizeof(socket), "%s/chunk%u.sock", test_tmpdir(),
             s->index);
    snprintf(machine, sizeof(machine), "m%u", s->index);
    s->rpc = rpc_server_new(s->cluster->world);
    OK(chunkserver_open(s->cluster->world, s->rpc, &o, &s->chunkserver, err));
    OK(rpc_listen(s->rpc, "127.0.0.1:0", NULL, &s->listener, err));
    snprintf(s->address, sizeof(s->address), "%s",
             rpc_listener_address(s->listener));
    OK(chunkserver_start(s->chunkserver, s->address, err));
}

static void close_server(void *arg)
{
    struct server *s = arg;
    rpc_listener_close(s->listener);
    namenode_close(s->namenode);
    chunkserver_close(s->chunkserver);
    rpc_server_free(s->rpc);
}

static void start(struct cluster *c, struct server *s, void (*open)(void *))
{
    s->cluster = c;
    OK(loop_new(c->world, "server", &s->loop, err));
    loop_start(s->loop);
    loop_call(s->loop, "open", open, s);
}

static void stop(struct server *s)
{
    loop_call(s->loop, "close", close_server, s);
    loop_stop(s->loop);
    loop_join(s->loop);
    loop_free(s->loop);
}

static void start_all(struct cluster *c)
{
    memset(c, 0, sizeof(*c));
    c->world = world_real_new();
    start(c, &c->namenode, open_namenode);
    for (unsigned i = 0; i < CHUNKS; i++) {
        c->chunks[i].index = i;
        start(c, &c->chunks[i], open_chunkserver);
    }
}

static void stop_all(struct cluster *c)
{
    for (unsigned i = 0; i < CHUNKS; i++)
        stop(&c->chunks[i]);
    stop(&c->namenode);
    world_free(c->world);
}

static struct fs *open_fs(struct cluster *c)
{
    struct buf target = BUF_INIT;
    struct fs *fs;
    buf_printf(&target, "gfs://%s/root", c->namenode.address);
    OK(fs_open_target(c->world, buf_cstr(&target), NULL, &fs, err));
    buf_close(&target);
    return fs;
}

/* Descriptors of chunks' files, of this process, that only read. */
static unsigned count_read_only(void)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    unsigned count = 0;
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d))) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        char path[512];
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof(path));
        if (n > 6 && memcmp(path + n - 6, ".chunk", 6) == 0)
            count += (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    }
    closedir(d);
    return count;
}

/* The server, in this process too, closes what it passes on a moment later. */
static void await_read_only(struct world *w, unsigned count)
{
    for (int i = 0; i < 1000 && count_read_only() != count; i++)
        world_sleep_us(w, 10000);
    ck_assert_uint_eq(count_read_only(), count);
}

/* The descriptor that a reader of this machine got does not let it write. */
static void check_handed(struct world *w, struct fs *fs)
{
    struct fs_reader *r;
    char byte;
    size_t got;
    OK(fs_open(fs, "d/f", &r, err));
    await_read_only(w, 0);
    OK(fs_read_at(r, 0, &byte, 1, &got, err));
    await_read_only(w, 1);
    fs_reader_close(r);
}

/* A plain thread writes and reads; from the moment that the file is closed,
 * reads go through descriptors and not over the network: its servers are not
 * waited for until their heartbeats bring them the word that the chunks are
 * sealed. */
START_TEST(test_short_circuit_reads)
{
    struct cluster c;
    struct gfs_client_stats stats = {.local_reads = 0};
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct buf data = BUF_INIT;
    struct fs_writer *w;
    struct rand_gen r;
    struct fs *fs;
    start_all(&c);
    fs = open_fs(&c);
    rand_init(&r, test_seed());
    for (size_t i = 0; i < 1000000; i++)
        buf_append_byte(&data, (char)rand_u64(&r));
    OK(fs_create(fs, "d/f", &o, &w, err));
    OK(fs_writer_append(w, data.data, data.len, err));
    OK(fs_writer_sync(w, err));
    fs_writer_close(w);
    for (unsigned i = 0; i < 2; i++) {
        struct buf got = BUF_INIT;
        OK(fs_read_all(fs, "d/f", 1 << 24, &got, err));
        ck_assert(slice_eq(buf_slice(&got), buf_slice(&data)));
        buf_close(&got);
    }
    check_handed(c.world, fs);
    gfs_get_client_stats(fs, &stats);
    ck_assert_uint_gt(stats.local_reads, 2);
    ck_assert_uint_eq(stats.remote_reads, 0);
    buf_close(&data);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

struct writer_task {
    struct fs *fs;
    unsigned number;
};

static void run_writer(void *arg)
{
    struct writer_task *t = arg;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    char path[32];
    snprintf(path, sizeof(path), "t/%u", t->number);
    OK(fs_create(t->fs, path, &o, &w, err));
    for (unsigned i = 0; i < 20; i++) {
        size_t at = want.len;
        buf_printf(&want, "%u-%u;", t->number, i);
        OK(fs_writer_append(w, want.data + at, want.len - at, err));
        OK(i % 5 ? fs_writer_flush(w, err) : fs_writer_sync(w, err));
    }
    fs_writer_close(w);
    OK(fs_read_all(t->fs, path, 1 << 20, &got, err));
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&want)));
    buf_close(&want);
    buf_close(&got);
}

/* Threads share one client. */
START_TEST(test_threads_share_a_client)
{
    struct cluster c;
    struct writer_task tasks[4];
    struct task *running[ARRAY_LEN(tasks)];
    struct fs *fs;
    start_all(&c);
    fs = open_fs(&c);
    for (unsigned i = 0; i < ARRAY_LEN(tasks); i++) {
        tasks[i] = (struct writer_task){fs, i};
        running[i] = task_start(c.world, "writer", run_writer, &tasks[i]);
    }
    for (unsigned i = 0; i < ARRAY_LEN(tasks); i++)
        task_join(running[i]);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

#define LOG_PIECE_BYTES ((size_t)50000)

static uint64_t count_local_writes(struct fs *fs)
{
    struct gfs_client_stats stats;
    gfs_get_client_stats(fs, &stats);
    return stats.local_writes;
}

/* Append pieces one by one, each flushed, to the file and to @model. */
static void
add_pieces(struct fs_writer *w, struct buf *model, struct rand_gen *r, int n)
{
    for (int i = 0; i < n; i++) {
        char *p = buf_extend(model, LOG_PIECE_BYTES);
        for (size_t k = 0; k < LOG_PIECE_BYTES; k++)
            p[k] = (char)rand_u64(r);
        OK(fs_writer_append(w, p, LOG_PIECE_BYTES, err));
        OK(fs_writer_flush(w, err));
    }
}

static void
assert_file(struct fs *fs, const char *path, const struct buf *model)
{
    struct buf got = BUF_INIT;
    OK(fs_read_all(fs, path, model->len + 1, &got, err));
    ck_assert(slice_eq(buf_slice(&got), buf_slice(model)));
    buf_close(&got);
}

/* A log's flushed pieces go into the servers' files by grants, and are read and
 * synced like any; once the file was taken from its writer no more are. */
START_TEST(test_a_log_by_grants)
{
    struct cluster c;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf model = BUF_INIT;
    struct fs_writer *w;
    struct rand_gen r;
    struct fs *fs;
    struct fs *other;
    uint64_t length;
    start_all(&c);
    fs = open_fs(&c);
    other = open_fs(&c);
    rand_init(&r, test_seed());
    OK(fs_create(fs, "log", &o, &w, err));
    add_pieces(w, &model, &r, 60);
    ck_assert_uint_eq(count_local_writes(fs), 59);
    assert_file(other, "log", &model);
    OK(fs_writer_sync(w, err));
    add_pieces(w, &model, &r, 3);
    OK(fs_recover(other, "log", &length, err));
    ck_assert_uint_eq(length, model.len);
    ck_assert_int_ne(fs_writer_append(w, model.data, LOG_PIECE_BYTES, NULL) ||
                         fs_writer_flush(w, NULL),
                     0);
    fs_writer_close(w);
    assert_file(other, "log", &model);
    buf_close(&model);
    fs_close(other);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

/* A log of many chunks, each with a grant, of which each but the last is synced
 * while the next is written: it is read, synced and taken over as one. */
START_TEST(test_chunks_by_grants)
{
    struct cluster c;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf model = BUF_INIT;
    struct fs_writer *w;
    struct rand_gen r;
    struct fs *fs;
    struct fs *other;
    uint64_t length;
    start_all(&c);
    OK(fs_gfs_open(c.world,
                   &(struct gfs_options){.namenodes = c.namenode.address,
                                         .path = "root",
                                         .chunk_bytes = 4 * LOG_PIECE_BYTES},
                   &fs, err));
    other = open_fs(&c);
    rand_init(&r, test_seed());
    OK(fs_create(fs, "log", &o, &w, err));
    for (int i = 0; i < 6; i++) {
        add_pieces(w, &model, &r, 5);
        assert_file(other, "log", &model);
        if (i % 2)
            OK(fs_writer_sync(w, err));
    }
    ck_assert_uint_gt(count_local_writes(fs), 0);
    add_pieces(w, &model, &r, 3);
    OK(fs_recover(other, "log", &length, err));
    ck_assert_uint_eq(length, model.len);
    fs_writer_close(w);
    assert_file(other, "log", &model);
    buf_close(&model);
    fs_close(other);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

/* A server that stops, or starts over, ends its grants: the writer continues
 * without it, and nothing that was flushed is missing. */
START_TEST(test_a_server_stops_under_a_grant)
{
    struct cluster c;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct buf model = BUF_INIT;
    struct gfs_client_stats stats;
    struct fs_writer *w;
    struct rand_gen r;
    struct fs *fs;
    start_all(&c);
    fs = open_fs(&c);
    rand_init(&r, test_seed());
    OK(fs_create(fs, "log", &o, &w, err));
    add_pieces(w, &model, &r, 5);
    ck_assert_uint_eq(count_local_writes(fs), 4);
    stop(&c.chunks[0]);
    start(&c, &c.chunks[0], open_chunkserver);
    add_pieces(w, &model, &r, 5);
    gfs_get_client_stats(fs, &stats);
    ck_assert_uint_ge(stats.recoveries, 1);
    OK(fs_writer_sync(w, err));
    fs_writer_close(w);
    assert_file(fs, "log", &model);
    buf_close(&model);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

/* A chunk that is written by grants ends as any does, and the next is too. */
START_TEST(test_chunks_end_under_grants)
{
    struct cluster c;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    size_t bytes = ((size_t)1 << 20) + 4321;
    struct buf model = BUF_INIT;
    struct buf piece = BUF_INIT;
    struct fs_writer *w;
    struct fs *fs;
    start_all(&c);
    fs = open_fs(&c);
    memset(buf_extend(&piece, bytes), 'x', bytes);
    OK(fs_create(fs, "log", &o, &w, err));
    for (unsigned i = 0; i < 80; i++) {
        memcpy(piece.data, &i, sizeof(i));
        OK(fs_writer_append(w, piece.data, bytes, err));
        OK(fs_writer_flush(w, err));
        buf_append_slice(&model, buf_slice(&piece));
    }
    ck_assert_uint_gt(count_local_writes(fs), 70);
    fs_writer_close(w);
    assert_file(fs, "log", &model);
    buf_close(&piece);
    buf_close(&model);
    fs_close(fs);
    stop_all(&c);
}

END_TEST

TEST_MAIN("gfs_process",
          test_short_circuit_reads,
          test_threads_share_a_client,
          test_a_log_by_grants,
          test_chunks_by_grants,
          test_a_server_stops_under_a_grant,
          test_chunks_end_under_grants)
