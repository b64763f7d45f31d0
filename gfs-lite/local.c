/* A file system over one directory of the world: names, directories, locks. */
#include "gfs-lite/local.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"

/* Deepest tree that is made or removed: the recursions' bound. */
#define TREE_DEPTH_MAX 32

struct fs_lock {
    struct file_lock *lock;
};

/* --- paths ------------------------------------------------------------- */

static bool path_is_valid(const char *path)
{
    const char *p = path;

    if (strlen(path) > FS_PATH_BYTES_MAX || path[0] == '/')
        return false;
    while (p) {
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return false;
        p = strchr(p, '/');
        if (p)
            p++;
    }
    return true;
}

int local_path(struct fs *fs, const char *path, char **out, struct err *err)
{
    struct buf full = BUF_INIT;

    *out = NULL;
    if (!path_is_valid(path))
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

/* --- the file system --------------------------------------------------- */

/* The directory that holds the name @path (full name). Owned. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_strdup(".");
    return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int
make_dirs(struct world *w, const char *path, int depth, struct err *err);

/* Make one directory, whose parent is there, and make its name durable: files
 * synced in it later promise to survive. */
static int make_dir(struct world *w, const char *path, struct err *err)
{
    int rc = world_mkdir(w, path, err);
    char *up;

    if (rc == ERR_EXISTS)
        return 0; /* Another was faster. */
    if (rc)
        return rc;
    up = directory_of(path);
    rc = world_sync_dir(w, up, err);
    mem_free(up);
    return rc;
}

static int
make_parent(struct world *w, const char *path, int depth, struct err *err)
{
    char *up = directory_of(path);
    int rc = make_dirs(w, up, depth + 1, err);

    mem_free(up);
    return rc;
}

/* Make the directory @path (full name) and what is missing above it. */
static int
make_dirs(struct world *w, const char *path, int depth, struct err *err)
{
    struct file_info info;
    int rc = world_stat(w, path, &info, NULL);

    if (rc == 0 && info.kind == FILE_KIND_DIRECTORY)
        return 0;
    if (rc == 0)
        return err_set(err, ERR_INVALID, "%s is not a directory", path);
    if (depth == TREE_DEPTH_MAX)
        return err_set(err, ERR_TOOBIG, "%s: directories too deep", path);
    rc = make_dir(w, path, err);
    if (rc != ERR_NOTFOUND || !strchr(path, '/'))
        return rc;
    rc = make_parent(w, path, depth, err);
    return rc ? rc : make_dir(w, path, err);
}

int fs_local_open(struct world *w,
                  const char *root,
                  struct fs **out,
                  struct err *err)
{
    size_t len = strlen(root);
    struct fs *fs;
    int rc;

    *out = NULL;
    if (len == 0)
        return err_set(err, ERR_INVALID, "no directory given");
    while (len > 1 && root[len - 1] == '/')
        len--;
    fs = mem_zalloc(1, sizeof(*fs));
    fs->world = w;
    fs->root = mem_strndup(root, len);
    rc = make_dirs(w, fs->root, 0, err);
    if (rc) {
        mem_free(fs->root);
        mem_free(fs);
        return rc;
    }
    mutex_init(&fs->mutex);
    *out = fs;
    return 0;
}

void fs_close(struct fs *fs)
{
    if (!fs)
        return;
    while (fs->idle) {
        struct stream_buffer *b = fs->idle;
        fs->idle = b->next;
        mem_free(b);
    }
    mutex_close(&fs->mutex);
    mem_free(fs->root);
    mem_free(fs);
}

struct world *fs_world(struct fs *fs)
{
    return fs->world;
}

struct stream_buffer *stream_buffer_take(struct fs *fs)
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

void stream_buffer_give(struct fs *fs, struct stream_buffer *b)
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

/* --- names ------------------------------------------------------------- */

int fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    char *full_from = NULL;
    char *full_to = NULL;
    int rc = local_path(fs, from, &full_from, err);

    if (!rc)
        rc = local_path(fs, to, &full_to, err);
    if (!rc)
        rc = world_rename(fs->world, full_from, full_to, err);
    mem_free(full_from);
    mem_free(full_to);
    return rc;
}

int fs_remove(struct fs *fs, const char *path, struct err *err)
{
    char *full;
    int rc = local_path(fs, path, &full, err);

    if (!rc)
        rc = world_remove(fs->world, full, err);
    mem_free(full);
    return rc;
}

int fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    char *full;
    int rc = local_path(fs, path, &full, err);

    if (!rc)
        rc = make_dirs(fs->world, full, 0, err);
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
            rc = 0; /* Somebody else removed it: that is what we wanted. */
        buf_close(&full);
    }
    world_names_free(names, count);
    return rc ? rc : world_rmdir(w, path, err);
}

int fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct file_info info;
    char *full;
    int rc = local_path(fs, path, &full, err);

    if (!rc)
        rc = world_stat(fs->world, full, &info, err);
    if (!rc)
        rc = info.kind == FILE_KIND_DIRECTORY
                 ? remove_dir(fs->world, full, 0, err)
                 : world_remove(fs->world, full, err);
    mem_free(full);
    return rc;
}

int fs_stat(struct fs *fs,
            const char *path,
            struct fs_info *info,
            struct err *err)
{
    struct file_info found;
    char *full;
    int rc = local_path(fs, path, &full, err);

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

int fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    char *full;
    int rc = local_path(fs, path, &full, err);

    if (!rc)
        rc = world_sync_dir(fs->world, full, err);
    mem_free(full);
    return rc;
}

int fs_list(struct fs *fs,
            const char *path,
            char ***names,
            size_t *count,
            struct err *err)
{
    char *full;
    int rc;

    *names = NULL;
    *count = 0;
    rc = local_path(fs, path, &full, err);
    if (!rc)
        rc = world_list(fs->world, full, names, count, err);
    mem_free(full);
    return rc;
}

void fs_names_free(char **names, size_t count)
{
    world_names_free(names, count);
}

/* --- locks ------------------------------------------------------------- */

int fs_lock(struct fs *fs,
            const char *path,
            struct fs_lock **out,
            struct err *err)
{
    struct file_lock *lock;
    char *full;
    int rc = local_path(fs, path, &full, err);

    *out = NULL;
    if (!rc)
        rc = file_lock(fs->world, full, &lock, err);
    mem_free(full);
    if (rc)
        return rc;
    *out = mem_alloc(sizeof(**out));
    (*out)->lock = lock;
    return 0;
}

void fs_unlock(struct fs_lock *l)
{
    if (!l)
        return;
    file_unlock(l->lock);
    mem_free(l);
}
