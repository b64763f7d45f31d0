/* Placing tablets: from unassigned to served.
 *
 *     unassigned  --t:location := server, epoch + 1-->  ordered
 *     ordered     --TABLET_LOAD answered-->             served
 *
 * An order whose answer is lost is repeated to the same server, which
 * t:location names: it may have loaded the tablet. A server that refuses is
 * asked to give the tablet back (move.c), and then another gets it. */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"

/* Loads in progress at one server. */
#define ORDERS_PER_SERVER 8
/* Between tries to place one tablet: doubles from the first to the last. */
#define RETRY_US_MIN UINT64_C(50000)
#define RETRY_US_MAX UINT64_C(5000000)
/* After this number of refusals the server gives the tablet back. */
#define REFUSALS_MAX 3

/* An order that a fiber carries out: to give @tablet to @server. */
struct placing {
    struct known_tablet *tablet;
    uint64_t server;
};

/* --- one tablet ---------------------------------------------------------- */

static void try_later(struct master_term *r, struct known_tablet *t)
{
    uint64_t us = RETRY_US_MIN << (t->failures < 10 ? t->failures : 10);
    PRE(t->busy);
    t->failures++;
    t->retry_ns =
        master_term_now_ns(r) + 1000 * (us < RETRY_US_MAX ? us : RETRY_US_MAX);
}

/* Are all logs sorted that may have entries of @t? The log of a live server is
 * readable by that server alone: only it can load the tablet. */
static bool
has_its_logs(struct master_term *r, struct known_tablet *t, uint64_t to)
{
    t->waits_for = 0;
    t->only = 0;
    PRE(t->busy || t->stage == STAGE_UNASSIGNED);
    for (size_t i = 0; i < t->log_count; i++) {
        if (t->logs[i] == to)
            continue;
        if (cluster_view_is_alive(&r->view, t->logs[i]))
            t->only = t->logs[i];
        else if (!recover_is_sorted(r, t->logs[i]))
            t->waits_for = t->logs[i];
    }
    return t->only == 0 && t->waits_for == 0;
}

/* Record that @to has @t. *@done: it was recorded; otherwise its row has
 * changed. */
static int place_assign(struct master_term *r,
                        struct known_tablet *t,
                        const struct known_server *to,
                        bool *done,
                        struct err *err)
{
    struct tablet_location l = {to->number, t->epoch + 1,
                                slice_str(to->address)};
    char event[ADDRESS_BYTES_MAX + 64];
    int rc;

    PRE(t->busy); /* INV-2 of the view. */
    PRE(t->stage == STAGE_UNASSIGNED);
    snprintf(event, sizeof(event), "assigned to server %llu at %.*s",
             (unsigned long long)to->number, ADDRESS_BYTES_MAX, to->address);
    t->is_fresh = false; /* Even if the outcome is unknown. */
    rc = master_term_set_location(r, t, &l, event, done, err);
    if (rc == 0 && *done && to->alive) {
        INVARIANT(t->server == to->number);
        INVARIANT(t->epoch == l.epoch);
        known_tablet_move(t, STAGE_ORDERED);
        t->served_ns = master_term_now_ns(r);
    }
    return rc;
}

/* Errors that leave open whether the server has, or will have, the tablet. */
static bool is_unsure(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
           code == ERR_CANCELLED || code == ERR_CLOSED || code == ERR_BUSY;
}

/* The server refused to load @t. */
static int
place_refused(struct master_term *r, struct known_tablet *t, struct err *err)
{
    struct err why = ERR_INIT;

    PRE(err->code != 0);
    PRE(t->busy);
    log_warn(r->world, "master", "load tablet %llu: %s",
             (unsigned long long)t->id, err->text);
    if (t->failures < REFUSALS_MAX)
        return err->code;
    t->avoid = t->server;
    if (take_back(r, t, &why))
        log_warn(r->world, "master", "take back tablet %llu: %s",
                 (unsigned long long)t->id, why.text);
    return err->code;
}

/* Order the server that the row of @t names to load it. */
static int
order_load(struct master_term *r, struct known_tablet *t, struct err *err)
{
    struct known_server *s = cluster_view_server(&r->view, t->server);
    uint64_t epoch = t->epoch;
    int rc;

    PRE(t->busy);
    PRE(s);
    rc = server_order_load(r, s, t, err);
    INVARIANT(t->busy); /* INV-2 of the view. */
    if (!s->alive || t->stage == STAGE_UNASSIGNED || t->epoch != epoch)
        return ERR_UNAVAILABLE; /* The server died meanwhile. */
    if (rc && rc != ERR_EXISTS)
        return is_unsure(rc) ? rc : place_refused(r, t, err);
    master_note(r, EVENT_ASSIGNMENT,
                "tablet=%llu table=%llu server=%llu epoch=%llu",
                (unsigned long long)t->id, (unsigned long long)t->table,
                (unsigned long long)t->server, (unsigned long long)t->epoch);
    known_tablet_move(t, STAGE_SERVED);
    t->served_ns = master_term_now_ns(r);
    t->failures = 0;
    t->avoid = 0;
    t->retry_ns = 0;
    return 0;
}

int place_tablet(struct master_term *r,
                 struct known_tablet *t,
                 uint64_t to,
                 struct err *err)
{
    struct known_server *s = cluster_view_server(&r->view, to);
    bool found = true;
    bool done = false;
    int rc = 0;

    PRE(t->busy);
    log_debug(r->world, "master", "place tablet=%llu on server=%llu stage=%d",
              (unsigned long long)t->id, (unsigned long long)to, (int)t->stage);
    if (!t->is_fresh) {
        rc = master_term_read_tablet(r, t, &found, err);
        if (rc == 0 && !found)
            rc = err_set(err, ERR_NOTFOUND, "tablet %llu is no more",
                         (unsigned long long)t->id);
    }
    if (rc == 0 && t->stage == STAGE_UNASSIGNED) {
        if (!s || !s->alive)
            return err_set(err, ERR_UNAVAILABLE, "tablet server is gone");
        if (!has_its_logs(r, t, to))
            return err_set(err, ERR_UNAVAILABLE, "waits for a log");
        rc = place_assign(r, t, s, &done, err);
        if (rc == 0 && !done)
            rc = err_set(err, ERR_ABORTED, "its row has changed");
    }
    return rc ? rc : order_load(r, t, err);
}

static void run_placing(struct master_term *r, void *arg)
{
    struct placing *p = arg;
    struct known_tablet *t = p->tablet;
    struct known_server *s = cluster_view_server(&r->view, p->server);
    struct err err = ERR_INIT;
    bool split = false;
    int rc = place_tablet(r, t, p->server, &err);
    INVARIANT(s);
    INVARIANT(s->orders > 0); /* A server stays in the view. */
    s->orders--;
    if (rc && rc != ERR_NOTFOUND) {
        try_later(r, t);
        log_debug(r->world, "master", "place tablet %llu: %s",
                  (unsigned long long)t->id, err.text);
    }
    split = rc == 0 && t->has_split;
    known_tablet_release(t);
    /* Loading has finished the split. */
    if (split || rc == ERR_NOTFOUND)
        master_term_reread_tablet(r, t->id);
    mem_free(p);
}

static void
start_placing(struct master_term *r, struct known_tablet *t, uint64_t server)
{
    struct placing *p = mem_alloc(sizeof(*p));
    struct known_server *s = cluster_view_server(&r->view, server);

    PRE(s);
    PRE(s->alive);
    PRE(s->orders < ORDERS_PER_SERVER);
    *p = (struct placing){t, server};
    known_tablet_hold(t);
    s->orders++;
    master_term_spawn(r, "place", run_placing, p);
}

/* --- all of them --------------------------------------------------------- */

/* Unassigned tablets, as the decision sees them. */
struct wanting {
    struct assignment_tablet *seen;
    struct known_tablet **tablets;
    size_t count;
};

static bool is_due(const struct known_tablet *t, uint64_t now_ns)
{
    return !t->busy && t->retry_ns <= now_ns;
}

/* Users' tablets wait until all of METADATA is known. */
static enum tablet_level open_level(const struct master_term *r)
{
    enum tablet_level level = cluster_view_open_level(&r->view);
    return level == LEVEL_USER && !r->known ? LEVEL_METADATA : level;
}

static void place_collect(struct master_term *r,
                          const struct weight_scale *scale,
                          struct wanting *w)
{
    const struct cluster_view *p = &r->view;
    uint64_t now_ns = master_term_now_ns(r);
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        if (t->stage != STAGE_UNASSIGNED || !is_due(t, now_ns) ||
            hash_map_get(&r->dropping, hash_key_u64(&t->table)))
            continue;
        if (t->waits_for && !recover_is_sorted(r, t->waits_for))
            continue;
        if (t->only && !cluster_view_is_alive(p, t->only))
            t->only = 0;
        INVARIANT(!t->busy);
        w->tablets[w->count] = t;
        w->seen[w->count++] = (struct assignment_tablet){
            cluster_view_level(t), weight_of(scale, &t->use), t->only,
            t->avoid};
    }
}

static size_t view_servers(const struct cluster_view *p,
                           struct assignment_server *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p->server_count; i++) {
        const struct known_server *s = p->servers[i];
        if (!s->alive || s->suspect)
            continue;
        out[n++] = (struct assignment_server){
            .number = s->number,
            .load = s->load,
            .memory_bytes = s->memory_bytes,
            .memory_max = s->memory_max,
            .room = s->orders < ORDERS_PER_SERVER
                        ? ORDERS_PER_SERVER - s->orders
                        : 0,
        };
    }
    return n;
}

static void assign_some(struct master_term *r, const struct weight_scale *scale)
{
    struct cluster_view *p = &r->view;
    struct wanting w = {
        mem_alloc((p->tablet_count + 1) * sizeof(*w.seen)),
        mem_alloc((p->tablet_count + 1) * sizeof(struct known_tablet *)), 0};
    struct assignment *out;
    struct assignment_server *servers;
    size_t count;

    place_collect(r, scale, &w);
    out = mem_alloc((w.count + 1) * sizeof(*out));
    servers = mem_alloc((p->server_count + 1) * sizeof(*servers));
    count = view_servers(p, servers);
    count =
        assignment_choose(servers, count, w.seen, w.count, open_level(r), out);
    INVARIANT(count <= w.count);
    for (size_t i = 0; i < count; i++) {
        INVARIANT(out[i].tablet < w.count);
        start_placing(r, w.tablets[out[i].tablet],
                      servers[out[i].server].number);
    }
    mem_free(servers);
    mem_free(out);
    mem_free(w.seen);
    mem_free(w.tablets);
}

/* Repeat orders whose answers were lost, or that an earlier master gave. */
static void repeat_orders(struct master_term *r)
{
    const struct cluster_view *p = &r->view;
    uint64_t now_ns = master_term_now_ns(r);
    enum tablet_level open = open_level(r);
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        const struct known_server *s;
        if (t->stage != STAGE_ORDERED || !is_due(t, now_ns) ||
            cluster_view_level(t) > open)
            continue;
        s = cluster_view_server(p, t->server);
        INVARIANT(s); /* INV-2 and INV-3 of the view. */
        if (s->alive && s->orders < ORDERS_PER_SERVER)
            start_placing(r, t, t->server);
    }
}

void place_all(struct master_term *r)
{
    struct weight_scale scale;
    cluster_view_check(&r->view);
    repeat_orders(r);
    if (cluster_view_count(&r->view, STAGE_UNASSIGNED) == 0)
        return;
    scale = cluster_view_sum(&r->view);
    assign_some(r, &scale);
}
