/* The namenode's state as bytes (GFS 2.6.3, the checkpoint): docs/formats.md
 * has the grammar.
 *
 * An image is trusted no more than any other input: inconsistent parts are
 * refused, and nothing of such an image is kept. The writer asserts what the
 * reader refuses.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/catalog.h"

/* Version 1 had no removed inodes that wait to be freed; version 2 no chunks
 * ahead; version 3 no copy under way; version 4 no owners: everybody could do
 * everything. */
#define IMAGE_VERSION        5
#define IMAGE_VERSION_OWNERS 5
#define IMAGE_VERSION_COPY   4
#define IMAGE_VERSION_AHEAD  3
#define IMAGE_VERSION_OLDEST 1

enum inode_flags {
    INODE_DIRECTORY = 1,
};

/* --- writing ------------------------------------------------------------- */

static void put_chunks(const struct chunk_map *m, struct buf *out)
{
    size_t at = 0;
    const struct chunk *c;
    buf_put_varint(out, m->next_handle);
    buf_put_varint(out, m->by_handle.count);
    while ((c = id_map_next(&m->by_handle, &at))) {
        chunk_check(c);
        INVARIANT(c->handle < m->next_handle);
        buf_put_varint(out, c->handle);
        buf_put_varint(out, c->version);
        buf_put_varint(out, c->pending);
        buf_put_u8(out, c->sealed);
        buf_put_varint(out, c->length);
        buf_put_u8(out, c->replication);
    }
}

/* Numbers of owners in an image: in the order of their first use, each with its
 * name then. */
struct owner_order {
    uint16_t *places; /* By the number in memory; 0: not used yet. */
    uint16_t count;
};

static void put_owner(const struct owners *o,
                      const struct inode *n,
                      struct owner_order *order,
                      struct buf *out)
{
    uint16_t *place = n->owner ? &order->places[n->owner - 1] : NULL;
    bool first = place && *place == 0;
    INVARIANT(!n->owner || n->owner <= o->count); /* INV-1 of owners.h */
    if (first)
        *place = ++order->count;
    buf_put_varint(out, place ? *place : 0);
    if (first)
        buf_put_lslice(out, owners_name(o, n->owner));
}

static void put_inode(const struct names *ns,
                      const struct inode *n,
                      struct owner_order *order,
                      struct buf *out)
{
    INVARIANT(n->mode <= GFS_MODE_MAX);
    buf_put_varint(out, n->id);
    buf_put_varint(out, n->parent ? n->parent->id : 0);
    buf_put_u8(out, n->is_directory ? INODE_DIRECTORY : 0);
    buf_put_lslice(out, inode_name(n));
    buf_put_varint(out, n->modified_us);
    buf_put_u8(out, n->mode);
    put_owner(&ns->owners, n, order, out);
    if (n->is_directory) {
        buf_put_varint(out, n->u.directory->entry_quota);
        buf_put_varint(out, n->u.directory->byte_quota);
        return;
    }
    INVARIANT(n->replication > 0);
    INVARIANT(n->replication <= GFS_REPLICAS_MAX);
    buf_put_u8(out, n->replication);
    buf_put_varint(out, n->chunk_count);
    for (uint32_t i = 0; i < n->chunk_count; i++)
        buf_put_varint(out, inode_chunk(n, i)->handle);
}

static void put_tree(const struct names *ns, struct buf *out)
{
    struct owner_order order = {
        mem_zalloc(ns->owners.count + 1u, sizeof(*order.places)), 0};
    buf_put_varint(out, ns->next_id);
    buf_put_varint(out, ns->inodes.count);
    for (const struct inode *n = ns->root; n; n = names_next(ns->root, n))
        put_inode(ns, n, &order, out);
    for (const struct inode *n = names_next(ns->doomed, ns->doomed); n;
         n = names_next(ns->doomed, n))
        put_inode(ns, n, &order, out);
    POST(order.count <= ns->owners.count);
    mem_free(order.places);
}

static void put_chain(const struct gfs_server_set *s, struct buf *out)
{
    PRE(s->count <= GFS_REPLICAS_MAX);
    buf_put_u8(out, s->count);
    for (unsigned i = 0; i < s->count; i++)
        buf_put_varint(out, s->numbers[i]);
}

static void put_open_files(const struct names *ns, struct buf *out)
{
    size_t at = 0;
    const struct open_file *o;
    const struct lock_entry *l;
    buf_put_varint(out, ns->open_files.count);
    while ((o = id_map_next(&ns->open_files, &at))) {
        buf_put_varint(out, o->id);
        buf_put_varint(out, o->session);
        buf_put_varint(out, o->epoch);
        buf_put_u8(out, o->shared);
        put_chain(&o->chain, out);
        INVARIANT(!o->next || (!o->next->sealed && o->ended > 0)); /* INV-2 */
        buf_put_varint(out, o->next ? o->next->handle : 0);
        if (o->next) {
            buf_put_varint(out, o->ended);
            put_chain(&o->next_chain, out);
        }
    }
    at = 0;
    buf_put_varint(out, ns->locks.count);
    while ((l = id_map_next(&ns->locks, &at))) {
        buf_put_varint(out, l->id);
        buf_put_varint(out, l->session);
    }
}

static void put_sessions(const struct catalog *m, struct buf *out)
{
    size_t at = 0;
    const struct catalog_session *s;
    buf_put_varint(out, m->sessions.count);
    while ((s = id_map_next(&m->sessions, &at))) {
        const struct session_answers *a = &s->answers;
        INVARIANT(a->count <= SESSION_ANSWERS_MAX);
        buf_put_varint(out, s->id);
        /* The image has the last number acknowledged. */
        buf_put_varint(out, a->acknowledged ? a->acknowledged - 1 : 0);
        buf_put_lslice(out, slice_str(s->name));
        buf_put_lslice(out, slice_str(s->principal));
        buf_put_varint(out, a->count);
        for (uint32_t i = 0; i < a->count; i++) {
            buf_put_varint(out, a->kept[i].sequence);
            buf_put_lslice(out, slice_make(a->kept[i].bytes, a->kept[i].len));
        }
    }
}

static void put_servers(const struct catalog *m, struct buf *out)
{
    buf_put_varint(out, m->server_count);
    for (size_t i = 0; i < m->server_count; i++) {
        const struct catalog_server *s = &m->servers[i];
        buf_put_varint(out, s->own_id);
        INVARIANT(s->state <= GFS_SERVER_GONE);
        buf_put_u8(out, (uint8_t)s->state);
        buf_put_lslice(out, slice_str(s->address));
        buf_put_lslice(out, slice_str(s->machine));
        buf_put_lslice(out, slice_str(s->rack));
    }
}

static void put_copy(const struct catalog *m, struct buf *out)
{
    const struct tree_copy *k = &m->names.copy;
    buf_put_varint(out, k->source ? k->source->id : 0);
    if (!k->source)
        return;
    INVARIANT(k->top);
    INVARIANT(k->at);
    INVARIANT(k->to);
    buf_put_varint(out, k->top->id);
    buf_put_varint(out, k->at->id);
    buf_put_varint(out, k->chunk_limit);
    buf_put_varint(out, k->time_us);
    buf_put_lslice(out, slice_str(k->to));
    buf_put_varint(out, m->copy_session);
    buf_put_varint(out, m->copy_sequence);
}

static void put_grants(const struct id_map *m, struct buf *out)
{
    size_t at = 0;
    const struct grant_list *l;
    buf_put_varint(out, m->count);
    while ((l = id_map_next(m, &at))) {
        INVARIANT(l->count > 0);
        INVARIANT(l->count <= GRANTS_MAX);
        buf_put_varint(out, l->id);
        buf_put_varint(out, l->count);
        for (size_t i = 0; i < l->count; i++) {
            INVARIANT(l->grants[i].rights != 0);
            buf_put_lslice(out, slice_str(l->grants[i].principal));
            buf_put_u8(out, l->grants[i].rights);
            buf_put_u8(out, l->grants[i].by_owner);
        }
    }
}

void catalog_save(const struct catalog *m, struct buf *out)
{
    buf_append_str(out, CATALOG_IMAGE_MAGIC);
    buf_put_varint(out, IMAGE_VERSION);
    buf_put_varint(out, m->applied);
    put_chunks(&m->names.chunks, out);
    put_tree(&m->names, out);
    put_open_files(&m->names, out);
    put_sessions(m, out);
    put_servers(m, out);
    put_copy(m, out);
    put_grants(&m->names.grants, out);
}

/* --- reading ------------------------------------------------------------- */

static bool get_chunk(struct cursor *in, struct chunk_map *m)
{
    struct chunk *c = chunk_map_restore(m, cursor_varint(in));
    uint64_t version = cursor_varint(in);
    uint64_t pending = cursor_varint(in);
    uint8_t sealed = cursor_u8(in);
    uint64_t length = cursor_varint(in);
    uint8_t replication = cursor_u8(in);
    if (!c || in->bad || version == 0 || version > pending ||
        pending >= UINT32_MAX || sealed > 1 || length > GFS_CHUNK_BYTES ||
        c->handle >= m->next_handle)
        return false;
    c->version = (uint32_t)version;
    c->pending = (uint32_t)pending;
    c->sealed = sealed;
    c->length = (uint32_t)length;
    c->replication = replication;
    chunk_check(c);
    return true;
}

static bool get_chunks(struct cursor *in, struct chunk_map *m)
{
    size_t count;
    m->next_handle = cursor_varint(in);
    count = cursor_count(in, 6);
    id_map_reserve(&m->by_handle, count);
    for (; count > 0; count--)
        if (!get_chunk(in, m))
            return false;
    return !in->bad;
}

static bool get_file(struct cursor *in, struct names *ns, struct inode *n)
{
    PRE(!n->is_directory);
    n->replication = cursor_u8(in);
    if (n->replication == 0 || n->replication > GFS_REPLICAS_MAX)
        return false;
    for (size_t count = cursor_count(in, 1); count > 0; count--) {
        struct chunk *c = chunk_map_get(&ns->chunks, cursor_varint(in));
        const struct chunk *before = inode_last_chunk(n);
        if (!c || (before && !before->sealed))
            return false;
        c->refs++;
        inode_add_chunk(n, c);
    }
    return !in->bad;
}

static bool is_good_name(struct slice name)
{
    return name.len > 0 && name.len <= GFS_NAME_BYTES_MAX &&
           slice_find_byte(name, '/') == name.len &&
           slice_find_byte(name, '\0') == name.len &&
           !slice_eq_str(name, ".") && !slice_eq_str(name, "..");
}

static void get_quotas(struct cursor *in, struct inode *n)
{
    PRE(n->is_directory);
    n->u.directory->entry_quota = cursor_varint(in);
    n->u.directory->byte_quota = cursor_varint(in);
}

/* Numbers of owners come in order: none was used before. */
static bool get_owner(struct cursor *in, struct names *ns, struct inode *n)
{
    uint64_t place = cursor_varint(in);
    uint16_t number = (uint16_t)place;
    if (in->bad || place > ns->owners.count + UINT64_C(1))
        return false;
    if (place == ns->owners.count + UINT64_C(1)) {
        struct slice name = cursor_lslice(in);
        if (in->bad || grants_check_principal(name, NULL) ||
            owners_number(&ns->owners, name, &number, NULL) || number != place)
            return false;
    }
    POST(number == place);
    owners_give(&ns->owners, n, number);
    return true;
}

static bool get_rights(struct cursor *in,
                       struct names *ns,
                       uint64_t version,
                       struct inode *n)
{
    n->mode = n->is_directory ? GFS_MODE_DIRECTORY : GFS_MODE_FILE;
    if (version < IMAGE_VERSION_OWNERS)
        return true;
    n->mode = cursor_u8(in);
    return n->mode <= GFS_MODE_MAX && get_owner(in, ns, n);
}

/* The first inode is the root, which exists already. */
static bool get_root(struct cursor *in, struct names *ns, uint64_t version)
{
    bool good = cursor_varint(in) == ns->root->id && cursor_varint(in) == 0 &&
                cursor_u8(in) == INODE_DIRECTORY && cursor_lslice(in).len == 0;
    ns->root->modified_us = cursor_varint(in);
    good = good && get_rights(in, ns, version, ns->root);
    get_quotas(in, ns->root);
    return good;
}

/* Drop the chunks of @n, which was never attached, and free it. */
static void free_inode(struct names *ns, struct inode *n)
{
    PRE(!n->parent);
    while (!n->is_directory && n->chunk_count) {
        chunk_map_unref(&ns->chunks, inode_last_chunk(n));
        inode_drop_chunk(n);
    }
    owners_give(&ns->owners, n, 0);
    inode_free(n);
}

/* The parent number 0 stands for the doomed. */
static struct inode *get_parent(struct cursor *in, const struct names *ns)
{
    uint64_t id = cursor_varint(in);
    return id ? id_map_get(&ns->inodes, id) : ns->doomed;
}

static bool get_inode(struct cursor *in, struct names *ns, uint64_t version)
{
    uint64_t id = cursor_varint(in);
    struct inode *parent = get_parent(in, ns);
    uint8_t flags = cursor_u8(in);
    struct slice name = cursor_lslice(in);
    uint64_t time_us = cursor_varint(in);
    bool good;
    struct inode *n;
    if (in->bad || !parent || !parent->is_directory || !is_good_name(name) ||
        id_map_get(&ns->inodes, id) || flags > INODE_DIRECTORY ||
        id >= ns->next_id ||
        inode_entries_find(parent->u.directory->entries, name))
        return false;
    n = inode_new(id, name, flags & INODE_DIRECTORY, time_us);
    good = get_rights(in, ns, version, n);
    if (good && n->is_directory)
        get_quotas(in, n);
    else if (good)
        good = get_file(in, ns, n);
    if (good)
        names_attach(ns, parent, n);
    else
        free_inode(ns, n);
    return good;
}

static bool get_tree(struct cursor *in, struct names *ns, uint64_t version)
{
    size_t count;
    ns->next_id = cursor_varint(in);
    count = cursor_count(in, 6);
    id_map_reserve(&ns->inodes, count);
    if (count == 0 || !get_root(in, ns, version))
        return false;
    for (; count > 1; count--)
        if (!get_inode(in, ns, version))
            return false;
    return !in->bad;
}

static bool get_chain(struct cursor *in, struct gfs_server_set *s)
{
    uint8_t count = cursor_u8(in);
    if (in->bad || count > GFS_REPLICAS_MAX)
        return false;
    s->count = count;
    for (unsigned i = 0; i < count; i++)
        s->numbers[i] = (uint16_t)cursor_varint(in);
    return !in->bad;
}

/* The open file's next chunk, if there is one. */
static bool get_ahead(struct cursor *in, struct names *ns, struct open_file *o)
{
    uint64_t handle = cursor_varint(in);
    struct chunk *c = chunk_map_get(&ns->chunks, handle);
    uint64_t ended;
    if (in->bad || handle == 0)
        return !in->bad;
    ended = cursor_varint(in);
    if (!c || c->sealed || c->refs || ended == 0 || ended > GFS_CHUNK_BYTES)
        return false;
    c->refs++;
    o->next = c;
    o->ended = (uint32_t)ended;
    return get_chain(in, &o->next_chain);
}

static bool get_open_file(struct cursor *in, struct names *ns, uint64_t version)
{
    struct inode *n = id_map_get(&ns->inodes, cursor_varint(in));
    uint64_t session = cursor_varint(in);
    uint64_t epoch = cursor_varint(in);
    uint8_t shared = cursor_u8(in);
    struct open_file *o;
    if (in->bad || !n || n->is_directory || shared > 1 ||
        id_map_get(&ns->open_files, n->id))
        return false;
    o = names_open(ns, n, session, epoch, shared);
    return get_chain(in, &o->chain) &&
           (version < IMAGE_VERSION_AHEAD || get_ahead(in, ns, o));
}

static bool get_lock(struct cursor *in, struct names *ns)
{
    struct inode *n = id_map_get(&ns->inodes, cursor_varint(in));
    struct lock_entry *l;
    if (!n || n->is_directory || id_map_get(&ns->locks, n->id))
        return false;
    l = mem_zalloc(1, sizeof(*l));
    l->id = n->id;
    l->session = cursor_varint(in);
    id_map_put(&ns->locks, l);
    return !in->bad;
}

static bool
get_open_files(struct cursor *in, struct names *ns, uint64_t version)
{
    for (size_t count = cursor_count(in, 5); count > 0; count--)
        if (!get_open_file(in, ns, version))
            return false;
    for (size_t count = cursor_count(in, 2); count > 0; count--)
        if (!get_lock(in, ns))
            return false;
    return !in->bad;
}

static bool get_session(struct cursor *in, struct catalog *m, uint64_t version)
{
    uint64_t id = cursor_varint(in);
    uint64_t answered = cursor_varint(in);
    struct slice name = cursor_lslice(in);
    struct slice principal =
        version < IMAGE_VERSION_OWNERS ? SLICE_EMPTY : cursor_lslice(in);
    size_t count = cursor_count(in, 2);
    struct catalog_session *s;
    if (in->bad || catalog_session(m, id) || answered == UINT64_MAX ||
        count > SESSION_ANSWERS_MAX || slice_find_byte(name, '\0') < name.len ||
        slice_find_byte(principal, '\0') < principal.len)
        return false;
    s = catalog_add_session(m, id, name, principal);
    s->answers.acknowledged = answered + 1;
    for (; count > 0; count--) {
        uint64_t sequence = cursor_varint(in);
        if (!session_answers_load(&s->answers, sequence, cursor_lslice(in)))
            return false;
    }
    return !in->bad;
}

static char *get_name(struct cursor *in)
{
    struct slice s = cursor_lslice(in);
    in->bad |= s.len > GFS_PATH_BYTES_MAX || slice_find_byte(s, '\0') < s.len;
    return mem_strndup(s.data, s.len);
}

static bool get_server(struct cursor *in, struct catalog *m)
{
    uint64_t own_id = cursor_varint(in);
    struct catalog_server *s;
    uint8_t state;
    if (in->bad || catalog_server_number(m, own_id) >= 0)
        return false;
    s = catalog_add_server(m, own_id);
    state = cursor_u8(in);
    in->bad |= state > GFS_SERVER_GONE;
    s->state = (enum gfs_server_state)state;
    s->address = get_name(in);
    s->machine = get_name(in);
    s->rack = get_name(in);
    return !in->bad;
}

static bool get_sessions(struct cursor *in, struct catalog *m, uint64_t version)
{
    size_t count = cursor_count(in, 4);
    if (count > SESSIONS_MAX)
        return false;
    for (; count > 0; count--)
        if (!get_session(in, m, version))
            return false;
    count = cursor_count(in, 5);
    if (count > SERVERS_MAX)
        return false;
    for (; count > 0; count--)
        if (!get_server(in, m))
            return false;
    return !in->bad;
}

/* The tree that is being copied, if there is one. */
static bool get_copy(struct cursor *in, struct catalog *m)
{
    struct names *ns = &m->names;
    struct tree_copy *k = &ns->copy;
    uint64_t id = cursor_varint(in);
    PRE(!k->source); /* One tree is copied at a time. */
    if (in->bad || id == 0)
        return !in->bad;
    k->source = id_map_get(&ns->inodes, id);
    k->top = id_map_get(&ns->inodes, cursor_varint(in));
    k->at = id_map_get(&ns->inodes, cursor_varint(in));
    k->chunk_limit = cursor_varint(in);
    k->time_us = cursor_varint(in);
    k->to = get_name(in);
    m->copy_session = cursor_varint(in);
    m->copy_sequence = cursor_varint(in);
    if (in->bad || !k->source || !names_is_below(k->source, ns->root) ||
        !k->top || k->top->parent != ns->doomed || !k->at)
        return false;
    k->last = names_copy_last(ns);
    return k->last != NULL;
}

static bool get_grant(struct cursor *in, struct names *ns, struct inode *n)
{
    struct slice principal = cursor_lslice(in);
    uint8_t rights = cursor_u8(in);
    uint8_t by_owner = cursor_u8(in);
    return !in->bad && by_owner <= 1 && rights > 0 &&
           rights <= (GFS_GRANT_READ | GFS_GRANT_WRITE) &&
           grants_check_principal(principal, NULL) == 0 &&
           grants_add(&ns->grants, n, principal, rights, by_owner, NULL) == 0;
}

static bool get_grants(struct cursor *in, struct names *ns)
{
    for (size_t count = cursor_count(in, 2); count > 0; count--) {
        struct inode *n = id_map_get(&ns->inodes, cursor_varint(in));
        size_t grants = cursor_count(in, 3);
        if (in->bad || !n || grants == 0 || grants_of(&ns->grants, n))
            return false;
        for (; grants > 0; grants--)
            if (!get_grant(in, ns, n))
                return false;
    }
    return !in->bad;
}

/* May the last chunk of file @n, @c, be unsealed? The file is open then, and
 * the chunk was added after a copy of the file began. */
static bool may_be_unsealed(const struct names *ns,
                            const struct inode *n,
                            const struct chunk *c)
{
    const struct tree_copy *k = &ns->copy;
    return id_map_get(&ns->open_files, n->id) &&
           (!k->source || c->handle >= k->chunk_limit ||
            !names_is_below(n, k->source));
}

/* Each chunk is in a file or ahead of one, and an unsealed one in one open file
 * only. */
static bool is_whole(const struct names *ns)
{
    size_t at = 0;
    const struct chunk *c;
    const struct inode *n;
    while ((c = id_map_next(&ns->chunks.by_handle, &at)))
        if (c->refs == 0 || (!c->sealed && c->refs > 1))
            return false;
    at = 0;
    while ((n = id_map_next(&ns->inodes, &at))) {
        c = n->is_directory ? NULL : inode_last_chunk(n);
        if (c && !c->sealed && !may_be_unsealed(ns, n, c))
            return false;
    }
    return true;
}

static int image_load(struct catalog *m, struct slice image, struct err *err)
{
    struct cursor in = cursor_make(image);
    uint64_t version;
    PRE(m->names.chunks.by_handle.count == 0);
    if (!slice_starts_with(image, SLICE_LIT(CATALOG_IMAGE_MAGIC)))
        return err_set(err, ERR_CORRUPT, "no image of a namenode");
    (void)cursor_bytes(&in, strlen(CATALOG_IMAGE_MAGIC));
    version = cursor_varint(&in);
    if (version < IMAGE_VERSION_OLDEST || version > IMAGE_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "image of version %llu, newest known is %d",
                       (unsigned long long)version, IMAGE_VERSION);
    m->applied = cursor_varint(&in);
    if (!get_chunks(&in, &m->names.chunks))
        return err_set(err, ERR_CORRUPT, "image of a namenode: chunks");
    if (!get_tree(&in, &m->names, version))
        return err_set(err, ERR_CORRUPT, "image of a namenode: names");
    if (!get_open_files(&in, &m->names, version))
        return err_set(err, ERR_CORRUPT, "image of a namenode: open files");
    if (!get_sessions(&in, m, version))
        return err_set(err, ERR_CORRUPT, "image of a namenode: sessions");
    if (version >= IMAGE_VERSION_COPY && !get_copy(&in, m))
        return err_set(err, ERR_CORRUPT, "image of a namenode: copy");
    if (version >= IMAGE_VERSION_OWNERS && !get_grants(&in, &m->names))
        return err_set(err, ERR_CORRUPT, "image of a namenode: grants");
    if (cursor_left(&in) || !is_whole(&m->names))
        return err_set(err, ERR_CORRUPT, "image of a namenode: does not fit");
    return 0;
}

int catalog_load(struct catalog *m, struct slice image, struct err *err)
{
    int rc;
    catalog_close(m);
    catalog_init(m);
    if (image.len == 0)
        return 0;
    rc = image_load(m, image, err);
    if (rc) {
        catalog_close(m);
        catalog_init(m);
        POST(m->names.inodes.count == 1);
        POST(m->server_count == 0);
    }
    return rc;
}
