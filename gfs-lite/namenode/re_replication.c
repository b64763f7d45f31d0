/* Re-replication (GFS 4.3): a scan of all chunks queues those that lack copies
 * and drops copies that are too many; then the most urgent are ordered from
 * servers that can take them, a bounded number at a time. If nothing is
 * missing, moves even out the disks.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

/* Chunks scanned before other fibers run: about a millisecond. */
#define WALK_STEP 5000
/* Queued chunks examined in one turn for copies to order. */
#define ORDER_TRIES 5000
/* Chunks tried for one move. */
#define MOVE_TRIES 2000
/* Moves ordered at once. */
#define MOVES_MAX 4

struct repair_view namenode_view_chunk(const struct namenode *nn,
                                       const struct placement_server *view,
                                       const struct chunk *c)
{
    struct repair_view v = {.wanted = c->replication};
    struct gfs_server_set staying = {.count = 0};
    for (size_t i = 0; i < nn->servers.count; i++)
        v.usable_servers += view[i].usable;
    for (unsigned i = 0; i < c->replica_count; i++) {
        uint16_t n = c->replicas[i];
        if (!chunk_server_is_alive(&nn->servers, n))
            continue;
        if (view[n].usable)
            gfs_server_set_add(&staying, n);
        else
            v.leaving++;
    }
    v.staying = staying.count;
    v.racks = placement_rack_count(view, nn->servers.count, &staying);
    v.usable_racks = placement_usable_racks(view, nn->servers.count);
    POST(v.racks <= v.staying);
    return v;
}

/* --- copies under way ---------------------------------------------------- */

static void forget_copy(struct namenode *nn, struct copy_task *t)
{
    PRE(t);
    struct chunk *c = chunk_map_get(&nn->catalog.names.chunks, t->handle);
    if (c)
        c->busy = false;
    id_map_remove(&nn->copies, t->handle);
    mem_free(t);
}

void namenode_end_copy(struct namenode *nn, uint64_t handle, uint16_t server)
{
    struct copy_task *t = id_map_get(&nn->copies, handle);
    if (!t || t->target != server)
        return;
    INVARIANT(t->handle == handle);
    forget_copy(nn, t);
    nn->scan_due_ns = 0; /* It may be one too many now, or still too few. */
}

void namenode_drop_old_copies(struct namenode *nn)
{
    uint64_t now = world_mono_ns(nn->world);
    size_t at = 0;
    struct copy_task *t;
    while ((t = id_map_next(&nn->copies, &at)))
        if (now >= t->until_ns ||
            !chunk_server_is_alive(&nn->servers, t->target)) {
            forget_copy(nn, t);
            at = 0; /* Removing moves others. */
        }
}

void namenode_forget_copies(struct namenode *nn, uint16_t server)
{
    size_t at = 0;
    struct copy_task *t;
    PRE(server < nn->servers.count);
    while ((t = id_map_next(&nn->copies, &at)))
        if (t->target == server) {
            forget_copy(nn, t);
            at = 0; /* Removing moves others. */
        }
}

static void order_copy(struct namenode *nn,
                       struct chunk *c,
                       uint16_t target,
                       enum copy_reason why)
{
    struct copy_task *t = mem_zalloc(1, sizeof(*t));
    PRE(c->sealed);
    PRE(!c->busy); /* INV-2 of namenode_state.h */
    PRE(!chunk_has_replica(c, target));
    uint64_t now = world_mono_ns(nn->world);
    t->handle = c->handle;
    t->target = target;
    t->until_ns = now + nn->options.copy_timeout_us * 1000;
    id_map_put(&nn->copies, t);
    c->busy = true;
    chunk_server_add_order(&nn->servers, target, GFS_ORDER_COPY, c->handle);
    chunk_server_give(&nn->servers, target, now);
    metric_add(&nn->copies_ordered[why], 1);
}

static void repair_one(struct namenode *nn,
                       const struct placement_server *view,
                       struct chunk *c)
{
    struct repair_view v = namenode_view_chunk(nn, view, c);
    enum repair_level level = repair_level_of(&v);
    struct placement_wish wish = {.count = 1,
                                  .chance = world_random(nn->world)};
    struct gfs_server_set chosen;
    if (level >= REPAIR_LEVELS)
        return;
    for (unsigned i = 0; i < c->replica_count; i++) {
        /* The server of a copy that leaves cannot be chosen; the place of the
         * copy does not restrict the new one. */
        if (chunk_server_is_alive(&nn->servers, c->replicas[i]) &&
            view[c->replicas[i]].usable)
            gfs_server_set_add(&wish.present, c->replicas[i]);
        else
            gfs_server_set_add(&wish.excluded, c->replicas[i]);
    }
    placement_choose(view, nn->servers.count, &wish, &chosen);
    if (chosen.count == 0)
        return;
    if (level == REPAIR_RACK) {
        gfs_server_set_add(&wish.present, chosen.numbers[0]);
        if (placement_rack_count(view, nn->servers.count, &wish.present) < 2)
            return; /* The other rack has no room: leave it. */
    }
    INVARIANT(chosen.count == 1);
    order_copy(nn, c, chosen.numbers[0],
               v.staying + v.leaving >= v.wanted && v.leaving ? COPY_DRAIN
                                                              : COPY_REPAIR);
}

void namenode_order_copies(struct namenode *nn)
{
    struct placement_server *view = chunk_servers_view(
        &nn->servers, &nn->catalog, world_mono_ns(nn->world));
    uint64_t handle;
    for (unsigned i = 0;
         i < ORDER_TRIES && nn->copies.count < nn->options.copies_max &&
         repair_queue_take(&nn->repairs, &handle);
         i++) {
        struct chunk *c = chunk_map_get(&nn->catalog.names.chunks, handle);
        if (c && c->sealed && !c->busy)
            repair_one(nn, view, c);
    }
    mem_free(view);
}

/* --- looking at all ------------------------------------------------------ */

static void drop_excess(struct namenode *nn,
                        const struct placement_server *view,
                        struct chunk *c)
{
    bool removed;
    struct gfs_server_set present = {.count = 0};
    uint16_t victim;
    for (unsigned i = 0; i < c->replica_count; i++)
        if (view[c->replicas[i]].usable)
            gfs_server_set_add(&present, c->replicas[i]);
    PRE(c->sealed);
    victim = placement_excess(view, nn->servers.count, &present);
    INVARIANT(present.count > 1); /* The last copy is never dropped. */
    removed = chunk_remove_replica(c, victim);
    POST(removed);
    chunk_server_add_delete(&nn->servers, victim, c->handle, c->version);
}

bool namenode_pause(struct namenode *nn, size_t *steps)
{
    uint64_t term = nn->term;
    if (++*steps % WALK_STEP)
        return true;
    fiber_yield();
    INVARIANT(nn->term >= term); /* INV-5 */
    return namenode_lead(nn, NULL) == 0 && nn->term == term;
}

/* A walk over all chunks. */
struct scan {
    struct namenode *nn;
    struct placement_server *view; /* Made again after each pause. */
    bool repair;                   /* Else only count. */
    uint64_t lost;
    uint64_t under;
    uint64_t over;
};

static void look_at_servers(struct scan *s)
{
    mem_free(s->view);
    s->view = chunk_servers_view(&s->nn->servers, &s->nn->catalog,
                                 world_mono_ns(s->nn->world));
}

static void scan_chunk(struct scan *s, struct chunk *c)
{
    struct repair_view v = namenode_view_chunk(s->nn, s->view, c);
    enum repair_level level = repair_level_of(&v);
    s->lost += level == REPAIR_LOST;
    s->over += level == REPAIR_EXCESS;
    s->under += v.staying + v.leaving < v.wanted && level != REPAIR_LOST;
    if (!s->repair || c->busy)
        return;
    if (level == REPAIR_EXCESS)
        drop_excess(s->nn, s->view, c);
    else if (level < REPAIR_LEVELS)
        repair_queue_add(&s->nn->repairs, c->handle, level);
}

/* False: this member does not lead any more. Parks. */
static bool scan_all(struct scan *s)
{
    struct id_map_walk walk = {0};
    size_t steps = 0;
    bool leads = true;
    struct chunk *c;
    look_at_servers(s);
    while (leads && !walk.again &&
           (c = id_map_walk(&s->nn->catalog.names.chunks.by_handle, &walk))) {
        if (c->sealed && !walk.again)
            scan_chunk(s, c);
        leads = namenode_pause(s->nn, &steps);
        if (leads && steps % WALK_STEP == 0)
            look_at_servers(s);
    }
    mem_free(s->view);
    return leads;
}

/* Chunks that are being written have the copies that their chains have. */
static void count_open(struct scan *s)
{
    const struct names *ns = &s->nn->catalog.names;
    const struct open_file *o;
    size_t at = 0;
    while ((o = id_map_next(&ns->open_files, &at))) {
        const struct inode *file = names_by_id(ns, o->id);
        const struct chunk *last = file ? inode_last_chunk(file) : NULL;
        unsigned alive = namenode_chain_alive(s->nn, &o->chain);
        if (!last || last->sealed)
            continue;
        INVARIANT(alive <= o->chain.count);
        s->lost += alive == 0;
        s->under += alive > 0 && alive < last->replication;
    }
}

/* Remember since when chunks lack copies. Before servers have reported, that is
 * not known. */
static void note_since(const struct scan *s)
{
    struct namenode *nn = s->nn;
    bool early = namenode_is_early(nn);
    uint64_t now_us = world_now_us(nn->world);
    if (early || s->under == 0)
        nn->under_since_us = 0;
    else if (nn->under_since_us == 0)
        nn->under_since_us = now_us;
    if (early || s->lost == 0)
        nn->lost_since_us = 0;
    else if (nn->lost_since_us == 0)
        nn->lost_since_us = now_us;
}

void namenode_scan(struct namenode *nn)
{
    struct scan s = {.nn = nn, .repair = !namenode_in_safe_mode(nn)};
    nn->scan_due_ns = world_mono_ns(nn->world) + nn->options.scan_us * 1000;
    repair_queue_close(&nn->repairs);
    repair_queue_init(&nn->repairs);
    if (!scan_all(&s))
        return;
    nn->under_count = s.under;
    nn->over_count = s.over;
    nn->lost_count = s.lost;
    count_open(&s);
    note_since(&s);
}

bool namenode_count(struct namenode *nn, uint64_t *lost, uint64_t *under)
{
    struct scan s = {.nn = nn};
    bool leads = scan_all(&s);
    if (leads) {
        count_open(&s);
        note_since(&s);
    }
    *lost = s.lost;
    *under = s.under;
    return leads;
}

bool namenode_forget_server(struct namenode *nn, uint16_t server)
{
    struct id_map_walk walk = {0};
    size_t steps = 0;
    bool leads = true;
    struct chunk *c;
    PRE(server < nn->servers.count);
    while (leads &&
           (c = id_map_walk(&nn->catalog.names.chunks.by_handle, &walk))) {
        chunk_remove_replica(c, server);
        leads = namenode_pause(nn, &steps);
    }
    nn->scan_due_ns = 0;
    return leads;
}

/* --- moves --------------------------------------------------------------- */

/* May @c be moved as @m says? */
static bool can_move(struct namenode *nn,
                     const struct placement_server *view,
                     const struct chunk *c,
                     const struct balance_move *m)
{
    struct gfs_server_set before = {.count = 0};
    struct gfs_server_set after = {.count = 0};
    PRE(m->from != m->to);
    if (!c->sealed || c->busy || c->replica_count >= GFS_REPLICAS_MAX ||
        !chunk_has_replica(c, m->from) || chunk_has_replica(c, m->to))
        return false;
    for (unsigned i = 0; i < c->replica_count; i++) {
        uint16_t n = c->replicas[i];
        gfs_server_set_add(&before, n);
        if (n != m->from)
            gfs_server_set_add(&after, n);
        if (n != m->from && view[n].machine == view[m->to].machine)
            return false;
    }
    gfs_server_set_add(&after, m->to);
    return placement_rack_count(view, nn->servers.count, &after) >=
           placement_rack_count(view, nn->servers.count, &before);
}

static void order_move(struct namenode *nn,
                       const struct placement_server *view,
                       const struct balance_move *m)
{
    const struct id_map *all = &nn->catalog.names.chunks.by_handle;
    size_t at = all->cap ? world_random(nn->world) % all->cap : 0;
    struct chunk *c;
    PRE(m->to < nn->servers.count);
    PRE(m->from != m->to);
    for (size_t i = 0; i < MOVE_TRIES; i++) {
        c = id_map_next(all, &at);
        if (!c && at == 0)
            return;
        if (!c)
            at = 0;
        else if (can_move(nn, view, c, m)) {
            /* The scan drops the copy of the fullest. */
            order_copy(nn, c, m->to, COPY_BALANCE);
            return;
        }
    }
}

void namenode_order_moves(struct namenode *nn)
{
    struct balance_move moves[MOVES_MAX];
    struct placement_server *view;
    size_t count;
    if (nn->copies.count > 0 || nn->under_count > 0 ||
        namenode_in_safe_mode(nn))
        return;
    view = chunk_servers_view(&nn->servers, &nn->catalog,
                              world_mono_ns(nn->world));
    count = balance_moves(view, nn->servers.count, moves, MOVES_MAX);
    for (size_t i = 0; i < count; i++)
        order_move(nn, view, &moves[i]);
    mem_free(view);
}
