/* The inside of a group (struct lsm), for the files of this directory: its
 * locks and their order, and how a change of its tables becomes durable and
 * visible.
 */
#ifndef BIGTABLE_LSM_GROUP_H
#define BIGTABLE_LSM_GROUP_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/lsm/version.h"

struct memtable;

struct lsm {
    struct lsm_options options; /* dir, lower and upper are owned copies. */
    struct buf lower;
    struct buf upper;
    char *dir;
    struct state_slot slot;  /* The present state. */
    struct memtable *active; /* state->mems[0], for the writer. */
    /* Publishers (freeze, flush, compaction) are on different threads and take
     * turns here, for a few lines: a freeze must not wait for a disk. */
    struct mutex publish_mutex; /* Of options.group, too. */
    /* Flush and compaction commit their edits one after the other; held over
     * hooks.commit. Taken before publish_mutex. */
    struct mutex edit_mutex;
    /* Flushes take turns, and so do compactions: each is held for the whole of
     * one, and taken before the others. */
    struct mutex flush_mutex;
    struct mutex compaction_mutex;
    atomic_bool cancelled;
    uint32_t busy_run_min;       /* Runs under compaction: [min, max], under */
    uint32_t busy_run_max;       /* edit_mutex; min > max when there is none. */
    atomic_size_t active_bytes;  /* Of entries, */
    atomic_size_t active_memory; /* and what they and the unused parts hold. */
    atomic_size_t frozen_memory;
    atomic_uint table_changes; /* Of tables, or of what compactions are for. */
    atomic_ullong debt;        /* lsm_compaction_debt(), and at which change. */
    atomic_ullong flushed_bytes;
    atomic_ullong compacted_bytes;
};

/* The present options, for a file that is begun now. */
struct group_options lsm__group_options(const struct lsm *l);

/* Name of the file of table @number, below the file system's root. */
void lsm__table_path(const struct lsm *l, uint64_t number, struct buf *out);

/* Open the file of @info; *@out is one reference. Parks. Errors: those of the
 * file; ERR_CORRUPT when it is not the one that @info describes. */
MUST_CHECK int lsm__open_table(struct lsm *l,
                               const struct lsm_table *info,
                               struct sstable_file **out,
                               struct err *err);

/* A change of the tables by a flush or a compaction. */
struct lsm_change {
    struct sstable_file **added; /* Written and open; each holds a reference. */
    size_t added_count;
    struct sstable_file *const *removed;
    size_t removed_count;
    struct sstable_file **past; /* Of the past; written and open, */
    size_t past_count;          /* none of the group's tables. */
    struct change_extent past_extent;
    size_t flushed_mems; /* Oldest memtables whose entries are in `added`. */
    uint64_t flushed_sequence;
};

/* Commit and publish @c. PRE: edit_mutex is held. Parks. */
MUST_CHECK int
lsm__apply(struct lsm *l, const struct lsm_change *c, struct err *err);

#endif /* BIGTABLE_LSM_GROUP_H */
