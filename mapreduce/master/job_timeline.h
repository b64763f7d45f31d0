/* The timeline of a job: every attempt from its beginning to its end, and the
 * end of the output of those that failed.
 *
 *     DIR/timeline             crc32c:u32 of the rest, then a list of attempts
 *                              (task/attempt_record.h)
 *     DIR/logs/1-m00003.2      what attempt 2 of map task 3 of part 1 wrote
 *
 * It is bounded: ATTEMPT_RECORDS_MAX attempts, ATTEMPT_ERRORS_MAX texts of
 * errors, TIMELINE_LOGS_MAX outputs of TIMELINE_LOG_BYTES_MAX each. Attempts
 * beyond that are counted. The file is written every TIMELINE_SAVE_US while the
 * job runs, for the process that may resume it, and at the end.
 *
 * Invariants (job_timeline.c keeps them)
 *     INV-1. An attempt ends once; the begun ones that have not ended are
 *            "running".
 *     INV-2. At most TIMELINE_LOGS_MAX attempts have a log.
 *
 * Threads: any; the mutex is not held while files are written.
 */
#ifndef MAPREDUCE_MASTER_JOB_TIMELINE_H
#define MAPREDUCE_MASTER_JOB_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/task/attempt_record.h"

struct job_files;
struct job_timeline;

#define TIMELINE_FILE     "timeline"
#define TIMELINE_LOGS_DIR "logs"
/* The first failures say what began to go wrong, the last ones what ended the
 * job: logs of half as many each are kept. */
#define TIMELINE_LOGS_MAX      20
#define TIMELINE_LOG_BYTES_MAX ((size_t)64 << 10)
#define TIMELINE_SAVE_US       UINT64_C(10000000)
/* Of an attempt that is not remembered. */
#define TIMELINE_NONE SIZE_MAX

/* An empty one for a job with directory @dir. @files is copied, what it points
 * to is borrowed. Owned: job_timeline_free(). */
struct job_timeline *job_timeline_new(const struct job_files *files,
                                      const char *dir);
void job_timeline_free(struct job_timeline *t); /* NULL is allowed. */

/* Read what another process has written: attempts that ran are lost. Without a
 * file it stays empty. PRE: it is empty. Parks. Errors: ERR_CORRUPT and those
 * of files; it is empty then. */
MUST_CHECK int job_timeline_load(struct job_timeline *t, struct err *err);

/* A run of a job begins, which continues the last part or is the next. Returns
 * the number of the part. */
uint32_t job_timeline_begin_part(struct job_timeline *t, bool resumed);

/* An attempt begins now, on @worker (NULL: on no machine worth a name). @a has
 * its part, kind, task, attempt and backup. Returns what the calls below name
 * it by. */
size_t job_timeline_begin(struct job_timeline *t,
                          const struct attempt_record *a,
                          const char *worker);

/* How far an attempt is. */
struct attempt_progress {
    size_t index; /* Of job_timeline_begin(). */
    uint64_t records;
    uint64_t bytes;
    uint64_t total;
};

void job_timeline_progress(struct job_timeline *t,
                           const struct attempt_progress *at,
                           size_t count);

struct attempt_ending {
    enum attempt_end state;
    uint64_t records;
    uint64_t bytes;
    struct slice error; /* Its beginning is kept. */
    struct slice log;   /* Its end is kept, of one that failed. */
};

/* Attempt @index has ended. A log that cannot be written is not there. Parks,
 * if there is a log. */
void job_timeline_end(struct job_timeline *t,
                      size_t index,
                      const struct attempt_ending *e);

/* Write the file if it is time to, or @now, and anything has changed; best
 * effort. Parks. */
void job_timeline_save(struct job_timeline *t, bool now);

/* Append the list of attempts, as attempt_list_get() reads it. */
void job_timeline_encode(struct job_timeline *t, struct buf *out);

/* The same of a job with directory @dir, from its file. Parks. Errors:
 * ERR_NOTFOUND: it has none (an older program ran it); ERR_CORRUPT. */
MUST_CHECK int job_timeline_read(const struct job_files *files,
                                 const char *dir,
                                 struct buf *out,
                                 struct err *err);

/* The log of an attempt of a job with directory @dir, appended to @out. Parks.
 * ERR_NOTFOUND: there is none. */
MUST_CHECK int job_timeline_read_log(const struct job_files *files,
                                     const char *dir,
                                     const struct attempt_record *a,
                                     struct buf *out,
                                     struct err *err);

#endif /* MAPREDUCE_MASTER_JOB_TIMELINE_H */
