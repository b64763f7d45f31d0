/* The life of a tablet server: joining, failing, leaving and closing.
 *
 * It joins in a fiber of its own, which tries until it succeeds. Leaving hands
 * every tablet over, users' tablets before those of METADATA, in which their
 * records are; if that takes too long, or the whole cluster ends, the logs are
 * left for recovery. */
#include "bigtable/tablet_server/tablet_server.h"

#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/log/write_log.h"
#include "bigtable/quarry.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/store/shared.h"
#include "bigtable/tablet/heat_log.h"
#include "bigtable/tablet_server/log_replay.h"
#include "bigtable/tablet_server/programs.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/load_calls.h"
#include "gfs-lite/fs.h"

/* Between tries to join. */
#define RETRY_US UINT64_C(500000)
/* Time-out of a call that asks whether there is a master. */
#define MASTER_ASKED_US UINT64_C(2000000)
/* Leaving the cluster: unloads at once, and the time for all of them. */
#define UNLOADS  8
#define LEAVE_US UINT64_C(10000000)
/* Between looks for a master meanwhile; after this number in vain the cluster
 * has ended. */
#define MASTER_LOOK_US UINT64_C(1000000)
#define MISSES_MAX     2
#define LOOK_US        UINT64_C(20000)
/* Threads that answer scans and programs. */
#define READERS_PER_CPU   2
#define READERS_MIN       4
#define LOG_BYTES_DEFAULT ((uint64_t)256 << 20)

/* --- failure ------------------------------------------------------------- */

void server_fail(struct tablet_server *s, const struct err *why)
{
    mutex_lock(&s->failure_lock);
    if (s->failure.code == 0)
        s->failure = *why;
    mutex_unlock(&s->failure_lock);
    PRE(why->code != 0);
    atomic_store(&s->over, true);
}

int tablet_server_health(struct tablet_server *s, struct err *err)
{
    int rc;
    mutex_lock(&s->failure_lock);
    rc = s->failure.code && !s->stopping ? err_copy(err, &s->failure) : 0;
    mutex_unlock(&s->failure_lock);
    return rc;
}

static void on_session_lost(void *ctx, const struct err *why)
{
    server_fail(ctx, why);
}

/* Others have taken the log, because this server was declared dead: its
 * membership is lost, even if the lock service has not reported it yet. */
static void on_fenced(void *ctx, const struct err *why)
{
    struct err lost = *why;
    lost.code = ERR_CLOSED;
    server_fail(ctx, &lost);
}

static void on_tablet_lost(void *ctx, uint64_t tablet)
{
    server_spawn(ctx, give_up_tablet, tablet);
}

static void on_file_event(void *ctx, const struct chubby_handle *h)
{
    struct tablet_server *s = ctx;
    rule_book_forget(s->rules, h);
}

static bool is_over(void *ctx)
{
    struct tablet_server *s = ctx;
    return atomic_load(&s->over);
}

/* --- work beside calls --------------------------------------------------- */

struct work {
    struct tablet_server *server;
    void (*fn)(struct tablet_server *s, uint64_t arg);
    uint64_t arg;
};

static void do_work(void *arg)
{
    struct work *w = arg;
    w->fn(w->server, w->arg);
}

static void run_work(void *arg)
{
    struct work *w = arg;
    struct tablet_server *s = w->server;
    loop_task_run_here(&s->loop_tasks, do_work, w);
    mem_free(w);
    mutex_lock(&s->work_lock);
    INVARIANT(s->work_count > 0);
    s->work_count--;
    cond_broadcast(&s->work_done);
    mutex_unlock(&s->work_lock);
}

static void start_work(void *arg)
{
    struct work *w = arg;
    fiber_detach(fiber_start(w->server->loop, "tablet-work", run_work, w));
}

void server_spawn(struct tablet_server *s,
                  void (*fn)(struct tablet_server *s, uint64_t arg),
                  uint64_t arg)
{
    struct work *w = mem_alloc(sizeof(*w));

    PRE(fn);
    *w = (struct work){s, fn, arg};
    mutex_lock(&s->work_lock);
    s->work_count++;
    mutex_unlock(&s->work_lock);
    loop_post(s->loop, start_work, w);
}

void server_in_thread(struct tablet_server *s, void (*fn)(void *), void *arg)
{
    PRE(fn);
    task_join(task_start(s->world, "quarry-tablet", fn, arg));
}

/* --- METADATA ------------------------------------------------------------ */

static int open_metadata(struct tablet_server *s, struct err *err)
{
    struct tablet_rows *rows = s->options.rows;
    int rc = 0;

    PRE(s->options.rows || s->options.open_client);
    if (s->metadata)
        return 0;
    if (!rows && !s->quarry)
        rc = s->options.open_client(s->options.ctx, &s->quarry, err);
    if (rc == 0 && !rows)
        rc = metadata_rows_open(s->quarry, &rows, err);
    if (rc == 0)
        s->metadata = loop_rows_new(rows, &s->loop_tasks);
    return rc;
}

struct open_call {
    struct tablet_server *server;
    struct err *err;
    int rc;
};

static void run_open(void *arg)
{
    struct open_call *c = arg;
    mutex_lock(&c->server->client_lock);
    c->rc = open_metadata(c->server, c->err);
    mutex_unlock(&c->server->client_lock);
}

int server_rows(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err)
{
    struct tablet_server *s = ctx;
    struct open_call c = {.server = s, .err = err};
    PRE(s->root); /* It has joined. */
    if (key.len == 0) {
        *out = s->root;
        return 0;
    }
    /* The client belongs to the loop, so it is opened there. */
    loop_task_call(&s->loop_tasks, run_open, &c);
    *out = s->metadata;
    return c.rc;
}

/* --- joining ------------------------------------------------------------- */

static int open_log(struct tablet_server *s, struct err *err)
{
    char dir[LOG_DIR_BYTES];
    const struct shared_log_options o = {.world = s->world,
                                         .fs = s->fs,
                                         .dir = dir,
                                         .segment_bytes =
                                             s->options.log_segment_bytes,
                                         .slow_us = s->options.log_slow_us,
                                         .fenced = on_fenced,
                                         .ctx = s};

    PRE(s->number != 0);
    PRE(s->fs);
    replay_log_dir(s->number, dir);
    return shared_log_open(&o, &s->log, err);
}

uint64_t server_log_bytes_max(const struct tablet_server *s)
{
    return s->options.log_bytes ? s->options.log_bytes : LOG_BYTES_DEFAULT;
}

static int open_store(struct tablet_server *s, struct err *err)
{
    const struct tablet_registry_options registry = {.world = s->world,
                                                     .server = s->number,
                                                     .rows = server_rows,
                                                     .lost = on_tablet_lost,
                                                     .is_over = is_over,
                                                     .ctx = s};
    const struct store_options o = {.cache_bytes = s->options.cache_bytes,
                                    .memtable_bytes = s->options.memtable_bytes,
                                    .split_bytes = s->options.split_bytes,
                                    .background_tasks =
                                        s->options.background_tasks};
    struct store_sharing sharing = {.fs = s->fs,
                                    .log = s->log,
                                    .first_id = cluster_id(s->number, 1),
                                    .log_bytes_max = server_log_bytes_max(s),
                                    .replaced = tablet_was_split,
                                    .ctx = s};
    int rc;
    PRE(s->number);
    PRE(s->log);
    PRE(!s->store);
    s->registry = tablet_registry_new(&registry);
    sharing.registry = tablet_registry_base(s->registry);
    rc = store_open_shared(s->world, &o, &sharing, &s->store, err);
    if (rc == 0)
        s->store->env.heat = s->heat; /* There is no tablet yet. */
    return rc;
}

static int tablet_server_join(struct tablet_server *s, struct err *err)
{
    const struct session_options o = {.cell = s->options.cell,
                                      .cell_count = s->options.cell_count,
                                      .security = s->options.security,
                                      .lease_ms = s->options.lease_ms,
                                      .grace_ms = s->options.grace_ms,
                                      .memo = s->options.memo,
                                      .lost = on_session_lost,
                                      .changed = on_file_event,
                                      .ctx = s};
    int rc = 0;
    if (!s->session)
        rc = session_join(s->world, &o, s->address, &s->session, err);
    if (rc)
        return rc;
    PRE(s->number == 0 || s->number == session_number(s->session));
    s->number = session_number(s->session);
    if (!s->fs)
        rc = s->options.open_fs(s->options.ctx, &s->fs, err);
    if (rc == 0 && atomic_load(&s->starter_stop))
        return err_set(err, ERR_CANCELLED, "stopping");
    if (rc == 0 && !s->log)
        rc = open_log(s, err);
    if (rc == 0)
        rc = open_store(s, err);
    if (rc == 0)
        s->root = loop_rows_new(root_record_new(session_chubby(s->session)),
                                &s->loop_tasks);
    return rc;
}

/* Tries until the server has joined, or must stop. */
static void run_starter(void *arg)
{
    struct tablet_server *s = arg;
    while (!atomic_load(&s->starter_stop) && !atomic_load(&s->over)) {
        struct err err = ERR_INIT;
        if (tablet_server_join(s, &err) == 0) {
            log_info(s->world, "tablet", "joined number=%llu address=%s",
                     (unsigned long long)s->number, s->address);
            PRE(!atomic_load(&s->ready)); /* INV-1 */
            INVARIANT(s->number);
            INVARIANT(s->session);
            INVARIANT(s->store);
            INVARIANT(s->registry);
            atomic_store(&s->ready, true);
            return;
        }
        log_warn(s->world, "tablet", "cannot join yet: %s", err.text);
        world_sleep_us(s->world, RETRY_US);
    }
}

/* --- opening and closing ------------------------------------------------- */

int tablet_server_open(struct world *w,
                       struct rpc_server *rpc,
                       const struct tablet_server_options *opts,
                       struct tablet_server **out,
                       struct err *err)
{
    struct tablet_server *s = mem_zalloc(1, sizeof(*s));
    const struct rpc_channel_options channels = {.security = opts->security};
    size_t readers = READERS_PER_CPU * world_cpu_count(w);
    (void)err;
    PRE(loop_self());
    s->world = w;
    s->loop = loop_self();
    s->rpc = rpc;
    s->options = *opts;
    loop_tasks_init(&s->loop_tasks, s->loop);
    mutex_init(&s->client_lock);
    mutex_init(&s->schema_lock);
    mutex_init(&s->load_lock);
    cond_init(&s->load_done);
    mutex_init(&s->failure_lock);
    mutex_init(&s->work_lock);
    cond_init(&s->work_done);
    served_set_init(&s->served);
    hash_map_init(&s->schemas, HASH_KEYS_BORROWED);
    s->channels = channel_set_new(&channels);
    s->programs = program_cache_new();
    s->rules = rule_book_new(s);
    /* The survivors together have room for the log of one dead server. */
    s->segments = segment_cache_new(w, server_log_bytes_max(s));
    s->heat = heat_log_new(HEAT_BYTES_MAX);
    s->readers = reader_pool_new(w, MAX_OF(readers, READERS_MIN));
    methods_add(s);
    *out = s;
    return 0;
}

void tablet_server_start(struct tablet_server *s, const char *address)
{
    PRE(!s->starter);
    PRE(!s->address);
    s->address = mem_strdup(address);
    s->starter = fiber_start(s->loop, "tablet-join", run_starter, s);
}

static void end_starter(struct tablet_server *s)
{
    atomic_store(&s->starter_stop, true);

    PRE(loop_self() == s->loop);
    if (s->fs && !atomic_load(&s->ready))
        fs_hurry(s->fs);
    if (s->starter) {
        fiber_cancel(s->starter);
        fiber_join(s->starter);
    }
    s->starter = NULL;
}

/* Is there a master that would give tablets to others? When the whole cluster
 * ends there is none, METADATA is ending too, and a write to it would wait in
 * vain. */
static bool has_master(struct tablet_server *s)
{
    const struct rpc_call_options opts = {.timeout_us = MASTER_ASKED_US};
    struct buf address = BUF_INIT;
    struct err err = ERR_INIT;
    uint64_t before =
        fiber_set_deadline(world_mono_ns(s->world) + MASTER_ASKED_US * 1000);
    int rc = session_find_master(s->session, &address, &err);

    PRE(s->session);
    if (rc == 0)
        rc =
            channel_set_call(s->channels, buf_slice(&address), MASTER_STATUS,
                             &opts, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err);
    (void)fiber_set_deadline(before);
    buf_close(&address);
    return rc == 0;
}

/* Unloading all tablets, so that nobody has to read our log. */
struct leaving {
    struct tablet_server *server;
    struct served **list;
    size_t count;
    size_t next;
    bool system; /* METADATA's tablets, after those whose records they hold. */
    bool alone;  /* There is no master. */
    bool done;
    unsigned misses; /* Consecutive looks that found no master. */
};

static void unload_some(void *arg)
{
    struct leaving *l = arg;
    struct tablet_server *s = l->server;
    while (l->next < l->count && !atomic_load(&s->over)) {
        struct served *t = l->list[l->next++];
        const struct tablet_order o = {.tablet = t->id, .epoch = t->epoch};
        struct err err = ERR_INIT;
        uint64_t closed_us;
        if ((t->table_id == METADATA_TABLE_ID) != l->system || l->alone)
            continue;
        l->alone = !has_master(s);
        if (!l->alone && unload_tablet(s, &o, &closed_us, &err) != 0)
            log_warn(s->world, "tablet", "leaving: %s", err.text);
    }
}

static void run_unloads(void *arg)
{
    struct leaving *l = arg;
    loop_task_run_here(&l->server->loop_tasks, unload_some, l);
}

/* The cluster may end while tablets are unloaded. */
static void look_for_master(void *arg)
{
    struct leaving *l = arg;
    while (fiber_check(NULL) == 0) {
        l->misses = has_master(l->server) ? 0 : l->misses + 1;
        world_sleep_us(l->server->world, MASTER_LOOK_US);
    }
}

/* Tablets that cannot be unloaded in time are recovered from the log. */
static void watch_leaving(void *arg)
{
    struct leaving *l = arg;
    struct tablet_server *s = l->server;
    uint64_t end_ns = world_mono_ns(s->world) + LEAVE_US * 1000;
    struct fiber *look =
        fiber_start(s->loop, "tablet-leave", look_for_master, l);
    while (!l->done && l->misses < MISSES_MAX &&
           world_mono_ns(s->world) < end_ns)
        world_sleep_us(s->world, LOOK_US);
    fiber_cancel(look);
    fiber_join(look);
    atomic_store(&s->over, true);
    fs_hurry(s->fs);
    loop_tasks_end(&s->loop_tasks);
}

static void unload_all(struct tablet_server *s)
{
    struct leaving l = {.server = s};
    struct fiber *watch =
        fiber_start(s->loop, "tablet-leave", watch_leaving, &l);

    PRE(s->stopping);
    PRE(atomic_load(&s->ready));
    l.list = served_list(&s->served, &l.count);
    for (int system = 0; system < 2; system++) {
        struct fiber *fibers[UNLOADS];
        l.system = system;
        l.next = 0;
        for (size_t i = 0; i < UNLOADS; i++)
            fibers[i] = fiber_start(s->loop, "tablet-leave", run_unloads, &l);
        for (size_t i = 0; i < UNLOADS; i++)
            fiber_join(fibers[i]);
    }
    l.done = true;
    fiber_join(watch);
    for (size_t i = 0; i < l.count; i++)
        served_unref(l.list[i]);
    mem_free(l.list);
}

void tablet_server_leave(struct tablet_server *s)
{
    struct err why = ERR_INIT;

    PRE(loop_self() == s->loop);
    s->stopping = true;
    end_starter(s);
    err_set(&why, ERR_CLOSED, "this tablet server is ending");
    server_fail(s, &why);
    /* The servers that would answer them may be ending as well. */
    loop_tasks_end(&s->loop_tasks);
    if (s->fs)
        fs_hurry(s->fs);
    session_quit(s->session); /* The cluster may be gone when this closes. */
}

void tablet_server_stop(struct tablet_server *s)
{
    PRE(loop_self() == s->loop);
    s->stopping = true;
    end_starter(s);
    if (atomic_load(&s->ready))
        unload_all(s);
    tablet_server_leave(s);
}

static void wait_for_work(struct tablet_server *s)
{
    mutex_lock(&s->work_lock);
    while (s->work_count > 0)
        cond_wait(&s->work_done, &s->work_lock);
    mutex_unlock(&s->work_lock);
}

static void close_parts(struct tablet_server *s)
{
    PRE(s->work_count == 0);
    PRE(!s->starter);
    served_set_close(&s->served);
    if (s->store)
        store_close(s->store);
    else
        write_log_close(s->log);
    heat_log_free(s->heat);
    tablet_rows_free(s->root);
    tablet_rows_free(s->metadata);
    quarry_close(s->quarry);
    rule_book_close(s->rules);
    s->rules = NULL;
    session_leave(s->session);
    fs_close(s->fs);
    channel_set_close(s->channels);
    program_cache_free(s->programs);
    reader_pool_free(s->readers);
    segment_cache_free(s->segments);
    schemas_close(s);
}

void tablet_server_close(struct tablet_server *s)
{
    if (!s)
        return;
    atomic_store(&s->over, true);
    loop_tasks_end(&s->loop_tasks);
    end_starter(s);
    wait_for_work(s);
    INVARIANT(s->loads == 0);                       /* INV-3 */
    INVARIANT(atomic_load(&s->request_bytes) == 0); /* INV-4 */
    close_parts(s);
    mutex_close(&s->client_lock);
    mutex_close(&s->schema_lock);
    cond_close(&s->load_done);
    mutex_close(&s->load_lock);
    mutex_close(&s->failure_lock);
    cond_close(&s->work_done);
    mutex_close(&s->work_lock);
    mem_free(s->address);
    mem_free(s);
}

/* --- figures ------------------------------------------------------------- */

void tablet_server_get_stats(struct tablet_server *s,
                             struct tablet_server_stats *out)
{
    size_t count;
    struct served **list = served_list(&s->served, &count);
    *out = (struct tablet_server_stats){.number = s->number,
                                        .is_ready = atomic_load(&s->ready),
                                        .tablets = count,
                                        .lost = atomic_load(&s->lost_count)};
    if (out->is_ready) {
        INVARIANT(s->store);
        INVARIANT(s->log); /* INV-1 */
        out->memory_bytes = atomic_load(&s->store->env.memory_bytes);
        out->log_bytes = write_log_bytes(s->log);
    }
    for (size_t i = 0; i < count; i++) {
        out->reads += atomic_load(&list[i]->reads);
        out->writes += atomic_load(&list[i]->writes);
        served_unref(list[i]);
    }
    mem_free(list);
}
