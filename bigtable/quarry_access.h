/* Access to the tables of a cluster: lists of rights, roles and quotas. Part of
 * the C library, beside quarry.h.
 *
 * Everything here is ERR_UNSUPPORTED on a directory: nobody but its process
 * reads and writes that.
 *
 * A table without a list of rights is open to all who are let into the cluster.
 * Rights are read, write and own, of a family or, as "*", of all families; own
 * includes the others, and is needed to give rights, and for "*" to change the
 * table. The table "", or NULL, stands for the cluster, whose list has the
 * rights create (of tables) and own (of everything). See docs/access.md.
 *
 * Errors of all: ERR_DENIED (names who, the right and the table), ERR_NOTFOUND
 * (the table, or the family), those of the way to the master.
 *
 * Threads: any. Everything parks a fiber or blocks a thread.
 */
#ifndef BIGTABLE_QUARRY_ACCESS_H
#define BIGTABLE_QUARRY_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/quota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quarry;

/* The list of rights of @table: lines of family, right and principals with
 * commas, appended to @list. *@any: it has one. */
QUARRY_EXPORT MUST_CHECK int quarry_acl_get(struct quarry *q,
                                            const char *table,
                                            struct buf *list,
                                            bool *any,
                                            struct err *err);
/* Replace the list; NULL: have none. ERR_INVALID names the line; a list that
 * would leave the table without an owner is one, too. */
QUARRY_EXPORT MUST_CHECK int quarry_acl_set(struct quarry *q,
                                            const char *table,
                                            const char *list,
                                            struct err *err);
/* Give @right ("read", "write", "own"; of the cluster "create", "own") to
 * @family ("*": all) to @principals (with commas; "*": everybody), or take it
 * away. The first right that is given to an open table closes it to all others,
 * and its giver stays an owner. In force everywhere when it returns, or as soon
 * as the servers learn of it. */
QUARRY_EXPORT MUST_CHECK int quarry_acl_grant(struct quarry *q,
                                              const char *table,
                                              const char *family,
                                              const char *right,
                                              const char *principals,
                                              struct err *err);
QUARRY_EXPORT MUST_CHECK int quarry_acl_revoke(struct quarry *q,
                                               const char *table,
                                               const char *family,
                                               const char *right,
                                               const char *principals,
                                               struct err *err);

/* Is @principal one of those whom the list of the cluster names as its owners,
 * its administrators? False: also when there is no list. */
QUARRY_EXPORT MUST_CHECK int quarry_acl_is_administrator(struct quarry *q,
                                                         struct slice principal,
                                                         bool *is,
                                                         struct err *err);

/* Roles are named sets of principals; a list names one as "role:NAME". Append
 * all of them to @out, a line each: role, "member", principals with commas. */
QUARRY_EXPORT MUST_CHECK int
quarry_roles_get(struct quarry *q, struct buf *out, struct err *err);
/* @verb: "create" @role with @principals (with commas), which is not there;
 * "add" some to it, or "remove" them, the last of whom takes it along; "drop"
 * it. Administrators may. ERR_EXISTS, ERR_NOTFOUND, ERR_INVALID, ERR_DENIED. */
QUARRY_EXPORT MUST_CHECK int quarry_role_change(struct quarry *q,
                                                const char *verb,
                                                const char *role,
                                                const char *principals,
                                                struct err *err);

/* The cluster's lists of principals, as of one moment. Immutable. */
struct quarry_principals;
/* *@out is owned. */
QUARRY_EXPORT MUST_CHECK int
quarry_principals_get(struct quarry *q,
                      struct quarry_principals **out,
                      struct err *err);
QUARRY_EXPORT void
quarry_principals_free(struct quarry_principals *p); /* NULL is allowed. */
QUARRY_EXPORT bool
quarry_principals_is_administrator(const struct quarry_principals *p,
                                   struct slice principal);
/* Append the roles of @principal to @out, with commas. */
QUARRY_EXPORT void
quarry_principals_put_roles(const struct quarry_principals *p,
                            struct slice principal,
                            struct buf *out);

/* A view of @q, whose calls are made on behalf of @principal: its rights count,
 * and what it may not see it is refused. Connections, sessions and locations
 * are those of @q; tables and scanners must be opened from the view. For those
 * whom the cluster's servers let act for others (a gateway; docs/access.md):
 * the calls of anybody else are ERR_DENIED. Its calls to the lock service
 * (names, schemas and places of tables) are made as @q. Of a directory,
 * which knows no rights, it is the same as @q.
 *
 * Owned: quarry_close(), before that of @q; it waits for the asynchronous calls
 * of its tables. Cheap: no connection is made. ERR_INVALID: it is
 * no name of a principal (up to 128 bytes without spaces, commas and control
 * characters). */
QUARRY_EXPORT MUST_CHECK int quarry_as(struct quarry *q,
                                       const char *principal,
                                       struct quarry **out,
                                       struct err *err);

/* The present use of a table. */
struct quarry_use {
    uint64_t tablets;
    uint64_t stored_bytes;
    uint64_t memory_bytes;
};

/* @use may be NULL. */
QUARRY_EXPORT MUST_CHECK int quarry_quota_get(struct quarry *q,
                                              const char *table,
                                              struct quarry_quota *quota,
                                              struct quarry_use *use,
                                              struct err *err);
/* Set all quotas of @table; those that are 0 are none. Administrators may, and
 * as long as there are none, owners of the table. */
QUARRY_EXPORT MUST_CHECK int quarry_quota_set(struct quarry *q,
                                              const char *table,
                                              const struct quarry_quota *quota,
                                              struct err *err);

/* How much @principal may ask of all tables of the cluster together: @ops rows
 * read and written, and @bytes, a second; 0: any number. With neither it has no
 * rate any more. Calls above it are refused: ERR_EXHAUSTED with
 * ERR_DETAIL_RATE, and when to come again; the library waits and tries until
 * its deadline. Administrators may. Errors also: ERR_INVALID (the name),
 * ERR_TOOBIG: too many have one. */
QUARRY_EXPORT MUST_CHECK int quarry_rate_set(struct quarry *q,
                                             const char *principal,
                                             uint64_t ops,
                                             uint64_t bytes,
                                             struct err *err);
typedef void (*quarry_rate_fn)(void *ctx,
                               struct slice principal,
                               uint64_t ops,
                               uint64_t bytes);
/* Give each that has one to @each, ascending by name; @principal (NULL: all):
 * that one's alone. */
QUARRY_EXPORT MUST_CHECK int quarry_rates_get(struct quarry *q,
                                              const char *principal,
                                              quarry_rate_fn each,
                                              void *ctx,
                                              struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_ACCESS_H */
