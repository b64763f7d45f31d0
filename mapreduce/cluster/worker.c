/* A worker's life: its directory, its place in the cell, and its end. Every
 * start is a new incarnation with a new number: the job master never mistakes a
 * restarted worker, which has lost its spills, for the old one. */
#include "mapreduce/cluster/worker.h"

#include <stdio.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"

#define SLOT_BYTES     ((uint64_t)512 << 20)
#define EARLY_BYTES    ((uint64_t)8 << 30)
#define IDLE_US        ((uint64_t)3600 * 1000000)
#define MAINTENANCE_US ((uint64_t)1000000)
#define ASKING_US      ((uint64_t)2000)
#define PATH_BYTES     128
#define BOOT_FILE      "/proc/sys/kernel/random/boot_id"

/* --- opening ------------------------------------------------------------- */

/* An id of this machine until it reboots; empty where it has none. */
static void read_boot(struct worker *k)
{
    struct file *f = NULL;
    char text[64];
    size_t got = 0;
    struct slice s;
    if (file_open(k->world, BOOT_FILE, FILE_READ, &f, NULL))
        return;
    if (file_read_at(f, 0, text, sizeof(text), &got, NULL))
        got = 0;
    file_close(f);
    s = slice_trim(slice_make(text, got));
    buf_append_slice(&k->boot, s);
    if (k->options.no_short_circuit)
        buf_printf(&k->boot, "#%016llx", (unsigned long long)k->number);
}

/* A directory of this incarnation; those of earlier ones are removed. */
static int make_directory(struct worker *k, struct err *err)
{
    const struct job_files files = {.world = k->world};
    struct buf path = BUF_INIT;
    int rc = dirs_remove(&files, k->options.directory, err);
    buf_printf(&path, "%s/%016llx", k->options.directory,
               (unsigned long long)k->number);
    if (rc == 0)
        rc = dirs_make(&files, buf_cstr(&path), err);
    k->directory = buf_take(&path);
    return rc;
}

static void fill_defaults(struct worker *k)
{
    struct worker_options *o = &k->options;
    k->slots = o->slots > 0 ? o->slots : MAX_OF(world_cpu_count(k->world), 1u);
    k->memory_bytes =
        o->memory_bytes > 0 ? o->memory_bytes : (uint64_t)k->slots * SLOT_BYTES;
    if (o->idle_us == 0)
        o->idle_us = IDLE_US;
    k->room.bytes_max = o->early_bytes > 0 ? o->early_bytes : EARLY_BYTES;
}

int worker_open(struct world *w,
                struct rpc_server *server,
                const struct worker_options *opts,
                struct worker **out,
                struct err *err)
{
    struct worker *k = mem_zalloc(1, sizeof(*k));
    const struct rpc_channel_options channels = {.security = opts->security};
    int rc;
    k->world = w;
    k->options = *opts;
    k->loop = loop_self();
    do
        k->number = world_random(w);
    while (k->number == 0);
    k->next_serial = 1;
    LIST_INIT(&k->jobs);
    TAILQ_INIT(&k->told);
    mutex_init(&k->lock);
    cond_init(&k->news);
    cond_init(&k->read);
    cond_init(&k->turn);
    cond_init(&k->spare_wake);
    fill_defaults(k);
    read_boot(k);
    k->peers = channel_set_new(&channels);
    rc = make_directory(k, err);
    if (rc) {
        err_wrap(err, "worker's directory %s", opts->directory);
        worker_close(k);
        k = NULL;
    } else {
        worker_add_calls(k, server);
    }
    *out = k;
    return rc;
}

/* --- its place in the cell ----------------------------------------------- */

static void worker_lose(struct worker *k, const char *why)
{
    if (k->lost)
        return;
    k->lost = true;
    err_set(&k->why, ERR_CLOSED, "%s", why);
}

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct worker *k = ctx;
    if (event == CHUBBY_EVENT_EXPIRED)
        worker_lose(k, "the session with the lock service is lost");
    else if (event == CHUBBY_EVENT_INVALID && h && h == k->file)
        worker_lose(k, "the worker's file in the lock service is gone");
}

static int make_parent(struct worker *k, const char *path, struct err *err)
{
    struct chubby_handle *h;
    int rc = chubby_open(k->chubby, path,
                         CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                         &h, err);
    if (rc == 0)
        chubby_close(h);
    return rc;
}

static struct slice host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon ? slice_make(address, (size_t)(colon - address))
                 : slice_str(address);
}

static void put_record(const struct worker *k, struct buf *out)
{
    const struct worker_options *o = &k->options;
    const struct worker_record r = {
        .number = k->number,
        .address = slice_str(k->address),
        .name = slice_str(o->name ? o->name : k->address),
        .machine = o->machine ? slice_str(o->machine) : host_of(k->address),
        .boot = buf_slice(&k->boot),
        .rack = slice_str(o->rack ? o->rack : ""),
        .directory = slice_str(k->directory),
        .slots = k->slots,
        .memory_bytes = k->memory_bytes,
        .cores = MAX_OF(world_cpu_count(k->world), 1u),
        .pulls = !o->no_early,
    };
    worker_record_put(&r, out);
}

static int register_worker(struct worker *k, struct err *err)
{
    struct chubby_open_options o = {.events = 0};
    struct buf bytes = BUF_INIT;
    char path[PATH_BYTES];
    int rc;
    snprintf(path, sizeof(path), MAPREDUCE_LOCK_WORKERS "/%016llx",
             (unsigned long long)k->number);
    put_record(k, &bytes);
    o.contents = buf_slice(&bytes);
    rc = chubby_open(k->chubby, path,
                     CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE | CHUBBY_NEW |
                         CHUBBY_EPHEMERAL,
                     &o, &k->file, err);
    buf_close(&bytes);
    return rc;
}

static int worker_join(struct worker *k, struct err *err)
{
    const struct chubby_options o = {.servers = k->options.cell,
                                     .server_count = k->options.cell_count,
                                     .security = k->options.security,
                                     .lease_ms = k->options.lease_ms,
                                     .memo = k->options.memo,
                                     .address = k->address,
                                     .on_event = on_event,
                                     .ctx = k};
    int rc = chubby_connect(k->world, &o, &k->chubby, err);
    if (rc == 0)
        rc = make_parent(k, MAPREDUCE_LOCK_ROOT, err);
    if (rc == 0)
        rc = make_parent(k, MAPREDUCE_LOCK_WORKERS, err);
    return rc ? rc : register_worker(k, err);
}

static void run_joiner(void *arg)
{
    struct worker *k = arg;
    struct err err = ERR_INIT;
    int rc = worker_join(k, &err);
    if (rc == 0) {
        k->joined = true;
        log_info(k->world, "worker", "joined as %016llx with %u slots",
                 (unsigned long long)k->number, k->slots);
    } else if (rc != ERR_CANCELLED) {
        err_wrap(&err, "join the cluster");
        worker_lose(k, err.text);
    }
}

/* Jobs that no master has asked about for long are over. */
static void run_maintenance(void *arg)
{
    struct worker *k = arg;
    while (fiber_check(NULL) == 0) {
        uint64_t now = world_mono_ns(k->world);
        struct worker_job *j;
        mutex_lock(&k->lock);
        LIST_FOREACH(j, &k->jobs, link)
            if (now - j->asked_ns > k->options.idle_us * 1000)
                worker_job_end(j);
        mutex_unlock(&k->lock);
        (void)fiber_park_until(world_mono_ns(k->world) + MAINTENANCE_US * 1000);
    }
}

void worker_start(struct worker *k, const char *address)
{
    PRE(loop_self() == k->loop);
    k->address = mem_strdup(address);
    k->joiner = fiber_start(k->loop, "worker-join", run_joiner, k);
    k->maintenance =
        fiber_start(k->loop, "worker-maintenance", run_maintenance, k);
    worker_spare_start(k);
}

int worker_health(const struct worker *k, struct err *err)
{
    return k->lost ? err_copy(err, &k->why) : 0;
}

/* --- the end ------------------------------------------------------------- */

static void end_fiber(struct fiber **f)
{
    if (!*f)
        return;
    fiber_cancel(*f);
    fiber_wake(*f);
    fiber_join(*f);
    *f = NULL;
}

void worker_stop(struct worker *k)
{
    struct worker_job *j;
    end_fiber(&k->joiner);
    end_fiber(&k->maintenance);
    mutex_lock(&k->lock);
    k->stopping = true;
    if (k->fs)
        fs_hurry(k->fs);
    LIST_FOREACH(j, &k->jobs, link)
        if (j->fs)
            fs_hurry(j->fs);
    LIST_FOREACH(j, &k->jobs, link)
        worker_job_end(j);
    cond_broadcast(&k->news);
    worker_jobs_wait(k);
    mutex_unlock(&k->lock);
    worker_spare_stop(k);
    k->joined = false;
    while (k->asking > 0)
        world_sleep_us(k->world, ASKING_US);
    chubby_close(k->file);
    k->file = NULL;
    chubby_disconnect(k->chubby);
    k->chubby = NULL;
}

static void drop_told(struct worker *k)
{
    struct worker_told *t;
    while ((t = TAILQ_FIRST(&k->told)) != NULL) {
        TAILQ_REMOVE(&k->told, t, link);
        buf_close(&t->event);
        mem_free(t);
    }
}

void worker_close(struct worker *k)
{
    const struct job_files files = {.world = k ? k->world : NULL};
    if (!k)
        return;
    worker_stop(k);
    if (k->directory) {
        /* The next incarnation removes it. */
        IGNORE_RESULT(dirs_remove(&files, k->directory, NULL));
    }
    drop_told(k);
    channel_set_close(k->peers);
    fs_close(k->fs);
    cond_close(&k->read);
    cond_close(&k->turn);
    cond_close(&k->spare_wake);
    cond_close(&k->news);
    mutex_close(&k->lock);
    buf_close(&k->boot);
    buf_close(&k->trusted);
    mem_free(k->directory);
    mem_free(k->address);
    mem_free(k);
}

void worker_get_stats(const struct worker *k, struct worker_stats *out)
{
    struct worker *w = (struct worker *)(uintptr_t)k;
    mutex_lock(&w->lock);
    *out = (struct worker_stats){
        .number = k->joined ? k->number : 0,
        .slots = k->slots,
        .busy = k->running,
        .jobs = k->job_count,
        .started = k->started,
        .fetched_bytes = atomic_load(&k->fetched_bytes),
        .early_bytes = atomic_load(&k->early_bytes),
        .served_bytes = atomic_load(&k->served_bytes),
    };
    mutex_unlock(&w->lock);
}
