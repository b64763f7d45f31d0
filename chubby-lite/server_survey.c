/* Answers about the whole cell: who has which lock, which sessions there are
 * and how long their leases last. They change nothing, and are for the
 * cluster's processes and administrators, since names of principals and
 * addresses are in them.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_path.h"
#include "chubby-lite/lock_survey.h"
#include "chubby-lite/server_state.h"

/* 0, if @call may be answered from the state now. Parks. */
static int
survey_begin(struct chubby_server *s, struct rpc_call *call, struct err *err)
{
    int rc = server__check_leader(s, err);

    if (!rc && s->may_look && !s->may_look(s->may_look_ctx, call->principal)) {
        rc = err_set(err, ERR_DENIED,
                     "%.*s may not see the sessions of the lock service",
                     SLICE_ARG(call->principal));
        err_hint(err, "the cluster's processes and administrators may: quarry "
                      "acl grant --whole-cluster own NAME");
    }
    if (!rc)
        rc = replica_read_barrier(s->replica, err);
    /* The wait may have taken the leadership, and the leases with it. */
    return rc ? rc : server__check_leader(s, err);
}

static size_t survey_limit(const struct chubby_survey *q)
{
    return q->limit == 0 ? CHUBBY_SURVEY_MAX
                         : MIN_OF((size_t)q->limit, (size_t)CHUBBY_SURVEY_MAX);
}

/* --- sessions ------------------------------------------------------------ */

/* The paths of some locks of @session. */
static void view_locks(const struct session *session,
                       struct arena *a,
                       struct chubby_session_view *v)
{
    const struct handle *h;
    struct buf path = BUF_INIT;

    v->locks = arena_zalloc(a, CHUBBY_SURVEY_NAMED_MAX * sizeof(*v->locks));
    LIST_FOREACH(h, &session->handles, of_session) {
        if (h->holding == CHUBBY_FREE)
            continue;
        INVARIANT(h->node); /* INV-2 of sessions. */
        v->held_count++;
        if (v->lock_count == CHUBBY_SURVEY_NAMED_MAX)
            continue;
        buf_clear(&path);
        node_put_path(h->node, &path);
        v->locks[v->lock_count++] = arena_dup(a, buf_slice(&path));
    }
    INVARIANT(v->lock_count <= v->held_count);
    buf_close(&path);
}

static void view_session(struct chubby_server *s,
                         const struct session *session,
                         struct arena *a,
                         struct chubby_session_view *v)
{
    const struct lease *l = lease_find(&s->leases, session->id);
    uint64_t now_ns = world_mono_ns(s->world);

    *v =
        (struct chubby_session_view){.id = session->id,
                                     .principal = slice_str(session->principal),
                                     .address = slice_str(session->address),
                                     .lease_ms = session->lease_ms,
                                     .handle_count = session->handle_count};
    INVARIANT(l); /* INV-1 */
    if (l->deadline_ns > now_ns)
        v->lease_left_us = (l->deadline_ns - now_ns) / 1000;
    view_locks(session, a, v);
}

static void view_sessions(struct chubby_server *s,
                          const struct chubby_survey *q,
                          struct arena *a,
                          struct chubby_session_list *out)
{
    size_t limit = survey_limit(q);
    size_t count;
    struct session **all = session_sorted(cell_sessions(s->cell), &count);
    size_t i = 0;

    while (i < count && q->session && all[i]->id <= q->session)
        i++;
    out->total = count;
    out->at = arena_zalloc(a, (limit + 1) * sizeof(*out->at));
    for (; i < count && out->count < limit; i++)
        view_session(s, all[i], a, &out->at[out->count++]);
    POST(out->count <= limit);
    out->more = i < count;
    mem_free(all);
}

int server__handle_sessions(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_session_list l = {.count = 0};
    struct chubby_survey q;
    struct arena a;
    int rc = chubby_survey_get(call->body, &q, err);

    if (!rc)
        rc = survey_begin(s, call, err);
    if (rc)
        return rc;
    arena_init(&a);
    view_sessions(s, &q, &a, &l);
    chubby_session_list_put(&l, call->reply_body);
    arena_close(&a);
    return 0;
}

/* --- entries ------------------------------------------------------------- */

static void
view_entry(const struct node *n, struct arena *a, struct chubby_entry_view *v)
{
    const struct handle *h;

    v->name = slice_str(n->name);
    node_stat(n, &v->stat);
    v->mode = n->mode;
    v->holders = arena_zalloc(a, MIN_OF((size_t)n->holder_count + 1,
                                        (size_t)CHUBBY_SURVEY_NAMED_MAX) *
                                     sizeof(*v->holders));
    LIST_FOREACH(h, &n->handles, of_node) {
        v->handle_count++;
        if (h->holding == CHUBBY_FREE)
            continue;
        v->holder_count++;
        if (v->named_count < CHUBBY_SURVEY_NAMED_MAX)
            v->holders[v->named_count++] = (struct chubby_holder_view){
                h->session->id, slice_str(h->session->principal),
                slice_str(h->session->address)};
    }
    INVARIANT(v->holder_count == n->holder_count); /* INV-3 of nodes. */
}

static void view_entries(const struct node *directory,
                         const struct chubby_survey *q,
                         struct arena *a,
                         struct chubby_entry_list *out)
{
    size_t limit = survey_limit(q);
    size_t i = 0;

    while (i < directory->child_count && q->after.len &&
           slice_cmp(slice_str(directory->children[i]->name), q->after) <= 0)
        i++;
    out->total = directory->child_count;
    out->at = arena_zalloc(a, (limit + 1) * sizeof(*out->at));
    for (; i < directory->child_count && out->count < limit; i++)
        view_entry(directory->children[i], a, &out->at[out->count++]);
    POST(out->count <= limit);
    out->more = i < directory->child_count;
}

int server__handle_entries(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_entry_list l = {.count = 0};
    struct chubby_survey q;
    const struct node *n = NULL;
    struct arena a;
    int rc = chubby_survey_get(call->body, &q, err);

    if (!rc)
        rc = path_check(q.path, err);
    if (!rc)
        rc = survey_begin(s, call, err);
    if (!rc) {
        n = node_find(cell_root(s->cell), q.path);
        if (!n)
            rc = err_set(err, ERR_NOTFOUND, "%.*s does not exist",
                         SLICE_ARG(q.path));
        else if (!n->is_directory)
            rc = err_set(err, ERR_INVALID, "%.*s is a file", SLICE_ARG(q.path));
    }
    if (rc)
        return rc;
    arena_init(&a);
    view_entries(n, &q, &a, &l);
    chubby_entry_list_put(&l, call->reply_body);
    arena_close(&a);
    return 0;
}
