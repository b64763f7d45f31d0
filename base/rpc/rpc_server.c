/* The table of methods of a process, and the counters of their calls. Checks
 * that hold for every method (deadline, who may act for whom, internal calls,
 * the audit log) are made here, before and after the handler.
 *
 * Invariants
 *     INV-1. entries[] is sorted by id, without duplicates, and constant once
 *            calls come (rpc_server_add()).
 */
#include "base/rpc/rpc_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/call_audit.h"
#include "base/rpc/reply_file.h"
#include "base/runtime/world.h"

/* Of the name of a role that has methods, its NUL included. */
#define RPC_ROLE_BYTES_MAX 32

struct entry {
    struct rpc_method method;
    void *ctx;
    bool is_audited;
    struct metric_counter failures;
    struct metric_histogram seconds; /* In the handler. */
};

struct rpc_server {
    struct world *world;    /* Borrowed: for time. */
    struct entry **entries; /* Sorted by method id; constant once calls come. */
    size_t count;
    bool (*may_act)(void *ctx, struct slice connected); /* NULL: nobody. */
    void *may_act_ctx;
};

struct rpc_server *rpc_server_new(struct world *w)
{
    struct rpc_server *s = mem_zalloc(1, sizeof(*s));
    s->world = w;
    return s;
}

void rpc_server_free(struct rpc_server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        mem_free(s->entries[i]);
    mem_free(s->entries);
    mem_free(s);
}

struct world *rpc_server_world(const struct rpc_server *s)
{
    return s->world;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *const *x = a;
    const struct entry *const *y = b;
    return ((*x)->method.id > (*y)->method.id) -
           ((*x)->method.id < (*y)->method.id);
}

static struct entry *rpc_server_find_entry(const struct rpc_server *s,
                                           uint32_t id)
{
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->entries[mid]->method.id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->count && s->entries[low]->method.id == id ? s->entries[low]
                                                              : NULL;
}

const struct rpc_method *rpc_server_method(const struct rpc_server *s,
                                           uint32_t method)
{
    const struct entry *e = rpc_server_find_entry(s, method);
    return e ? &e->method : NULL;
}

void rpc_server_add(struct rpc_server *s,
                    const struct rpc_method *methods,
                    size_t count,
                    void *ctx)
{
    PRE(s->count + count <= RPC_METHOD_COUNT_MAX);
    s->entries =
        mem_realloc(s->entries, (s->count + count) * sizeof(struct entry *));
    for (size_t i = 0; i < count; i++) {
        struct entry *e = mem_zalloc(1, sizeof(*e));
        PRE(!rpc_server_find_entry(s, methods[i].id));
        e->method = methods[i];
        e->ctx = ctx;
        s->entries[s->count++] = e;
        PRE(methods[i].handler && methods[i].name);
        qsort(s->entries, s->count, sizeof(struct entry *), compare_entries);
    }
}

bool rpc_server_audit(struct rpc_server *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->entries[i]->method.name, name) == 0) {
            s->entries[i]->is_audited = true;
            return true;
        }
    return false;
}

void rpc_server_let_act(struct rpc_server *s,
                        bool (*may_act)(void *ctx, struct slice connected),
                        void *ctx)
{
    s->may_act = may_act;
    s->may_act_ctx = ctx;
}

/* A call in process has no peer: this program makes it itself. */
static int check_actor(const struct rpc_server *s,
                       const struct rpc_call *call,
                       struct err *err)
{
    if (call->peer.len == 0 || slice_eq(call->principal, call->actor) ||
        (s->may_act && s->may_act(s->may_act_ctx, call->actor)))
        return 0;
    err_set(err, ERR_DENIED, "%.*s may not act for %.*s",
            SLICE_ARG(call->actor), SLICE_ARG(call->principal));
    err_hint(err, "only the cluster's own processes act for others: name it in "
                  "`trusted` of the servers' configuration if it is one");
    return ERR_DENIED;
}

bool rpc_server_trusts(const struct rpc_server *s, const struct rpc_call *call)
{
    return call->peer.len == 0 || !s->may_act ||
           (slice_eq(call->principal, call->actor) &&
            s->may_act(s->may_act_ctx, call->actor));
}

/* May the caller make @call? */
static int check_caller(const struct rpc_server *s,
                        const struct entry *e,
                        const struct rpc_call *call,
                        struct err *err)
{
    int rc = check_actor(s, call, err);
    if (rc || !(e->method.flags & RPC_METHOD_INTERNAL) ||
        rpc_server_trusts(s, call))
        return rc;
    return err_set(err, ERR_DENIED,
                   "%.*s may not call %s, which is between the cluster's own "
                   "processes",
                   SLICE_ARG(call->principal), e->method.name);
}

int rpc_server_dispatch(struct rpc_server *s,
                        struct rpc_call *call,
                        struct err *err)
{
    struct entry *e = rpc_server_find_entry(s, call->method);
    uint64_t start_ns =
        call->start_ns ? call->start_ns : world_mono_ns(s->world);
    int rc;

    if (!e)
        return err_set(err, ERR_UNSUPPORTED, "unknown method %u", call->method);
    if (call->deadline_mono_ns && start_ns >= call->deadline_mono_ns)
        rc = err_set(err, ERR_DEADLINE, "%s: deadline exceeded before it ran",
                     e->method.name);
    else if ((rc = check_caller(s, e, call, err)) == 0)
        rc = e->method.handler(e->ctx, call, err);
    /* A denied call in process is audited if it was made for a principal. */
    if (e->is_audited || call->is_audited ||
        (rc == ERR_DENIED && call->principal.len))
        call_audit(s->world, e->method.name, call, rc, err);
    if (UNLIKELY(rc))
        metric_add(&e->failures, 1);
    call->end_ns = world_mono_ns(s->world);
    metric_observe(&e->seconds, call->end_ns - start_ns);
    return rc;
}

/* The part of a method's name before its first point. */
static void rpc_server_role_of(const char *method,
                               char role[RPC_ROLE_BYTES_MAX])
{
    size_t n = MIN_OF(strcspn(method, "."), (size_t)RPC_ROLE_BYTES_MAX - 1);
    memcpy(role, method, n);
    role[n] = '\0';
}

void rpc_server_gather(const struct rpc_server *s, struct metric_set *out)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = s->entries[i];
        char role[RPC_ROLE_BYTES_MAX];
        if (metric_histogram_count(&e->seconds) == 0)
            continue;
        rpc_server_role_of(e->method.name, role);
        metric_put_histogram(out, METRIC_rpc_call_seconds,
                             METRIC_LABELS(e->method.name, role), &e->seconds);
        metric_put_counter(out, METRIC_rpc_call_failures,
                           METRIC_LABELS(e->method.name, role), &e->failures);
    }
}
