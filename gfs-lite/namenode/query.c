/* Handlers of queries: stat, list, grants, layout, status and check. Each reads
 * after a barrier (namenode_lead_now()), so that the answer shows everything
 * committed before the query arrived.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"
#include "gfs-lite/namenode/permission.h"

static struct gfs_stat stat_of(const struct namenode *nn, const struct inode *n)
{
    struct gfs_stat s = {.file = n->id,
                         .is_directory = n->is_directory,
                         .modified_us = n->modified_us,
                         .owner =
                             owners_name(&nn->catalog.names.owners, n->owner),
                         .mode = n->mode};
    if (n->is_directory) {
        const struct directory *d = n->u.directory;
        s.entry_count = d->entry_count;
        s.file_count = d->file_count;
        s.bytes = d->bytes;
        s.entry_quota = d->entry_quota;
        s.byte_quota = d->byte_quota;
        return s;
    }
    s.is_open = id_map_get(&nn->catalog.names.open_files, n->id) != NULL;
    s.replication = n->replication;
    s.size_bytes = inode_bytes(n);
    s.chunk_count = n->chunk_count;
    return s;
}

int namenode_check_inode(const struct namenode *nn,
                         const struct rpc_call *call,
                         const struct inode *n,
                         unsigned bits,
                         struct err *err)
{
    const struct rights_rules *rules = &nn->options.rights;
    struct permission_caller who = {.principal = call->principal};
    struct buf roles = BUF_INIT;
    int rc;
    if (!rights_bind_modes(rules, call->principal))
        return 0;
    if (rules->lists)
        rules->lists->put_roles(rules->lists_ctx, call->principal, &roles);
    who.roles = buf_slice(&roles);
    rc = permission_check(&nn->catalog.names, &who, n, bits, err);
    buf_close(&roles);
    return rc;
}

/* The inode at @path; ERR_NOTFOUND only to callers who may know that. */
static int find_for(const struct namenode *nn,
                    const struct rpc_call *call,
                    struct slice path,
                    struct inode **out,
                    struct err *err)
{
    const struct rights_rules *rules = &nn->options.rights;
    struct permission_caller who = {.principal = call->principal};
    struct buf roles = BUF_INIT;
    int rc = 0;
    if (rights_bind_modes(rules, call->principal)) {
        if (rules->lists)
            rules->lists->put_roles(rules->lists_ctx, call->principal, &roles);
        who.roles = buf_slice(&roles);
        rc = permission_check_look(&nn->catalog.names, &who, path, err);
    }
    buf_close(&roles);
    return rc ? rc : names_find(&nn->catalog.names, path, out, err);
}

/* Decode the query, be sure that everything committed is applied, and that the
 * caller may @use the path it names. Parks. */
static int query_begin(struct namenode *nn,
                       struct rpc_call *call,
                       struct gfs_query *q,
                       enum rights_use use,
                       struct err *err)
{
    int rc = gfs_query_get(call->body, q, err);
    if (rc == 0)
        rc = rights_check(&nn->options.rights, call->principal, q->path, use,
                          err);
    return rc ? rc : namenode_lead_now(nn, err);
}

static bool is_being_written(const struct namenode *nn, const struct inode *n)
{
    return id_map_get(&nn->catalog.names.open_files, n->id) != NULL;
}

/* Is the file @n open, and its session the caller's? A writer that lost its
 * rights since may continue (path_rights.h). */
static bool is_writer(const struct namenode *nn,
                      const struct rpc_call *call,
                      const struct inode *n)
{
    const struct open_file *o =
        id_map_get(&nn->catalog.names.open_files, n->id);
    const struct catalog_session *s =
        o ? catalog_session(&nn->catalog, o->session) : NULL;
    return s && slice_eq_str(call->principal, s->principal);
}

/* A file that is asked for by number has a path too. */
static int check_read(struct namenode *nn,
                      const struct rpc_call *call,
                      const struct gfs_query *q,
                      const struct inode *n,
                      struct err *err)
{
    const struct rights_rules *rules = &nn->options.rights;
    struct buf path = BUF_INIT;
    int rc = 0;
    if (!rights_bind(rules, call->principal))
        return 0;
    inode_put_path(n, &path);
    /* A writer learns from the layout where the chunk goes. */
    rc = rights_check(rules, call->principal, buf_slice(&path),
                      is_being_written(nn, n) ? RIGHTS_ADD : RIGHTS_READ, err);
    buf_close(&path);
    if (rc)
        return rc;
    /* Writers ask for the chunk that they write. */
    if (q->file &&
        (is_writer(nn, call, n) ||
         namenode_check_inode(nn, call, n, PERMISSION_WRITE, NULL) == 0))
        return 0;
    return namenode_check_inode(nn, call, n, PERMISSION_READ, err);
}

int namenode_handle_stat(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_query q;
    struct gfs_stat s;
    struct inode *n;
    int rc = query_begin(nn, call, &q, RIGHTS_LOOK, err);
    if (rc == 0)
        rc = find_for(nn, call, q.path, &n, err);
    if (rc)
        return rc;
    s = stat_of(nn, n);
    gfs_stat_put(&s, call->reply_body);
    return 0;
}

int namenode_handle_list(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_listing l = {.count = 0};
    struct gfs_query q;
    struct inode *n;
    struct inode *e;
    int rc = query_begin(nn, call, &q, RIGHTS_LOOK, err);
    if (rc == 0)
        rc = find_for(nn, call, q.path, &n, err);
    if (rc == 0 && !n->is_directory)
        rc = err_set(err, ERR_INVALID, "/%.*s is not a directory",
                     SLICE_ARG(q.path));
    if (rc == 0)
        rc = namenode_check_inode(nn, call, n,
                                  PERMISSION_READ | PERMISSION_PASS, err);
    if (rc)
        return rc;
    namenode_audit_read(nn, call, n, PERMISSION_READ | PERMISSION_PASS);
    l.entries = mem_alloc(GFS_LISTING_MAX * sizeof(*l.entries));
    e = q.after.len ? inode_entries_after(n->u.directory->entries, q.after)
                    : inode_entries_first(n->u.directory->entries);
    for (; e && l.count < GFS_LISTING_MAX; l.count++) {
        l.entries[l.count] = (struct gfs_entry){inode_name(e), stat_of(nn, e)};
        e = inode_entries_after(n->u.directory->entries, inode_name(e));
    }
    l.more = e != NULL;
    gfs_listing_put(&l, call->reply_body);
    mem_free(l.entries);
    return 0;
}

static void add_grants(const struct names *ns,
                       const struct inode *n,
                       struct arena *a,
                       struct gfs_path_grants *out,
                       size_t *cap)
{
    const struct grant_list *l = grants_of(&ns->grants, n);
    struct buf path = BUF_INIT;
    inode_put_path(n, &path);
    for (size_t i = 0; l && i < l->count && out->count < *cap; i++)
        out->grants[out->count++] = (struct gfs_path_grant){
            .path = arena_dup(a, buf_slice(&path)),
            .principal = slice_str(l->grants[i].principal),
            .rights = l->grants[i].rights,
            .by_owner = l->grants[i].by_owner};
    buf_close(&path);
}

int namenode_handle_grants(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    const struct names *ns = &nn->catalog.names;
    struct gfs_path_grants out = {.count = 0};
    struct gfs_query q;
    struct arena a;
    struct inode *n;
    size_t cap = 0;
    int rc = query_begin(nn, call, &q, RIGHTS_LOOK, err);
    if (rc == 0)
        rc = find_for(nn, call, q.path, &n, err);
    if (rc)
        return rc;
    for (const struct inode *up = n; up; up = up->parent) {
        const struct grant_list *l = grants_of(&ns->grants, up);
        cap += l ? l->count : 0;
    }
    arena_init(&a);
    cap = MIN_OF(cap, GFS_PATH_GRANTS_MAX);
    out.grants = arena_zalloc(&a, (cap + 1) * sizeof(*out.grants));
    for (const struct inode *up = n; up; up = up->parent)
        add_grants(ns, up, &a, &out, &cap);
    gfs_path_grants_put(&out, call->reply_body);
    arena_close(&a);
    return 0;
}

/* --- layouts ------------------------------------------------------------- */

struct layout_builder {
    struct namenode *nn;
    const struct rpc_call *call;
    uint8_t rights; /* Of the caller: enum proof_rights. */
    struct arena arena;
    struct gfs_layout layout;
    uint64_t lost; /* An open chunk whose length no server can report any more;
                      0: none. */
};

static void add_server(struct layout_builder *b, uint16_t number)
{
    const struct catalog_server *s = &b->nn->catalog.servers[number];
    PRE(number < b->nn->catalog.server_count);
    struct gfs_layout *l = &b->layout;
    for (size_t i = 0; i < l->server_count; i++)
        if (l->servers[i].number == number)
            return;
    INVARIANT(l->server_count < (size_t)GFS_LAYOUT_MAX * GFS_REPLICAS_MAX);
    l->servers[l->server_count++] =
        (struct gfs_server){.number = number,
                            .address = slice_str(s->address),
                            .machine = slice_str(s->machine),
                            .rack = slice_str(s->rack)};
}

/* The servers with copies of @c, those alive first. Of an open chunk the chain,
 * in order, dead or alive: appenders of records must agree on its first server,
 * which assigns the offsets (GFS 3.3). */
static struct gfs_server_set query_locate(const struct namenode *nn,
                                          const struct chunk *c,
                                          const struct open_file *open)
{
    struct gfs_server_set all = {.count = 0};
    struct gfs_server_set out = {.count = 0};
    if (open && !c->sealed)
        all = c == open->next ? open->next_chain : open->chain;
    for (unsigned i = 0; open && !c->sealed && i < all.count; i++)
        if (all.numbers[i] < nn->catalog.server_count)
            gfs_server_set_add(&out, all.numbers[i]);
    if (open && !c->sealed)
        return out; /* In an image a chain may name servers it lacks. */
    for (unsigned i = 0; i < c->replica_count; i++)
        gfs_server_set_add(&all, c->replicas[i]);
    for (unsigned i = 0; i < all.count; i++)
        if (chunk_server_is_alive(&nn->servers, all.numbers[i]))
            gfs_server_set_add(&out, all.numbers[i]);
    for (unsigned i = 0; i < all.count; i++)
        if (all.numbers[i] < nn->catalog.server_count)
            gfs_server_set_add(&out, all.numbers[i]);
    return out;
}

/* The length of @c as far as it is known: of an open chunk only if another
 * follows. */
static uint32_t length_of(const struct chunk *c, const struct open_file *open)
{
    if (!c->sealed && open && open->next && c != open->next)
        return open->ended;
    return c->sealed ? c->length : 0;
}

/* Is its length known only to servers none of which will return? */
static bool is_lost(const struct namenode *nn, const struct gfs_chunk *c)
{
    for (unsigned i = 0; i < c->servers.count; i++)
        if (nn->catalog.servers[c->servers.numbers[i]].state != GFS_SERVER_GONE)
            return false;
    return c->servers.count > 0 && c->length == 0 && !c->sealed;
}

static void add_chunk(struct layout_builder *b,
                      const struct chunk *c,
                      const struct open_file *open,
                      uint64_t offset)
{
    PRE(b->layout.chunk_count < GFS_LAYOUT_MAX);
    struct gfs_chunk *out = &b->layout.chunks[b->layout.chunk_count++];
    *out = (struct gfs_chunk){.handle = c->handle,
                              .version = c->version,
                              .length = length_of(c, open),
                              .sealed = c->sealed,
                              .offset = offset,
                              .servers = query_locate(b->nn, c, open)};
    namenode_prove(b->nn, b->call, c->handle, b->rights,
                   c->sealed ? c->length : 0, &out->proof);
    for (unsigned i = 0; i < out->servers.count; i++)
        add_server(b, out->servers.numbers[i]);
    if (is_lost(b->nn, out))
        b->lost = out->handle;
}

static void build_layout(struct layout_builder *b,
                         const struct inode *n,
                         const struct gfs_query *q)
{
    const struct open_file *open =
        id_map_get(&b->nn->catalog.names.open_files, n->id);
    uint64_t end =
        q->length > UINT64_MAX - q->offset ? UINT64_MAX : q->offset + q->length;
    uint64_t offset = 0;
    struct gfs_layout *l = &b->layout;
    l->file = n->id;
    l->size_bytes = inode_bytes(n);
    l->is_open = open != NULL;
    l->chunks = arena_zalloc(&b->arena, GFS_LAYOUT_MAX * sizeof(*l->chunks));
    l->servers =
        arena_zalloc(&b->arena, (size_t)GFS_LAYOUT_MAX * GFS_REPLICAS_MAX *
                                    sizeof(*l->servers));
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const struct chunk *c = inode_chunk(n, i);
        uint32_t length = length_of(c, open);
        bool wanted =
            length == 0 || (offset + length > q->offset && offset < end);
        if (wanted && l->chunk_count < GFS_LAYOUT_MAX)
            add_chunk(b, c, open, offset);
        offset += length;
    }
    if (open && open->next && l->chunk_count < GFS_LAYOUT_MAX)
        add_chunk(b, open->next, open, offset);
}

static int lost_chunk(struct slice path, uint64_t handle, struct err *err)
{
    err_set(err, ERR_CORRUPT,
            "/%.*s: chunk %llu, which was being written, is lost: all chunk "
            "servers that had it are gone",
            SLICE_ARG(path), (unsigned long long)handle);
    err_hint(err, "start one that is not, or remove the file");
    return ERR_CORRUPT;
}

int namenode_handle_layout(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct layout_builder b = {.nn = nn, .call = call};
    struct inode *n;
    struct gfs_query q;
    int rc = query_begin(nn, call, &q, RIGHTS_READ, err);
    if (rc == 0 && q.file) {
        n = names_by_id(&nn->catalog.names, q.file);
        if (!n)
            rc = err_set(err, ERR_NOTFOUND, "the file has been removed");
    } else if (rc == 0) {
        rc = find_for(nn, call, q.path, &n, err);
    }
    if (rc == 0 && n->is_directory)
        rc = err_set(err, ERR_INVALID, "/%.*s: is a directory",
                     SLICE_ARG(q.path));
    if (rc == 0)
        rc = check_read(nn, call, &q, n, err);
    if (rc)
        return rc;
    namenode_audit_read(nn, call, n, PERMISSION_READ);
    if (namenode_check_inode(nn, call, n, PERMISSION_READ, NULL) == 0)
        b.rights |= PROOF_READ;
    if (namenode_check_inode(nn, call, n, PERMISSION_WRITE, NULL) == 0)
        b.rights |= PROOF_WRITE;
    arena_init(&b.arena);
    build_layout(&b, n, &q);
    gfs_layout_put(&b.layout, call->reply_body);
    arena_close(&b.arena);
    /* A client that has the file open asks for its other chunks without a path.
     */
    return b.lost && q.path.len ? lost_chunk(q.path, b.lost, err) : 0;
}

/* --- state --------------------------------------------------------------- */

int namenode_handle_status(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    const struct directory *root;
    struct gfs_status s;
    uint64_t lost;
    uint64_t under;
    uint64_t now;
    bool early;
    int rc = namenode_lead_now(nn, err);
    if (rc)
        return rc;
    early = namenode_is_early(nn);
    if (!namenode_count(nn, &lost, &under))
        return replica_not_leader(nn->replica, err);
    root = nn->catalog.names.root->u.directory;
    now = world_mono_ns(nn->world);
    INVARIANT(root->entry_count >= root->file_count);
    s = (struct gfs_status){.safe_mode = namenode_in_safe_mode(nn),
                            .files = root->file_count,
                            .directories = root->entry_count - root->file_count,
                            .chunks = nn->catalog.names.chunks.by_handle.count,
                            .bytes = root->bytes,
                            .open_files = nn->catalog.names.open_files.count,
                            .sessions = nn->catalog.sessions.count,
                            .lost = early ? 0 : lost,
                            .unreported = early ? lost : 0,
                            .under_replicated = under,
                            .under_since_us = nn->under_since_us,
                            .lost_since_us = nn->lost_since_us,
                            .over_replicated = nn->over_count,
                            .copying = nn->copies.count,
                            .server_count = nn->servers.count};
    s.servers = mem_zalloc(s.server_count + 1, sizeof(*s.servers));
    for (size_t i = 0; i < s.server_count; i++) {
        const struct live_server *l = &nn->servers.servers[i];
        const struct catalog_server *c = &nn->catalog.servers[i];
        s.servers[i] = (struct gfs_server_status){
            .server = {(uint16_t)i, slice_str(c->address),
                       slice_str(c->machine), slice_str(c->rack)},
            .own_id = c->own_id,
            .state = c->state,
            .alive = l->alive,
            .capacity_bytes = l->capacity_bytes,
            .free_bytes = l->free_bytes,
            .chunk_count = l->chunk_count,
            .heard_us_ago = l->heard_ns ? (now - l->heard_ns) / 1000 : 0};
    }
    gfs_status_put(&s, call->reply_body);
    mem_free(s.servers);
    return 0;
}

/* --- checking ------------------------------------------------------------ */

struct checker {
    struct namenode *nn;
    struct placement_server *view;
    struct arena arena;
    struct gfs_findings found;
    size_t cap;
};

static struct slice path_of(struct checker *k, const struct inode *n)
{
    struct buf b = BUF_INIT;
    struct slice path;
    inode_put_path(n, &b);
    path = arena_dup(&k->arena, buf_slice(&b));
    buf_close(&b);
    return path;
}

/* Copies of @c on servers that are alive; of a chunk that is being written the
 * servers that take its bytes. */
static unsigned count_copies(const struct checker *k,
                             const struct chunk *c,
                             const struct open_file *open)
{
    struct repair_view v;
    if (!c->sealed && open)
        return namenode_chain_alive(k->nn, c == open->next ? &open->next_chain
                                                           : &open->chain);
    v = namenode_view_chunk(k->nn, k->view, c);
    return v.staying + v.leaving;
}

static void check_chunk(struct checker *k,
                        const struct inode *n,
                        const struct chunk *c,
                        const struct open_file *open)
{
    struct gfs_findings *f = &k->found;
    unsigned copies = count_copies(k, c, open);
    if (copies >= c->replication || f->count == GFS_FINDINGS_MAX)
        return;
    if (f->count == k->cap) {
        k->cap = k->cap ? k->cap * 2 : 64;
        f->findings = mem_realloc(f->findings, k->cap * sizeof(*f->findings));
    }
    INVARIANT(f->count < k->cap);
    f->findings[f->count++] = (struct gfs_finding){.path = path_of(k, n),
                                                   .chunk = c->handle,
                                                   .wanted = c->replication,
                                                   .copies = copies,
                                                   .is_open = open != NULL};
}

static void check_file(struct checker *k, const struct inode *n)
{
    const struct open_file *open =
        id_map_get(&k->nn->catalog.names.open_files, n->id);
    k->found.files_checked++;
    for (uint32_t i = 0; i < n->chunk_count; i++)
        check_chunk(k, n, inode_chunk(n, i), open);
    if (open && open->next)
        check_chunk(k, n, open->next, open);
}

int namenode_handle_check(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct checker k = {.nn = nn};
    const struct inode *n = NULL;
    const struct inode *last = NULL;
    uint64_t looked = 0;
    struct inode *top;
    struct gfs_query q;
    int rc = query_begin(nn, call, &q, RIGHTS_LOOK, err);
    if (rc == 0)
        rc = find_for(nn, call, q.path, &top, err);
    /* The answer names all files below it. */
    if (rc == 0 && rights_bind_modes(&nn->options.rights, call->principal))
        rc = rights_check_order(&nn->options.rights, call->principal,
                                "look at all files", err);
    if (rc)
        return rc;
    arena_init(&k.arena);
    k.view = chunk_servers_view(&nn->servers, &nn->catalog,
                                world_mono_ns(nn->world));
    n = q.after.len ? names_next_after(&nn->catalog.names, top, q.after) : top;
    for (; n && (looked < GFS_CHECK_MAX || !names_can_be_found(last));
         n = names_next(top, n)) {
        last = n;
        looked += names_work(n);
        if (!n->is_directory)
            check_file(&k, n);
    }
    k.found.early = namenode_is_early(nn);
    k.found.more = n != NULL;
    if (n)
        k.found.after = path_of(&k, last);
    gfs_findings_put(&k.found, call->reply_body);
    mem_free(k.found.findings);
    mem_free(k.view);
    arena_close(&k.arena);
    return 0;
}
