/* The namenode's pauses: how long its loop stands still while many files are
 * made, copied, looked at, moved and removed. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/namenode/namenode.h"
#include "tests/bench/files.h"

#define MAKERS 64
/* Time for the servers to free removed chunks. */
#define FREEING_US 8000000

/* A namenode in this process, and fibers beside it on its loop. */
struct stall {
    struct rpc_server *server;
    uint64_t session;
    uint64_t sequence;
    size_t count;
    size_t left; /* Files to make. */
    unsigned running;
    struct fiber *waiter;
    bool done;
    uint64_t longest_ns;
    uint64_t longest_cpu_ns;  /* Of that, on the processor. */
    uint64_t longest_wait_ns; /* Of one create. */
};

/* Dispatched at once: no connection is part of what is measured. */
static int try_call(struct stall *s,
                    uint32_t method,
                    struct buf *body,
                    struct buf *reply,
                    struct err *err)
{
    struct buf attachment = BUF_INIT;
    struct rpc_call k = {.method = method,
                         .body = buf_slice(body),
                         .reply_body = reply,
                         .reply_attachment = &attachment};
    int rc;
    buf_clear(reply);
    rc = rpc_server_dispatch(s->server, &k, err);
    buf_close(&attachment);
    return rc;
}

static void
call(struct stall *s, uint32_t method, struct buf *body, struct buf *reply)
{
    CHECK(try_call(s, method, body, reply, err));
}

/* Have @k executed as the session's next command. */
static struct gfs_result execute(struct stall *s, struct gfs_command k)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    k.session = s->session;
    k.sequence = ++s->sequence;
    k.answered = k.sequence > 3 * MAKERS ? k.sequence - 3 * MAKERS : 0;
    gfs_command_put(&k, &body);
    call(s, GFS_EXECUTE, &body, &reply);
    CHECK(gfs_result_get(buf_slice(&reply), &r, err));
    buf_close(&body);
    buf_close(&reply);
    return r; /* Its texts are gone. */
}

/* --- many files ---------------------------------------------------------- */

static void make_one(struct stall *s, size_t i)
{
    char path[64];
    uint64_t start = world_mono_ns(world);
    struct gfs_result r;
    snprintf(path, sizeof(path), "all/dir%zu/file-%08zu", i / 1000, i);
    r = execute(s, (struct gfs_command){.op = GFS_OP_CREATE,
                                        .path = slice_str(path),
                                        .replication = 3});
    s->longest_wait_ns =
        MAX_OF(s->longest_wait_ns, world_mono_ns(world) - start);
    execute(s, (struct gfs_command){
                   .op = GFS_OP_CLOSE, .file = r.file, .epoch = r.epoch});
}

static void run_maker(void *arg)
{
    struct stall *s = arg;
    while (s->left)
        make_one(s, --s->left);
    s->running--;
    fiber_wake(s->waiter);
}

static void make_all(struct stall *s)
{
    s->left = s->count;
    s->running = MAKERS;
    for (unsigned i = 0; i < MAKERS; i++)
        fiber_detach(fiber_start(loop_self(), "maker", run_maker, s));
    while (s->running)
        fiber_park();
}

/* --- what is done to all of them ----------------------------------------- */

/* Of this thread: what others of the machine do does not count. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        PANIC("clock");
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void run_probe(void *arg)
{
    struct stall *s = arg;
    while (!s->done) {
        uint64_t before = world_mono_ns(world);
        uint64_t cpu_before = cpu_ns();
        world_sleep_us(world, 1000);
        s->longest_ns =
            MAX_OF(s->longest_ns, world_mono_ns(world) - before - 1000000);
        s->longest_cpu_ns = MAX_OF(s->longest_cpu_ns, cpu_ns() - cpu_before);
    }
}

static void check_all(struct stall *s)
{
    struct gfs_findings found = {.more = true};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf after = BUF_INIT;
    struct arena a;
    while (found.more) {
        struct gfs_query q = {.path = SLICE_LIT("all"),
                              .after = buf_slice(&after)};
        buf_clear(&body);
        gfs_query_put(&q, &body);
        call(s, GFS_CHECK, &body, &reply);
        world_sleep_us(world, 1); /* Others run between a client's messages. */
        arena_init(&a);
        CHECK(gfs_findings_get(buf_slice(&reply), &a, &found, err));
        buf_clear(&after);
        buf_append_slice(&after, found.after);
        arena_close(&a);
    }
    buf_close(&body);
    buf_close(&reply);
    buf_close(&after);
}

static void list_all(struct stall *s)
{
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    for (size_t i = 0; i < s->count / 1000; i++) {
        char path[64];
        struct gfs_query q;
        snprintf(path, sizeof(path), "all/dir%zu", i);
        q = (struct gfs_query){.path = slice_str(path)};
        buf_clear(&body);
        gfs_query_put(&q, &body);
        call(s, GFS_LIST, &body, &reply);
        world_sleep_us(world, 1);
    }
    buf_close(&body);
    buf_close(&reply);
}

static void begin_measure(struct stall *s)
{
    world_sleep_us(world, 100000);
    s->longest_ns = 0;
    s->longest_cpu_ns = 0;
}

static void print_longest(const struct stall *s, const char *what)
{
    printf("namenode: longest stall of its loop, %s\t%.4g\t\t\tms\n", what,
           (double)s->longest_ns / 1e6);
    printf("namenode: longest turn of its loop, %s\t%.4g\t\t\tms of CPU\n",
           what, (double)s->longest_cpu_ns / 1e6);
}

static void end_measure(struct stall *s, const char *what, uint64_t start_ns)
{
    double took = (double)(world_mono_ns(world) - start_ns) / 1e6;
    world_sleep_us(world, 10000); /* The probe's last look. */
    printf("namenode: %s of %zu files takes\t%.4g\t\t\tms\n", what, s->count,
           took);
    print_longest(s, what);
}

static void
measure(struct stall *s, const char *what, struct gfs_command command)
{
    uint64_t start;
    begin_measure(s);
    start = world_mono_ns(world);
    execute(s, command);
    end_measure(s, what, start);
}

static void
measure_look(struct stall *s, const char *what, void (*look)(struct stall *s))
{
    uint64_t start;
    begin_measure(s);
    start = world_mono_ns(world);
    look(s);
    end_measure(s, what, start);
}

static void wait_for_freeing(struct stall *s)
{
    (void)s;
    world_sleep_us(world, FREEING_US);
}

static void measure_trees(struct stall *s)
{
    struct slice all = SLICE_LIT("all");
    struct slice copy = SLICE_LIT("copy");
    measure(
        s, "snapshot",
        (struct gfs_command){.op = GFS_OP_SNAPSHOT, .path = all, .to = copy});
    measure_look(s, "fsck", check_all);
    measure_look(s, "list", list_all);
    measure(s, "set replication",
            (struct gfs_command){
                .op = GFS_OP_SET_REPLICATION, .path = copy, .replication = 2});
    measure(s, "rename",
            (struct gfs_command){
                .op = GFS_OP_RENAME, .path = copy, .to = SLICE_LIT("moved")});
    measure(s, "remove",
            (struct gfs_command){.op = GFS_OP_REMOVE,
                                 .path = SLICE_LIT("moved"),
                                 .flags = GFS_TREE});
    measure_look(s, "freeing", wait_for_freeing);
    measure(s, "remove of the root",
            (struct gfs_command){.op = GFS_OP_REMOVE, .flags = GFS_TREE});
}

/* --- the whole ----------------------------------------------------------- */

static void open_stall_session(struct stall *s)
{
    struct gfs_command k = {.op = GFS_OP_SESSION_OPEN,
                            .text = SLICE_LIT("bench")};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    gfs_command_put(&k, &body);
    while (try_call(s, GFS_EXECUTE, &body, &reply, NULL))
        world_sleep_us(world, 10000);
    CHECK(gfs_result_get(buf_slice(&reply), &r, err));
    s->session = r.session;
    buf_close(&body);
    buf_close(&reply);
}

static void print_making(const struct stall *s)
{
    char what[48];
    snprintf(what, sizeof(what), "%zu files made", s->count);
    print_longest(s, what);
    printf("namenode: longest wait of a create, images saved beside\t%.4g"
           "\t\t\tms\n",
           (double)s->longest_wait_ns / 1e6);
}

static void run_stall(void *arg)
{
    struct stall s = {.count = *(size_t *)arg, .waiter = fiber_self()};
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
    CHECK(namenode_open(world, rpc, &o, &nn, err));
    s.server = rpc;
    open_stall_session(&s);
    probe = fiber_start(loop_self(), "probe", run_probe, &s);
    make_all(&s);
    print_making(&s);
    measure_trees(&s);
    s.done = true;
    fiber_join(probe);
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
