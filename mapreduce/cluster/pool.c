/* The pool: which workers are in the lock service's list, which are silent,
 * which are gone.
 *
 * A worker is gone when its lock is free, or when its process refuses
 * connections for a while; silence alone never ends an attempt, since the
 * worker may come back with its results.
 */
#include "mapreduce/cluster/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "mapreduce/cluster/pool_state.h"
#include "mapreduce/master/task_table.h"

/* Between checks of the list and of clocks. */
#define LOOK_US UINT64_C(100000)
/* For the ends of attempts that are stopped with the job master. */
#define END_US    UINT64_C(1000000)
#define SILENT_US UINT64_C(1500000)
/* A few tries. A live process does not refuse connections; one that is declared
 * gone by mistake comes back under a new number. */
#define REFUSED_US UINT64_C(400000)
#define ORDER_US   UINT64_C(10000000)

/* --- names --------------------------------------------------------------- */

static uint32_t
number_of(char ***names, uint32_t *count, struct slice name, bool add)
{
    for (uint32_t i = 0; i < *count; i++)
        if (slice_eq(slice_str((*names)[i]), name))
            return i;
    if (!add)
        return TASK_NONE;
    *names = mem_realloc(*names, ((size_t)*count + 1) * sizeof(char *));
    (*names)[*count] = mem_strndup(name.data, name.len);
    return (*count)++;
}

uint32_t pool_machine(struct worker_pool *p, struct slice name, bool add)
{
    return number_of(&p->machines, &p->machine_count, name, add);
}

struct pool_peer *pool_peer_at(struct worker_pool *p, uint32_t index)
{
    struct pool_peer *e = index < p->peer_count ? p->peers[index] : NULL;
    return e && e->state == PEER_UP ? e : NULL;
}

void pool_job_unref(struct pool_job *j)
{
    PRE(j->refs > 0);
    if (--j->refs > 0)
        return;
    job_traits_close(&j->traits);
    buf_close(&j->package);
    mem_free(j->id);
    mem_free(j);
}

/* --- the list ------------------------------------------------------------ */

/* Can @e be in the list? */
static bool is_there(const struct pool_peer *e)
{
    return e && (e->state != PEER_GONE || e->dead);
}

static struct pool_peer *find_number(struct worker_pool *p, uint64_t number)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (is_there(p->peers[i]) && p->peers[i]->record.number == number)
            return p->peers[i];
    return NULL;
}

/* A free place; not one whose loss a host has not entered yet: its scheduler
 * would take the new worker for the old one. */
static uint32_t free_place(struct worker_pool *p)
{
    uint32_t i = 0;
    while (i < p->peer_count && p->peers[i])
        i++;
    if (i == p->peer_count) {
        p->peers = mem_realloc(p->peers, ((size_t)p->peer_count + 1) *
                                             sizeof(struct pool_peer *));
        p->peers[p->peer_count++] = NULL;
    }
    return i;
}

/* Unless it is known to share another's, a worker has a disk of its own. */
static uint32_t disk_of(struct worker_pool *p, const struct worker_record *r)
{
    char number[32];
    struct slice name = r->boot;
    if (name.len == 0) {
        snprintf(number, sizeof(number), "%016llx",
                 (unsigned long long)r->number);
        name = slice_str(number);
    }
    return number_of(&p->disks, &p->disk_count, name, true);
}

static void add_peer(struct worker_pool *p, struct slice file)
{
    struct worker_record r;
    struct pool_peer *e;
    uint32_t at;
    if (worker_record_get(file, &r, NULL))
        return;
    e = find_number(p, r.number);
    if (e) {
        e->listed = true;
        return;
    }
    at = free_place(p);
    e = pool_peer_new(p, at, file);
    p->peers[at] = e;
    e->listed = true;
    e->rack = number_of(&p->racks, &p->rack_count, e->record.rack, true);
    e->disk = disk_of(p, &e->record);
}

/* The files of @names. Without the lock. Parks, unless the cache has them. */
static int read_files(struct worker_pool *p,
                      char *const *names,
                      size_t count,
                      struct buf *files,
                      struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct chubby_handle *h = NULL;
        struct buf path = BUF_INIT;
        buf_printf(&path, MAPREDUCE_LOCK_WORKERS "/%s", names[i]);
        rc = chubby_open(p->options.chubby, buf_cstr(&path), CHUBBY_READ, NULL,
                         &h, err);
        if (rc == 0)
            rc = chubby_read(h, &files[i], NULL, err);
        chubby_close(h);
        buf_close(&path);
        if (rc == ERR_NOTFOUND)
            rc = 0;
    }
    return rc;
}

static void
pool_compare_files(struct worker_pool *p, struct buf *files, size_t count)
{
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (p->peers[i])
            p->peers[i]->listed = false;
    for (size_t i = 0; i < count; i++)
        if (files[i].len > 0)
            add_peer(p, buf_slice(&files[i]));
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (is_there(p->peers[i]) && !p->peers[i]->listed) {
            pool_peer_bury(p->peers[i], "its session is over");
            p->peers[i]->dead = false;
        }
}

/* Does the list show what is known? A worker's file never changes. */
static bool is_known(struct worker_pool *p, char *const *names, size_t count)
{
    size_t alive = 0;
    bool same = true;
    mutex_lock(&p->lock);
    for (uint32_t i = 0; i < p->peer_count; i++)
        alive += is_there(p->peers[i]);
    for (size_t i = 0; i < count && same; i++)
        same = find_number(p, strtoull(names[i], NULL, 16)) != NULL;
    mutex_unlock(&p->lock);
    return same && alive == count;
}

static int
read_list(struct worker_pool *p, struct chubby_handle *dir, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    struct buf *files;
    int rc = chubby_list(dir, &names, &count, err);
    if (rc)
        return rc;
    if (!is_known(p, names, count)) {
        files = mem_zalloc(count + 1, sizeof(*files));
        rc = read_files(p, names, count, files, err);
        mutex_lock(&p->lock);
        if (rc == 0)
            pool_compare_files(p, files, count);
        mutex_unlock(&p->lock);
        for (size_t i = 0; i < count; i++)
            buf_close(&files[i]);
        mem_free(files);
    }
    chubby_names_free(names, count);
    return rc;
}

/* --- clocks -------------------------------------------------------------- */

/* A worker with attempts reports every 100 ms; one that has nothing to report
 * keeps the call for a while. */
static bool is_unheard(const struct pool_peer *e, uint64_t now_ns)
{
    uint64_t silent_ns = e->pool->options.silent_us * 1000;
    return now_ns - e->heard_ns > silent_ns ||
           (e->busy > 0 &&
            now_ns - MAX_OF(e->heard_ns, e->given_ns) > silent_ns / 3);
}

static void look_at_clocks(struct worker_pool *p)
{
    uint64_t now = world_mono_ns(p->world);
    for (uint32_t i = 0; i < p->peer_count; i++) {
        struct pool_peer *e = p->peers[i];
        if (!e || e->state != PEER_UP)
            continue;
        if (e->refused_ns > 0 &&
            now - e->refused_ns > p->options.refused_us * 1000)
            pool_peer_bury(e, "it refuses connections");
        else if (!e->silent && is_unheard(e, now))
            pool_peer_set_silent(e);
    }
}

/* Has a host not yet entered the loss of place @index? */
static bool is_mourned(struct worker_pool *p, uint32_t index)
{
    struct cell_host *h;
    for (h = cell_host_first(p); h; h = cell_host_next(h))
        if (cell_host_mourns(h, index))
            return true;
    return false;
}

static void free_gone(struct worker_pool *p)
{
    for (uint32_t i = 0; i < p->peer_count; i++) {
        struct pool_peer *e = p->peers[i];
        if (!e || e->state != PEER_GONE)
            continue;
        pool_peer_hang_up(e);
        if (e->fibers > 0 || e->dead || is_mourned(p, i))
            continue;
        p->peers[i] = NULL;
        mutex_unlock(&p->lock);
        pool_peer_free(e);
        mutex_lock(&p->lock);
    }
}

static void run_watcher(void *arg)
{
    struct worker_pool *p = arg;
    struct chubby_handle *dir = NULL;
    while (fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        int rc = 0;
        if (!dir)
            rc = chubby_open(p->options.chubby, MAPREDUCE_LOCK_WORKERS,
                             CHUBBY_READ | CHUBBY_DIRECTORY | CHUBBY_CREATE,
                             NULL, &dir, &err);
        if (rc == 0)
            rc = read_list(p, dir, &err);
        if (rc && rc != ERR_CANCELLED)
            log_info(p->world, "job-master", "list of workers: %s", err.text);
        (void)fiber_park_until(world_mono_ns(p->world) + LOOK_US * 1000);
    }
    chubby_close(dir);
}

/* A fiber of its own: the watcher may wait long for the lock service. */
static void run_clock(void *arg)
{
    struct worker_pool *p = arg;
    while (fiber_check(NULL) == 0) {
        mutex_lock(&p->lock);
        look_at_clocks(p);
        free_gone(p);
        mutex_unlock(&p->lock);
        (void)fiber_park_until(world_mono_ns(p->world) + LOOK_US * 1000);
    }
}

/* --- opening and closing ------------------------------------------------- */

static int make_directories(struct worker_pool *p, struct err *err)
{
    static const char *const paths[] = {MAPREDUCE_LOCK_ROOT,
                                        MAPREDUCE_LOCK_WORKERS};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(paths) && rc == 0; i++) {
        struct chubby_handle *h = NULL;
        rc = chubby_open(p->options.chubby, paths[i],
                         CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                         &h, err);
        chubby_close(h);
    }
    return rc;
}

int worker_pool_open(struct world *w,
                     const struct worker_pool_options *opts,
                     struct worker_pool **out,
                     struct err *err)
{
    struct worker_pool *p = mem_zalloc(1, sizeof(*p));
    struct worker_pool_options *o = &p->options;
    int rc;
    p->world = w;
    *o = *opts;
    o->silent_us = o->silent_us ? o->silent_us : SILENT_US;
    o->refused_us = o->refused_us ? o->refused_us : REFUSED_US;
    o->order_us = o->order_us ? o->order_us : ORDER_US;
    p->loop = loop_self();
    p->sequencer = mem_strdup(opts->sequencer);
    do
        p->id = world_random(w);
    while (p->id == 0);
    p->next_ticket = p->id << 20 >> 1;
    LIST_INIT(&p->hosts);
    mutex_init(&p->lock);
    cond_init(&p->changed);
    rc = make_directories(p, err);
    if (rc) {
        worker_pool_close(p);
        *out = NULL;
        return rc;
    }
    p->watcher = fiber_start(p->loop, "worker-pool", run_watcher, p);
    p->clock = fiber_start(p->loop, "worker-clock", run_clock, p);
    *out = p;
    return 0;
}

void worker_pool_end(struct worker_pool *p)
{
    mutex_lock(&p->lock);
    p->end_ns = world_mono_ns(p->world) + END_US * 1000;
    mutex_unlock(&p->lock);
}

bool pool_is_over(const struct worker_pool *p)
{
    return p->denied || (p->end_ns && world_mono_ns(p->world) >= p->end_ns);
}

static void close_peers(struct worker_pool *p)
{
    mutex_lock(&p->lock);
    p->stopping = true;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        struct pool_peer *e = p->peers[i];
        if (!e)
            continue;
        pool_peer_bury(e, "the job master ends");
        pool_peer_hang_up(e);
        while (e->fibers > 0)
            (void)cond_wait_us(&p->changed, &p->lock, p->world, LOOK_US);
        p->peers[i] = NULL;
        mutex_unlock(&p->lock);
        pool_peer_free(e);
        mutex_lock(&p->lock);
    }
    mutex_unlock(&p->lock);
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mem_free(names[i]);
    mem_free(names);
}

static void end_fiber(struct fiber *f)
{
    if (!f)
        return;
    fiber_cancel(f);
    fiber_wake(f);
    fiber_join(f);
}

void worker_pool_close(struct worker_pool *p)
{
    if (!p)
        return;
    PRE(LIST_EMPTY(&p->hosts));
    end_fiber(p->clock);
    end_fiber(p->watcher);
    close_peers(p);
    free_names(p->machines, p->machine_count);
    free_names(p->racks, p->rack_count);
    free_names(p->disks, p->disk_count);
    mem_free(p->peers);
    mem_free(p->sequencer);
    cond_close(&p->changed);
    mutex_close(&p->lock);
    mem_free(p);
}

/* --- for people ---------------------------------------------------------- */

static char *pool_copy_text(struct slice s)
{
    return mem_strndup(s.data, s.len);
}

void worker_pool_list(struct worker_pool *p,
                      struct pool_worker **out,
                      size_t *count)
{
    mutex_lock(&p->lock);
    *out = mem_zalloc((size_t)p->peer_count + 1, sizeof(**out));
    *count = 0;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct pool_peer *e = pool_peer_at(p, i);
        if (!e)
            continue;
        (*out)[(*count)++] = (struct pool_worker){
            .number = e->record.number,
            .name = mem_strdup(e->name),
            .address = pool_copy_text(e->record.address),
            .machine = pool_copy_text(e->record.machine),
            .rack = pool_copy_text(e->record.rack),
            .slots = e->record.slots,
            .busy = e->busy,
            .memory_bytes = e->record.memory_bytes,
            .used_bytes = e->used_bytes,
            .is_silent = e->silent,
        };
    }
    mutex_unlock(&p->lock);
}

void worker_pool_list_free(struct pool_worker *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(list[i].name);
        mem_free(list[i].address);
        mem_free(list[i].machine);
        mem_free(list[i].rack);
    }
    mem_free(list);
}

void worker_pool_size(struct worker_pool *p, struct pool_size *out)
{
    *out = (struct pool_size){.workers = 0};
    mutex_lock(&p->lock);
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct pool_peer *e = pool_peer_at(p, i);
        uint64_t each;
        if (!e || e->record.slots == 0)
            continue;
        each = e->record.memory_bytes / e->record.slots;
        out->workers++;
        out->slots += e->record.slots;
        out->busy += e->busy;
        out->memory_bytes += e->record.memory_bytes;
        if (out->slot_bytes == 0 || each < out->slot_bytes)
            out->slot_bytes = each;
    }
    mutex_unlock(&p->lock);
}

/* The cores of the machine of peer @at, unless an earlier peer is there as
 * well. */
static uint32_t machine_cores(struct worker_pool *p, uint32_t at)
{
    const struct worker_record *r = &p->peers[at]->record;
    uint32_t slots = 0;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct pool_peer *e = pool_peer_at(p, i);
        if (!e || !slice_eq(e->record.boot, r->boot))
            continue;
        if (i < at)
            return 0;
        slots += e->record.slots;
    }
    return MIN_OF(slots, r->cores);
}

uint32_t worker_pool_cores(struct worker_pool *p)
{
    uint32_t cores = 0;
    mutex_lock(&p->lock);
    for (uint32_t i = 0; i < p->peer_count; i++)
        if (pool_peer_at(p, i))
            cores += machine_cores(p, i);
    mutex_unlock(&p->lock);
    return cores;
}

bool worker_pool_wait(struct worker_pool *p, uint64_t timeout_us)
{
    uint64_t end = world_mono_ns(p->world) / 1000 + timeout_us;
    bool any = false;
    mutex_lock(&p->lock);
    for (;;) {
        uint64_t now = world_mono_ns(p->world) / 1000;
        for (uint32_t i = 0; i < p->peer_count && !any; i++)
            any = pool_peer_at(p, i) != NULL;
        if (any || now >= end)
            break;
        (void)cond_wait_us(&p->changed, &p->lock, p->world, end - now);
    }
    mutex_unlock(&p->lock);
    return any;
}
