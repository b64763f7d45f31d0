/* Where the code of a job comes from: each engine turns one kind of program
 * into a struct mr_job.
 *
 * Loading happens where attempts run, once a process: a worker for processes,
 * the job master with --local. One thread.
 */
#ifndef MAPREDUCE_ENGINES_ENGINE_H
#define MAPREDUCE_ENGINES_ENGINE_H

#include "base/core/err.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"

struct engine;

/* Make @program runnable. *@out is owned: engine_free(). Errors: ERR_NOTFOUND,
 * ERR_INVALID (no job in the object, an error in the Sawzall text),
 * ERR_UNSUPPORTED (another ABI). */
MUST_CHECK int engine_load(const struct mr_program *program,
                           struct engine **out,
                           struct err *err);
const struct mr_job *engine_job(const struct engine *e);
void engine_free(struct engine *e); /* NULL is allowed. */

/* --- the engines: each fills in the job of a zeroed engine ---------------- */

struct engine {
    const struct mr_program *program; /* Borrowed. */
    const struct mr_job *job;         /* What runs. */
    struct mr_job made;               /* Of engines that make one up. */
    void *library;                    /* native: dlopen's handle. */
    struct saw_program *saw;          /* sawzall: compiled. */
    char *mapper;                     /* streaming: with its combiner. Owned. */
};

/* The engine that made up the job of @t. */
const struct engine *mr_task_engine(const struct mr_task *t);

MUST_CHECK int native_load(struct engine *e, struct err *err);
MUST_CHECK int streaming_load(struct engine *e, struct err *err);
MUST_CHECK int sawzall_load(struct engine *e, struct err *err);

#endif /* MAPREDUCE_ENGINES_ENGINE_H */
