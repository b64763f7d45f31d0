/* Handlers of changes. A command is deterministic once it is in the log, so the
 * leader decides here, before it is proposed, all that depends on time, chance
 * or live servers: where a chunk goes, whether its writer must wait, and what
 * must be sealed first.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"
#include "gfs-lite/namenode/permission.h"

/* --- where a new chunk goes ---------------------------------------------- */

static int no_server(struct namenode *nn,
                     const struct placement_server *view,
                     const struct gfs_server_set *excluded,
                     struct err *err)
{
    unsigned dead = 0;
    unsigned full = 0;
    unsigned leaving = 0;
    unsigned failed = 0;
    PRE(nn->servers.count <= nn->catalog.server_count);
    for (size_t i = 0; i < nn->servers.count; i++) {
        if (!nn->servers.servers[i].alive)
            dead++;
        else if (!view[i].usable)
            leaving++;
        else if (gfs_server_set_has(excluded, (uint16_t)i))
            failed++;
        else if (view[i].free_bytes == 0)
            full++;
    }
    err_set(err, ERR_BUSY,
            "no chunk server can take the chunk: of %zu known ones %u are not "
            "reporting, %u full, %u leaving, %u failed the writer",
            nn->servers.count, dead, full, leaving, failed);
    err_hint(err, nn->servers.count ? "see quarry cluster status"
                                    : "start chunk servers");
    return ERR_BUSY;
}

/* Choose for @wish. A short chain is worse than a server that failed a while
 * ago and reports again: excluded servers are admitted in the order in which
 * they failed, but never the last one. */
static void choose_chain(struct namenode *nn,
                         const struct placement_server *view,
                         struct placement_wish *wish,
                         struct gfs_server_set *out)
{
    struct gfs_server_set *excluded = &wish->excluded;
    PRE(wish->count > 0);
    placement_choose(view, nn->servers.count, wish, out);
    while (out->count < wish->count && excluded->count > 1) {
        excluded->count--;
        memmove(excluded->numbers, excluded->numbers + 1,
                excluded->count * sizeof(excluded->numbers[0]));
        INVARIANT(out->count <= wish->count);
        placement_choose(view, nn->servers.count, wish, out);
    }
}

/* A server that is well reports before this part of the time after which it
 * counts as dead. */
#define HEARD_PART 3

/* For this many times that time the leader waits for other servers before it
 * puts a chunk on one server alone. */
#define ALONE_PARTS 2

/* A leader that has just begun may not yet have reports of servers that could
 * make a chain of @chosen as long as @wanted. A chunk on few servers is lost
 * with them, and its writer can wait for a moment. */
static bool
is_chain_early(const struct namenode *nn, unsigned chosen, unsigned wanted)
{
    uint64_t now = world_mono_ns(nn->world);
    PRE(nn->leading_since_ns > 0);
    if (chosen >= wanted || now - nn->leading_since_ns >=
                                nn->options.server_dead_us * 1000 / HEARD_PART)
        return false;
    for (size_t i = 0; i < nn->servers.count; i++)
        if (nn->catalog.servers[i].state == GFS_SERVER_IN_SERVICE &&
            !nn->servers.servers[i].alive)
            return true;
    return false;
}

/* May server @number take a chunk soon? It is alive, though it failed the
 * writer, or has been silent for a short time only. */
static bool may_come(const struct namenode *nn, size_t number, uint64_t now)
{
    const struct live_server *l = &nn->servers.servers[number];
    uint64_t dead = nn->options.server_dead_us * 1000;
    uint64_t until = l->heard_ns ? l->heard_ns + ALONE_PARTS * dead
                                 : nn->leading_since_ns + dead;
    return nn->catalog.servers[number].state == GFS_SERVER_IN_SERVICE &&
           (l->alive ? l->free_bytes > 0 : now < until);
}

/* Must the writer wait because one server of several wanted is all there is?
 * The chunk would be lost with it. After a while one copy is better than none.
 */
static bool must_wait_alone(struct namenode *nn,
                            const struct gfs_server_set *chosen,
                            unsigned wanted,
                            uint64_t now)
{
    uint64_t dead = nn->options.server_dead_us * 1000;
    bool others = false;
    PRE(chosen->count <= GFS_REPLICAS_MAX);
    if (chosen->count != 1 || wanted < 2)
        return false;
    for (size_t i = 0; i < nn->servers.count && !others; i++)
        others = i != chosen->numbers[0] && may_come(nn, i, now);
    if (!others)
        return false;
    if (now - nn->alone_ns > dead)
        nn->alone_since_ns = now;
    nn->alone_ns = now;
    return now - nn->alone_since_ns < ALONE_PARTS * dead;
}

/* Choose among servers that reported lately; if they are too few, among all
 * that count as alive. */
static void choose_heard(struct namenode *nn,
                         struct placement_server *view,
                         struct placement_wish *wish,
                         struct gfs_server_set *out)
{
    struct placement_wish heard = *wish;
    bool any = false;
    PRE(wish->count > 0);
    for (uint16_t i = 0; i < nn->servers.count; i++) {
        view[i].quiet = view[i].usable && namenode_is_quiet(nn, i);
        view[i].usable = view[i].usable && !view[i].quiet;
        any = any || view[i].quiet;
    }
    choose_chain(nn, view, &heard, out);
    if (!any || out->count >= wish->count)
        return;
    for (uint16_t i = 0; i < nn->servers.count; i++)
        view[i].usable = view[i].usable || view[i].quiet;
    choose_chain(nn, view, wish, out);
}

/* Choose the servers of @c for @wish. */
static int choose_now(struct namenode *nn,
                      struct gfs_command *c,
                      struct placement_wish *wish,
                      uint64_t now,
                      struct err *err)
{
    struct placement_server *view =
        chunk_servers_view(&nn->servers, &nn->catalog, now);
    int rc = 0;
    PRE(c->op == GFS_OP_ALLOCATE);
    choose_heard(nn, view, wish, &c->servers);
    if (is_chain_early(nn, c->servers.count, wish->count))
        rc = err_set(err, ERR_BUSY,
                     "%u of the chunk's %u servers have reported since another "
                     "namenode leads",
                     c->servers.count, wish->count);
    else if (must_wait_alone(nn, &c->servers, wish->count, now))
        rc = err_set(err, ERR_BUSY,
                     "one server alone can take the chunk of %u copies",
                     wish->count);
    else if (c->servers.count == 0)
        rc = no_server(nn, view, &wish->excluded, err);
    for (unsigned i = 0; rc == 0 && i < c->servers.count; i++)
        chunk_server_give(&nn->servers, c->servers.numbers[i], now);
    mem_free(view);
    return rc;
}

/* Fill in the servers of an ALLOCATE; those that it names failed its writer. */
static int
choose_servers(struct namenode *nn, struct gfs_command *c, struct err *err)
{
    const struct inode *file = names_by_id(&nn->catalog.names, c->file);
    struct placement_wish wish = {.excluded = c->servers,
                                  .chance = world_random(nn->world)};
    if (!file || file->is_directory)
        return err_set(err, ERR_NOTFOUND, "the file has been removed");
    wish.count = file->replication;
    INVARIANT(wish.count > 0);
    INVARIANT(wish.count <= GFS_REPLICAS_MAX);
    wish.has_writer = c->text.len > 0;
    wish.writer_machine = chunk_servers_text(&nn->servers, c->text);
    return choose_now(nn, c, &wish, world_mono_ns(nn->world), err);
}

/* An appender reports that the open chunk takes no more records. */
static int
seal_shared(struct namenode *nn, const struct gfs_command *c, struct err *err)
{
    const struct open_file *o =
        id_map_get(&nn->catalog.names.open_files, c->file);
    const struct inode *file = names_by_id(&nn->catalog.names, c->file);
    const struct chunk *last;
    struct writer_view gone = {.present = false};
    uint64_t length;
    if (!o || !o->shared || !file)
        return 0;
    INVARIANT(o->id == file->id);
    INVARIANT(!file->is_directory);
    last = inode_last_chunk(file);
    if (!last || last->sealed || last->handle != c->chunk)
        return 0;
    return namenode_recover(nn, c->file, c->chunk, &gone, false, &length, err);
}

bool namenode_is_answered(const struct namenode *nn,
                          const struct gfs_command *c)
{
    const struct catalog_session *s = catalog_session(&nn->catalog, c->session);
    return s && session_answers_find(&s->answers, c->sequence);
}

static int
prepare_allocate(struct namenode *nn, struct gfs_command *c, struct err *err)
{
    int rc;
    PRE(c->op == GFS_OP_ALLOCATE);
    namenode_await_recovery(nn, c->file);
    rc = seal_shared(nn, c, err);
    if (rc == 0) /* Another may lead by now: both have parked. */
        rc = namenode_lead(nn, err);
    if (rc == 0)
        rc = choose_servers(nn, c, err);
    log_debug(nn->world, "namenode",
              "chunk for file=%llu on=%u servers code=%d",
              (unsigned long long)c->file, (unsigned)c->servers.count, rc);
    /* The writer must learn of a chunk that was begun already, however few
     * servers a new leader knows: it cannot ask for another one. */
    if (rc && namenode_lead_now(nn, NULL) == 0 && namenode_is_answered(nn, c))
        rc = 0;
    return rc;
}

/* A writer that could not settle the chunk before its last one leaves that to
 * the namenode. */
static int
prepare_close(struct namenode *nn, const struct gfs_command *c, struct err *err)
{
    struct writer_view gone = {.present = false};
    const struct open_file *o;
    struct inode *file;
    uint64_t length;
    int rc;
    PRE(c->op == GFS_OP_CLOSE);
    namenode_await_recovery(nn, c->file);
    file = names_by_id(&nn->catalog.names, c->file);
    o = id_map_get(&nn->catalog.names.open_files, c->file);
    if (!file || !o || !o->next || o->epoch != c->epoch)
        return 0;
    rc = namenode_recover(nn, c->file, inode_last_chunk(file)->handle, &gone,
                          false, &length, err);
    return rc == ERR_ABORTED ? 0 : rc; /* Another recovery was faster. */
}

static int
execute_prepare(struct namenode *nn, struct gfs_command *c, struct err *err)
{
    int rc = namenode_lead(nn, err);
    if (rc)
        return rc;
    if (!gfs_op_is_for_clients(c->op))
        return err_set(err, ERR_DENIED, "command %d is not for clients",
                       (int)c->op);
    rc = rights_check_session(&nn->catalog, c, err);
    if (rc == 0)
        rc = namenode_check_tree(nn, c, err);
    if (rc)
        return rc;
    namenode_touch(nn, &nn->sessions, c->session);
    if (c->file)
        namenode_touch(nn, &nn->shared, c->file);
    if (c->op == GFS_OP_ALLOCATE)
        return prepare_allocate(nn, c, err);
    if (c->op == GFS_OP_SNAPSHOT)
        return namenode_prepare_snapshot(nn, c, err);
    if (c->op == GFS_OP_SET_REPLICATION)
        c->length = nn->options.copy_step;
    if (c->op == GFS_OP_CLOSE)
        return prepare_close(nn, c, err);
    if (c->op == GFS_OP_SETTLE)
        namenode_await_recovery(nn, c->file);
    return 0;
}

/* The servers of the chunk that @c, of its writer, has sealed have all of it:
 * this is known before they report it. In the chain's order: of copies on one
 * machine the first is in the page cache. */
static void note_sealed(struct namenode *nn,
                        const struct gfs_command *c,
                        const struct gfs_server_set *chain)
{
    struct chunk *sealed = chunk_map_get(&nn->catalog.names.chunks, c->chunk);
    if (!sealed || !sealed->sealed)
        return;
    for (unsigned i = 0; i < chain->count; i++)
        if (chunk_server_is_alive(&nn->servers, chain->numbers[i]))
            chunk_remove_replica(sealed, chain->numbers[i]);
    for (unsigned i = 0; i < chain->count; i++)
        if (chunk_server_is_alive(&nn->servers, chain->numbers[i])) {
            INVARIANT(sealed->replica_count <= GFS_REPLICAS_MAX);
            chunk_add_replica(sealed, chain->numbers[i]);
            chunk_server_add_order(&nn->servers, chain->numbers[i],
                                   GFS_ORDER_SEAL, c->chunk);
        }
}

/* The chain of the open chunk that @c may seal. */
static struct gfs_server_set chain_of(const struct namenode *nn,
                                      const struct gfs_command *c)
{
    const struct inode *file = names_by_id(&nn->catalog.names, c->file);
    const struct open_file *o =
        id_map_get(&nn->catalog.names.open_files, c->file);
    const struct chunk *last =
        file && !file->is_directory ? inode_last_chunk(file) : NULL;
    INVARIANT(!o || o->chain.count <= GFS_REPLICAS_MAX);
    if (o && last && !last->sealed && last->handle == c->chunk)
        return o->chain;
    return (struct gfs_server_set){.count = 0};
}

static int execute_command(struct namenode *nn,
                           struct gfs_command *c,
                           struct gfs_result *r,
                           struct buf *reply,
                           struct err *err)
{
    struct gfs_server_set chain;
    int rc = execute_prepare(nn, c, err);
    if (rc)
        return rc;
    chain = chain_of(nn, c);
    rc = namenode_propose(nn, c, r, reply, err);
    if (rc)
        return rc;
    note_sealed(nn, c, &chain);
    if (c->op == GFS_OP_SESSION_OPEN)
        namenode_touch(nn, &nn->sessions, r->session);
    if (c->op == GFS_OP_SET_REPLICATION)
        rc = namenode_replicate_rest(nn, c, r->text, err);
    return rc;
}

/* The writer of a new chunk gets the proof of its right to it. */
static void prove_allocated(struct namenode *nn,
                            struct rpc_call *call,
                            struct gfs_result *r)
{
    struct buf reply = BUF_INIT;
    PRE(r->chunk);
    namenode_prove(nn, call, r->chunk, PROOF_WRITE, 0, &r->proof);
    if (r->proof.there) {
        gfs_result_put(r, &reply);
        buf_clear(call->reply_body);
        buf_append_slice(call->reply_body, buf_slice(&reply));
    }
    buf_close(&reply);
}

int namenode_handle_execute(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_command c;
    struct buf roles = BUF_INIT;
    int rc = gfs_command_get(call->body, &c, err);
    call->is_audited = rc == 0 && namenode_is_for_audit(nn, call, &c);
    if (rc == 0)
        rc =
            rights_check_command(&nn->options.rights, call->principal, &c, err);
    if (rc == 0)
        rights_fill_command(&nn->options.rights, call->principal,
                            nn->options.mask, &c, &roles);
    while (rc == 0) {
        struct gfs_result r = {.code = 0};
        buf_clear(call->reply_body);
        rc = execute_command(nn, &c, &r, call->reply_body, err);
        if (rc == 0 && c.op == GFS_OP_ALLOCATE)
            prove_allocated(nn, call, &r);
        if (!namenode_waits_for_copy(&c, rc, &r))
            break;
        rc = namenode_finish_copy(nn, err);
    }
    buf_close(&roles);
    return rc;
}

int namenode_handle_renew(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_query q;
    int rc = gfs_query_get(call->body, &q, err);
    if (rc == 0)
        rc = namenode_lead(nn, err);
    if (rc)
        return rc;
    if (!catalog_session(&nn->catalog, q.session)) {
        /* Only a leader that has applied everything may say so. */
        rc = namenode_lead_now(nn, err);
        if (rc)
            return rc;
        if (!catalog_session(&nn->catalog, q.session))
            return err_set(err, ERR_CLOSED, "the session has ended");
    }
    namenode_touch(nn, &nn->sessions, q.session);
    return 0;
}

/* --- broken chains ------------------------------------------------------- */

/* The length of chunk @handle of @file, if it is sealed; 0: it is not in the
 * file. */
static uint32_t sealed_length(const struct inode *file, uint64_t handle)
{
    PRE(!file->is_directory);
    for (uint32_t i = file->chunk_count; i > 0; i--) {
        const struct chunk *c = inode_chunk(file, i - 1);
        if (c->handle == handle)
            return c->sealed ? c->length : 0;
    }
    return 0;
}

int namenode_handle_recover(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_recovery q;
    struct gfs_result r = {.code = 0};
    struct writer_view writer = {.present = true};
    struct open_file *open;
    struct inode *file;
    const struct chunk *last;
    int rc = gfs_recovery_get(call->body, &q, err);
    if (rc == 0)
        rc = namenode_lead_now(nn, err);
    if (rc)
        return rc;
    namenode_await_recovery(nn, q.file);
    rc = names_writer(&nn->catalog.names, q.file, q.epoch, &file, &open, err);
    if (rc == 0)
        rc = namenode_check_inode(nn, call, file, PERMISSION_WRITE, err);
    if (rc)
        return rc;
    if (open->next && open->next->handle == q.chunk)
        return err_set(err, ERR_ABORTED, "the chunk before it is not sealed");
    last = inode_last_chunk(file);
    if (!last || last->sealed || last->handle != q.chunk) {
        r.length = sealed_length(file, q.chunk);
    } else {
        writer.acknowledged = q.acknowledged;
        writer.failed = q.failed;
        rc = namenode_recover(nn, q.file, q.chunk, &writer, false, &r.length,
                              err);
    }
    if (rc == 0 && r.length < q.acknowledged)
        rc = err_set(err, ERR_CORRUPT,
                     "chunk %llu was sealed at %llu bytes, %llu were "
                     "acknowledged",
                     (unsigned long long)q.chunk, (unsigned long long)r.length,
                     (unsigned long long)q.acknowledged);
    if (rc == 0)
        gfs_result_put(&r, call->reply_body);
    return rc;
}

int namenode_handle_take_over(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_result r = {.code = 0};
    struct gfs_query q;
    struct inode *file;
    int rc = gfs_query_get(call->body, &q, err);
    if (rc == 0)
        rc = namenode_lead_now(nn, err);
    if (rc == 0)
        rc = names_find(&nn->catalog.names, q.path, &file, err);
    if (rc == 0 && file->is_directory)
        rc = err_set(err, ERR_INVALID, "/%.*s: is a directory",
                     SLICE_ARG(q.path));
    if (rc == 0)
        rc = rights_check(&nn->options.rights, call->principal, q.path,
                          RIGHTS_CHANGE, err);
    if (rc == 0)
        rc = namenode_check_inode(nn, call, file, PERMISSION_WRITE, err);
    if (rc)
        return rc;
    r.file = file->id;
    rc = namenode_take_over(nn, r.file, err);
    if (rc)
        return rc;
    file = names_by_id(&nn->catalog.names, r.file);
    if (!file)
        return err_set(err, ERR_NOTFOUND, "/%.*s has been removed",
                       SLICE_ARG(q.path));
    r.length = inode_bytes(file);
    gfs_result_put(&r, call->reply_body);
    return 0;
}

/* --- the operator -------------------------------------------------------- */

int namenode_handle_set_server(void *ctx,
                               struct rpc_call *call,
                               struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_query q;
    struct gfs_result r;
    struct gfs_command c = {.op = GFS_OP_SERVER_STATE};
    struct buf reply = BUF_INIT;
    int rc = gfs_query_get(call->body, &q, err);
    if (rc == 0)
        rc = rights_check_order(&nn->options.rights, call->principal,
                                "say what chunk servers are for", err);
    if (rc == 0)
        rc = namenode_lead_now(nn, err);
    for (size_t i = 0; i < nn->catalog.server_count && rc == 0; i++)
        if (slice_eq_str(q.path, nn->catalog.servers[i].address))
            c.chunk = nn->catalog.servers[i].own_id;
    if (rc == 0 && !c.chunk)
        rc = err_set(err, ERR_NOTFOUND, "no chunk server has the address %.*s",
                     SLICE_ARG(q.path));
    c.flags = (uint32_t)q.length;
    if (rc == 0)
        rc = namenode_propose(nn, &c, &r, &reply, err);
    buf_close(&reply);
    nn->scan_due_ns = 0;
    return rc;
}
