/* A client of HDFS by WebHDFS, the namenodes' HTTP interface.
 *
 *     webhdfs_open(w, "nn1:9870,nn2:9870", false, getenv, &c, &err)
 *     webhdfs_status(c, "a/b", &status, &err)
 *     webhdfs_close(c)
 *
 * Names are answered by the active one of the namenodes; bytes by a datanode
 * that it names. A call that failed for a reason that passes is repeated within
 * the pool's budget. Before a call is repeated that may have been carried out,
 * its outcome is looked for: that of a rename by the inode that was moved, that
 * of an append by the length of the file.
 *
 * Paths are below the root, without a slash before them. An inode is named by
 * webhdfs_inode_path(): it stays the same file when it is renamed, and is gone
 * when it was replaced.
 *
 * Threads: any. Everything parks.
 */
#ifndef BASE_OBJECTS_WEBHDFS_CLIENT_H
#define BASE_OBJECTS_WEBHDFS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/objects/object_client.h" /* object_read, object_counts */
#include "base/objects/webhdfs_answer.h"

struct webhdfs_client;
struct world;

/* Of "/.reserved/.inodes/N". */
#define WEBHDFS_INODE_PATH_BYTES 48

/* @servers: "host:port,…" of the namenodes' HTTP, @tls: of HTTPS. Settings:
 * HADOOP_USER_NAME, QUARRY_HDFS_TOKEN, QUARRY_HDFS_CA_BUNDLE,
 * QUARRY_HDFS_ATTEMPTS, QUARRY_HDFS_CONNECTIONS. *@out is owned. Errors:
 * ERR_INVALID, ERR_UNSUPPORTED (built without libcurl). */
MUST_CHECK int webhdfs_open(struct world *w,
                            struct slice servers,
                            bool tls,
                            object_variable variable,
                            struct webhdfs_client **out,
                            struct err *err);
/* PRE: nobody waits for a call. NULL is allowed. */
void webhdfs_close(struct webhdfs_client *c);
void webhdfs_hurry(struct webhdfs_client *c); /* Retry nothing any more. */
const char *webhdfs_name(const struct webhdfs_client *c); /* Borrowed. */
void webhdfs_counts(struct webhdfs_client *c, struct object_counts *out);

void webhdfs_inode_path(uint64_t id, char out[WEBHDFS_INODE_PATH_BYTES]);

/* Errors of all calls, beside those named: ERR_NOTFOUND, ERR_DENIED,
 * ERR_UNAVAILABLE (also: no namenode is active), ERR_BUSY (another writes the
 * file), ERR_INVALID (the name; a file where a directory is needed), ERR_FULL
 * (a quota). */

/* webhdfs_status_close() after success. */
MUST_CHECK int webhdfs_status(struct webhdfs_client *c,
                              const char *path,
                              struct webhdfs_status *out,
                              struct err *err);
/* One page of the directory behind the name @after. In any case
 * webhdfs_page_close(). Of a file: it, without a name. */
MUST_CHECK int webhdfs_list(struct webhdfs_client *c,
                            const char *path,
                            const char *after,
                            struct webhdfs_page *out,
                            struct err *err);
MUST_CHECK int
webhdfs_mkdirs(struct webhdfs_client *c, const char *path, struct err *err);
/* ERR_NOTFOUND: there is none. */
MUST_CHECK int webhdfs_delete(struct webhdfs_client *c,
                              const char *path,
                              bool recursive,
                              struct err *err);
/* As rename(2); ERR_EXISTS if @exclusive and @to is there. @id is the inode at
 * @from. Missing directories of @to are not made. */
MUST_CHECK int webhdfs_rename(struct webhdfs_client *c,
                              const char *from,
                              uint64_t id,
                              const char *to,
                              bool exclusive,
                              struct err *err);

/* Make, or replace, the file of @data; @replication 0: as the server has it. */
MUST_CHECK int webhdfs_create(struct webhdfs_client *c,
                              const char *path,
                              struct slice data,
                              unsigned replication,
                              struct err *err);
/* Append @data to the file, which has @length bytes and no other writer than
 * the caller. */
MUST_CHECK int webhdfs_append(struct webhdfs_client *c,
                              const char *path,
                              uint64_t length,
                              struct slice data,
                              struct err *err);
/* Move the blocks of @source, which is removed, to the end of @path, a file of
 * the same directory. ERR_BUSY: somebody writes @source. */
MUST_CHECK int webhdfs_concat(struct webhdfs_client *c,
                              const char *path,
                              const char *source,
                              struct err *err);

/* Begin to read; key is the path, etag is not used. Never waits. */
void webhdfs_read_start(struct webhdfs_client *c, struct object_read *r);

#endif /* BASE_OBJECTS_WEBHDFS_CLIENT_H */
