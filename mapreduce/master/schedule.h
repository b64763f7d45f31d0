/* Which attempt starts, and which is stopped, next: for the local engine, whose
 * workers are the slots of one machine, and for a cell, whose workers are
 * processes on many.
 *
 * The decision is a function of the view below and the time. The caller that
 * runs the jobs calls sched_next() until there is no more to do, does each
 * action and enters it with sched_done(); reports of workers are entered with
 * sched_ended() and the functions of task_table.h. Nothing here has a clock or
 * waits, so that a simulation of a thousand workers is a loop.
 *
 * Rules, in this order
 *     1. Attempts that lost against their twin, or were silent for too long,
 *        are stopped.
 *     2. A free slot goes to the job of the highest priority; among equals to
 *        the one with the fewest attempts for its weight; then to the oldest.
 *     3. Of a job's tasks the one whose input is on the worker's host goes
 *        first (MapReduce, OSDI 2004, section 3.4). A job waits SCHED_LOCAL_US
 *        for a slot on the right host, and as long again for one in its rack,
 *        before any slot will do. A worker that has gathered a task's input
 *        before it starts (task_entry.home) is such a place too, but not worth
 *        waiting for: a free slot there gets the task, and if there is none
 *        any other.
 *     4. A task that failed on a worker goes elsewhere if possible, and a job
 *        uses no worker on which it fails far more than on others.
 *     5. A slot nobody waits for runs a backup, on another host if possible: of
 *        an attempt on a silent worker, or of a straggler (straggler.h).
 *
 * Invariants, kept by schedule.c
 *     INV-1. A worker has at most `slots` slots in use, as far as this
 *            scheduler gave them out.
 *     INV-2. The attempts of a job (`busy`) are those in its workers' slots.
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_SCHEDULE_H
#define MAPREDUCE_MASTER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "mapreduce/master/task_table.h"

/* How long a job waits for a better place. */
#define SCHED_LOCAL_US ((uint64_t)200 * 1000)
/* Failures on one worker before it may be banned. */
#define SCHED_BAN_FAILURES 3

struct buf;

struct sched_worker {
    bool up;
    bool silent; /* No message from it: it may be gone, or come back. */
    uint32_t host;
    uint32_t rack;
    uint32_t disk;      /* Workers of one number open each other's files. */
    uint32_t all_slots; /* Also those that other schedulers give out. */
    bool pulls;         /* It gathers pieces early. */
    uint32_t slots;
    uint64_t memory_bytes; /* For attempts. */
    uint32_t busy;         /* Slots in use. */
    uint64_t used_bytes;   /* Memory promised to attempts. */
};

struct sched_job {
    struct task_table
        *tasks;             /* Of its phase; NULL: nothing to run. Borrowed. */
    int priority;           /* Higher goes first. */
    uint32_t weight;        /* Of its share among equals; at least 1. */
    uint32_t quota;         /* Attempts at a time; 0: any number. */
    uint64_t attempt_bytes; /* Memory of each. */
    uint64_t silence_us;    /* An attempt without progress is stopped. */
    bool backups;
    bool held;          /* Starts nothing now. */
    bool kept;          /* The spills of its tasks survive their workers. */
    uint32_t busy;      /* Its attempts. */
    uint64_t local_us;  /* When it last got the place it wanted, or began. */
    uint32_t *failures; /* On each worker. Owned. */
    bool *banned;       /* Workers. Owned. */
    uint32_t failure_sum;
};

struct sched {
    struct sched_worker *workers; /* Owned. */
    uint32_t worker_count;
    uint32_t *racks; /* Of hosts. Owned. */
    uint32_t host_count;
    struct sched_job *jobs; /* Oldest first. Owned. */
    uint32_t job_count;
};

enum sched_kind {
    SCHED_START,
    SCHED_BACKUP,
    SCHED_STOP
};

struct sched_action {
    enum sched_kind kind;
    uint32_t job;
    uint32_t task;
    uint32_t worker;
    uint32_t attempt; /* Of SCHED_STOP; of the others set by sched_done(). */
};

/* Why no (more) tasks of a job run. */
enum sched_wait {
    SCHED_WAIT_NOTHING, /* No task waits. */
    SCHED_WAIT_WORKER,  /* No worker is up. */
    SCHED_WAIT_SLOT,    /* All slots are taken. */
    SCHED_WAIT_MEMORY,  /* No worker with a free slot has the memory. */
    SCHED_WAIT_QUOTA,   /* The job has all it may have at a time. */
    SCHED_WAIT_BANNED,  /* Free slots are only where the job fails. */
    SCHED_WAIT_PLACE,   /* It waits a moment for a slot near its input. */
    SCHED_WAIT_MAPS     /* Spills are lost: maps run again. */
};

void sched_init(struct sched *s, uint32_t worker_count);
void sched_close(struct sched *s);
/* Set worker @worker, which may be a new one, to @what. */
void sched_set_worker(struct sched *s,
                      uint32_t worker,
                      const struct sched_worker *what);
/* Add a job, after the older ones; its number is the return value. */
uint32_t sched_add_job(struct sched *s, const struct sched_job *job);
/* A job's next phase begins, with the tasks @tasks; NULL: it has none. @tasks
 * must outlive its use here. */
void sched_set_tasks(struct sched *s,
                     uint32_t job,
                     struct task_table *tasks,
                     uint64_t now_us);

/* The next decision at @now_us, one at a time; false: none. */
bool sched_next(const struct sched *s,
                uint64_t now_us,
                struct sched_action *out);
/* Enter that @a was carried out: it has been sent to its worker. */
void sched_done(struct sched *s, struct sched_action *a, uint64_t now_us);
/* Is the input of @task on the machine of @worker? True if its place is not
 * known. */
bool sched_is_local(const struct sched *s,
                    uint32_t job,
                    uint32_t task,
                    uint32_t worker);
/* Enter the end of an attempt; the verdict is that of task_table_end(). */
enum task_verdict sched_ended(struct sched *s,
                              uint32_t job,
                              uint32_t task,
                              uint32_t attempt,
                              const struct task_outcome *outcome,
                              uint64_t now_us);
/* A worker is gone with its attempts and, with @outputs, the spills of tasks
 * there, unless they are kept elsewhere (sched_job.kept). */
void sched_lose_worker(struct sched *s, uint32_t worker, bool outputs);

/* Why @job waits. */
enum sched_wait sched_why(const struct sched *s, uint32_t job, uint64_t now_us);
/* The same for people, appended: "3 map attempts wait for a free slot: 2
 * workers with 2 slots each are busy". @kind is the kind of its tasks, "map".
 * Nothing is appended for a job that does not wait. */
void sched_describe_wait(const struct sched *s,
                         uint32_t job,
                         const char *kind,
                         uint64_t now_us,
                         struct buf *out);

#endif /* MAPREDUCE_MASTER_SCHEDULE_H */
