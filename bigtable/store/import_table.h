/* A table of a directory that is made of files from elsewhere, as a backup
 * brings them: they are moved among the store's SSTables under numbers of
 * their own, and one edit makes the table.
 *
 * Threads: any. */
#ifndef BIGTABLE_STORE_IMPORT_TABLE_H
#define BIGTABLE_STORE_IMPORT_TABLE_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct import_order;
struct store;

/* Make the table o->table. Sequence numbers that the store gives later are
 * above all of its files. Parks. A file that was moved when it failed is
 * removed. Errors: ERR_EXISTS, ERR_INVALID, ERR_NOTFOUND (a file), ERR_CORRUPT.
 */
MUST_CHECK int store_import_table(struct store *s,
                                  const struct import_order *o,
                                  struct err *err);

#endif /* BIGTABLE_STORE_IMPORT_TABLE_H */
