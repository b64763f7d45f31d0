/* Running the tasks of a job: what the scheduler says is done, and what becomes
 * of it is told the scheduler. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/master/phase.h"

/* How long to wait for an event before looking at clocks and wishes. */
#define TICK_US ((uint64_t)50 * 1000)

static uint64_t now_us(const struct phase *p)
{
    return world_mono_ns(p->run->setup.world) / 1000;
}

/* --- specs ------------------------------------------------------------- */

static void copy_split(struct task_spec *s, const struct input_split *from)
{
    struct input_split *to =
        input_splits_add(&s->splits, from->input, from->path);
    to->packing = from->packing;
    to->unindexed = from->unindexed;
    to->begin = from->begin;
    to->end = from->end;
    to->bytes = from->bytes;
    buf_append_slice(&to->first_row, buf_slice(&from->first_row));
    buf_append_slice(&to->end_row, buf_slice(&from->end_row));
}

/* Some splits all over the input are sample enough. */
static void sample_splits(const struct job_run *r, struct task_spec *s)
{
    enum {
        SPLITS = 24
    };

    size_t n = MIN_OF(r->splits.count, (size_t)SPLITS);
    for (size_t i = 0; i < n; i++)
        copy_split(s, &r->splits.at[i * r->splits.count / n]);
}

static uint64_t *copy_numbers(const uint64_t *from, size_t count)
{
    uint64_t *to = mem_alloc((count + 1) * sizeof(*to));
    if (count > 0)
        memcpy(to, from, count * sizeof(*to));
    return to;
}

static void copy_skips(struct task_spec *s, const struct task_entry *e)
{
    bool reduce = s->kind == TASK_REDUCE;
    s->skip_count = reduce ? e->group_skip_count : e->skip_count;
    s->skips = copy_numbers(reduce ? e->group_skips : e->skips, s->skip_count);
    s->group_skip_count = e->group_skip_count;
    s->group_skips = copy_numbers(e->group_skips, e->group_skip_count);
}

static void make_spec(const struct phase *p,
                      unsigned task,
                      unsigned attempt,
                      struct task_spec *s)
{
    const struct job_run *r = p->run;
    task_spec_init(s);
    s->kind = p->kind;
    s->index = task;
    s->attempt = attempt;
    s->partition_count = r->partition_count;
    copy_skips(s, &p->tasks.tasks[task]);
    if (p->kind == TASK_SAMPLE)
        sample_splits(r, s);
    else if (p->kind != TASK_REDUCE && r->splits.count > 0)
        copy_split(s, &r->splits.at[task]);
    if (p->kind == TASK_REDUCE) {
        s->spills = mem_alloc((r->spill_count + 1) * sizeof(*s->spills));
        s->spill_count = r->spill_count;
        if (r->spill_count > 0)
            memcpy(s->spills, r->spills, r->spill_count * sizeof(*s->spills));
    }
    s->cuts = mem_alloc((r->cut_count + 1) * sizeof(*s->cuts));
    s->cut_count = r->cut_count;
    if (r->cut_count > 0)
        memcpy(s->cuts, r->cuts, r->cut_count * sizeof(*s->cuts));
}

/* --- doing what the scheduler says --------------------------------------- */

static int
start_attempt(struct phase *p, const struct sched_action *a, struct err *err)
{
    struct attempt_host *h = p->run->host;
    struct task_spec s;
    int code;
    make_spec(p, a->task, a->attempt, &s);
    p->slots[a->worker] =
        (struct running){.busy = true, .task = a->task, .attempt = a->attempt};
    code = h->start(h, a->worker, &s, err);
    task_spec_close(&s);
    if (a->kind == SCHED_BACKUP)
        *counters_get(&p->run->counters, "attempts.backup") += 1;
    return code;
}

static int obey(struct phase *p, struct err *err)
{
    struct attempt_host *h = p->run->host;
    struct sched_action a;
    int code = 0;
    while (code == 0 && sched_next(&p->sched, now_us(p), &a)) {
        sched_done(&p->sched, &a, now_us(p));
        if (a.kind == SCHED_STOP)
            h->kill(h, a.worker);
        else
            code = start_attempt(p, &a, err);
    }
    return code;
}

/* --- watching ---------------------------------------------------------- */

static uint32_t share_ppm(uint64_t done, uint64_t total)
{
    if (total == 0)
        return 0;
    return (uint32_t)((double)MIN_OF(done, total) * 1e6 / (double)total);
}

/* Tell the scheduler how far the attempt in @slot is. */
static void look_at(struct phase *p, unsigned slot, uint64_t now)
{
    const struct task_status *s = p->run->host->status(p->run->host, slot);
    struct running *at = &p->slots[slot];
    struct task_attempt *a =
        task_table_attempt(&p->tasks, at->task, at->attempt);
    uint64_t records = STATUS_GET(s, records);
    uint64_t bytes = STATUS_GET(s, bytes);
    uint64_t values = STATUS_GET(s, values);
    bool moved = records != at->seen_records || bytes != at->seen_bytes ||
                 values != at->seen_values;
    INVARIANT(a != NULL);
    at->seen_records = records;
    at->seen_bytes = bytes;
    at->seen_values = values;
    task_attempt_progress(a,
                          share_ppm(p->kind == TASK_REDUCE ? values : bytes,
                                    STATUS_GET(s, total)),
                          moved, now);
}

static void watch(struct phase *p)
{
    struct job_run *r = p->run;
    struct attempt_host *h = r->host;
    uint64_t now = now_us(p);
    uint64_t records = p->records_done;
    uint64_t bytes = p->bytes_done;
    for (unsigned i = 0; i < h->slot_count; i++) {
        if (!p->slots[i].busy)
            continue;
        look_at(p, i, now);
        records += p->slots[i].seen_records;
        bytes += p->slots[i].seen_bytes;
    }
    r->progress.records = records;
    r->progress.bytes = bytes;
    r->progress.tasks_done = p->tasks.done;
    r->progress.tasks_running = p->tasks.running;
    r->tasks_waiting = p->tasks.waiting;
    r->waits_for = sched_wait_text(sched_why(&p->sched, 0, now));
}

/* Count an ended attempt's work before its slot's status is used again. */
static void count_end(struct phase *p, const struct attempt_event *e)
{
    const struct task_status *s = p->run->host->status(p->run->host, e->slot);
    if (!e->reported || e->report.code != 0)
        return;
    p->records_done += STATUS_GET(s, records);
    p->bytes_done += STATUS_GET(s, bytes);
}

static int step(struct phase *p, struct err *err)
{
    struct attempt_host *h = p->run->host;
    struct attempt_event e;
    bool got = false;
    int code = obey(p, err);
    if (code == 0)
        code = h->wait(h, TICK_US, &e, &got, err);
    if (code == 0 && got) {
        count_end(p, &e);
        code = phase_take_end(p, &e, err);
        attempt_event_close(&e);
    }
    watch(p);
    job_tell(p->run, false);
    return code ? code : job_check_cancel(p->run, err);
}

/* End what still runs, and wait for that: its files are about to go, or its
 * slots are wanted. */
static void stop_all(struct phase *p)
{
    struct attempt_host *h = p->run->host;
    unsigned busy = 0;
    for (unsigned i = 0; i < h->slot_count; i++)
        if (p->slots[i].busy) {
            h->kill(h, i);
            busy++;
        }
    while (busy > 0) {
        struct attempt_event e;
        bool got = false;
        if (h->wait(h, TICK_US, &e, &got, NULL))
            return;
        if (!got)
            continue;
        busy--;
        attempt_event_close(&e);
    }
}

/* --- the phase ----------------------------------------------------------- */

static void phase_open(struct phase *p, unsigned count)
{
    struct job_run *r = p->run;
    unsigned slots = r->host->slot_count;
    struct sched_job job = {.weight = 1,
                            .silence_us = r->opts->timeout_us,
                            .backups = !r->opts->no_backups};
    task_table_init(&p->tasks, count, r->opts->attempts_max, &r->skips_left);
    p->slots = mem_zalloc(slots, sizeof(*p->slots));
    sched_init(&p->sched, slots);
    for (unsigned i = 0; i < slots; i++)
        sched_set_worker(&p->sched, i,
                         &(struct sched_worker){.up = true, .slots = 1});
    (void)sched_add_job(&p->sched, &job);
    sched_set_tasks(&p->sched, 0, &p->tasks, now_us(p));
}

static void phase_close(struct phase *p)
{
    sched_close(&p->sched);
    mem_free(p->slots);
    task_table_close(&p->tasks);
}

static int run_phase(struct job_run *r,
                     enum mr_phase phase,
                     enum task_kind kind,
                     unsigned count,
                     struct err *err)
{
    struct phase p = {.run = r, .kind = kind};
    int code = 0;
    phase_open(&p, count);
    job_set_phase(r, phase, count);
    if (r->replay)
        code = phase_restore(&p, err);
    while (code == 0 && p.tasks.done < count)
        code = step(&p, err);
    stop_all(&p);
    job_end_phase(r, &p.tasks);
    phase_close(&p);
    return code;
}

/* Keep the spills of the maps that left one, in order of the maps. */
static void pack_spills(struct job_run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->splits.count; i++)
        if (r->spills[i].attempt > 0)
            r->spills[n++] = r->spills[i];
    r->spill_count = n;
}

static int journal_cuts(struct job_run *r, struct err *err)
{
    struct task_spec s = {.cuts = r->cuts, .cut_count = r->cut_count};
    struct buf body = BUF_INIT;
    int code;
    task_spec_encode(&s, &body);
    code = journal_append(&r->journal, JOURNAL_CUTS, buf_slice(&body), err);
    buf_close(&body);
    return code;
}

static int sample(struct job_run *r, struct err *err)
{
    unsigned parts = r->partition_count;
    int code;
    if (!r->host->traits.total_order || parts <= 1 || r->splits.count == 0)
        return 0;
    if (r->replay && r->replay->cut) {
        r->cuts = mem_alloc((r->replay->cuts.cut_count + 1) * sizeof(*r->cuts));
        r->cut_count = r->replay->cuts.cut_count;
        for (size_t i = 0; i < r->cut_count; i++)
            r->cuts[i] = r->replay->cuts.cuts[i];
        r->partition_count = (unsigned)r->cut_count + 1;
        return 0;
    }
    code = run_phase(r, MR_PHASE_SAMPLE, TASK_SAMPLE, 1, err);
    if (code)
        return code;
    /* The sample's counters would count its records twice. */
    counters_close(&r->counters);
    job_choose_cuts(buf_slice(&r->sample), parts, r->host->traits.descending,
                    &r->cuts, &r->cut_count);
    r->partition_count = (unsigned)r->cut_count + 1;
    return journal_cuts(r, err);
}

int job_phases(struct job_run *r, struct err *err)
{
    bool reduces = r->host->traits.has_reduce;
    unsigned maps = (unsigned)r->splits.count;
    int code;
    if (reduces && r->partition_count == 1 && maps == 1)
        return run_phase(r, MR_PHASE_MAP, TASK_WHOLE, 1, err);
    code = sample(r, err);
    r->spills = mem_zalloc((size_t)maps + 1, sizeof(*r->spills));
    if (code == 0)
        code = run_phase(r, MR_PHASE_MAP, TASK_MAP, maps, err);
    if (code || !reduces)
        return code;
    pack_spills(r);
    return run_phase(r, MR_PHASE_REDUCE, TASK_REDUCE, r->partition_count, err);
}
