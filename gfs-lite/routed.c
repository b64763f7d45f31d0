/* Two file systems side by side. Only names are routed: readers, writers and
 * locks belong to the file system that opened them.
 */
#include "gfs-lite/routed.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/slice.h"
#include "gfs-lite/fs_ops.h"

struct routed {
    struct fs base;
    struct fs *own;           /* Borrowed. */
    struct fs *theirs;        /* Owned. */
    const char *const *trees; /* Of `own`. Borrowed. */
};

/* Parts as namenodes see them: empty parts and "." are skipped. */
static struct slice first_part(const char *path)
{
    struct slice rest = slice_str(path);
    while (rest.len > 0) {
        size_t end = slice_find_byte(rest, '/');
        struct slice part = slice_sub(rest, 0, end);
        if (part.len > 0 && !slice_eq_str(part, "."))
            return part;
        rest = slice_sub(rest, end + 1, rest.len);
    }
    return SLICE_EMPTY;
}

static struct fs *routed_route(struct fs *fs, const char *path)
{
    struct routed *r = (struct routed *)fs;
    struct slice first = first_part(path);
    for (const char *const *t = r->trees; *t; t++)
        if (slice_eq_str(first, *t))
            return r->own;
    return r->theirs;
}

static void routed_close(struct fs *fs)
{
    struct routed *r = (struct routed *)fs;
    fs_close(r->theirs);
    mem_free(r);
}

static void routed_hurry(struct fs *fs)
{
    struct routed *r = (struct routed *)fs;
    fs_hurry(r->theirs);
}

static int routed_create(struct fs *fs,
                         const char *path,
                         const struct fs_write_options *opts,
                         struct fs_writer **out,
                         struct err *err)
{
    return fs_create(routed_route(fs, path), path, opts, out, err);
}

static int routed_recover(struct fs *fs,
                          const char *path,
                          uint64_t *length,
                          struct err *err)
{
    return fs_recover(routed_route(fs, path), path, length, err);
}

static int routed_open(struct fs *fs,
                       const char *path,
                       struct fs_reader **out,
                       struct err *err)
{
    return fs_open(routed_route(fs, path), path, out, err);
}

static int
routed_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    if (routed_route(fs, from) != routed_route(fs, to))
        return err_set(err, ERR_DENIED,
                       "%s and %s are not files of one owner's tree", from, to);
    return fs_rename(routed_route(fs, from), from, to, err);
}

static int routed_remove(struct fs *fs, const char *path, struct err *err)
{
    return fs_remove(routed_route(fs, path), path, err);
}

static int routed_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    return fs_mkdirs(routed_route(fs, path), path, err);
}

static int routed_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    return fs_remove_tree(routed_route(fs, path), path, err);
}

static int routed_stat(struct fs *fs,
                       const char *path,
                       struct fs_info *info,
                       struct err *err)
{
    return fs_stat(routed_route(fs, path), path, info, err);
}

static int routed_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    return fs_sync_dir(routed_route(fs, path), path, err);
}

static int routed_list(struct fs *fs,
                       const char *path,
                       char ***names,
                       size_t *count,
                       struct err *err)
{
    return fs_list(routed_route(fs, path), path, names, count, err);
}

static int routed_lock(struct fs *fs,
                       const char *path,
                       struct fs_lock **out,
                       struct err *err)
{
    return fs_lock(routed_route(fs, path), path, out, err);
}

/* Readers, writers and locks call the file systems that made them. */
static const struct fs_ops routed_ops = {
    .close = routed_close,
    .hurry = routed_hurry,
    .create = routed_create,
    .recover = routed_recover,
    .open = routed_open,
    .rename = routed_rename,
    .remove = routed_remove,
    .mkdirs = routed_mkdirs,
    .remove_tree = routed_remove_tree,
    .stat = routed_stat,
    .sync_dir = routed_sync_dir,
    .list = routed_list,
    .lock = routed_lock,
};

struct fs *
fs_routed_new(struct fs *own, struct fs *theirs, const char *const *trees)
{
    struct routed *r = mem_zalloc(1, sizeof(*r));
    r->base.ops = &routed_ops;
    r->base.world = fs_world(own);
    r->own = own;
    r->theirs = theirs;
    r->trees = trees;
    return &r->base;
}
