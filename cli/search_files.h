/* Where the files of a search index may be, and who may read them.
 *
 * An index tells the words of all pages, so that on a cluster its files are
 * open to its builder alone, unless he gives others the right to their path;
 * and no index is made of tables that the cluster encrypts, because programs
 * that search do not have its keys.
 */
#ifndef CLI_SEARCH_FILES_H
#define CLI_SEARCH_FILES_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct quarry;
struct quarry_table;

/* ERR_UNSUPPORTED: the target encrypts the files of @table. Parks. */
MUST_CHECK int search_files_refuse_encrypted(struct quarry *q,
                                             const char *table,
                                             struct err *err);
/* Before a build: make the directory of the index of @table, which is not there
 * yet, readable by its owner alone; in a cluster's file system. Parks. */
MUST_CHECK int
search_files_prepare(struct fs *fs, const char *table, struct err *err);
/* ERR_DENIED: who calls may not read all of @table, and so may not search it.
 * Parks. */
MUST_CHECK int search_files_check_reader(struct quarry_table *table,
                                         struct err *err);

#endif /* CLI_SEARCH_FILES_H */
