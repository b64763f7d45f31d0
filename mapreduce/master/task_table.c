/* The state of tasks. An attempt that dies at a record which can be skipped
 * does not count as a failure: each skip makes progress, and the job's number
 * of skips is bounded. Neither does one that was lost with its worker. */
#include "mapreduce/master/task_table.h"

#include <string.h>

#include "base/core/panic.h"

/* --- lists --------------------------------------------------------------- */

static void list_remove(struct task_table *t, uint32_t task)
{
    struct task_entry *e = &t->tasks[task];
    bool waits = e->state == TASK_WAITING;
    if (e->prev != TASK_NONE)
        t->tasks[e->prev].next = e->next;
    else if (waits)
        t->first = e->next;
    else
        t->first_live = e->next;
    if (e->next != TASK_NONE)
        t->tasks[e->next].prev = e->prev;
    else if (waits)
        t->last = e->prev;
    e->next = e->prev = TASK_NONE;
}

static void push_front(struct task_table *t, uint32_t *first, uint32_t task)
{
    struct task_entry *e = &t->tasks[task];
    e->prev = TASK_NONE;
    e->next = *first;
    if (*first != TASK_NONE)
        t->tasks[*first].prev = task;
    *first = task;
}

/* In front: tasks that were begun are needed most. */
static void push_waiting(struct task_table *t, uint32_t task)
{
    struct task_entry *e = &t->tasks[task];
    push_front(t, &t->first, task);
    if (t->last == TASK_NONE)
        t->last = task;
    INVARIANT(e->live_count == 0); /* INV-1 */
    e->state = TASK_WAITING;
    t->waiting++;
    for (uint32_t i = 0; i < e->host_count; i++) {
        struct host_tasks *h = &t->by_host[e->hosts[i]];
        while (h->next > 0 && h->tasks[h->next - 1] >= task)
            h->next--;
    }
}

static void task_table_check(const struct task_table *t)
{
    INVARIANT(t->waiting + t->running + t->done == t->count); /* INV-2 */
    INVARIANT(t->running <= t->live);                         /* INV-4 */
    INVARIANT(t->backups <= t->live);                         /* INV-4 */
}

void task_table_init(struct task_table *t,
                     uint32_t count,
                     uint32_t attempts_max,
                     unsigned *skips_left)
{
    *t = (struct task_table){.count = count,
                             .waiting = count,
                             .first = count > 0 ? 0 : TASK_NONE,
                             .last = count > 0 ? count - 1 : TASK_NONE,
                             .first_live = TASK_NONE,
                             .attempts_max = attempts_max,
                             .skips_left = skips_left};
    t->tasks = mem_zalloc((size_t)count + 1, sizeof(*t->tasks));
    for (uint32_t i = 0; i < count; i++) {
        t->tasks[i].next = i + 1 < count ? i + 1 : TASK_NONE;
        t->tasks[i].prev = i > 0 ? i - 1 : TASK_NONE;
        t->tasks[i].home = TASK_NONE;
    }
}

void task_table_close(struct task_table *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        mem_free(t->tasks[i].skips);
        mem_free(t->tasks[i].group_skips);
    }
    for (uint32_t i = 0; i < t->host_count; i++)
        mem_free(t->by_host[i].tasks);
    mem_free(t->by_host);
    mem_free(t->tasks);
    *t = (struct task_table){.tasks = NULL};
}

/* --- places -------------------------------------------------------------- */

static struct host_tasks *host_of(struct task_table *t, uint32_t host)
{
    if (host >= t->host_count) {
        size_t n = (size_t)host + 1;
        t->by_host = mem_realloc(t->by_host, n * sizeof(*t->by_host));
        memset(t->by_host + t->host_count, 0,
               (n - t->host_count) * sizeof(*t->by_host));
        t->host_count = (uint32_t)n;
    }
    return &t->by_host[host];
}

void task_table_place(struct task_table *t, uint32_t task, uint32_t host)
{
    struct task_entry *e = &t->tasks[task];
    struct host_tasks *h = host_of(t, host);
    PRE(h->count == 0 || h->tasks[h->count - 1] < task);
    if (e->host_count == TASK_HOSTS_MAX)
        return;
    e->hosts[e->host_count++] = host;
    if (h->count == h->cap) {
        h->cap = MAX_OF(h->cap * 2, 16u);
        h->tasks = mem_realloc(h->tasks, h->cap * sizeof(*h->tasks));
    }
    h->tasks[h->count++] = task;
}

uint32_t task_table_local(const struct task_table *t, uint32_t host)
{
    struct host_tasks *h;
    if (host >= t->host_count)
        return TASK_NONE;
    h = &t->by_host[host];
    while (h->next < h->count &&
           t->tasks[h->tasks[h->next]].state != TASK_WAITING)
        h->next++;
    return h->next < h->count ? h->tasks[h->next] : TASK_NONE;
}

void task_table_set_home(struct task_table *t, uint32_t task, uint32_t home)
{
    PRE(task < t->count);
    t->tasks[task].home = home;
    t->has_homes |= home != TASK_NONE;
}

/* --- attempts ------------------------------------------------------------ */

uint32_t task_table_start(struct task_table *t,
                          uint32_t task,
                          uint32_t worker,
                          uint64_t now_us)
{
    struct task_entry *e = &t->tasks[task];
    bool backup = e->state == TASK_RUNNING;
    PRE(task < t->count);
    PRE(e->state != TASK_DONE);
    PRE(e->live_count < TASK_LIVE_MAX);
    if (e->state == TASK_WAITING) {
        list_remove(t, task);
        t->waiting--;
        t->running++;
        e->state = TASK_RUNNING;
        push_front(t, &t->first_live, task);
    }
    t->backups += backup;
    t->live++;
    t->started++;
    e->live[e->live_count++] = (struct task_attempt){
        .number = ++e->attempts,
        .worker = worker,
        .backup = backup,
        .started_us = now_us,
        .moved_us = now_us,
    };
    task_table_check(t);
    return e->attempts;
}

struct task_attempt *
task_table_attempt(struct task_table *t, uint32_t task, uint32_t number)
{
    struct task_entry *e = &t->tasks[task];
    for (uint32_t i = 0; i < e->live_count; i++)
        if (e->live[i].number == number)
            return &e->live[i];
    return NULL;
}

void task_attempt_progress(struct task_attempt *a,
                           uint32_t done_ppm,
                           bool moved,
                           uint64_t now_us)
{
    a->done_ppm = MIN_OF(done_ppm, 1000000u);
    if (moved)
        a->moved_us = now_us;
}

static void drop_attempt(struct task_table *t, struct task_entry *e, uint32_t i)
{
    PRE(i < e->live_count);
    t->backups -= e->live[i].backup;
    t->live--;
    e->live[i] = e->live[--e->live_count];
}

static void task_table_avoid(struct task_entry *e, uint32_t worker)
{
    if (e->avoid_count == TASK_AVOID_MAX)
        memmove(e->avoid, e->avoid + 1, --e->avoid_count * sizeof(*e->avoid));
    e->avoid[e->avoid_count++] = worker;
}

static void add_skip(uint64_t **skips, size_t *count, uint64_t number)
{
    *skips = mem_realloc(*skips, (*count + 1) * sizeof(**skips));
    (*skips)[(*count)++] = number;
}

static enum task_verdict task_table_failed(struct task_table *t,
                                           struct task_entry *e,
                                           const struct task_outcome *o)
{
    if (o->lost)
        return TASK_RETRY;
    if (o->at_record && *t->skips_left > 0) {
        --*t->skips_left;
        if (o->reducing)
            add_skip(&e->group_skips, &e->group_skip_count, o->number);
        else
            add_skip(&e->skips, &e->skip_count, o->number);
        return TASK_RETRY_SKIP;
    }
    e->failures++;
    if (o->permanent || e->failures >= t->attempts_max)
        return TASK_GIVE_UP;
    return TASK_RETRY;
}

static void task_table_won(struct task_table *t,
                           struct task_entry *e,
                           const struct task_attempt *a,
                           uint64_t now_us)
{
    PRE(e->state == TASK_RUNNING); /* INV-3 */
    e->winner = a->number;
    e->winner_worker = a->worker;
    e->state = TASK_DONE;
    t->running--;
    t->done++;
    t->took_us += now_us - a->started_us;
    t->longest_us = MAX_OF(t->longest_us, now_us - a->started_us);
    t->took_count++;
}

enum task_verdict task_table_end(struct task_table *t,
                                 uint32_t task,
                                 uint32_t number,
                                 const struct task_outcome *outcome,
                                 uint64_t now_us)
{
    struct task_entry *e = &t->tasks[task];
    struct task_attempt *a = task_table_attempt(t, task, number);
    struct task_attempt ended;
    enum task_verdict verdict;
    PRE(task < t->count);
    PRE(a != NULL);
    ended = *a;
    drop_attempt(t, e, (uint32_t)(a - e->live));
    if (e->state != TASK_DONE && outcome->ok) {
        task_table_won(t, e, &ended, now_us);
        for (uint32_t i = 0; i < e->live_count; i++)
            if (e->live[i].state != ATTEMPT_STOPPING)
                e->live[i].state = ATTEMPT_OUTRUN;
        verdict = TASK_ACCEPT;
    } else if (e->state == TASK_DONE ||
               (ended.state == ATTEMPT_STOPPING && !ended.silent)) {
        verdict = TASK_LATE;
    } else {
        if (!outcome->lost)
            task_table_avoid(e, ended.worker);
        verdict = task_table_failed(t, e, outcome);
    }
    if (e->state == TASK_RUNNING && e->live_count == 0) {
        list_remove(t, task);
        t->running--;
        push_waiting(t, task);
    } else if (e->live_count == 0 && e->state == TASK_DONE) {
        list_remove(t, task);
    }
    task_table_check(t);
    return verdict;
}

/* A done task waits again. Attempts of it that still run may win after all. */
static void do_again(struct task_table *t, uint32_t task)
{
    struct task_entry *e = &t->tasks[task];
    PRE(e->state == TASK_DONE);
    t->done--;
    if (e->live_count == 0) {
        push_waiting(t, task);
        return;
    }
    e->state = TASK_RUNNING;
    t->running++;
    for (uint32_t k = 0; k < e->live_count; k++)
        if (e->live[k].state == ATTEMPT_OUTRUN)
            e->live[k].state = ATTEMPT_RUNNING;
}

void task_table_lose_output(struct task_table *t,
                            uint32_t task,
                            uint32_t number)
{
    PRE(task < t->count);
    if (t->tasks[task].state == TASK_DONE && t->tasks[task].winner == number)
        do_again(t, task);
}

uint32_t
task_table_lose_worker(struct task_table *t, uint32_t worker, bool outputs)
{
    static const struct task_outcome lost = {.lost = true};
    uint32_t again = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        struct task_entry *e = &t->tasks[i];
        for (uint32_t k = e->live_count; k-- > 0;)
            if (e->live[k].worker == worker)
                (void)task_table_end(t, i, e->live[k].number, &lost, 0);
        if (!outputs || e->state != TASK_DONE || e->winner_worker != worker)
            continue;
        do_again(t, i);
        again++;
    }
    return again;
}

void task_table_restore(struct task_table *t,
                        uint32_t task,
                        uint32_t number,
                        uint32_t worker)
{
    struct task_entry *e = &t->tasks[task];
    PRE(e->state == TASK_WAITING);
    list_remove(t, task);
    t->waiting--;
    t->done++;
    e->state = TASK_DONE;
    e->winner = number;
    e->winner_worker = worker;
    e->attempts = MAX_OF(e->attempts, number);
    task_table_check(t);
}
