/* Reading a chunk over the network: from the nearest server first, and if it is
 * slow or fails, from the next one in parallel (a hedged read).
 */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "gfs-lite/client/gfs_client.h"

#define ATTEMPT_US UINT64_C(6000000)
/* Consecutive reads that prefer the same of equally near servers. */
#define READS_TOGETHER 4

struct remote_read;

struct attempt {
    struct remote_read *read;
    char *address; /* Owned. */
    struct fiber *fiber;
    struct trace_context trace; /* Of who reads. */
    struct rpc_sink
        data;     /* The first attempt reads into the caller's memory; */
    char *memory; /* others into their own, which is owned. */
    struct err err;
    int rc;
    bool done;
};

struct remote_read {
    struct gfs *gfs;
    const struct gfs_chunk *chunk;
    uint32_t offset;
    uint32_t len;
    char *dst;
    struct fiber *waiter;
    uint16_t order[GFS_REPLICAS_MAX]; /* Servers, the nearest first. */
    unsigned count;
    unsigned started;
    struct err *err;
    int rc;
    struct attempt attempts[GFS_REPLICAS_MAX]; /* Those that were started. */
};

static int remote_read_ask(struct attempt *a, uint32_t flags)
{
    struct remote_read *r = a->read;
    struct chunk_call call = {.handle = r->chunk->handle,
                              .version = r->chunk->version,
                              .offset = r->offset,
                              .length = r->len,
                              .flags = flags,
                              .proof = r->chunk->proof};
    struct rpc_call_options opts = {.timeout_us = ATTEMPT_US, .into = &a->data};
    struct buf body = BUF_INIT;
    int rc;
    a->data.len = 0;
    chunk_call_put(&call, &body);
    rc =
        peers_call_with(r->gfs->peers, slice_str(a->address), CHUNK_READ, &opts,
                        buf_slice(&body), SLICE_EMPTY, NULL, NULL, &a->err);
    buf_close(&body);
    if (rc == 0 && a->data.len != r->len)
        rc = err_set(&a->err, ERR_ABORTED, "%s has fewer bytes", a->address);
    return rc;
}

static void run_attempt(void *arg)
{
    struct attempt *a = arg;
    trace_use_context(&a->trace);
    a->rc = remote_read_ask(a, 0);
    if (a->rc == ERR_CORRUPT) /* Let the server verify it. */
        a->rc = remote_read_ask(a, CHUNK_VERIFY);
    a->done = true;
    fiber_wake(a->read->waiter);
}

/* The turn that decides among equally near servers: random, for some reads at a
 * time. Concurrent reads then share messages and wake-ups, and over time all
 * servers share the load. */
static uint64_t next_turn(struct gfs *g)
{
    if (g->reads_left == 0) {
        g->read_turn = world_random(g->base.world);
        g->reads_left = READS_TOGETHER;
    }
    g->reads_left--;
    return g->read_turn;
}

/* Nearest first. */
static void order_servers(struct remote_read *r)
{
    const struct gfs_server_set *s = &r->chunk->servers;
    uint64_t turn = next_turn(r->gfs);
    uint64_t ranks[GFS_REPLICAS_MAX];
    for (unsigned i = 0; i < s->count; i++) {
        int distance = gfs__distance(r->gfs, s->numbers[i]);
        uint64_t rank =
            (hash_mix(turn ^ s->numbers[i]) >> 2) | ((uint64_t)distance << 62);
        unsigned at = r->count++;
        for (; at > 0 && ranks[at - 1] > rank; at--) {
            ranks[at] = ranks[at - 1];
            r->order[at] = r->order[at - 1];
        }
        ranks[at] = rank;
        r->order[at] = s->numbers[i];
    }
}

static void start_next(struct remote_read *r)
{
    struct attempt *a = &r->attempts[r->started];
    char *address = NULL;
    while (r->count > r->started && !address) {
        address = gfs__server_address(r->gfs, r->order[r->started]);
        if (!address) { /* Its address is unknown. */
            r->count--;
            memmove(r->order + r->started, r->order + r->started + 1,
                    (r->count - r->started) * sizeof(r->order[0]));
        }
    }
    if (!address)
        return;
    r->started++;
    a->read = r;
    a->address = address;
    a->memory = NULL;
    err_init(&a->err);
    a->rc = 0;
    a->done = false;
    if (r->started > 1)
        a->memory = mem_alloc(r->len);
    a->data = (struct rpc_sink){.data = a->memory ? a->memory : r->dst,
                                .cap = r->len};
    trace_copy_context(&a->trace);
    a->fiber = fiber_start(r->gfs->loop, "gfs read", run_attempt, a);
    if (r->started > 1)
        atomic_fetch_add(&r->gfs->hedged_reads, 1);
}

static struct attempt *find_good(struct remote_read *r, unsigned *failed)
{
    *failed = 0;
    for (unsigned i = 0; i < r->started; i++) {
        if (r->attempts[i].done && r->attempts[i].rc == 0)
            return &r->attempts[i];
        *failed += r->attempts[i].done;
    }
    return NULL;
}

/* Wait for a good answer; start one more server each time that one fails or the
 * time for a hedge is over. */
static struct attempt *remote_read_race(struct remote_read *r)
{
    struct world *w = r->gfs->base.world;
    struct attempt *good = NULL;
    unsigned failed = 0;
    start_next(r);
    while (r->started > 0 && fiber_check(r->err) == 0) {
        uint64_t hedge = world_mono_ns(w) + r->gfs->hedge_us * 1000;
        bool more = r->started < r->count;
        good = find_good(r, &failed);
        if (good || (failed == r->started && !more))
            break;
        if (failed == r->started || (more && !fiber_park_until(hedge)))
            start_next(r);
        else if (!more)
            fiber_park();
    }
    return good;
}

/* All others stop first: the first attempt writes into the caller's memory. */
static void end_attempts(struct remote_read *r, const struct attempt *good)
{
    for (unsigned i = 0; i < r->started; i++) {
        struct attempt *a = &r->attempts[i];
        if (!a->done)
            fiber_cancel(a->fiber);
        fiber_join(a->fiber);
        if (a == good && a->memory)
            memcpy(r->dst, a->memory, r->len);
        mem_free(a->memory);
        mem_free(a->address);
    }
}

static void run_read(void *arg)
{
    struct remote_read *r = arg;
    struct attempt *good;
    r->waiter = fiber_self();
    order_servers(r);
    good = remote_read_race(r);
    if (!good)
        r->rc = err_set(r->err, ERR_UNAVAILABLE,
                        "chunk %llu: no server gave it: %.300s",
                        (unsigned long long)r->chunk->handle,
                        r->started ? r->attempts[0].err.text
                                   : "none is known to have a good copy");
    end_attempts(r, good);
}

int gfs__read_remote(struct gfs *g,
                     const struct gfs_chunk *c,
                     uint32_t offset,
                     uint32_t len,
                     char *dst,
                     struct err *err)
{
    struct remote_read *r = mem_alloc(sizeof(*r));
    int rc;
    /* The attempts, kilobytes, are cleared one by one when they start. */
    memset(r, 0, offsetof(struct remote_read, attempts));
    r->gfs = g;
    r->chunk = c;
    r->offset = offset;
    r->len = len;
    r->dst = dst;
    r->err = err;
    gfs__on_loop(g, "gfs read", run_read, r);
    atomic_fetch_add(&g->remote_reads, 1);
    rc = r->rc;
    mem_free(r);
    return rc;
}
