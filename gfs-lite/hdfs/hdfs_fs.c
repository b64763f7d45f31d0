/* HDFS by its namenodes' HTTP: names, and what HDFS has not, which is refused
 * with the reason. A file is opened by its inode, so that a reader has one
 * version of it.
 */
#include "gfs-lite/hdfs/hdfs_fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/objects/remote_listing.h"
#include "gfs-lite/objects/remote_reader.h"

int hdfs_fs_check(struct fs *fs, const char *path, struct err *err)
{
    const char *name = webhdfs_name(hdfs_fs_client(fs));
    if (!fs__path_is_valid(path))
        return err_set(err, ERR_INVALID, "%s: \"%.80s\" is no name of a file",
                       name, path);
    if (strchr(path, ':'))
        return err_set(err, ERR_INVALID,
                       "%s: \"%.80s\": names of HDFS have no colons", name,
                       path);
    return 0;
}

char *hdfs_fs_beside(struct fs *fs, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    struct buf b = BUF_INIT;
    if (slash)
        buf_append(&b, path, (size_t)(slash + 1 - path));
    buf_printf(&b, ".quarry-%016llx-%s",
               (unsigned long long)world_random(fs->world), suffix);
    return buf_take(&b);
}

static void hdfs_fs_close(struct fs *fs)
{
    webhdfs_close(hdfs_fs_client(fs));
    mem_free(fs);
}

static void hdfs_fs_hurry(struct fs *fs)
{
    webhdfs_hurry(hdfs_fs_client(fs));
}

/* --- names --------------------------------------------------------------- */

static int hdfs_fs_stat(struct fs *fs,
                        const char *path,
                        struct fs_info *info,
                        struct err *err)
{
    struct webhdfs_status s;
    int rc = hdfs_fs_check(fs, path, err);
    if (rc == 0)
        rc = webhdfs_status(hdfs_fs_client(fs), path, &s, err);
    if (rc)
        return rc;
    *info = (struct fs_info){.is_directory = s.is_directory,
                             .size_bytes = s.is_directory ? 0 : s.size_bytes,
                             .modified_us = s.modified_us};
    webhdfs_status_close(&s);
    return 0;
}

static void start_read(void *ctx, struct object_read *r)
{
    webhdfs_read_start(ctx, r);
}

static int hdfs_fs_open(struct fs *fs,
                        const char *path,
                        struct fs_reader **out,
                        struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    char inode[WEBHDFS_INODE_PATH_BYTES];
    struct webhdfs_status s;
    int rc = hdfs_fs_check(fs, path, err);
    if (rc == 0)
        rc = webhdfs_status(c, path, &s, err);
    if (rc)
        return rc;
    if (s.is_directory) {
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory", webhdfs_name(c),
                     path);
    } else {
        webhdfs_inode_path(s.id, inode);
        *out = remote_reader_new(fs, s.id ? inode : path, "", s.size_bytes,
                                 (struct remote_source){start_read, c});
    }
    webhdfs_status_close(&s);
    return rc;
}

static int
hdfs_fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct webhdfs_status s;
    int rc = hdfs_fs_check(fs, from, err);
    if (rc == 0)
        rc = hdfs_fs_check(fs, to, err);
    if (rc == 0)
        rc = webhdfs_status(c, from, &s, err);
    if (rc)
        return rc;
    if (strcmp(from, to) != 0)
        rc = webhdfs_rename(c, from, s.id, to, false, err);
    webhdfs_status_close(&s);
    return rc;
}

static int hdfs_fs_remove(struct fs *fs, const char *path, struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct fs_info info;
    int rc = hdfs_fs_stat(fs, path, &info, err);
    if (rc == 0 && info.is_directory)
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory", webhdfs_name(c),
                     path);
    return rc ? rc : webhdfs_delete(c, path, false, err);
}

static int hdfs_fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    int rc = hdfs_fs_check(fs, path, err);
    if (rc || !*path)
        return rc;
    return webhdfs_mkdirs(hdfs_fs_client(fs), path, err);
}

static int hdfs_fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct fs_info info;
    int rc = hdfs_fs_stat(fs, path, &info, err);
    if (rc == 0 && !*path)
        rc = err_set(err, ERR_INVALID, "%s: the root is not removed",
                     webhdfs_name(hdfs_fs_client(fs)));
    return rc ? rc : webhdfs_delete(hdfs_fs_client(fs), path, true, err);
}

/* Names are durable when the namenode has answered. */
static int hdfs_fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    (void)fs;
    (void)path;
    (void)err;
    return 0;
}

/* --- lists --------------------------------------------------------------- */

static int
add_page(struct remote_listing *l, struct webhdfs_page *page, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < page->count && rc == 0; i++) {
        const struct webhdfs_status *s = &page->entries[i];
        const struct fs_info info = {.is_directory = s->is_directory,
                                     .size_bytes =
                                         s->is_directory ? 0 : s->size_bytes,
                                     .modified_us = s->modified_us};
        rc = remote_listing_add(l, slice_str(s->name), &info, err);
    }
    return rc;
}

/* All of the directory @path. In any case remote_listing_close(). */
static int list_directory(struct fs *fs,
                          const char *path,
                          struct remote_listing *l,
                          struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    bool more = true;
    int rc = hdfs_fs_check(fs, path, err);
    *l = REMOTE_LISTING_INIT;
    while (rc == 0 && more) {
        struct webhdfs_page page;
        rc = webhdfs_list(
            c, path, l->count ? l->entries[l->count - 1].name : "", &page, err);
        if (rc == 0 && page.count == 1 && !*page.entries[0].name)
            rc = err_set(err, ERR_INVALID, "%s/%s: no directory",
                         webhdfs_name(c), path);
        more = page.more && page.count > 0;
        if (rc == 0)
            rc = add_page(l, &page, err);
        webhdfs_page_close(&page);
    }
    return rc;
}

static int hdfs_fs_list(struct fs *fs,
                        const char *path,
                        char ***names,
                        size_t *count,
                        struct err *err)
{
    struct remote_listing l;
    int rc = list_directory(fs, path, &l, err);
    if (rc == 0)
        remote_listing_names(&l, names, count);
    remote_listing_close(&l);
    return rc;
}

static int hdfs_fs_each(struct fs *fs,
                        const char *path,
                        fs_each_fn visit,
                        void *ctx,
                        struct err *err)
{
    struct remote_listing l;
    int rc = list_directory(fs, path, &l, err);
    if (rc == 0)
        rc = remote_listing_each(&l, visit, ctx, err);
    remote_listing_close(&l);
    return rc;
}

/* --- small files --------------------------------------------------------- */

/* Written beside its name, whole, and renamed in one step. */
static int place_file(struct fs *fs,
                      const char *path,
                      struct slice contents,
                      bool exclusive,
                      struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    char *part = hdfs_fs_beside(fs, path, "part");
    uint64_t id = 0;
    int rc = hdfs_fs_check(fs, path, err);
    if (rc == 0)
        rc = hdfs_fs_make_part(fs, part, contents, 0, &id, err);
    if (rc == 0)
        rc = webhdfs_rename(c, part, id, path, exclusive, err);
    if (rc)
        (void)!webhdfs_delete(c, part, false, NULL);
    mem_free(part);
    return rc;
}

static int hdfs_fs_replace(struct fs *fs,
                           const char *path,
                           struct slice contents,
                           struct err *err)
{
    return place_file(fs, path, contents, false, err);
}

static int hdfs_fs_publish(struct fs *fs,
                           const char *path,
                           struct slice contents,
                           struct err *err)
{
    return place_file(fs, path, contents, true, err);
}

/* --- what it has not ----------------------------------------------------- */

static int hdfs_fs_lock(struct fs *fs,
                        const char *path,
                        struct fs_lock **out,
                        struct err *err)
{
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s/%s: HDFS has no locks that end with their holder",
                   webhdfs_name(hdfs_fs_client(fs)), path);
}

static void hdfs_fs_unlock(struct fs_lock *l)
{
    PRE(!l); /* There are none. */
}

static const struct fs_ops hdfs_fs_ops = {
    .writes_whole = true,
    .close = hdfs_fs_close,
    .hurry = hdfs_fs_hurry,
    .create = hdfs_fs_create,
    .append = hdfs_fs_append,
    .flush = hdfs_fs_flush,
    .sync = hdfs_fs_flush,
    .writer_close = hdfs_fs_writer_close,
    .recover = hdfs_fs_recover,
    .open = hdfs_fs_open,
    .read_at = remote_reader_read_at,
    .read_once_at = remote_reader_read_at,
    .read_place = remote_reader_place,
    .prefetch = remote_reader_prefetch,
    .reader_close = remote_reader_close,
    .locality = remote_reader_locality,
    .rename = hdfs_fs_rename,
    .remove = hdfs_fs_remove,
    .mkdirs = hdfs_fs_mkdirs,
    .remove_tree = hdfs_fs_remove_tree,
    .stat = hdfs_fs_stat,
    .sync_dir = hdfs_fs_sync_dir,
    .list = hdfs_fs_list,
    .each = hdfs_fs_each,
    .replace = hdfs_fs_replace,
    .publish = hdfs_fs_publish,
    .lock = hdfs_fs_lock,
    .unlock = hdfs_fs_unlock,
};

struct fs *hdfs_fs_new(struct world *w, struct webhdfs_client *c)
{
    struct hdfs_fs *fs = mem_zalloc(1, sizeof(*fs));
    fs->base.ops = &hdfs_fs_ops;
    fs->base.world = w;
    fs->client = c;
    return &fs->base;
}
