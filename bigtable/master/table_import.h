/* Tables made of files from elsewhere, as a backup brings them: the files of a
 * load get the names of SSTables, and the table is made as of a snapshot.
 *
 * Threads: the term's loop. */
#ifndef BIGTABLE_MASTER_TABLE_IMPORT_H
#define BIGTABLE_MASTER_TABLE_IMPORT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct import_order;
struct key_loan;
struct master_term;

/* The key that files of the import are encrypted with; all zeros: none. Parks.
 * ERR_INVALID. */
MUST_CHECK int import_lend(struct master_term *r,
                           struct slice principal,
                           const struct import_order *o,
                           struct key_loan *out,
                           struct err *err);
/* Make the table o->table, of the principal @creator. Files stay in the load,
 * which shares their chunks, until it is swept. Parks. Errors: ERR_EXISTS,
 * ERR_INVALID, ERR_NOTFOUND (a file), ERR_CORRUPT. */
MUST_CHECK int import_take(struct master_term *r,
                           struct slice creator,
                           const struct import_order *o,
                           struct err *err);

#endif /* BIGTABLE_MASTER_TABLE_IMPORT_H */
