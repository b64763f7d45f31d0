/* Facts about jobs: what the job master lists, since when each makes no
 * progress, and which attempts are stragglers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/monitor/fact_sheet.h"
#include "cli/status_text.h"
#include "mapreduce/cluster/job_client.h"
#include "mapreduce/job_history.h"

/* Stragglers are asked for again, and of how many jobs. */
#define STRAGGLERS_NS   UINT64_C(5000000000)
#define STRAGGLERS_JOBS 8

/* The stragglers of a job, and the slowest of them. */
struct job_slowest {
    unsigned count;
    const char *kind; /* "map" */
    unsigned task;
    char worker[64];
    uint64_t took_us;
    uint64_t median_us;
};

/* The memory of a job between two looks. */
struct job_note {
    uint64_t signature; /* Of what has been done. */
    uint64_t at_us;     /* It was different until then. */
    uint64_t asked_ns;  /* For its stragglers; 0: never. */
    struct job_slowest slow;
};

void fact_sheet_forget_jobs(struct finding_watch *w)
{
    const struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&w->jobs, &at)) != NULL)
        mem_free(slot->value.pointer);
    hash_map_clear(&w->jobs);
}

/* How many attempts of job @id run, as the job master's status says: "ID NAME:
 * map, 3 of 9 tasks done, 2 run; …". */
static unsigned attempts_of(struct slice pairs, const char *id)
{
    static const char mark[] = " tasks done, ";
    struct slice key;
    struct slice text;
    while (status_next_pair(&pairs, &key, &text)) {
        const char *found = NULL;
        if (!slice_eq_str(key, "job") || text.len <= strlen(id) ||
            memcmp(text.data, id, strlen(id)) != 0)
            continue;
        for (size_t i = 0; i + sizeof(mark) <= text.len; i++)
            if (memcmp(text.data + i, mark, sizeof(mark) - 1) == 0)
                found = text.data + i + sizeof(mark) - 1;
        return found ? (unsigned)strtoul(found, NULL, 10) : 0;
    }
    return 0;
}

static struct job_note *note_of(struct fact_sheet *s, const char *id)
{
    union hash_value *value =
        hash_map_put(&s->watch->jobs, slice_str(id), NULL);
    if (!value->pointer)
        value->pointer = mem_zalloc(1, sizeof(struct job_note));
    return value->pointer;
}

/* When job @j last got on, as far as this monitor has seen. */
static uint64_t note_progress(struct fact_sheet *s, const struct job_summary *j)
{
    struct job_note *n = note_of(s, j->id);
    uint64_t signature = j->tasks_done + 1 +
                         UINT64_C(1000000) * j->phase_count +
                         UINT64_C(1000000000) * j->tasks_total;
    if (n->signature != signature) {
        n->signature = signature;
        n->at_us = s->facts.now_us;
    }
    return n->at_us;
}

/* --- stragglers ---------------------------------------------------------- */

/* Of those that still run. */
static void digest_stragglers(const struct job_attempts *a,
                              struct job_slowest *out)
{
    const struct job_straggler *slowest = NULL;
    *out = (struct job_slowest){.count = 0};
    for (size_t i = 0; i < a->straggler_count; i++) {
        const struct job_straggler *x = &a->stragglers[i];
        if (x->attempt.state != ATTEMPT_END_RUNNING)
            continue;
        out->count++;
        if (!slowest || x->took_us > slowest->took_us)
            slowest = x;
    }
    if (!slowest)
        return;
    out->kind = attempt_kind_name(slowest->attempt.kind);
    out->task = slowest->attempt.task;
    out->took_us = slowest->took_us;
    out->median_us = slowest->median_us;
    if (slowest->attempt.worker < a->list.worker_count)
        snprintf(out->worker, sizeof(out->worker), "%.*s",
                 SLICE_ARG(a->list.workers[slowest->attempt.worker]));
}

/* Ask for the attempts of job @id that take much longer than the others. */
static void
ask_stragglers(struct job_client *c, const char *id, struct job_slowest *out)
{
    const struct job_attempts_ask ask = {slice_str(id), 0, 1};
    struct job_attempts a = {.total = 0};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    *out = (struct job_slowest){.count = 0};
    job_attempts_ask_put(&ask, &body);
    rc = job_client_call(c, JOB_ATTEMPTS, buf_slice(&body), 0, &reply, NULL);
    if (rc == 0 && job_attempts_get(buf_slice(&reply), &a, NULL) == 0)
        digest_stragglers(&a, out);
    job_attempts_close(&a);
    buf_close(&body);
    buf_close(&reply);
}

/* Those of a job whose attempts run, and of a few jobs: the job master counts
 * them for each question. */
static void
take_stragglers(struct fact_sheet *s, struct job_client *c, struct fact_job *j)
{
    struct world *w = monitor_source_of(s->monitor)->world;
    struct job_note *n = note_of(s, j->id);
    uint64_t now = world_mono_ns(w);
    struct job_slowest slow = n->slow;
    if (n->asked_ns == 0 || now - n->asked_ns >= STRAGGLERS_NS) {
        n->asked_ns = now;
        ask_stragglers(c, j->id, &slow);
        note_of(s, j->id)->slow = slow; /* It parked. */
    }
    j->stragglers = slow.count;
    if (slow.count == 0)
        return;
    j->slowest = arena_printf(&s->arena, "%s task %u on worker %s", slow.kind,
                              slow.task, slow.worker);
    j->slowest_us = slow.took_us;
    j->median_us = slow.median_us;
}

/* --- the list ------------------------------------------------------------ */

static void take_job(struct fact_sheet *s,
                     const struct job_summary *j,
                     struct slice master,
                     struct fact_job *out)
{
    struct arena *a = &s->arena;
    PRE(j->id);
    PRE(j->state == JOB_RUNNING);
    *out = (struct fact_job){
        .id = arena_strdup(a, j->id),
        .label = arena_strdup(a, j->name ? j->name : ""),
        .phase = arena_strdup(a, j->phase ? j->phase : ""),
        .runs = !j->waits || strcmp(j->waits, JOB_WAITS_ITS_TURN) != 0,
        .tasks_total = j->tasks_total,
        .tasks_done = j->tasks_done,
        .tasks_running = attempts_of(master, j->id),
        .attempts_failed = j->attempts_failed,
        .waits_for = j->waits && *j->waits ? arena_strdup(a, j->waits) : NULL,
        .progress_at_us = note_progress(s, j)};
}

static int list_jobs(struct job_client *c, struct buf *reply, struct err *err)
{
    const struct job_list list = {.ended_max = 0};
    struct buf body = BUF_INIT;
    int rc;
    job_list_put(&list, &body);
    rc = job_client_call(c, JOB_LIST, buf_slice(&body), 0, reply, err);
    buf_close(&body);
    return rc;
}

static int take_list(struct fact_sheet *s,
                     struct slice reply,
                     struct slice master,
                     struct fact_job **out,
                     struct err *err)
{
    struct job_texts texts = {.at = NULL};
    struct fact_job *at;
    size_t count = 0;
    int rc = job_texts_get(reply, &texts, err);
    at = arena_zalloc(&s->arena,
                      ((rc == 0 ? texts.count : 0) + 1) * sizeof(*at));
    for (size_t i = 0; rc == 0 && i < texts.count; i++) {
        struct job_summary *j = mem_zalloc(1, sizeof(*j));
        if (job_summary_decode(texts.at[i], j, NULL) == 0 && j->id &&
            j->state == JOB_RUNNING)
            take_job(s, j, master, &at[count++]);
        job_summaries_free(j, 1);
    }
    s->facts.jobs.at = *out = at;
    s->facts.jobs.count = count;
    mem_free(texts.at);
    return rc;
}

/* Of the first jobs whose attempts run. */
static void take_all_stragglers(struct fact_sheet *s,
                                struct job_client *c,
                                struct fact_job *jobs,
                                size_t count)
{
    size_t asked = 0;
    for (size_t i = 0; i < count && asked < STRAGGLERS_JOBS; i++)
        if (jobs[i].tasks_running) {
            take_stragglers(s, c, &jobs[i]);
            asked++;
        }
}

static int ask_jobs(struct fact_sheet *s, struct slice master, struct err *err)
{
    struct job_client *c;
    struct fact_job *jobs;
    struct buf reply = BUF_INIT;
    uint64_t own = fact_sheet_begin_asking(s);
    int rc = monitor_jobs(s->monitor, &c, err);
    if (rc == 0)
        rc = list_jobs(c, &reply, err);
    if (rc == 0)
        rc = take_list(s, buf_slice(&reply), master, &jobs, err);
    if (rc == 0)
        take_all_stragglers(s, c, jobs, s->facts.jobs.count);
    fiber_set_deadline(own);
    buf_close(&reply);
    return rc;
}

void fact_sheet_take_jobs(struct fact_sheet *s)
{
    const struct monitor_node *n = monitor_nodes_leader(s->nodes, "jobs");
    struct err err = ERR_INIT;
    struct slice master;
    double running = 0;
    double waiting = 0;
    s->facts.jobs.known = true; /* Without a master none runs. */
    if (!n || !node_role(n, "jobs", &master))
        return;
    (void)node_metric(n, "quarry_jobs_running", NULL, &running);
    (void)node_metric(n, "quarry_jobs_waiting", NULL, &waiting);
    if (running + waiting < 1) {
        fact_sheet_forget_jobs(s->watch);
    } else if (ask_jobs(s, master, &err)) {
        s->facts.jobs.known = false;
        s->facts.jobs.why = arena_strdup(&s->arena, err.text);
    }
}
