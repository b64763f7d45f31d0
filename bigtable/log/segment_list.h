/* Which segments the log of a tablet server consists of: a list that each of
 * them begins with, and what is missing by it.
 *
 *     list = zero:le64 { number:varint bytes:varint }
 *
 * the payload of a record with the sequence number 0, as announcements are: the
 * segments there were when the one with the list was begun, but for itself, and
 * how many bytes of each were on the disks then.
 *
 * Of the lists of a log that with the highest number of a segment counts: what
 * was released since is still there. To give up what a segment held that is
 * lost, an operator puts a file NUMBER.lost in its place.
 *
 * Threads: any. Functions with an @err park, but for segment_list_refuse().
 */
#ifndef BIGTABLE_LOG_SEGMENT_LIST_H
#define BIGTABLE_LOG_SEGMENT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct cursor;
struct fs;

/* Append an entry to a list. */
void segment_list_put(struct buf *out, uint64_t number, uint64_t bytes);
/* Is @payload, of a record with the sequence number 0, a list? Then *@list is
 * before its first entry. */
bool segment_list_begin(struct slice payload, struct cursor *list);
/* Take the next entry; false: there is none, or (@list->bad) what follows is
 * none. */
bool segment_list_next(struct cursor *list, uint64_t *number, uint64_t *bytes);

/* Are all segments there of the log in @dir, which was taken from its writer?
 * Takes the segments from the newest down to the first with a whole list.
 * Errors: ERR_CORRUPT (which one is missing). */
MUST_CHECK int
segment_list_check(struct fs *fs, const char *dir, struct err *err);
/* The same, and has segment @name, which was taken and has @bytes, all that it
 * had once? @announced: the highest number that it announces. */
MUST_CHECK int segment_list_check_one(struct fs *fs,
                                      const char *dir,
                                      const char *name,
                                      uint64_t bytes,
                                      uint64_t announced,
                                      struct err *err);
/* Says in @err what to do about a loss. Returns ERR_CORRUPT. */
MUST_CHECK int segment_list_refuse(struct err *err);

#endif /* BIGTABLE_LOG_SEGMENT_LIST_H */
