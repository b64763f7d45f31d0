/* The chunks of one directory. */
#include "gfs-lite/chunkserver/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"

#define SERVER_NAME     "SERVER"
#define LOCK_NAME       "LOCK"
#define PROBE_NAME      "PROBE"
#define CHUNKS_DIR      "chunks"
#define CHUNK_SUFFIX    ".chunk"
#define COPIES_DIR      "copies"
#define CHUNK_DIRS      256
#define SERVER_MAGIC    UINT64_C(0x3152565353464751) /* "QGFSSVR1" */
#define SERVER_BYTES    20
#define REMOVAL_POLL_US 1000

/* --- names ------------------------------------------------------------- */

static void put_name(uint64_t handle, struct buf *out)
{
    buf_printf(out, "%s/%02x/%016llx" CHUNK_SUFFIX, CHUNKS_DIR,
               (unsigned)(handle % CHUNK_DIRS), (unsigned long long)handle);
}

#define NAME_DIGITS 16

/* The number in the name of a chunk's file. */
static bool parse_name(const char *name, uint64_t *handle)
{
    char *end;
    *handle = strtoull(name, &end, 16);
    return end == name + NAME_DIGITS && strcmp(end, CHUNK_SUFFIX) == 0;
}

/* Full path of @handle's file. Owned. */
static char *path_of(const struct chunk_store *s, uint64_t handle)
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

/* --- chunks in memory
 * --------------------------------------------------------- */

static struct stored_chunk *add_chunk(struct chunk_store *s,
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
    s->bytes += c->length;
    return c;
}

static void free_chunk(struct stored_chunk *c)
{
    mutex_close(&c->lock);
    cond_close(&c->grown);
    mem_free(c);
}

struct stored_chunk *chunk_store_get(struct chunk_store *s, uint64_t handle)
{
    struct stored_chunk *c = id_map_get(&s->chunks, handle);
    if (c)
        c->pins++;
    return c;
}

static void close_file(struct chunk_store *s, struct stored_chunk *c)
{
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
    free_chunk(c);
}

/* Close the file that was not used for longest, if nobody uses it. */
static void close_oldest(struct chunk_store *s)
{
    struct stored_chunk *oldest = NULL;
    for (size_t i = 0; i < s->open_count; i++) {
        struct stored_chunk *c = s->open[i];
        if (c->pins == 0 && c->dirty_us == 0 &&
            (!oldest || c->used < oldest->used))
            oldest = c;
    }
    if (oldest)
        close_file(s, oldest);
}

static void note_open(struct chunk_store *s, struct stored_chunk *c)
{
    if (s->open_count >= CHUNK_STORE_FILES_MAX)
        close_oldest(s);
    s->open = mem_realloc(s->open, (s->open_count + 1) * sizeof(*s->open));
    s->open[s->open_count++] = c;
}

void chunk_store_update(struct chunk_store *s, struct stored_chunk *c)
{
    s->bytes += (uint64_t)c->file->length - c->length;
    c->length = c->file->length;
    c->version = c->file->id.version;
    c->sealed = c->file->id.sealed;
    cond_broadcast(&c->grown);
}

int chunk_store_file_locked(struct chunk_store *s,
                            struct stored_chunk *c,
                            struct err *err)
{
    char *path;
    int rc = 0;
    c->used = ++s->use_count;
    if (c->damaged)
        return err_set(err, ERR_CORRUPT, "chunk %llu is damaged here",
                       (unsigned long long)c->handle);
    if (c->file)
        return 0;
    path = path_of(s, c->handle);
    rc = chunk_file_open(s->world, path, &c->file, err);
    mem_free(path);
    if (rc == 0) {
        note_open(s, c);
        chunk_store_update(s, c);
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

/* --- changes
 * -------------------------------------------------------------------- */

static void add_changed(struct chunk_store *s, uint64_t handle)
{
    if (s->changed_count == s->changed_cap) {
        s->changed_cap = s->changed_cap ? s->changed_cap * 2 : 64;
        s->changed =
            mem_realloc(s->changed, s->changed_cap * sizeof(*s->changed));
    }
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
    if (c->damaged)
        return;
    c->damaged = true;
    s->found_damage++;
    log_error(s->world, "chunk", "chunk %llu is damaged: %s",
              (unsigned long long)c->handle, why ? why->text : "");
    cond_broadcast(&c->grown);
    chunk_store_report(s, c);
}

/* --- removing ------------------------------------------------------------ */

/* A file on its way out: nothing may be put in its place before it is gone. */
struct removal {
    struct removal *next;
    uint64_t handle;
};

static void await_removal(struct chunk_store *s, uint64_t handle)
{
    const struct removal *r = s->removals;
    while (r) {
        if (r->handle == handle) {
            world_sleep_us(s->world, REMOVAL_POLL_US);
            r = s->removals;
        } else {
            r = r->next;
        }
    }
}

static int remove_file(struct chunk_store *s, uint64_t handle, struct err *err)
{
    struct removal self = {.next = s->removals, .handle = handle};
    struct removal **at = &s->removals;
    char *path = path_of(s, handle);
    int rc;
    s->removals = &self;
    rc = world_remove(s->world, path, err);
    while (*at != &self)
        at = &(*at)->next;
    *at = self.next;
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
    s->bytes -= c->length;
    chunk_store_report(s, c);
    id_map_remove(&s->chunks, c->handle);
    cond_broadcast(&c->grown);
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
        /* Another file may have come in its place, and be wanted. */
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
    struct stored_chunk *c = chunk_store_get(s, handle);
    char *path;
    int rc;
    *out = NULL;
    if (c) {
        chunk_store_put(s, c);
        return err_set(err, ERR_EXISTS, "chunk %llu is here already",
                       (unsigned long long)handle);
    }
    /* In the table first: another call for it must find it, and wait. */
    c = add_chunk(s, &id);
    c->pins = 1;
    mutex_lock(&c->lock);
    await_removal(s, handle);
    path = path_of(s, handle);
    rc = chunk_file_create(s->world, path, handle, version, &c->file, err);
    mem_free(path);
    if (rc == 0) {
        char *dir = dir_of(s, handle);
        rc = world_sync_dir(s->world, dir, err);
        mem_free(dir);
    }
    if (c->file)
        note_open(s, c);
    mutex_unlock(&c->lock);
    if (rc) {
        chunk_store_delete(s, c);
        chunk_store_put(s, c);
        return rc;
    }
    chunk_store_report(s, c);
    *out = c;
    return 0;
}

/* --- copies
 * ------------------------------------------------------------------------ */

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
    char *to = path_of(s, f->id.handle);
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

int chunk_store_adopt(struct chunk_store *s,
                      struct chunk_file *f,
                      struct err *err)
{
    uint64_t handle = f->id.handle;
    struct stored_chunk *old = chunk_store_get(s, handle);
    struct stored_chunk *c;
    int rc;
    if (old) { /* An older version, or a damaged one. */
        mutex_lock(&old->lock);
        mutex_unlock(&old->lock);
        chunk_store_delete(s, old);
        chunk_store_put(s, old);
    }
    await_removal(s, handle);
    rc = move_in(s, f, err);
    if (rc == 0 && chunk_store_get(s, handle))
        rc = err_set(err, ERR_EXISTS, "chunk %llu came another way",
                     (unsigned long long)handle);
    if (rc) {
        chunk_file_close(f);
        return rc;
    }
    c = add_chunk(s, &f->id);
    c->file = f;
    note_open(s, c);
    chunk_store_report(s, c);
    return 0;
}

/* --- reports
 * ------------------------------------------------------------------------- */

static void put_replica(const struct stored_chunk *c, struct buf *out)
{
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

/* --- opening
 * -------------------------------------------------------------------------- */

static int
read_server(const struct chunk_store *s, uint64_t *own_id, struct err *err)
{
    struct buf b = BUF_INIT;
    int rc = fs_read_all(s->fs, SERVER_NAME, SERVER_BYTES, &b, err);
    if (rc == 0 && (b.len != SERVER_BYTES || get_le64(b.data) != SERVER_MAGIC ||
                    get_le32(b.data + 16) != crc32c(b.data, 16)))
        rc = err_set(err, ERR_CORRUPT, "%s/%s is damaged", s->dir, SERVER_NAME);
    if (rc == 0)
        *own_id = get_le64(b.data + 8);
    buf_close(&b);
    return rc;
}

static int write_server(struct chunk_store *s, struct err *err)
{
    char b[SERVER_BYTES];
    s->own_id = world_random(s->world) | 1;
    put_le64(b, SERVER_MAGIC);
    put_le64(b + 8, s->own_id);
    put_le32(b + 16, crc32c(b, 16));
    return fs_replace(s->fs, SERVER_NAME, slice_make(b, sizeof(b)), err);
}

static int make_dirs(struct chunk_store *s, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < CHUNK_DIRS && rc == 0; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s/%02x", CHUNKS_DIR, i);
        rc = fs_mkdirs(s->fs, name, err);
    }
    return rc;
}

/* Note the chunk in the file @name of directory @dir. One that does not say
 * what it is is damaged: the namenode has it deleted when there are others. */
static void scan_file(struct chunk_store *s, const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    struct chunk_identity id = {.handle = 0};
    struct err why = ERR_INIT;
    struct stored_chunk *c;
    uint64_t handle;
    buf_printf(&path, "%s/%s/%s", s->dir, dir, name);
    if (!parse_name(name, &handle)) {
        log_error(s->world, "chunk", "%s is no chunk", buf_cstr(&path));
    } else if (chunk_file_identify(s->world, buf_cstr(&path), &id, &why) ||
               id.handle != handle) {
        id = (struct chunk_identity){.handle = handle};
        chunk_store_note_damage(s, add_chunk(s, &id), &why);
    } else if (!id_map_get(&s->chunks, id.handle)) {
        c = add_chunk(s, &id);
        c->found = id.sealed ? 0 : id.version;
        /* Of an unsealed one only its file knows the length. */
        if (!c->sealed && chunk_store_file(s, c, &why) && !c->damaged)
            log_error(s->world, "chunk", "%s", why.text);
    }
    buf_close(&path);
}

static int scan_dir(struct chunk_store *s, unsigned number, struct err *err)
{
    char dir[32];
    char **names;
    size_t count;
    int rc;
    snprintf(dir, sizeof(dir), "%s/%02x", CHUNKS_DIR, number);
    rc = fs_list(s->fs, dir, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (slice_ends_with(slice_str(names[i]), SLICE_LIT(CHUNK_SUFFIX)))
            scan_file(s, dir, names[i]);
    fs_names_free(names, count);
    return 0;
}

static int open_parts(struct chunk_store *s, struct err *err)
{
    int rc = fs_local_open(s->world, s->dir, &s->fs, err);
    if (rc == 0)
        rc = fs_lock(s->fs, LOCK_NAME, &s->lock, err);
    if (rc)
        return rc;
    rc = read_server(s, &s->own_id, NULL);
    if (rc == ERR_NOTFOUND) {
        rc = make_dirs(s, err);
        if (rc == 0)
            rc = write_server(s, err);
    } else if (rc) {
        rc = read_server(s, &s->own_id, err);
    }
    /* Copies that were not finished are of no use. */
    if (rc == 0 && fs_remove_tree(s->fs, COPIES_DIR, NULL) == ERR_IO)
        rc = err_set(err, ERR_IO, "%s/%s: cannot be emptied", s->dir,
                     COPIES_DIR);
    if (rc == 0)
        rc = fs_mkdirs(s->fs, COPIES_DIR, err);
    for (unsigned i = 0; i < CHUNK_DIRS && rc == 0; i++)
        rc = scan_dir(s, i, err);
    return rc;
}

int chunk_store_open(struct world *w,
                     const char *dir,
                     struct chunk_store **out,
                     struct err *err)
{
    struct chunk_store *s = mem_zalloc(1, sizeof(*s));
    int rc;
    s->world = w;
    s->dir = mem_strdup(dir);
    rc = open_parts(s, err);
    if (rc) {
        err_wrap(err, "chunk store %s", dir);
        chunk_store_close(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

/* Another directory may have come in the place of ours. */
static int check_own(const struct chunk_store *s, struct err *err)
{
    uint64_t own_id = 0;
    int rc = read_server(s, &own_id, err);
    if (rc == 0 && own_id != s->own_id)
        rc = err_set(err, ERR_CORRUPT, "%s/%s is of another server", s->dir,
                     SERVER_NAME);
    return rc;
}

int chunk_store_probe(struct chunk_store *s, struct err *err)
{
    static const struct fs_write_options opts = {.mode = FS_WRITE_LOG};
    struct fs_writer *w = NULL;
    int rc = check_own(s, err);
    if (rc == 0)
        rc = fs_create(s->fs, PROBE_NAME, &opts, &w, err);
    if (rc == 0)
        rc = fs_writer_append_sync(w, &s->own_id, sizeof(s->own_id), err);
    fs_writer_close(w);
    if (rc)
        err_wrap(err, "chunk store %s", s->dir);
    return rc;
}

void chunk_store_close(struct chunk_store *s)
{
    size_t at = 0;
    struct stored_chunk *c;
    if (!s)
        return;
    while ((c = id_map_next(&s->chunks, &at))) {
        PRE(c->pins == 0);
        if (c->file)
            chunk_file_close(c->file);
        free_chunk(c);
    }
    id_map_close(&s->chunks);
    mem_free(s->leftover);
    mem_free(s->open);
    mem_free(s->changed);
    fs_unlock(s->lock);
    fs_close(s->fs);
    mem_free(s->dir);
    mem_free(s);
}
