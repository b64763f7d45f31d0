/* The cluster's file system beside plain files.
 *
 *     bench_files DIR append|log|read|remote|names|stall [COUNT]
 *
 * A namenode and three chunk servers run in processes of their own, the client
 * in this one. Prints "figure ours peer unit"; see files.sh.
 */
#define _GNU_SOURCE

#include "tests/bench/files.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"

#define RECORD_BYTES ((size_t)64 << 10)
#define CHUNKS       3
#define ADDRESS_MAX  64
/* Repetitions of ours and the peer's turn, whose medians are kept. */
#define TURNS        5
#define LOCAL_READS  40000
#define REMOTE_READS 16000

const char *dir;
static pid_t children[CHUNKS + 1];
static unsigned child_count;

/* --- servers ------------------------------------------------------------- */

struct server {
    struct world *world;
    const char *namenodes; /* NULL: this is the namenode. */
    unsigned index;
    int out; /* Where the address goes. */
};

static void tell_address(const struct server *s, const char *address)
{
    char text[ADDRESS_MAX] = {0};
    snprintf(text, sizeof(text), "%s", address);
    if (write(s->out, text, sizeof(text)) != (ssize_t)sizeof(text))
        PANIC("pipe");
}

static void serve_namenode(struct server *s)
{
    char path[256];
    struct rpc_server *rpc = rpc_server_new(s->world);
    struct replica_member self = {1, "127.0.0.1:0", true};
    struct replica_options replica = {.name = "bench",
                                      .directory = path,
                                      .id = 1,
                                      .members = &self,
                                      .member_count = 1};
    struct namenode_options o = {.replica = &replica};
    struct rpc_listener *listener;
    struct namenode *nn;
    snprintf(path, sizeof(path), "%s/namenode", dir);
    CHECK(namenode_open(s->world, rpc, &o, &nn, err));
    CHECK(rpc_listen(rpc, "127.0.0.1:0", NULL, &listener, err));
    tell_address(s, rpc_listener_address(listener));
}

static void serve_chunks(struct server *s)
{
    char path[256];
    char socket[256];
    char machine[16];
    struct rpc_server *rpc = rpc_server_new(s->world);
    struct chunkserver_options o = {.dir = path,
                                    .namenodes = s->namenodes,
                                    .machine = machine,
                                    .socket = socket,
                                    .scrub_bytes_per_s = 1,
                                    .heartbeat_us = 200000};
    struct rpc_listener *listener;
    struct chunkserver *cs;
    snprintf(path, sizeof(path), "%s/chunk%u", dir, s->index);
    snprintf(socket, sizeof(socket), "%s/chunk%u.sock", dir, s->index);
    snprintf(machine, sizeof(machine), "m%u", s->index);
    CHECK(chunkserver_open(s->world, rpc, &o, &cs, err));
    CHECK(rpc_listen(rpc, "127.0.0.1:0", NULL, &listener, err));
    CHECK(chunkserver_start(cs, rpc_listener_address(listener), err));
    tell_address(s, rpc_listener_address(listener));
}

static void run_server(void *arg)
{
    struct server *s = arg;
    if (s->namenodes)
        serve_chunks(s);
    else
        serve_namenode(s);
    for (;;)
        world_sleep_us(s->world, 1000000);
}

static void start_server(unsigned index, const char *namenodes, char *address)
{
    int ends[2];
    pid_t pid;
    if (pipe(ends))
        PANIC("pipe");
    pid = fork();
    if (pid == 0) {
        struct server s = {world_real_new(), namenodes, index, ends[1]};
        struct loop *loop;
        CHECK(loop_new(s.world, "server", &loop, err));
        loop_start(loop);
        loop_call(loop, "server", run_server, &s);
        _exit(1);
    }
    children[child_count++] = pid;
    if (read(ends[0], address, ADDRESS_MAX) != ADDRESS_MAX)
        PANIC("a server did not start");
    close(ends[0]);
    close(ends[1]);
}

static void stop_servers(void)
{
    for (unsigned i = 0; i < child_count; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
}

/* --- measuring ----------------------------------------------------------- */

struct world *world;

static double now(void)
{
    return (double)world_mono_ns(world) / 1e9;
}

/* Processor seconds of this process: what others do meanwhile does not count.
 */
double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* The same with that of the servers. */
static double cpu_of_all(void)
{
    double sum = cpu();
    for (unsigned i = 0; i < child_count; i++) {
        struct timespec t;
        clockid_t id;
        if (clock_getcpuclockid(children[i], &id) || clock_gettime(id, &t))
            PANIC("no clock of a server");
        sum += (double)t.tv_sec + (double)t.tv_nsec / 1e9;
    }
    return sum;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, TURNS, sizeof(v[0]), compare_doubles);
    return v[TURNS / 2];
}

static void
print_figure(const char *name, double *ours, double *peer, const char *unit)
{
    double a = median(ours);
    double b = median(peer);
    printf("%s\t%.4g\t%.4g\t%.3f\t%s\n", name, a, b, a / b, unit);
}

static struct fs *open_fs(const char *namenodes, bool short_circuit)
{
    struct gfs_options o = {.namenodes = namenodes,
                            .no_short_circuit = !short_circuit};
    struct fs *fs;
    CHECK(fs_gfs_open(world, &o, &fs, err));
    return fs;
}

static void fill_record(char *record, struct rand_gen *r)
{
    for (size_t i = 0; i < RECORD_BYTES; i += 8) {
        uint64_t v = rand_u64(r);
        memcpy(record + i, &v, 8);
    }
}

/* --- append -------------------------------------------------------------- */

static double append_ours(struct fs *fs, size_t count, const char *record)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    double start;
    double took;
    CHECK(fs_create(fs, "append", &o, &w, err));
    CHECK(fs_writer_append(w, record, RECORD_BYTES, err));
    CHECK(fs_writer_flush(w, err));
    start = now();
    for (size_t i = 0; i < count; i++) {
        CHECK(fs_writer_append(w, record, RECORD_BYTES, err));
        CHECK(fs_writer_flush(w, err));
    }
    took = now() - start;
    fs_writer_close(w);
    CHECK(fs_remove(fs, "append", err));
    return (double)(count * RECORD_BYTES) / took / 1e6;
}

static double append_plain(size_t count, const char *record)
{
    int fds[CHUNKS];
    char path[256];
    double start;
    double took;
    for (unsigned i = 0; i < CHUNKS; i++) {
        snprintf(path, sizeof(path), "%s/plain%u", dir, i);
        fds[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    }
    start = now();
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < CHUNKS; k++)
            if (write(fds[k], record, RECORD_BYTES) != (ssize_t)RECORD_BYTES)
                PANIC("write");
    took = now() - start;
    for (unsigned i = 0; i < CHUNKS; i++) {
        close(fds[i]);
        snprintf(path, sizeof(path), "%s/plain%u", dir, i);
        unlink(path);
    }
    return (double)(count * RECORD_BYTES) / took / 1e6;
}

/* Wait until the disk and the servers have finished the work of the turn
 * before, so that no turn pays for another. */
static void settle(void)
{
    world_sleep_us(world, 1000000); /* Removed chunks are deleted. */
    sync();
}

/* A client's file system, and what is done with it on a loop. */
struct task {
    const char *namenodes;
    size_t count;
};

/* On a fiber, as the writers of a tablet server are. */
static void bench_append(void *arg)
{
    const struct task *t = arg;
    size_t count = t->count;
    struct fs *fs = open_fs(t->namenodes, true);
    char *record = mem_alloc(RECORD_BYTES);
    double ours[TURNS];
    double peer[TURNS];
    struct rand_gen r;
    rand_init(&r, 1);
    fill_record(record, &r);
    for (unsigned i = 0; i < TURNS; i++) {
        settle();
        ours[i] = append_ours(fs, count, record);
        settle();
        peer[i] = append_plain(count, record);
    }
    print_figure("append 64 KiB + flush, 3 copies, beside 3 plain files", ours,
                 peer, "MB/s");
    mem_free(record);
    fs_close(fs);
}

/* --- log ----------------------------------------------------------------- */

#define LOG_RECORD_BYTES 1024

/* Microseconds for each record. */
static double log_ours(struct fs *fs, size_t count, const char *record)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    double start;
    double took;
    CHECK(fs_create(fs, "log", &o, &w, err));
    CHECK(fs_writer_append_sync(w, record, 1, err));
    start = now();
    for (size_t i = 0; i < count; i++)
        CHECK(fs_writer_append_sync(w, record, LOG_RECORD_BYTES, err));
    took = now() - start;
    fs_writer_close(w);
    CHECK(fs_remove(fs, "log", err));
    return took / (double)count * 1e6;
}

static double log_plain(size_t count, const char *record)
{
    char path[256];
    double start;
    double took;
    int fd;
    snprintf(path, sizeof(path), "%s/plain-log", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    start = now();
    for (size_t i = 0; i < count; i++)
        if (write(fd, record, LOG_RECORD_BYTES) != LOG_RECORD_BYTES ||
            fdatasync(fd))
            PANIC("write");
    took = now() - start;
    close(fd);
    unlink(path);
    return took / (double)count * 1e6;
}

static void bench_log(const char *namenodes, size_t count)
{
    struct fs *fs = open_fs(namenodes, true);
    char *record = mem_alloc(RECORD_BYTES);
    double ours[TURNS];
    double peer[TURNS];
    struct rand_gen r;
    double a;
    double b;
    rand_init(&r, 1);
    fill_record(record, &r);
    for (unsigned i = 0; i < TURNS; i++) {
        ours[i] = log_ours(fs, count, record);
        peer[i] = log_plain(count, record);
    }
    a = median(ours);
    b = median(peer);
    printf("append 1 KiB + sync, 3 copies, beside one plain file\t%.4g\t%.4g\t"
           "%.3f\tµs\n",
           a, b, b / a);
    mem_free(record);
    fs_close(fs);
}

/* --- read ---------------------------------------------------------------- */

static void write_data(struct fs *fs, size_t count)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    char *record = mem_alloc(RECORD_BYTES);
    struct fs_writer *w;
    struct rand_gen r;
    char path[256];
    int fd;
    rand_init(&r, 1);
    snprintf(path, sizeof(path), "%s/plain", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fs_create(fs, "data", &o, &w, err));
    for (size_t i = 0; i < count; i++) {
        fill_record(record, &r);
        CHECK(fs_writer_append(w, record, RECORD_BYTES, err));
        if (write(fd, record, RECORD_BYTES) != (ssize_t)RECORD_BYTES)
            PANIC("write");
    }
    CHECK(fs_writer_sync(w, err));
    fs_writer_close(w);
    close(fd);
    mem_free(record);
}

/* @clock: cpu() where this process does all there is to do. */
static double read_ours(struct fs_reader *r,
                        size_t count,
                        size_t reads,
                        uint64_t seed,
                        double (*clock)(void))
{
    char *record = mem_alloc(RECORD_BYTES);
    struct rand_gen g;
    double start;
    rand_init(&g, seed);
    start = clock();
    for (size_t i = 0; i < reads; i++) {
        size_t got;
        CHECK(fs_read_at(r, rand_below(&g, count) * RECORD_BYTES, record,
                         RECORD_BYTES, &got, err));
        if (got != RECORD_BYTES)
            PANIC("short read");
    }
    mem_free(record);
    return (double)reads / (clock() - start);
}

static double read_plain(int fd,
                         size_t count,
                         size_t reads,
                         uint64_t seed,
                         double (*clock)(void))
{
    char *record = mem_alloc(RECORD_BYTES);
    struct rand_gen g;
    double start;
    rand_init(&g, seed);
    start = clock();
    for (size_t i = 0; i < reads; i++)
        if (pread(fd, record, RECORD_BYTES,
                  (off_t)(rand_below(&g, count) * RECORD_BYTES)) !=
            (ssize_t)RECORD_BYTES)
            PANIC("pread");
    mem_free(record);
    return (double)reads / (clock() - start);
}

/* Readers of one loop, as those of a tablet server are. */
struct remote_readers {
    struct fs_reader *reader;
    size_t count;
    size_t reads; /* Of each. */
    uint64_t seed;
    unsigned in_flight;
    unsigned running;
    struct fiber *waiter;
    double (*clock)(void);
    double rate; /* Of all. */
};

static void run_remote_reader(void *arg)
{
    struct remote_readers *r = arg;
    read_ours(r->reader, r->count, r->reads, r->seed++, now);
    r->running--;
    fiber_wake(r->waiter);
}

static void run_remote_readers(void *arg)
{
    struct remote_readers *r = arg;
    double start = r->clock();
    r->waiter = fiber_self();
    r->running = r->in_flight;
    for (unsigned i = 0; i < r->in_flight; i++)
        fiber_detach(fiber_start(loop_self(), "reader", run_remote_reader, r));
    while (r->running)
        fiber_park();
    r->rate = (double)(r->reads * r->in_flight) / (r->clock() - start);
}

static void open_data(struct fs *fs, struct fs_reader **reader, int *fd)
{
    char path[256];
    world_sleep_us(world, 2000000); /* The servers learn that it is sealed. */
    snprintf(path, sizeof(path), "%s/plain", dir);
    *fd = open(path, O_RDONLY);
    CHECK(fs_open(fs, "data", reader, err));
}

static void check_way(struct fs *fs, bool local)
{
    struct gfs_client_stats stats;
    gfs_get_client_stats(fs, &stats);
    if (local != (stats.local_reads > stats.remote_reads))
        fprintf(stderr, "reads went the wrong way: %llu local, %llu remote\n",
                (unsigned long long)stats.local_reads,
                (unsigned long long)stats.remote_reads);
}

static void bench_local(const char *namenodes, size_t count)
{
    struct fs *fs = open_fs(namenodes, true);
    double ours[TURNS];
    double peer[TURNS];
    struct fs_reader *reader;
    int fd;
    write_data(fs, count);
    open_data(fs, &reader, &fd);
    read_ours(reader, count, count, 9, cpu);
    read_plain(fd, count, count, 9, cpu);
    for (unsigned i = 0; i < TURNS; i++) {
        ours[i] = read_ours(reader, count, LOCAL_READS, i, cpu);
        peer[i] = read_plain(fd, count, LOCAL_READS, i, cpu);
    }
    check_way(fs, true);
    print_figure("random 64 KiB reads, short circuit", ours, peer, "reads/s");
    fs_reader_close(reader);
    close(fd);
    fs_close(fs);
}

static void measure_remote(struct fs_reader *reader,
                           int fd,
                           size_t count,
                           unsigned in_flight,
                           double (*clock)(void))
{
    double ours[TURNS];
    double peer[TURNS];
    char name[100];
    for (unsigned i = 0; i < TURNS; i++) {
        struct remote_readers r = {.reader = reader,
                                   .count = count,
                                   .reads = REMOTE_READS / in_flight,
                                   .seed = i * in_flight,
                                   .in_flight = in_flight,
                                   .clock = clock};
        run_remote_readers(&r);
        ours[i] = r.rate;
        peer[i] =
            read_plain(fd, count, REMOTE_READS, i, clock == now ? now : cpu);
    }
    snprintf(name, sizeof(name), "random 64 KiB reads, remote, %u in flight",
             in_flight);
    print_figure(name, ours, peer,
                 clock == now ? "reads/s" : "reads/CPU-s of all processes");
}

/* On a fiber. */
static void bench_remote(void *arg)
{
    const struct task *b = arg;
    struct fs *fs = open_fs(b->namenodes, false);
    struct fs_reader *reader;
    int fd;
    write_data(fs, b->count);
    open_data(fs, &reader, &fd);
    read_ours(reader, b->count, b->count, 9, now);
    read_plain(fd, b->count, b->count, 9, now);
    measure_remote(reader, fd, b->count, 1, now);
    measure_remote(reader, fd, b->count, 16, now);
    measure_remote(reader, fd, b->count, 16, cpu_of_all);
    check_way(fs, false);
    fs_reader_close(reader);
    close(fd);
    fs_close(fs);
}

static void
on_a_loop(void (*bench)(void *), const char *namenodes, size_t count)
{
    struct task t = {namenodes, count};
    struct loop *loop;
    CHECK(loop_new(world, "client", &loop, err));
    loop_start(loop);
    loop_call(loop, "bench", bench, &t);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
}

int main(int argc, char **argv)
{
    size_t count = argc > 3 ? strtoul(argv[3], NULL, 10) : 2000;
    char namenode[ADDRESS_MAX];
    char address[ADDRESS_MAX];
    if (argc < 3) {
        fprintf(stderr,
                "usage: %s DIR append|log|read|remote|names|stall [COUNT]\n",
                argv[0]);
        return 2;
    }
    dir = argv[1];
    if (getenv("BUSY_POLL_US"))
        busy_poll_set_us(strtoul(getenv("BUSY_POLL_US"), NULL, 10));
    if (strcmp(argv[2], "names") == 0 || strcmp(argv[2], "stall") == 0) {
        world = world_real_new();
        if (strcmp(argv[2], "names") == 0)
            bench_names(count);
        else
            bench_stall(count);
        world_free(world);
        return 0;
    }
    start_server(0, NULL, namenode);
    for (unsigned i = 0; i < CHUNKS; i++)
        start_server(i, namenode, address);
    world = world_real_new();
    world_sleep_us(world, 1500000);
    if (strcmp(argv[2], "append") == 0)
        on_a_loop(bench_append, namenode, count);
    else if (strcmp(argv[2], "log") == 0)
        bench_log(namenode, count);
    else if (strcmp(argv[2], "read") == 0)
        bench_local(namenode, count);
    else
        on_a_loop(bench_remote, namenode, count);
    stop_servers();
    world_free(world);
    return 0;
}
