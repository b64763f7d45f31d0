/* Whole tables out of a store and into one, as files: for backups. A snapshot
 * keeps the files of a table, its record says which they are, and a new table
 * is made at once of files that were written into the directory of a load.
 *
 *     quarry_table_snapshot(q, "t", "s", ttl, &err)
 *     quarry_snapshot_record(q, "s", &record, &err)
 *     … copy tables/NUMBER.sst of quarry_bulk_files() …
 *
 *     quarry_import_lend(q, "t", id, &loan, &err)     is it encrypted?
 *     … write LOADS_DIR/ID/import_file_name(NUMBER) …
 *     quarry_import_table(q, "t", id, record, &err)
 *
 * Of a cluster, administrators alone may do this.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_CLIENT_TABLE_IMPORT_H
#define BIGTABLE_CLIENT_TABLE_IMPORT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct fs;
struct key_loan;
struct new_file;
struct quarry;
struct schema;

/* The target, as quarry_open() was told it, appended to @out: for people. */
void quarry_put_target(const struct quarry *q, struct buf *out);
/* The bytes of snapshot @name's record, with all its files, appended to @out.
 * ERR_NOTFOUND, ERR_DENIED, ERR_TOOBIG (above 16 MiB, of a cluster). */
MUST_CHECK int quarry_snapshot_record(struct quarry *q,
                                      const char *name,
                                      struct buf *out,
                                      struct err *err);
/* The key to encrypt the files of the import @id into @table with, to be closed
 * with key_loan_close(); all zeros: what is stored there is not encrypted. */
MUST_CHECK int quarry_import_lend(struct quarry *q,
                                  const char *table,
                                  const char *id,
                                  struct key_loan *out,
                                  struct err *err);
/* Make @table, a new one, of the tablets of @record, whose files are in the
 * load @id. They are moved in; nothing of them is read, so the caller has
 * checked each with quarry_import_check(). On error there is no table, and some
 * files may have to be written again. Indexes, changes and the list of rights
 * are not made: the record's list is taken if it has one. Errors: ERR_EXISTS,
 * ERR_NOTFOUND (a file), ERR_CORRUPT, ERR_INVALID. */
MUST_CHECK int quarry_import_table(struct quarry *q,
                                   const char *table,
                                   const char *id,
                                   struct slice record,
                                   struct err *err);
/* Read @f of @fs from end to end: is it what the record says of it, and does a
 * table of @schema take its entries? Errors: ERR_CORRUPT, ERR_DENIED. */
MUST_CHECK int quarry_import_check(struct fs *fs,
                                   const struct new_file *f,
                                   const struct schema *schema,
                                   struct err *err);

#endif /* BIGTABLE_CLIENT_TABLE_IMPORT_H */
