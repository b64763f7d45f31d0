/* Who may do what with files: by owners, modes and grants. As HDFS decides:
 *
 *     look at a name     pass through all directories above it
 *     list a directory   read and pass through it
 *     read, write        the file
 *     make a name        write the directory that it is made in, or of what is
 *                        missing above it the last that is there
 *     remove, rename     write the directory that the name is in (both); where
 *                        that is sticky, own the file or the directory
 *     remove a tree      all of its directories that are not empty, for good
 *     set a mode, an owner, grants    own it
 *
 * A grant of a path holds whatever the modes of directories above say.
 *
 * Deterministic: a function of the names and of the caller. Who is not held to
 * rights, the servers and administrators, never comes here.
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

/* Bits of a mode, as others have them. */
enum permission_bits {
    PERMISSION_PASS = 1,
    PERMISSION_WRITE = 2,
    PERMISSION_READ = 4,
};

/* What @who has of @n, whatever is above it. */
unsigned permission_bits(const struct names *ns,
                         const struct permission_caller *who,
                         const struct inode *n);
/* Does he have all of @bits, and reaches it? ERR_DENIED says what he lacks. */
MUST_CHECK int permission_check(const struct names *ns,
                                const struct permission_caller *who,
                                const struct inode *n,
                                unsigned bits,
                                struct err *err);
/* May he know what is at @path, or that nothing is? */
MUST_CHECK int permission_check_look(const struct names *ns,
                                     const struct permission_caller *who,
                                     struct slice path,
                                     struct err *err);
/* A command with GFS_CHECKED, of its caller, apart from what lies below the
 * directories it names: permission_check_step(). What is not there is none of
 * this one's errors. ERR_DENIED. */
MUST_CHECK int permission_check_command(const struct names *ns,
                                        const struct gfs_command *c,
                                        struct err *err);

/* --- trees ------------------------------------------------------------- */

/* Does @c need a right to all that is below c->path? *@bits: of each file and,
 * with *@directories, of each directory that is not empty. A tree that is
 * renamed or copied to where other grants hold must be readable: who moves it
 * shows it to others. */
bool permission_needs_tree(const struct names *ns,
                           const struct gfs_command *c,
                           unsigned *file_bits,
                           unsigned *directory_bits);
/* @n of such a tree. ERR_DENIED. */
MUST_CHECK int permission_check_inode(const struct names *ns,
                                      const struct permission_caller *who,
                                      const struct inode *n,
                                      unsigned file_bits,
                                      unsigned directory_bits,
                                      struct err *err);

/* "rwxr-x" of owner and others; "t" at the end: sticky. @out has 8 bytes. */
void permission_put_mode(unsigned mode, char out[8]);

#endif /* GFS_LITE_NAMENODE_PERMISSION_H */
