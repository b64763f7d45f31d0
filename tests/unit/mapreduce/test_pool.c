/* The pool with workers that answer, lose their orders, refuse connections,
 * hang, come back as others, or obey another master: each attempt has one end,
 * and the loss of a worker is reported after the ends of its attempts.
 *
 * Workers here are simulated machines that answer as the test says; the lock
 * service is a real one. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/sim/sim_cluster.h"
#include "chubby-lite/chubby.h"
#include "mapreduce/cluster/cell_host.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/job.h"
#include "mapreduce/master/schedule.h"
#include "tests/lib/check_main.h"
#include "tests/lib/lock_cell.h"

enum {
    WORKERS = 2,
    SLOTS = 2,
    SECOND = 1000000
};

/* --- workers that do as they are told ------------------------------------ */

struct fake {
    struct world *world;
    char name[16];
    char address[32];
    const char *machine; /* Its name, different from all others. */
    uint32_t cores;
    uint64_t number;
    struct worker_news ended[64]; /* Bytes are owned by nobody: constant. */
    size_t ended_count;
    uint64_t running[64];
    size_t running_count;
    struct buf events[64];
    unsigned prepared;
    unsigned forgotten;
    unsigned started;
    unsigned killed;
    unsigned pulled; /* Orders to pull. */
    bool loses_job;  /* The next order finds no job. */
    bool denies;     /* Another master has the say. */
    bool hangs;      /* Nothing is answered. */
    bool up;         /* It is in the list. */
    int cannot_load; /* Why. */
};

static struct sim_cluster *cluster;
static struct world *lock_machine;
static struct world *director;
static struct rpc_security *security;
static struct fake fakes[WORKERS];
static const char *const lock_addresses[] = {"s1:700"};
static struct chubby *session;
static struct worker_pool *pool;

static int
begin_call(struct fake *f, const struct worker_head *h, struct err *err)
{
    while (f->hangs && fiber_check(NULL) == 0)
        world_sleep_us(f->world, SECOND / 10);
    if (h->number != f->number)
        return err_set(err, ERR_CLOSED, "another incarnation");
    if (f->denies)
        return err_set(err, ERR_DENIED, "not the master");
    return 0;
}

static int on_prepare(void *ctx, struct rpc_call *call, struct err *err)
{
    static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                      .name = "a job"};
    struct fake *f = ctx;
    struct worker_head h;
    struct job_traits t;
    int rc = worker_head_get(call->body, &h, err);
    if (rc == 0)
        rc = begin_call(f, &h, err);
    if (rc == 0 && f->cannot_load)
        rc = err_set(err, f->cannot_load, "no such code");
    if (rc)
        return rc;
    f->prepared++;
    f->loses_job = false;
    job_traits_of(&t, &job);
    job_traits_encode(&t, call->reply_attachment);
    job_traits_close(&t);
    return 0;
}

static int on_forget(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct worker_head h;
    int rc = worker_head_get(call->body, &h, err);
    f->forgotten += rc == 0;
    return rc;
}

static void
end_ticket(struct fake *f, uint64_t ticket, const struct attempt_event *e)
{
    struct task_status s = {.stage = STATUS_IDLE};
    size_t i = 0;
    while (i < f->running_count && f->running[i] != ticket)
        i++;
    ck_assert_uint_lt(i, f->running_count);
    f->running[i] = f->running[--f->running_count];
    f->ended[f->ended_count] =
        (struct worker_news){.serial = f->ended_count + 1, .ticket = ticket};
    worker_event_put(e, &s, &f->events[f->ended_count++]);
}

static int on_order(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct cursor in = cursor_make(call->attachment);
    struct worker_head h;
    int rc = worker_head_get(call->body, &h, err);
    if (rc == 0)
        rc = begin_call(f, &h, err);
    while (rc == 0 && cursor_left(&in) > 0) {
        struct worker_order o;
        worker_order_get(&in, &o);
        ck_assert(!in.bad);
        if (o.kind != WORKER_KILL && f->loses_job)
            return err_set(err, ERR_NOTFOUND, "no such job");
        if (o.kind == WORKER_START) {
            f->started++;
            f->running[f->running_count++] = o.ticket;
        } else if (o.kind == WORKER_PULL) {
            struct task_pull p;
            ck_assert_int_eq(task_pull_decode(&p, o.spec, NULL), 0);
            ck_assert_uint_eq(p.partitions[0], 4);
            task_pull_close(&p);
            f->pulled++;
        } else {
            f->killed++;
        }
    }
    return rc;
}

static int on_watch(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fake *f = ctx;
    struct worker_watch w;
    int rc = worker_watch_get(call->body, &w, err);
    struct task_status s = {.stage = STATUS_RECORD, .records = 7};
    if (rc == 0)
        rc = begin_call(f, &w.head, err);
    if (rc)
        return rc;
    for (int i = 0; i < 10 && f->ended_count <= w.seen; i++)
        world_sleep_us(f->world, MIN_OF(w.wait_us, (uint64_t)SECOND / 5) / 10);
    buf_put_varint(call->reply_attachment, f->running_count);
    for (size_t i = 0; i < f->running_count; i++) {
        buf_put_varint(call->reply_attachment, f->running[i]);
        worker_status_put(&s, false, call->reply_attachment);
    }
    buf_put_varint(call->reply_attachment, f->ended_count);
    for (size_t i = 0; i < f->ended_count; i++) {
        buf_put_varint(call->reply_attachment, f->ended[i].serial);
        buf_put_varint(call->reply_attachment, f->ended[i].ticket);
        buf_put_lslice(call->reply_attachment, buf_slice(&f->events[i]));
    }
    return 0;
}

static void make_directory(struct chubby *c, const char *path)
{
    struct chubby_handle *h = NULL;
    ck_assert_int_eq(chubby_open(c, path,
                                 CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY,
                                 NULL, &h, NULL),
                     0);
    chubby_close(h);
}

static struct chubby_handle *enlist(struct fake *f, struct chubby *c)
{
    const struct worker_record r = {.number = f->number,
                                    .address = slice_str(f->address),
                                    .name = slice_str(f->name),
                                    .machine = slice_str(f->name),
                                    .boot = slice_str(f->machine),
                                    .directory = SLICE_LIT("/w"),
                                    .slots = SLOTS,
                                    .memory_bytes = SLOTS << 20,
                                    .cores = f->cores,
                                    .pulls = true};
    struct chubby_open_options o = {.events = 0};
    struct chubby_handle *h = NULL;
    struct buf bytes = BUF_INIT;
    char path[64];
    make_directory(c, MAPREDUCE_LOCK_ROOT);
    make_directory(c, MAPREDUCE_LOCK_WORKERS);
    snprintf(path, sizeof(path), MAPREDUCE_LOCK_WORKERS "/%016llx",
             (unsigned long long)f->number);
    worker_record_put(&r, &bytes);
    o.contents = buf_slice(&bytes);
    ck_assert_int_eq(chubby_open(c, path,
                                 CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE |
                                     CHUBBY_NEW | CHUBBY_EPHEMERAL,
                                 &o, &h, NULL),
                     0);
    buf_close(&bytes);
    return h;
}

static void run_fake(void *arg)
{
    static const uint32_t numbers[] = {WORKER_PREPARE, WORKER_ORDER,
                                       WORKER_WATCH, WORKER_FORGET};
    static const rpc_handler handlers[] = {on_prepare, on_order, on_watch,
                                           on_forget};
    struct fake *f = arg;
    const struct chubby_options o = {.servers = lock_addresses,
                                     .server_count = 1,
                                     .security = security,
                                     .lease_ms = 3000};
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    struct rpc_server *rpc = rpc_server_new(f->world);
    struct rpc_method methods[ARRAY_LEN(numbers)];
    struct chubby *c = NULL;
    struct chubby_handle *h;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        methods[i] = (struct rpc_method){numbers[i], "worker", handlers[i], 0};
    rpc_server_add(rpc, methods, ARRAY_LEN(methods), f);
    ck_assert_int_eq(rpc_listen(rpc, f->address, &listen, &listener, NULL), 0);
    ck_assert_int_eq(chubby_connect(f->world, &o, &c, NULL), 0);
    h = enlist(f, c);
    f->up = true;
    while (fiber_check(NULL) == 0)
        world_sleep_us(f->world, SECOND / 10);
    chubby_close(h);
    chubby_disconnect(c);
    rpc_listener_close(listener);
    rpc_server_free(rpc);
}

static void boot(struct fake *f)
{
    f->number++;
    f->up = false;
    f->running_count = f->ended_count = 0;
    sim_boot(f->world, run_fake, f);
    while (!f->up)
        world_sleep_us(director, SECOND / 100);
}

/* --- the cell ------------------------------------------------------------ */

static struct lock_cell lock_service;
static struct mr_options options;
static struct job_setup setup;

static void begin(void)
{
    const struct chubby_options c = {
        .servers = lock_addresses, .server_count = 1, .security = security};
    struct worker_pool_options o = {.sequencer = "s", .security = security};
    static char id[] = "job-1";
    static char work[] = "/none";
    lock_service = (struct lock_cell){lock_machine, security, NULL};
    sim_boot(lock_machine, lock_cell_main, &lock_service);
    for (int i = 0; i < WORKERS; i++)
        boot(&fakes[i]);
    ck_assert_int_eq(chubby_connect(director, &c, &session, NULL), 0);
    o.chubby = session;
    ck_assert_int_eq(worker_pool_open(director, &o, &pool, NULL), 0);
    options = (struct mr_options){.workers = 1};
    setup = (struct job_setup){.opts = &options,
                               .world = director,
                               .job_id = id,
                               .work_dir = work,
                               .slot_bytes = 1 << 20};
}

static void end(void)
{
    worker_pool_close(pool);
    chubby_disconnect(session);
    for (int i = 0; i < WORKERS; i++)
        if (sim_is_up(fakes[i].world))
            sim_stop(fakes[i].world);
    sim_stop(lock_machine);
}

static struct attempt_host *open_host(const struct cell_job *job)
{
    const struct cell_job plain = {.weight = 1};
    struct attempt_host *h = NULL;
    struct err err = ERR_INIT;
    ck_assert_msg(cell_host_open(pool, &setup, job ? job : &plain, &h, &err) ==
                      0,
                  "%s", err.text);
    return h;
}

static void run_in_cell(task_fn test)
{
    struct sim_options o = {.network_us = 100, .sync_us = 100};
    cluster = sim_cluster_new(test_seed());
    security = rpc_security_none("test", "ann");
    director = sim_director(cluster);
    lock_machine = sim_machine_new(cluster, "s1", &o);
    memset(fakes, 0, sizeof(fakes));
    for (int i = 0; i < WORKERS; i++) {
        struct fake *f = &fakes[i];
        snprintf(f->name, sizeof(f->name), "w%d", i + 1);
        f->machine = f->name;
        f->cores = SLOTS;
        snprintf(f->address, sizeof(f->address), "w%d:900", i + 1);
        f->number = (uint64_t)(i + 1) * 1000;
        f->world = sim_machine_new(cluster, f->name, &o);
    }
    sim_cluster_run(cluster, test, NULL);
    for (int i = 0; i < WORKERS; i++)
        for (size_t k = 0; k < ARRAY_LEN(fakes[i].events); k++)
            buf_close(&fakes[i].events[k]);
    rpc_security_free(security);
    sim_cluster_free(cluster);
}

/* --- helpers ------------------------------------------------------------- */

/* The pool's number of worker @f, which it shows to schedulers: of its last
 * life; TASK_NONE. */
static uint32_t index_of(struct attempt_host *h, const struct fake *f)
{
    for (uint32_t i = 2 * WORKERS; i-- > 0;)
        if (strcmp(h->worker_name(h, i), f->name) == 0)
            return i;
    return TASK_NONE;
}

/* Until @count workers are up, as a job's scheduler sees them. */
static void await_up(struct attempt_host *h, uint32_t count)
{
    for (int i = 0; i < 1000; i++) {
        struct pool_size size;
        worker_pool_size(pool, &size);
        if (size.workers == count)
            return;
        world_sleep_us(director, SECOND / 50);
    }
    ck_abort_msg("fewer workers are up");
    (void)h;
}

static int start(struct attempt_host *h,
                 const struct fake *f,
                 unsigned task,
                 unsigned *slot)
{
    struct task_spec s;
    int rc;
    task_spec_init(&s);
    s.kind = TASK_MAP;
    s.index = task;
    s.attempt = 1;
    rc = h->start(h, index_of(h, f), &s, slot, NULL);
    task_spec_close(&s);
    return rc;
}

static void await(const unsigned *what, unsigned value)
{
    for (int i = 0; i < 1000 && *what != value; i++)
        world_sleep_us(director, SECOND / 100);
    ck_assert_uint_eq(*what, value);
}

static int next_event(struct attempt_host *h, struct attempt_event *e)
{
    bool got = false;
    int rc = 0;
    for (int i = 0; i < 100 && !got && rc == 0; i++)
        rc = h->wait(h, SECOND / 5, e, &got, NULL);
    ck_assert(got || rc);
    return rc;
}

/* --- tests --------------------------------------------------------------- */

/* A package goes to a worker once, an attempt is ordered once; its end comes
 * with what it left and where; when the job has ended, workers forget it. */
static void attempts(void *arg)
{
    struct attempt_host *h;
    struct attempt_event told = {.reported = true};
    struct attempt_event e;
    struct fake *f = &fakes[0];
    unsigned slot;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    ck_assert_str_eq(h->traits.name, "a job");
    ck_assert_int_eq(start(h, f, 3, &slot), 0);
    await(&f->started, 1);
    for (int i = 0; i < 100 && STATUS_GET(h->status(h, slot), records) != 7;
         i++)
        world_sleep_us(director, SECOND / 50);
    ck_assert_uint_eq(STATUS_GET(h->status(h, slot), records), 7);
    task_report_init(&told.report);
    told.report.spilled = true;
    end_ticket(f, f->running[0], &told);
    ck_assert_int_eq(next_event(h, &e), 0);
    ck_assert(!e.worker_gone && e.reported && !e.lost);
    ck_assert_uint_eq(e.slot, slot);
    ck_assert_uint_eq(h->find_place(h, slice_str(e.report.place)),
                      index_of(h, f));
    attempt_event_close(&e);
    ck_assert_uint_eq(f->prepared, 1);
    h->close(h);
    await(&f->forgotten, 1);
    await(&fakes[1].forgotten, 1);
    ck_assert_uint_eq(f->started, 1);
    end();
}

START_TEST(test_attempts)
{
    run_in_cell(attempts);
}

END_TEST

/* A worker whose process is killed: its attempts are lost first, then it is
 * gone, within a second; nothing can be started in its place before that was
 * heard, and what comes back is another. */
static void killed(void *arg)
{
    struct attempt_host *h;
    struct attempt_event e;
    struct fake *f = &fakes[0];
    unsigned slots[SLOTS];
    uint32_t index;
    uint64_t since;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    for (unsigned i = 0; i < SLOTS; i++)
        ck_assert_int_eq(start(h, f, i, &slots[i]), 0);
    await(&f->started, SLOTS);
    index = index_of(h, f);
    since = sim_cluster_now_us(cluster);
    sim_crash(f->world, SIM_CRASH_KILL);
    for (unsigned i = 0; i < SLOTS; i++) {
        ck_assert_int_eq(next_event(h, &e), 0);
        ck_assert(e.lost && !e.worker_gone);
        ck_assert_ptr_nonnull(strstr(e.death, "refuses"));
        attempt_event_close(&e);
    }
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - since, SECOND);
    sim_await_end(f->world);
    boot(f);
    await_up(h, WORKERS);
    ck_assert_uint_ne(index_of(h, f), index);
    ck_assert_int_eq(next_event(h, &e), 0);
    ck_assert(e.worker_gone);
    ck_assert_uint_eq(e.worker, index);
    attempt_event_close(&e);
    ck_assert_int_eq(start(h, f, 9, &slots[0]), 0);
    await(&f->started, SLOTS + 1);
    h->close(h);
    end();
}

START_TEST(test_killed)
{
    run_in_cell(killed);
}

END_TEST

/* A worker that hangs gets nothing new, an attempt that is stopped there is
 * over at once, and one that is not has its end when the worker is heard again.
 */
static void silent(void *arg)
{
    const struct attempt_event fine = {.reported = true};
    struct attempt_event e;
    struct attempt_host *h;
    struct fake *f = &fakes[0];
    unsigned one;
    unsigned two;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    ck_assert_int_eq(start(h, f, 1, &one), 0);
    await(&f->started, 1);
    f->hangs = true;
    world_sleep_us(director, 4 * SECOND);
    ck_assert_int_eq(start(h, f, 2, &two), ERR_BUSY);
    f->hangs = false;
    world_sleep_us(director, 8 * SECOND);
    ck_assert_int_eq(start(h, f, 2, &two), 0);
    await(&f->started, 2);
    end_ticket(f, f->running[0], &fine);
    ck_assert_int_eq(next_event(h, &e), 0);
    ck_assert(e.reported && e.slot == one);
    attempt_event_close(&e);
    f->hangs = true;
    world_sleep_us(director, 4 * SECOND);
    h->kill(h, two);
    ck_assert_int_eq(next_event(h, &e), 0);
    ck_assert(e.lost && e.slot == two);
    attempt_event_close(&e);
    f->hangs = false;
    await(&f->killed, 1);
    h->close(h);
    end();
}

START_TEST(test_silent)
{
    run_in_cell(silent);
}

END_TEST

/* A worker that says nothing of its attempts gets no more of them long before
 * one that has none, and nothing to say. */
static void quiet(void *arg)
{
    struct attempt_host *h;
    unsigned slot;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    ck_assert_int_eq(start(h, &fakes[0], 1, &slot), 0);
    await(&fakes[0].started, 1);
    fakes[0].hangs = fakes[1].hangs = true;
    world_sleep_us(director, SECOND);
    ck_assert_int_eq(start(h, &fakes[0], 2, &slot), ERR_BUSY);
    ck_assert_int_eq(start(h, &fakes[1], 2, &slot), 0);
    fakes[0].hangs = fakes[1].hangs = false;
    await(&fakes[1].started, 1);
    h->close(h);
    end();
}

START_TEST(test_quiet)
{
    run_in_cell(quiet);
}

END_TEST

/* A worker that has lost the job gets it again, and the order after it. */
static void lost_job(void *arg)
{
    struct attempt_host *h;
    struct fake *f = &fakes[0];
    unsigned slot;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    await(&f->prepared, 1);
    f->loses_job = true;
    ck_assert_int_eq(start(h, f, 1, &slot), 0);
    await(&f->prepared, 2);
    await(&f->started, 1);
    h->close(h);
    end();
}

START_TEST(test_lost_job)
{
    run_in_cell(lost_job);
}

END_TEST

/* Code that no worker can load ends the job with the worker's words; a worker
 * that obeys another master ends all that this one does. */
static void refused(void *arg)
{
    const struct cell_job job = {.weight = 1};
    struct attempt_host *h = NULL;
    struct attempt_event e;
    struct err err = ERR_INIT;
    unsigned slot;
    (void)arg;
    begin();
    for (int i = 0; i < WORKERS; i++)
        fakes[i].cannot_load = ERR_NOTFOUND;
    ck_assert_int_eq(cell_host_open(pool, &setup, &job, &h, &err),
                     ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "no such code"));
    for (int i = 0; i < WORKERS; i++)
        fakes[i].cannot_load = 0;
    h = open_host(NULL);
    await_up(h, WORKERS);
    fakes[1].denies = true;
    ck_assert_int_eq(next_event(h, &e), ERR_CLOSED);
    ck_assert_int_eq(start(h, &fakes[0], 1, &slot), ERR_CLOSED);
    h->close(h);
    end();
}

START_TEST(test_refused)
{
    run_in_cell(refused);
}

END_TEST

static enum sched_wait
why(struct attempt_host *h, struct sched *s, uint32_t job)
{
    h->look(h, s, 10);
    return sched_why(s, job, world_mono_ns(director) / 1000);
}

/* The reason that a job's tasks wait, as its scheduler sees the pool: no
 * worker, a slot that another job has, memory, or its own share. */
static void reasons(void *arg)
{
    const struct sched_job one = {.weight = 1};
    const struct cell_job bounded = {.weight = 1, .slots_max = 1};
    struct attempt_host *h;
    struct attempt_host *other;
    struct task_table tasks;
    struct sched s;
    unsigned skips = 0;
    unsigned slot;
    uint32_t job;
    (void)arg;
    begin();
    h = open_host(NULL);
    other = open_host(&bounded);
    await_up(h, WORKERS);
    sched_init(&s, 0);
    job = sched_add_job(&s, &one);
    task_table_init(&tasks, 10, 4, &skips);
    sched_set_tasks(&s, job, &tasks, world_mono_ns(director) / 1000);
    ck_assert_int_eq(sched_why(&s, job, 0), SCHED_WAIT_WORKER);
    ck_assert_int_eq(why(h, &s, job), SCHED_WAIT_NOTHING);
    for (int i = 0; i < WORKERS * SLOTS; i++)
        ck_assert_int_eq(
            start(i == 0 ? other : h, &fakes[i % WORKERS], (unsigned)i, &slot),
            0);
    ck_assert_int_eq(why(h, &s, job), SCHED_WAIT_SLOT);
    /* Also of a job that has its share of them. */
    s.jobs[job].busy = 3;
    ck_assert_int_eq(why(h, &s, job), SCHED_WAIT_SLOT);
    /* Its bound is one slot, and it has that. */
    s.jobs[job].busy = 1;
    ck_assert_int_eq(why(other, &s, job), SCHED_WAIT_QUOTA);
    s.jobs[job].busy = 0;
    sched_close(&s);
    h->close(h);
    world_sleep_us(director, SECOND);
    for (int i = 0; i < WORKERS; i++)
        while (fakes[i].running_count > 0)
            end_ticket(&fakes[i], fakes[i].running[0],
                       &(struct attempt_event){.lost = true});
    world_sleep_us(director, SECOND);
    other->close(other);
    /* More than a worker has. */
    setup.slot_bytes = (SLOTS << 20) + 1;
    h = open_host(NULL);
    sched_init(&s, 0);
    job = sched_add_job(&s, &one);
    sched_set_tasks(&s, job, &tasks, world_mono_ns(director) / 1000);
    ck_assert_int_eq(why(h, &s, job), SCHED_WAIT_MEMORY);
    sched_close(&s);
    task_table_close(&tasks);
    h->close(h);
    end();
}

START_TEST(test_reasons)
{
    run_in_cell(reasons);
}

END_TEST

/* Slots count as far as there are cores for them, and workers of one machine
 * have its cores together. */
static void cores(void *arg)
{
    struct attempt_host *h;
    (void)arg;
    fakes[0].cores = SLOTS - 1;
    fakes[1].cores = SLOTS + 1;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    ck_assert_uint_eq(worker_pool_cores(pool), SLOTS - 1 + SLOTS);
    sim_stop(fakes[0].world);
    fakes[0].machine = fakes[1].machine;
    fakes[0].cores = fakes[1].cores;
    boot(&fakes[0]);
    for (int i = 0; i < 1000 && worker_pool_cores(pool) != SLOTS + 1; i++)
        world_sleep_us(director, SECOND / 50);
    ck_assert_uint_eq(worker_pool_cores(pool), SLOTS + 1);
    h->close(h);
    end();
}

START_TEST(test_cores)
{
    run_in_cell(cores);
}

END_TEST

/* The scheduler sees who may open whose files, and who pulls; orders to pull
 * arrive, also at a worker that has lost the job, and none at one that is gone.
 */
static void pulls(void *arg)
{
    uint32_t partitions[] = {4};
    const struct task_pull what = {.partitions = partitions,
                                   .partition_count = 1};
    const struct sched_worker *one;
    const struct sched_worker *two;
    struct attempt_host *h;
    struct sched s;
    uint32_t index;
    (void)arg;
    begin();
    h = open_host(NULL);
    await_up(h, WORKERS);
    sched_init(&s, 0);
    h->look(h, &s, 1);
    one = &s.workers[index_of(h, &fakes[0])];
    two = &s.workers[index_of(h, &fakes[1])];
    ck_assert(one->pulls && one->all_slots == SLOTS);
    ck_assert_uint_ne(one->disk, two->disk);
    h->pull(h, index_of(h, &fakes[0]), &what);
    await(&fakes[0].pulled, 1);
    await(&fakes[1].prepared, 1);
    fakes[1].loses_job = true;
    h->pull(h, index_of(h, &fakes[1]), &what);
    await(&fakes[1].pulled, 1);
    ck_assert_uint_eq(fakes[1].prepared, 2);
    /* Another incarnation, on the other's machine. */
    sim_stop(fakes[0].world);
    fakes[0].machine = fakes[1].machine;
    index = index_of(h, &fakes[0]);
    boot(&fakes[0]);
    for (int i = 0; i < 1000 && index_of(h, &fakes[0]) == index; i++)
        world_sleep_us(director, SECOND / 50);
    h->look(h, &s, 1);
    ck_assert_uint_eq(s.workers[index_of(h, &fakes[0])].disk,
                      s.workers[index_of(h, &fakes[1])].disk);
    h->pull(h, index, &what);
    h->pull(h, 100, &what);
    sched_close(&s);
    h->close(h);
    end();
}

START_TEST(test_pulls)
{
    run_in_cell(pulls);
}

END_TEST

TEST_MAIN("pool",
          test_attempts,
          test_killed,
          test_silent,
          test_quiet,
          test_lost_job,
          test_refused,
          test_reasons,
          test_cores,
          test_pulls)
