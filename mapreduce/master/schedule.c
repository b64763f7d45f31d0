/* Decisions over the tables of jobs and workers. Each call looks at all workers
 * and at live attempts, never at all tasks. */
#include "mapreduce/master/schedule.h"

#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/master/straggler.h"

/* Waiting tasks that are examined for one in the right rack, or one that has
 * not failed on the worker. */
#define LOOK_TASKS 64

/* --- the tables ---------------------------------------------------------- */

void sched_init(struct sched *s, uint32_t worker_count)
{
    *s = (struct sched){.worker_count = worker_count};
    s->workers = mem_zalloc((size_t)worker_count + 1, sizeof(*s->workers));
}

void sched_close(struct sched *s)
{
    for (uint32_t i = 0; i < s->job_count; i++) {
        mem_free(s->jobs[i].failures);
        mem_free(s->jobs[i].banned);
    }
    mem_free(s->jobs);
    mem_free(s->racks);
    mem_free(s->workers);
    *s = (struct sched){.workers = NULL};
}

static void *schedule_grow(void *array, size_t from, size_t to, size_t each)
{
    array = mem_realloc(array, (to + 1) * each);
    memset((char *)array + from * each, 0, (to + 1 - from) * each);
    return array;
}

static void add_workers(struct sched *s, uint32_t count)
{
    uint32_t had = s->worker_count;
    if (count <= had)
        return;
    s->workers = schedule_grow(s->workers, had, count, sizeof(*s->workers));
    for (uint32_t i = 0; i < s->job_count; i++) {
        struct sched_job *j = &s->jobs[i];
        j->failures =
            schedule_grow(j->failures, had, count, sizeof(*j->failures));
        j->banned = schedule_grow(j->banned, had, count, sizeof(*j->banned));
    }
    s->worker_count = count;
}

void sched_set_worker(struct sched *s,
                      uint32_t worker,
                      const struct sched_worker *what)
{
    add_workers(s, worker + 1);
    s->workers[worker] = *what;
    if (what->host >= s->host_count) {
        uint32_t n = what->host + 1;
        s->racks = mem_realloc(s->racks, n * sizeof(*s->racks));
        for (uint32_t i = s->host_count; i < n; i++)
            s->racks[i] = TASK_NONE;
        s->host_count = n;
    }
    s->racks[what->host] = what->rack;
}

uint32_t sched_add_job(struct sched *s, const struct sched_job *job)
{
    struct sched_job *j;
    PRE(job->weight > 0);
    s->jobs = mem_realloc(s->jobs, ((size_t)s->job_count + 1) * sizeof(*j));
    j = &s->jobs[s->job_count];
    *j = *job;
    j->failures = mem_zalloc((size_t)s->worker_count + 1, sizeof(uint32_t));
    j->banned = mem_zalloc((size_t)s->worker_count + 1, sizeof(bool));
    return s->job_count++;
}

void sched_set_tasks(struct sched *s,
                     uint32_t job,
                     struct task_table *tasks,
                     uint64_t now_us)
{
    s->jobs[job].tasks = tasks;
    s->jobs[job].local_us = now_us;
}

/* --- who may have a slot ------------------------------------------------- */

static bool has_room(const struct sched_worker *w, const struct sched_job *j)
{
    return w->up && w->busy < w->slots &&
           (j->attempt_bytes == 0 ||
            w->memory_bytes >= w->used_bytes + j->attempt_bytes);
}

static bool within_quota(const struct sched_job *j)
{
    return j->quota == 0 || j->busy < j->quota;
}

static bool wants_slot(const struct sched_job *j)
{
    return j->tasks && !j->held && j->tasks->waiting > 0 && within_quota(j);
}

/* Rule 2: does @a come before @b, which is younger? */
static bool goes_first(const struct sched_job *a, const struct sched_job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return (uint64_t)a->busy * b->weight <= (uint64_t)b->busy * a->weight;
}

/* The next job to get a slot, besides those that were @tried. */
static bool next_job(const struct sched *s, const bool *tried, uint32_t *job)
{
    bool found = false;
    for (uint32_t i = 0; i < s->job_count; i++) {
        if (tried[i] || !wants_slot(&s->jobs[i]))
            continue;
        if (!found || !goes_first(&s->jobs[*job], &s->jobs[i]))
            *job = i;
        found = true;
    }
    return found;
}

/* --- where a task goes --------------------------------------------------- */

static bool schedule_avoids(const struct task_entry *e, uint32_t worker)
{
    for (uint32_t i = 0; i < e->avoid_count; i++)
        if (e->avoid[i] == worker)
            return true;
    return false;
}

/* Is there a worker the task has not failed on? */
static bool has_elsewhere(const struct sched *s,
                          const struct sched_job *j,
                          const struct task_entry *e)
{
    if (e->avoid_count == 0)
        return true;
    for (uint32_t w = 0; w < s->worker_count; w++)
        if (s->workers[w].up && !j->banned[w] && !schedule_avoids(e, w))
            return true;
    return false;
}

static bool may_run(const struct sched *s,
                    const struct sched_job *j,
                    const struct task_entry *e,
                    uint32_t worker)
{
    return !schedule_avoids(e, worker) || !has_elsewhere(s, j, e);
}

static bool
is_in_rack(const struct sched *s, const struct task_entry *e, uint32_t rack)
{
    for (uint32_t i = 0; i < e->host_count; i++)
        if (e->hosts[i] < s->host_count && s->racks[e->hosts[i]] == rack)
            return true;
    return false;
}

/* Will the worker that has gathered its input take @e now? */
static bool is_awaited(const struct sched *s,
                       const struct sched_job *j,
                       const struct task_entry *e)
{
    uint32_t w = e->home;
    return w < s->worker_count && !s->workers[w].silent && !j->banned[w] &&
           has_room(&s->workers[w], j) && may_run(s, j, e, w);
}

/* Rule 3, where inputs are gathered. */
static uint32_t choose_at_home(const struct sched *s,
                               const struct sched_job *j,
                               uint32_t worker)
{
    const struct task_table *t = j->tasks;
    uint32_t other = TASK_NONE;
    unsigned looked = 0;
    for (uint32_t task = t->first; task != TASK_NONE && looked < LOOK_TASKS;
         task = t->tasks[task].next, looked++) {
        const struct task_entry *e = &t->tasks[task];
        if (!may_run(s, j, e, worker))
            continue;
        if (e->home == worker)
            return task;
        if (other == TASK_NONE && !is_awaited(s, j, e))
            other = task;
    }
    return other;
}

/* Rule 3. */
static uint32_t choose_task(const struct sched *s,
                            const struct sched_job *j,
                            uint32_t worker,
                            uint64_t now_us)
{
    const struct task_table *t = j->tasks;
    const struct sched_worker *w = &s->workers[worker];
    uint64_t waited = now_us - j->local_us;
    uint32_t task = task_table_local(t, w->host);
    unsigned looked = 0;
    if (t->has_homes)
        return choose_at_home(s, j, worker);
    if (task != TASK_NONE && may_run(s, j, &t->tasks[task], worker))
        return task;
    for (task = t->first; task != TASK_NONE && looked < LOOK_TASKS;
         task = t->tasks[task].next, looked++) {
        const struct task_entry *e = &t->tasks[task];
        if (!may_run(s, j, e, worker))
            continue;
        if (e->host_count == 0 || waited >= 2 * SCHED_LOCAL_US)
            return task;
        if (waited >= SCHED_LOCAL_US && is_in_rack(s, e, w->rack))
            return task;
    }
    return TASK_NONE;
}

static bool start_on(const struct sched *s,
                     uint32_t worker,
                     uint64_t now_us,
                     struct sched_action *out)
{
    bool tried[64] = {false};
    uint32_t job = 0;
    PRE(s->job_count <= ARRAY_LEN(tried));
    while (next_job(s, tried, &job)) {
        const struct sched_job *j = &s->jobs[job];
        uint32_t task;
        tried[job] = true;
        if (j->banned[worker] || !has_room(&s->workers[worker], j))
            continue;
        task = choose_task(s, j, worker, now_us);
        if (task == TASK_NONE)
            continue;
        *out = (struct sched_action){
            .kind = SCHED_START, .job = job, .task = task, .worker = worker};
        return true;
    }
    return false;
}

/* Workers with the most free slots first, so that load spreads. */
static bool
find_start(const struct sched *s, uint64_t now_us, struct sched_action *out)
{
    uint32_t most = 0;
    bool wanted = false;
    for (uint32_t i = 0; i < s->job_count; i++)
        wanted = wanted || wants_slot(&s->jobs[i]);
    if (!wanted)
        return false;
    for (uint32_t w = 0; w < s->worker_count; w++)
        if (s->workers[w].up)
            most = MAX_OF(most, s->workers[w].slots - s->workers[w].busy);
    for (; most > 0; most--)
        for (uint32_t w = 0; w < s->worker_count; w++)
            if (s->workers[w].up &&
                s->workers[w].slots - s->workers[w].busy == most &&
                start_on(s, w, now_us, out))
                return true;
    return false;
}

/* --- backups ------------------------------------------------------------- */

static bool backup_on(const struct sched *s,
                      uint32_t job,
                      uint32_t task,
                      bool other_host,
                      struct sched_action *out)
{
    const struct sched_job *j = &s->jobs[job];
    const struct task_entry *e = &j->tasks->tasks[task];
    uint32_t first = e->live[0].worker;
    for (uint32_t w = 0; w < s->worker_count; w++) {
        if (w == first || j->banned[w] || !has_room(&s->workers[w], j) ||
            schedule_avoids(e, w))
            continue;
        if (other_host && s->workers[w].host == s->workers[first].host)
            continue;
        *out = (struct sched_action){
            .kind = SCHED_BACKUP, .job = job, .task = task, .worker = w};
        return true;
    }
    return false;
}

static bool back_up(const struct sched *s,
                    uint32_t job,
                    uint32_t task,
                    struct sched_action *out)
{
    return backup_on(s, job, task, true, out) ||
           backup_on(s, job, task, false, out);
}

/* A task whose only attempt is on a silent worker. */
static bool
find_unheard(const struct sched *s, uint32_t job, struct sched_action *out)
{
    const struct task_table *t = s->jobs[job].tasks;
    for (uint32_t i = t->first_live; i != TASK_NONE; i = t->tasks[i].next) {
        const struct task_entry *e = &t->tasks[i];
        if (e->state == TASK_RUNNING && e->live_count == 1 &&
            s->workers[e->live[0].worker].silent && back_up(s, job, i, out))
            return true;
    }
    return false;
}

static bool
find_backup(const struct sched *s, uint64_t now_us, struct sched_action *out)
{
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct sched_job *j = &s->jobs[i];
        uint32_t task;
        if (!j->tasks || !j->backups || j->held || !within_quota(j) ||
            j->tasks->waiting > 0 || j->tasks->running == 0)
            continue;
        if (find_unheard(s, i, out))
            return true;
        if (straggler_find(j->tasks, now_us, &task) && back_up(s, i, task, out))
            return true;
    }
    return false;
}

/* --- stopping ------------------------------------------------------------ */

static bool is_silent(const struct sched_job *j,
                      const struct task_attempt *a,
                      uint64_t now_us)
{
    return a->state == ATTEMPT_SILENT ||
           (a->state == ATTEMPT_RUNNING && j->silence_us > 0 &&
            now_us - a->moved_us > j->silence_us);
}

static bool find_stop_of(const struct sched *s,
                         uint32_t job,
                         uint64_t now_us,
                         struct sched_action *out)
{
    const struct sched_job *j = &s->jobs[job];
    const struct task_table *t = j->tasks;
    if (!t || t->live == 0)
        return false;
    for (uint32_t i = t->first_live; i != TASK_NONE; i = t->tasks[i].next)
        for (uint32_t k = 0; k < t->tasks[i].live_count; k++) {
            const struct task_attempt *a = &t->tasks[i].live[k];
            if (a->state != ATTEMPT_OUTRUN && !is_silent(j, a, now_us))
                continue;
            *out = (struct sched_action){.kind = SCHED_STOP,
                                         .job = job,
                                         .task = i,
                                         .worker = a->worker,
                                         .attempt = a->number};
            return true;
        }
    return false;
}

bool sched_next(const struct sched *s,
                uint64_t now_us,
                struct sched_action *out)
{
    for (uint32_t i = 0; i < s->job_count; i++)
        if (find_stop_of(s, i, now_us, out))
            return true;
    return find_start(s, now_us, out) || find_backup(s, now_us, out);
}

/* --- what happened ------------------------------------------------------- */

bool sched_is_local(const struct sched *s,
                    uint32_t job,
                    uint32_t task,
                    uint32_t worker)
{
    PRE(job < s->job_count && worker < s->worker_count);
    const struct task_entry *e = &s->jobs[job].tasks->tasks[task];
    for (uint32_t i = 0; i < e->host_count; i++)
        if (e->hosts[i] == s->workers[worker].host)
            return true;
    return e->host_count == 0;
}

void sched_done(struct sched *s, struct sched_action *a, uint64_t now_us)
{
    PRE(a->job < s->job_count);
    PRE(a->worker < s->worker_count);
    struct sched_job *j = &s->jobs[a->job];
    struct sched_worker *w = &s->workers[a->worker];
    if (a->kind == SCHED_STOP) {
        struct task_attempt *t =
            task_table_attempt(j->tasks, a->task, a->attempt);
        t->silent = t->state != ATTEMPT_OUTRUN;
        t->state = ATTEMPT_STOPPING;
        return;
    }
    if (sched_is_local(s, a->job, a->task, a->worker))
        j->local_us = now_us;
    a->attempt = task_table_start(j->tasks, a->task, a->worker, now_us);
    j->busy++;
    w->busy++;
    w->used_bytes += j->attempt_bytes;
}

/* A worker is banned when the job fails there far more often than elsewhere;
 * never more than a third of them, because then it is the job. */
static void count_failure(struct sched *s, struct sched_job *j, uint32_t worker)
{
    uint32_t up = 0;
    uint32_t bad = 0;
    j->failures[worker]++;
    j->failure_sum++;
    for (uint32_t w = 0; w < s->worker_count; w++)
        up += s->workers[w].up;
    for (uint32_t w = 0; w < s->worker_count && up > 1; w++) {
        uint32_t f = j->failures[w];
        j->banned[w] =
            f >= SCHED_BAN_FAILURES &&
            (uint64_t)f * (up - 1) > 4 * (uint64_t)(j->failure_sum - f) + up;
        bad += j->banned[w] && s->workers[w].up;
    }
    for (uint32_t w = 0; w < s->worker_count && bad > up / 3; w++)
        j->banned[w] = false;
}

static void leave_slot(struct sched *s, struct sched_job *j, uint32_t worker)
{
    PRE(j->busy > 0); /* INV-2 */
    struct sched_worker *w = &s->workers[worker];
    j->busy--;
    if (!w->up)
        return;
    w->busy--;
    w->used_bytes -= j->attempt_bytes;
}

enum task_verdict sched_ended(struct sched *s,
                              uint32_t job,
                              uint32_t task,
                              uint32_t attempt,
                              const struct task_outcome *outcome,
                              uint64_t now_us)
{
    struct sched_job *j = &s->jobs[job];
    struct task_attempt *a = task_table_attempt(j->tasks, task, attempt);
    uint32_t worker;
    enum task_verdict verdict;
    PRE(a != NULL);
    worker = a->worker;
    leave_slot(s, j, worker);
    verdict = task_table_end(j->tasks, task, attempt, outcome, now_us);
    /* A record that kills an attempt does so anywhere. */
    if ((verdict == TASK_RETRY || verdict == TASK_GIVE_UP) && !outcome->lost)
        count_failure(s, j, worker);
    return verdict;
}

void sched_lose_worker(struct sched *s, uint32_t worker, bool outputs)
{
    PRE(worker < s->worker_count);
    struct sched_worker *w = &s->workers[worker];
    for (uint32_t i = 0; i < s->job_count; i++) {
        struct sched_job *j = &s->jobs[i];
        uint32_t before;
        if (!j->tasks)
            continue;
        before = j->tasks->live;
        (void)task_table_lose_worker(j->tasks, worker, outputs && !j->kept);
        INVARIANT(before - j->tasks->live <= j->busy); /* INV-2 */
        j->busy -= before - j->tasks->live;
    }
    w->up = false;
    w->busy = 0;
    w->used_bytes = 0;
}

/* --- why ----------------------------------------------------------------- */

enum sched_wait sched_why(const struct sched *s, uint32_t job, uint64_t now_us)
{
    PRE(job < s->job_count);
    const struct sched_job *j = &s->jobs[job];
    enum sched_wait why = SCHED_WAIT_WORKER;
    if (!j->tasks || j->tasks->waiting == 0)
        return SCHED_WAIT_NOTHING;
    if (j->held)
        return SCHED_WAIT_MAPS;
    if (!within_quota(j))
        return SCHED_WAIT_QUOTA;
    for (uint32_t w = 0; w < s->worker_count; w++) {
        const struct sched_worker *k = &s->workers[w];
        enum sched_wait here;
        if (!k->up)
            continue;
        if (k->busy >= k->slots)
            here = SCHED_WAIT_SLOT;
        else if (!has_room(k, j))
            here = SCHED_WAIT_MEMORY;
        else if (j->banned[w])
            here = SCHED_WAIT_BANNED;
        else if (choose_task(s, j, w, now_us) == TASK_NONE)
            here = SCHED_WAIT_PLACE;
        else
            here = SCHED_WAIT_NOTHING;
        /* Report the obstacle that is easiest to remove. */
        if (here == SCHED_WAIT_NOTHING)
            return here;
        if (why == SCHED_WAIT_WORKER || here > why)
            why = here;
    }
    return why;
}
