/* Sorted segments of a dead tablet server's log, as files: for those that do
 * not fit into the memory of who sorts them.
 *
 *     log/00000012/sorted/00000003.sst   of segment 3: an SSTable (sstable/)
 *     key   = that of a cell: row table:be64 row, family 1, no qualifier, time
 *             0, the sequence number of the mutation's first operation
 *     value = now:le64 count family:le16 × count, ops
 *
 * with `count` as in row/logged_mutation.h; so in order of table and row, and
 * of each row the newest mutation first. A segment without mutations becomes an
 * empty file.
 *
 * Threads: any. log_sorted_exists() and log_sorted_write() park.
 */
#ifndef BIGTABLE_RECOVERY_LOG_SORT_H
#define BIGTABLE_RECOVERY_LOG_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct fs;
struct logged_mutation;
struct sorted_segment;
struct sstable_iter;

#define LOG_SORTED_DIR "sorted" /* Below the log's. */

/* Path of the file of the segment @name below @dir, appended to @out. */
void log_sorted_path(const char *dir, const char *name, struct buf *out);
/* Is it there? */
bool log_sorted_exists(struct fs *fs, const char *dir, const char *name);

/* Write @segment, which is @name below @dir, to its file, by way of one that
 * @who alone uses. */
MUST_CHECK int log_sorted_write(struct fs *fs,
                                const char *dir,
                                const char *name,
                                uint64_t who,
                                const struct sorted_segment *segment,
                                struct err *err);

/* The row that stands for @row of @table in keys: appended to @out. */
void log_sorted_put_row(struct buf *out, uint64_t table, struct slice row);
/* Decode the entry of @it; slices are borrowed from it and from @scratch.
 * ERR_CORRUPT. */
MUST_CHECK int log_sorted_decode(const struct sstable_iter *it,
                                 struct buf *scratch,
                                 struct logged_mutation *m,
                                 uint64_t *sequence,
                                 struct err *err);

#endif /* BIGTABLE_RECOVERY_LOG_SORT_H */
