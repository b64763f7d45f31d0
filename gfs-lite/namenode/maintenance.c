/* Work that a leader starts by itself, a few times a second (GFS 3.1, 4.3
 * and 4.4: lease expiry, re-replication, garbage collection): it declares
 * servers and clients dead, seals or closes files they left open, repairs, and
 * empties the trash. Each kind is bounded per turn, so that none starves
 * another.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

#define TURN_US  UINT64_C(250000)
#define REST_US  UINT64_C(1000000) /* Of one that does not lead. */
#define TRASH_US UINT64_C(60000000)
/* Between tries to seal or close a file of which no copy was found. */
#define BLOCKED_TURN_US UINT64_C(5000000)
/* Age at which an open chunk that only one server has is sealed. */
#define ALONE_NS UINT64_C(2000000000)
/* Steps of emptying the trash, of freeing removed inodes, and of a snapshot
 * whose client is gone, in one turn. */
#define STEPS_MAX 64
/* Files closed for their silent writers in one turn, and open files examined:
 * the next turn continues where this one stopped. */
#define CLOSINGS_MAX 16
#define LOOKS_MAX    2048

/* --- servers ------------------------------------------------------------- */

static void find_dead_servers(struct namenode *nn)
{
    uint64_t now = world_mono_ns(nn->world);
    PRE(nn->servers.count <= nn->catalog.server_count);
    for (size_t i = 0; i < nn->servers.count; i++) {
        struct live_server *l = &nn->servers.servers[i];
        if (!l->alive || now - l->heard_ns < nn->options.server_dead_us * 1000)
            continue;
        log_warn(nn->world, "namenode", "chunk server %s does not report",
                 nn->catalog.servers[i].address);
        l->alive = false;
        l->reported = false;
        l->order_count = 0;
        l->delete_count = 0;
        if (!namenode_forget_server(nn, (uint16_t)i))
            return;
    }
}

bool namenode_is_quiet(const struct namenode *nn, uint16_t number)
{
    uint64_t now = world_mono_ns(nn->world);
    uint64_t since = nn->leading_since_ns;
    if (number < nn->servers.count && nn->servers.servers[number].heard_ns)
        since = nn->servers.servers[number].heard_ns;
    return now > since && now - since > nn->options.server_dead_us * 1000 /
                                            CHUNK_SERVER_QUIET_PART;
}

/* --- open files ---------------------------------------------------------- */

unsigned namenode_chain_alive(const struct namenode *nn,
                              const struct gfs_server_set *chain)
{
    unsigned alive = 0;
    PRE(chain->count <= GFS_REPLICAS_MAX);
    for (unsigned i = 0; i < chain->count; i++)
        alive += chunk_server_is_alive(&nn->servers, chain->numbers[i]);
    return alive;
}

/* May servers that it waits for not have reported yet? */
static bool is_early(struct namenode *nn)
{
    return world_mono_ns(nn->world) - nn->leading_since_ns <
           nn->options.server_dead_us * 1000;
}

/* Is chunk @c, the last of @file, on fewer servers than it could be? Not while
 * it is young: its writer may avoid servers that failed it a moment ago. */
static bool is_thin(const struct namenode *nn,
                    const struct open_file *o,
                    const struct inode *file,
                    const struct chunk *c)
{
    const struct chunk_age *age =
        o->chain.count == 1 ? &nn->alone_age : &nn->thin_age;
    unsigned alive = 0;
    PRE(!c->sealed);
    if (o->chain.count >= file->replication || c->handle >= age->older)
        return false;
    for (size_t i = 0; i < nn->servers.count; i++)
        alive += nn->servers.servers[i].alive;
    return o->chain.count < alive;
}

static void turn_age(struct namenode *nn, struct chunk_age *age, uint64_t ns)
{
    uint64_t now = world_mono_ns(nn->world);
    if (now < age->due_ns)
        return;
    INVARIANT(age->older <= age->newer); /* INV-6 of namenode_state.h */
    age->older = age->newer;
    age->newer = nn->catalog.names.chunks.next_handle;
    age->due_ns = now + ns;
}

enum wish {
    LEAVE,
    SEAL,  /* Its chain broke or is short: the writer continues in another
              chunk. */
    CLOSE, /* Its writer is gone. */
};

static enum wish wish_for(struct namenode *nn, const struct open_file *o)
{
    const struct inode *file = names_by_id(&nn->catalog.names, o->id);
    const struct chunk *last;
    if (!file)
        return LEAVE; /* Removed; freed soon. */
    INVARIANT(!file->is_directory);
    last = inode_last_chunk(file);
    if (!o->shared && !catalog_session(&nn->catalog, o->session))
        return CLOSE;
    if (o->shared &&
        namenode_silent_us(nn, &nn->shared, o->id) > nn->options.shared_idle_us)
        return CLOSE;
    if (!last || last->sealed)
        return LEAVE;
    if (namenode_chain_alive(nn, &o->chain) < o->chain.count)
        return is_early(nn) ? LEAVE : SEAL;
    return is_thin(nn, o, file, last) ? SEAL : LEAVE;
}

/* Was file @id tried a moment ago, and no copy found? It waits longer than
 * callers do: nobody waits for this. */
static bool is_blocked(struct namenode *nn, uint64_t id)
{
    return id_map_get(&nn->blocked, id) &&
           namenode_silent_us(nn, &nn->blocked, id) < BLOCKED_TURN_US;
}

/* Files that were removed, or closed by others, have no entry for ever. */
static void forget_blocked(struct namenode *nn)
{
    struct id_map_walk walk = {0};
    struct last_use *u;
    while ((u = id_map_walk(&nn->blocked, &walk)))
        if (namenode_silent_us(nn, &nn->blocked, u->id) > 2 * BLOCKED_TURN_US) {
            id_map_remove(&nn->blocked, u->id);
            mem_free(u);
        }
}

/* A file that a helper fiber seals or closes. */
struct closing {
    struct namenode *nn;
    uint64_t id;
    bool close;
};

static int do_closing(const struct closing *k, struct err *err)
{
    struct namenode *nn = k->nn;
    PRE(nn->helpers > 0);
    const struct inode *file = names_by_id(&nn->catalog.names, k->id);
    const struct chunk *last =
        file && !file->is_directory ? inode_last_chunk(file) : NULL;
    struct writer_view gone = {.present = false};
    uint64_t length;
    if (k->close)
        return namenode_take_over(nn, k->id, err);
    if (!last || last->sealed)
        return 0;
    return namenode_recover(nn, k->id, last->handle, &gone, false, &length,
                            err);
}

static void run_closing(void *arg)
{
    struct closing *k = arg;
    struct namenode *nn = k->nn;
    struct err err = ERR_INIT;
    PRE(nn->helpers > 0);
    if (do_closing(k, &err))
        log_info(nn->world, "namenode", "%s", err.text);
    mem_free(k);
    namenode_end_helper(nn);
}

static bool maintain_open_file(struct namenode *nn, const struct open_file *o)
{
    enum wish wish = wish_for(nn, o);
    struct closing *k;
    if (wish == LEAVE || is_blocked(nn, o->id) ||
        id_map_get(&nn->recoveries, o->id))
        return false;
    k = mem_zalloc(1, sizeof(*k));
    k->nn = nn;
    k->id = o->id;
    k->close = wish == CLOSE;
    nn->helpers++;
    fiber_detach(fiber_start(loop_self(), "close file", run_closing, k));
    return true;
}

/* Continues where the last turn ended: many files may not be closable now, and
 * they must not keep others waiting. */
static void maintain_open_files(struct namenode *nn)
{
    size_t count = 0;
    for (size_t i = 0;
         i < LOOKS_MAX && count < CLOSINGS_MAX && nn->helpers < CLOSINGS_MAX;
         i++) {
        const struct open_file *o =
            id_map_walk(&nn->catalog.names.open_files, &nn->open_walk);
        if (!o || nn->open_walk.again) {
            nn->open_walk = (struct id_map_walk){.cap = 0};
            return; /* All examined; the next turn begins again. */
        }
        INVARIANT(count < CLOSINGS_MAX);
        count += maintain_open_file(nn, o);
    }
}

/* --- sessions ------------------------------------------------------------ */

static void expire_sessions(struct namenode *nn)
{
    size_t at = 0;
    const struct catalog_session *s;
    while ((s = id_map_next(&nn->catalog.sessions, &at))) {
        struct gfs_command c = {.op = GFS_OP_SESSION_EXPIRE, .session = s->id};
        struct buf reply = BUF_INIT;
        struct gfs_result r;
        int rc;
        if (namenode_silent_us(nn, &nn->sessions, s->id) <
            nn->options.session_us)
            continue;
        log_info(nn->world, "namenode", "client %s does not renew its session",
                 s->name);
        rc = namenode_propose(nn, &c, &r, &reply, NULL);
        buf_close(&reply);
        if (rc)
            return;
        at = 0; /* The table changed. */
    }
}

/* --- the trash and the removed ------------------------------------------- */

static bool propose_step(struct namenode *nn, struct gfs_command *c)
{
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = namenode_propose(nn, c, &r, &reply, NULL);
    namenode_rest(nn);
    buf_close(&reply);
    return rc == 0;
}

static void empty_trash(struct namenode *nn)
{
    const struct names *ns = &nn->catalog.names;
    uint64_t now = world_now_us(nn->world);
    uint64_t mono = world_mono_ns(nn->world);
    struct gfs_command c = {.op = GFS_OP_TRASH_EXPIRE,
                            .length = now - MIN_OF(now, nn->options.trash_us)};
    PRE(c.length <= now);
    if (mono < nn->trash_due_ns)
        return;
    for (unsigned i = 0; i < STEPS_MAX && names_trash_is_due(ns, c.length); i++)
        if (!propose_step(nn, &c))
            return;
    /* Else the next turn does the rest. */
    if (!names_trash_is_due(ns, c.length))
        nn->trash_due_ns =
            mono + MIN_OF(TRASH_US, nn->options.trash_us / 4 + 1) * 1000;
}

/* Removed inodes are freed in steps, between which others run. */
static void maintenance_reap(struct namenode *nn)
{
    struct gfs_command c = {.op = GFS_OP_REAP};
    for (unsigned i = 0; i < STEPS_MAX && names_has_doomed(&nn->catalog.names);
         i++)
        if (!propose_step(nn, &c))
            return;
}

/* --- the turn ------------------------------------------------------------ */

static void maintenance_turn(struct namenode *nn)
{
    PRE(nn->leading_since_ns != 0); /* INV-1 */
    find_dead_servers(nn);
    expire_sessions(nn);
    turn_age(nn, &nn->alone_age, ALONE_NS);
    turn_age(nn, &nn->thin_age, nn->options.server_dead_us * 2000);
    maintain_open_files(nn);
    forget_blocked(nn);
    empty_trash(nn);
    maintenance_reap(nn);
    namenode_continue_copy(nn, STEPS_MAX);
    namenode_drop_old_copies(nn);
    if (nn->reports)
        return;
    if (world_mono_ns(nn->world) >= nn->scan_due_ns) {
        namenode_scan(nn);
        namenode_order_moves(nn);
    }
    if (!nn->reports)
        namenode_order_copies(nn);
}

void namenode_run_maintenance(void *arg)
{
    struct namenode *nn = arg;
    while (!nn->stopping && fiber_check(NULL) == 0) {
        world_sleep_to_tick(nn->world,
                            replica_is_leader(nn->replica) ? TURN_US : REST_US);
        if (!nn->stopping && namenode_lead(nn, NULL) == 0)
            maintenance_turn(nn);
    }
}
