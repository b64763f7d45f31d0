/* Running the tasks of a job: a loop that performs the scheduler's decisions,
 * waits for events of the host and enters them. All decisions are in
 * schedule.c, straggler.c and early_pull.c; this file has the clock and the
 * I/O. */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/master/job_loans.h"
#include "mapreduce/master/job_spans.h"
#include "mapreduce/master/phase.h"

/* Longest wait for an event before clocks and requests are checked. */
#define TICK_US ((uint64_t)50 * 1000)
/* Events taken before anything else is done. */
#define EVENTS_MAX 64
/* Between two orders about the spills of maps. */
#define EARLY_NOTICE_US ((uint64_t)200 * 1000)

static uint64_t now_of(const struct job_run *r)
{
    return world_mono_ns(r->setup.world) / 1000;
}

static uint64_t now_us(const struct phase *p)
{
    return now_of(p->run);
}

/* --- specs --------------------------------------------------------------- */

static void copy_split(struct task_spec *s, const struct input_split *from)
{
    struct input_split *to =
        input_splits_add(&s->splits, from->input, from->path);
    to->snapshot = from->snapshot ? mem_strdup(from->snapshot) : NULL;
    to->compression = from->compression;
    to->unindexed = from->unindexed;
    to->begin = from->begin;
    to->end = from->end;
    to->bytes = from->bytes;
    buf_append_slice(&to->first_row, buf_slice(&from->first_row));
    buf_append_slice(&to->end_row, buf_slice(&from->end_row));
}

/* A few splits spread over the input are sample enough. */
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

/* Index in *@places of the place of the spills on @worker. @known has the
 * indexes of workers seen before, plus one. */
static uint32_t place_of(const struct phase *p,
                         uint32_t worker,
                         uint32_t *known,
                         char ***places,
                         size_t *count)
{
    struct attempt_host *h = p->run->host;
    INVARIANT(worker < p->sched.worker_count);
    if (known[worker] == 0) {
        *places = mem_realloc(*places, (*count + 1) * sizeof(char *));
        (*places)[(*count)++] = mem_strdup(h->place(h, worker));
        known[worker] = (uint32_t)*count;
    }
    return known[worker] - 1;
}

static uint32_t *new_known(const struct phase *p)
{
    return mem_zalloc((size_t)p->sched.worker_count + 1, sizeof(uint32_t));
}

/* The spills of the maps that left one, in order of the maps. */
static void list_spills(const struct phase *p, struct task_spec *s)
{
    const struct job_run *r = p->run;
    uint32_t *known = new_known(p);
    s->spills = mem_alloc((r->splits.count + 1) * sizeof(*s->spills));
    for (unsigned i = 0; i < r->splits.count; i++) {
        if (r->spills[i].attempt == 0)
            continue;
        s->spills[s->spill_count] = r->spills[i];
        if (r->host->place)
            s->spills[s->spill_count].place =
                place_of(p, p->maps->tasks.tasks[i].winner_worker, known,
                         &s->places, &s->place_count);
        s->spill_count++;
    }
    mem_free(known);
}

static void
make_spec(const struct phase *p, const struct running *at, struct task_spec *s)
{
    const struct job_run *r = p->run;
    enum task_kind kind = at->stage->kind;
    task_spec_init(s);
    s->kind = kind;
    s->index = at->task;
    s->attempt = at->attempt;
    s->partition_count = r->partition_count;
    copy_skips(s, &at->stage->tasks.tasks[at->task]);
    if (kind == TASK_SAMPLE)
        sample_splits(r, s);
    else if (kind != TASK_REDUCE && r->splits.count > 0)
        copy_split(s, &r->splits.at[at->task]);
    if (kind == TASK_REDUCE)
        list_spills(p, s);
    s->cuts = mem_alloc((r->cut_count + 1) * sizeof(*s->cuts));
    s->cut_count = r->cut_count;
    if (r->cut_count > 0)
        memcpy(s->cuts, r->cuts, r->cut_count * sizeof(*s->cuts));
    if (kind != TASK_SAMPLE)
        job_loans_copy(r, s);
}

/* --- doing what the scheduler says --------------------------------------- */

static struct stage *stage_of(struct phase *p, uint32_t job)
{
    return p->maps && p->maps->job == job ? p->maps : p->stage;
}

/* Undo an attempt that did not start, or that nobody waits for. */
static void
take_back(struct phase *p, uint32_t job, uint32_t task, uint32_t attempt)
{
    static const struct task_outcome lost = {.lost = true};
    (void)sched_ended(&p->sched, job, task, attempt, &lost, now_us(p));
}

/* Enter the attempt in the timeline, if there is one. */
static size_t timeline_begin(struct phase *p, const struct running *at)
{
    struct attempt_host *h = p->run->host;
    const struct attempt_record what = {.part = p->run->part,
                                        .kind = at->stage->kind,
                                        .task = at->task,
                                        .attempt = at->attempt,
                                        .backup = at->backup};
    if (!p->run->timeline)
        return TIMELINE_NONE;
    return job_timeline_begin(p->run->timeline, &what,
                              h->worker_name ? h->worker_name(h, at->worker)
                                             : NULL);
}

void phase_span_attempt(const struct phase *p,
                        const struct running *at,
                        const struct attempt_ending *e)
{
    struct attempt_host *h = p->run->host;
    const struct attempt_record what = {.kind = at->stage->kind,
                                        .task = at->task,
                                        .attempt = at->attempt,
                                        .backup = at->backup,
                                        .begun_at_us = at->begun_at_us};
    job_span_attempt(p->run, &what,
                     h->worker_name ? h->worker_name(h, at->worker) : NULL, e);
}

static int
start_attempt(struct phase *p, const struct sched_action *a, struct err *err)
{
    struct attempt_host *h = p->run->host;
    struct running at = {.stage = stage_of(p, a->job),
                         .task = a->task,
                         .attempt = a->attempt,
                         .worker = a->worker,
                         .begun_at_us = world_now_us(p->run->setup.world),
                         .backup = a->kind == SCHED_BACKUP};
    struct task_spec s;
    unsigned slot = 0;
    int rc;
    make_spec(p, &at, &s);
    rc = h->start(h, a->worker, &s, &slot, err);
    task_spec_close(&s);
    if (rc == ERR_BUSY) {
        /* Another job took the slot: undo the decision. */
        take_back(p, a->job, a->task, a->attempt);
        return ERR_BUSY;
    }
    if (rc)
        return rc;
    INVARIANT(slot < h->slot_count);
    INVARIANT(p->slots[slot].stage == NULL); /* INV-1 */
    at.timeline_index = timeline_begin(p, &at);
    p->slots[slot] = at;
    p->slots_touched = MAX_OF(p->slots_touched, slot + 1);
    if (a->kind == SCHED_BACKUP)
        *counters_get(&p->run->counters, "attempts.backup") += 1;
    return 0;
}

static void stop_attempt(struct phase *p, const struct sched_action *a)
{
    struct attempt_host *h = p->run->host;
    for (unsigned i = 0; i < p->slots_touched; i++)
        if (p->slots[i].stage && p->slots[i].stage->job == a->job &&
            p->slots[i].task == a->task && p->slots[i].attempt == a->attempt)
            h->kill(h, i);
}

/* The slots the job could use beyond those it has. */
static uint32_t phases_demand(const struct phase *p)
{
    const struct task_table *t = &p->stage->tasks;
    uint32_t waiting = t->waiting + (p->maps ? p->maps->tasks.waiting : 0);
    if (waiting > 0)
        return waiting;
    return t->running;
}

/* Ask the host who is there, and hold back tasks that lack their input. */
static void look_around(struct phase *p)
{
    struct attempt_host *h = p->run->host;
    if (h->look)
        h->look(h, &p->sched, phases_demand(p));
    if (p->maps)
        p->sched.jobs[p->stage->job].held =
            p->maps->tasks.done < p->maps->tasks.count;
}

static int phases_obey(struct phase *p, struct err *err)
{
    struct sched_action a;
    int rc = 0;
    look_around(p);
    while (rc == 0 && sched_next(&p->sched, now_us(p), &a)) {
        sched_done(&p->sched, &a, now_us(p));
        if (a.kind == SCHED_STOP)
            stop_attempt(p, &a);
        else
            rc = start_attempt(p, &a, err);
    }
    return rc == ERR_BUSY ? 0 : rc;
}

/* --- watching ------------------------------------------------------------ */

static uint32_t share_ppm(uint64_t done, uint64_t total)
{
    if (total == 0)
        return 0;
    return (uint32_t)((double)MIN_OF(done, total) * 1e6 / (double)total);
}

/* Report to the scheduler how far the attempt in @slot is. */
static void look_at(struct phase *p, unsigned slot, uint64_t now)
{
    const struct task_status *s = p->run->host->status(p->run->host, slot);
    struct running *at = &p->slots[slot];
    struct task_attempt *a =
        task_table_attempt(&at->stage->tasks, at->task, at->attempt);
    uint64_t records = STATUS_GET(s, records);
    uint64_t bytes = STATUS_GET(s, bytes);
    uint64_t values = STATUS_GET(s, values);
    bool moved = records != at->seen_records || bytes != at->seen_bytes ||
                 values != at->seen_values;
    INVARIANT(a != NULL);
    at->seen_records = records;
    at->seen_bytes = bytes;
    at->seen_values = values;
    task_attempt_progress(
        a,
        share_ppm(at->stage->kind == TASK_REDUCE ? values : bytes,
                  STATUS_GET(s, total)),
        moved, now);
}

/* How far the attempt in @slot is, for the timeline. A reader takes more of a
 * file than its split has. */
static struct attempt_progress progress_of(struct phase *p, unsigned slot)
{
    const struct running *at = &p->slots[slot];
    const struct task_status *s = p->run->host->status(p->run->host, slot);
    return (struct attempt_progress){.index = at->timeline_index,
                                     .records = at->stage->kind == TASK_REDUCE
                                                    ? at->seen_values
                                                    : at->seen_records,
                                     .bytes = at->seen_bytes,
                                     .total = STATUS_GET(s, total)};
}

/* Report how far the running attempts are. */
static void timeline_watch(struct phase *p)
{
    struct attempt_progress *list;
    size_t n = 0;
    if (!p->run->timeline)
        return;
    list = mem_alloc((p->slots_touched + 1) * sizeof(*list));
    for (unsigned i = 0; i < p->slots_touched; i++)
        if (p->slots[i].stage)
            list[n++] = progress_of(p, i);
    job_timeline_progress(p->run->timeline, list, n);
    mem_free(list);
    job_timeline_save(p->run->timeline, false);
}

static void phases_watch(struct phase *p)
{
    struct job_run *r = p->run;
    const struct stage *g = p->stage;
    uint64_t now = now_us(p);
    uint64_t records = g->records_done;
    uint64_t bytes = g->bytes_done;
    for (unsigned i = 0; i < p->slots_touched; i++) {
        if (!p->slots[i].stage)
            continue;
        look_at(p, i, now);
        if (p->slots[i].stage != g)
            continue;
        records += p->slots[i].seen_records;
        bytes += p->slots[i].seen_bytes;
    }
    r->progress.records = records;
    r->progress.bytes = bytes;
    r->progress.tasks_done = g->tasks.done;
    r->progress.tasks_running = g->tasks.running;
    buf_clear(&r->waits_for);
    sched_describe_wait(&p->sched, g->job, attempt_kind_name(g->kind), now,
                        &r->waits_for);
    timeline_watch(p);
}

/* Count an ended attempt's work before its slot's status is used again. */
static void count_end(struct phase *p, const struct attempt_event *e)
{
    struct stage *g = p->slots[e->slot].stage;
    const struct task_status *s = p->run->host->status(p->run->host, e->slot);
    if (!e->reported || e->report.code != 0)
        return;
    g->records_done += STATUS_GET(s, records);
    g->bytes_done += STATUS_GET(s, bytes);
}

static int take_event(struct phase *p, struct attempt_event *e, struct err *err)
{
    int rc;
    if (!e->worker_gone)
        count_end(p, e);
    rc = phase_take_end(p, e, err);
    attempt_event_close(e);
    return rc;
}

/* Wait for an event, and take those that are there already with it: the journal
 * is written once for all. */
static int take_events(struct phase *p, struct err *err)
{
    struct attempt_host *h = p->run->host;
    struct attempt_event e;
    bool got = false;
    int rc = h->wait(h, TICK_US, &e, &got, err);
    for (unsigned i = 0; rc == 0 && got; i++) {
        rc = take_event(p, &e, err);
        got = false;
        if (rc == 0 && i < EVENTS_MAX)
            rc = h->wait(h, 0, &e, &got, err);
    }
    return rc ? rc : journal_flush(&p->run->journal, err);
}

/* --- bringing together early --------------------------------------------- */

static void notify_puller(struct phase *p, struct early_notice *t)
{
    struct attempt_host *h = p->run->host;
    uint32_t *known = new_known(p);
    struct task_pull pull = {.over = t->over,
                             .partitions = t->partitions,
                             .partition_count = t->partition_count,
                             .spills = t->spills,
                             .spill_count = t->spill_count};
    for (size_t i = 0; i < pull.spill_count; i++)
        pull.spills[i].place = place_of(p, pull.spills[i].place, known,
                                        &pull.places, &pull.place_count);
    h->pull(h, t->worker, &pull);
    t->partitions = NULL; /* Freed with the rest of it. */
    t->spills = NULL;
    task_pull_close(&pull);
    mem_free(known);
}

/* Order what has gathered since the last time; @last: with no more to come. */
static void notify_pullers(struct phase *p, bool last)
{
    uint64_t now = now_us(p);
    struct early_notice t;
    if (!p->pull ||
        (last ? !p->pull->begun : now - p->told_us < EARLY_NOTICE_US))
        return;
    p->told_us = now;
    if (last)
        early_pull_finish(p->pull);
    early_pull_look(p->pull, &p->sched);
    while (early_pull_next(p->pull, &p->sched, &t)) {
        notify_puller(p, &t);
        early_notice_close(&t);
    }
}

/* --- a step -------------------------------------------------------------- */

static int phases_step(struct phase *p, struct err *err)
{
    int rc = phases_obey(p, err);
    if (rc == 0)
        rc = take_events(p, err);
    if (rc == 0)
        notify_pullers(p, false);
    phases_watch(p);
    job_report(p->run, false);
    return rc ? rc : job_check_cancel(p->run, err);
}

/* The end of an attempt that was stopped with its phase. The tables are updated
 * all the same: those of maps are used by the next phase. */
static void take_stopped(struct phase *p, const struct attempt_event *e)
{
    struct running *at = &p->slots[e->slot];
    const struct attempt_progress last = progress_of(p, e->slot);
    const struct attempt_ending ending = {.state = ATTEMPT_END_STOPPED,
                                          .records = last.records,
                                          .bytes = last.bytes};
    INVARIANT(at->stage != NULL); /* INV-1 */
    if (p->run->timeline)
        job_timeline_end(p->run->timeline, at->timeline_index, &ending);
    phase_span_attempt(p, at, &ending);
    take_back(p, at->stage->job, at->task, at->attempt);
    at->stage = NULL;
}

/* Stop all attempts, and wait for their ends: their files are about to be
 * removed, or their slots are needed. */
static void stop_all(struct phase *p)
{
    struct attempt_host *h = p->run->host;
    unsigned busy = 0;
    for (unsigned i = 0; i < p->slots_touched; i++)
        if (p->slots[i].stage) {
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
        if (e.worker_gone) {
            phase_lose_worker(p, &e);
        } else {
            take_stopped(p, &e);
            busy--;
        }
        attempt_event_close(&e);
    }
}

/* --- the phase ----------------------------------------------------------- */

/* Enter the machines that have the input of each task. */
static void place_tasks(struct stage *g, const struct job_run *r)
{
    struct attempt_host *h = r->host;
    if (!h->find_machine || (g->kind != TASK_MAP && g->kind != TASK_WHOLE))
        return;
    for (uint32_t i = 0; i < g->tasks.count && i < r->splits.count; i++)
        for (size_t k = 0; k < INPUT_MACHINES_MAX; k++) {
            const char *machine = r->splits.at[i].machines[k];
            uint32_t host = machine ? h->find_machine(h, machine) : TASK_NONE;
            if (host != TASK_NONE)
                task_table_place(&g->tasks, i, host);
        }
}

static void stage_init(struct stage *g,
                       struct job_run *r,
                       enum task_kind kind,
                       unsigned count)
{
    *g = (struct stage){.kind = kind};
    task_table_init(&g->tasks, count, r->opts->attempts_max, &r->skips_left);
    place_tasks(g, r);
}

/* @maps: of a phase of reduces, @pull: of maps before them; else NULL. */
static void phase_open(struct phase *p,
                       struct job_run *r,
                       struct stage *stage,
                       struct stage *maps,
                       struct early_pull *pull)
{
    unsigned slots = r->host->slot_count;
    struct sched_job job = {.weight = 1,
                            .silence_us = r->opts->timeout_us,
                            .backups = !r->opts->no_backups};
    *p = (struct phase){
        .run = r, .stage = stage, .maps = maps, .told_us = now_of(r)};
    if (r->host->pull)
        p->pull = pull;
    p->slots = mem_zalloc(slots, sizeof(*p->slots));
    sched_init(&p->sched, 0);
    for (unsigned i = 0; i < slots && !r->host->look; i++)
        sched_set_worker(&p->sched, i,
                         &(struct sched_worker){.up = true, .slots = 1});
    job.kept = stage->kind != TASK_MAP || !r->host->traits.has_reduce;
    stage->job = sched_add_job(&p->sched, &job);
    sched_set_tasks(&p->sched, stage->job, &stage->tasks, now_us(p));
    if (maps) {
        job.kept = false;
        job.priority = 1;
        maps->job = sched_add_job(&p->sched, &job);
        sched_set_tasks(&p->sched, maps->job, &maps->tasks, now_us(p));
    }
}

static void phase_close(struct phase *p)
{
    sched_close(&p->sched);
    mem_free(p->slots);
}

static int run_phase(struct job_run *r,
                     enum mr_phase phase,
                     struct stage *stage,
                     struct stage *maps,
                     struct early_pull *pull,
                     struct err *err)
{
    struct phase p;
    int rc = 0;
    phase_open(&p, r, stage, maps, pull);
    look_around(&p);
    job_set_phase(r, phase, stage->tasks.count);
    if (r->replay)
        rc = phase_restore(&p, err);
    while (rc == 0 && stage->tasks.done < stage->tasks.count)
        rc = phases_step(&p, err);
    if (rc == 0)
        notify_pullers(&p, true);
    stop_all(&p);
    job_end_phase(r, &stage->tasks);
    job_span_phase(r, stage->kind,
                   &r->summary.phases[r->summary.phase_count - 1]);
    phase_close(&p);
    return rc;
}

static int run_stage(struct job_run *r,
                     enum mr_phase phase,
                     enum task_kind kind,
                     unsigned count,
                     struct err *err)
{
    struct stage g;
    int rc;
    stage_init(&g, r, kind, count);
    rc = run_phase(r, phase, &g, NULL, NULL, err);
    task_table_close(&g.tasks);
    return rc;
}

static int journal_cuts(struct job_run *r, struct err *err)
{
    struct task_spec s = {.cuts = r->cuts, .cut_count = r->cut_count};
    struct buf body = BUF_INIT;
    int rc;
    task_spec_encode(&s, &body);
    rc = journal_append(&r->journal, JOURNAL_CUTS, buf_slice(&body), err);
    buf_close(&body);
    return rc;
}

/* Reduces of ranges of keys write ranges of rows: SSTables that do not overlap,
 * as long as the job's rows are its keys. */
static bool wants_order(const struct job_run *r)
{
    const struct job_traits *t = &r->host->traits;
    return t->total_order ||
           (t->has_reduce && !t->partitions && job_setup_loads(&r->setup));
}

static int phases_sample(struct job_run *r, struct err *err)
{
    unsigned parts = r->partition_count;
    int rc;
    if (!wants_order(r) || parts <= 1 || r->splits.count == 0)
        return 0;
    if (r->replay && r->replay->cut) {
        r->cuts = mem_alloc((r->replay->cuts.cut_count + 1) * sizeof(*r->cuts));
        r->cut_count = r->replay->cuts.cut_count;
        for (size_t i = 0; i < r->cut_count; i++)
            r->cuts[i] = r->replay->cuts.cuts[i];
        r->partition_count = (unsigned)r->cut_count + 1;
        return 0;
    }
    rc = run_stage(r, MR_PHASE_SAMPLE, TASK_SAMPLE, 1, err);
    if (rc)
        return rc;
    /* The sample's counters would count its records twice. */
    counters_close(&r->counters);
    job_choose_cuts(buf_slice(&r->sample), parts, r->host->traits.descending,
                    &r->cuts, &r->cut_count);
    r->partition_count = (unsigned)r->cut_count + 1;
    return journal_cuts(r, err);
}

/* Maps, then reduces of their spills. */
static int map_and_reduce(struct job_run *r, struct err *err)
{
    struct stage maps;
    struct stage reduces;
    struct early_pull pull;
    int rc;
    stage_init(&maps, r, TASK_MAP, (unsigned)r->splits.count);
    stage_init(&reduces, r, TASK_REDUCE, r->partition_count);
    early_pull_init(&pull, &maps.tasks, &reduces.tasks, r->spills);
    rc = run_phase(r, MR_PHASE_MAP, &maps, NULL, &pull, err);
    early_pull_close(&pull);
    if (rc == 0)
        rc = run_phase(r, MR_PHASE_REDUCE, &reduces, &maps, NULL, err);
    task_table_close(&maps.tasks);
    task_table_close(&reduces.tasks);
    return rc;
}

int job_phases(struct job_run *r, struct err *err)
{
    bool reduces = r->host->traits.has_reduce;
    unsigned maps = (unsigned)r->splits.count;
    int rc;
    if (reduces && r->partition_count == 1 && maps == 1)
        return run_stage(r, MR_PHASE_MAP, TASK_WHOLE, 1, err);
    rc = phases_sample(r, err);
    r->spills = mem_zalloc((size_t)maps + 1, sizeof(*r->spills));
    if (rc == 0 && !reduces)
        rc = run_stage(r, MR_PHASE_MAP, TASK_MAP, maps, err);
    else if (rc == 0)
        rc = map_and_reduce(r, err);
    return rc;
}
