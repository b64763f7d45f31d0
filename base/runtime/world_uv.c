/* The real world: Linux's clocks, randomness and CPUs. Its files, names,
 * locks, tasks and loops are in the other world_uv_*.c. Creating one starts
 * nothing: the embedded engine opens a world for every database. */
#define _GNU_SOURCE

#include "base/runtime/world_uv.h"

#include <errno.h>
#include <sched.h>
#include <sys/random.h>
#include <time.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/waiter.h"

/* An odd constant with well spread bits: 2^64 over the golden ratio. */
#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

static void real_free(struct world *w)
{
    offload_pool_free(real_world(w)->pool);
    mem_free(w);
}

static uint64_t real_now_us(struct world *w)
{
    struct timespec ts;
    (void)w;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t mono_ns(struct world *w)
{
    (void)w;
    return real_mono_ns();
}

static uint64_t real_random(struct world *w)
{
    return hash_mix(
        atomic_fetch_add(&real_world(w)->random_state, RANDOM_STEP));
}

static void real_random_bytes(struct world *w, void *dst, size_t len)
{
    (void)w;
    while (len) {
        ssize_t n = getrandom(dst, len, 0);
        if (n < 0 && errno != EINTR)
            PANIC("getrandom: %s", strerror(errno));
        if (n > 0) {
            dst = (char *)dst + n;
            len -= (size_t)n;
        }
    }
}

static unsigned real_cpu_count(struct world *w)
{
    cpu_set_t set;
    int count;
    (void)w;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 1;
    count = CPU_COUNT(&set);
    return count < 1 ? 1 : (unsigned)count;
}

static void thread_sleep(uint64_t us)
{
    struct timespec ts = {.tv_sec = (time_t)(us / 1000000),
                          .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
        ;
}

static void real_sleep_us(struct world *w, uint64_t us)
{
    (void)w;
    if (fiber_self())
        fiber_sleep_us(us);
    else
        thread_sleep(us);
}

static const struct world_ops real_ops = {
    .free = real_free,
    .now_us = real_now_us,
    .mono_ns = mono_ns,
    .random = real_random,
    .random_bytes = real_random_bytes,
    .cpu_count = real_cpu_count,
    .sleep_us = real_sleep_us,
    .memory = real_memory,
    .file_open = real_file_open,
    .file_read_at = real_file_read_at,
    .file_is_cached = real_file_is_cached,
    .file_cached_bytes = real_file_cached_bytes,
    .file_write_at = real_file_write_at,
    .file_sync = real_file_sync,
    .file_write_synced = real_file_write_synced,
    .file_size = real_file_size,
    .file_truncate = real_file_truncate,
    .file_allocate = real_file_allocate,
    .file_write_back = real_file_write_back,
    .file_advise = real_file_advise,
    .file_close = real_file_close,
    .rename = real_rename,
    .remove = real_remove,
    .mkdir = real_mkdir,
    .mkdir_private = real_mkdir_private,
    .mkdir_shared = real_mkdir_shared,
    .make_private = real_make_private,
    .rmdir = real_rmdir,
    .stat = real_stat,
    .sync_dir = real_sync_dir,
    .space = real_space,
    .list = real_list,
    .lock = real_lock,
    .unlock = real_unlock,
    .lock_dir = real_lock_dir,
    .unlock_dir = real_unlock_dir,
    .task_start = real_task_start,
    .task_join = real_task_join,
    .loop_new = real_loop_new,
    .listen = real_listen,
    .connect = real_connect,
};

struct world *world_real_new(void)
{
    struct real_world *w = mem_zalloc(1, sizeof(*w));
    uint64_t seed = 0;
    w->base.ops = &real_ops;
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        seed = real_mono_ns();
    atomic_init(&w->random_state, seed);
    atomic_init(&w->slow_until_ns, 0);
    w->pool = offload_pool_new(&w->base);
    return &w->base;
}
