/* Where attempts run: behind this interface stand processes of this machine
 * (process_host.c), the job master's own thread (inline_host.c), and the
 * workers of a cell (cluster/cell_host.h).
 *
 * A host has numbered slots; an attempt takes one from start() until the event
 * of its end. On one machine each slot is a worker to the scheduler; on a cell
 * workers have many slots each, come and go. One thread.
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
    bool worker_gone; /* No attempt: worker number `worker` is gone, with what
                         maps have left there. The events of its attempts came
                         before this one. */
    uint32_t worker;
    bool lost; /* Not the attempt's fault: with its worker, or because
                  it could not be given what it was to read. */
    struct task_spill *missing; /* Spills it could not have. Owned. */
    size_t missing_count;
    bool reported;             /* It lived to say what came of it: */
    struct task_report report; /* here. Otherwise */
    char death[128];           /* how it died: "killed by signal 11 (…)". */
    struct buf said;           /* Last lines of its stdout and stderr. */
};

void attempt_event_close(struct attempt_event *e);

struct attempt_host {
    /* Run the attempt on @worker, in a free slot: *@slot. ERR_BUSY: there is
     * none any more. */
    int (*start)(struct attempt_host *h,
                 uint32_t worker,
                 const struct task_spec *spec,
                 unsigned *slot,
                 struct err *err);
    /* Wait up to @timeout_us for the end of an attempt; *@got tells. The event
     * is the caller's to close. Blocks. */
    int (*wait)(struct attempt_host *h,
                uint64_t timeout_us,
                struct attempt_event *event,
                bool *got,
                struct err *err);
    /* Stop the attempt in @slot; its event follows. */
    void (*kill)(struct attempt_host *h, unsigned slot);
    struct task_status *(*status)(struct attempt_host *h, unsigned slot);
    /* Ends what still runs. */
    void (*close)(struct attempt_host *h);
    /* This process ends, the job does not: close() shall leave where it is what
     * attempts have made, for whoever goes on with it. NULL: it does. */
    void (*keep)(struct attempt_host *h);
    /* Of a cell; NULL: worker i is slot i, and nothing else. Tell the scheduler
     * which workers there are and what the job may have of them; its tasks want
     * @demand slots beyond those they have. */
    void (*look)(struct attempt_host *h, struct sched *s, uint32_t demand);
    /* "n2", for messages. Borrowed. */
    const char *(*worker_name)(struct attempt_host *h, uint32_t worker);
    /* The name by which others reach what an attempt leaves on @worker, and the
     * worker of a place (TASK_NONE: it is gone). */
    const char *(*place)(struct attempt_host *h, uint32_t worker);
    uint32_t (*find_place)(struct attempt_host *h, struct slice place);
    /* The scheduler's host of a machine's name: TASK_NONE: no worker there. */
    uint32_t (*find_machine)(struct attempt_host *h, const char *machine);
    /* Have @worker bring spills of others together before they are asked for;
     * nothing tells of the end of it. NULL: not here. */
    void (*pull)(struct attempt_host *h,
                 uint32_t worker,
                 const struct task_pull *what);
    /* Make a wait() in another thread return. NULL: wait() never blocks. */
    void (*wake)(struct attempt_host *h);
    unsigned slot_count;
    struct job_traits traits; /* Known once the host is open. */
};

#endif /* MAPREDUCE_TASK_HOST_H */
