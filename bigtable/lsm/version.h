/* The tables of a group, as one immutable set, and the state a reader pins: a
 * set of tables and the memtables above it.
 *
 * A run is a sequence of tables that do not overlap, sorted by key; runs are
 * ordered by age, newest first. Changing anything makes a new version, which
 * shares the SSTables of the old one; a new state is published with one
 * atomic exchange.
 *
 * Threads: everything here is immutable or atomic once published.
 */
#ifndef BIGTABLE_LSM_VERSION_H
#define BIGTABLE_LSM_VERSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bigtable/lsm/lsm.h"

struct memtable;
struct sstable_reader;

/* An open SSTable. */
struct sstable_file {
    atomic_uint refs;
    atomic_bool removed;   /* By an edit: unlink when the last user goes. */
    struct lsm_table info; /* Its keys are owned. `run` may change. */
    /* Entries of a file that was loaded in bulk are all numbered 0 and count as
     * if they had this number. 0: the entries have numbers of their own. */
    uint64_t given_sequence;
    struct sstable_reader *reader;
    struct lsm_hooks hooks;
};

/* Takes over the reference to @reader. One reference, owned. */
struct sstable_file *sstable_file_new(const struct lsm_table *info,
                                      struct sstable_reader *reader,
                                      const struct lsm_hooks *hooks);
/* One more reference. Returns @f. */
struct sstable_file *sstable_file_ref(struct sstable_file *f);
/* The last one closes the file and, if an edit removed it, calls `unlink`. */
void sstable_file_unref(struct sstable_file *f);

struct run {
    uint32_t number;
    uint32_t table_count;
    struct sstable_file **tables; /* By key; part of the version's memory. */
    bool has_scope_deletions;     /* Deletions of whole rows or families. */
    int64_t time_max_us;          /* Of its cells; INT64_MAX where there are
                                     deletions among them. */
};

struct version {
    atomic_uint refs;
    size_t run_count;
    struct run *runs; /* Newest first. */
    size_t table_count;
    struct sstable_file **tables; /* All, run by run. */
};

/* The version that @files make (references are taken), grouped by info.run. */
struct version *version_new(struct sstable_file *const *files, size_t count);
/* One more reference. Returns @v. */
struct version *version_ref(struct version *v);
/* The last one releases the files. */
void version_unref(struct version *v);

/* Index of the first table of @r whose last key is >= @key, or table_count. */
uint32_t run_find(const struct run *r, struct slice key);

/* The state that a reader pins. */
struct lsm_snapshot {
    _Atomic int64_t refs; /* See state_publish(). */
    struct lsm *lsm;      /* Outlives all its snapshots. */
    struct version *version;
    size_t mem_count;
    struct memtable *mems[]; /* Newest first; [0] is the active one. */
};

/* A state over @version and @mems; references are taken. */
struct lsm_snapshot *state_new(struct lsm *lsm,
                               struct version *version,
                               struct memtable *const *mems,
                               size_t mem_count);

/* The place a state is published at: a pointer and, in its unused upper bits,
 * how often it was pinned there. */
struct state_slot {
    _Atomic uint64_t word;
};

void state_slot_init(struct state_slot *slot, struct lsm_snapshot *s);
/* Release the last state. PRE: no thread pins any more. */
void state_slot_close(struct state_slot *slot);
/* Replace the present state by @s; the old one is freed with its last pin. One
 * publisher at a time. */
void state_publish(struct state_slot *slot, struct lsm_snapshot *s);
/* Pin the present state: one atomic addition. Any thread. */
struct lsm_snapshot *state_pin(struct state_slot *slot);
/* A state of its own, pinned once, with the tables of @s and @more (referenced,
 * and in no other state: their runs are set), whatever their age is: for
 * iterators, not for lsm_get_newest(). */
struct lsm_snapshot *state_with_tables(const struct lsm_snapshot *s,
                                       struct sstable_file *const *more,
                                       size_t count);
/* Pin @s once more; the caller has it pinned already. */
struct lsm_snapshot *state_ref(struct lsm_snapshot *s);
/* The last one, after the state was replaced, frees it. Any thread. */
void state_unpin(struct lsm_snapshot *s);

#endif /* BIGTABLE_LSM_VERSION_H */
