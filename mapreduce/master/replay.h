/* What a journal says of a job that is to be resumed: the options it was given,
 * the plan it made, and the tasks it had done. One thread.
 */
#ifndef MAPREDUCE_MASTER_REPLAY_H
#define MAPREDUCE_MASTER_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/job.h"
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
    char *job_id;     /* Owned. */
    int64_t job_time_us;
    struct mr_options options; /* With what was saved; its strings are owned. */
    char *job_name;            /* Of a built-in job, or NULL. Owned. */
    bool planned;
    bool cut;
    struct task_spec plan;
    struct task_spec cuts;
    struct replay_end *ends; /* Owned. */
    size_t end_count;
    bool committing;
    unsigned resumes; /* So far. */
};

/* The body of JOURNAL_BEGIN. */
void replay_encode_begin(const struct mr_options *o,
                         const char *job_id,
                         int64_t job_time_us,
                         struct buf *out);

/* The same back: job_id, job_time_us, options and job_name of a zeroed @r. */
MUST_CHECK int
replay_decode_begin(struct replay *r, struct slice body, struct err *err);

/* Take @r->bytes apart. ERR_CORRUPT: they do not begin as a journal does. Close
 * it in any case. */
MUST_CHECK int replay_read(struct replay *r, struct err *err);
void replay_close(struct replay *r);

#endif /* MAPREDUCE_MASTER_REPLAY_H */
