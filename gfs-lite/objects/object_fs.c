/* A bucket as a file system: names, and what a bucket cannot do, which is
 * refused with the reason.
 */
#include "gfs-lite/objects/object_fs.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/objects/remote_listing.h"
#include "gfs-lite/objects/remote_reader.h"

int object_fs_needs_s3(struct fs *fs, const char *what, struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    if (object_client_is_s3(c))
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: files of a web server are read, not %s",
                   object_client_name(c), what);
}

int object_fs_check(struct fs *fs, const char *path, struct err *err)
{
    size_t len = strlen(path);
    if (fs__path_is_valid(path) && len > 0 && path[len - 1] != '/')
        return 0;
    return err_set(err, ERR_INVALID, "%s: \"%.80s\" is no name of a file",
                   object_client_name(object_fs_client(fs)), path);
}

static void object_fs_close(struct fs *fs)
{
    object_client_close(object_fs_client(fs));
    mem_free(fs);
}

static void object_fs_hurry(struct fs *fs)
{
    object_client_hurry(object_fs_client(fs));
}

/* --- listing ------------------------------------------------------------- */

/* The prefix of all keys in the directory @path. Owned. */
static char *directory_prefix(const char *path)
{
    struct buf b = BUF_INIT;
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    buf_append(&b, path, len);
    if (len > 0)
        buf_append_byte(&b, '/');
    return buf_take(&b);
}

/* Keys that the server lists, and the entries that they are. */
struct key_list {
    const char *prefix;
    struct remote_listing listing;
};

static int add_listed(void *ctx,
                      const char *key,
                      const struct object_info *info,
                      bool is_prefix,
                      struct err *err)
{
    struct key_list *l = ctx;
    size_t skip = strlen(l->prefix);
    struct slice name;
    const struct fs_info found = {.is_directory = is_prefix,
                                  .size_bytes = info->size_bytes,
                                  .modified_us = info->modified_us};
    if (strncmp(key, l->prefix, skip) != 0)
        return err_set(err, ERR_CORRUPT, "the server lists %.200s below %.200s",
                       key, l->prefix);
    name = slice_str(key + skip);
    if (is_prefix && name.len > 0 && name.data[name.len - 1] == '/')
        name.len--;
    /* The mark of a directory, and names that no path has. */
    if (name.len == 0 || memchr(name.data, '/', name.len) ||
        slice_eq_str(name, "..") || slice_eq_str(name, "."))
        return 0;
    return remote_listing_add(&l->listing, name, &found, err);
}

/* All of the directory @path. In any case remote_listing_close(). A directory
 * is there if a name is in it; the root always is. */
static int list_directory(struct fs *fs,
                          const char *path,
                          struct remote_listing *out,
                          struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    char *prefix = directory_prefix(path);
    struct key_list l = {prefix, REMOTE_LISTING_INIT};
    int rc = object_fs_needs_s3(fs, "listed", err);
    if (rc == 0 && !fs__path_is_valid(path))
        rc = err_set(err, ERR_INVALID, "bad name \"%.80s\"", path);
    if (rc == 0)
        rc = object_list(c, prefix, false, 0, add_listed, &l, err);
    if (rc == 0 && l.listing.count == 0 && *prefix)
        rc = err_set(err, ERR_NOTFOUND, "%s/%s: no such directory",
                     object_client_name(c), path);
    mem_free(prefix);
    *out = l.listing;
    return rc;
}

static int object_fs_list(struct fs *fs,
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

static int object_fs_each(struct fs *fs,
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

/* --- names --------------------------------------------------------------- */

static int is_one(void *ctx,
                  const char *key,
                  const struct object_info *info,
                  bool is_prefix,
                  struct err *err)
{
    (void)key;
    (void)info;
    (void)is_prefix;
    (void)err;
    *(bool *)ctx = true;
    return 0;
}

/* Is anything below @path? */
static int
is_directory(struct fs *fs, const char *path, bool *is, struct err *e)
{
    char *prefix = directory_prefix(path);
    int rc;
    *is = *prefix == '\0';
    rc =
        *is ? 0
            : object_list(object_fs_client(fs), prefix, true, 1, is_one, is, e);
    mem_free(prefix);
    return rc;
}

static int object_fs_stat(struct fs *fs,
                          const char *path,
                          struct fs_info *info,
                          struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    struct object_info found;
    size_t len = strlen(path);
    bool may_be_file = len > 0 && path[len - 1] != '/';
    bool is = false;
    int rc = ERR_NOTFOUND;
    *info = (struct fs_info){.size_bytes = 0};
    if (!fs__path_is_valid(path))
        return err_set(err, ERR_INVALID, "bad name \"%.80s\"", path);
    if (may_be_file)
        rc = object_head(c, path, &found, err);
    if (rc == 0) {
        info->size_bytes = found.size_bytes;
        info->modified_us = found.modified_us;
        return 0;
    }
    if (rc != ERR_NOTFOUND || !object_client_is_s3(c))
        return rc;
    rc = is_directory(fs, path, &is, err);
    if (rc)
        return rc;
    info->is_directory = is;
    return is ? 0
              : err_set(err, ERR_NOTFOUND, "%s/%s: not there",
                        object_client_name(c), path);
}

/* The file @path, which must be there and be one. */
static int
head_file(struct fs *fs, const char *path, const char *what, struct err *err)
{
    struct fs_info info;
    int rc = object_fs_needs_s3(fs, what, err);
    if (rc == 0)
        rc = object_fs_check(fs, path, err);
    if (rc == 0)
        rc = object_fs_stat(fs, path, &info, err);
    if (rc == 0 && info.is_directory)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "%s/%s: the directories of a bucket are not %s",
                     object_client_name(object_fs_client(fs)), path, what);
    return rc;
}

static int object_fs_rename(struct fs *fs,
                            const char *from,
                            const char *to,
                            struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    int rc = head_file(fs, from, "renamed", err);
    if (rc == 0)
        rc = object_fs_check(fs, to, err);
    if (rc == 0 && strcmp(from, to) == 0)
        return 0;
    if (rc == 0)
        rc = object_copy(c, from, to, err);
    return rc ? rc : object_delete(c, from, err);
}

/* There are no empty directories: one that is there has files. */
static int object_fs_remove(struct fs *fs, const char *path, struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    struct fs_info info;
    int rc = object_fs_needs_s3(fs, "removed", err);
    if (rc == 0)
        rc = object_fs_check(fs, path, err);
    if (rc == 0)
        rc = object_fs_stat(fs, path, &info, err);
    if (rc == 0 && info.is_directory)
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory",
                     object_client_name(c), path);
    return rc ? rc : object_delete(c, path, err);
}

static int object_fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    int rc = object_fs_needs_s3(fs, "written", err);
    if (rc == 0 && !fs__path_is_valid(path))
        rc = err_set(err, ERR_INVALID, "bad name \"%.80s\"", path);
    return rc;
}

struct doomed {
    char **keys;
    size_t count;
    size_t cap;
};

static int add_doomed(void *ctx,
                      const char *key,
                      const struct object_info *info,
                      bool is_prefix,
                      struct err *err)
{
    struct doomed *d = ctx;
    (void)info;
    (void)is_prefix;
    if (d->count == REMOTE_NAMES_MAX)
        return err_set(err, ERR_TOOBIG, "over %d files are to be removed",
                       REMOTE_NAMES_MAX);
    if (d->count == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 64;
        d->keys = mem_realloc(d->keys, d->cap * sizeof(char *));
    }
    d->keys[d->count++] = mem_strdup(key);
    return 0;
}

static int
object_fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    char *prefix = directory_prefix(path);
    struct doomed d = {.count = 0};
    struct fs_info info;
    int rc = object_fs_needs_s3(fs, "removed", err);
    if (rc == 0)
        rc = object_fs_stat(fs, path, &info, err);
    if (rc == 0 && !info.is_directory)
        rc = object_delete(c, path, err);
    else if (rc == 0)
        rc = object_list(c, prefix, true, 0, add_doomed, &d, err);
    for (size_t i = 0; i < d.count && rc == 0; i++)
        rc = object_delete(c, d.keys[i], err);
    for (size_t i = 0; i < d.count; i++)
        mem_free(d.keys[i]);
    mem_free(d.keys);
    mem_free(prefix);
    return rc;
}

/* Names are durable when they appear. */
static int object_fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    (void)fs;
    (void)path;
    (void)err;
    return 0;
}

static int object_fs_recover(struct fs *fs,
                             const char *path,
                             uint64_t *length,
                             struct err *err)
{
    struct fs_info info;
    int rc = head_file(fs, path, "written", err);
    if (rc == 0)
        rc = object_fs_stat(fs, path, &info, err);
    if (rc == 0)
        *length = info.size_bytes;
    return rc;
}

static int object_fs_lock(struct fs *fs,
                          const char *path,
                          struct fs_lock **out,
                          struct err *err)
{
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s/%s: a bucket has no locks that end with their holder",
                   object_client_name(object_fs_client(fs)), path);
}

static void object_fs_unlock(struct fs_lock *l)
{
    PRE(!l); /* There are none. */
}

static void start_read(void *ctx, struct object_read *r)
{
    object_read_start(ctx, r);
}

static int object_fs_open(struct fs *fs,
                          const char *path,
                          struct fs_reader **out,
                          struct err *err)
{
    struct object_client *c = object_fs_client(fs);
    struct object_info info;
    int rc = object_fs_check(fs, path, err);
    if (rc == 0)
        rc = object_head(c, path, &info, err);
    if (rc == 0 && info.size_bytes == UINT64_MAX) {
        rc = err_set(err, ERR_UNSUPPORTED,
                     "%s/%s: the server does not say how long it is",
                     object_client_name(c), path);
        err_hint(err, "fetch it with curl, and read the copy");
    }
    if (rc == 0)
        *out = remote_reader_new(fs, path, info.etag, info.size_bytes,
                                 (struct remote_source){start_read, c});
    return rc;
}

static int object_fs_replace(struct fs *fs,
                             const char *path,
                             struct slice contents,
                             struct err *err)
{
    int rc = object_fs_needs_s3(fs, "written", err);
    if (rc == 0)
        rc = object_fs_check(fs, path, err);
    return rc ? rc
              : object_put(object_fs_client(fs), path, contents, false, err);
}

static int object_fs_publish(struct fs *fs,
                             const char *path,
                             struct slice contents,
                             struct err *err)
{
    int rc = object_fs_needs_s3(fs, "written", err);
    if (rc == 0)
        rc = object_fs_check(fs, path, err);
    return rc ? rc
              : object_put(object_fs_client(fs), path, contents, true, err);
}

static const struct fs_ops object_fs_ops = {
    .writes_whole = true,
    .close = object_fs_close,
    .hurry = object_fs_hurry,
    .create = object_fs_create,
    .append = object_fs_append,
    .flush = object_fs_flush,
    .sync = object_fs_sync,
    .writer_close = object_fs_writer_close,
    .recover = object_fs_recover,
    .open = object_fs_open,
    .read_at = remote_reader_read_at,
    .read_once_at = remote_reader_read_at,
    .read_place = remote_reader_place,
    .prefetch = remote_reader_prefetch,
    .reader_close = remote_reader_close,
    .locality = remote_reader_locality,
    .rename = object_fs_rename,
    .remove = object_fs_remove,
    .mkdirs = object_fs_mkdirs,
    .remove_tree = object_fs_remove_tree,
    .stat = object_fs_stat,
    .sync_dir = object_fs_sync_dir,
    .list = object_fs_list,
    .each = object_fs_each,
    .replace = object_fs_replace,
    .publish = object_fs_publish,
    .lock = object_fs_lock,
    .unlock = object_fs_unlock,
};

struct fs *object_fs_new(struct world *w, struct object_client *c)
{
    struct object_fs *fs = mem_zalloc(1, sizeof(*fs));
    fs->base.ops = &object_fs_ops;
    fs->base.world = w;
    fs->client = c;
    return &fs->base;
}

bool object_fs_is(const struct fs *fs)
{
    return fs->ops == &object_fs_ops;
}
