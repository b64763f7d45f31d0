/* A store's directory at the start: its owner's number, its lock, and the
 * identity of every chunk in it. The number is checked again by the probe,
 * because another directory may be mounted in its place.
 */
#include <stdio.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/store_parts.h"
#include "gfs-lite/fs.h"

#define SERVER_NAME  "SERVER"
#define LOCK_NAME    "LOCK"
#define PROBE_NAME   "PROBE"
#define SERVER_MAGIC UINT64_C(0x3152565353464751) /* "QGFSSVR1" */
#define SERVER_BYTES 20

/* --- opening ------------------------------------------------------------- */

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
    POST(s->own_id != 0);
    return fs_replace(s->fs, SERVER_NAME, slice_make(b, sizeof(b)), err);
}

/* One sync for all: on a busy disk a new server that synced each would need
 * many seconds. */
static int make_dirs(struct chunk_store *s, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = fs_mkdirs(s->fs, CHUNKS_DIR, err);
    for (unsigned i = 0; i < CHUNK_DIRS && rc == 0; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s/%02x", s->dir, CHUNKS_DIR, i);
        rc = world_mkdir(s->world, buf_cstr(&path), err);
        if (rc ==
            ERR_EXISTS) /* Made by a server that died before it was done. */
            rc = 0;
    }
    if (rc == 0) {
        buf_clear(&path);
        buf_printf(&path, "%s/%s", s->dir, CHUNKS_DIR);
        rc = world_sync_dir(s->world, buf_cstr(&path), err);
    }
    buf_close(&path);
    return rc;
}

/* Add the chunk in the file @name of directory @dir. A file with an unreadable
 * identity is damaged: the namenode has it deleted if there are other copies.
 * One that cannot be opened for lack of descriptors is not: ERR_FULL. */
static int scan_file(struct chunk_store *s,
                     const char *dir,
                     const char *name,
                     struct err *err)
{
    struct buf path = BUF_INIT;
    struct chunk_identity id = {.handle = 0};
    struct err why = ERR_INIT;
    struct stored_chunk *c;
    uint64_t handle;
    int rc = 0;
    buf_printf(&path, "%s/%s/%s", s->dir, dir, name);
    if (!chunk_store__parse_name(name, &handle)) {
        log_error(s->world, "chunk", "%s is no chunk", buf_cstr(&path));
        goto out;
    }
    rc = chunk_file_identify(s->world, buf_cstr(&path), &id, &why);
    if (rc == ERR_FULL || rc == ERR_NOMEM) { /* It may be intact. */
        err_copy(err, &why);
        goto out;
    }
    if (rc || id.handle != handle) {
        rc = 0;
        id = (struct chunk_identity){.handle = handle};
        chunk_store_note_damage(s, chunk_store__add(s, &id), &why);
    } else if (!id_map_get(&s->chunks, id.handle)) {
        c = chunk_store__add(s, &id);
        c->found = id.sealed ? 0 : id.version;
        /* Only its file knows the length of an unsealed chunk. */
        if (!c->sealed && chunk_store_file(s, c, &why) && !c->damaged)
            log_error(s->world, "chunk", "%s", why.text);
    }
out:
    buf_close(&path);
    return rc;
}

static int scan_dir(struct chunk_store *s, unsigned number, struct err *err)
{
    PRE(number < CHUNK_DIRS);
    char dir[32];
    char **names;
    size_t count;
    int rc;
    snprintf(dir, sizeof(dir), "%s/%02x", CHUNKS_DIR, number);
    rc = fs_list(s->fs, dir, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (slice_ends_with(slice_str(names[i]), SLICE_LIT(CHUNK_SUFFIX)))
            rc = scan_file(s, dir, names[i], err);
    fs_names_free(names, count);
    return rc;
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
    /* Unfinished copies are useless. */
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

/* Another directory may be in the place of ours. */
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
        /* The writer with a grant learns that the server is gone. */
        if (c->file && chunk_file_end_grant(c->file, NULL))
            log_warn(s->world, "chunk", "chunk %llu: a grant did not end",
                     (unsigned long long)c->handle);
        chunk_file_close(c->file);
        c->file = NULL;
        chunk_store__free(c);
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
