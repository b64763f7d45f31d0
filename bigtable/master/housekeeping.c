/* The master's periodic work once all tablets are assigned: balancing, reading
 * METADATA again, merging and sweeping. Each piece runs in a fiber of its own;
 * a term starts one only when the last of its kind has ended. */
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/master/balance.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/table_snapshots.h"

/* Tablets moving to one server at once. */
#define MOVES_PER_SERVER 2
/* Between rounds while there is more to move. */
#define MOVE_AGAIN_US UINT64_C(500000)

struct move_job {
    struct known_tablet *tablet;
    uint64_t to;
};

static bool is_past(const struct master_term *r, uint64_t since_ns, uint64_t us)
{
    return master_term_now_ns(r) - since_ns >= us * 1000;
}

/* --- balance ------------------------------------------------------------- */

static void run_move(struct master_term *r, void *arg)
{
    struct move_job *j = arg;
    struct known_server *s = cluster_view_server(&r->view, j->to);
    struct err err = ERR_INIT;
    uint64_t id = j->tablet->id;

    PRE(j->tablet->busy);
    PRE(s);
    if (move_tablet(r, j->tablet, j->to, NULL, &err))
        log_warn(r->world, "master", "move tablet %llu: %s",
                 (unsigned long long)id, err.text);
    INVARIANT(s->orders > 0);
    s->orders--;
    mem_free(j);
}

static bool can_move(const struct master_term *r, const struct known_tablet *t)
{
    return t->stage == STAGE_SERVED && !t->busy &&
           cluster_view_level(t) == LEVEL_USER &&
           (t->moved_ns == 0 || is_past(r, t->moved_ns, r->options->still_us));
}

/* Servers and tablets as the decision sees them. */
struct balance_view {
    struct balance_server *servers; /* As in the view. */
    struct balance_tablet *tablets;
    struct known_tablet **of; /* The tablet of each. */
    size_t tablet_count;
};

static size_t index_of(const struct cluster_view *p, uint64_t number)
{
    size_t i = 0;
    while (i < p->server_count && p->servers[i]->number < number)
        i++;
    return i;
}

static void housekeeping_view(struct master_term *r, struct balance_view *v)
{
    struct cluster_view *p = &r->view;
    struct weight_scale scale = cluster_view_sum(p);
    v->servers = mem_zalloc(p->server_count + 1, sizeof(*v->servers));
    v->tablets = mem_zalloc(p->tablet_count + 1, sizeof(*v->tablets));
    v->of = mem_zalloc(p->tablet_count + 1, sizeof(struct known_tablet *));
    v->tablet_count = 0;
    for (size_t i = 0; i < p->server_count; i++)
        v->servers[i] = (struct balance_server){p->servers[i]->load,
                                                p->servers[i]->alive &&
                                                    !p->servers[i]->suspect};
    for (size_t i = 0; i < p->tablet_count; i++) {
        struct known_tablet *t = p->tablets[i];
        if (t->stage == STAGE_UNASSIGNED)
            continue;
        v->of[v->tablet_count] = t;
        v->tablets[v->tablet_count++] =
            (struct balance_tablet){(uint32_t)index_of(p, t->server),
                                    weight_of(&scale, &t->use), can_move(r, t)};
    }
    INVARIANT(v->tablet_count <= p->tablet_count);
}

static void housekeeping_balance(struct master_term *r)
{
    struct cluster_view *p = &r->view;
    struct balance_view v;
    size_t max = balance_round(p->tablet_count);
    struct balance_move *moves = mem_alloc(max * sizeof(*moves));
    size_t count;

    PRE(r->ready);
    housekeeping_view(r, &v);
    count = balance_choose(v.servers, p->server_count, v.tablets,
                           v.tablet_count, moves, max);
    r->more_to_move = false;
    for (size_t i = 0; i < count; i++) {
        struct known_tablet *t = v.of[moves[i].tablet];
        struct known_server *to = p->servers[moves[i].to];
        struct move_job *j;
        INVARIANT(moves[i].tablet < v.tablet_count);
        INVARIANT(moves[i].to < p->server_count);
        INVARIANT(to->alive);
        if (to->orders >= MOVES_PER_SERVER) {
            r->more_to_move = true;
            continue;
        }
        j = mem_alloc(sizeof(*j));
        *j = (struct move_job){t, to->number};
        known_tablet_hold(t);
        to->orders++;
        master_term_spawn(r, "move", run_move, j);
    }
    mem_free(moves);
    mem_free(v.servers);
    mem_free(v.tablets);
    mem_free(v.of);
}

/* --- METADATA from end to end -------------------------------------------- */

static int housekeeping_mark_row(void *ctx,
                                 const struct metadata_row *row,
                                 struct err *err)
{
    replication_note(ctx, row);
    return sweep_mark(ctx, row, err);
}

/* Has a snapshot changed since @steps, or is one changing? Then it may name
 * files that the reading did not find. */
static bool was_disturbed(const struct master_term *r, uint64_t steps)
{
    return r->snapshot_steps != steps || steps % 2 != 0;
}

static void housekeeping_reread(struct master_term *r, void *arg)
{
    struct err err = ERR_INIT;
    uint64_t steps = r->snapshot_steps;
    int rc;

    PRE(r->rereading);
    PRE(r->ready);
    (void)arg;
    sweep_begin(r);
    rc = replication_begin(r, &err);
    if (rc)
        log_warn(r->world, "master", "copies of files: %s", err.text);
    rc = snapshots_mark(r, &err);
    /* The root tablet's record first: files that it hands over to rows are
     * found there. */
    if (rc == 0)
        rc = root_read(r, housekeeping_mark_row, r, &err);
    if (rc == 0)
        rc = master_term_read(r, SLICE_EMPTY, SLICE_EMPTY,
                              housekeeping_mark_row, r, &err);
    if (rc)
        log_warn(r->world, "master", "read METADATA: %s", err.text);
    INVARIANT(r->snapshot_steps >= steps);
    sweep_end(r, rc == 0 && !was_disturbed(r, steps));
    if (rc == 0 && !was_disturbed(r, steps) &&
        is_past(r, r->swept_ns, r->options->garbage_us)) {
        r->swept_ns = master_term_now_ns(r);
        sweep(r);
    }
    if (rc == 0)
        replication_end(r);
    r->reread_ns = master_term_now_ns(r);
    INVARIANT(r->rereading);
    r->rereading = false;
}

static bool all_is_quiet(const struct master_term *r)
{
    return cluster_view_count(&r->view, STAGE_UNASSIGNED) == 0 &&
           cluster_view_count(&r->view, STAGE_ORDERED) == 0;
}

void master_housekeep(struct master_term *r)
{
    const struct master_options *o = r->options;
    if (!r->ready)
        return;
    INVARIANT(r->known); /* INV-2 */
    if (!r->rereading && is_past(r, r->reread_ns, o->reread_us)) {
        r->rereading = true;
        master_term_spawn(r, "read METADATA", housekeeping_reread, NULL);
    }
    policies_watch(r);
    if (!all_is_quiet(r))
        return;
    if (is_past(r, r->balanced_ns, o->balance_us) ||
        (r->more_to_move && is_past(r, r->balanced_ns, MOVE_AGAIN_US))) {
        r->balanced_ns = master_term_now_ns(r);
        housekeeping_balance(r);
    }
    if (is_past(r, r->merged_ns, o->merge_us)) {
        r->merged_ns = master_term_now_ns(r);
        merge_some(r);
    }
}
