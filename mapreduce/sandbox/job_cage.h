/* The paths that the code of a job may see: the rules of its cage.
 *
 * Its files, its shared object and, where its user runs it on his own machine,
 * the directory it was started in and the paths that its commands name. Never
 * the store of tables: rows come through the runtime.
 *
 * One thread.
 */
#ifndef MAPREDUCE_SANDBOX_JOB_CAGE_H
#define MAPREDUCE_SANDBOX_JOB_CAGE_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct cage_rules;
struct job_setup;
struct mr_program;
struct task_spec;

/* Where the job's code comes from, and so how far it is trusted. */
enum job_trust {
    JOB_TRUSTED,  /* Built into this program, or interpreted by it. */
    JOB_COMMANDS, /* The user's, in processes beside the attempt's. */
    JOB_OBJECT,   /* The user's, in the attempt's own process. */
};

enum job_trust job_trust_of(const struct mr_program *p);

/* Do attempts get files and rows from their worker alone? Those on a worker
 * that call a user's own code in their process do. */
bool job_is_relayed(const struct job_setup *setup);

struct job_cage;

/* The rules for the attempts of @setup, which must outlive *@out; @network: the
 * runtime needs the host's. *@out is owned: job_cage_free(). */
MUST_CHECK int job_cage_new(const struct job_setup *setup,
                            bool network,
                            struct job_cage **out,
                            struct err *err);
void job_cage_free(struct job_cage *c); /* NULL is allowed. */
/* From now on also show what the attempt @spec of a shared object reads and
 * writes by itself, and no longer the paths of the last one. NULL: nothing. */
void job_cage_aim(struct job_cage *c, const struct task_spec *spec);
/* The rules as they are now. Borrowed from @c. */
const struct cage_rules *job_cage_rules(const struct job_cage *c);

#endif /* MAPREDUCE_SANDBOX_JOB_CAGE_H */
