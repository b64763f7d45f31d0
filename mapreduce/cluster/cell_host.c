/* A job's attempts on the workers of a pool. Slots here are numbers of the
 * host; each points to the attempt of a peer while it runs. Orders are only
 * queued here: the peers' fibers send them, so that a slow worker never holds
 * up the job. */
#include "mapreduce/cluster/cell_host.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/pool_state.h"
#include "mapreduce/cluster/share.h"
#include "mapreduce/master/schedule.h"
#include "mapreduce/task/job_package.h"

#define LOOK_US UINT64_C(100000)

enum slot_state {
    SLOT_FREE,
    SLOT_RUNNING,
    SLOT_ENDED, /* Its event was not fetched yet. */
};

struct cell_slot {
    enum slot_state state;
    struct pool_attempt *attempt; /* While it runs; owned by its peer. */
    uint32_t peer;
    bool killed;
    struct task_status status;
};

struct cell_event {
    STAILQ_ENTRY(cell_event) link;
    struct attempt_event event;
};

struct cell_host {
    struct attempt_host base;
    LIST_ENTRY(cell_host) link;
    struct worker_pool *pool;
    struct pool_job *job;
    struct cell_job share;
    uint64_t attempt_bytes;
    struct cell_slot *slots;
    uint32_t busy;
    uint32_t demand; /* Slots it could use beyond those it has. */
    uint32_t quota;  /* At the last look. */
    bool keep;
    STAILQ_HEAD(, cell_event) events;
    struct cond wake;
};

static struct cell_host *cell_host_self(struct attempt_host *h)
{
    return (struct cell_host *)h;
}

/* --- what the pool tells ------------------------------------------------- */

struct pool_job *cell_host_job(struct cell_host *h)
{
    return h->job;
}

void cell_host_ring(struct cell_host *h)
{
    cond_broadcast(&h->wake);
}

struct cell_host *cell_host_first(struct worker_pool *p)
{
    return LIST_FIRST(&p->hosts);
}

struct cell_host *cell_host_next(struct cell_host *h)
{
    return LIST_NEXT(h, link);
}

static void cell_host_push(struct cell_host *h, struct attempt_event *e)
{
    struct cell_event *n = mem_zalloc(1, sizeof(*n));
    n->event = *e;
    STAILQ_INSERT_TAIL(&h->events, n, link);
    cell_host_ring(h);
}

static void copy_status(struct task_status *to, const struct task_status *from)
{
    STATUS_SET(to, stage, STATUS_GET(from, stage));
    STATUS_SET(to, reducing, STATUS_GET(from, reducing));
    STATUS_SET(to, records, STATUS_GET(from, records));
    STATUS_SET(to, bytes, STATUS_GET(from, bytes));
    STATUS_SET(to, values, STATUS_GET(from, values));
    STATUS_SET(to, total, STATUS_GET(from, total));
    STATUS_SET(to, number, STATUS_GET(from, number));
    STATUS_SET(to, offset, STATUS_GET(from, offset));
    if (STATUS_GET(from, note_bytes) > 0)
        status_note(to, slice_make(from->note, STATUS_GET(from, note_bytes)));
}

void cell_host_status(struct cell_host *h,
                      unsigned slot,
                      const struct task_status *s)
{
    PRE(slot < HOST_SLOTS_MAX);
    copy_status(&h->slots[slot].status, s);
}

void cell_host_end(struct cell_host *h,
                   unsigned slot,
                   struct attempt_event *e,
                   const struct task_status *s)
{
    struct cell_slot *at = &h->slots[slot];
    struct pool_peer *peer = h->pool->peers[at->peer];
    PRE(at->state == SLOT_RUNNING);
    copy_status(&at->status, s);
    at->state = SLOT_ENDED;
    at->attempt = NULL;
    INVARIANT(h->busy > 0);
    h->busy--;
    e->slot = slot;
    if (e->reported && e->report.spilled && peer) {
        mem_free(e->report.place);
        e->report.place = mem_strdup(peer->place);
    }
    cell_host_push(h, e);
}

void cell_host_lose(struct cell_host *h, unsigned slot, const char *why)
{
    struct attempt_event e = {.lost = true};
    snprintf(e.death, sizeof(e.death), "%s", why);
    task_report_init(&e.report);
    cell_host_end(h, slot, &e, &h->slots[slot].status);
}

void cell_host_peer_gone(struct cell_host *h, uint32_t index)
{
    struct attempt_event e = {.worker_gone = true, .worker = index};
    task_report_init(&e.report);
    cell_host_push(h, &e);
}

bool cell_host_mourns(const struct cell_host *h, uint32_t index)
{
    const struct cell_event *e;
    STAILQ_FOREACH(e, &h->events, link)
        if (e->event.worker_gone && e->event.worker == index)
            return true;
    return false;
}

/* Detach the attempt: nobody waits for its result any more. */
static void
cell_host_abandon(struct cell_host *h, unsigned slot, const char *why)
{
    PRE(h->slots[slot].state == SLOT_RUNNING); /* INV-2 */
    h->slots[slot].attempt->host = NULL;
    cell_host_lose(h, slot, why);
}

void cell_host_peer_silent(struct cell_host *h, const struct pool_peer *e)
{
    for (unsigned i = 0; i < HOST_SLOTS_MAX && h->busy > 0; i++)
        if (h->slots[i].state == SLOT_RUNNING && h->slots[i].killed &&
            h->slots[i].peer == e->index)
            cell_host_abandon(h, i, "stopped on a silent worker");
}

/* --- the scheduler's view ------------------------------------------------ */

/* Set the quota of each job from the demands of all. */
static void cell_host_share_slots(struct worker_pool *p)
{
    struct share_job jobs[256];
    struct cell_host *h;
    uint32_t slots = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct pool_peer *e = pool_peer_at(p, i);
        if (e && !e->silent)
            slots += e->record.slots;
    }
    LIST_FOREACH(h, &p->hosts, link) {
        uint64_t wants = (uint64_t)h->busy + h->demand;
        if (n == ARRAY_LEN(jobs))
            break;
        if (h->share.slots_max > 0)
            wants = MIN_OF(wants, (uint64_t)h->share.slots_max);
        jobs[n++] = (struct share_job){
            .priority = h->share.priority,
            .weight = MAX_OF(h->share.weight, 1u),
            .wants = (uint32_t)MIN_OF(wants, (uint64_t)HOST_SLOTS_MAX)};
    }
    /* The list has the newest first. */
    for (size_t i = 0; i < n / 2; i++) {
        struct share_job one = jobs[i];
        jobs[i] = jobs[n - 1 - i];
        jobs[n - 1 - i] = one;
    }
    share_slots(jobs, n, slots);
    LIST_FOREACH(h, &p->hosts, link)
        h->quota = n > 0 ? jobs[--n].quota : 0;
}

static void show_worker(struct cell_host *h,
                        struct sched *s,
                        uint32_t index,
                        bool may_start)
{
    struct pool_peer *e = pool_peer_at(h->pool, index);
    struct sched_worker w = {.up = false};
    uint64_t left;
    if (index < s->worker_count)
        w = s->workers[index];
    w.up = e != NULL && !cell_host_mourns(h, index);
    if (!w.up) {
        /* The number may be known from the phase before: its spills count until
         * its loss is reported. */
        sched_set_worker(s, index, &w);
        return;
    }
    w.silent = e->silent;
    w.host = e->host;
    w.rack = e->rack;
    w.disk = e->disk;
    w.all_slots = e->record.slots;
    w.pulls = e->record.pulls;
    w.slots = w.busy;
    if (may_start && !e->silent && e->busy < e->record.slots)
        w.slots += e->record.slots - e->busy;
    left =
        e->record.memory_bytes - MIN_OF(e->used_bytes, e->record.memory_bytes);
    w.memory_bytes = w.used_bytes + left;
    sched_set_worker(s, index, &w);
}

/* Is no slot free anywhere? */
static bool is_full(struct worker_pool *p)
{
    for (uint32_t i = 0; i < p->peer_count; i++) {
        const struct pool_peer *e = pool_peer_at(p, i);
        if (e && !e->silent && e->busy < e->record.slots)
            return false;
    }
    return true;
}

static void
cell_look(struct attempt_host *base, struct sched *s, uint32_t demand)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    uint32_t bound = h->share.slots_max;
    bool full;
    mutex_lock(&p->lock);
    h->demand = demand;
    cell_host_share_slots(p);
    full = is_full(p) && (bound == 0 || h->busy < bound);
    for (uint32_t i = 0; i < p->peer_count; i++)
        show_worker(h, s, i, h->busy < h->quota);
    for (uint32_t i = 0; i < s->job_count; i++) {
        uint32_t others = h->busy - MIN_OF(h->busy, s->jobs[i].busy);
        s->jobs[i].quota = MAX_OF(h->quota - MIN_OF(h->quota, others), 1u);
        /* Where all slots are taken, the job waits for a slot, and not for its
         * share. */
        if (full)
            s->jobs[i].quota = 0;
        s->jobs[i].attempt_bytes = h->attempt_bytes;
    }
    mutex_unlock(&p->lock);
}

/* --- starting and stopping ----------------------------------------------- */

static unsigned free_slot(const struct cell_host *h)
{
    unsigned i = 0;
    while (i < HOST_SLOTS_MAX && h->slots[i].state != SLOT_FREE)
        i++;
    return i;
}

static void cell_host_begin(struct cell_host *h,
                            struct pool_peer *e,
                            unsigned slot,
                            struct slice spec)
{
    struct pool_attempt *a = mem_zalloc(1, sizeof(*a));
    struct cell_slot *at = &h->slots[slot];
    a->ticket = h->pool->next_ticket++;
    a->host = h;
    a->slot = slot;
    a->bytes = h->attempt_bytes;
    LIST_INSERT_HEAD(&e->attempts, a, link);
    if (e->busy == 0)
        e->given_ns = world_mono_ns(h->pool->world);
    e->busy++;
    e->used_bytes += a->bytes;
    *at = (struct cell_slot){
        .state = SLOT_RUNNING, .attempt = a, .peer = e->index};
    h->busy++;
    pool_peer_order(e, h->job, WORKER_START, a->ticket, spec);
}

static int cell_start(struct attempt_host *base,
                      uint32_t worker,
                      const struct task_spec *spec,
                      unsigned *slot,
                      struct err *err)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    struct pool_peer *e;
    struct buf body = BUF_INIT;
    int rc = 0;
    task_spec_encode(spec, &body);
    mutex_lock(&p->lock);
    e = pool_peer_at(p, worker);
    *slot = free_slot(h);
    if (p->denied)
        rc = err_set(err, ERR_CLOSED, "another job master has taken over");
    else if (!e || e->silent || e->busy >= e->record.slots ||
             *slot == HOST_SLOTS_MAX || cell_host_mourns(h, worker))
        rc = err_set(err, ERR_BUSY, "no slot is free there any more");
    else
        cell_host_begin(h, e, *slot, buf_slice(&body));
    mutex_unlock(&p->lock);
    buf_close(&body);
    return rc;
}

static void cell_kill(struct attempt_host *base, unsigned slot)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    struct cell_slot *at = &h->slots[slot];
    mutex_lock(&p->lock);
    if (at->state == SLOT_RUNNING && !at->killed) {
        struct pool_peer *e = p->peers[at->peer];
        at->killed = true;
        pool_peer_order(e, h->job, WORKER_KILL, at->attempt->ticket,
                        SLICE_EMPTY);
        if (e->silent)
            cell_host_abandon(h, slot, "stopped on a silent worker");
    }
    mutex_unlock(&p->lock);
}

static struct task_status *cell_status(struct attempt_host *base, unsigned slot)
{
    return &cell_host_self(base)->slots[slot].status;
}

/* A worker that is gone gets no orders. */
static void cell_pull(struct attempt_host *base,
                      uint32_t worker,
                      const struct task_pull *what)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    struct pool_peer *e;
    struct buf body = BUF_INIT;
    task_pull_encode(what, &body);
    mutex_lock(&p->lock);
    e = pool_peer_at(p, worker);
    if (e && !cell_host_mourns(h, worker))
        pool_peer_order(e, h->job, WORKER_PULL, p->next_ticket++,
                        buf_slice(&body));
    mutex_unlock(&p->lock);
    buf_close(&body);
}

/* --- waiting ------------------------------------------------------------- */

static int cell_wait(struct attempt_host *base,
                     uint64_t timeout_us,
                     struct attempt_event *event,
                     bool *got,
                     struct err *err)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    struct cell_event *e;
    int rc = fiber_check(err);
    *got = false;
    if (rc)
        return rc;
    mutex_lock(&p->lock);
    if (STAILQ_EMPTY(&h->events) && !pool_is_over(p))
        (void)cond_wait_us(&h->wake, &p->lock, p->world, timeout_us);
    e = STAILQ_FIRST(&h->events);
    *got = e != NULL;
    if (e) {
        STAILQ_REMOVE_HEAD(&h->events, link);
        *event = e->event;
        if (!event->worker_gone)
            h->slots[event->slot].state = SLOT_FREE;
        mem_free(e);
    } else if (pool_is_over(p)) {
        rc = err_set(err, ERR_CLOSED, "another job master takes over");
    }
    mutex_unlock(&p->lock);
    return rc;
}

static void cell_wake(struct attempt_host *base)
{
    struct cell_host *h = cell_host_self(base);
    mutex_lock(&h->pool->lock);
    cell_host_ring(h);
    mutex_unlock(&h->pool->lock);
}

/* --- names --------------------------------------------------------------- */

static const char *cell_worker_name(struct attempt_host *base, uint32_t worker)
{
    struct worker_pool *p = cell_host_self(base)->pool;
    const char *name = "a worker that is gone";
    mutex_lock(&p->lock);
    if (worker < p->peer_count && p->peers[worker])
        name = p->peers[worker]->name;
    mutex_unlock(&p->lock);
    return name;
}

static const char *cell_place(struct attempt_host *base, uint32_t worker)
{
    struct worker_pool *p = cell_host_self(base)->pool;
    const char *place = "";
    mutex_lock(&p->lock);
    if (worker < p->peer_count && p->peers[worker])
        place = p->peers[worker]->place;
    mutex_unlock(&p->lock);
    return place;
}

static uint32_t cell_find_place(struct attempt_host *base, struct slice place)
{
    struct worker_pool *p = cell_host_self(base)->pool;
    uint32_t found = TASK_NONE;
    mutex_lock(&p->lock);
    for (uint32_t i = 0; i < p->peer_count && found == TASK_NONE; i++)
        if (pool_peer_at(p, i) &&
            slice_eq(slice_str(p->peers[i]->place), place))
            found = i;
    mutex_unlock(&p->lock);
    return found;
}

static uint32_t cell_find_machine(struct attempt_host *base, const char *name)
{
    struct worker_pool *p = cell_host_self(base)->pool;
    uint32_t host;
    mutex_lock(&p->lock);
    host = pool_machine(p, slice_str(name), false);
    mutex_unlock(&p->lock);
    return host;
}

/* --- opening and closing ------------------------------------------------- */

static void drop_events(struct cell_host *h)
{
    struct cell_event *e;
    while ((e = STAILQ_FIRST(&h->events)) != NULL) {
        STAILQ_REMOVE_HEAD(&h->events, link);
        attempt_event_close(&e->event);
        mem_free(e);
    }
}

static void cell_close(struct attempt_host *base)
{
    struct cell_host *h = cell_host_self(base);
    struct worker_pool *p = h->pool;
    mutex_lock(&p->lock);
    for (unsigned i = 0; i < HOST_SLOTS_MAX && h->busy > 0; i++) {
        struct cell_slot *at = &h->slots[i];
        if (at->state != SLOT_RUNNING)
            continue;
        pool_peer_order(p->peers[at->peer], h->job, WORKER_KILL,
                        at->attempt->ticket, SLICE_EMPTY);
        at->attempt->host = NULL;
        at->state = SLOT_FREE;
        h->busy--;
    }
    LIST_REMOVE(h, link);
    for (uint32_t i = 0; i < p->peer_count && !h->keep; i++)
        if (pool_peer_at(p, i))
            pool_peer_forget(p->peers[i], h->job);
    h->job->forgotten = true;
    drop_events(h);
    pool_job_unref(h->job);
    mutex_unlock(&p->lock);
    cond_close(&h->wake);
    job_traits_close(&base->traits);
    mem_free(h->slots);
    mem_free(h);
}

static void cell_keep(struct attempt_host *base)
{
    cell_host_self(base)->keep = true;
}

static struct cell_host *new_host(struct worker_pool *p,
                                  const struct job_setup *setup,
                                  const struct cell_job *job)
{
    struct cell_host *h = mem_zalloc(1, sizeof(*h));
    h->base = (struct attempt_host){.start = cell_start,
                                    .wait = cell_wait,
                                    .kill = cell_kill,
                                    .status = cell_status,
                                    .close = cell_close,
                                    .keep = cell_keep,
                                    .look = cell_look,
                                    .worker_name = cell_worker_name,
                                    .place = cell_place,
                                    .find_place = cell_find_place,
                                    .find_machine = cell_find_machine,
                                    .pull = cell_pull,
                                    .wake = cell_wake,
                                    .slot_count = HOST_SLOTS_MAX};
    h->pool = p;
    h->share = *job;
    h->attempt_bytes = setup->slot_bytes;
    h->slots = mem_zalloc(HOST_SLOTS_MAX, sizeof(*h->slots));
    h->job = mem_zalloc(1, sizeof(*h->job));
    h->job->pool = p;
    h->job->refs = 1;
    h->job->id = mem_strdup(setup->job_id);
    job_package_encode(setup, &h->job->package);
    STAILQ_INIT(&h->events);
    cond_init(&h->wake);
    return h;
}

static int
wait_loaded(struct cell_host *h, const struct mr_options *o, struct err *err)
{
    struct worker_pool *p = h->pool;
    while (!h->job->loaded) {
        int rc = fiber_check(err);
        if (rc)
            return rc;
        if (pool_is_over(p) || p->stopping)
            return err_set(err, ERR_CLOSED, "another job master takes over");
        if (h->job->failed)
            return err_copy(err, &h->job->why);
        if (o->cancel && atomic_load(o->cancel))
            return err_set(err, ERR_CANCELLED, "job %s was interrupted",
                           h->job->id);
        for (uint32_t i = 0; i < p->peer_count; i++)
            if (pool_peer_at(p, i))
                pool_peer_prepare(p->peers[i], h->job);
        (void)cond_wait_us(&h->wake, &p->lock, p->world, LOOK_US);
    }
    h->base.traits = h->job->traits;
    h->job->traits = (struct job_traits){.name = NULL};
    return 0;
}

int cell_host_open(struct worker_pool *pool,
                   const struct job_setup *setup,
                   const struct cell_job *job,
                   struct attempt_host **out,
                   struct err *err)
{
    struct cell_host *h = new_host(pool, setup, job);
    int rc;
    mutex_lock(&pool->lock);
    LIST_INSERT_HEAD(&pool->hosts, h, link);
    rc = wait_loaded(h, setup->opts, err);
    mutex_unlock(&pool->lock);
    *out = &h->base;
    if (rc) {
        cell_close(&h->base);
        *out = NULL;
    }
    return rc;
}
