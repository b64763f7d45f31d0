/* The rows of a job as SSTables (table:NAME?bulk=yes): each attempt writes
 * its own through bigtable/client/bulk_load.h, and the job's commit adds those
 * of the attempts that won to the table, all at once.
 *
 *     STAGING/_ticket             of the load, from its beginning on
 *     STAGING/.r00003.1.part      the list of the files of an attempt
 *     STAGING/part-00003          of the one that won
 *
 * The files themselves are where the load keeps them, named by the attempt; the
 * commit takes those of the lists and removes the others. The load's id is made
 * of the job's, so that a commit that is repeated changes nothing.
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

/* Begin load number @index of job @job_id into @table, or go on with it: its
 * ticket is in @staging afterwards. Errors: ERR_NOTFOUND (the table). */
MUST_CHECK int bulk_output_begin(const struct job_files *files,
                                 const char *staging,
                                 struct quarry *store,
                                 const char *table,
                                 const char *job_id,
                                 unsigned index,
                                 struct err *err);
/* The key for the files of load number @index of job @job_id into @table.
 * *@out is a secret; of no key where the table is not encrypted. Errors: those
 * of quarry_bulk_lend(). */
MUST_CHECK int bulk_output_lend(struct quarry *store,
                                const char *table,
                                const char *job_id,
                                unsigned index,
                                struct key_loan *out,
                                struct err *err);
/* Add the files of all parts to the table. Again: nothing more happens.
 * Errors: those of quarry_bulk_commit(). */
MUST_CHECK int bulk_output_commit(const struct job_files *files,
                                  const char *staging,
                                  struct quarry *store,
                                  struct err *err);
/* Remove what was written and is not in the table. No error if there is
 * nothing. */
MUST_CHECK int bulk_output_abandon(const struct job_files *files,
                                   const char *staging,
                                   struct quarry *store,
                                   struct err *err);

/* --- by an attempt ------------------------------------------------------- */

/* How the paths of the files begin that the attempt @prefix writes for load
 * number @index of job @job_id, appended to @out. */
MUST_CHECK int bulk_output_part_path(const char *job_id,
                                     unsigned index,
                                     const char *prefix,
                                     struct buf *out,
                                     struct err *err);
/* Where the ticket of the load in @staging is; @out is cleared. */
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
/* Add a cell. ERR_INVALID: a row below the one before, with a hint. */
MUST_CHECK int bulk_part_put(struct bulk_part *p,
                             struct slice row,
                             struct slice family,
                             struct slice qualifier,
                             int64_t timestamp_us,
                             struct slice value,
                             struct err *err);
uint64_t bulk_part_rows(const struct bulk_part *p);
/* Complete the files, and write their list to @path. */
MUST_CHECK int
bulk_part_finish(struct bulk_part *p, const char *path, struct err *err);
void bulk_part_close(struct bulk_part *p); /* NULL is allowed. */

#endif /* MAPREDUCE_OUTPUT_BULK_OUTPUT_H */
