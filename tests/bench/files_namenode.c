/* The namenode's memory, pace and pauses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/replica/replica.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/catalog.h"
#include "gfs-lite/namenode/namenode.h"
#include "gfs-lite/wire.h"
#include "tests/bench/files.h"

/* --- names
 * -----------------------------------------------------------------------------
 */

static double resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1)
        PANIC("statm");
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static struct gfs_result
run_command(struct catalog *c, uint64_t index, struct gfs_command *k)
{
    static struct buf bytes;
    static struct buf reply;
    struct gfs_result r;
    buf_clear(&bytes);
    buf_clear(&reply);
    gfs_command_put(k, &bytes);
    catalog_apply(c, index, buf_slice(&bytes), &reply);
    CHECK(gfs_result_get(buf_slice(&reply), &r, err));
    if (r.code)
        PANIC("%s: %.*s", gfs_op_name(k->op), SLICE_ARG(r.text));
    return r;
}

/* @count files with one chunk each, three replicas reported for each. */
static double make_files(struct catalog *c, size_t count)
{
    struct gfs_command k = {.op = GFS_OP_SESSION_OPEN,
                            .text = SLICE_LIT("bench")};
    uint64_t index = 1;
    uint64_t session = run_command(c, index++, &k).session;
    uint64_t sequence = 0;
    double creating = 0;
    for (size_t i = 0; i < count; i++) {
        char path[64];
        struct gfs_result file;
        struct gfs_result chunk;
        struct chunk *made;
        double start = cpu();
        snprintf(path, sizeof(path), "dir%zu/file-%08zu", i / 1000, i);
        k = (struct gfs_command){.op = GFS_OP_CREATE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .path = slice_str(path),
                                 .replication = 3};
        file = run_command(c, index++, &k);
        creating += cpu() - start;
        k = (struct gfs_command){.op = GFS_OP_ALLOCATE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .file = file.file,
                                 .epoch = file.epoch,
                                 .servers = {{0, 1, 2}, 3}};
        chunk = run_command(c, index++, &k);
        made = chunk_map_get(&c->names.chunks, chunk.chunk);
        for (uint16_t n = 0; n < 3; n++)
            chunk_add_replica(made, n);
        k = (struct gfs_command){.op = GFS_OP_CLOSE,
                                 .session = session,
                                 .sequence = ++sequence,
                                 .answered = sequence - 1,
                                 .file = file.file,
                                 .epoch = file.epoch,
                                 .chunk = chunk.chunk,
                                 .length = 1000};
        run_command(c, index++, &k);
    }
    return (double)count / creating;
}

void bench_names(size_t count)
{
    struct catalog c;
    struct buf image = BUF_INIT;
    double before = resident_bytes();
    double rate;
    double start;
    catalog_init(&c);
    rate = make_files(&c, count);
    printf("namenode: creates, one core, no disk\t%.4g\t20000\t%.3f\t/s\n",
           rate, rate / 20000);
    start = (resident_bytes() - before) / (double)count;
    printf("namenode: memory per file of one chunk\t%.4g\t600\t%.3f\tbytes\n",
           start, 600 / start);
    start = cpu();
    catalog_save(&c, &image);
    printf("namenode: image of %zu files made in\t%.4g\t\t\ts\n", count,
           cpu() - start);
    start = cpu();
    CHECK(catalog_load(&c, buf_slice(&image), err));
    start = cpu() - start;
    printf("namenode: load of %zu files\t%.4g\t10\t%.3f\ts\n", count, start,
           10 / start);
    printf("namenode: image\t%.4g\t\t\tbytes per file\n",
           (double)image.len / (double)count);
    buf_close(&image);
    catalog_close(&c);
}

/* --- stalls
 * ----------------------------------------------------------------------------
 */

#define MAKERS 64

/* A namenode in this process, and fibers beside it on its loop. */
struct stall {
    struct rpc_channel *channel;
    uint64_t session;
    uint64_t sequence;
    size_t left; /* Files to make. */
    unsigned running;
    struct fiber *waiter;
    bool done;
    uint64_t longest_ns;
    uint64_t longest_wait_ns; /* Of one create. */
};

static void make_one(struct stall *s)
{
    struct buf body = BUF_INIT;
    char path[64];
    uint64_t start = world_mono_ns(world);
    size_t i = s->left--;
    struct gfs_command k = {.op = GFS_OP_CREATE,
                            .session = s->session,
                            .sequence = ++s->sequence,
                            .replication = 3};
    k.answered = k.sequence > 3 * MAKERS ? k.sequence - 3 * MAKERS : 0;
    snprintf(path, sizeof(path), "dir%zu/file-%08zu", i / 1000, i);
    k.path = slice_str(path);
    gfs_command_put(&k, &body);
    CHECK(rpc_call(s->channel, GFS_EXECUTE, NULL, buf_slice(&body), SLICE_EMPTY,
                   NULL, NULL, err));
    s->longest_wait_ns =
        MAX_OF(s->longest_wait_ns, world_mono_ns(world) - start);
    buf_close(&body);
}

static void run_maker(void *arg)
{
    struct stall *s = arg;
    while (s->left)
        make_one(s);
    s->running--;
    fiber_wake(s->waiter);
}

static void run_probe(void *arg)
{
    struct stall *s = arg;
    while (!s->done) {
        uint64_t before = world_mono_ns(world);
        world_sleep_us(world, 1000);
        s->longest_ns =
            MAX_OF(s->longest_ns, world_mono_ns(world) - before - 1000000);
    }
}

static void open_stall_session(struct stall *s)
{
    struct gfs_command k = {.op = GFS_OP_SESSION_OPEN,
                            .text = SLICE_LIT("bench")};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    gfs_command_put(&k, &body);
    while (rpc_call(s->channel, GFS_EXECUTE, NULL, buf_slice(&body),
                    SLICE_EMPTY, &reply, NULL, NULL))
        world_sleep_us(world, 10000);
    CHECK(gfs_result_get(buf_slice(&reply), &r, err));
    s->session = r.session;
    buf_close(&body);
    buf_close(&reply);
}

static void run_stall(void *arg)
{
    struct stall s = {.left = *(size_t *)arg, .waiter = fiber_self()};
    struct rpc_server *rpc = rpc_server_new(world);
    struct replica_member self = {1, "127.0.0.1:1", true};
    struct replica_options replica = {.name = "bench",
                                      .directory = dir,
                                      .id = 1,
                                      .members = &self,
                                      .member_count = 1};
    struct namenode_options o = {.replica = &replica};
    struct namenode *nn;
    struct fiber *probe;
    size_t count = s.left;
    CHECK(namenode_open(world, rpc, &o, &nn, err));
    s.channel = rpc_inproc_channel_new(rpc);
    open_stall_session(&s);
    probe = fiber_start(loop_self(), "probe", run_probe, &s);
    s.running = MAKERS;
    for (unsigned i = 0; i < MAKERS; i++)
        fiber_detach(fiber_start(loop_self(), "maker", run_maker, &s));
    while (s.running)
        fiber_park();
    s.done = true;
    fiber_join(probe);
    printf(
        "namenode: longest stall of its loop, %zu files made\t%.4g\t\t\tms\n",
        count, (double)s.longest_ns / 1e6);
    printf("namenode: longest wait of a create, images saved beside\t%.4g"
           "\t\t\tms\n",
           (double)s.longest_wait_ns / 1e6);
    rpc_channel_free(s.channel);
    namenode_close(nn);
    rpc_server_free(rpc);
}

void bench_stall(size_t count)
{
    struct loop *loop;
    CHECK(loop_new(world, "namenode", &loop, err));
    loop_start(loop);
    loop_call(loop, "stall", run_stall, &count);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
}
