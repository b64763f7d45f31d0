/* The SSTables of a tablet, as the opaque part of its state names them: for the
 * master, which must know which files are garbage and which tablets can be
 * merged, but neither reads nor writes files.
 *
 *     groups = group count, group…                        (manifest_state.h)
 *     group  = id, flushed sequence, file count, file…
 *     file   = number, bytes, entries, sequence min, sequence max, run,
 *              first key:lslice, last key:lslice           (numbers: varints)
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_TABLET_FILES_H
#define BIGTABLE_WIRE_TABLET_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Call fn(ctx, number) for each file of @groups (may be empty). Errors:
 * ERR_CORRUPT. */
MUST_CHECK int tablet_files_each(struct slice groups,
                                 void (*fn)(void *ctx, uint64_t number),
                                 void *ctx,
                                 struct err *err);

/* The same for the change files in @changes (tablet_state.changes; may be
 * empty):
 *
 *     changes     = floor, floor time:zigzag, 0, count, change file…
 *     change file = group id, end sequence, first time:zigzag,
 *                   last time:zigzag, file
 *
 * Errors: ERR_CORRUPT. */
MUST_CHECK int tablet_changes_each(struct slice changes,
                                   void (*fn)(void *ctx, uint64_t number),
                                   void *ctx,
                                   struct err *err);

/* *@inside: all rows in files of @groups are in [@start, @end). Files of a
 * tablet that was split reach beyond it until they are compacted. */
MUST_CHECK int tablet_files_inside(struct slice groups,
                                   struct slice start,
                                   struct slice end,
                                   bool *inside,
                                   struct err *err);

/* Append the groups that have the files of both @a and @b, neighbours whose
 * files are inside of them. Errors: ERR_CORRUPT. */
MUST_CHECK int tablet_files_join(struct slice a,
                                 struct slice b,
                                 struct buf *out,
                                 struct err *err);

/* A file of a tablet, as its state tells it. Keys are borrowed. */
struct tablet_file_entry {
    uint32_t group;
    uint64_t number;
    uint64_t bytes;
    uint64_t entries;
    uint64_t sequence_min;
    uint64_t sequence_max;
    uint64_t run;
    struct slice first_key; /* Encoded, both inclusive. */
    struct slice last_key;
};

/* Append the groups @groups with the files as change(ctx, file) makes them: it
 * may give them another number, and other bytes and counts. Errors:
 * ERR_CORRUPT; that of @change, which ends the walk. */
MUST_CHECK int tablet_files_change(struct slice groups,
                                   int (*change)(void *ctx,
                                                 struct tablet_file_entry *f,
                                                 struct err *err),
                                   void *ctx,
                                   struct buf *out,
                                   struct err *err);

#endif /* BIGTABLE_WIRE_TABLET_FILES_H */
