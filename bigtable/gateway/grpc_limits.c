/* Admitting connections, and ending those whose peers are slow, silent or idle
 * for too long: a fiber looks at all of them once a second.
 */
#include "bigtable/gateway/grpc_limits.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_connection.h"

#define SWEEP_US UINT64_C(1000000)
#define NS_OF_US 1000
/* One connection in ten is reserved for peers of this machine. */
#define RESERVE_SHARE 10
/* Idle for less than this, a connection keeps its place. */
#define IDLE_NS_MIN UINT64_C(10000000000)
/* A request has this long, and more for its bytes at the slowest rate. */
#define REQUEST_BYTES_PER_SECOND_MIN 4096
#define NS_PER_S                     UINT64_C(1000000000)

/* --- admission ----------------------------------------------------------- */

static struct slice host_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return slice_make(peer, colon ? (size_t)(colon - peer) : strlen(peer));
}

/* Those that count for one limit. */
enum scope {
    SCOPE_ADDRESS,
    SCOPE_REMOTE,
    SCOPE_ALL
};

struct applicant {
    struct slice host;
    bool local;
};

static bool is_in_scope(const struct grpc_connection *c,
                        enum scope scope,
                        const struct applicant *a)
{
    if (c->turned_away || c->leaving_ns)
        return false;
    switch (scope) {
    case SCOPE_ADDRESS: return slice_eq(host_of(stream_peer(c->io)), a->host);
    case SCOPE_REMOTE: return !c->local;
    case SCOPE_ALL: break;
    }
    return true;
}

static size_t count_in(const struct grpc_server *s,
                       enum scope scope,
                       const struct applicant *a)
{
    size_t count = 0;
    for (const struct grpc_connection *c = s->connections; c; c = c->next)
        count += is_in_scope(c, scope, a);
    return count;
}

static size_t leaving_count(const struct grpc_server *s)
{
    size_t count = 0;
    for (const struct grpc_connection *c = s->connections; c; c = c->next)
        count += c->turned_away || c->leaving_ns;
    return count;
}

/* End the connection of @scope that has been idle for longest. */
static bool
make_room(struct grpc_server *s, enum scope scope, const struct applicant *a)
{
    uint64_t now = world_mono_ns(s->world);
    struct grpc_connection *oldest = NULL;
    for (struct grpc_connection *c = s->connections; c; c = c->next)
        if (is_in_scope(c, scope, a) && c->call_count == 0 &&
            now - c->idle_ns >= IDLE_NS_MIN &&
            (!oldest || c->idle_ns < oldest->idle_ns))
            oldest = c;
    if (!oldest)
        return false;
    grpc_connection_leave(oldest, "idle, and its place is needed");
    return true;
}

static size_t limit_of(const struct grpc_server *s,
                       enum scope scope,
                       const struct applicant *a)
{
    size_t all = s->options.connections_max;
    size_t one = s->options.connections_per_address_max;
    switch (scope) {
    case SCOPE_ADDRESS: return a->local ? MAX_OF(one, all / 2) : one;
    case SCOPE_REMOTE: return a->local ? SIZE_MAX : all - all / RESERVE_SHARE;
    case SCOPE_ALL: break;
    }
    return all;
}

static int grpc_limits_explain(enum scope scope,
                               size_t limit,
                               const struct applicant *a,
                               struct err *why)
{
    if (scope == SCOPE_ADDRESS)
        err_set(why, ERR_EXHAUSTED,
                "%.*s has %zu connections, and may have no more",
                SLICE_ARG(a->host), limit);
    else
        err_set(why, ERR_EXHAUSTED,
                "the server has %zu connections%s, and may have no more", limit,
                scope == SCOPE_REMOTE ? " from other machines" : "");
    err_hint(why, "share connections, or close those that are not used");
    return ERR_EXHAUSTED;
}

enum grpc_admission grpc_admit(struct grpc_server *server,
                               const char *peer,
                               bool local,
                               struct err *why)
{
    const struct applicant a = {host_of(peer), local};
    bool crowded = leaving_count(server) >= GRPC_LEAVING_MAX;
    for (int i = SCOPE_ADDRESS; i <= SCOPE_ALL; i++) {
        enum scope scope = (enum scope)i;
        size_t limit = limit_of(server, scope, &a);
        if (count_in(server, scope, &a) < limit)
            continue;
        if (crowded || !make_room(server, scope, &a)) {
            (void)grpc_limits_explain(scope, limit, &a, why);
            return crowded ? GRPC_DROPPED : GRPC_TURNED_AWAY;
        }
    }
    INVARIANT(count_in(server, SCOPE_ALL, &a) <
              server->options.connections_max); /* INV-1 */
    return GRPC_SERVED;
}

/* --- the sweep ----------------------------------------------------------- */

static bool grpc_limits_passed(uint64_t now, uint64_t since, uint64_t us)
{
    return now - since >= us * NS_OF_US;
}

/* Too slow: a request that does not come, a reply that is not taken. */
static void sweep_call(struct grpc_call *call, uint64_t now)
{
    const struct grpc_options *o = &call->server->options;
    uint64_t extra =
        call->message_len * NS_PER_S / REQUEST_BYTES_PER_SECOND_MIN;
    if (call->abandoned)
        return;
    if (call->receiving && !call->refused &&
        now - call->begun_ns >= o->request_us * NS_OF_US + extra)
        grpc_session_refuse_slow(call);
    else if (call->replying && grpc_call_unsent(call) &&
             grpc_limits_passed(now, call->progress_ns, o->reply_us))
        grpc_session_reset_slow(call);
}

static const char *why_to_end(const struct grpc_connection *c, uint64_t now)
{
    const struct grpc_options *o = &c->server->options;
    if (c->writing_ns && grpc_limits_passed(now, c->writing_ns, o->write_us))
        return "it takes nothing that is written";
    if (c->pinged_ns &&
        grpc_limits_passed(now, c->pinged_ns, o->keepalive_wait_us))
        return "it does not answer";
    return NULL;
}

static void sweep_connection(struct grpc_connection *c, uint64_t now)
{
    const struct grpc_options *o = &c->server->options;
    const char *why = why_to_end(c, now);
    if (why || (c->leaving &&
                grpc_limits_passed(now, c->leaving_ns, GRPC_LINGER_US))) {
        if (why)
            grpc_connection_log(c, "ended", why);
        grpc_connection_cancel(c);
        return;
    }
    if (!c->spoke || c->leaving_ns || c->ending)
        return;
    for (struct grpc_call *call = c->calls; call; call = call->next)
        sweep_call(call, now);
    if (c->call_count == 0 && grpc_limits_passed(now, c->idle_ns, o->idle_us))
        grpc_connection_leave(c, NULL);
    else if (!c->pinged_ns &&
             grpc_limits_passed(now, c->read_ns, o->keepalive_us))
        grpc_session_ping(c, now);
}

void grpc_run_sweep(void *arg)
{
    struct grpc_server *s = arg;
    while (fiber_check(NULL) == 0) {
        uint64_t now;
        if (!s->connections) {
            fiber_park();
            continue;
        }
        world_sleep_us(s->world, SWEEP_US);
        now = world_mono_ns(s->world);
        for (struct grpc_connection *c = s->connections; c; c = c->next)
            sweep_connection(c, now);
    }
}
