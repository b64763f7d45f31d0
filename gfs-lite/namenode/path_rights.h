/* Decides which paths a principal may use. Where principals are
 * authenticated, trees that belong to the servers (tables, logs, jobs) are
 * closed to all other principals, by whatever way their files could be named;
 * so are the orders of operators. All other files have owners, modes and
 * grants, by which the names themselves decide (permission.h): the command
 * carries its caller, and whether he is held to them. The servers and
 * administrators are not.
 *
 * A tree of the servers may have boxes, into which others put new files. In a
 * box they cannot read, replace or remove the files that are there.
 *
 * An open file belongs to its session, and the session to the principal that
 * opened it: a right that is taken away while a file is written does not end
 * the writing.
 *
 * Threads: the namenode's loop.
 */
#ifndef GFS_LITE_NAMENODE_PATH_RIGHTS_H
#define GFS_LITE_NAMENODE_PATH_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct catalog;
struct cluster_roles;
struct gfs_command;

/* Paths below the root. A part "*" of a box stands for any one part. */
struct rights_rules {
    const struct cluster_roles
        *roles; /* Borrowed; NULL: all principals may do everything. */
    const char *const *trees;   /* The servers'. End with NULL. */
    const char *const *boxes;   /* In them. End with NULL. */
    const char *const *watched; /* Changes below these are audited, even by the
                                   servers. End with NULL. */
    bool names_are_proved; /* Principals are authenticated whatever @roles say:
                              the simulated world's are. */
    /* Looks up administrators and roles; does not park. NULL: there are none.
     */
    const struct rights_lists *lists;
    void *lists_ctx;
};

struct rights_lists {
    bool (*is_administrator)(void *ctx, struct slice principal);
    /* Append the roles of @principal, with commas. */
    void (*put_roles)(void *ctx, struct slice principal, struct buf *out);
};

/* Is @principal held to the rules of the servers' trees? */
bool rights_bind(const struct rights_rules *r, struct slice principal);
/* And to owners, modes and grants? An administrator is not. */
bool rights_bind_modes(const struct rights_rules *r, struct slice principal);
/* The owner of files that @principal makes: "" for the cluster itself. */
struct slice rights_owner(const struct rights_rules *r, struct slice principal);

/* Is @path one of r->watched, or below it? */
bool rights_is_watched(const struct rights_rules *r, struct slice path);

/* The use that is made of a path. */
enum rights_use {
    RIGHTS_LOOK,   /* Its kind and size, the names in it. */
    RIGHTS_READ,   /* Its bytes. */
    RIGHTS_ADD,    /* Make it, where nothing is. */
    RIGHTS_CHANGE, /* Write, remove or rename it. */
    RIGHTS_ALL_OF, /* With all below it: read, changed or removed. */
};

/* May @principal @use @path? ERR_DENIED names both. 0 for principals that are
 * not bound. */
MUST_CHECK int rights_check(const struct rights_rules *r,
                            struct slice principal,
                            struct slice path,
                            enum rights_use use,
                            struct err *err);
/* An order that only servers may give; @what completes "may not …". ERR_DENIED.
 */
MUST_CHECK int rights_check_order(const struct rights_rules *r,
                                  struct slice principal,
                                  const char *what,
                                  struct err *err);
/* Check a client's command by the paths in it. A create in a box becomes an
 * exclusive one. ERR_DENIED. */
MUST_CHECK int rights_check_command(const struct rights_rules *r,
                                    struct slice principal,
                                    struct gfs_command *c,
                                    struct err *err);
/* Set the caller, the roles and GFS_CHECKED of @c, which rights_check_command()
 * accepted. c->roles borrows from @roles, which must be empty at first. @mask:
 * bits that new files do not get. */
void rights_fill_command(const struct rights_rules *r,
                         struct slice principal,
                         uint32_t mask,
                         struct gfs_command *c,
                         struct buf *roles);
/* Does the session of @c belong to its caller, and the open file that it names
 * to the session? ERR_DENIED. An unknown session is no error here. */
MUST_CHECK int rights_check_session(const struct catalog *m,
                                    const struct gfs_command *c,
                                    struct err *err);

#endif /* GFS_LITE_NAMENODE_PATH_RIGHTS_H */
