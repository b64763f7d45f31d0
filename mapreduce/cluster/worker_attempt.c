/* Attempts on a worker, from the order to the news of their end. An attempt has
 * one end, whatever ends it: its process, a kill, a failed fetch, or the job's
 * end. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/worker_state.h"

/* --- ordering ------------------------------------------------------------ */

static struct worker_attempt *worker_attempt_find(struct worker *k,
                                                  uint64_t ticket)
{
    struct worker_job *j;
    struct worker_attempt *a;
    LIST_FOREACH(j, &k->jobs, link)
        TAILQ_FOREACH(a, &j->attempts, link)
            if (a->ticket == ticket)
                return a;
    return NULL;
}

/* An order may be sent twice, when its answer was lost. */
static bool is_known(struct worker *k, uint64_t ticket)
{
    const struct worker_told *t;
    TAILQ_FOREACH(t, &k->told, link)
        if (t->ticket == ticket)
            return true;
    return worker_attempt_find(k, ticket) != NULL;
}

static void run_fetch(void *arg)
{
    struct worker_attempt *a = arg;
    struct worker_job *j = a->job;
    struct worker *k = j->worker;
    struct task_spill *missing = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;
    int rc = worker_fetch(a, &missing, &count, &err);
    mutex_lock(&k->lock);
    INVARIANT(a->state == WORKER_ATTEMPT_FETCHING);
    a->state = WORKER_ATTEMPT_QUEUED;
    if (rc) {
        /* Joined, and ended, by the job's thread. */
        a->failed = true;
        a->missing = missing;
        a->missing_count = count;
        snprintf(a->death, sizeof(a->death), "%.*s", (int)sizeof(a->death) - 1,
                 err.text);
    }
    a->fetched = true;
    worker_job_wake(j);
    mutex_unlock(&k->lock);
}

int worker_attempt_order(struct worker_job *j,
                         uint64_t ticket,
                         struct slice spec,
                         struct err *err)
{
    struct worker *k = j->worker;
    struct worker_attempt *a;
    int rc;
    if (is_known(k, ticket))
        return 0;
    a = mem_zalloc(1, sizeof(*a));
    a->job = j;
    a->ticket = ticket;
    a->state = WORKER_ATTEMPT_QUEUED;
    a->status.stage = STATUS_SETUP;
    rc = task_spec_decode(&a->spec, spec, err);
    if (rc) {
        task_spec_close(&a->spec);
        mem_free(a);
        return rc;
    }
    TAILQ_INSERT_TAIL(&j->attempts, a, link);
    log_debug(k->world, "worker", "job %s: takes task=%u.%u ticket=%llu", j->id,
              (unsigned)a->spec.index, (unsigned)a->spec.attempt,
              (unsigned long long)ticket);
    if (worker_fetch_wanted(&a->spec)) {
        a->state = WORKER_ATTEMPT_FETCHING;
        a->fetch = task_start(k->world, "worker-fetch", run_fetch, a);
    }
    worker_job_wake(j);
    return 0;
}

void worker_attempt_kill(struct worker *k, uint64_t ticket)
{
    struct worker_attempt *a = worker_attempt_find(k, ticket);
    if (!a)
        return;
    a->killed = true;
    worker_job_wake(a->job);
}

/* --- ending -------------------------------------------------------------- */

void worker_attempt_describe(struct worker_attempt *a,
                             const struct attempt_event *e,
                             const struct task_status *s)
{
    struct worker *k = a->job->worker;
    struct worker_told *t = mem_zalloc(1, sizeof(*t));
    TAILQ_REMOVE(&a->job->attempts, a, link);
    t->serial = k->next_serial++;
    t->ticket = a->ticket;
    worker_event_put(e, s, &t->event);
    TAILQ_INSERT_TAIL(&k->told, t, link);
    cond_broadcast(&k->news);
}

void worker_attempt_fail(struct worker_attempt *a,
                         const char *death,
                         bool lost,
                         const struct task_spill *missing,
                         size_t missing_count)
{
    struct attempt_event e = {.lost = lost, .missing_count = missing_count};
    snprintf(e.death, sizeof(e.death), "%s", death);
    if (missing_count > 0) {
        e.missing = mem_alloc(missing_count * sizeof(*missing));
        memcpy(e.missing, missing, missing_count * sizeof(*missing));
    }
    worker_attempt_describe(a, &e, &a->status);
    mem_free(e.missing);
}

const struct task_status *worker_attempt_status(const struct worker_attempt *a)
{
    struct attempt_host *h = a->job->host;
    if (a->state == WORKER_ATTEMPT_RUNNING && h)
        return h->status(h, a->slot);
    return &a->status;
}

void worker_attempt_free(struct worker_attempt *a)
{
    pulled_free(a->pulled, &a->job->worker->room);
    task_spec_close(&a->spec);
    mem_free(a->owners);
    mem_free(a->missing);
    mem_free(a);
}
