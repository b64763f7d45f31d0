/* A file system over one directory of the world: names, directories, locks. A
 * file's name becomes durable by a sync of its directory. That directory's own
 * name needs a sync of the directory above, which is remembered and done once.
 */
#include "gfs-lite/local.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/descriptors.h"

/* Deepest tree that is removed: the recursion's bound. */
#define TREE_DEPTH_MAX 32

/* Directories whose names are known to be durable; beyond this many the set is
 * cleared. */
#define KEPT_MAX 4096

struct local_lock {
    struct fs_lock base;
    struct file_lock *lock;
};

/* --- paths --------------------------------------------------------------- */

int local_path(struct local_fs *fs,
               const char *path,
               char **out,
               struct err *err)
{
    struct buf full = BUF_INIT;

    *out = NULL;
    if (!fs__path_is_valid(path))
        return err_set(err, ERR_INVALID, "bad file name \"%.80s\"", path);
    buf_append_str(&full, fs->root);
    if (path[0]) {
        buf_append_byte(&full, '/');
        buf_append_str(&full, path);
    }
    *out = buf_take(&full);
    return 0;
}

char *local_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    return mem_strndup(path, slash ? (size_t)(slash - path) : 0);
}

/* --- the file system ----------------------------------------------------- */

static void local_close(struct fs *base)
{
    struct local_fs *fs = local_fs(base);
    while (fs->idle) {
        struct stream_buffer *b = fs->idle;
        fs->idle = b->next;
        mem_free(b);
    }
    PRE(TAILQ_EMPTY(&fs->readers));
    mutex_close(&fs->mutex);
    mutex_close(&fs->list_mutex);
    hash_map_close(&fs->kept);
    mem_free(fs->root);
    mem_free(fs);
}

struct stream_buffer *stream_buffer_take(struct local_fs *fs)
{
    struct stream_buffer *b;

    mutex_lock(&fs->mutex);
    b = fs->idle;
    if (b) {
        fs->idle = b->next;
        fs->idle_count--;
    }
    mutex_unlock(&fs->mutex);
    if (!b) {
        size_t align = FILE_DIRECT_ALIGN;
        b = mem_alloc(sizeof(*b) + align + STREAM_BUFFER_BYTES);
        b->data = (char *)(b + 1);
        b->data += align - (uintptr_t)b->data % align;
    }
    return b;
}

void stream_buffer_give(struct local_fs *fs, struct stream_buffer *b)
{
    mutex_lock(&fs->mutex);
    if (fs->idle_count < STREAM_BUFFER_IDLE_MAX) {
        b->next = fs->idle;
        fs->idle = b;
        fs->idle_count++;
        b = NULL;
    }
    mutex_unlock(&fs->mutex);
    mem_free(b);
}

/* --- names --------------------------------------------------------------- */

static bool is_kept(struct local_fs *fs, const char *directory)
{
    bool kept;
    mutex_lock(&fs->mutex);
    kept = hash_map_get(&fs->kept, slice_str(directory)) != NULL;
    mutex_unlock(&fs->mutex);
    return kept;
}

/* PRE: the mutex is held. The root was synced when it was opened. */
static void forget_all(struct local_fs *fs)
{
    hash_map_clear(&fs->kept);
    hash_map_put(&fs->kept, SLICE_EMPTY, NULL);
}

static void note_kept(struct local_fs *fs, const char *directory)
{
    mutex_lock(&fs->mutex);
    if (fs->kept.count >= KEPT_MAX)
        forget_all(fs);
    hash_map_put(&fs->kept, slice_str(directory), NULL);
    mutex_unlock(&fs->mutex);
}

int local_sync_name(struct local_fs *fs, const char *path, struct err *err)
{
    char *directory = local_parent(path);
    int rc = fs_sync_dir(&fs->base, directory, err);
    if (rc == 0 && !is_kept(fs, directory)) {
        char *above = local_parent(directory);
        rc = fs_sync_dir(&fs->base, above, err);
        mem_free(above);
        if (rc == 0)
            note_kept(fs, directory);
    }
    mem_free(directory);
    return rc;
}

/* A directory that was moved has a name that may not be durable, even if
 * another directory's with that name was. */
static void forget_kept(struct local_fs *fs, const char *to)
{
    mutex_lock(&fs->mutex);
    if (hash_map_get(&fs->kept, slice_str(to)))
        forget_all(fs);
    mutex_unlock(&fs->mutex);
}

static int
local_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    char *full_from = NULL;
    char *full_to = NULL;
    int rc = local_path(local_fs(fs), from, &full_from, err);

    if (!rc)
        rc = local_path(local_fs(fs), to, &full_to, err);
    if (!rc)
        rc = world_rename(fs->world, full_from, full_to, err);
    if (!rc)
        forget_kept(local_fs(fs), to);
    mem_free(full_from);
    mem_free(full_to);
    return rc;
}

static int local_remove(struct fs *fs, const char *path, struct err *err)
{
    char *full;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (!rc)
        rc = world_remove(fs->world, full, err);
    mem_free(full);
    return rc;
}

static int local_mkdirs(struct fs *base, const char *path, struct err *err)
{
    struct local_fs *fs = local_fs(base);
    char *above = local_parent(path);
    char *full;
    int rc = local_path(fs, path, &full, err);

    if (!rc) {
        rc = is_kept(fs, above) ? world_make_dir(base->world, full, err)
                                : ERR_NOTFOUND;
        if (rc == ERR_NOTFOUND)
            rc = world_make_dirs(base->world, full, err);
    }
    if (!rc) {
        note_kept(fs, above);
        note_kept(fs, path);
    }
    mem_free(above);
    mem_free(full);
    return rc;
}

/* Remove the directory @path (full name) and all below it. */
static int
remove_dir(struct world *w, const char *path, int depth, struct err *err)
{
    char **names;
    size_t count;
    int rc;

    if (depth == TREE_DEPTH_MAX)
        return err_set(err, ERR_TOOBIG, "%s: directories too deep", path);
    rc = world_list(w, path, &names, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && !rc; i++) {
        struct buf full = BUF_INIT;
        struct file_info info;
        const char *name;
        buf_printf(&full, "%s/%s", path, names[i]);
        name = buf_cstr(&full);
        rc = world_stat(w, name, &info, err);
        if (!rc)
            rc = info.kind == FILE_KIND_DIRECTORY
                     ? remove_dir(w, name, depth + 1, err)
                     : world_remove(w, name, err);
        if (rc == ERR_NOTFOUND)
            rc = 0; /* Somebody else removed it: that is the wanted result. */
        buf_close(&full);
    }
    world_names_free(names, count);
    return rc ? rc : world_rmdir(w, path, err);
}

static int local_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct file_info info;
    char *full;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (!rc)
        rc = world_stat(fs->world, full, &info, err);
    if (!rc)
        rc = info.kind == FILE_KIND_DIRECTORY
                 ? remove_dir(fs->world, full, 0, err)
                 : world_remove(fs->world, full, err);
    mem_free(full);
    return rc;
}

static int local_stat(struct fs *fs,
                      const char *path,
                      struct fs_info *info,
                      struct err *err)
{
    struct file_info found;
    char *full;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (!rc)
        rc = world_stat(fs->world, full, &found, err);
    if (!rc) {
        info->is_directory = found.kind == FILE_KIND_DIRECTORY;
        info->size_bytes = found.size_bytes;
        info->modified_us = found.modified_us;
    }
    mem_free(full);
    return rc;
}

/* Writers of a local directory are processes of this machine that exclude each
 * other by locks. */
static int local_recover(struct fs *fs,
                         const char *path,
                         uint64_t *length,
                         struct err *err)
{
    struct fs_info info;
    int rc = local_stat(fs, path, &info, err);

    if (!rc && info.is_directory)
        rc = err_set(err, ERR_INVALID, "%s: is a directory", path);
    if (!rc)
        *length = info.size_bytes;
    return rc;
}

static int local_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    char *full;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (!rc)
        rc = world_sync_dir(fs->world, full, err);
    mem_free(full);
    return rc;
}

static int local_list(struct fs *fs,
                      const char *path,
                      char ***names,
                      size_t *count,
                      struct err *err)
{
    char *full;
    int rc;

    rc = local_path(local_fs(fs), path, &full, err);
    if (!rc)
        rc = world_list(fs->world, full, names, count, err);
    mem_free(full);
    return rc;
}

/* --- locks --------------------------------------------------------------- */

static int local_lock(struct fs *fs,
                      const char *path,
                      struct fs_lock **out,
                      struct err *err)
{
    struct file_lock *lock;
    struct local_lock *l;
    char *full;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (!rc)
        rc = file_lock(fs->world, full, &lock, err);
    mem_free(full);
    if (rc)
        return rc;
    l = mem_zalloc(1, sizeof(*l));
    l->base.fs = fs;
    l->lock = lock;
    *out = &l->base;
    return 0;
}

static void local_unlock(struct fs_lock *base)
{
    struct local_lock *l = (struct local_lock *)base;

    file_unlock(l->lock);
    mem_free(l);
}

/* --- the table ----------------------------------------------------------- */

static const struct fs_ops local_ops = {
    .close = local_close,
    .create = local_create,
    .append = local_append,
    .flush = local_flush,
    .sync = local_sync,
    .writer_close = local_writer_close,
    .recover = local_recover,
    .open = local_open,
    .read_at = local_read_at,
    .read_once_at = local_read_once_at,
    .read_scan_at = local_read_scan_at,
    .read_place = local_read_place,
    .prefetch = local_prefetch,
    .reader_close = local_reader_close,
    .locality = local_locality,
    .rename = local_rename,
    .remove = local_remove,
    .mkdirs = local_mkdirs,
    .remove_tree = local_remove_tree,
    .stat = local_stat,
    .sync_dir = local_sync_dir,
    .list = local_list,
    .lock = local_lock,
    .unlock = local_unlock,
};

int fs_local_open(struct world *w,
                  const char *root,
                  struct fs **out,
                  struct err *err)
{
    size_t len = strlen(root);
    struct local_fs *fs;
    int rc;

    *out = NULL;
    if (len == 0)
        return err_set(err, ERR_INVALID, "no directory given");
    while (len > 1 && root[len - 1] == '/')
        len--;
    fs = mem_zalloc(1, sizeof(*fs));
    fs->base.ops = &local_ops;
    fs->base.world = w;
    fs->root = mem_strndup(root, len);
    rc = world_make_dirs(w, fs->root, err);
    if (rc) {
        mem_free(fs->root);
        mem_free(fs);
        return rc;
    }
    mutex_init(&fs->mutex);
    mutex_init(&fs->list_mutex);
    TAILQ_INIT(&fs->readers);
    fs->open_max =
        MAX_OF(OPEN_MIN, (unsigned)(descriptors_limit() / OPEN_PART));
    hash_map_init(&fs->kept, HASH_KEYS_COPIED);
    forget_all(fs);
    *out = &fs->base;
    return 0;
}
