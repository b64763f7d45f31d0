/* What the files of `quarry fs` share. */
#ifndef CLI_FS_H
#define CLI_FS_H

#include "base/core/err.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

/* A command under way: over the cluster's file system, or the directory of the
 * embedded target. */
struct fs_command {
    struct cli *cli;
    const struct args *args;
    struct fs *fs;
};

typedef int (*fs_command_fn)(const struct fs_command *c, struct err *err);

/* Open the target's file system, run @fn, close it. */
MUST_CHECK int fs_command_run(struct cli *cli,
                              const struct args *args,
                              fs_command_fn fn,
                              struct err *err);

/* Word @index as a path below the root: a '/' in front is the user's way to say
 * the same. "" if it is not there. */
const char *fs_command_path(const struct fs_command *c, size_t index);

/* ERR_UNSUPPORTED unless the target is a cluster. */
MUST_CHECK int fs_command_needs_cluster(const struct fs_command *c,
                                        struct err *err);

/* fs_data.c */
int fs_run_cat(struct cli *cli, const struct args *args, struct err *err);
int fs_run_put(struct cli *cli, const struct args *args, struct err *err);
int fs_run_get(struct cli *cli, const struct args *args, struct err *err);
int fs_run_tail(struct cli *cli, const struct args *args, struct err *err);

/* fs_names.c */
int fs_run_ls(struct cli *cli, const struct args *args, struct err *err);
int fs_run_rm(struct cli *cli, const struct args *args, struct err *err);
int fs_run_mv(struct cli *cli, const struct args *args, struct err *err);
int fs_run_mkdir(struct cli *cli, const struct args *args, struct err *err);
int fs_run_stat(struct cli *cli, const struct args *args, struct err *err);
int fs_run_du(struct cli *cli, const struct args *args, struct err *err);
int fs_run_snapshot(struct cli *cli, const struct args *args, struct err *err);
int fs_run_setrep(struct cli *cli, const struct args *args, struct err *err);
int fs_run_quota(struct cli *cli, const struct args *args, struct err *err);

/* fs_state.c */
int fs_run_df(struct cli *cli, const struct args *args, struct err *err);
int fs_run_fsck(struct cli *cli, const struct args *args, struct err *err);
int fs_run_leave(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_FS_H */
