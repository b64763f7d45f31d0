/* Running the tasks of a job: start attempts while slots are free, take their
 * ends, start again what failed, stop what hangs. */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/output/commit.h"

/* How long to wait for an event before looking at clocks and wishes. */
#define TICK_US ((uint64_t)50 * 1000)

/* An attempt in a slot. */
struct running {
    bool busy;
    bool killed; /* For being silent too long. */
    unsigned task;
    unsigned attempt;
    uint64_t seen_records; /* What its status showed last, */
    uint64_t seen_bytes;
    uint64_t seen_ns; /* and when that changed. */
};

struct phase {
    struct job_run *run;
    enum task_kind kind;
    struct task_table tasks;
    struct running *slots; /* host->slot_count of them. */
    uint64_t records_done; /* Of ended attempts that won. */
    uint64_t bytes_done;
};

/* --- specs ------------------------------------------------------------- */

static void copy_split(struct task_spec *s, const struct input_split *from)
{
    struct input_split *to =
        input_splits_add(&s->splits, from->input, from->path);
    to->packing = from->packing;
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

static void make_spec(const struct phase *p, unsigned task, struct task_spec *s)
{
    const struct job_run *r = p->run;
    task_spec_init(s);
    s->kind = p->kind;
    s->index = task;
    s->attempt = p->tasks.tasks[task].attempts;
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

static int start_some(struct phase *p, struct err *err)
{
    struct attempt_host *h = p->run->host;
    unsigned task;
    int code = 0;
    for (unsigned i = 0; i < h->slot_count && code == 0; i++) {
        struct task_spec s;
        if (p->slots[i].busy || !task_table_take(&p->tasks, &task))
            continue;
        make_spec(p, task, &s);
        p->slots[i] =
            (struct running){.busy = true,
                             .task = task,
                             .attempt = s.attempt,
                             .seen_ns = world_mono_ns(p->run->setup.world)};
        code = h->start(h, i, &s, err);
        task_spec_close(&s);
    }
    return code;
}

/* --- the end of an attempt --------------------------------------------- */

/* Errors that another attempt would meet again. */
static bool is_permanent(int code)
{
    return code == ERR_INVALID || code == ERR_UNSUPPORTED ||
           code == ERR_TOOBIG || code == ERR_CORRUPT || code == ERR_NOTFOUND ||
           code == ERR_FULL || code == ERR_DENIED;
}

static void describe_task(const struct phase *p, unsigned task, struct buf *out)
{
    const struct job_run *r = p->run;
    task_kind_describe(p->kind, task, out);
    if (p->kind == TASK_MAP && task < r->splits.count) {
        buf_append_str(out, " (");
        input_split_describe(&r->splits.at[task], out);
        buf_append_byte(out, ')');
    }
}

/* "record 17 at offset 1234", or the key of a group. */
static void describe_record(const struct task_status *s, struct buf *out)
{
    unsigned note = MIN_OF(STATUS_GET(s, note_bytes), STATUS_NOTE_BYTES);
    if (STATUS_GET(s, reducing))
        buf_printf(out, "group %llu",
                   (unsigned long long)STATUS_GET(s, number));
    else
        buf_printf(out, "record %llu at offset %llu",
                   (unsigned long long)STATUS_GET(s, number),
                   (unsigned long long)STATUS_GET(s, offset));
    if (note > 0)
        buf_printf(out, " (\"%.*s\")", (int)note, s->note);
}

/* The last lines an attempt wrote, for the job's error. */
static struct slice last_lines(struct slice said)
{
    enum {
        LINES = 5
    };

    size_t lines = 0;
    size_t i;
    said = slice_trim(said);
    if (said.len > 400)
        said = slice_sub(said, said.len - 400, said.len);
    for (i = said.len; i > 0; i--)
        if (said.data[i - 1] == '\n' && ++lines == LINES)
            break;
    return slice_sub(said, i, said.len);
}

static void describe_failure(const struct phase *p,
                             const struct running *at,
                             const struct attempt_event *e,
                             bool at_record,
                             struct buf *out)
{
    const struct attempt_host *h = p->run->host;
    const struct task_status *status =
        h->status(p->run->host, (unsigned)(at - p->slots));
    struct slice said = last_lines(buf_slice(&e->said));
    describe_task(p, at->task, out);
    buf_printf(out, ", attempt %u: ", at->attempt);
    if (at->killed)
        buf_append_str(out, "stopped for finishing no record in time");
    else
        buf_append_str(out, e->reported ? e->report.err.text : e->death);
    if (at_record) {
        buf_append_str(out, " at ");
        describe_record(status, out);
    }
    if (said.len > 0)
        buf_printf(out, "; it said last: %.*s", SLICE_ARG(said));
}

static void outcome_of(const struct phase *p,
                       const struct running *at,
                       const struct attempt_event *e,
                       struct task_outcome *o)
{
    const struct task_status *s =
        p->run->host->status(p->run->host, (unsigned)(at - p->slots));
    *o = (struct task_outcome){.ok = e->reported && e->report.code == 0};
    if (o->ok)
        return;
    if (e->reported) {
        o->permanent = is_permanent(e->report.code);
        return;
    }
    o->at_record =
        STATUS_GET(s, stage) == STATUS_RECORD && p->kind != TASK_SAMPLE;
    o->reducing = STATUS_GET(s, reducing) != 0;
    o->number = STATUS_GET(s, number);
}

/* Places of damage that @e's attempt passed over: told, and against the number
 * of skips unless the format is expected to have them. */
static int
accept_damage(struct job_run *r, const struct damage *d, struct err *err)
{
    struct cursor texts = cursor_make(buf_slice(&d->texts));
    struct slice text = cursor_lslice(&texts);
    if (d->places == 0)
        return 0;
    if (!d->expected && d->places > r->skips_left) {
        err_set(err, ERR_CORRUPT, "%.*s", SLICE_ARG(text));
        err_hint(err, "the job met more damage than the %u places it may skip",
                 r->skips_max);
        return ERR_CORRUPT;
    }
    if (!d->expected)
        r->skips_left -= (unsigned)d->places;
    r->progress.records_skipped += (unsigned)d->places;
    for (; text.len > 0; text = cursor_lslice(&texts))
        job_note(r, "skipped %.*s", SLICE_ARG(text));
    return 0;
}

static int accept(struct phase *p,
                  const struct running *at,
                  const struct attempt_event *e,
                  struct err *err)
{
    struct job_run *r = p->run;
    struct task_spec s = {
        .kind = p->kind, .index = at->task, .attempt = at->attempt};
    struct buf prefix = BUF_INIT;
    bool writes = p->kind == TASK_REDUCE || p->kind == TASK_WHOLE ||
                  (p->kind == TASK_MAP && !r->host->traits.has_reduce);
    int code = accept_damage(r, &e->report.damage, err);
    if (code)
        return code;
    counters_merge(&r->counters, &e->report.counters);
    if (p->kind == TASK_SAMPLE)
        buf_append_slice(&r->sample, buf_slice(&e->report.sample));
    if (p->kind == TASK_MAP && e->report.spilled) {
        r->spills[at->task].task = at->task;
        r->spills[at->task].attempt = at->attempt;
    }
    task_spec_prefix(&s, &prefix);
    if (writes)
        code = commit_task(r->setup.world, r->setup.staging,
                           r->setup.output_count, buf_cstr(&prefix), at->task,
                           buf_slice(&e->report.sides), err);
    buf_close(&prefix);
    return code;
}

static int give_up(const struct attempt_event *e,
                   const char *text,
                   bool killed,
                   struct err *err)
{
    int code = ERR_ABORTED;
    if (killed)
        code = ERR_DEADLINE;
    else if (e->reported)
        code = e->report.code;
    err_set(err, code, "%s", text);
    if (e->reported && e->report.err.hint[0])
        err_hint(err, "%s", e->report.err.hint);
    return code;
}

static int take_end(struct phase *p, struct attempt_event *e, struct err *err)
{
    struct running *at = &p->slots[e->slot];
    struct task_outcome o;
    struct buf text = BUF_INIT;
    enum task_verdict verdict;
    int code = 0;
    outcome_of(p, at, e, &o);
    if (p->run->opts->skip_none)
        o.at_record = false;
    at->busy = false;
    verdict = task_table_end(&p->tasks, at->task, &o);
    if (verdict == TASK_ACCEPT)
        return accept(p, at, e, err);
    p->run->progress.attempts_failed++;
    describe_failure(p, at, e, o.at_record || (!e->reported && !o.ok), &text);
    if (verdict == TASK_RETRY_SKIP) {
        p->run->progress.records_skipped++;
        job_note(p->run, "skipped after %s", buf_cstr(&text));
    } else {
        job_note(p->run, "%s", buf_cstr(&text));
    }
    if (verdict == TASK_GIVE_UP)
        code = give_up(e, buf_cstr(&text), at->killed, err);
    buf_close(&text);
    return code;
}

/* --- watching ---------------------------------------------------------- */

static void watch(struct phase *p)
{
    struct job_run *r = p->run;
    struct attempt_host *h = r->host;
    uint64_t now = world_mono_ns(r->setup.world);
    uint64_t records = p->records_done;
    uint64_t bytes = p->bytes_done;
    for (unsigned i = 0; i < h->slot_count; i++) {
        struct running *at = &p->slots[i];
        const struct task_status *s = h->status(h, i);
        uint64_t done = STATUS_GET(s, records);
        uint64_t read = STATUS_GET(s, bytes);
        if (!at->busy)
            continue;
        records += done;
        bytes += read;
        if (done != at->seen_records || read != at->seen_bytes) {
            at->seen_records = done;
            at->seen_bytes = read;
            at->seen_ns = now;
        } else if (!at->killed &&
                   now - at->seen_ns > r->opts->timeout_us * 1000) {
            at->killed = true;
            h->kill(h, i);
        }
    }
    r->progress.records = records;
    r->progress.bytes = bytes;
    r->progress.tasks_done = p->tasks.done;
    r->progress.tasks_running = p->tasks.running;
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
    int code = start_some(p, err);
    if (code == 0)
        code = h->wait(h, TICK_US, &e, &got, err);
    if (code == 0 && got) {
        count_end(p, &e);
        code = take_end(p, &e, err);
        attempt_event_close(&e);
    }
    watch(p);
    job_tell(p->run, false);
    return code ? code : job_check_cancel(p->run, err);
}

/* End what still runs, and wait for that: its files are about to go. */
static void stop_all(struct phase *p)
{
    struct attempt_host *h = p->run->host;
    for (unsigned i = 0; i < h->slot_count; i++)
        if (p->slots[i].busy)
            h->kill(h, i);
    while (p->tasks.running > 0) {
        struct task_outcome failed = {.ok = false};
        struct attempt_event e;
        bool got = false;
        if (h->wait(h, TICK_US, &e, &got, NULL))
            return;
        if (!got)
            continue;
        (void)task_table_end(&p->tasks, p->slots[e.slot].task, &failed);
        p->slots[e.slot].busy = false;
        attempt_event_close(&e);
    }
}

static int run_phase(struct job_run *r,
                     enum mr_phase phase,
                     enum task_kind kind,
                     unsigned count,
                     struct err *err)
{
    struct phase p = {.run = r, .kind = kind};
    int code = 0;
    task_table_init(&p.tasks, count, r->opts->attempts_max, &r->skips_left);
    p.slots = mem_zalloc(r->host->slot_count, sizeof(*p.slots));
    job_set_phase(r, phase, count);
    while (code == 0 && p.tasks.done < count)
        code = step(&p, err);
    if (code)
        stop_all(&p);
    mem_free(p.slots);
    task_table_close(&p.tasks);
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

static int sample(struct job_run *r, struct err *err)
{
    unsigned parts = r->partition_count;
    int code;
    if (!r->host->traits.total_order || parts <= 1 || r->splits.count == 0)
        return 0;
    code = run_phase(r, MR_PHASE_SAMPLE, TASK_SAMPLE, 1, err);
    if (code)
        return code;
    /* The sample's counters would count its records twice. */
    counters_close(&r->counters);
    job_choose_cuts(buf_slice(&r->sample), parts, r->host->traits.descending,
                    &r->cuts, &r->cut_count);
    r->partition_count = (unsigned)r->cut_count + 1;
    return 0;
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
