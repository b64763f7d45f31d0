/* The orders of the job master to an attempt, and the report of the attempt:
 * plain data with an encoding, so that the two need not share memory.
 *
 * Invariants, kept by the decoders:
 *
 *     INV-1. Indexes (spill.place, segment.file) are inside their lists.
 *     INV-2. segment.offset + segment.bytes does not overflow.
 *
 * Any thread, one at a time. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_TASK_SPEC_H
#define MAPREDUCE_TASK_TASK_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/crypt/keyring.h" /* struct key_loan */
#include "mapreduce/records/damage.h"
#include "mapreduce/task/input_split.h"
#include "mapreduce/task/task_counters.h"

enum task_kind {
    TASK_SAMPLE, /* Run map over the beginnings of the splits, keep keys. */
    TASK_MAP,    /* One split into a spill, or into outputs if map-only. */
    TASK_REDUCE, /* One partition of all spills into outputs. */
    TASK_WHOLE,  /* A job of one split and one partition: both at once. */
};

/* The winning attempt of a map task, whose spill a reduce task reads. */
struct task_spill {
    uint32_t task;
    uint32_t attempt;
    uint32_t place; /* Of task_spec.places; not used on one machine. */
};

/* A piece of a file of sorted pairs: a worker makes them of the spills before
 * it starts a reduce attempt. */
struct task_segment {
    uint32_t file; /* Of task_spec.files. */
    uint64_t offset;
    uint64_t bytes; /* 0: the whole partition in the file, which is a spill. */
    uint64_t pairs;
};

struct task_spec {
    enum task_kind kind;
    uint32_t index;
    uint32_t attempt; /* From 1. */
    uint32_t partition_count;
    struct input_splits splits;
    struct slice *cuts; /* Total order; owned, bytes in cut_bytes. */
    size_t cut_count;
    struct buf cut_bytes;
    struct task_spill *spills; /* Owned. */
    size_t spill_count;
    char **places; /* Where spills are: attempt_host.place(). Owned. */
    size_t place_count;
    bool resolved; /* Read the segments, in their order, and no spills. */
    struct task_segment *segments; /* Owned. */
    size_t segment_count;
    char **files; /* Paths. Owned. */
    size_t file_count;
    uint64_t *skips; /* Numbers of records or groups to skip. Owned. */
    size_t skip_count;
    uint64_t *group_skips; /* Groups to skip in a whole task. Owned. */
    size_t group_skip_count;
    /* Per output: the key for what is written for its table. Owned; none where
     * nothing is encrypted. */
    struct key_loan *loans;
    size_t loan_count;
};

/* Empty. task_spec_close() frees all lists and names that it owns. */
void task_spec_init(struct task_spec *s);
void task_spec_close(struct task_spec *s);
/* Append @s to @out, with a checksum that task_spec_decode() checks. */
void task_spec_encode(const struct task_spec *s, struct buf *out);
/* Read what task_spec_encode() wrote. ERR_CORRUPT. Close it in any case. */
MUST_CHECK int
task_spec_decode(struct task_spec *s, struct slice bytes, struct err *err);

/* "m00003.1": names the attempt's files. */
void task_spec_prefix(const struct task_spec *s, struct buf *out);
/* "map task 3", for messages. */
void task_kind_describe(enum task_kind kind, uint32_t index, struct buf *out);

/* Spills that a worker is to bring together while maps still run, for reduce
 * tasks that are likely to start there. Each adds to those it got before. */
struct task_pull {
    bool over;            /* No map runs any more: this is the last. */
    uint32_t *partitions; /* More of them: of all spills. Owned. */
    size_t partition_count;
    struct task_spill *spills; /* More of them: for all partitions. Owned. */
    size_t spill_count;
    char **places; /* Where they are. Owned. */
    size_t place_count;
};

/* Free its places. */
void task_pull_close(struct task_pull *p);
/* Append @p to @out; task_pull_decode() reads it. */
void task_pull_encode(const struct task_pull *p, struct buf *out);
/* Read what task_pull_encode() wrote. ERR_CORRUPT. Close it in any case. */
MUST_CHECK int
task_pull_decode(struct task_pull *p, struct slice bytes, struct err *err);

/* Path of the spill of attempt @attempt of map task @task. */
void task_spill_path(struct buf *out,
                     const char *work_dir,
                     uint32_t task,
                     uint32_t attempt);

struct task_report {
    int code; /* 0, or what the attempt failed with. */
    struct err err;
    bool spilled;        /* A map task left a spill, */
    char *place;         /* and where, on a cell; else NULL. Owned. */
    uint32_t bad_source; /* Spill or segment of the spec, from 1, that a reduce
                            task failed to read; 0: none. */
    struct counters counters;
    struct buf sides;     /* output_set_encode_sides(). */
    struct buf sample;    /* Keys, as lslices. */
    struct damage damage; /* Of its splits. */
};

/* Empty. task_report_close() frees its counters and damage. */
void task_report_init(struct task_report *r);
void task_report_close(struct task_report *r);
/* Append @r to @out. */
void task_report_encode(const struct task_report *r, struct buf *out);
/* Read what task_report_encode() wrote. ERR_CORRUPT. Close it in any case. */
MUST_CHECK int
task_report_decode(struct task_report *r, struct slice bytes, struct err *err);

#endif /* MAPREDUCE_TASK_TASK_SPEC_H */
