/* A journal read back: the options the job was given, the plan it made, and the
 * tasks it had done, for the process that resumes it.
 *
 * Invariants, kept by replay_read():
 *
 * INV-1. end <= bytes.len.
 * INV-2. plan is set only if planned, cuts only if cut.
 *
 * One thread. Nothing here parks.
 */
#ifndef MAPREDUCE_MASTER_JOB_REPLAY_H
#define MAPREDUCE_MASTER_JOB_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/task/saved_job.h"
#include "mapreduce/task/task_spec.h"

/* A task that was done. */
struct replay_end {
    enum task_kind kind;
    uint32_t task;
    uint32_t attempt;
    struct slice report; /* Of the journal's bytes. */
};

struct replay {
    struct buf bytes; /* The journal. */
    uint64_t end;     /* Of its last whole record. */
    uint64_t length;  /* Of the file up to there. */
    struct saved_job begin;
    bool planned;
    bool cut;
    struct task_spec plan;
    struct task_spec cuts;
    struct replay_end *ends; /* Owned. */
    size_t end_count;
    bool committing;
    unsigned resumes; /* So far. */
};

/* Decode @r->bytes. ERR_CORRUPT: they do not begin as a journal does, or
 * records are out of order. Close @r in any case. */
MUST_CHECK int replay_read(struct replay *r, struct err *err);
void replay_close(struct replay *r);

#endif /* MAPREDUCE_MASTER_JOB_REPLAY_H */
