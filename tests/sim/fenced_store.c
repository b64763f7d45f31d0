/* The store's service, see fenced_store.h. */
#include "tests/sim/fenced_store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "tests/sim/storm.h"

#define METHOD_WRITE 900
#define ADDRESS      "store:7000"
#define PATHS_MAX    8
/* A sequencer is checked in so much, or the write fails. */
#define CHECK_US (10 * SECOND_US)

/* The newest sequencer that was taken of one lock. */
struct newest {
    char *path; /* Owned. */
    uint64_t generation;
};

struct fenced_store {
    struct sim_cell *cell;
    struct history_lock *history;
    struct world *world;
    struct chubby *chubby; /* While there is a session. */
    bool expired;
    struct mutex mutex;
    struct newest newest[PATHS_MAX];
    size_t path_count;
    uint64_t taken;
    uint64_t refused;
};

struct sequencer sequencer_parse(const char *text)
{
    const char *generation = strchr(text, ':');
    const char *instance = generation ? strchr(generation + 1, ':') : NULL;
    const char *path = instance ? strchr(instance + 1, ':') : NULL;
    STORM_CHECK(path, "\"%s\" is no sequencer", text);
    return (struct sequencer){.shared = text[0] == 's',
                              .generation = strtoull(generation + 1, NULL, 10),
                              .path = path + 1};
}

/* --- the service --------------------------------------------------------- */

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct fenced_store *s = ctx;
    (void)h;
    s->expired |= event == CHUBBY_EVENT_EXPIRED;
}

static int ensure_session(struct fenced_store *s, struct err *err)
{
    if (s->chubby && s->expired) {
        chubby_disconnect(s->chubby);
        s->chubby = NULL;
    }
    if (s->chubby)
        return 0;
    s->expired = false;
    return sim_cell_chubby(s->cell, s->world, on_event, s, &s->chubby, err);
}

static struct newest *newest_of(struct fenced_store *s, const char *path)
{
    for (size_t i = 0; i < s->path_count; i++)
        if (strcmp(s->newest[i].path, path) == 0)
            return &s->newest[i];
    PRE(s->path_count < PATHS_MAX);
    s->newest[s->path_count] = (struct newest){.path = mem_strdup(path)};
    return &s->newest[s->path_count++];
}

static void take(struct fenced_store *s, const struct sequencer *q)
{
    struct newest *n = newest_of(s, q->path);
    STORM_CHECK(q->generation >= n->generation,
                "the store took generation %" PRIu64
                " of lock %s after generation %" PRIu64,
                q->generation, q->path, n->generation);
    n->generation = q->generation;
    s->taken++;
}

/* PRE: the mutex is held. */
static int
check_and_take(struct fenced_store *s, const char *text, struct err *err)
{
    struct sequencer q = sequencer_parse(text);
    struct lock_input input = {.generation = q.generation, .shared = q.shared};
    size_t op;
    int rc = ensure_session(s, err);
    if (rc)
        return rc;
    op = history_lock_call(s->history, storm_now_us(), 0, LOCK_CHECK, q.path,
                           &input);
    rc = chubby_check_sequencer(s->chubby, slice_str(text), err);
    history_lock_return(s->history, op, storm_now_us(), rc, NULL);
    if (rc == 0)
        take(s, &q);
    s->refused += rc == ERR_ABORTED;
    return rc;
}

static int serve_write(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fenced_store *s = ctx;
    char *text = mem_strndup(call->attachment.data, call->attachment.len);
    uint64_t old;
    int rc;
    mutex_lock(&s->mutex);
    old = fiber_set_deadline(world_mono_ns(s->world) + CHECK_US * 1000);
    rc = check_and_take(s, text, err);
    fiber_set_deadline(old);
    mutex_unlock(&s->mutex);
    mem_free(text);
    return rc;
}

static void run_store(void *arg)
{
    static const struct rpc_method method = {METHOD_WRITE, "store.write",
                                             serve_write, 0};
    struct fenced_store *s = arg;
    struct rpc_server *rpc = rpc_server_new(s->world);
    struct rpc_listen_options listen = {.security = s->cell->security};
    struct rpc_listener *listener = NULL;
    rpc_server_add(rpc, &method, 1, s);
    if (rpc_listen(rpc, "0.0.0.0:7000", &listen, &listener, NULL) == 0)
        while (fiber_check(NULL) == 0)
            world_sleep_us(s->world, SECOND_US / 10);
    rpc_listener_close(listener);
    chubby_disconnect(s->chubby);
    s->chubby = NULL;
    rpc_server_free(rpc);
}

/* --- life ---------------------------------------------------------------- */

struct fenced_store *fenced_store_new(struct sim_cell *cell,
                                      struct history_lock *h)
{
    struct fenced_store *s = mem_zalloc(1, sizeof(*s));
    s->cell = cell;
    s->history = h;
    s->world = sim_machine_new(cell->sim, "store",
                               &(struct sim_options){.network_us = 300});
    mutex_init(&s->mutex);
    sim_boot(s->world, run_store, s);
    return s;
}

void fenced_store_free(struct fenced_store *s)
{
    for (size_t i = 0; i < s->path_count; i++)
        mem_free(s->newest[i].path);
    mutex_close(&s->mutex);
    mem_free(s);
}

struct world *fenced_store_machine(const struct fenced_store *s)
{
    return s->world;
}

uint64_t fenced_store_taken(const struct fenced_store *s)
{
    return s->taken;
}

uint64_t fenced_store_refused(const struct fenced_store *s)
{
    return s->refused;
}

int fenced_store_write(struct fenced_store *s,
                       const char *sequencer,
                       struct err *err)
{
    struct rpc_channel *channel = rpc_channel_new(
        ADDRESS, &(struct rpc_channel_options){.security = s->cell->security});
    struct rpc_call_options o = {.timeout_us = CHECK_US};
    int rc = rpc_call(channel, METHOD_WRITE, &o, SLICE_EMPTY,
                      slice_str(sequencer), NULL, NULL, err);
    rpc_channel_free(channel);
    return rc;
}
