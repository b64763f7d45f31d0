/* File systems that are named by words of a command: s3://BUCKET/…, and
 * http(s)://HOST/… for reading, with the settings of the environment.
 *
 * Threads: any.
 */
#ifndef CLI_REMOTE_FS_H
#define CLI_REMOTE_FS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct cli;
struct fs;
struct world;

/* The setting @name, of the environment: as fs_remote_open() wants it. */
const char *remote_fs_variable(const char *name);
/* Open the file system that has @name; @root becomes what stands before its
 * paths in texts, "s3://BUCKET/". *@out is owned. Errors: those of
 * fs_remote_open(). */
MUST_CHECK int remote_fs_open(struct world *w,
                              const char *name,
                              struct fs **out,
                              struct buf *root,
                              struct err *err);

/* Close it; the user is told how often requests had to be repeated. */
void remote_fs_close(struct cli *cli, struct fs *fs, const char *root);

#endif /* CLI_REMOTE_FS_H */
