/* The chunks of one directory, in memory: found, opened, changed, reported. A
 * chunk's struct is small, and its file is opened on use, because a server has
 * more chunks than descriptors.
 */
#include "gfs-lite/chunkserver/chunk_store.h"

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/store_parts.h"

/* --- chunks in memory ---------------------------------------------------- */

struct stored_chunk *chunk_store__add(struct chunk_store *s,
                                      const struct chunk_identity *id)
{
    struct stored_chunk *c = mem_zalloc(1, sizeof(*c));
    c->handle = id->handle;
    c->version = id->version;
    c->sealed = id->sealed;
    c->length = id->length;
    mutex_init(&c->lock);
    cond_init(&c->grown);
    id_map_put(&s->chunks, c);
    PRE(c->length <= GFS_CHUNK_BYTES);
    s->bytes += c->length;
    return c;
}

void chunk_store__free(struct stored_chunk *c)
{
    PRE(c->pins == 0);
    PRE(!c->file);
    mutex_close(&c->lock);
    cond_close(&c->grown);
    mem_free(c);
}

struct stored_chunk *chunk_store_get(struct chunk_store *s, uint64_t handle)
{
    struct stored_chunk *c = id_map_get(&s->chunks, handle);
    if (!c)
        return NULL;
    INVARIANT(!c->deleted); /* INV-1 */
    INVARIANT(c->handle == handle);
    c->pins++;
    return c;
}

static void close_file(struct chunk_store *s, struct stored_chunk *c)
{
    PRE(s->open_count == 0 || s->open);
    if (!c->file)
        return;
    for (size_t i = 0; i < s->open_count; i++)
        if (s->open[i] == c) {
            s->open[i] = s->open[--s->open_count];
            break;
        }
    chunk_file_close(c->file);
    c->file = NULL;
}

void chunk_store_put(struct chunk_store *s, struct stored_chunk *c)
{
    PRE(c->pins > 0);
    if (--c->pins > 0 || !c->deleted)
        return;
    close_file(s, c);
    chunk_store__free(c);
}

/* Close the file that was not used for longest, if nobody uses it. */
static void close_oldest(struct chunk_store *s)
{
    struct stored_chunk *oldest = NULL;
    for (size_t i = 0; i < s->open_count; i++) {
        struct stored_chunk *c = s->open[i];
        INVARIANT(c->file); /* INV-2 */
        if (c->pins == 0 && c->dirty_us == 0 && !c->file->grant.open &&
            (!oldest || c->used < oldest->used))
            oldest = c;
    }
    if (oldest)
        close_file(s, oldest);
}

void chunk_store__note_open(struct chunk_store *s, struct stored_chunk *c)
{
    PRE(c->file);
    if (s->open_count >= CHUNK_STORE_FILES_MAX)
        close_oldest(s);
    s->open = mem_realloc(s->open, (s->open_count + 1) * sizeof(*s->open));
    s->open[s->open_count++] = c;
}

void chunk_store_update(struct chunk_store *s, struct stored_chunk *c)
{
    PRE(c->file);
    PRE(c->file->id.version >= c->version);          /* INV-3 */
    PRE(!c->sealed || c->file->length == c->length); /* INV-3 */
    INVARIANT(s->bytes + c->file->length >= c->length);
    s->bytes += (uint64_t)c->file->length - c->length;
    c->length = c->file->length;
    c->version = c->file->id.version;
    c->sealed = c->file->id.sealed;
    cond_broadcast(&c->grown);
}

/* A file that was closed must be the same when it is opened again (INV-3). */
static int check_identity(struct stored_chunk *c, struct err *err)
{
    const struct chunk_identity *id = &c->file->id;
    PRE(c->file);
    bool same = id->handle == c->handle && id->version >= c->version &&
                (!c->sealed || (id->sealed && id->length == c->length));
    if (same)
        return 0;
    chunk_file_close(c->file);
    c->file = NULL;
    return err_set(err, ERR_CORRUPT, "chunk %llu: its file is an older one",
                   (unsigned long long)c->handle);
}

int chunk_store_file_locked(struct chunk_store *s,
                            struct stored_chunk *c,
                            struct err *err)
{
    char *path;
    int rc = 0;
    PRE(mutex_is_held(&c->lock));
    c->used = ++s->use_count;
    if (c->damaged)
        return err_set(err, ERR_CORRUPT, "chunk %llu is damaged here",
                       (unsigned long long)c->handle);
    if (c->file)
        return 0;
    PRE(!c->deleted || c->pins > 0); /* INV-1 */
    path = chunk_store__path(s, c->handle);
    rc = chunk_file_open(s->world, path, &c->file, err);
    mem_free(path);
    if (rc == 0)
        rc = check_identity(c, err);
    if (rc == 0) {
        chunk_store__note_open(s, c);
        chunk_store_update(s, c);
        INVARIANT(c->length == c->file->length);
    }
    if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND)
        chunk_store_note_damage(s, c, err);
    return rc;
}

int chunk_store_file(struct chunk_store *s,
                     struct stored_chunk *c,
                     struct err *err)
{
    int rc;
    if (c->file && !c->damaged) {
        c->used = ++s->use_count;
        return 0;
    }
    mutex_lock(&c->lock);
    rc = chunk_store_file_locked(s, c, err);
    mutex_unlock(&c->lock);
    return rc;
}

/* --- changes ------------------------------------------------------------- */

static void add_changed(struct chunk_store *s, uint64_t handle)
{
    if (s->changed_count == s->changed_cap) {
        s->changed_cap = s->changed_cap ? s->changed_cap * 2 : 64;
        s->changed =
            mem_realloc(s->changed, s->changed_cap * sizeof(*s->changed));
    }
    INVARIANT(s->changed_count < s->changed_cap);
    s->changed[s->changed_count++] = handle;
}

void chunk_store_report(struct chunk_store *s, struct stored_chunk *c)
{
    if (c->listed)
        return;
    c->listed = true;
    add_changed(s, c->handle);
}

void chunk_store_report_absent(struct chunk_store *s, uint64_t handle)
{
    struct stored_chunk *c = id_map_get(&s->chunks, handle);
    if (c)
        chunk_store_report(s, c);
    else
        add_changed(s, handle);
}

void chunk_store_note_damage(struct chunk_store *s,
                             struct stored_chunk *c,
                             const struct err *why)
{
    PRE(c->handle > 0);
    if (c->damaged)
        return;
    c->damaged = true;
    s->found_damage++;
    log_error(s->world, "chunk", "chunk %llu is damaged: %s",
              (unsigned long long)c->handle, why ? why->text : "");
    cond_broadcast(&c->grown);
    chunk_store_report(s, c);
}

/* --- reports ------------------------------------------------------------- */

static void put_replica(const struct stored_chunk *c, struct buf *out)
{
    PRE(c->length <= GFS_CHUNK_BYTES);
    gfs_replica_put(&(struct gfs_replica){.handle = c->handle,
                                          .version = c->version,
                                          .length = c->length,
                                          .sealed = c->sealed,
                                          .damaged = c->damaged || c->failed},
                    out);
}

void chunk_store_put_report(const struct chunk_store *s,
                            const uint64_t *handles,
                            size_t count,
                            struct buf *out)
{
    PRE(handles || count == 0);
    for (size_t i = 0; i < count; i++) {
        const struct stored_chunk *c = id_map_get(&s->chunks, handles[i]);
        if (c)
            put_replica(c, out);
        else
            gfs_replica_put(
                &(struct gfs_replica){.handle = handles[i], .gone = true}, out);
    }
}

void chunk_store_put_full_report(const struct chunk_store *s, struct buf *out)
{
    size_t at = 0;
    const struct stored_chunk *c;
    while ((c = id_map_next(&s->chunks, &at)))
        put_replica(c, out);
}
