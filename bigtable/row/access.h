/* Rights to a table's families: lists in their text form, and decisions by
 * them.
 *
 *     # family  right  principals
 *     *         read   *
 *     anchor    write  crawler,indexer
 *     contents  own    crawler
 *
 * A family, or "*" for all of them; read, write or own; principals as base/rpc
 * knows them, or "*" for everybody. Own includes the others, and is needed to
 * give rights to the family; owning "*" is needed to change the table. A
 * principal that is not named has no right: a list begins with nobody and adds.
 * A table without a list is everybody's.
 *
 * A principal "role:NAME" stands for all members of that role. Members are in
 * a list of its own, of the cluster, with a line for each role:
 *
 *     crawlers  member  ann,bob
 *
 * The list of the cluster has lines with "*" alone: create, to make tables, and
 * own, to do all that can be done, with every table: its administrators.
 *
 * Threads: immutable once parsed; any. Nothing parks.
 */
#ifndef BIGTABLE_ROW_ACCESS_H
#define BIGTABLE_ROW_ACCESS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct access_list;
struct buf;

enum access_right {
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_OWN = 4,
    ACCESS_CREATE = 8, /* Tables: in the list of the cluster. */
    ACCESS_MEMBER = 16 /* Of a role: in the list of roles. */
};

/* Bytes of a list, and principals of a line. */
#define ACCESS_BYTES_MAX      ((size_t)64 << 10)
#define ACCESS_PRINCIPALS_MAX 1024

/* @text is copied. *@out is owned. Errors: ERR_INVALID names the line and what
 * it may be; ERR_TOOBIG. */
MUST_CHECK int
access_parse(struct slice text, struct access_list **out, struct err *err);
/* The same, with the list of roles @roles (empty: there are none). */
MUST_CHECK int access_parse_with(struct slice text,
                                 struct slice roles,
                                 struct access_list **out,
                                 struct err *err);
void access_free(struct access_list *l); /* NULL is allowed. */

/* Rights of @principal to @family ("*": those to all families alone), as
 * ACCESS_* bits. @l may be NULL: all. */
unsigned access_rights(const struct access_list *l,
                       struct slice principal,
                       struct slice family);
/* Those it has to any family. */
unsigned access_rights_anywhere(const struct access_list *l,
                                struct slice principal);

/* Does a line for all families give @right (and not a greater one) to somebody?
 */
bool access_has_right(const struct access_list *l, enum access_right right);

/* ERR_DENIED: a text that names who, the right, the family ("*": none) and the
 * table ("": the cluster). */
int access_deny(struct slice principal,
                struct slice table,
                struct slice family,
                enum access_right right,
                struct err *err);
/* 0, or that. */
MUST_CHECK int access_check(const struct access_list *l,
                            struct slice principal,
                            struct slice table,
                            struct slice family,
                            enum access_right right,
                            struct err *err);

/* --- roles --------------------------------------------------------------- */

#define ACCESS_ROLE_PREFIX "role:"

/* Append the roles of @principal by the list of roles @l, with commas. */
void access_put_roles(const struct access_list *l,
                      struct slice principal,
                      struct buf *out);
/* Change the list of roles @text as @verb says: "create" (a role that is not
 * there), "add" (to one that is), "remove" (the last one who goes takes it with
 * him) or "drop" (all of them), and append what results. ERR_EXISTS,
 * ERR_NOTFOUND, ERR_INVALID. */
MUST_CHECK int access_change_roles(struct slice text,
                                   struct slice verb,
                                   struct slice role,
                                   struct slice principals,
                                   struct buf *out,
                                   struct err *err);

/* --- changing lists ------------------------------------------------------ */

/* Add @right to @family for @principals (with commas), or take it away, and
 * append the list that results to @out: one line for each family and right.
 * Taking away what is not there changes nothing. Errors: those of parsing, of
 * @text or of what is added. */
MUST_CHECK int access_change(struct slice text,
                             bool add,
                             struct slice family,
                             struct slice right,
                             struct slice principals,
                             struct buf *out,
                             struct err *err);

#endif /* BIGTABLE_ROW_ACCESS_H */
