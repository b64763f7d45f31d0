/* Where attempts run. Behind this interface are processes of this machine
 * (attempt/process_host.c), the job master's own thread
 * (attempt/inline_host.c), and the workers of a cell (cluster/cell_host.c).
 *
 * A host has numbered slots; an attempt takes one from start() until the event
 * of its end. On one machine each slot is a worker to the scheduler; in a cell
 * workers have many slots each, and come and go.
 *
 * Invariant INV-1: each start() that succeeded is followed by exactly one event
 * of its slot (each host keeps it; master/phases.c relies on it).
 *
 * One thread.
 */
#ifndef MAPREDUCE_TASK_HOST_H
#define MAPREDUCE_TASK_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "mapreduce/task/job_setup.h"
#include "mapreduce/task/job_traits.h"
#include "mapreduce/task/status.h"
#include "mapreduce/task/task_spec.h"

struct sched;

/* The end of an attempt, or of a worker. */
struct attempt_event {
    unsigned slot;
    bool worker_gone; /* No attempt ended: worker number `worker` is gone, with
                         the spills that maps left there. The events of its
                         attempts came before this one. */
    uint32_t worker;
    bool lost; /* Not the attempt's fault: its worker was lost, or its inputs
                  could not be brought to it. */
    struct task_spill *missing; /* Spills that could not be read. Owned. */
    size_t missing_count;
    bool reported;             /* It ended by itself, with this */
    struct task_report report; /* report. Otherwise */
    char death[128];           /* how it died: "killed by signal 11 (…)". */
    struct buf said;           /* The end of its stdout and stderr, if it
                                  failed; at most 64 KiB. */
};

void attempt_event_close(struct attempt_event *e);

struct attempt_host {
    /* Run the attempt on @worker, in a free slot: *@slot. ERR_BUSY: no slot is
     * free any more. */
    int (*start)(struct attempt_host *h,
                 uint32_t worker,
                 const struct task_spec *spec,
                 unsigned *slot,
                 struct err *err);
    /* Wait up to @timeout_us for the end of an attempt; *@got: @event is set,
     * and the caller's to close. Parks, or blocks its thread. */
    int (*wait)(struct attempt_host *h,
                uint64_t timeout_us,
                struct attempt_event *event,
                bool *got,
                struct err *err);
    /* Stop the attempt in @slot; its event follows. */
    void (*kill)(struct attempt_host *h, unsigned slot);
    struct task_status *(*status)(struct attempt_host *h, unsigned slot);
    /* End the attempts that still run, and free the host. */
    void (*close)(struct attempt_host *h);
    /* Announce that this process ends and the job does not: close() shall leave
     * what attempts have made, for the process that resumes the job. NULL: it
     * always does. */
    void (*keep)(struct attempt_host *h);
    /* In a cell; NULL: worker i is slot i, and nothing changes. Report to the
     * scheduler which workers there are and what share of them the job has; its
     * tasks want @demand slots beyond those it has. */
    void (*look)(struct attempt_host *h, struct sched *s, uint32_t demand);
    /* "n2", for messages. Borrowed. */
    const char *(*worker_name)(struct attempt_host *h, uint32_t worker);
    /* The name by which other machines reach the spills on @worker; and the
     * worker of such a name (TASK_NONE: it is gone). */
    const char *(*place)(struct attempt_host *h, uint32_t worker);
    uint32_t (*find_place)(struct attempt_host *h, struct slice place);
    /* The scheduler's host of a machine's name; TASK_NONE: no worker is there.
     */
    uint32_t (*find_machine)(struct attempt_host *h, const char *machine);
    /* Have @worker bring spills of other workers together before they are asked
     * for. Its end is not reported. NULL: not supported. */
    void (*pull)(struct attempt_host *h,
                 uint32_t worker,
                 const struct task_pull *what);
    /* Make a wait() in another thread return. NULL: wait() never blocks. */
    void (*wake)(struct attempt_host *h);
    unsigned slot_count;
    struct job_traits traits; /* Known once the host is open. */
};

#endif /* MAPREDUCE_TASK_HOST_H */
