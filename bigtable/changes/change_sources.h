/* Where the changes of a tablet are at one moment: its change files, the tables
 * that flushes wrote, and memtables. All stay while this is open.
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_SOURCES_H
#define BIGTABLE_CHANGES_CHANGE_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/lsm/change_marks.h"
#include "bigtable/tablet/tablet.h"

struct change_file;
struct sstable_file;

/* A file that holds changes: one of the two pointers. */
struct change_source_file {
    struct change_file *kept;   /* Borrowed from the sources. */
    struct sstable_file *table; /* Of the snapshot, or opened from `kept` and
                                   then referenced. NULL: not opened yet. */
    size_t group;               /* Index in the snapshot. */
    struct change_extent extent;
    struct slice first_key; /* Borrowed. */
    struct slice last_key;
};

struct change_sources {
    struct tablet_snapshot snapshot;
    struct change_file **kept; /* References; owned array. */
    size_t kept_count;
    struct change_source_file *files; /* Each once; owned. */
    size_t file_count;
    uint64_t floor;
    int64_t floor_us;
};

void change_sources_open(struct tablet *t, struct change_sources *s);
void change_sources_close(struct change_sources *s); /* Parks. */
/* Open @f unless it is open. Parks. */
MUST_CHECK int change_source_open(struct change_sources *s,
                                  struct change_source_file *f,
                                  struct err *err);
/* The marks of @f, which is opened for it; @out is empty. Parks. */
MUST_CHECK int change_source_marks(struct change_sources *s,
                                   struct change_source_file *f,
                                   struct change_marks *out,
                                   struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_SOURCES_H */
