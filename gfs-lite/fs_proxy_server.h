/* Readers that a proxy server keeps open from one proxy client to the next.
 * Private to gfs-lite; fs_proxy.h is the header for others.
 *
 * Any thread.
 */
#ifndef GFS_LITE_FS_PROXY_SERVER_H
#define GFS_LITE_FS_PROXY_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct fs_reader;
struct fs_proxy_server;

struct kept_reader {
    LIST_ENTRY(kept_reader) link;
    char *path;
    struct fs_reader *reader;
    uint64_t opened_ns;
    unsigned users;
    bool listed;
};

/* The file system that is proxied. Borrowed. */
struct fs *fs_proxy_server_fs(const struct fs_proxy_server *l);

/* A reader of @path, kept open or opened. Parks. Errors: those of fs_open().
 * Must be released. */
MUST_CHECK int fs_proxy_server_acquire(struct fs_proxy_server *l,
                                       const char *path,
                                       struct kept_reader **out,
                                       struct err *err);
/* Release @k; with @failed it is not used again. */
void fs_proxy_server_release(struct fs_proxy_server *l,
                             struct kept_reader *k,
                             bool failed);

#endif /* GFS_LITE_FS_PROXY_SERVER_H */
