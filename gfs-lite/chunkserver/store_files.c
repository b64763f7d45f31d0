/* The chunks' files: names, creation, removal, and copies that are moved in.
 * While a file is being made or removed its name is reserved (struct
 * file_change), because both park and the next user of the name must not meet
 * half of the change.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/store_parts.h"
#include "gfs-lite/fs.h"

#define CHANGE_POLL_US 1000

/* --- names --------------------------------------------------------------- */

static void put_name(uint64_t handle, struct buf *out)
{
    buf_printf(out, "%s/%02x/%016llx" CHUNK_SUFFIX, CHUNKS_DIR,
               (unsigned)(handle % CHUNK_DIRS), (unsigned long long)handle);
}

#define NAME_DIGITS 16

bool chunk_store__parse_name(const char *name, uint64_t *handle)
{
    char *end;
    *handle = strtoull(name, &end, 16);
    return end == name + NAME_DIGITS && strcmp(end, CHUNK_SUFFIX) == 0;
}

char *chunk_store__path(const struct chunk_store *s, uint64_t handle)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/", s->dir);
    put_name(handle, &b);
    return buf_take(&b);
}

static char *dir_of(const struct chunk_store *s, uint64_t handle)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s/%02x", s->dir, CHUNKS_DIR,
               (unsigned)(handle % CHUNK_DIRS));
    return buf_take(&b);
}

char *chunk_store_copy_path(const struct chunk_store *s, uint64_t handle)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s/%016llx" CHUNK_SUFFIX, s->dir, COPIES_DIR,
               (unsigned long long)handle);
    return buf_take(&b);
}

/* --- one at a time ------------------------------------------------------- */

/* A file that is being made or removed: its name is reserved until that is
 * done. */
struct file_change {
    struct file_change *next;
    uint64_t handle;
};

static void await_changes(struct chunk_store *s, uint64_t handle)
{
    const struct file_change *r = s->changes;
    while (r) {
        if (r->handle == handle) {
            world_sleep_us(s->world, CHANGE_POLL_US);
            r = s->changes;
        } else {
            r = r->next;
        }
    }
}

static void begin_change(struct chunk_store *s, struct file_change *self)
{
    self->next = s->changes;
    s->changes = self;
}

static void end_change(struct chunk_store *s, const struct file_change *self)
{
    struct file_change **at = &s->changes;
    while (*at != self) {
        INVARIANT(*at); /* begin_change() */
        at = &(*at)->next;
    }
    *at = self->next;
}

/* --- removing ------------------------------------------------------------ */

static int remove_file(struct chunk_store *s, uint64_t handle, struct err *err)
{
    struct file_change self = {.handle = handle};
    char *path = chunk_store__path(s, handle);
    int rc;
    begin_change(s, &self);
    rc = world_remove(s->world, path, err);
    end_change(s, &self);
    mem_free(path);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static void keep_leftover(struct chunk_store *s, uint64_t handle)
{
    s->leftover = mem_realloc(s->leftover,
                              (s->leftover_count + 1) * sizeof(*s->leftover));
    s->leftover[s->leftover_count++] = handle;
}

void chunk_store_delete(struct chunk_store *s, struct stored_chunk *c)
{
    struct err err = ERR_INIT;
    if (c->deleted)
        return;
    c->deleted = true;
    PRE(c->pins > 0);
    INVARIANT(s->bytes >= c->length); /* INV-4 */
    s->bytes -= c->length;
    chunk_store_report(s, c);
    id_map_remove(&s->chunks, c->handle);
    cond_broadcast(&c->grown);
    if (c->file && chunk_file_end_grant(c->file, &err))
        log_warn(s->world, "chunk", "%s", err.text);
    if (remove_file(s, c->handle, &err)) {
        log_warn(s->world, "chunk", "%s", err.text);
        keep_leftover(s, c->handle);
    }
}

void chunk_store_sweep(struct chunk_store *s)
{
    size_t count = s->leftover_count;
    uint64_t *handles = s->leftover;
    s->leftover = NULL;
    s->leftover_count = 0;
    for (size_t i = 0; i < count; i++)
        /* A new file with this name may be wanted by now. */
        if (!id_map_get(&s->chunks, handles[i]) &&
            remove_file(s, handles[i], NULL))
            keep_leftover(s, handles[i]);
    mem_free(handles);
}

/* --- making -------------------------------------------------------------- */

int chunk_store_create(struct chunk_store *s,
                       uint64_t handle,
                       uint32_t version,
                       struct stored_chunk **out,
                       struct err *err)
{
    struct chunk_identity id = {.handle = handle, .version = version};
    struct stored_chunk *c;
    char *path;
    int rc;
    *out = NULL;
    await_changes(s, handle);
    if (id_map_get(&s->chunks, handle))
        return err_set(err, ERR_EXISTS, "chunk %llu is here already",
                       (unsigned long long)handle);
    /* First into the table: another call for it must find it, and wait. */
    c = chunk_store__add(s, &id);
    c->pins = 1;
    mutex_lock(&c->lock);
    path = chunk_store__path(s, handle);
    rc = chunk_file_create(s->world, path, handle, version, &c->file, err);
    mem_free(path);
    if (rc == 0) {
        char *dir = dir_of(s, handle);
        rc = world_sync_dir(s->world, dir, err);
        mem_free(dir);
    }
    if (c->file)
        chunk_store__note_open(s, c);
    mutex_unlock(&c->lock);
    if (rc) {
        chunk_store_delete(s, c);
        chunk_store_put(s, c);
        return rc;
    }
    POST(c->file);
    POST(c->pins > 0);
    chunk_store_report(s, c);
    *out = c;
    return 0;
}

/* --- copies -------------------------------------------------------------- */

int chunk_store_clear_copies(struct chunk_store *s)
{
    char **names;
    size_t count;
    int rc = fs_list(s->fs, COPIES_DIR, &names, &count, NULL);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        int e;
        buf_printf(&path, "%s/%s", COPIES_DIR, names[i]);
        e = fs_remove(s->fs, buf_cstr(&path), NULL);
        rc = e && e != ERR_NOTFOUND ? e : rc;
        buf_close(&path);
    }
    fs_names_free(names, count);
    return rc;
}

static int move_in(struct chunk_store *s, struct chunk_file *f, struct err *err)
{
    char *to = chunk_store__path(s, f->id.handle);
    char *dir = dir_of(s, f->id.handle);
    int rc = world_rename(s->world, f->path, to, err);
    if (rc == 0) {
        rc = world_sync_dir(s->world, dir, err);
        if (rc)
            keep_leftover(s, f->id.handle);
    }
    mem_free(f->path);
    f->path = to;
    mem_free(dir);
    return rc;
}

/* Remove chunk @handle if there is one: an older version, or damaged. */
static void make_room(struct chunk_store *s, uint64_t handle)
{
    struct stored_chunk *old;
    await_changes(s, handle);
    while ((old = chunk_store_get(s, handle))) {
        mutex_lock(&old->lock); /* It may be in the making. */
        mutex_unlock(&old->lock);
        chunk_store_delete(s, old);
        chunk_store_put(s, old);
        await_changes(s, handle);
    }
}

int chunk_store_adopt(struct chunk_store *s,
                      struct chunk_file *f,
                      struct err *err)
{
    struct file_change self = {.handle = f->id.handle};
    struct stored_chunk *c;
    int rc;
    PRE(f->id.sealed);
    make_room(s, f->id.handle);
    begin_change(s, &self);
    rc = move_in(s, f, err);
    end_change(s, &self);
    if (rc) {
        chunk_file_close(f);
        return rc;
    }
    INVARIANT(!id_map_get(&s->chunks, f->id.handle));
    c = chunk_store__add(s, &f->id);
    c->file = f;
    chunk_store__note_open(s, c);
    chunk_store_report(s, c);
    return 0;
}
