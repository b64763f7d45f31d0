/* One locality group of one tablet: memtables above tables, merged on read.
 *
 * Entries are (cell key, value) as row/cell_key.h encodes them: keys are unique
 * because each carries its sequence number, and memcmp is their order. This
 * module knows order, durability of files, and when to rewrite them. The
 * meaning of an entry (deletion, version limits, age) is the caller's: its
 * lsm_filter decides what a compaction keeps.
 *
 * Life of an entry: lsm_insert -> memtable -> frozen memtable -> (minor
 * compaction) table -> (merging, major compactions) larger tables.
 *
 * Threads
 *     Writers (insert, freeze) are ordered by the caller, one at a time.
 *     Readers are any thread, at any time: a snapshot pins one state. Flushes
 *     and compactions run on the caller's background tasks; at most one flush
 *     and one compaction at a time per lsm, and both beside reads and writes.
 *
 * Invariants
 *     INV-1  A table is removed from disk only when no snapshot and no state
 *            that the owner committed refers to it. (sstable_file_unref; the
 *            owner deletes the file, see `unlink`)
 *     INV-2  Entries of newer sources never have lower sequence numbers than
 *            entries with the same row+column+timestamp in older ones.
 *            (choose_flush_run, choose_compaction)
 *     INV-3  A memtable is frozen once, takes no entry afterwards, and of two
 *            frozen ones the newer has the higher sequence. (lsm_freeze,
 *            memtable_insert, state_new)
 *     INV-4  Tables of one run are disjoint and sorted; runs are sorted by
 *            descending number. (version_new)
 *     INV-5  At most one compaction runs, and the runs [busy_run_min,
 *            busy_run_max] it reads take no new tables. (compact_once,
 *            place_flushed)
 */
#ifndef BIGTABLE_LSM_LSM_H
#define BIGTABLE_LSM_LSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/row/schema.h"         /* struct group_options */
#include "bigtable/sstable/properties.h" /* struct change_extent */

struct block_cache;
struct buf;
struct explain_tablet;
struct sstable_file;
struct fs;
struct lsm;
struct lsm_iter;
struct lsm_snapshot;
struct skip_batch;

/* One SSTable of the group, as the owner's manifest stores it. */
struct lsm_table {
    uint64_t number;        /* File DIR/<number>.sst; unique in the store. */
    uint64_t bytes;         /* File size. */
    uint64_t entry_count;   /* Entries in the whole file. */
    uint64_t sequence_min;  /* Lowest and highest sequence numbers inside. A */
    uint64_t sequence_max;  /* file whose entries are all numbered 0, loaded in
                               bulk, has both the same: it counts for all. */
    uint32_t run;           /* Tables of one run do not overlap. Newer runs
                               have higher numbers. */
    struct slice first_key; /* Bounds of its keys, both inclusive. */
    struct slice last_key;
};

/* A table that holds changes of its tablet: it is of a flush that dropped
 * nothing. */
struct lsm_change_file {
    struct lsm_table table;
    struct change_extent extent;
};

/* A change of the set of tables: applied all or not at all. */
struct lsm_edit {
    const struct lsm_table *added;
    size_t added_count;
    const uint64_t *removed; /* Numbers. */
    size_t removed_count;
    const struct lsm_change_file *retired; /* Of those removed, the ones that */
    size_t retired_count;                  /* hold changes. */
    const struct lsm_change_file
        *past;                 /* Holds what a compaction took out of */
    size_t past_count;         /* the group and the past needs: the
                                  owner holds them, or they go. */
    uint64_t flushed_sequence; /* After a flush: everything at or below it is
                                  in tables; else 0. */
};

/* Decides what a compaction keeps. Entries come in key order. */
struct lsm_filter {
    void *ctx;
    /* Called before the first entry. @to_bottom: no older entry exists below
     * the inputs, so that tombstones have nothing left to hide. */
    void (*begin)(void *ctx, bool to_bottom);
    bool (*keep)(void *ctx, struct slice key, struct slice value);
    /* Called behind the last entry, before the output ends. NULL: nothing. */
    void (*finish)(void *ctx);
    void (*end)(void *ctx);
    /* Set for it before begin(): puts an entry of the filter's own where it is,
     * before the one that keep() is about, if there is one. Keys ascend. An
     * error of it ends the compaction. */
    void (*put)(void *job, struct slice key, struct slice value);
    void *job;
    /* Asked of each entry after keep(), whose answer @kept is: must it be
     * written to a file of the past? NULL: none is. */
    bool (*past)(void *ctx, struct slice key, struct slice value, bool kept);
    struct change_extent past_extent; /* Of those files. */
};

struct lsm_hooks {
    void *ctx;
    /* A fresh file number, never used before in this store. Any thread. */
    uint64_t (*new_number)(void *ctx);
    /* An edit names @number now, or none ever will: a sweep for strays may
     * judge it. NULL: not called. */
    void (*decided)(void *ctx, uint64_t number);
    /* Make @edit durable. Parks. On error the lsm keeps its old state and the
     * new files are removed, unless commits_are_shared. */
    int (*commit)(void *ctx,
                  struct lsm *lsm,
                  const struct lsm_edit *edit,
                  struct err *err);
    /* After the commit of a flush: entries at or below @sequence are now in
     * tables that readers and compactions see, and no longer in memtables.
     * NULL: not called. */
    void (*flushed)(void *ctx, uint64_t sequence);
    /* The last reference inside the process to table @number went away after an
     * edit removed it: delete the file if no other tablet shares it. */
    void (*unlink)(void *ctx, uint64_t number);
    /* A filter for one compaction over this group; freed with free_filter. NULL
     * keeps everything. */
    struct lsm_filter *(*new_filter)(void *ctx, struct lsm *lsm);
    void (*free_filter)(void *ctx, struct lsm_filter *f);
};

struct lsm_options {
    struct fs *fs;              /* Borrowed. */
    const char *dir;            /* Of its tables; copied. */
    struct block_cache *cache;  /* Borrowed. */
    struct group_options group; /* Compression, block size, Bloom, memory. */
    struct lsm_hooks hooks;     /* Copied. */
    struct slice lower;         /* Bounds on row keys (encoded): entries of */
    struct slice upper;         /* shared tables outside are not seen. Copied.
                                   An empty upper is no bound. */
    bool keeps_changes;         /* See lsm_keep_changes(). */
    uint64_t compaction_bytes_per_s; /* Rate limit; 0 for none. */
    /* A commit that failed may have been made, and another server may rely on
     * it: its SSTables stay, and the owner of the directory sweeps them. */
    bool commits_are_shared;
};

/* --- life ---------------------------------------------------------------- */

/* Open over @tables (copied), and open their files. Parks. Errors: those of the
 * files; ERR_CORRUPT when a file is not the one described, or tables of a run
 * overlap. */
MUST_CHECK int lsm_open(const struct lsm_options *opts,
                        const struct lsm_table *tables,
                        size_t table_count,
                        struct lsm **out,
                        struct err *err);
/* PRE: no snapshot, no flush or compaction running. Memtables are dropped. */
void lsm_close(struct lsm *l);

/* Use @options for the SSTables that flushes and compactions begin from now on.
 * Any thread. */
void lsm_set_options(struct lsm *l, const struct group_options *options);

/* From now on memtables keep the order in which entries come, and what is
 * flushed of these loses nothing: no deletion, no version; or no more. PRE: the
 * active memtable is empty, and nobody inserts. Any other thread. */
void lsm_keep_changes(struct lsm *l, bool keep);
/* Open a table that held changes of @l and is none of its tables any more.
 * *@out is one reference: sstable_file_unref() of version.h. Parks. */
MUST_CHECK int lsm_open_change_file(struct lsm *l,
                                    const struct lsm_table *table,
                                    struct sstable_file **out,
                                    struct err *err);

/* --- writing ------------------------------------------------------------- */

/* Of a group that keeps its changes: the entries that are inserted next are of
 * the commit whose first entry, in whatever group, has number @sequence, at
 * @us. @again: the commit before it was to the same row. */
void lsm_note_commit(struct lsm *l, uint64_t sequence, int64_t us, bool again);

/* The same while the group is recovered, when commits come in no order; and the
 * end of that. PRE of both: nobody reads @l. */
void lsm_note_loose_commit(struct lsm *l, uint64_t sequence, int64_t us);
void lsm_sort_changes(struct lsm *l);

/* Put one entry into the memtable; both are copied. Never waits. */
void lsm_insert(struct lsm *l, struct slice key, struct slice value);

/* The same as part of batch @b (skip_batch.h): readers see the entry when the
 * batch ends. PRE: the memtable is not frozen before that. */
void lsm_insert_with(struct lsm *l,
                     struct skip_batch *b,
                     struct slice key,
                     struct slice value);

/* Bytes of entries in the active memtable, by which it is frozen. Any thread.
 */
size_t lsm_active_bytes(const struct lsm *l);
/* Memory that the active and the frozen memtables hold, by which a store keeps
 * its budget. Any thread. */
size_t lsm_active_memory(const struct lsm *l);
size_t lsm_frozen_memory(const struct lsm *l);

/* Make the active memtable immutable and start another. @sequence: every entry
 * in it has at most this number. No-op on an empty memtable. */
void lsm_freeze(struct lsm *l, uint64_t sequence);

/* Write the frozen memtables (all of them, oldest first) to one table: a minor
 * compaction. Parks. No-op when there are none. Waits for a flush that is
 * running. */
MUST_CHECK int lsm_flush(struct lsm *l, struct err *err);

/* --- compaction ---------------------------------------------------------- */

/* The bytes that the most useful merging compaction would read; 0: none is
 * worth running. */
uint64_t lsm_compaction_debt(const struct lsm *l);
/* Run the most useful compaction; *@did is false if there was none. Parks.
 * Stops with ERR_CANCELLED within milliseconds of lsm_cancel(). */
MUST_CHECK int lsm_compact(struct lsm *l, bool *did, struct err *err);
/* Merge everything into one run, dropping what is deleted or expired. Waits for
 * a compaction that is running. Parks. */
MUST_CHECK int lsm_compact_major(struct lsm *l, struct err *err);
/* Make running and later flushes and compactions fail with ERR_CANCELLED. */
void lsm_cancel(struct lsm *l);

struct lsm_stats {
    size_t table_count;
    size_t run_count;
    uint64_t table_bytes;
    uint64_t entry_count;
    size_t memtable_bytes;    /* Memory that they hold. */
    uint64_t flushed_bytes;   /* Since open: written by minor compactions, */
    uint64_t compacted_bytes; /* and by merging and major ones. */
};

void lsm_stats(const struct lsm *l, struct lsm_stats *out);
/* Row keys (encoded, as in lower/upper) that cut the group into about @parts
 * equal pieces: appended to @keys as length-prefixed slices. From the tables'
 * indexes. Parks. */
MUST_CHECK int lsm_split_points(struct lsm *l,
                                size_t parts,
                                struct buf *keys,
                                size_t *count,
                                struct err *err);

/* Stored bytes of the blocks whose rows are the group's: of a table that
 * another group shares, those between its bounds. From the tables' indexes.
 * Parks. */
MUST_CHECK int
lsm_bytes_in_range(struct lsm *l, uint64_t *bytes, struct err *err);

/* --- reading ------------------------------------------------------------- */

/* Pin the present state, until lsm_snapshot_free(). Any thread; never waits. */
struct lsm_snapshot *lsm_snapshot_new(struct lsm *l);
/* May free memtables and close files that nothing else needs. Any thread. */
void lsm_snapshot_free(struct lsm_snapshot *s);

/* Outcome of lsm_get_newest(). */
enum lsm_found {
    LSM_ABSENT,  /* The column has no cell. */
    LSM_FOUND,   /* Its newest cell, which nothing deletes. */
    LSM_COMPLEX, /* Deletions are involved: read with an iterator. */
};

/* The newest cell of one column, the cheapest read there is: Bloom filters
 * first, then at most one block a run; allocates nothing. @row and @column are
 * encoded (cell_key_append_row, cell_key_append_column), @column_hash is
 * hash64_slice() of the latter; entries numbered above @sequence_max are not
 * seen. With LSM_FOUND the value is appended to @value and *@timestamp_us set.
 * Age and version rules are the caller's. Parks. */
MUST_CHECK int lsm_get_newest(struct lsm_snapshot *s,
                              struct slice row,
                              struct slice column,
                              uint64_t column_hash,
                              uint64_t sequence_max,
                              enum lsm_found *found,
                              struct buf *value,
                              int64_t *timestamp_us,
                              struct err *err);

struct lsm_read_options {
    uint64_t sequence_max;     /* Entries with a higher number are not seen. */
    struct slice probe_row;    /* If not empty: only this encoded row is wanted;
                                  tables whose Bloom filter rules it out are not
                                  opened for it. */
    struct slice probe_column; /* With probe_row: only this encoded column. */
    int64_t time_min_us;       /* Tables without timestamps in [min, max) may */
    int64_t time_max_us;       /* be skipped unless they hold tombstones; equal
                                  values: no bound. */
    bool scan;                 /* Read ahead, and keep the blocks out of the
                                  cache's hot part. */
    struct explain_tablet *explain; /* Borrowed by the iterator: what is read
                                       is counted; NULL: nothing is. After
                                       lsm_explain_files(). */
};

/* Add the files of @s, group @group of a tablet, to @explain. If the group is
 * not wanted, none is going to be opened; else those are not in whose key range
 * no row is wanted, as wanted(ctx, first key, last key) says. */
typedef bool (*lsm_wanted_fn)(void *ctx, struct slice first, struct slice last);
void lsm_explain_files(const struct lsm_snapshot *s,
                       struct explain_tablet *explain,
                       uint32_t group,
                       bool group_is_wanted,
                       lsm_wanted_fn wanted,
                       void *ctx);

/* A merging iterator over @s, at no entry yet. It holds its own reference. */
MUST_CHECK int lsm_iter_new(struct lsm_snapshot *s,
                            const struct lsm_read_options *opts,
                            struct lsm_iter **out,
                            struct err *err);
void lsm_iter_free(struct lsm_iter *it); /* NULL is allowed. */
/* Go to the first entry at or after @key. Parks. ERR_CORRUPT names the file,
 * the offset and the reason. */
MUST_CHECK int
lsm_iter_seek(struct lsm_iter *it, struct slice key, struct err *err);
MUST_CHECK int lsm_iter_next(struct lsm_iter *it, struct err *err); /* Parks. */
/* False at the end. Never waits. */
bool lsm_iter_valid(const struct lsm_iter *it);
/* All of the entry at once: false at the end. @key and @value are borrowed
 * until the iterator moves. If the entry *@stays, lsm_iter_next() leaves its
 * value, and those of entries before it that stayed, where they are; a seek
 * does not.
 */
bool lsm_iter_entry(const struct lsm_iter *it,
                    struct slice *key,
                    struct slice *value,
                    bool *stays);
/* Borrowed until the iterator moves. */
struct slice lsm_iter_key(const struct lsm_iter *it);
struct slice lsm_iter_value(const struct lsm_iter *it);

#endif /* BIGTABLE_LSM_LSM_H */
