/* Open files, their last chunks, and locks. A file has one writer, known by its
 * epoch, or is open for record appends; sealing is the only way in which a
 * chunk gets a length, and adds it to the counters of all directories above.
 */
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"

struct open_file *names_open(struct names *ns,
                             struct inode *file,
                             uint64_t session,
                             uint64_t epoch,
                             bool shared)
{
    PRE(!file->is_directory);
    PRE(!id_map_get(&ns->open_files, file->id));
    struct open_file *o = mem_zalloc(1, sizeof(*o));
    o->id = file->id;
    o->session = session;
    o->epoch = epoch;
    o->shared = shared;
    id_map_put(&ns->open_files, o);
    return o;
}

void names_close_file(struct names *ns, struct inode *file, uint64_t time_us)
{
    const struct chunk *last = inode_last_chunk(file);
    struct open_file *o = id_map_get(&ns->open_files, file->id);
    PRE(!last || last->sealed);
    if (!o)
        return;
    names_drop_ahead(ns, o);
    id_map_remove(&ns->open_files, file->id);
    mem_free(o);
    file->modified_us = time_us;
}

static int quota_reached(const struct inode *file, struct err *err)
{
    PRE(!file->is_directory);
    for (const struct inode *n = file->parent; n; n = n->parent) {
        const struct directory *d = n->u.directory;
        if (d->byte_quota && d->bytes >= d->byte_quota) {
            err_set(err, ERR_EXHAUSTED, "quota of %llu bytes",
                    (unsigned long long)d->byte_quota);
            inode_wrap_error(n, err);
            return ERR_EXHAUSTED;
        }
    }
    return 0;
}

int names_add_chunk(struct names *ns,
                    struct inode *file,
                    struct chunk **out,
                    struct err *err)
{
    const struct chunk *last = inode_last_chunk(file);
    int rc = quota_reached(file, err);
    PRE(!last || last->sealed);
    *out = NULL;
    if (rc)
        return rc;
    PRE(!file->is_directory);
    *out = chunk_map_add(&ns->chunks, file->replication);
    inode_add_chunk(file, *out);
    return 0;
}

int names_add_ahead(struct names *ns,
                    struct inode *file,
                    struct open_file *o,
                    uint32_t length,
                    struct err *err)
{
    int rc = quota_reached(file, err);
    PRE(!o->next);
    PRE(length > 0);
    PRE(length <= GFS_CHUNK_BYTES);
    if (rc)
        return rc;
    o->next = chunk_map_add(&ns->chunks, file->replication);
    o->ended = length;
    return 0;
}

void names_drop_ahead(struct names *ns, struct open_file *o)
{
    struct chunk *c = o->next;
    o->next = NULL;
    if (c)
        chunk_map_unref(&ns->chunks, c);
    POST(!o->next);
}

/* The chunk after the last one becomes the last one. */
static void add_next(struct inode *file, struct open_file *o)
{
    struct chunk *c = o->next;
    PRE(c);
    PRE(!c->sealed);
    PRE(c->refs == 1); /* INV-2 */
    o->next = NULL;
    o->chain = o->next_chain;
    INVARIANT(o->id == file->id);
    c->replication = MAX_OF(c->replication, file->replication);
    inode_add_chunk(file, c);
}

static void seal_last(struct names *ns,
                      struct inode *file,
                      uint32_t length,
                      uint64_t time_us)
{
    struct chunk *c = inode_last_chunk(file);
    PRE(c);
    PRE(!c->sealed);
    PRE(length <= GFS_CHUNK_BYTES);
    PRE(c->refs == 1); /* INV-2 */
    INVARIANT(c->version <= c->pending);
    file->modified_us = time_us;
    if (length == 0) {
        inode_drop_chunk(file);
        chunk_map_unref(&ns->chunks, c);
        return;
    }
    c->sealed = true;
    c->length = length;
    c->version = c->pending;
    for (struct inode *n = file->parent; n; n = n->parent)
        n->u.directory->bytes += length;
}

void names_seal(struct names *ns,
                struct inode *file,
                uint32_t length,
                uint64_t time_us)
{
    struct open_file *o = id_map_get(&ns->open_files, file->id);
    seal_last(ns, file, length, time_us);
    if (o && o->next && length == o->ended)
        add_next(file, o);
    else if (o)
        names_drop_ahead(ns, o);
    POST(!o || !o->next);
}

/* --- locks --------------------------------------------------------------- */

int names_lock(struct names *ns,
               struct slice path,
               uint64_t session,
               uint64_t time_us,
               struct inode **out,
               uint64_t *holder,
               struct err *err)
{
    struct lock_entry *l;
    int rc = names_find(ns, path, out, err);
    *holder = 0;
    if (rc == ERR_NOTFOUND)
        rc = names_create(ns, path, true, 1, time_us, out, err);
    if (rc)
        return rc;
    if ((*out)->is_directory)
        return err_set(err, ERR_INVALID, "/%.*s: is a directory",
                       SLICE_ARG(path));
    l = id_map_get(&ns->locks, (*out)->id);
    if (l) {
        *holder = l->session;
        return err_set(err, ERR_BUSY, "/%.*s is locked", SLICE_ARG(path));
    }
    l = mem_zalloc(1, sizeof(*l));
    l->id = (*out)->id;
    l->session = session;
    id_map_put(&ns->locks, l);
    return 0;
}

int names_unlock(struct names *ns,
                 uint64_t id,
                 uint64_t session,
                 struct err *err)
{
    struct lock_entry *l = id_map_get(&ns->locks, id);
    if (!l || l->session != session || !names_by_id(ns, id))
        return err_set(err, ERR_NOTFOUND, "the lock is not held");
    INVARIANT(l->id == id);
    id_map_remove(&ns->locks, id);
    mem_free(l);
    return 0;
}

void names_unlock_all(struct names *ns, uint64_t session)
{
    struct id_map_walk walk = {0};
    struct lock_entry *l;
    while ((l = id_map_walk(&ns->locks, &walk)))
        if (l->session == session) {
            id_map_remove(&ns->locks, l->id);
            mem_free(l);
        }
}
