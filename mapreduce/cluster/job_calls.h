/* The calls between a client and the job master of a cell.
 *
 *     lock service
 *       /mapreduce/master    locked by the job master; contents: its address
 *     file system
 *       /mapreduce/jobs/ID/submitted    struct job_submission
 *                          files/…      its own files, uploaded before
 *                          work/…       journal, changes of tables
 *       /mapreduce/history/ID/job.json  of a job that has ended
 *
 * The client chooses the id and uploads what the job needs below its directory
 * before it submits; a repeated submission, also to another master, is the same
 * job.
 *
 * Bodies are MessagePack arrays; put appends, get borrows from the bytes and
 * fails with ERR_CORRUPT. A process that is not the job master answers
 * ERR_UNAVAILABLE.
 *
 * Threads: any; nothing here parks.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_CALLS_H
#define MAPREDUCE_CLUSTER_JOB_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/job.h"
#include "mapreduce/task/attempt_digest.h"
#include "mapreduce/task/attempt_record.h"

#define JOBS_LOCK_MASTER "/mapreduce/master"
#define JOBS_ROOT        "/mapreduce/jobs"
#define JOBS_HISTORY     "/mapreduce/history"

/* A submitted job waits for this until its turn comes. */
#define JOB_WAITS_ITS_TURN "other jobs run"

enum job_method {
    JOB_SUBMIT = 0x621,   /* submission; nothing. ERR_INVALID: no such options;
                             a wrong SPEC or parameter ends the job instead. */
    JOB_WATCH = 0x622,    /* watch; struct job_news. Waits for some. */
    JOB_LIST = 0x623,     /* list; struct job_texts of job.json */
    JOB_KILL = 0x624,     /* watch; nothing. ERR_INVALID: it does not run. */
    JOB_WORKERS = 0x625,  /* nothing; struct job_workers */
    JOB_ATTEMPTS = 0x626, /* attempts_ask; struct job_attempts */
    JOB_LOG = 0x627,      /* log_ask; struct job_log. ERR_NOTFOUND: there is
                             none. */
};

struct job_submission {
    struct slice id;
    struct slice options;   /* saved_job_encode() */
    int64_t priority;       /* Higher goes first. */
    uint32_t weight;        /* Of its share; 0: 1. */
    uint32_t slots_max;     /* Attempts at a time; 0: any number. */
    struct slice principal; /* The submitter: in the file, written by the job
                               master. A client's own claim is ignored. */
};

void job_submission_put(const struct job_submission *s, struct buf *out);
MUST_CHECK int
job_submission_get(struct slice in, struct job_submission *s, struct err *err);

struct job_watch {
    struct slice id;  /* Or its beginning, or "last". */
    uint64_t seen;    /* The client knows the news up to this version. */
    uint64_t wait_us; /* How long to wait for newer ones. */
};

void job_watch_put(const struct job_watch *w, struct buf *out);
MUST_CHECK int
job_watch_get(struct slice in, struct job_watch *w, struct err *err);

struct job_news {
    uint64_t version;
    bool ended;
    struct slice summary;        /* job_summary_encode() */
    struct mr_progress progress; /* Without the id. */
};

void job_news_put(const struct job_news *n, struct buf *out);
MUST_CHECK int
job_news_get(struct slice in, struct job_news *n, struct err *err);

struct job_list {
    uint64_t ended_max; /* The newest that have ended, at most this many. */
};

void job_list_put(const struct job_list *l, struct buf *out);
MUST_CHECK int
job_list_get(struct slice in, struct job_list *l, struct err *err);

#define JOB_TEXTS_MAX 10000

struct job_texts {
    struct slice *at; /* Array owned by the reader: mem_free(). */
    size_t count;
};

void job_texts_put(const struct job_texts *t, struct buf *out);
/* t->at is to be freed after failure too. */
MUST_CHECK int
job_texts_get(struct slice in, struct job_texts *t, struct err *err);

/* A worker, as the job master sees it. */
struct job_worker {
    uint64_t number;
    struct slice name;
    struct slice address;
    struct slice machine;
    struct slice rack;
    uint32_t slots;
    uint32_t busy;
    uint64_t memory_bytes;
    uint64_t used_bytes;
    bool is_silent;
};

struct job_workers {
    struct job_worker *at; /* Array owned by the reader: mem_free(). */
    size_t count;
};

void job_workers_put(const struct job_workers *w, struct buf *out);
MUST_CHECK int
job_workers_get(struct slice in, struct job_workers *w, struct err *err);

/* --- the timeline of a job ----------------------------------------------- */

/* Attempts in one answer, at most: about 300 KB. */
#define JOB_ATTEMPTS_MAX 5000

struct job_attempts_ask {
    struct slice id; /* As in struct job_watch. */
    uint64_t after;  /* Leave out that many, the oldest. */
    uint64_t limit;  /* At most JOB_ATTEMPTS_MAX; 0: that many. */
};

void job_attempts_ask_put(const struct job_attempts_ask *a, struct buf *out);
MUST_CHECK int job_attempts_ask_get(struct slice in,
                                    struct job_attempts_ask *a,
                                    struct err *err);

/* An attempt far slower than the others (attempt_digest.h). */
struct job_straggler {
    struct attempt_record attempt; /* Its worker is one of the list's. */
    uint64_t took_us;
    uint64_t median_us;
};

struct job_attempts {
    struct slice id;
    uint64_t now_us;          /* Of the job master. */
    uint64_t total;           /* Attempts that are remembered. */
    struct attempt_list list; /* Some of them, in order. */
    struct job_straggler stragglers[STRAGGLERS_MAX]; /* Of all of them. */
    size_t straggler_count;
    struct partition_digest partitions;
};

void job_attempts_put(const struct job_attempts *a, struct buf *out);
/* job_attempts_close() also after failure. */
MUST_CHECK int
job_attempts_get(struct slice in, struct job_attempts *a, struct err *err);
void job_attempts_close(struct job_attempts *a);

/* Fill @out, with its id and time, from all attempts of a job in @bytes
 * (attempt_list_put()): those after @after, at most @limit. Texts are borrowed
 * from @bytes; job_attempts_close() also after failure. ERR_CORRUPT. */
MUST_CHECK int job_attempts_digest(struct slice bytes,
                                   uint64_t after,
                                   uint64_t limit,
                                   struct job_attempts *out,
                                   struct err *err);

struct job_log_ask {
    struct slice id;
    uint32_t part; /* From 1. */
    enum task_kind kind;
    uint32_t task;
    uint32_t attempt;
};

void job_log_ask_put(const struct job_log_ask *a, struct buf *out);
MUST_CHECK int
job_log_ask_get(struct slice in, struct job_log_ask *a, struct err *err);

/* The end of what an attempt wrote to its standard error and output. */
struct job_log {
    struct slice text;
};

void job_log_put(const struct job_log *l, struct buf *out);
MUST_CHECK int job_log_get(struct slice in, struct job_log *l, struct err *err);

#endif /* MAPREDUCE_CLUSTER_JOB_CALLS_H */
