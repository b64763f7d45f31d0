/* Homes for partitions, and orders for workers that pull. Kept incremental:
 * each look reads each map and each partition once, and costs the new ends and
 * the changed workers, not maps times partitions. */
#include "mapreduce/master/early_pull.h"

#include <string.h>

#include "base/core/panic.h"

void early_pull_init(struct early_pull *p,
                     const struct task_table *maps,
                     struct task_table *reduces,
                     const struct task_spill *spills)
{
    *p =
        (struct early_pull){.maps = maps, .reduces = reduces, .spills = spills};
    p->noted = mem_zalloc((size_t)maps->count + 1, sizeof(*p->noted));
    p->told = mem_alloc(((size_t)reduces->count + 1) * sizeof(*p->told));
    for (uint32_t i = 0; i < reduces->count; i++)
        p->told[i] = TASK_NONE;
}

void early_pull_close(struct early_pull *p)
{
    mem_free(p->noted);
    mem_free(p->told);
    mem_free(p->ends);
    mem_free(p->workers);
    *p = (struct early_pull){.maps = NULL};
}

/* --- maps that ended ----------------------------------------------------- */

/* Did attempt @attempt of @map win, and does its spill still exist? */
static bool
early_pull_counts(const struct early_pull *p, uint32_t map, uint32_t attempt)
{
    const struct task_entry *e = &p->maps->tasks[map];
    return e->state == TASK_DONE && e->winner == attempt &&
           p->spills[map].attempt == attempt;
}

static void note_ends(struct early_pull *p)
{
    for (uint32_t i = 0; i < p->maps->count; i++) {
        uint32_t attempt = p->maps->tasks[i].winner;
        if (attempt == 0 || p->noted[i] == attempt ||
            !early_pull_counts(p, i, attempt))
            continue;
        if (p->end_count == p->end_cap) {
            p->end_cap = MAX_OF(p->end_cap * 2, (size_t)64);
            p->ends = mem_realloc(p->ends, p->end_cap * sizeof(*p->ends));
        }
        p->ends[p->end_count++] =
            (struct task_spill){.task = i, .attempt = attempt};
        p->noted[i] = attempt;
    }
}

/* --- homes --------------------------------------------------------------- */

static bool is_far(const struct sched *s, uint32_t a, uint32_t b)
{
    return a != b && s->workers[a].disk != s->workers[b].disk;
}

static bool has_far(const struct sched *s, uint32_t worker)
{
    for (uint32_t w = 0; w < s->worker_count; w++)
        if (s->workers[w].up && is_far(s, worker, w))
            return true;
    return false;
}

/* Rule 1. */
static bool may_pull(const struct sched *s, uint32_t worker)
{
    const struct sched_worker *w = &s->workers[worker];
    for (uint32_t i = 0; i < s->job_count; i++)
        if (s->jobs[i].banned[worker])
            return false;
    return w->up && !w->silent && w->pulls && w->all_slots > 0 &&
           has_far(s, worker);
}

/* Rule 2. */
static uint32_t
least_loaded(const struct early_pull *p, const struct sched *s, const bool *may)
{
    uint32_t best = TASK_NONE;
    for (uint32_t w = 0; w < s->worker_count; w++)
        if (may[w] &&
            (best == TASK_NONE ||
             (uint64_t)p->workers[w].load * s->workers[best].all_slots <
                 (uint64_t)p->workers[best].load * s->workers[w].all_slots))
            best = w;
    POST(best == TASK_NONE || may[best]);
    return best;
}

static void set_home(struct early_pull *p, uint32_t partition, uint32_t home)
{
    uint32_t had = p->reduces->tasks[partition].home;
    if (had != TASK_NONE) {
        INVARIANT(had < p->worker_count && p->workers[had].load > 0);
        p->workers[had].load--;
    }
    if (home != TASK_NONE)
        p->workers[home].load++;
    task_table_set_home(p->reduces, partition, home);
}

static void give_homes(struct early_pull *p, const struct sched *s)
{
    bool *may = mem_zalloc((size_t)s->worker_count + 1, sizeof(*may));
    for (uint32_t w = 0; w < s->worker_count; w++)
        may[w] = may_pull(s, w);
    for (uint32_t i = 0; i < p->reduces->count; i++) {
        uint32_t home = p->reduces->tasks[i].home;
        if (home == TASK_NONE || !may[home])
            set_home(p, i, least_loaded(p, s, may));
    }
    mem_free(may);
}

static void add_workers(struct early_pull *p, uint32_t count)
{
    if (count <= p->worker_count)
        return;
    p->workers = mem_realloc(p->workers, count * sizeof(*p->workers));
    memset(p->workers + p->worker_count, 0,
           (count - p->worker_count) * sizeof(*p->workers));
    p->worker_count = count;
}

void early_pull_look(struct early_pull *p, const struct sched *s)
{
    if (p->maps->done == 0 ||
        (uint64_t)p->maps->done * EARLY_PULL_SHARE < p->maps->count)
        return;
    p->begun = true;
    note_ends(p);
    add_workers(p, s->worker_count);
    give_homes(p, s);
}

void early_pull_finish(struct early_pull *p)
{
    p->over = true;
}

void early_pull_lose(struct early_pull *p, uint32_t worker)
{
    if (worker >= p->worker_count)
        return;
    for (uint32_t i = 0; i < p->reduces->count; i++) {
        if (p->told[i] == worker)
            p->told[i] = TASK_NONE;
        if (p->reduces->tasks[i].home == worker)
            set_home(p, i, TASK_NONE);
    }
    p->workers[worker] = (struct early_worker){.told = 0};
}

/* --- news ---------------------------------------------------------------- */

static void notify_partitions(struct early_pull *p,
                              uint32_t worker,
                              struct early_notice *out)
{
    for (uint32_t i = 0; i < p->reduces->count; i++) {
        if (p->reduces->tasks[i].home != worker || p->told[i] == worker)
            continue;
        if (!out->partitions)
            out->partitions =
                mem_alloc(p->reduces->count * sizeof(*out->partitions));
        out->partitions[out->partition_count++] = i;
        p->told[i] = worker;
    }
}

static void notify_spills(struct early_pull *p,
                          const struct sched *s,
                          uint32_t worker,
                          struct early_notice *out)
{
    struct early_worker *w = &p->workers[worker];
    size_t most =
        MIN_OF(p->end_count - w->told, (size_t)EARLY_NOTICE_SPILLS_MAX);
    for (; w->told < p->end_count && out->spill_count < most; w->told++) {
        struct task_spill end = p->ends[w->told];
        end.place = p->maps->tasks[end.task].winner_worker;
        if (!early_pull_counts(p, end.task, end.attempt) ||
            end.place >= s->worker_count || !is_far(s, worker, end.place))
            continue;
        if (!out->spills)
            out->spills = mem_alloc(most * sizeof(*out->spills));
        out->spills[out->spill_count++] = end;
    }
}

static bool notify_worker(struct early_pull *p,
                          const struct sched *s,
                          uint32_t worker,
                          struct early_notice *out)
{
    struct early_worker *w = &p->workers[worker];
    *out = (struct early_notice){.worker = worker};
    if (w->load == 0 || !s->workers[worker].up || s->workers[worker].silent)
        return false;
    notify_partitions(p, worker, out);
    notify_spills(p, s, worker, out);
    out->over = p->over && w->told == p->end_count;
    if (out->partition_count == 0 && out->spill_count == 0 &&
        (!out->over || w->over))
        return false;
    w->over = out->over;
    return true;
}

bool early_pull_next(struct early_pull *p,
                     const struct sched *s,
                     struct early_notice *out)
{
    for (uint32_t w = 0; p->begun && w < p->worker_count; w++)
        if (notify_worker(p, s, w, out))
            return true;
    return false;
}

void early_notice_close(struct early_notice *t)
{
    mem_free(t->partitions);
    mem_free(t->spills);
    *t = (struct early_notice){.worker = TASK_NONE};
}
