/* Execution of commands. Each is one switch case that checks the command
 * against the state, changes names and chunks by namespace.h, and fills in the
 * result. A command of a session is executed once: its answer is kept until the
 * client has confirmed it (RIFL), and a repeated command gets that answer.
 */
#include "gfs-lite/namenode/catalog.h"

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/permission.h"

/* --- life ---------------------------------------------------------------- */

void catalog_init(struct catalog *m)
{
    *m = (struct catalog){.applied = 0};
    names_init(&m->names);
}

void catalog_watch(struct catalog *m,
                   void (*on_free)(void *ctx, const struct chunk *c),
                   void *ctx)
{
    m->names.chunks.on_free = on_free;
    m->names.chunks.on_free_ctx = ctx;
}

void catalog_close(struct catalog *m)
{
    size_t at = 0;
    struct catalog_session *s;
    PRE(m->servers || m->server_count == 0);
    m->names.chunks.on_free = NULL;
    while ((s = id_map_next(&m->sessions, &at)))
        catalog_session_free(s);
    id_map_close(&m->sessions);
    for (size_t i = 0; i < m->server_count; i++) {
        mem_free(m->servers[i].address);
        mem_free(m->servers[i].machine);
        mem_free(m->servers[i].rack);
    }
    mem_free(m->servers);
    buf_close(&m->text);
    names_close(&m->names);
}

/* --- writing ------------------------------------------------------------- */

static const char *holder_name(const struct catalog *m, uint64_t session)
{
    const struct catalog_session *s = catalog_session(m, session);
    return s ? s->name : "a client that is gone";
}

static uint8_t replication_of(const struct gfs_command *c)
{
    uint32_t n = MAX_OF(c->replication, 1);
    return (uint8_t)MIN_OF(n, GFS_REPLICAS_MAX);
}

static int catalog_create(struct catalog *m,
                          uint64_t index,
                          const struct gfs_command *c,
                          struct gfs_result *r,
                          struct err *err)
{
    bool shared = c->flags & GFS_SHARED;
    struct inode *file;
    PRE(index > 0);
    int rc = names_create(&m->names, c->path, c->flags & GFS_EXCLUSIVE,
                          replication_of(c), c->time_us, &file, err);
    if (rc)
        return rc;
    names_open(&m->names, file, shared ? 0 : c->session, index, shared);
    r->file = file->id;
    r->epoch = index;
    return 0;
}

static int append_open(struct catalog *m,
                       uint64_t index,
                       const struct gfs_command *c,
                       struct gfs_result *r,
                       struct err *err)
{
    bool shared = c->flags & GFS_SHARED;
    struct open_file *o;
    struct inode *file;
    int rc = names_find(&m->names, c->path, &file, err);
    if (rc)
        return rc;
    if (file->is_directory)
        return err_set(err, ERR_INVALID, "/%.*s: is a directory",
                       SLICE_ARG(c->path));
    o = id_map_get(&m->names.open_files, file->id);
    r->file = file->id;
    if (o && !(o->shared && shared))
        return err_set(
            err, ERR_BUSY, "/%.*s is being written by %s", SLICE_ARG(c->path),
            o->shared ? "record appends" : holder_name(m, o->session));
    if (!o) {
        rc = names_check_still(&m->names, file, err);
        if (rc)
            return rc;
        o = names_open(&m->names, file, shared ? 0 : c->session, index, shared);
    }
    INVARIANT(o->id == file->id);
    r->epoch = o->epoch;
    r->length = inode_bytes(file);
    return 0;
}

/* The writer gives the length of its last chunk. */
static int seal_by_writer(struct catalog *m,
                          const struct gfs_command *c,
                          struct inode *file,
                          struct err *err)
{
    struct chunk *last = inode_last_chunk(file);
    if (!last || last->sealed)
        return 0; /* A recovery was faster, or there is nothing to seal. */
    if (last->handle != c->chunk || last->pending != last->version) {
        err_set(err, ERR_ABORTED, "its last chunk is being recovered");
        inode_wrap_error(file, err);
        return ERR_ABORTED;
    }
    if (c->length > GFS_CHUNK_BYTES)
        return err_set(err, ERR_INVALID, "a chunk of %llu bytes",
                       (unsigned long long)c->length);
    INVARIANT(last->version <= last->pending);
    names_seal(&m->names, file, (uint32_t)c->length, c->time_us);
    return 0;
}

/* A chunk that was ahead of the sealed one may be the last one now. */
static int check_sealed(const struct inode *file, struct err *err)
{
    const struct chunk *last = inode_last_chunk(file);
    if (!last || last->sealed)
        return 0;
    err_set(err, ERR_ABORTED, "its last chunk is another one");
    inode_wrap_error(file, err);
    return ERR_ABORTED;
}

static void put_chunk(const struct open_file *o,
                      const struct chunk *chunk,
                      struct gfs_result *r)
{
    PRE(!chunk->sealed);
    r->chunk = chunk->handle;
    r->version = chunk->version;
    r->servers = chunk == o->next ? o->next_chain : o->chain;
}

/* Is the last chunk @handle, and does no recovery seal it? */
static int
check_last(const struct inode *file, uint64_t handle, struct err *err)
{
    PRE(!file->is_directory);
    const struct chunk *last = inode_last_chunk(file);
    if (last && !last->sealed && last->handle == handle &&
        last->pending == last->version)
        return 0;
    err_set(err, ERR_ABORTED, "its last chunk was recovered");
    inode_wrap_error(file, err);
    return ERR_ABORTED;
}

/* The chunk before it has ended and stays unsealed. */
static int allocate_ahead(struct catalog *m,
                          const struct gfs_command *c,
                          struct inode *file,
                          struct open_file *o,
                          struct gfs_result *r,
                          struct err *err)
{
    int rc = check_last(file, c->chunk, err);
    if (rc == 0 && (o->shared || o->next))
        rc = err_set(err, ERR_ABORTED, "a chunk is ahead already");
    if (rc == 0 && (c->length == 0 || c->length > GFS_CHUNK_BYTES))
        rc = err_set(err, ERR_INVALID, "a chunk of %llu bytes",
                     (unsigned long long)c->length);
    if (rc == 0)
        rc = names_add_ahead(&m->names, file, o, (uint32_t)c->length, err);
    if (rc)
        return rc;
    POST(o->next);
    POST(!o->next->sealed);
    o->next_chain = c->servers;
    put_chunk(o, o->next, r);
    return 0;
}

static int catalog_allocate(struct catalog *m,
                            const struct gfs_command *c,
                            struct gfs_result *r,
                            struct err *err)
{
    struct open_file *o;
    struct inode *file;
    struct chunk *chunk;
    int rc = names_writer(&m->names, c->file, c->epoch, &file, &o, err);
    if (rc)
        return rc;
    chunk = inode_last_chunk(file);
    if (o->shared && chunk && !chunk->sealed) {
        put_chunk(o, chunk, r); /* Another appender was faster. */
        return 0;
    }
    if (c->flags & GFS_AHEAD)
        return allocate_ahead(m, c, file, o, r, err);
    rc = seal_by_writer(m, c, file, err);
    if (rc == 0)
        rc = check_sealed(file, err);
    if (rc == 0)
        rc = names_add_chunk(&m->names, file, &chunk, err);
    if (rc)
        return rc;
    POST(!chunk->sealed);
    POST(chunk->refs == 1);
    o->chain = c->servers;
    put_chunk(o, chunk, r);
    return 0;
}

/* The writer's last chunk is on its servers' disks. */
static int
catalog_settle(struct catalog *m, const struct gfs_command *c, struct err *err)
{
    struct open_file *o;
    struct inode *file;
    int rc = names_writer(&m->names, c->file, c->epoch, &file, &o, err);
    if (rc == 0)
        rc = check_last(file, c->chunk, err);
    INVARIANT(rc || id_map_get(&m->names.open_files, file->id) == o);
    return rc ? rc : seal_by_writer(m, c, file, err);
}

static int
close_by_writer(struct catalog *m, const struct gfs_command *c, struct err *err)
{
    struct open_file *o;
    struct inode *file;
    int rc = names_writer(&m->names, c->file, c->epoch, &file, &o, err);
    if (rc == 0)
        rc = seal_by_writer(m, c, file, err);
    if (rc == 0)
        rc = check_sealed(file, err);
    if (rc)
        return rc;
    INVARIANT(o->id == file->id);
    names_close_file(&m->names, file, c->time_us);
    POST(!id_map_get(&m->names.open_files, c->file));
    return 0;
}

/* --- recovery, by the leader --------------------------------------------- */

/* The file numbered c->file with c->chunk unsealed at its end. */
static int find_unsealed(const struct catalog *m,
                         const struct gfs_command *c,
                         struct inode **file,
                         struct chunk **chunk,
                         struct err *err)
{
    *file = names_by_id(&m->names, c->file);
    *chunk = *file && !(*file)->is_directory ? inode_last_chunk(*file) : NULL;
    if (!*file || !id_map_get(&m->names.open_files, c->file))
        return err_set(err, ERR_NOTFOUND, "no such open file");
    if (!*chunk || (*chunk)->sealed || (*chunk)->handle != c->chunk)
        return err_set(err, ERR_ABORTED, "the chunk was sealed meanwhile");
    return 0;
}

static int catalog_fence(struct catalog *m,
                         const struct gfs_command *c,
                         struct gfs_result *r,
                         struct err *err)
{
    struct inode *file;
    struct chunk *chunk;
    int rc = find_unsealed(m, c, &file, &chunk, err);
    if (rc)
        return rc;
    if (!fault_hit("gfs.keep_version"))
        chunk->pending++;
    POST(chunk->pending >= chunk->version); /* INV-1 of chunk_map.h. */
    r->version = chunk->pending;
    return 0;
}

static int catalog_seal(struct catalog *m,
                        const struct gfs_command *c,
                        struct gfs_result *r,
                        struct err *err)
{
    struct inode *file = names_by_id(&m->names, c->file);
    struct chunk *chunk;
    int rc = 0;
    if (c->chunk)
        rc = find_unsealed(m, c, &file, &chunk, err);
    if (rc)
        return rc;
    if (c->chunk && chunk->pending != c->version)
        return err_set(err, ERR_ABORTED, "a later recovery has begun");
    INVARIANT(!c->chunk || !chunk->sealed);
    if (c->length > GFS_CHUNK_BYTES)
        return err_set(err, ERR_INVALID, "chunk length");
    if (c->chunk)
        names_seal(&m->names, file, (uint32_t)c->length, c->time_us);
    if (!file || file->is_directory)
        return err_set(err, ERR_NOTFOUND, "no such file");
    chunk = inode_last_chunk(file);
    if ((c->flags & GFS_CLOSE) && (!chunk || chunk->sealed))
        names_close_file(&m->names, file, c->time_us);
    r->length = c->length;
    return 0;
}

/* --- servers ------------------------------------------------------------- */

int catalog_server_number(const struct catalog *m, uint64_t own_id)
{
    for (size_t i = 0; i < m->server_count; i++)
        if (m->servers[i].own_id == own_id)
            return (int)i;
    return -1;
}

struct catalog_server *catalog_add_server(struct catalog *m, uint64_t own_id)
{
    struct catalog_server *s;
    PRE(m->server_count < SERVERS_MAX);
    m->servers =
        mem_realloc(m->servers, (m->server_count + 1) * sizeof(*m->servers));
    s = &m->servers[m->server_count++];
    *s = (struct catalog_server){.own_id = own_id};
    return s;
}

static void replace_text(char **text, struct slice s)
{
    mem_free(*text);
    *text = mem_strndup(s.data, s.len);
}

static int register_server(struct catalog *m,
                           const struct gfs_command *c,
                           struct gfs_result *r,
                           struct err *err)
{
    int number = catalog_server_number(m, c->chunk);
    struct catalog_server *s;
    if (number < 0 && m->server_count >= SERVERS_MAX)
        return err_set(err, ERR_EXHAUSTED, "too many chunk servers");
    s = number < 0 ? catalog_add_server(m, c->chunk) : &m->servers[number];
    replace_text(&s->address, c->text);
    replace_text(&s->machine, c->path);
    replace_text(&s->rack, c->to);
    if (s->state == GFS_SERVER_GONE)
        s->state = GFS_SERVER_IN_SERVICE;             /* It is back. */
    POST((size_t)(s - m->servers) < m->server_count); /* INV-1 */
    r->servers.count = 1;
    r->servers.numbers[0] = (uint16_t)(s - m->servers);
    return 0;
}

static int set_server_state(struct catalog *m,
                            const struct gfs_command *c,
                            struct err *err)
{
    int number = catalog_server_number(m, c->chunk);
    if (number < 0)
        return err_set(err, ERR_NOTFOUND, "no such chunk server");
    if (c->flags > GFS_SERVER_GONE)
        return err_set(err, ERR_INVALID, "state of a chunk server");
    INVARIANT((size_t)number < m->server_count); /* INV-1 */
    m->servers[number].state = (enum gfs_server_state)c->flags;
    return 0;
}

/* --- snapshots ----------------------------------------------------------- */

static void
put_result(struct gfs_result *r, const struct err *err, struct buf *reply)
{
    if (r->code) {
        r->text = slice_str(err->text);
        r->hint = slice_str(err->hint);
    }
    gfs_result_put(r, reply);
}

/* A snapshot that takes more than one step is answered with its number, until
 * catalog_copy_step() knows how it ended. */
static int catalog_snapshot(struct catalog *m,
                            const struct gfs_command *c,
                            struct gfs_result *r,
                            struct err *err)
{
    struct names *ns = &m->names;
    int rc = names_copy_begin(ns, c->path, c->to, c->time_us, &r->file, err);
    if (rc)
        return rc;
    rc = names_copy_step(ns, c->length ? c->length : UINT64_MAX, c->time_us,
                         err);
    if (names_is_copying(ns)) {
        INVARIANT(ns->copy.top);
        r->file = ns->copy.top->id;
        m->copy_session = c->session;
        m->copy_sequence = c->sequence;
    }
    return rc;
}

static void catalog_copy_step(struct catalog *m, const struct gfs_command *c)
{
    struct catalog_session *s = catalog_session(m, m->copy_session);
    struct gfs_result r = {.code = 0};
    struct err err = ERR_INIT;
    struct buf answer = BUF_INIT;
    if (!names_is_copying(&m->names))
        return;
    r.code = names_copy_step(&m->names, c->length ? c->length : UINT64_MAX,
                             c->time_us, &err);
    if (names_is_copying(&m->names))
        return;
    put_result(&r, &err, &answer);
    POST(answer.len > 0);
    if (s)
        session_answers_replace(&s->answers, m->copy_sequence,
                                buf_slice(&answer));
    buf_close(&answer);
}

/* --- dispatch ------------------------------------------------------------ */

static int set_replication(struct catalog *m,
                           const struct gfs_command *c,
                           struct gfs_result *r,
                           struct err *err)
{
    const struct inode *last;
    int rc =
        names_set_replication(&m->names, c->path, replication_of(c), c->to,
                              c->length ? c->length : UINT64_MAX, &last, err);
    buf_clear(&m->text);
    if (rc == 0 && last)
        inode_put_path(last, &m->text);
    r->text = buf_slice(&m->text);
    return rc;
}

static int catalog_lock_file(struct catalog *m,
                             const struct gfs_command *c,
                             struct gfs_result *r,
                             struct err *err)
{
    struct inode *file;
    uint64_t holder;
    int rc = names_lock(&m->names, c->path, c->session, c->time_us, &file,
                        &holder, err);
    if (rc == ERR_BUSY)
        err_set(err, rc, "/%.*s: held by %s", SLICE_ARG(c->path),
                holder_name(m, holder));
    if (rc == 0)
        r->file = file->id;
    return rc;
}

static int
remove_path(struct catalog *m, const struct gfs_command *c, struct err *err)
{
    if (c->flags & GFS_TRASH)
        return names_discard(&m->names, c->path, c->time_us, err);
    return names_remove(&m->names, c->path, c->flags & GFS_TREE, c->time_us,
                        err);
}

/* Commands of the leader make no names. */
static int
catalog_begin(struct names *ns, const struct gfs_command *c, struct err *err)
{
    int rc = 0;
    if (c->flags & GFS_CHECKED)
        rc = permission_check_command(ns, c, err);
    return rc ? rc : names_make_as(ns, c->caller, c->mode, err);
}

static int
catalog_grant(struct names *ns, const struct gfs_command *c, struct err *err)
{
    return names_grant(ns, c->path, c->text, c->length, c->flags & GFS_REVOKE,
                       c->flags & GFS_CHECKED, err);
}

static int catalog_execute(struct catalog *m,
                           uint64_t index,
                           const struct gfs_command *c,
                           struct gfs_result *r,
                           struct err *err)
{
    struct names *ns = &m->names;
    struct inode *made;
    int rc = catalog_begin(ns, c, err);
    if (rc)
        return rc;
    switch (c->op) {
    case GFS_OP_SESSION_OPEN: return catalog_open_session(m, index, c, r, err);
    case GFS_OP_SESSION_CLOSE:
    case GFS_OP_SESSION_EXPIRE: catalog_end_session(m, c->session); return 0;
    case GFS_OP_MKDIRS:
        return names_mkdirs(ns, c->path, c->time_us, &made, err);
    case GFS_OP_CREATE: return catalog_create(m, index, c, r, err);
    case GFS_OP_APPEND_OPEN: return append_open(m, index, c, r, err);
    case GFS_OP_RENAME:
        return names_rename(ns, c->path, c->to, c->time_us, err);
    case GFS_OP_REMOVE: return remove_path(m, c, err);
    case GFS_OP_SET_REPLICATION:
    case GFS_OP_REPLICATE: return set_replication(m, c, r, err);
    case GFS_OP_SNAPSHOT: return catalog_snapshot(m, c, r, err);
    case GFS_OP_SET_QUOTA:
        return names_set_quota(ns, c->path, c->length, c->bytes, err);
    case GFS_OP_LOCK: return catalog_lock_file(m, c, r, err);
    case GFS_OP_UNLOCK: return names_unlock(ns, c->file, c->session, err);
    case GFS_OP_ALLOCATE: return catalog_allocate(m, c, r, err);
    case GFS_OP_CLOSE: return close_by_writer(m, c, err);
    case GFS_OP_SETTLE: return catalog_settle(m, c, err);
    case GFS_OP_SET_MODE: return names_set_mode(ns, c->path, c->mode, err);
    case GFS_OP_SET_OWNER: return names_set_owner(ns, c->path, c->text, err);
    case GFS_OP_GRANT: return catalog_grant(ns, c, err);
    case GFS_OP_FENCE: return catalog_fence(m, c, r, err);
    case GFS_OP_SEAL: return catalog_seal(m, c, r, err);
    case GFS_OP_TRASH_EXPIRE: names_empty_trash(ns, c->length); return 0;
    case GFS_OP_REAP: names_reap(ns); return 0;
    case GFS_OP_COPY: catalog_copy_step(m, c); return 0;
    case GFS_OP_SERVER_REGISTER: return register_server(m, c, r, err);
    case GFS_OP_SERVER_STATE: return set_server_state(m, c, err);
    }
    return err_set(err, ERR_UNSUPPORTED, "unknown command %d", (int)c->op);
}

static int execute_into(struct catalog *m,
                        uint64_t index,
                        const struct gfs_command *c,
                        struct buf *reply)
{
    struct gfs_result r = {.code = 0};
    struct err err = ERR_INIT;
    r.code = catalog_execute(m, index, c, &r, &err);
    POST(r.code <= 0);
    put_result(&r, &err, reply);
    return r.code;
}

static void catalog_refuse(int code, const char *why, struct buf *reply)
{
    gfs_result_put(&(struct gfs_result){.code = code, .text = slice_str(why)},
                   reply);
}

/* Commands of a session: each is executed once, even if it arrives several
 * times. */
static void apply_in_session(struct catalog *m,
                             uint64_t index,
                             const struct gfs_command *c,
                             struct buf *reply)
{
    struct catalog_session *s = catalog_session(m, c->session);
    struct slice kept = SLICE_EMPTY;
    size_t at = reply->len;
    if (!s) {
        catalog_refuse(ERR_CLOSED, "the session has ended", reply);
        return;
    }
    switch (session_answers_check(&s->answers, c->sequence,
                                  MIN_OF(c->answered, UINT64_MAX - 1) + 1,
                                  &kept)) {
    case SESSION_ANSWERED: buf_append_slice(reply, kept); return;
    case SESSION_STALE:
        catalog_refuse(ERR_ABORTED, "a command from long ago", reply);
        return;
    case SESSION_FULL:
        catalog_refuse(ERR_EXHAUSTED, "too many commands of one session",
                       reply);
        return;
    case SESSION_EXECUTE: break;
    }
    /* A command that cannot be executed yet is sent again and executed then. */
    INVARIANT(reply->len == at);
    if (execute_into(m, index, c, reply) != ERR_UNAVAILABLE)
        session_answers_keep(&s->answers, c->sequence,
                             slice_sub(buf_slice(reply), at, reply->len));
}

void catalog_apply(struct catalog *m,
                   uint64_t index,
                   struct slice command,
                   struct buf *reply)
{
    struct gfs_command c;
    struct err err = ERR_INIT;
    size_t before = reply->len;
    m->applied = index;
    if (gfs_command_get(command, &c, &err))
        catalog_refuse(err.code, err.text, reply);
    else if (gfs_op_is_for_clients(c.op) && c.op != GFS_OP_SESSION_OPEN &&
             c.op != GFS_OP_SESSION_CLOSE)
        apply_in_session(m, index, &c, reply);
    else
        execute_into(m, index, &c, reply);
    POST(reply->len > before);
}
