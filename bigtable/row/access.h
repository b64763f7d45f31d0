/* Who may do what with a table's families: a list of rights, as people write it
 * into a file of the lock service, and decisions by it.
 *
 *     # family  right  principals
 *     *         read   *
 *     anchor    write  crawler,indexer
 *     contents  own    crawler
 *
 * A family, or "*" for all of them; read, write or own; principals as base/rpc
 * knows them, or "*" for everybody. Own includes the others, and is needed to
 * change the family; owning "*" is needed to change the table. Whoever is not
 * named has no right: a list begins with nobody and adds. A table without a
 * list is everybody's.
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

enum access_right {
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_OWN = 4
};

/* Bytes of a list, and principals of a line. */
#define ACCESS_BYTES_MAX      ((size_t)64 << 10)
#define ACCESS_PRINCIPALS_MAX 1024

/* @text is copied. *@out is owned. Errors: ERR_INVALID names the line and what
 * it may be; ERR_TOOBIG. */
MUST_CHECK int
access_parse(struct slice text, struct access_list **out, struct err *err);
void access_free(struct access_list *l); /* NULL is allowed. */

/* Rights of @principal to @family ("*": those to all families alone), as
 * ACCESS_* bits. @l may be NULL: all. */
unsigned access_rights(const struct access_list *l,
                       struct slice principal,
                       struct slice family);

/* 0, or ERR_DENIED: a text that names the family and the right that is missing.
 */
MUST_CHECK int access_check(const struct access_list *l,
                            struct slice principal,
                            struct slice family,
                            enum access_right right,
                            struct err *err);

#endif /* BIGTABLE_ROW_ACCESS_H */
