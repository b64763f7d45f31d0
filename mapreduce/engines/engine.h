/* Where the code of a job comes from: each engine turns one kind of program
 * into a struct mr_job.
 *
 * engines/ stands on sandbox/ and the language; attempt/, master/ and cluster/
 * may include it.
 *
 * Loading happens where attempts run, once per process: in the zygote, or in
 * the job master with --local. One thread.
 */
#ifndef MAPREDUCE_ENGINES_ENGINE_H
#define MAPREDUCE_ENGINES_ENGINE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"

struct engine;

/* Make @program, which must outlive it, runnable. *@out is owned:
 * engine_free(). Errors: ERR_NOTFOUND, ERR_INVALID (no job in the object, an
 * error in the Sawzall text), ERR_UNSUPPORTED (another ABI). */
MUST_CHECK int engine_load(const struct mr_program *program,
                           struct engine **out,
                           struct err *err);
const struct mr_job *engine_job(const struct engine *e);
void engine_free(struct engine *e); /* NULL is allowed. */

/* The engine that made up the job of @t. */
const struct engine *mr_task_engine(const struct mr_task *t);

/* --- the engines: one file and one line of ENGINES each ------------------ */

/* One kind of program. */
struct engine_kind {
    /* Is @program of this kind? */
    bool (*takes)(const struct mr_program *program);
    /* Set the job of a zeroed engine with its program. engine_free() releases
     * what it made, also after failure. */
    int (*load)(struct engine *e, struct err *err);
};

struct engine {
    const struct mr_program *program; /* Borrowed. */
    const struct mr_job *job;         /* The job to run. */
    struct mr_job made;               /* Of engines that make one up. */
    void *library;                    /* native: dlopen's handle. */
    struct saw_program *saw;          /* sawzall: compiled. */
    char *mapper;                     /* streaming: with its combiner. Owned. */
};

#define ENGINES(X)                                                             \
    X(native)                                                                  \
    X(streaming)                                                               \
    X(sawzall)

#define ENGINE_DECLARE(name) extern const struct engine_kind engine_##name;
ENGINES(ENGINE_DECLARE)
#undef ENGINE_DECLARE

#endif /* MAPREDUCE_ENGINES_ENGINE_H */
