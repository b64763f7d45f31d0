/* File systems that others run, by their names: a bucket of S3
 * (s3://BUCKET/…), HDFS by its namenodes' HTTP (hdfs://HOST:PORT/…, webhdfs://,
 * swebhdfs:// for HTTPS), a pool of Ceph (rados://POOL/…), and web servers, for
 * reading (http://HOST/…, https://…). Public.
 *
 *     if (fs_name_is_remote(word))
 *         fs_remote_open(w, word, getenv, &fs, &path, &err)
 *     … fs_open(fs, path, …) …
 *     fs_close(fs)
 *
 * As a file system a bucket differs from a disk:
 *     - a file appears when fs_writer_sync() returns, whole; closed without
 *       that, it is dropped. There is no fs_writer_flush(), and nothing is
 *       appended to a file that was synced (ERR_UNSUPPORTED);
 *     - directories are the parts of names before slashes: one without files is
 *       not there, and fs_mkdirs() does nothing;
 *     - fs_rename() copies and removes, and is not atomic; of directories it is
 *       refused, as fs_lock() is;
 *     - a reader sees one version of a file: if it is replaced, reads fail with
 *       ERR_ABORTED.
 * HDFS differs in less: a file appears, whole, with the first fs_writer_flush()
 * or fs_writer_sync(), and is appended to afterwards; fs_lock() is refused, and
 * names have no colons. A pool of Ceph appears and appends like HDFS, has
 * locks, and renames directories below one top directory alone. A web server's
 * files are opened and read, and nothing else.
 *
 * Threads: any. Everything parks; requests are sent by threads of the file
 * system.
 */
#ifndef GFS_LITE_OBJECTS_H
#define GFS_LITE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct world;

/* Has @name one of these schemes? */
bool fs_name_is_remote(const char *name);

/* The part of @name, a remote one, behind its bucket or host: the path below
 * the root of fs_remote_open(). Borrowed from @name. */
const char *fs_remote_path(const char *name);

/* Do @a and @b, remote names, have the same root? */
bool fs_remote_is_same(const char *a, const char *b);

/* Open the file system that has @name; *@root is "s3://BUCKET", owned. Settings
 * come from @variable, as getenv(). Nothing is asked of the server yet. *@out
 * is owned. Parks. Errors: ERR_INVALID (the name, a setting), ERR_UNSUPPORTED
 * (built without libcurl). */
MUST_CHECK int fs_remote_open(struct world *w,
                              const char *name,
                              const char *(*variable)(const char *name),
                              struct fs **out,
                              char **root,
                              struct err *err);

/* Requests that were sent so far, and bytes. */
struct fs_remote_counts {
    uint64_t requests; /* Retries included. */
    uint64_t retries;
    uint64_t read_bytes;
    uint64_t written_bytes;
};

/* PRE: @fs is of fs_remote_open(). */
void fs_remote_counts(struct fs *fs, struct fs_remote_counts *out);

#endif /* GFS_LITE_OBJECTS_H */
