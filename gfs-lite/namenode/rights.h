/* Who may use which paths. Where principals are proved, trees that belong to
 * the servers (tables, logs, jobs) are closed to everybody else, by whatever
 * way their files could be named; so are the orders of operators.
 *
 * In such a tree there may be boxes, which others put new files into: what lies
 * there already they neither read, replace nor remove.
 *
 * What is not checked: a file that is open, which its writer knows by number
 * and epoch, and chunks, which chunk servers give to whoever knows a handle.
 *
 * Threads: the namenode's loop.
 */
#ifndef GFS_LITE_NAMENODE_RIGHTS_H
#define GFS_LITE_NAMENODE_RIGHTS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cluster_roles;
struct gfs_command;

/* Paths below the root. A part "*" of a box stands for any one part. */
struct rights_rules {
    const struct cluster_roles *roles; /* Borrowed; NULL: all may all. */
    const char *const *trees;          /* The servers'. End with NULL. */
    const char *const *boxes;          /* In them. End with NULL. */
};

/* Is @principal held to the rules? */
bool rights_bind(const struct rights_rules *r, struct slice principal);

/* What is done with a path. */
enum rights_use {
    RIGHTS_LOOK,   /* Its kind and size, the names in it. */
    RIGHTS_READ,   /* Its bytes. */
    RIGHTS_ADD,    /* It is made, where nothing is. */
    RIGHTS_CHANGE, /* It is written, goes, or gets another name. */
    RIGHTS_ALL_OF, /* With all below it: read, changed or removed. */
};

/* ERR_DENIED names who and what. 0 for those who are not bound. */
MUST_CHECK int rights_check(const struct rights_rules *r,
                            struct slice principal,
                            struct slice path,
                            enum rights_use use,
                            struct err *err);
/* An order to @what, which servers alone give. ERR_DENIED. */
MUST_CHECK int rights_check_order(const struct rights_rules *r,
                                  struct slice principal,
                                  const char *what,
                                  struct err *err);
/* A command of a client, by the paths in it. A create in a box becomes one that
 * replaces nothing. ERR_DENIED. */
MUST_CHECK int rights_check_command(const struct rights_rules *r,
                                    struct slice principal,
                                    struct gfs_command *c,
                                    struct err *err);

#endif /* GFS_LITE_NAMENODE_RIGHTS_H */
