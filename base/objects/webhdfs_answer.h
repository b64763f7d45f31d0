/* The JSON of WebHDFS's answers: statuses of files, pages of directories,
 * errors.
 *
 * The text comes from a server and is believed in nothing: what has not the
 * form that is expected is ERR_CORRUPT.
 *
 * Pure, on jansson. Threads: any. The grammar: "WebHDFS REST API" of Hadoop's
 * documentation, section JSON Schemas.
 */
#ifndef BASE_OBJECTS_WEBHDFS_ANSWER_H
#define BASE_OBJECTS_WEBHDFS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Longest answer that is read, and most entries of one page: a namenode gives
 * 1,000 (dfs.ls.limit) unless it is told otherwise. */
#define WEBHDFS_ANSWER_BYTES_MAX ((size_t)64 << 20)

struct webhdfs_status {
    char
        *name; /* In its directory; owned; "" of the file that was asked for. */
    bool is_directory;
    uint64_t size_bytes;
    uint64_t modified_us;
    uint64_t id; /* Of the inode; never used twice; 0: not told. */
    uint64_t replication;
};

struct webhdfs_page {
    struct webhdfs_status *entries; /* Owned. */
    size_t count;
    bool more;
};

/* The answer to GETFILESTATUS. webhdfs_status_close() after success. */
MUST_CHECK int webhdfs_status_parse(struct slice json,
                                    struct webhdfs_status *out,
                                    struct err *err);
void webhdfs_status_close(struct webhdfs_status *s);

/* One page of LISTSTATUS_BATCH. In any case webhdfs_page_close(). */
MUST_CHECK int webhdfs_page_parse(struct slice json,
                                  struct webhdfs_page *out,
                                  struct err *err);
void webhdfs_page_close(struct webhdfs_page *p);

/* {"boolean": …} */
MUST_CHECK int
webhdfs_boolean_parse(struct slice json, bool *out, struct err *err);

/* The exception in @json, each text cut at its length; "": none. */
struct webhdfs_exception {
    char name[80]; /* "FileNotFoundException" */
    char message[320];
};

void webhdfs_exception_parse(struct slice json, struct webhdfs_exception *out);

#endif /* BASE_OBJECTS_WEBHDFS_ANSWER_H */
