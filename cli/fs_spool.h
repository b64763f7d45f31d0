/* A file of the target's file system copied to one of this machine. */
#ifndef CLI_FS_SPOOL_H
#define CLI_FS_SPOOL_H

#include "cli/cli.h"
#include "cli/command.h"

/* Append @path of the target's file system (a '/' in front may be missing) to
 * @fd, which stays open. @args are those of the command at hand. */
MUST_CHECK int fs_spool(struct cli *cli,
                        const struct args *args,
                        const char *path,
                        int fd,
                        struct err *err);

#endif /* CLI_FS_SPOOL_H */
