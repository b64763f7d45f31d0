/* The record of an attempt, from its beginning: one line of a job's
 * timeline, in memory, in the history's file `timeline` and in the answers of
 * the job master.
 *
 *     list   = [version, parts, dropped, [worker…], [record…]]
 *     record = [part, kind, task, attempt, worker, state, flags, begun, took,
 *               records, bytes, total, error]
 *
 * Both are MessagePack arrays (base/rpc/codec.h); a reader skips fields that it
 * does not know. `begun` is the wall clock in microseconds, `took` the
 * duration, 0 while it runs.
 *
 * Invariant INV-1 (kept by the decoder): `worker` is an index of the list's
 * workers, or ATTEMPT_WORKER_NONE.
 *
 * Any thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_ATTEMPT_RECORD_H
#define MAPREDUCE_TASK_ATTEMPT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/codec.h"
#include "mapreduce/task/task_spec.h" /* enum task_kind */

/* Attempts of a job that are remembered. Reduces have the last quarter for
 * themselves, so that the partitions of a job of very many maps are known. */
#define ATTEMPT_RECORDS_MAX 20000
#define ATTEMPT_MAPS_MAX    (ATTEMPT_RECORDS_MAX / 4 * 3)
/* Of the text of an attempt's error. */
#define ATTEMPT_ERROR_BYTES_MAX 400
/* Errors that are kept with their text; later ones have none. */
#define ATTEMPT_ERRORS_MAX  500
#define ATTEMPT_WORKERS_MAX 65536
#define ATTEMPT_WORKER_NONE UINT32_MAX

enum attempt_end {
    ATTEMPT_END_RUNNING,
    ATTEMPT_END_SUCCEEDED,
    ATTEMPT_END_FAILED,
    ATTEMPT_END_LOST,    /* With its worker, or with its job master. */
    ATTEMPT_END_STOPPED, /* Another attempt at the task was first, or the job
                            ended. */
};

struct attempt_record {
    uint32_t part; /* Of a driver's jobs, from 1. */
    enum task_kind kind;
    uint32_t task;
    uint32_t attempt;
    uint32_t worker; /* Index of its name. */
    enum attempt_end state;
    bool backup;
    bool has_log; /* The end of its output is kept. */
    uint64_t begun_at_us;
    uint64_t took_us; /* 0 while it runs. */
    uint64_t records; /* Of a map: read. Of a reduce: values reduced. */
    uint64_t bytes;   /* Of a map: read of its split. Of a reduce: of the pieces
                         of its partition, as stored. */
    uint64_t total;   /* Of a map: bytes of its split. Of a reduce: values of
                         its partition. 0: not known yet. */
    struct slice error; /* Empty: none is known. */
};

struct attempt_list {
    uint32_t parts;
    uint64_t dropped;      /* Attempts that were not remembered. */
    struct slice *workers; /* Names. Array owned. */
    size_t worker_count;
    struct attempt_record *at; /* In the order of their beginnings. Array
                                  owned. */
    size_t count;
};

/* "running", "succeeded", …; never NULL. */
const char *attempt_end_name(enum attempt_end e);
/* "map" or "reduce" ("sample", "whole"); never NULL. */
const char *attempt_kind_name(enum task_kind kind);
/* Its name, appended: "m3.1" is attempt 1 of map task 3; "2-r0.1" is of part 2.
 */
void attempt_name_put(const struct attempt_record *a, struct buf *out);
/* Read @name into part (1 if it has none), kind, task and attempt of @a. False:
 * it is none. */
bool attempt_name_get(struct slice name, struct attempt_record *a);
/* How long it has taken at @now_us. */
uint64_t attempt_record_took_us(const struct attempt_record *a,
                                uint64_t now_us);
/* The name of its worker; empty: not known. Borrowed from @l. */
struct slice attempt_list_worker(const struct attempt_list *l,
                                 const struct attempt_record *a);

/* One record, appended and read; the error is borrowed from the bytes. */
void attempt_record_put(const struct attempt_record *a, struct buf *out);
void attempt_record_get(struct codec_reader *r, struct attempt_record *a);

/* Append @l; read it, borrowing texts from @in: attempt_list_close() also after
 * failure. ERR_CORRUPT. */
void attempt_list_put(const struct attempt_list *l, struct buf *out);
MUST_CHECK int
attempt_list_get(struct slice in, struct attempt_list *l, struct err *err);
void attempt_list_close(struct attempt_list *l);

#endif /* MAPREDUCE_TASK_ATTEMPT_RECORD_H */
