/* Who may use which paths, as the leader finds it. Where principals are proved,
 * trees that belong to the servers (tables, logs, jobs) are closed to everybody
 * else, by whatever way their files could be named; so are the orders of
 * operators. All other files have owners, modes and grants, which the names
 * themselves decide by (permission.h): the command says who wants it, and
 * whether he is held to them. The servers are not, nor are administrators.
 *
 * In a tree of the servers there may be boxes, which others put new files into:
 * what lies there already they neither read, replace nor remove.
 *
 * A file that is open is its session's, and the session is of whom opened it: a
 * right that is taken away while a file is written does not end the writing.
 *
 * Threads: the namenode's loop.
 */
#ifndef GFS_LITE_NAMENODE_RIGHTS_H
#define GFS_LITE_NAMENODE_RIGHTS_H

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
    const struct cluster_roles *roles; /* Borrowed; NULL: all may all. */
    const char *const *trees;          /* The servers'. End with NULL. */
    const char *const *boxes;          /* In them. End with NULL. */
    const char *const *watched;        /* Whose changes are for the audit log,
                                          whoever makes them. End with NULL. */
    bool names_are_proved; /* Whatever @roles say: the simulated world's are. */
    /* What lists say of principals: does not park. NULL: nothing. */
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
/* Who owns what @principal makes: "" if he is the cluster itself. */
struct slice rights_owner(const struct rights_rules *r, struct slice principal);

/* Is @path one of r->watched, or below it? */
bool rights_is_watched(const struct rights_rules *r, struct slice path);

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
/* Let @c, which was checked so, say who wants it. What it borrows of @roles,
 * which must be empty, stays so while that does. @mask: bits that new files do
 * not get. */
void rights_fill_command(const struct rights_rules *r,
                         struct slice principal,
                         uint32_t mask,
                         struct gfs_command *c,
                         struct buf *roles);
/* Is the session of @c its caller's, and the open file that it names the
 * session's? ERR_DENIED. A session that is not known is no error here. */
MUST_CHECK int rights_check_session(const struct catalog *m,
                                    const struct gfs_command *c,
                                    struct err *err);

#endif /* GFS_LITE_NAMENODE_RIGHTS_H */
