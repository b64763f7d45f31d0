/* Shared by the files of `quarry fs`. */
#ifndef CLI_CMD_FS_H
#define CLI_CMD_FS_H

#include "base/core/err.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

/* A command under way: over the cluster's file system, or the directory of the
 * embedded target. */
struct fs_command {
    struct cli *cli;
    const struct args *args;
    struct fs *fs;
    const char *root; /* Before paths in what users read: "/", or
                         "s3://BUCKET/". */
};

typedef int (*fs_command_fn)(const struct fs_command *c, struct err *err);

/* Open the file system that the words name (s3://…, http://…), else the
 * target's, run @fn, close it. Errors also: ERR_USAGE: words of several file
 * systems. */
MUST_CHECK int fs_command_run(struct cli *cli,
                              const struct args *args,
                              fs_command_fn fn,
                              struct err *err);

/* Word @index as a path below the root: a '/' in front is the user's way to say
 * the same, and so is "s3://BUCKET/". "" if it is not there. */
const char *fs_command_path(const struct fs_command *c, size_t index);

/* ERR_UNSUPPORTED unless the target is a cluster. */
MUST_CHECK int fs_command_needs_cluster(const struct fs_command *c,
                                        struct err *err);

/* Do @fn for each path that the words but the last name; what the directory
 * @to is given keeps its last part. Parks. Errors: ERR_NOTFOUND, ERR_INVALID:
 * several would go to what is no directory. */
typedef int (*fs_into_fn)(const struct fs_command *c,
                          const char *from,
                          const char *to,
                          struct err *err);
MUST_CHECK int fs_each_into(const struct fs_command *c,
                            const char *to,
                            fs_into_fn fn,
                            struct err *err);

/* One file in, out, and across. Of one that could not be made whole nothing is
 * left. Park. Errors: ERR_EXISTS, without --force; of both file systems. */
MUST_CHECK int fs_put_file(const struct fs_command *c,
                           const char *from,
                           const char *to,
                           struct err *err);
MUST_CHECK int fs_get_file(const struct fs_command *c,
                           const char *from,
                           const char *to,
                           struct err *err);
MUST_CHECK int fs_copy_file(const struct fs_command *c,
                            const char *from,
                            const char *to,
                            struct err *err);
/* The same of a file, or with --recursive of a directory and all below it. */
MUST_CHECK int fs_put_tree(const struct fs_command *c,
                           const char *from,
                           const char *to,
                           struct err *err);
MUST_CHECK int fs_get_tree(const struct fs_command *c,
                           const char *from,
                           const char *to,
                           struct err *err);

/* fs_tree.c */
int fs_run_cp(struct cli *cli, const struct args *args, struct err *err);

/* fs_data.c */
int fs_run_cat(struct cli *cli, const struct args *args, struct err *err);
int fs_run_put(struct cli *cli, const struct args *args, struct err *err);
int fs_run_get(struct cli *cli, const struct args *args, struct err *err);
int fs_run_tail(struct cli *cli, const struct args *args, struct err *err);

/* fs_names.c */
/* Print what @list adds to @sheet for each path that the words name, for the
 * root if there are none. Opens and closes @sheet. Parks. */
typedef int (*fs_list_fn)(void *ctx, const char *path, struct err *err);
struct sheet;
struct sheet_column;
MUST_CHECK int fs_print_paths(const struct fs_command *c,
                              const struct sheet_column *columns,
                              size_t column_count,
                              struct sheet *sheet,
                              fs_list_fn list,
                              void *ctx,
                              struct err *err);
int fs_run_ls(struct cli *cli, const struct args *args, struct err *err);
int fs_run_rm(struct cli *cli, const struct args *args, struct err *err);
int fs_run_mv(struct cli *cli, const struct args *args, struct err *err);
int fs_run_mkdir(struct cli *cli, const struct args *args, struct err *err);
int fs_run_stat(struct cli *cli, const struct args *args, struct err *err);
int fs_run_du(struct cli *cli, const struct args *args, struct err *err);
int fs_run_snapshot(struct cli *cli, const struct args *args, struct err *err);
int fs_run_setrep(struct cli *cli, const struct args *args, struct err *err);
int fs_run_quota(struct cli *cli, const struct args *args, struct err *err);

/* fs_rights.c */
int fs_run_chmod(struct cli *cli, const struct args *args, struct err *err);
int fs_run_chown(struct cli *cli, const struct args *args, struct err *err);
int fs_run_ls_long(struct cli *cli, const struct args *args, struct err *err);

/* The state of @path, to @out, and its owner and mode to @s. */
MUST_CHECK int fs_put_rights(const struct fs_command *c,
                             const char *path,
                             struct sheet *s,
                             struct gfs_stat *out,
                             struct err *err);

/* fs_state.c */
int fs_run_df(struct cli *cli, const struct args *args, struct err *err);
int fs_run_fsck(struct cli *cli, const struct args *args, struct err *err);
int fs_run_leave(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_CMD_FS_H */
