/* Taking a file of HDFS from its writer. WebHDFS has no leases that others can
 * end, but the namenode moves the blocks of one file to the end of another in
 * one step (CONCAT), which it refuses while the first is being written. So the
 * file's blocks go to a new inode, which then gets its name: an append of the
 * old writer, who knows the old inode, finds nothing.
 *
 * A process that dies between both steps leaves the new inode under a name that
 * says whose it is; who takes the file next finishes that.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/hdfs/hdfs_fs.h"

/* A writer that died holds the file until HDFS's soft limit of a minute. */
#define WAIT_US_MAX UINT64_C(150000000)
#define WAIT_US     UINT64_C(500000)

/* "HASH.taken", the end of the names of new inodes of @path. */
static void taken_suffix(const char *path, char out[40])
{
    snprintf(out, 40, "%016llx.taken",
             (unsigned long long)hash64(path, strlen(path), 0));
}

/* A new inode that somebody made of @path, and did not name. Owned; NULL: none.
 */
static int
find_taken(struct fs *fs, const char *path, char **out, struct err *e)
{
    const char *slash = strrchr(path, '/');
    struct slice dir = slice_make(path, slash ? (size_t)(slash - path) : 0);
    struct buf name = BUF_INIT;
    char suffix[40];
    struct webhdfs_page page;
    char *after = mem_strdup("");
    char *parent = mem_strndup(dir.data, dir.len);
    bool more = true;
    int rc = 0;
    *out = NULL;
    taken_suffix(path, suffix);
    while (more && rc == 0 && !*out) {
        rc = webhdfs_list(hdfs_fs_client(fs), parent, after, &page, e);
        more = rc == 0 && page.more && page.count > 0;
        for (size_t i = 0; rc == 0 && i < page.count && !*out; i++) {
            const struct webhdfs_status *s = &page.entries[i];
            if (!slice_ends_with(slice_str(s->name), slice_str(suffix)) ||
                s->size_bytes == 0)
                continue;
            buf_printf(&name, "%s%s%s", parent, *parent ? "/" : "", s->name);
            *out = buf_take(&name);
        }
        if (more) {
            mem_free(after);
            after = mem_strdup(page.entries[page.count - 1].name);
        }
        webhdfs_page_close(&page);
    }
    buf_close(&name);
    mem_free(after);
    mem_free(parent);
    return rc;
}

/* Give the inode at @from the name @path, which is free. */
static int
name_taken(struct fs *fs, const char *from, const char *path, struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct webhdfs_status s;
    int rc = webhdfs_status(c, from, &s, err);
    if (rc == 0) {
        rc = webhdfs_rename(c, from, s.id, path, true, err);
        webhdfs_status_close(&s);
    }
    /* Another who takes it was faster. */
    return rc == ERR_NOTFOUND || rc == ERR_EXISTS ? ERR_ABORTED : rc;
}

/* Move the blocks of @path to a new inode. ERR_ABORTED: look again. */
static int take_blocks(struct fs *fs,
                       const char *path,
                       const struct webhdfs_status *old,
                       struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    char suffix[40];
    char *part;
    int rc;
    taken_suffix(path, suffix);
    part = hdfs_fs_beside(fs, path, suffix);
    rc = webhdfs_create(c, part, SLICE_EMPTY, (unsigned)old->replication, err);
    if (rc == 0) {
        rc = webhdfs_concat(c, part, path, err);
        if (rc == 0)
            rc = name_taken(fs, part, path, err);
        else
            (void)!webhdfs_delete(c, part, false, NULL);
    }
    mem_free(part);
    return rc == ERR_NOTFOUND ? ERR_ABORTED : rc;
}

/* One try. ERR_ABORTED, ERR_BUSY: look again. */
static int take_once(struct fs *fs, const char *path, struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct webhdfs_status old;
    char *taken = NULL;
    int rc = webhdfs_status(c, path, &old, err);
    if (rc == ERR_NOTFOUND) {
        int found = find_taken(fs, path, &taken, NULL);
        if (found == 0 && taken)
            rc = name_taken(fs, taken, path, err);
        mem_free(taken);
        return rc;
    }
    if (rc)
        return rc;
    if (old.is_directory)
        rc = err_set(err, ERR_INVALID, "%s/%s: a directory", webhdfs_name(c),
                     path);
    else if (old.size_bytes == 0) /* Has no blocks: another empty one does. */
        rc = webhdfs_create(c, path, SLICE_EMPTY, (unsigned)old.replication,
                            err);
    else
        rc = take_blocks(fs, path, &old, err);
    /* Opening it to append makes the namenode end a lease that is too old. */
    if (rc == ERR_BUSY)
        (void)!webhdfs_append(c, path, old.size_bytes, SLICE_EMPTY, NULL);
    webhdfs_status_close(&old);
    return rc;
}

int hdfs_fs_recover(struct fs *fs,
                    const char *path,
                    uint64_t *length,
                    struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    uint64_t end = world_mono_ns(fs->world) + WAIT_US_MAX * 1000;
    struct webhdfs_status now;
    int rc = hdfs_fs_check(fs, path, err);
    if (rc)
        return rc;
    for (;;) {
        rc = take_once(fs, path, err);
        if (rc != ERR_ABORTED && rc != ERR_BUSY)
            break;
        if (world_mono_ns(fs->world) > end) {
            rc = err_set(err, ERR_UNAVAILABLE,
                         "%s/%s: its writer holds it for longer than HDFS's "
                         "limit",
                         webhdfs_name(c), path);
            break;
        }
        world_sleep_us(fs->world, WAIT_US);
    }
    if (rc == 0)
        rc = webhdfs_status(c, path, &now, err);
    if (rc == 0) {
        *length = now.size_bytes;
        webhdfs_status_close(&now);
    }
    return rc;
}
