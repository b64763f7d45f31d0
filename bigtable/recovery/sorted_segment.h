/* A segment of a dead tablet server's log in memory, its mutations in order of
 * table and row, and of each row the newest first.
 *
 * Nothing is copied: the order is a list of places in the bytes that were read.
 *
 * Threads: immutable once read; its reference count is atomic.
 */
#ifndef BIGTABLE_RECOVERY_SORTED_SEGMENT_H
#define BIGTABLE_RECOVERY_SORTED_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct fs;
struct logged_mutation;
struct sorted_segment;

/* Take the segment @name below @dir from its writer, read and sort it.
 * One reference, the caller's. Parks. Errors: ERR_NOTFOUND: no such segment;
 * those of shared_log_read(), fs_recover(). */
MUST_CHECK int sorted_segment_read(struct fs *fs,
                                   const char *dir,
                                   const char *name,
                                   struct sorted_segment **out,
                                   struct err *err);
/* One more. Returns @s. */
struct sorted_segment *sorted_segment_ref(struct sorted_segment *s);
void sorted_segment_unref(struct sorted_segment *s); /* NULL is allowed. */

size_t sorted_segment_count(const struct sorted_segment *s);
/* It takes in memory. */
size_t sorted_segment_bytes(const struct sorted_segment *s);
/* The first mutation of @table that is of @row or a later one: its place. */
size_t sorted_segment_find(const struct sorted_segment *s,
                           uint64_t table,
                           struct slice row);
/* The mutation at @place, borrowed from @s. PRE: below the count. */
void sorted_segment_get(const struct sorted_segment *s,
                        size_t place,
                        struct logged_mutation *m,
                        uint64_t *sequence);
/* The same as the log has it (row/logged_mutation.h). */
struct slice sorted_segment_encoded(const struct sorted_segment *s,
                                    size_t place,
                                    uint64_t *sequence);

/* Of two mutations of one table: by row, the newest first. */
int logged_order(struct slice a_row,
                 uint64_t a_sequence,
                 struct slice b_row,
                 uint64_t b_sequence);

#endif /* BIGTABLE_RECOVERY_SORTED_SEGMENT_H */
