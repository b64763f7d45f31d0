/* State of a tablet of a table that keeps its changes, beside memtables and
 * tables: the commit that is being inserted, and the change files,
 * which compactions have replaced as tables and which are kept until they are
 * too old or too many (docs/changes.md).
 *
 * Beside these are files of the past, which have an extent with end_sequence 0,
 * first_us the floor when the compaction began that wrote them, last_us that
 * time: what it took out of its group though it could be seen then, or at a
 * time behind the floor. With the tables and the entries behind the floor, a
 * file of the past makes the state of any time from the floor on to last_us
 * (changes/change_as_of.h).
 *
 * Changes of a tablet are read from its change files, from those of its tables
 * that flushes wrote, and from its memtables: each entry behind the floor is in
 * one of these (bigtable/changes/).
 *
 * Threads: the commit is the inserter's (tablet.h). The files, any; a reader
 * refers to those it reads.
 *
 * Invariants
 *     INV-1  The floor never falls. Every entry numbered above it is in a
 *            change file, in a table of a flush, or in a memtable that has an
 *            order. (tablet_changes_apply)
 *     INV-2  Sequence numbers of a tablet's commits only rise, over restarts,
 *            splits, moves and recoveries, and so do their times.
 *            (tablet_changes_begin_commit)
 *     INV-3  An entry that could be seen at a time T, from floor_us on, is in
 *            INV-1's sources, in a table, or in a file of the past whose
 *            last_us is above T; so is, or in a table, each deletion that hides
 *            an entry of those at T. (gc_filter.c)
 */
#ifndef BIGTABLE_TABLET_TABLET_CHANGES_H
#define BIGTABLE_TABLET_TABLET_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/lsm/lsm.h"

struct schema;
struct tablet_env;

/* A change file as the registry has it. */
struct change_file_info {
    uint32_t group; /* Id of its locality group. */
    struct lsm_change_file file;
};

/* The state that the registry keeps of a tablet's changes. */
struct changes_record {
    bool on;
    uint64_t floor;   /* Changes up to this number are not to be had, */
    int64_t floor_us; /* nor, perhaps, those up to this time. */
    struct change_file_info *files; /* Owned, and so are their keys. */
    size_t file_count;
};

/* One of them that is in use. */
struct change_file {
    atomic_uint references;
    struct tablet_env *env; /* Borrowed. */
    struct change_file_info info;
};

struct tablet_changes {
    struct tablet_env *env; /* Borrowed. */
    atomic_bool on;
    atomic_ullong keep_us; /* As the schema says. */
    atomic_ullong keep_bytes;
    /* The inserter's: the commit, and what it knows of the row. */
    uint64_t commit_sequence;
    int64_t commit_us;
    bool commit_again; /* The one before it was to the same row. */
    bool is_loose;     /* Recovery: commits come in no order. */
    size_t row_bytes;
    uint64_t row_tail;
    struct mutex edit_lock; /* Over the planning, the commit and the applying of
                               an edit. */
    struct mutex lock;      /* Of the rest. */
    uint64_t floor;
    int64_t floor_us;
    struct change_file **files; /* References; no order. */
    size_t file_count;
    uint64_t bytes; /* Of the files. */
    /* All commits at or before pending_us are numbered up to pending_sequence;
     * 0: nothing is known. Those up to reached_us are visible. */
    uint64_t pending_sequence;
    int64_t pending_us;
    int64_t reached_us;
};

/* The keys of the file are copied. */
void change_file_info_copy(const struct change_file_info *from,
                           struct change_file_info *to);
void change_file_info_close(struct change_file_info *f);
void changes_record_close(struct changes_record *r);

/* Over the files of @r (NULL: none), which are not opened. Owned. @env is
 * borrowed. */
struct tablet_changes *tablet_changes_new(struct tablet_env *env,
                                          const struct changes_record *r);
/* Releases the files. Parks. NULL is allowed. */
void tablet_changes_free(struct tablet_changes *c);
/* Keep them as @schema says. */
void tablet_changes_configure(struct tablet_changes *c,
                              const struct schema *schema);

/* A commit to @row begins whose entries are numbered from @sequence on. PRE:
 * changes are on; @sequence is above those before. */
void tablet_changes_begin_commit(struct tablet_changes *c,
                                 struct slice row,
                                 uint64_t sequence,
                                 int64_t us);

/* Between the two, commits come in no order: it is recovered. PRE: nobody reads
 * it. */
struct tablet;
void tablet_changes_begin_loose(struct tablet_changes *c);
void tablet_changes_end_loose(struct tablet *t);

/* A change of the files: those that a compaction leaves, and those that are
 * given up. */
struct changes_edit {
    struct change_file_info *added; /* Borrowed keys. */
    size_t added_count;
    uint64_t *removed; /* Numbers. */
    size_t removed_count;
    uint64_t floor;
    int64_t floor_us;
};

/* PRE of the next four: edit_lock is held, or nobody else has the tablet. */

/* Plan the fate of the @count files that group @group retires at @now_us (also
 * as files of the past that it leaves), and of those that are too old or too
 * many; close it in any case. False: nothing. */
bool tablet_changes_plan(struct tablet_changes *c,
                         uint32_t group,
                         const struct lsm_change_file *retired,
                         size_t count,
                         int64_t now_us,
                         struct changes_edit *out);
void changes_edit_close(struct changes_edit *e);
/* Put @e in force, once it is durable. Parks. */
void tablet_changes_apply(struct tablet_changes *c,
                          const struct changes_edit *e);

/* Is it a file of the past? */
static inline bool change_file_is_past(const struct change_file_info *f)
{
    return f->file.extent.end_sequence == 0;
}

/* State for a compaction of a group that begins now. */
struct changes_past {
    bool on;
    uint64_t floor;
    int64_t floor_us;
    uint64_t guard; /* Files of the past may hold entries that only a deletion
                       above this number hides. */
};

void tablet_changes_past(struct tablet_changes *c,
                         uint32_t group,
                         struct changes_past *out);

/* Begin behind @sequence and @us, without files; or end. Once it is durable.
 * Parks. */
void tablet_changes_reset(struct tablet_changes *c,
                          bool on,
                          uint64_t sequence,
                          int64_t us);

/* Of its files, the tables that are in use not counted. Any thread. */
uint64_t tablet_changes_bytes(struct tablet_changes *c);
/* Up to how many bytes they are kept; 0: without a bound. Any thread. */
uint64_t tablet_changes_bytes_max(const struct tablet_changes *c);

/* All files, each with one more reference, in an owned array; *@floor and
 * *@floor_us as they are then. */
struct change_file **tablet_changes_files(struct tablet_changes *c,
                                          size_t *count,
                                          uint64_t *floor,
                                          int64_t *floor_us);
/* Open it as a table that was one of @l: *@out is a reference. Parks. */
MUST_CHECK int change_file_open(struct change_file *f,
                                struct lsm *l,
                                struct sstable_file **out,
                                struct err *err);
/* The last one releases the file. Parks. */
void change_file_unref(struct change_file *f);

#endif /* BIGTABLE_TABLET_TABLET_CHANGES_H */
