/* A client's session: its beginning, its keep-alives, its end.
 *
 * One fiber sends keep-alives, one after the other. The lease counts from the
 * moment that a keep-alive was sent, less the drift of two clocks, so it ends
 * no later than the leader believes (chubby_client.h).
 */
#include "chubby-lite/chubby_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_wire.h"

#define LEASE_MS_DEFAULT    12000
#define GRACE_MS_DEFAULT    45000
#define CACHE_BYTES_DEFAULT ((uint64_t)4 << 20)
/* The drift of two machines' clocks over a lease: at most 1/64. */
#define DRIFT_SHARE 64
#define GOODBYE_US  UINT64_C(2000000)
/* The same for a caller that was cancelled. */
#define HASTY_GOODBYE_US UINT64_C(500000)
/* A session's number in hexadecimal. */
#define NOTE_DIGITS 16

static const struct chubby_ops client_ops;

/* --- events -------------------------------------------------------------- */

static struct lock_client_handle *find_handle(const struct lock_client *c,
                                              uint64_t id)
{
    struct lock_client_handle *h;

    LIST_FOREACH(h, &c->handles, link)
        if (h->id == id)
            return h;
    return NULL;
}

void client__notify(struct lock_client *c, uint64_t id, unsigned event)
{
    struct lock_client_handle *h = id ? find_handle(c, id) : NULL;

    INVARIANT(c->stray_count <= CLIENT_STRAYS_MAX);
    if (id && !h) {
        /* Its opening may be answered after this. */
        if (c->opening_count > 0 && c->stray_count < CLIENT_STRAYS_MAX)
            c->strays[c->stray_count++] = (struct stray){id, event};
        return;
    }
    if (c->on_event && !c->closing)
        c->on_event(c->ctx, h ? &h->base : NULL, (enum chubby_event)event);
}

bool client__may_use_cache(const struct lock_client *c)
{
    return c->state == SESSION_SAFE && world_mono_ns(c->world) < c->deadline_ns;
}

static bool client_is_safe(const struct chubby *base)
{
    return client__may_use_cache((const struct lock_client *)base);
}

/* --- keep-alives --------------------------------------------------------- */

static void set_state(struct lock_client *c, enum session_state state)
{
    if (c->state == state || c->state == SESSION_EXPIRED)
        return;
    c->state = state;
    if (state != SESSION_SAFE)
        client_cache_drop_all(&c->cache);
    INVARIANT(state == SESSION_SAFE || c->cache.bytes == 0); /* INV-2 */
    wait_queue_wake(&c->changed);
    client__notify(c, 0,
                   state == SESSION_SAFE       ? CHUBBY_EVENT_SAFE
                   : state == SESSION_JEOPARDY ? CHUBBY_EVENT_JEOPARDY
                                               : CHUBBY_EVENT_EXPIRED);
}

/* Another leader answered: it does not know what is cached here. */
static void meet_leader(struct lock_client *c, uint64_t term)
{
    bool first = c->term == 0;

    if (c->term == term)
        return;
    c->term = term;
    c->heard = 0; /* INV-3 */
    client_cache_drop_all(&c->cache);
    if (!first)
        client__notify(c, 0, CHUBBY_EVENT_FAILOVER);
}

static int
chubby_hear(struct lock_client *c, struct slice reply, uint64_t sent_ns)
{
    struct codec_reader r = codec_reader_make(reply);
    struct chubby_news_item item;
    uint64_t term;
    uint64_t count;
    uint64_t lease_ns;
    uint32_t lease_ms;
    int rc = chubby_news_get_head(&r, &term, &lease_ms, &count, NULL);

    if (rc)
        return rc;
    meet_leader(c, term);
    for (; count > 0; count--) {
        rc = chubby_news_get_item(&r, &item, NULL);
        if (rc)
            return rc;
        if (item.number <= c->heard)
            continue;
        c->heard = item.number;
        if (item.kind == CHUBBY_NEWS_INVALIDATE)
            client_cache_drop(&c->cache, item.target);
        else
            client__notify(c, item.target, item.event);
    }
    lease_ns = (uint64_t)lease_ms * 1000000;
    c->deadline_ns = sent_ns + lease_ns - lease_ns / DRIFT_SHARE;
    if (world_mono_ns(c->world) < c->deadline_ns)
        set_state(c, SESSION_SAFE);
    return 0;
}

/* Put the session in jeopardy, or let it expire, when it is time. */
static void chubby_age(struct lock_client *c)
{
    uint64_t now = world_mono_ns(c->world);

    if (now < c->deadline_ns)
        return;
    if (c->term) /* Nothing relies on the lease before the first answer. */
        set_state(c, SESSION_JEOPARDY);
    if (now - c->deadline_ns >= (uint64_t)c->grace_ms * 1000000)
        set_state(c, SESSION_EXPIRED);
}

/* How long to wait for the answer to a keep-alive: longer than the server holds
 * it back, but not past the end of the lease. */
static uint64_t patience_us(const struct lock_client *c)
{
    uint64_t us = (uint64_t)c->lease_ms * 1000 / 2;
    uint64_t now = world_mono_ns(c->world);

    if (c->deadline_ns > now)
        us = MIN_OF(us, (c->deadline_ns - now) / 1000);
    INVARIANT(us <= (uint64_t)c->lease_ms * 1000 / 2);
    return MAX_OF(us, UINT64_C(200000));
}

static int keep_alive(struct lock_client *c,
                      struct leader_search *search,
                      struct buf *body,
                      struct buf *reply)
{
    struct chubby_keep_alive k = {c->session, c->term, c->heard};
    uint64_t sent_ns = world_mono_ns(c->world);
    struct leader_request q;
    bool again;
    int rc;

    PRE(c->session != 0);
    PRE(c->state != SESSION_EXPIRED);
    buf_clear(body);
    chubby_keep_alive_put(&k, body);
    q = (struct leader_request){.method = CHUBBY_METHOD_KEEP_ALIVE,
                                .timeout_us = patience_us(c),
                                .body = buf_slice(body),
                                .reply_body = reply};
    rc = leader_try(c->leader, search, &q, &again, NULL);
    if (!rc)
        rc = chubby_hear(c, buf_slice(reply), sent_ns);
    if (rc && !again)
        set_state(c, SESSION_EXPIRED);
    return rc;
}

static void chubby_keep_alive_loop(void *arg)
{
    struct lock_client *c = arg;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct leader_search search = {.tries = 0};
    uint64_t pause_ns;
    int rc = 0;

    /* Until client_disconnect() cancels it: closing the session needs calls. */
    while (c->state != SESSION_EXPIRED) {
        rc = keep_alive(c, &search, &body, &reply);
        chubby_age(c);
        if (fiber_check(NULL))
            break;
        if (!rc) {
            search = (struct leader_search){.tries = 0};
            continue;
        }
        pause_ns = 10000000 + rand_below(&c->random, 50000000);
        if (wait_queue_wait(&c->changed, world_mono_ns(c->world) + pause_ns,
                            NULL) == ERR_CANCELLED)
            break;
    }
    /* Cancelled, with its machine or by client_disconnect(): calls that wait
     * for the session must end. */
    set_state(c, SESSION_EXPIRED);
    buf_close(&body);
    buf_close(&reply);
}

/* --- beginning and end --------------------------------------------------- */

static int chubby_begin_session(struct lock_client *c, struct err *err)
{
    struct chubby_command command = {.operation = CHUBBY_OP_SESSION_OPEN,
                                     .session = c->session,
                                     .lock_delay_ms = c->lease_ms,
                                     .contents = slice_str(c->address)};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct chubby_answer a;
    int rc;

    chubby_command_put(&command, &body);
    rc = client__call(c, CHUBBY_METHOD_EXECUTE, 0, buf_slice(&body), &reply,
                      err);
    if (!rc)
        rc = client__answer(buf_slice(&reply), &a, err);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

/* --- the predecessor ----------------------------------------------------- */

/* End @session of a process that is gone. */
static void end_other(struct lock_client *c, uint64_t session)
{
    struct chubby_command command = {.operation = CHUBBY_OP_SESSION_CLOSE,
                                     .session = session};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;

    if (session == 0)
        return;
    chubby_command_put(&command, &body);
    /* If no server answers, the lease ends the session. */
    (void)!client__call(c, CHUBBY_METHOD_EXECUTE, 0, buf_slice(&body), &reply,
                        NULL);
    buf_close(&body);
    buf_close(&reply);
}

/* 0: it is no note of ours. */
static uint64_t noted_session(const char *note)
{
    bool is_ours = strlen(note) == NOTE_DIGITS &&
                   strspn(note, "0123456789abcdef") == NOTE_DIGITS;

    return is_ours ? strtoull(note, NULL, 16) : 0;
}

static void end_predecessor(struct lock_client *c, const char *memo)
{
    char note[CHUBBY_NOTE_BYTES_MAX];

    if (chubby__read_memo(c->world, memo, note))
        end_other(c, noted_session(note));
    snprintf(note, sizeof(note), "%016" PRIx64, c->session);
    chubby__write_memo(c->world, memo, note);
}

static void connect_servers(struct lock_client *c,
                            const struct chubby_options *opts)
{
    const struct rpc_channel_options o = {.security = opts->security,
                                          .connect_timeout_us = 2000000,
                                          .connect_wait_us = 500000,
                                          .backoff_max_us = 500000};
    struct leader_options l = {.world = c->world,
                               .service = "lock server",
                               .is_transient = client__is_transient};
    size_t i;

    c->channels = channel_set_new(&o);
    l.channels = c->channels;
    c->leader = leader_new(&l);
    for (i = 0; i < opts->server_count; i++)
        leader_add(c->leader, slice_str(opts->servers[i]));
}

static struct lock_client *client_new(struct world *w,
                                      const struct chubby_options *opts)
{
    struct lock_client *c = mem_zalloc(1, sizeof(*c));

    c->base.ops = &client_ops;
    c->world = w;
    c->on_event = opts->on_event;
    c->ctx = opts->ctx;
    c->address = mem_strdup(opts->address ? opts->address : "");
    c->lease_ms = opts->lease_ms  ? opts->lease_ms
                  : opts->address ? CHUBBY_SERVER_LEASE_MS
                                  : LEASE_MS_DEFAULT;
    c->grace_ms = opts->grace_ms ? opts->grace_ms : GRACE_MS_DEFAULT;
    rand_init(&c->random, world_random(w));
    LIST_INIT(&c->changed);
    LIST_INIT(&c->landed);
    LIST_INIT(&c->handles);
    session_window_init(&c->window);
    client_cache_init(&c->cache, opts->cache_bytes ? opts->cache_bytes
                                                   : CACHE_BYTES_DEFAULT);
    do
        c->session = world_random(w);
    while (c->session == 0);
    connect_servers(c, opts);
    return c;
}

static void client_free(struct lock_client *c)
{
    PRE(LIST_EMPTY(&c->handles)); /* INV-4 */
    client_cache_close(&c->cache);
    leader_free(c->leader);
    channel_set_close(c->channels);
    mem_free(c->address);
    mem_free(c);
}

void lock_client_end_session(struct world *w,
                             const struct chubby_options *opts,
                             const char *note)
{
    struct lock_client *c = client_new(w, opts);

    end_other(c, noted_session(note));
    client_free(c);
}

int lock_client_connect(struct world *w,
                        const struct chubby_options *opts,
                        struct chubby **out,
                        struct err *err)
{
    struct lock_client *c;
    int rc;

    PRE(opts->server_count > 0);
    c = client_new(w, opts);
    if (opts->memo)
        end_predecessor(c, opts->memo);
    rc = chubby_begin_session(c, err);
    if (rc)
        goto fail;
    /* It is not safe before the first answer; the grace period starts now. */
    c->deadline_ns = world_mono_ns(w);
    c->keep_alive =
        fiber_start(loop_self(), "lock-keep-alive", chubby_keep_alive_loop, c);
    while (!rc && c->term == 0 && c->state != SESSION_EXPIRED)
        rc = wait_queue_wait(&c->changed, world_mono_ns(w) + 20000000, err) ==
                     ERR_CANCELLED
                 ? ERR_CANCELLED
                 : fiber_check(err);
    if (!rc && c->state == SESSION_EXPIRED)
        rc = err_set(err, ERR_UNAVAILABLE, "the session ended as it began");
    if (rc) {
        c->closing = true;
        fiber_cancel(c->keep_alive);
        fiber_join(c->keep_alive);
        goto fail;
    }
    INVARIANT(c->term != 0);
    *out = &c->base;
    return 0;

fail:
    err_wrap(err, "connect to the lock service");
    client_free(c);
    return rc;
}

struct goodbye {
    struct lock_client *client;
    uint64_t until_ns;
};

static void say_goodbye(void *arg)
{
    const struct goodbye *g = arg;
    struct chubby_command command = {.operation = CHUBBY_OP_SESSION_CLOSE};
    struct chubby_answer a;
    struct buf reply = BUF_INIT;

    (void)fiber_set_deadline(g->until_ns);
    /* If no server answers, the lease ends the session. */
    if (client__execute(g->client, &command, &reply, &a, NULL))
        buf_clear(&reply);
    buf_close(&reply);
}

/* In a fiber of its own, because the caller's may have been cancelled. A
 * session that is not closed makes others wait for its lease before they can
 * change nodes that it has cached. */
static void chubby_part_session(struct lock_client *c)
{
    uint64_t deadline = fiber_deadline();
    bool haste = fiber_check(NULL) == ERR_CANCELLED;
    struct goodbye g = {c, world_mono_ns(c->world) +
                               (haste ? HASTY_GOODBYE_US : GOODBYE_US) * 1000};

    PRE(c->closing);
    PRE(LIST_EMPTY(&c->handles));
    if (deadline)
        g.until_ns = MIN_OF(g.until_ns, deadline);
    fiber_join(fiber_start(loop_self(), "lock-goodbye", say_goodbye, &g));
}

static void client_disconnect(struct chubby *base)
{
    struct lock_client *c = client__session(base);

    PRE(LIST_EMPTY(&c->handles));
    c->closing = true;
    if (c->state == SESSION_SAFE)
        chubby_part_session(c);
    fiber_cancel(c->keep_alive);
    fiber_join(c->keep_alive);
    client_free(c);
}

static const struct chubby_ops client_ops = {
    .disconnect = client_disconnect,
    .is_safe = client_is_safe,
    .open = client__open,
    .close = client__close,
    .read = client__read,
    .is_cached = client__is_cached,
    .get_stat = client__get_stat,
    .list = client__list,
    .write = client__write,
    .set_acl = client__set_acl,
    .remove = client__remove,
    .acquire = client__acquire,
    .try_acquire = client__try_acquire,
    .release = client__release,
    .sequencer = client__sequencer,
    .check_sequencer = client__check_sequencer,
    .list_sessions = client__list_sessions,
    .list_entries = client__list_entries,
};
