/* Changes of rows, of any number of tablets: queued together, so that they
 * share one write of the log.
 *
 * The changes are sorted into one part for each tablet. A part drops what its
 * tablet does not have, what the caller may not change, and changes that were
 * made before (tablet/done_changes.h). The rest is written in rounds: a request
 * of the store ends at the first mistake in a change, and the next round
 * continues after it. Each change has an outcome of its own. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/changes/change_apply.h"
#include "bigtable/row/mutation.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* The code of a change whose outcome is open. */
#define OPEN INT32_MAX

/* Changes of one tablet, in their order. */
struct part {
    uint64_t tablet;
    struct served *served; /* Referenced. */
    struct table_part_view *view;
    const struct quarry_mutation **list; /* In the arena. */
    uint32_t *index;                     /* Of each among all changes. */
    uint64_t *sequences;                 /* Of those that were begun. */
    size_t count;
    size_t done; /* The first ones, whose outcome is known. */
    bool begun;
};

struct apply {
    struct tablet_server *server;
    struct slice principal;
    struct change_origin origin;
    struct arena arena;
    enum write_durability durability;
    size_t count;
    struct quarry_mutation *mutations; /* Over the attachment. */
    uint64_t *tablets;                 /* Of each. */
    int32_t *codes;
    struct part *parts;
    size_t part_count;
    struct err first; /* Failure. */
};

static enum write_durability durability_of(uint8_t d)
{
    return d == WRITE_LOGGED || d == WRITE_DEFERRED ? (enum write_durability)d
                                                    : WRITE_SYNCED;
}

static void
serve_apply_fail(struct apply *a, size_t i, int rc, const struct err *why)
{
    PRE(i < a->count);
    PRE(rc != 0);
    PRE(a->codes[i] == OPEN);
    a->codes[i] = rc;
    if (a->first.code == 0)
        a->first = *why;
}

/* --- reading the request ------------------------------------------------- */

static int take_changes(struct apply *a, struct slice bytes, struct err *err)
{
    PRE(a->mutations);
    PRE(a->tablets);
    PRE(a->codes);
    for (size_t i = 0; i < a->count; i++) {
        struct err mistake = ERR_INIT;
        struct row_change c;
        bool more;
        int rc = row_change_next(&bytes, &c, &more, err);
        if (rc == 0 && !more)
            rc = err_set(err, ERR_CORRUPT, "there are fewer changes than told");
        if (rc)
            return rc;
        a->tablets[i] = c.tablet;
        a->codes[i] = OPEN;
        rc = mutation_borrow(c.row, c.ops, c.count, &a->mutations[i], &mistake);
        if (rc == 0 && a->origin.session) {
            a->mutations[i].session = a->origin.session;
            a->mutations[i].sequence = c.sequence;
        }
        if (rc)
            serve_apply_fail(a, i, rc, &mistake);
    }
    return bytes.len ? err_set(err, ERR_CORRUPT,
                               "there are more changes than "
                               "told")
                     : 0;
}

static struct part *part_of(struct apply *a, uint64_t tablet)
{
    for (size_t i = a->part_count; i > 0; i--) /* Mostly the last part. */
        if (a->parts[i - 1].tablet == tablet)
            return &a->parts[i - 1];
    return NULL;
}

static struct part *new_part(struct apply *a, uint64_t tablet)
{
    struct part *p;
    PRE(part_of(a, tablet) == NULL);
    if (a->part_count % 16 == 0) {
        struct part *more =
            arena_alloc(&a->arena, (a->part_count + 16) * sizeof(*a->parts));
        for (size_t i = 0; i < a->part_count; i++)
            more[i] = a->parts[i];
        a->parts = more;
    }
    p = &a->parts[a->part_count++];
    *p = (struct part){.tablet = tablet};
    return p;
}

/* Count the changes of each tablet, then distribute them. */
static void sort_into_parts(struct apply *a)
{
    for (size_t i = 0; i < a->count; i++) {
        struct part *p;
        if (a->codes[i] != OPEN)
            continue;
        p = part_of(a, a->tablets[i]);
        if (!p)
            p = new_part(a, a->tablets[i]);
        p->count++;
    }
    INVARIANT(a->part_count <= a->count);
    for (size_t i = 0; i < a->part_count; i++) {
        struct part *p = &a->parts[i];
        p->list = arena_alloc(&a->arena, p->count * sizeof(*p->list));
        p->index = arena_alloc(&a->arena, p->count * sizeof(*p->index));
        p->count = 0;
    }
    for (size_t i = 0; i < a->count; i++) {
        struct part *p;
        if (a->codes[i] != OPEN)
            continue;
        p = part_of(a, a->tablets[i]);
        p->list[p->count] = &a->mutations[i];
        p->index[p->count++] = (uint32_t)i;
    }
}

/* --- applying ------------------------------------------------------------ */

static void fail_part(struct apply *a, struct part *p, int rc, struct err *why)
{
    PRE(rc != 0);
    for (; p->done < p->count; p->done++)
        serve_apply_fail(a, p->index[p->done], rc, why);
}

/* Has the tablet the row of @m, and may the caller change it? */
static int may_change(struct apply *a,
                      struct part *p,
                      const struct quarry_mutation *m,
                      struct err *err)
{
    const struct schema *schema = p->view->schema;
    int rc = 0;

    PRE(p->view);
    if (!tablet_contains(p->view->tablets[0], buf_slice(&m->row)))
        return not_here(p->tablet, err);
    rc = rules_may_change(a->server, p->served, a->principal, schema, m, err);
    if (rc == 0 && rules_is_full(p->served) && rules_is_growth(m))
        rc = rules_may_grow(a->server, p->served, schema, err);
    return rc;
}

/* Begin the changes that were not made before; the others leave the part. */
static int begin_changes(struct apply *a, struct part *p, struct err *err)
{
    enum change_state *states;
    size_t kept = 0;
    int rc;

    PRE(p->served);
    PRE(p->view);
    PRE(!p->begun);
    if (a->origin.session == 0 || p->count == 0)
        return 0;
    states = mem_alloc(p->count * sizeof(*states));
    p->sequences = arena_alloc(&a->arena, p->count * sizeof(*p->sequences));
    for (size_t i = 0; i < p->count; i++)
        p->sequences[i] = p->list[i]->sequence;
    rc = done_changes_begin(p->served->table->done, a->origin.session,
                            a->origin.floor, p->sequences, p->count, states,
                            err);
    p->begun = rc == 0;
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        struct err over = ERR_INIT;
        if (states[i] == CHANGE_DONE)
            a->codes[p->index[i]] = 0;
        else if (states[i] == CHANGE_OVER)
            serve_apply_fail(a, p->index[i], change_is_over(&over), &over);
        if (states[i] != CHANGE_BEGUN)
            continue;
        p->sequences[kept] = p->sequences[i];
        p->list[kept] = p->list[i];
        p->index[kept++] = p->index[i];
    }
    if (rc == 0)
        p->count = kept;
    mem_free(states);
    return rc;
}

/* Find the tablet. Changes that it cannot make, or that the caller may not
 * make, leave the part. */
static void open_part(struct apply *a, struct part *p)
{
    struct err err = ERR_INIT;
    uint64_t bytes = 0;
    size_t kept = 0;
    PRE(!p->served);
    PRE(!p->view);
    PRE(p->done == 0);
    int rc = find_tablet(a->server, p->tablet, &p->served, &err);
    if (rc == 0)
        rc = rules_refresh(a->server, p->served, &err);
    if (rc == 0)
        rc =
            rules_may_go(a->server, p->served, a->principal, RATE_WRITES, &err);
    if (rc == 0) {
        p->view = table_part_get_view(p->served->table);
        rc = p->view ? 0 : not_here(p->tablet, &err);
    }
    if (rc) {
        fail_part(a, p, rc, &err);
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        rc = may_change(a, p, p->list[i], &err);
        if (rc) {
            serve_apply_fail(a, p->index[i], rc, &err);
            continue;
        }
        bytes += p->list[i]->ops.len;
        p->list[kept] = p->list[i];
        p->index[kept++] = p->index[i];
    }
    p->count = kept;
    rc = begin_changes(a, p, &err);
    if (rc)
        fail_part(a, p, rc, &err);
    else if (p->count)
        rules_pay(a->server, p->served, a->principal, RATE_WRITES, p->count,
                  bytes);
}

static void close_part(struct apply *a, struct part *p)
{
    INVARIANT(p->done <= p->count);
    if (p->begun)
        done_changes_end(p->served->table->done, a->origin.session,
                         p->sequences, p->count);
    table_part_view_unref(p->view);
    served_unref(p->served);
}

static bool is_gone(struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    table_part_view_unref(v);
    return v == NULL;
}

/* Take over the outcome of @r, which asked for the part's changes from `done`
 * on. A mistake in one change ends the request there; the changes after it stay
 * open. */
static void
take_outcome(struct apply *a, struct part *p, struct write_request *r)
{
    size_t good = r->rc ? r->failed_index : r->count;
    PRE(good <= p->count - p->done);
    for (size_t i = 0; i < good; i++)
        a->codes[p->index[p->done++]] = 0;
    atomic_fetch_add(&p->served->writes, good);
    metric_add(p->served->meters.written_rows, good);
    if (r->rc == 0)
        return;
    if (r->rc == ERR_NOTFOUND && is_gone(p->served->table))
        fail_part(a, p, not_here(p->tablet, &r->err), &r->err);
    else if (r->rc == ERR_INVALID || r->rc == ERR_TOOBIG ||
             r->rc == ERR_NOTFOUND || r->rc == ERR_CONFLICT)
        serve_apply_fail(a, p->index[p->done++], r->rc, &r->err);
    else
        fail_part(a, p, r->rc, &r->err);
}

/* Write commits of other sites: each part is on its own. */
static void
apply_foreign(struct apply *a, struct write_request *r, int64_t now_us)
{
    struct tablet_env *env = &a->server->store->env;
    PRE(r->count > 0);
    r->rc = change_apply(env, r->table, r->mutations, r->count, a->durability,
                         now_us, &r->failed_index, &r->err);
}

/* One round: write the open changes of all parts, as far as they are alike.
 * False: there were none. */
static bool apply_open(struct apply *a, int64_t now_us)
{
    struct write_request *requests =
        mem_zalloc(a->part_count + 1, sizeof(*requests));
    struct part **parts = mem_zalloc(a->part_count + 1, sizeof(struct part *));
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < a->part_count; i++) {
        struct part *p = &a->parts[i];
        struct write_request r = {.mutations = p->list + p->done};
        bool foreign;
        if (p->done == p->count)
            continue;
        r.table = p->served->table;
        INVARIANT(p->done < p->count);
        INVARIANT(p->served);
        r.count = change_apply_run(r.mutations, p->count - p->done, &foreign);
        if (foreign) {
            apply_foreign(a, &r, now_us);
            take_outcome(a, p, &r);
            any = true;
            continue;
        }
        requests[n] = r;
        parts[n++] = p;
    }
    if (n > 0)
        write_apply_all(&a->server->store->env, requests, n, a->durability,
                        now_us);
    for (size_t i = 0; i < n; i++)
        take_outcome(a, parts[i], &requests[i]);
    mem_free(requests);
    mem_free(parts);
    return any || n > 0;
}

static void put_reply(const struct apply *a, struct buf *out)
{
    const struct apply_reply r = {
        .count = (uint32_t)a->count, .codes = a->codes, .first = a->first};
    apply_reply_put(&r, out);
}

static void serve_apply_trace(const struct apply *a)
{
    const struct served *first = a->part_count ? a->parts[0].served : NULL;
    struct span *s = span_here();
    if (first && first->table)
        span_text(s, "table", slice_str(first->table->name));
    if (first)
        span_number(s, "tablet", (int64_t)first->id);
    span_number(s, "tablets", (int64_t)a->part_count);
    span_number(s, "rows", (int64_t)a->count);
}

static int
serve_apply_changes(struct apply *a, struct slice changes, struct err *err)
{
    int64_t now_us = (int64_t)world_now_us(a->server->world);
    uint64_t start_ns = world_mono_ns(a->server->world);
    uint64_t took_ns;
    int rc = take_changes(a, changes, err);
    if (rc)
        return rc;
    sort_into_parts(a);
    INVARIANT(a->part_count <= a->count);
    for (size_t i = 0; i < a->part_count; i++)
        open_part(a, &a->parts[i]);
    while (rc == 0 && apply_open(a, now_us))
        rc = fiber_check(err); /* There is a round for each mistake. */
    took_ns = world_mono_ns(a->server->world) - start_ns;
    serve_apply_trace(a);
    for (size_t i = 0; i < a->part_count; i++) {
        if (a->parts[i].served)
            metric_observe(a->parts[i].served->meters.write_seconds, took_ns);
        close_part(a, &a->parts[i]);
    }
    return rc ? rc : check_answer(a->server, err);
}

int handle_apply(struct tablet_server *s,
                 struct rpc_call *call,
                 struct err *err)
{
    struct apply a = {.server = s, .principal = call->principal};
    struct apply_request r;
    size_t held = call->attachment.len;
    int rc = apply_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = admit_request(a.server, held, err);
    if (rc)
        return rc;
    /* Each change takes bytes of the attachment, which bounds their number. */
    if (r.count > APPLY_CHANGES_MAX || r.count > held) {
        release_request(a.server, held);
        return err_set(err, ERR_INVALID, "%u changes are too many", r.count);
    }
    arena_init(&a.arena);
    a.durability = durability_of(r.durability);
    a.count = r.count;
    a.origin = r.origin;
    a.mutations = arena_alloc(&a.arena, a.count * sizeof(*a.mutations));
    a.tablets = arena_alloc(&a.arena, a.count * sizeof(*a.tablets));
    a.codes = arena_alloc(&a.arena, a.count * sizeof(*a.codes));
    rc = serve_apply_changes(&a, call->attachment, err);
    if (rc == 0)
        put_reply(&a, call->reply_body);
    serving_audit(a.server, call, "tablet.apply", &a.first);
    arena_close(&a.arena);
    release_request(a.server, held);
    return rc;
}
