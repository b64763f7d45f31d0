/* The stream of watches and the fiber that reads it. A caller adds a
 * watch to a list and, when the stream is open, to the stream; the fiber opens
 * the stream with all that are in the list, again and again.
 */
#include "chubby-lite/etcd/etcd_watch.h"

#include <string.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/grpc/grpc_channel.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/etcd/etcd_link.h"
#include "chubby-lite/etcd/etcd_message.h"
#include "chubby-lite/wait_queue.h"

/* Before a stream that has failed is opened again, at random up to this. */
#define PAUSE_NS UINT64_C(100000000)

struct watch {
    TAILQ_ENTRY(watch) link; /* Oldest first. */
    uint64_t id;
    enum etcd_watch_kind kind;
    char *path;
    bool armed;         /* It tells; else it only waits to be used again. */
    uint64_t seen;      /* The newest answer that it is about. */
    uint64_t told_upto; /* Events have come up to this revision. */
    uint64_t hit;       /* The newest that it told of. */
};

struct etcd_watches {
    struct world *world;
    struct etcd_link *link;
    const char *root;
    etcd_watch_cb cb;
    void *ctx;
    TAILQ_HEAD(watch_list, watch) all;
    size_t count;
    uint64_t last_id;
    uint64_t revision;             /* The newest that any has told of. */
    struct channel_stream *stream; /* NULL: none is open. */
    struct rand_gen random;
    struct wait_queue changed;
    struct fiber *fiber;
    bool closing;
};

/* --- requests ------------------------------------------------------------ */

static void send_watch(struct etcd_watches *w, const struct watch *one)
{
    struct buf begin = BUF_INIT;
    struct buf end = BUF_INIT;
    struct buf request = BUF_INIT;

    PRE(w->stream);
    if (one->kind == ETCD_WATCH_LIST)
        etcd_put_children(one->path, &begin, &end);
    else
        etcd_put_key(w->root, one->path, &begin);
    etcd_put_watch(one->id, buf_slice(&begin), buf_slice(&end),
                   MAX_OF(one->seen, one->told_upto) + 1, &request);
    channel_stream_send(w->stream, buf_slice(&request));
    buf_close(&begin);
    buf_close(&end);
    buf_close(&request);
}

static void watch_end(struct etcd_watches *w, struct watch *one, bool tell)
{
    struct buf request = BUF_INIT;

    if (tell && w->stream) {
        etcd_put_watch_cancel(one->id, &request);
        channel_stream_send(w->stream, buf_slice(&request));
        buf_close(&request);
    }
    TAILQ_REMOVE(&w->all, one, link);
    w->count--;
    mem_free(one->path);
    mem_free(one);
}

static struct watch *find_watch(const struct etcd_watches *w,
                                enum etcd_watch_kind kind,
                                const char *path)
{
    struct watch *one;

    TAILQ_FOREACH(one, &w->all, link)
        if (one->kind == kind && strcmp(one->path, path) == 0)
            return one;
    return NULL;
}

/* The oldest makes room: who relied on it looks again. */
static void end_oldest(struct etcd_watches *w)
{
    struct watch *one = TAILQ_FIRST(&w->all);

    while (one && one->kind == ETCD_WATCH_END)
        one = TAILQ_NEXT(one, link);
    PRE(one);
    if (one->armed)
        w->cb(w->ctx, one->kind, one->path);
    watch_end(w, one, true);
}

void etcd_watches_add(struct etcd_watches *w,
                      enum etcd_watch_kind kind,
                      const char *path,
                      uint64_t revision)
{
    struct watch *one = find_watch(w, kind, path);

    PRE(!w->closing);
    if (one) { /* INV-1 */
        /* It has told already of what the answer did not see. */
        if (!one->armed && one->hit > revision) {
            w->cb(w->ctx, kind, path);
            return;
        }
        one->armed = true;
        one->seen = MAX_OF(one->seen, revision);
        return;
    }
    if (w->count == ETCD_WATCHES_MAX)
        end_oldest(w); /* INV-2 */
    one = mem_zalloc(1, sizeof(*one));
    *one = (struct watch){.id = ++w->last_id,
                          .kind = kind,
                          .path = mem_strdup(path),
                          .armed = true,
                          .seen = revision};
    TAILQ_INSERT_TAIL(&w->all, one, link);
    w->count++;
    if (w->stream)
        send_watch(w, one);
    else
        wait_queue_wake(&w->changed);
}

uint64_t etcd_watches_revision(const struct etcd_watches *w)
{
    return w->revision;
}

/* --- what comes ---------------------------------------------------------- */

static struct watch *find_id(const struct etcd_watches *w, uint64_t id)
{
    struct watch *one;

    TAILQ_FOREACH(one, &w->all, link)
        if (one->id == id)
            return one;
    return NULL;
}

static bool is_about(const struct watch *one, const struct etcd_event *e)
{
    switch (one->kind) {
    case ETCD_WATCH_VALUE: return true;
    case ETCD_WATCH_LIST: return e->made || e->removed;
    case ETCD_WATCH_END: return e->removed;
    }
    return false;
}

/* Events of one watch. An event that an answer had seen already tells those who
 * asked before, and the watch stays for the others. */
static void
take_events(struct etcd_watches *w, struct watch *one, struct etcd_notice *n)
{
    struct etcd_event e;
    bool hit = false;

    while (etcd_next_event(n, &e)) {
        one->told_upto = MAX_OF(one->told_upto, e.revision);
        if (is_about(one, &e)) {
            one->hit = e.revision;
            hit = true;
        }
    }
    if (!hit)
        return;
    w->revision = MAX_OF(w->revision, one->hit);
    if (!one->armed) {
        watch_end(w, one, true);
        return;
    }
    if (one->kind != ETCD_WATCH_END)
        one->armed = one->hit <= one->seen;
    w->cb(w->ctx, one->kind, one->path);
}

/* The server has ended a watch: its revision was compacted away, or the caller
 * may not read there. Look again. */
static void take_end(struct etcd_watches *w, struct watch *one)
{
    bool armed = one->armed;
    enum etcd_watch_kind kind = one->kind;
    char *path = mem_strdup(one->path);

    watch_end(w, one, false);
    if (armed && kind != ETCD_WATCH_END)
        w->cb(w->ctx, kind, path);
    mem_free(path);
}

static int
take_notice(struct etcd_watches *w, struct slice message, struct err *err)
{
    struct etcd_notice n;
    struct watch *one;
    int rc = etcd_get_notice(message, &n, err);

    if (rc)
        return rc;
    one = find_id(w, n.id);
    if (one && n.cancelled)
        take_end(w, one);
    else if (one)
        take_events(w, one, &n);
    return 0;
}

/* --- the stream ---------------------------------------------------------- */

/* Read the stream until it ends. */
static int
read_stream(struct etcd_watches *w, struct grpc_channel *c, struct err *err)
{
    struct channel_status status = {.code = GRPC_STATUS_OK};
    struct slice message;
    bool ended = false;
    int rc = 0;

    while (!rc && !ended) {
        rc = channel_stream_next(w->stream, &message, &ended, &status, err);
        if (!rc && !ended)
            rc = take_notice(w, message, err);
    }
    if (!rc && status.code != GRPC_STATUS_OK)
        rc = etcd_link_refused(w->link, c, &status, err);
    return rc;
}

/* Those that only wait are not made again. */
static void send_all(struct etcd_watches *w)
{
    struct watch *one = TAILQ_FIRST(&w->all);

    while (one) {
        struct watch *next = TAILQ_NEXT(one, link);
        if (one->armed)
            send_watch(w, one);
        else
            watch_end(w, one, false);
        one = next;
    }
}

static int run_stream(struct etcd_watches *w, struct err *err)
{
    struct grpc_channel *c;
    int rc = etcd_link_stream(w->link, "/etcdserverpb.Watch/Watch", &w->stream,
                              &c, err);

    if (rc)
        return rc;
    send_all(w);
    rc = read_stream(w, c, err);
    channel_stream_close(w->stream);
    w->stream = NULL;
    if (rc && rc != ERR_CANCELLED)
        etcd_link_fail(w->link, c);
    grpc_channel_unref(c);
    return rc;
}

static void watch_loop(void *arg)
{
    struct etcd_watches *w = arg;

    while (!w->closing && fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        if (w->count == 0) {
            (void)!wait_queue_wait(&w->changed, 0, NULL);
            continue;
        }
        if (run_stream(w, &err) && !w->closing)
            log_debug(w->world, "lock", "watches in etcd: %s", err.text);
        if (!w->closing && fiber_check(NULL) == 0)
            (void)!wait_queue_wait(&w->changed,
                                   world_mono_ns(w->world) +
                                       rand_below(&w->random, PAUSE_NS),
                                   NULL);
    }
}

/* --- beginning and end --------------------------------------------------- */

struct etcd_watches *etcd_watches_new(struct world *world,
                                      struct etcd_link *l,
                                      const char *root,
                                      etcd_watch_cb cb,
                                      void *ctx)
{
    struct etcd_watches *w = mem_zalloc(1, sizeof(*w));

    w->world = world;
    w->link = l;
    w->root = root;
    w->cb = cb;
    w->ctx = ctx;
    rand_init(&w->random, world_random(world));
    TAILQ_INIT(&w->all);
    LIST_INIT(&w->changed);
    w->fiber = fiber_start(loop_self(), "etcd-watch", watch_loop, w);
    return w;
}

void etcd_watches_free(struct etcd_watches *w)
{
    if (!w)
        return;
    w->closing = true;
    fiber_cancel(w->fiber);
    fiber_join(w->fiber);
    PRE(!w->stream);
    while (!TAILQ_EMPTY(&w->all))
        watch_end(w, TAILQ_FIRST(&w->all), false);
    mem_free(w);
}
