/* The rows of a job as SSTables (table:NAME?bulk=yes): each attempt writes its
 * own through bigtable/client/bulk_load.h, and the job's commit adds those of
 * the winning attempts to the table, all at once.
 *
 *     STAGING/_ticket             of the load, from its beginning on
 *     STAGING/.r00003.1.part      the list of the files of an attempt
 *     STAGING/part-00003          the list of the winning attempt
 *
 * The load decides where the files themselves are, and names them by the
 * attempt; the commit takes those of the lists and removes the others. The
 * load's id is derived from the job's, so that a repeated commit changes
 * nothing.
 *
 * Invariant INV-1: rows of a part ascend (bulk_part_put() refuses others).
 *
 * One thread a part; everything parks.
 */
#ifndef MAPREDUCE_OUTPUT_BULK_OUTPUT_H
#define MAPREDUCE_OUTPUT_BULK_OUTPUT_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct bulk_part;
struct job_files;
struct key_loan;
struct quarry;

/* --- by the job master --------------------------------------------------- */

/* Begin load number @index of job @job_id into @table, or continue it: its
 * ticket is in @staging afterwards. Errors: ERR_NOTFOUND (the table). */
MUST_CHECK int bulk_output_begin(const struct job_files *files,
                                 const char *staging,
                                 struct quarry *store,
                                 const char *table,
                                 const char *job_id,
                                 unsigned index,
                                 struct err *err);
/* The key for the files of load number @index of job @job_id into @table. *@out
 * is a secret; it has no key where the table is not encrypted. Errors: those of
 * quarry_bulk_lend(). */
MUST_CHECK int bulk_output_lend(struct quarry *store,
                                const char *table,
                                const char *job_id,
                                unsigned index,
                                struct key_loan *out,
                                struct err *err);
/* Add the files of all parts to the table. A repeated call changes nothing.
 * Errors: those of quarry_bulk_commit(). */
MUST_CHECK int bulk_output_commit(const struct job_files *files,
                                  const char *staging,
                                  struct quarry *store,
                                  struct err *err);
/* Remove the files that are not in the table. No error if there are none. */
MUST_CHECK int bulk_output_abandon(const struct job_files *files,
                                   const char *staging,
                                   struct quarry *store,
                                   struct err *err);

/* --- by an attempt ------------------------------------------------------- */

/* Append to @out the beginning of the paths of the files that the attempt
 * @prefix writes for load number @index of job @job_id. */
MUST_CHECK int bulk_output_part_path(const char *job_id,
                                     unsigned index,
                                     const char *prefix,
                                     struct buf *out,
                                     struct err *err);
/* The path of the ticket of the load in @staging, into the cleared @out. */
void bulk_output_ticket_path(const char *staging, struct buf *out);
/* The part of the attempt @prefix ("r00003.1"). @store reaches the table's
 * cell; NULL: of a directory, or of the file system in @files. @loan is the key
 * for its files; NULL: they are not encrypted. Owned: bulk_part_close(). */
MUST_CHECK int bulk_part_open(const struct job_files *files,
                              const char *staging,
                              const char *prefix,
                              struct quarry *store,
                              const struct key_loan *loan,
                              struct bulk_part **out,
                              struct err *err);
/* Add a cell. ERR_INVALID: the row is below the one before; with a hint. */
MUST_CHECK int bulk_part_put(struct bulk_part *p,
                             struct slice row,
                             struct slice family,
                             struct slice qualifier,
                             int64_t timestamp_us,
                             struct slice value,
                             struct err *err);
uint64_t bulk_part_rows(const struct bulk_part *p);
/* Complete the files, and write their list to @path. Parks. */
MUST_CHECK int
bulk_part_finish(struct bulk_part *p, const char *path, struct err *err);
void bulk_part_close(struct bulk_part *p); /* NULL is allowed. */

#endif /* MAPREDUCE_OUTPUT_BULK_OUTPUT_H */
