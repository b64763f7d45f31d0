/* The tables a flush or a compaction writes: sorted entries go in, files of a
 * bounded size come out, one run.
 *
 * Threads: one task.
 */
#ifndef BIGTABLE_LSM_MERGE_OUTPUT_H
#define BIGTABLE_LSM_MERGE_OUTPUT_H

#include "bigtable/lsm/group.h"

/* A table is cut at the next row from this size on: small enough that a
 * compaction of a part stays a part, large enough that files stay few. */
#define OUTPUT_BYTES_TARGET ((uint64_t)128 << 20)

struct sstable_writer;

struct output {
    struct lsm *lsm;
    uint64_t expected_bytes;
    const struct change_extent *changes; /* Its tables hold changes, with */
    struct slice marks;                  /* these marks. Borrowed; NULL: no. */
    bool hurried; /* Its tables do not last, see sstable_writer_hurry(). */
    bool lasts;   /* They do, see sstable_writer_refer(). */
    struct sstable_writer *writer; /* NULL between tables. */
    uint64_t number; /* Of the table being written; 0 between tables. */
    struct buf row;  /* Of the last key, near the cut. */
    struct sstable_file **files; /* Finished; owned with one reference each. */
    size_t file_count;           /* INV-1: disjoint and in order of keys. */
    uint64_t bytes;              /* Of the finished files. */
};

/* @l is borrowed. @expected_bytes is an estimate of the whole output. */
void output_init(struct output *o, struct lsm *l, uint64_t expected_bytes);

/* Add an entry. Keys ascend. Parks. */
MUST_CHECK int output_add(struct output *o,
                          struct slice key,
                          struct slice value,
                          struct err *err);
/* The table being written does not last, see sstable_writer_hurry(). */
void output_hurry(struct output *o);
/* Finish the last table. Parks. */
MUST_CHECK int output_finish(struct output *o, struct err *err);
/* Drop what is left: an unfinished table is removed; with @keep false, the
 * finished ones as well. Parks. */
void output_close(struct output *o, bool keep);

#endif /* BIGTABLE_LSM_MERGE_OUTPUT_H */
