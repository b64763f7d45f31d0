/* Finding tablets for calls, and the memory of requests. A call finds its
 * tablet by id, refreshes the rules of its table, and takes a view: schema and
 * files of one moment. A client that knows a newer schema than this server
 * makes it read that schema. */
#include "bigtable/tablet_server/serving.h"

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/audit.h"
#include "bigtable/quarry.h"
#include "bigtable/read/read_options.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/tablet_server_state.h"

#define REQUEST_BYTES_DEFAULT ((uint64_t)256 << 20)

int not_here(uint64_t id, struct err *err)
{
    err_set(err, ERR_NOTFOUND, "tablet not here: %llu", (unsigned long long)id);
    err_set_detail(err, ERR_DETAIL_ELSEWHERE, "");
    return ERR_NOTFOUND;
}

int find_tablet(struct tablet_server *s,
                uint64_t id,
                struct served **out,
                struct err *err)
{
    struct served *t;
    int rc = check_ready(s, err);
    *out = NULL;
    if (rc)
        return rc;
    t = served_find(&s->served, id);
    if (!t)
        return not_here(id, err);
    if (atomic_load(&t->phase) == TABLET_LOADING ||
        atomic_load(&t->reads_stopped)) {
        served_unref(t);
        return err_set(err, ERR_UNAVAILABLE, "tablet %llu is on its way",
                       (unsigned long long)id);
    }
    INVARIANT(t->table);
    INVARIANT(t->id == id); /* INV-2 of struct served. */
    *out = t;
    return 0;
}

int check_answer(struct tablet_server *s, struct err *err)
{
    int rc;

    PRE(s->session); /* INV-1: a handler runs, so it has joined. */
    rc = session_wait_safe(s->session, err);
    if (rc == 0 && atomic_load(&s->over))
        rc = err_set(err, ERR_CLOSED, "this tablet server is ending");
    return rc;
}

int admit_request(struct tablet_server *s, size_t bytes, struct err *err)
{
    uint64_t max = s->options.request_bytes ? s->options.request_bytes
                                            : REQUEST_BYTES_DEFAULT;
    uint64_t held = atomic_fetch_add(&s->request_bytes, bytes);

    PRE(atomic_load(&s->ready));
    if (held == 0 || held + bytes <= max)
        return 0;
    atomic_fetch_sub(&s->request_bytes, bytes);
    return err_set(err, ERR_UNAVAILABLE,
                   "this tablet server has no memory for more requests now");
}

void release_request(struct tablet_server *s, size_t bytes)
{
    uint64_t before = atomic_fetch_sub(&s->request_bytes, bytes);
    INVARIANT(before >= bytes); /* INV-4 */
}

/* Read the schema again, because a client knows a newer one. */
static void serving_refresh(struct tablet_server *s, uint64_t id)
{
    struct served *t = served_find(&s->served, id);
    struct table_schema schema;
    if (t && t->table && schemas_find(s, t->table_id, &schema, NULL) == 0) {
        /* The client tries again, which starts this again. */
        IGNORE_RESULT(
            schemas_apply(s, t->table, schema.schema, schema.generation, NULL));
        table_schema_close(&schema);
    }
    served_unref(t);
}

int serving_begin(struct tablet_server *s,
                  struct serving *out,
                  uint64_t id,
                  uint64_t generation,
                  struct err *err)
{
    int rc;
    *out = (struct serving){.served = NULL};
    rc = find_tablet(s, id, &out->served, err);
    if (rc == 0)
        rc = rules_refresh(s, out->served, err);
    if (rc)
        return rc;
    out->view = table_part_get_view(out->served->table);
    if (!out->view)
        return not_here(id, err);
    INVARIANT(out->view->tablet_count == 1);
    if (generation <= out->view->generation)
        return 0;
    server_spawn(s, serving_refresh, id);
    return err_set(err, ERR_UNAVAILABLE,
                   "the schema is changing: generation %llu is in force",
                   (unsigned long long)out->view->generation);
}

int serving_spec(struct serving *v,
                 const struct quarry_read_options *o,
                 struct slice from,
                 struct err *err)
{
    const struct tablet *t = v->view->tablets[0];
    struct slice start = buf_slice(&t->start);

    INVARIANT(v->view->tablet_count == 1);
    int rc = read_spec_build(&v->spec, v->view, o, err);
    if (rc)
        return rc;
    if (slice_cmp(from, start) > 0)
        start = from;
    read_spec_clip(&v->spec, start, buf_slice(&t->end));
    return 0;
}

int serving_may_read(struct tablet_server *s,
                     const struct serving *v,
                     struct slice principal,
                     struct err *err)
{
    int rc;

    PRE(v->served);
    PRE(v->view);
    rc = rules_may_read(s, v->served, principal, v->view->schema,
                        v->spec.families, v->spec.filter, err);
    return rc ? rc : rules_may_go(s, v->served, principal, RATE_READS, err);
}

void serving_end(struct serving *v)
{
    read_spec_close(&v->spec);
    table_part_view_unref(v->view);
    served_unref(v->served);
}

void serving_audit(struct tablet_server *s,
                   const struct rpc_call *call,
                   const char *what,
                   const struct err *first)
{
    const struct audit_event e = {.who = call->principal,
                                  .by = slice_eq(call->actor, call->principal)
                                            ? SLICE_EMPTY
                                            : call->actor,
                                  .from = call->peer,
                                  .what = slice_str(what),
                                  .code = first->code,
                                  .why = slice_str(first->text)};
    if (first->code == ERR_DENIED)
        audit_note(s->world, &e);
}
