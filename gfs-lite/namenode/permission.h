/* Decisions by owners, modes and grants, as HDFS takes them:
 *
 *     look at a name     pass through all directories above it
 *     list a directory   read and pass through it
 *     read, write        the file
 *     make a name        write the directory that it is made in; if directories
 *                        are missing, the last existing one above
 *     remove, rename     write the directory that the name is in (both); if
 *                        that is sticky, own the file or the directory
 *     remove a tree      for good: all of its directories that are not empty
 *     set a mode, an owner, grants
 *                        own it
 *
 * A grant of a path holds whatever the modes of directories above say.
 *
 * Deterministic: a function of the names and the caller. The servers and
 * administrators are not held to rights and never come here.
 *
 * One thread.
 */
#ifndef GFS_LITE_NAMENODE_PERMISSION_H
#define GFS_LITE_NAMENODE_PERMISSION_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct gfs_command;
struct inode;
struct names;

struct permission_caller {
    struct slice principal;
    struct slice roles; /* With commas. */
};

/* Bits of a mode for others; the owner's are the same, shifted. */
enum permission_bits {
    PERMISSION_PASS = 1,
    PERMISSION_WRITE = 2,
    PERMISSION_READ = 4,
};

/* The rights of @who to @n itself, whatever is above it. */
unsigned permission_bits(const struct names *ns,
                         const struct permission_caller *who,
                         const struct inode *n);
/* Has @who all of @bits to @n, and can he reach it? ERR_DENIED names the
 * missing right. */
MUST_CHECK int permission_check(const struct names *ns,
                                const struct permission_caller *who,
                                const struct inode *n,
                                unsigned bits,
                                struct err *err);
/* May @who know whether anything is at @path? ERR_DENIED. */
MUST_CHECK int permission_check_look(const struct names *ns,
                                     const struct permission_caller *who,
                                     struct slice path,
                                     struct err *err);
/* Decide a command that has GFS_CHECKED, for its caller, apart from what lies
 * below the directories it names (permission_check_inode()). A missing path is
 * no error here: the command itself reports it. ERR_DENIED. */
MUST_CHECK int permission_check_command(const struct names *ns,
                                        const struct gfs_command *c,
                                        struct err *err);

/* --- trees --------------------------------------------------------------- */

/* Does @c need a right to all files below c->path? *@file_bits: to each file;
 * *@directory_bits: to each directory that is not empty. A tree that is renamed
 * or copied to a place where other grants hold must be readable, because the
 * move shows it to others. */
bool permission_needs_tree(const struct names *ns,
                           const struct gfs_command *c,
                           unsigned *file_bits,
                           unsigned *directory_bits);
/* Has @who the rights to @n, one inode of such a tree? ERR_DENIED. */
MUST_CHECK int permission_check_inode(const struct names *ns,
                                      const struct permission_caller *who,
                                      const struct inode *n,
                                      unsigned file_bits,
                                      unsigned directory_bits,
                                      struct err *err);

/* Write "rwxr-x", the rights of the owner and of others, with a "t" at the end
 * if sticky, to @out. */
void permission_put_mode(unsigned mode, char out[8]);

#endif /* GFS_LITE_NAMENODE_PERMISSION_H */
