/* Segments of a dead tablet server's log, sorted so that who takes over one
 * tablet reads its rows and no others.
 *
 *     log/00000012/sorted/00000003.sst   of segment 3: a table file (sstable/)
 *     key   = that of a cell: row table:be64 row, family 1, no qualifier, time
 *             0, the sequence number of the mutation's first operation
 *     value = now:le64 count:varint family:le16 × count, ops
 *
 * so in order of table and row, and of each row the newest mutation first. A
 * segment without mutations becomes an empty file.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_TABLET_LOG_SORT_H
#define BIGTABLE_TABLET_LOG_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct block_cache;
struct fs;
struct logged_mutation;

#define LOG_SORTED_DIR "sorted" /* Below the log's. */

/* Take the segment @name below @dir from whoever writes it, sort it, and put
 * what comes of it into @dir/sorted, by way of a file that @who alone uses.
 * Nothing is done when it is there already. Errors: ERR_NOTFOUND: no such
 * segment; those of shared_log_read(), fs_recover(). */
MUST_CHECK int log_sort_segment(struct fs *fs,
                                const char *dir,
                                const char *name,
                                uint64_t who,
                                struct err *err);

/* @m is borrowed, and of the table asked for. */
typedef int (*log_sorted_fn)(void *ctx,
                             const struct logged_mutation *m,
                             uint64_t sequence,
                             struct err *err);

/* Call @fn for each mutation, once, of the rows [start, end) of @table (an
 * empty @end: no bound) in the sorted segments of the log @dirs[0…count). Their
 * order is that of rows. A log without sorted segments has none. Errors: those
 * of table files, and of @fn. */
MUST_CHECK int log_sorted_each(struct fs *fs,
                               struct block_cache *cache,
                               const char *const *dirs,
                               size_t count,
                               uint64_t table,
                               struct slice start,
                               struct slice end,
                               log_sorted_fn fn,
                               void *ctx,
                               struct err *err);

#endif /* BIGTABLE_TABLET_LOG_SORT_H */
