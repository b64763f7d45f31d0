/* A pool of Ceph as a file system: what fs.h asks, of names and files. A file
 * is opened by its number, so that a reader has one version of it.
 */
#include "gfs-lite/rados/rados_fs.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/objects/remote_reader.h"

/* No component is empty or ".". */
static bool is_plain(const char *path)
{
    size_t len;
    if (*path == '\0')
        return true;
    for (const char *p = path;; p += len + 1) {
        len = strcspn(p, "/");
        if (len == 0 || (len == 1 && *p == '.'))
            return false;
        if (p[len] == '\0')
            return true;
    }
}

int rados_fs_check(struct fs *fs, const char *path, struct err *err)
{
    if (fs__path_is_valid(path) && is_plain(path))
        return 0;
    return err_set(err, ERR_INVALID, "%s: \"%.80s\" is no name of a file",
                   rados_client_name(rados_fs_client(fs)), path);
}

int rados_fs_may_write(struct fs *fs, struct err *err)
{
    if (!atomic_load(&((struct rados_fs *)fs)->lock_lost))
        return 0;
    return err_set(err, ERR_ABORTED,
                   "%s: a lock ran out, because it could not be renewed in "
                   "time: nothing is written any more",
                   rados_client_name(rados_fs_client(fs)));
}

static void rados_fs_close(struct fs *fs)
{
    rados_client_close(rados_fs_client(fs));
    mem_free(fs);
}

static void rados_fs_hurry(struct fs *fs)
{
    rados_client_hurry(rados_fs_client(fs));
}

/* --- names --------------------------------------------------------------- */

/* @path without slashes at its end. Owned. */
static char *plain_path(const char *path)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    return mem_strndup(path, len);
}

/* The entry of @path, which may end in slashes, with its length of now. */
static int find_now(struct fs *fs,
                    const char *path,
                    struct rados_entry *e,
                    struct err *err)
{
    char *plain = plain_path(path);
    int rc = rados_fs_check(fs, plain, err);
    if (rc == 0)
        rc = rados_names_find(fs, plain, e, err);
    if (rc == 0 && e->kind == RADOS_FILE && e->grows)
        rc = rados_fs_refresh(fs, e, err);
    if (rc == 0 && e->kind == RADOS_NONE)
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                     rados_client_name(rados_fs_client(fs)), path);
    mem_free(plain);
    return rc;
}

static int rados_fs_stat(struct fs *fs,
                         const char *path,
                         struct fs_info *info,
                         struct err *err)
{
    struct rados_entry e;
    int rc = find_now(fs, path, &e, err);
    *info = (struct fs_info){.size_bytes = 0};
    if (rc)
        return rc;
    info->is_directory = e.kind == RADOS_DIRECTORY;
    info->size_bytes = e.size_bytes;
    info->modified_us = e.modified_us;
    return 0;
}

static int rados_fs_remove(struct fs *fs, const char *path, struct err *err)
{
    int rc = rados_fs_check(fs, path, err);
    if (rc == 0 && !*path)
        rc = err_set(err, ERR_INVALID, "%s: a directory",
                     rados_client_name(rados_fs_client(fs)));
    return rc ? rc : rados_names_remove(fs, path, NULL, err);
}

static int rados_fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    char *plain = plain_path(path);
    int rc = rados_fs_check(fs, plain, err);
    if (rc == 0 && *plain)
        rc = rados_names_mkdirs(fs, plain, err);
    mem_free(plain);
    return rc;
}

/* Names are durable when a change was answered. */
static int rados_fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    (void)fs;
    (void)path;
    (void)err;
    return 0;
}

/* --- files --------------------------------------------------------------- */

static void start_read(void *ctx, struct object_read *r)
{
    rados_read_start(ctx, r);
}

static int rados_fs_open(struct fs *fs,
                         const char *path,
                         struct fs_reader **out,
                         struct err *err)
{
    struct rados_client *c = rados_fs_client(fs);
    struct rados_entry e;
    char key[RADOS_ID_BYTES + 2];
    int rc = find_now(fs, path, &e, err);
    if (rc)
        return rc;
    if (e.kind == RADOS_DIRECTORY)
        return err_set(err, ERR_INVALID, "%s/%s: a directory",
                       rados_client_name(c), path);
    snprintf(key, sizeof(key), "f/%s", e.id);
    *out = remote_reader_new(fs, key, "", e.size_bytes,
                             (struct remote_source){start_read, c});
    return 0;
}

static int rados_fs_replace(struct fs *fs,
                            const char *path,
                            struct slice contents,
                            struct err *err)
{
    return rados_fs_place(fs, path, contents, false, err);
}

static int rados_fs_publish(struct fs *fs,
                            const char *path,
                            struct slice contents,
                            struct err *err)
{
    return rados_fs_place(fs, path, contents, true, err);
}

static const struct fs_ops rados_fs_ops = {
    .writes_whole = true,
    .close = rados_fs_close,
    .hurry = rados_fs_hurry,
    .create = rados_fs_create,
    .append = rados_fs_append,
    .flush = rados_fs_flush,
    .sync = rados_fs_flush,
    .writer_close = rados_fs_writer_close,
    .recover = rados_fs_recover,
    .open = rados_fs_open,
    .read_at = remote_reader_read_at,
    .read_once_at = remote_reader_read_at,
    .read_place = remote_reader_place,
    .prefetch = remote_reader_prefetch,
    .reader_close = remote_reader_close,
    .locality = remote_reader_locality,
    .rename = rados_fs_rename,
    .remove = rados_fs_remove,
    .mkdirs = rados_fs_mkdirs,
    .remove_tree = rados_fs_remove_tree,
    .stat = rados_fs_stat,
    .sync_dir = rados_fs_sync_dir,
    .list = rados_fs_list,
    .each = rados_fs_each,
    .replace = rados_fs_replace,
    .publish = rados_fs_publish,
    .lock = rados_fs_lock,
    .unlock = rados_fs_unlock,
};

struct fs *rados_fs_new(struct world *w, struct rados_client *c)
{
    struct rados_fs *fs = mem_zalloc(1, sizeof(*fs));
    fs->base.ops = &rados_fs_ops;
    fs->base.world = w;
    fs->client = c;
    return &fs->base;
}

bool rados_fs_is(const struct fs *fs)
{
    return fs->ops == &rados_fs_ops;
}
