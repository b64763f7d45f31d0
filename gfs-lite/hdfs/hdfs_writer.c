/* Writing a file of HDFS. Its bytes gather in memory and go to a file of
 * another name in the same directory, which is renamed when they are first
 * flushed or synced: nothing is seen in part before, and a failed writer leaves
 * what was there. Afterwards bytes are appended to the inode, not to the name:
 * who takes the file from its writer makes another inode of it
 * (hdfs_recover.c), and no late append finds it.
 *
 * Invariants of struct hdfs_writer
 *     INV-1. The inode has `sent` bytes, and data.len more wait; unless failed.
 *     INV-2. `id` is 0 while there is no inode; `placed` implies that it is.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/hdfs/hdfs_fs.h"

/* Bytes of one request. */
#define SEND_BYTES ((size_t)16 << 20)

struct hdfs_writer {
    struct fs_writer base;
    char *path; /* Owned. */
    char *part; /* The other name; owned. */
    struct buf data;
    uint64_t sent;
    uint64_t id;
    unsigned replication;
    bool exclusive;
    bool placed; /* It has its name. */
    bool failed;
};

static struct hdfs_writer *hdfs_writer(struct fs_writer *w)
{
    return (struct hdfs_writer *)w;
}

static struct webhdfs_client *client_of(struct hdfs_writer *w)
{
    return hdfs_fs_client(w->base.fs);
}

int hdfs_fs_create(struct fs *fs,
                   const char *path,
                   const struct fs_write_options *opts,
                   struct fs_writer **out,
                   struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct webhdfs_status found;
    struct hdfs_writer *w;
    bool is_directory = false;
    int rc = hdfs_fs_check(fs, path, err);
    if (rc)
        return rc;
    /* To be known before all bytes are sent; the last word has the rename. */
    rc = webhdfs_status(c, path, &found, err);
    if (rc == 0) {
        is_directory = found.is_directory;
        webhdfs_status_close(&found);
        if (is_directory)
            rc = err_set(err, ERR_INVALID, "%s/%s: a directory",
                         webhdfs_name(c), path);
        else if (opts->exclusive)
            rc = err_set(err, ERR_EXISTS, "%s/%s exists already",
                         webhdfs_name(c), path);
    } else if (rc == ERR_NOTFOUND) {
        rc = 0;
    }
    if (rc)
        return rc;
    w = mem_zalloc(1, sizeof(*w));
    w->base.fs = fs;
    w->path = mem_strdup(path);
    w->part = hdfs_fs_beside(fs, path, "part");
    w->replication = opts->replication;
    w->exclusive = opts->exclusive;
    *out = &w->base;
    return 0;
}

int hdfs_fs_make_part(struct fs *fs,
                      const char *part,
                      struct slice data,
                      unsigned replication,
                      uint64_t *id,
                      struct err *err)
{
    struct webhdfs_client *c = hdfs_fs_client(fs);
    struct webhdfs_status made;
    int rc = webhdfs_create(c, part, data, replication, err);
    if (rc == 0)
        rc = webhdfs_status(c, part, &made, err);
    if (rc)
        return rc;
    *id = made.id;
    if (made.size_bytes != data.len)
        rc = err_set(err, ERR_CORRUPT, "%s/%s: %llu bytes of %zu were written",
                     webhdfs_name(c), part, (unsigned long long)made.size_bytes,
                     data.len);
    else if (made.id == 0)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "%s: the server tells no numbers of inodes: HDFS of "
                     "Hadoop 2.8 or newer does",
                     webhdfs_name(c));
    webhdfs_status_close(&made);
    return rc;
}

/* Send what gathered, if it is anything or the inode is not there. */
static int send_data(struct hdfs_writer *w, struct err *err)
{
    struct slice data = buf_slice(&w->data);
    char inode[WEBHDFS_INODE_PATH_BYTES];
    int rc = 0;
    if (w->id == 0) {
        rc = hdfs_fs_make_part(w->base.fs, w->part, data, w->replication,
                               &w->id, err);
    } else if (data.len > 0) {
        webhdfs_inode_path(w->id, inode);
        rc = webhdfs_append(client_of(w), inode, w->sent, data, err);
        if (rc)
            err_wrap(err, "%s", w->path);
    }
    if (rc == 0) {
        w->sent += data.len; /* INV-1 */
        buf_clear(&w->data);
    }
    w->failed = rc != 0;
    return rc;
}

static int check_failed(const struct hdfs_writer *w, struct err *err)
{
    return w->failed
               ? err_set(err, ERR_IO, "%s: an earlier write failed", w->path)
               : 0;
}

int hdfs_fs_append(struct fs_writer *base,
                   const void *data,
                   size_t len,
                   struct err *err)
{
    struct hdfs_writer *w = hdfs_writer(base);
    const char *p = data;
    int rc = check_failed(w, err);
    while (len > 0 && rc == 0) {
        size_t n = MIN_OF(len, SEND_BYTES - w->data.len);
        buf_append(&w->data, p, n);
        w->base.offset += n;
        p += n;
        len -= n;
        if (w->data.len == SEND_BYTES)
            rc = send_data(w, err);
    }
    POST(rc || w->sent + w->data.len == w->base.offset);
    return rc;
}

int hdfs_fs_flush(struct fs_writer *base, struct err *err)
{
    struct hdfs_writer *w = hdfs_writer(base);
    int rc = check_failed(w, err);
    if (rc == 0)
        rc = send_data(w, err);
    if (rc == 0 && !w->placed) {
        INVARIANT(w->id != 0); /* INV-2 */
        rc = webhdfs_rename(client_of(w), w->part, w->id, w->path, w->exclusive,
                            err);
        w->placed = rc == 0;
        w->failed = rc != 0;
    }
    return rc;
}

void hdfs_fs_writer_close(struct fs_writer *base)
{
    struct hdfs_writer *w = hdfs_writer(base);
    if (!w->placed && (w->id != 0 || w->failed))
        (void)!webhdfs_delete(client_of(w), w->part, false, NULL);
    else if (w->placed && !w->failed && w->data.len > 0)
        (void)!send_data(w, NULL);
    buf_close(&w->data);
    mem_free(w->path);
    mem_free(w->part);
    mem_free(w);
}
