/* How attempts ended: their results are taken, or their failure is judged.
 *
 * The order in attempt_end_accept() carries the promise of the journal: files
 * get their names first, the record is written then, and the task is done last,
 * so that every task the journal calls done has its files (MapReduce, OSDI
 * 2004, section 3.3). An attempt that lost against its twin changes nothing.
 */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/master/phase.h"
#include "mapreduce/output/commit.h"

/* Errors that every other attempt would meet as well. */
static bool is_permanent(int code)
{
    return code == ERR_INVALID || code == ERR_UNSUPPORTED ||
           code == ERR_TOOBIG || code == ERR_CORRUPT || code == ERR_NOTFOUND ||
           code == ERR_FULL || code == ERR_DENIED;
}

static void
describe_task(const struct phase *p, const struct running *at, struct buf *out)
{
    const struct job_run *r = p->run;
    unsigned task = at->task;
    task_kind_describe(at->stage->kind, task, out);
    if (at->stage->kind == TASK_MAP && task < r->splits.count) {
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

/* The reason that the attempt failed, in one line. */
static const char *cause_of(const struct attempt_event *e, bool silent)
{
    if (silent)
        return "stopped for finishing no record in time";
    return e->reported ? e->report.err.text : e->death;
}

static void describe_failure(const struct phase *p,
                             const struct running *at,
                             const struct attempt_event *e,
                             bool silent,
                             bool at_record,
                             struct buf *out)
{
    struct attempt_host *h = p->run->host;
    const struct task_status *status = h->status(h, e->slot);
    struct slice said = last_lines(buf_slice(&e->said));
    describe_task(p, at, out);
    buf_printf(out, ", attempt %u", at->attempt);
    if (h->worker_name)
        buf_printf(out, " on %s", h->worker_name(h, at->worker));
    buf_append_str(out, ": ");
    buf_append_str(out, cause_of(e, silent));
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
    const struct task_status *s = p->run->host->status(p->run->host, e->slot);
    *o = (struct task_outcome){.ok = e->reported && e->report.code == 0,
                               .lost = e->lost};
    if (o->ok || o->lost)
        return;
    if (e->reported) {
        o->permanent = is_permanent(e->report.code);
        return;
    }
    o->at_record =
        STATUS_GET(s, stage) == STATUS_RECORD && at->stage->kind != TASK_SAMPLE;
    o->reducing = STATUS_GET(s, reducing) != 0;
    o->number = STATUS_GET(s, number);
}

/* Report the damage that @e's attempt skipped, and count it against the skips
 * unless the format is expected to have some. */
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

/* Take the results of a done task that are in its report. */
static int take_report(struct phase *p,
                       struct stage *stage,
                       unsigned task,
                       unsigned attempt,
                       const struct task_report *report,
                       struct err *err)
{
    struct job_run *r = p->run;
    struct task_entry *e = &stage->tasks.tasks[task];
    int rc = e->counted ? 0 : accept_damage(r, &report->damage, err);
    if (rc)
        return rc;
    if (!e->counted)
        counters_merge(&r->counters, &report->counters);
    e->counted = true;
    if (stage->kind == TASK_SAMPLE)
        buf_append_slice(&r->sample, buf_slice(&report->sample));
    if (stage->kind == TASK_MAP && report->spilled)
        r->spills[task] = (struct task_spill){.task = task, .attempt = attempt};
    return 0;
}

/* Give the files of the attempt their names, and mark the task as done: in this
 * order, so that everything in the journal exists. */
static int attempt_end_accept(struct phase *p,
                              const struct running *at,
                              const struct task_report *report,
                              struct err *err)
{
    PRE(at->stage != NULL);
    PRE(at->task < at->stage->tasks.count);
    struct job_run *r = p->run;
    enum task_kind kind = at->stage->kind;
    struct task_spec s = {
        .kind = kind, .index = at->task, .attempt = at->attempt};
    struct buf text = BUF_INIT;
    bool writes = kind == TASK_REDUCE || kind == TASK_WHOLE ||
                  (kind == TASK_MAP && !r->host->traits.has_reduce);
    int rc = take_report(p, at->stage, at->task, at->attempt, report, err);
    task_spec_prefix(&s, &text);
    if (rc == 0 && writes)
        rc = commit_task(&r->setup.files, r->setup.staging,
                         r->setup.output_count, buf_cstr(&text), at->task,
                         buf_slice(&report->sides), err);
    buf_clear(&text);
    buf_put_varint(&text, (uint64_t)kind);
    buf_put_varint(&text, at->task);
    buf_put_varint(&text, at->attempt);
    task_report_encode(report, &text);
    if (rc == 0 && kind != TASK_SAMPLE)
        journal_add(&r->journal, JOURNAL_END, buf_slice(&text));
    buf_close(&text);
    return rc;
}

/* The worker where the attempt's files are now; false: it left some, and they
 * are gone with its worker. */
static bool find_left(const struct phase *p,
                      const struct task_report *report,
                      uint32_t *worker)
{
    struct attempt_host *h = p->run->host;
    *worker = TASK_NONE;
    if (!h->find_place || !report->spilled)
        return true;
    if (report->place)
        *worker = h->find_place(h, slice_str(report->place));
    return *worker != TASK_NONE;
}

static int
restore_task(struct phase *p, const struct replay_end *e, struct err *err)
{
    struct task_report report;
    uint32_t worker;
    int rc = task_report_decode(&report, e->report, err);
    if (rc == 0 && find_left(p, &report, &worker)) {
        rc = take_report(p, p->stage, e->task, e->attempt, &report, err);
        task_table_restore(&p->stage->tasks, e->task, e->attempt, worker);
        p->run->tasks_restored++;
    }
    task_report_close(&report);
    return rc;
}

int phase_restore(struct phase *p, struct err *err)
{
    PRE(p->run->replay != NULL);

    /* Attempts of the process that died have other names than ours. */
    enum {
        ATTEMPTS_PER_RUN = 1000
    };

    const struct replay *log = p->run->replay;
    struct task_table *t = &p->stage->tasks;
    bool *seen = mem_zalloc((size_t)t->count + 1, sizeof(*seen));
    int rc = 0;
    for (uint32_t i = 0; i < t->count; i++)
        t->tasks[i].attempts = (log->resumes + 1) * ATTEMPTS_PER_RUN;
    /* Of a map that ran again the last end counts. */
    for (size_t i = log->end_count; i-- > 0 && rc == 0;) {
        const struct replay_end *e = &log->ends[i];
        if (e->kind != p->stage->kind || e->task >= t->count || seen[e->task])
            continue;
        seen[e->task] = true;
        rc = restore_task(p, e, err);
    }
    mem_free(seen);
    return rc;
}

static int give_up(const struct attempt_event *e,
                   const char *text,
                   bool killed,
                   struct err *err)
{
    int rc = ERR_ABORTED;
    if (killed)
        rc = ERR_DEADLINE;
    else if (e->reported)
        rc = e->report.code;
    err_set(err, rc, "%s", text);
    if (e->reported && e->report.err.hint[0])
        err_hint(err, "%s", e->report.err.hint);
    if (e->reported && !killed)
        err_set_detail(err, e->report.err.detail, "");
    return rc;
}

/* Record the failure; the verdict says whether the job continues or fails. */
static int note_failure(struct phase *p,
                        const struct running *at,
                        const struct attempt_event *e,
                        const struct task_outcome *o,
                        bool silent,
                        enum task_verdict verdict,
                        struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = 0;
    p->run->progress.attempts_failed++;
    describe_failure(p, at, e, silent,
                     o->at_record || (!e->reported && !o->lost), &text);
    if (verdict == TASK_RETRY_SKIP) {
        p->run->progress.records_skipped++;
        job_note(p->run, "skipped after %s", buf_cstr(&text));
    } else {
        job_note(p->run, "%s", buf_cstr(&text));
    }
    if (verdict == TASK_GIVE_UP)
        rc = give_up(e, buf_cstr(&text), silent, err);
    buf_close(&text);
    return rc;
}

/* A worker is gone, with the spills that maps left there. */
void phase_lose_worker(struct phase *p, const struct attempt_event *e)
{
    if (e->worker < p->sched.worker_count)
        sched_lose_worker(&p->sched, e->worker, true);
    if (p->pull)
        early_pull_lose(p->pull, e->worker);
}

/* The spills that an attempt could not read have to be made again. */
static void take_missing(struct phase *p, const struct attempt_event *e)
{
    for (size_t i = 0; i < e->missing_count && p->maps; i++)
        if (e->missing[i].task < p->maps->tasks.count)
            task_table_lose_output(&p->maps->tasks, e->missing[i].task,
                                   e->missing[i].attempt);
}

/* Count whether the done task read its input on its own machine; tasks whose
 * input had no known place are not counted. */
static void count_place(struct phase *p, const struct running *at)
{
    const struct stage *g = at->stage;
    if (g->tasks.tasks[at->task].host_count > 0)
        *counters_get(&p->run->counters,
                      sched_is_local(&p->sched, g->job, at->task, at->worker)
                          ? "map.tasks_local"
                          : "map.tasks_remote") += 1;
}

/* Does the history have the line @text already? */
static bool is_noted(const struct job_run *r, const char *text)
{
    for (size_t i = 0; i < r->summary.note_count; i++)
        if (strcmp(r->summary.notes[i], text) == 0)
            return true;
    return false;
}

/* Attempts that lost have run the job's code too: how it was confined is
 * counted, and a worker that confines it less is named. */
static void note_cage(struct phase *p,
                      const struct running *at,
                      const struct attempt_event *e,
                      bool taken)
{
    struct attempt_host *h = p->run->host;
    struct buf text = BUF_INIT;
    if (!e->reported)
        return;
    if (!taken)
        counters_merge_some(&p->run->counters, &e->report.counters,
                            COUNTERS_SANDBOX);
    if (!h->worker_name ||
        counters_value(&e->report.counters, COUNTERS_SANDBOX_WEAK) <= 0)
        return;
    buf_printf(&text,
               "its code ran without namespaces on %s (weak-sandbox there)",
               h->worker_name(h, at->worker));
    if (!is_noted(p->run, buf_cstr(&text)))
        job_note(p->run, "%s", buf_cstr(&text));
    buf_close(&text);
}

static enum attempt_end end_of(const struct attempt_event *e,
                               enum task_verdict verdict)
{
    if (verdict == TASK_ACCEPT)
        return ATTEMPT_END_SUCCEEDED;
    if (verdict == TASK_LATE)
        return ATTEMPT_END_STOPPED;
    return e->lost ? ATTEMPT_END_LOST : ATTEMPT_END_FAILED;
}

/* A reduce counts what it has merged in its report; a map's status says how far
 * it came. Parks. */
static void timeline_take(struct phase *p,
                          const struct running *at,
                          const struct attempt_event *e,
                          enum task_verdict verdict,
                          bool silent)
{
    const struct task_status *s = p->run->host->status(p->run->host, e->slot);
    struct attempt_ending ending = {
        .state = end_of(e, verdict),
        .records = STATUS_GET(s, records),
        .bytes = MIN_OF(STATUS_GET(s, bytes), STATUS_GET(s, total)),
        .log = buf_slice(&e->said)};
    if (at->stage->kind == TASK_REDUCE) {
        ending.records = STATUS_GET(s, values);
        ending.bytes = 0;
    }
    if (at->stage->kind == TASK_REDUCE && e->reported) {
        const struct counters *c = &e->report.counters;
        ending.records =
            (uint64_t)MAX_OF(counters_value(c, "reduce.values"), 0);
        ending.bytes =
            (uint64_t)MAX_OF(counters_value(c, "shuffle.bytes_read"), 0);
    }
    if (ending.state == ATTEMPT_END_FAILED || ending.state == ATTEMPT_END_LOST)
        ending.error = slice_str(cause_of(e, silent));
    if (p->run->timeline)
        job_timeline_end(p->run->timeline, at->timeline_index, &ending);
    phase_span_attempt(p, at, &ending);
}

static int
take_attempt(struct phase *p, struct attempt_event *e, struct err *err)
{
    struct running *at = &p->slots[e->slot];
    struct stage *stage = at->stage;
    const struct task_attempt *a =
        task_table_attempt(&stage->tasks, at->task, at->attempt);
    uint64_t now = world_mono_ns(p->run->setup.world) / 1000;
    struct task_outcome o;
    enum task_verdict verdict;
    bool silent;
    bool backup;
    int rc = 0;
    PRE(a != NULL);
    silent = a->silent;
    backup = a->backup;
    outcome_of(p, at, e, &o);
    if (p->run->opts->skip_none)
        o.at_record = false;
    verdict =
        sched_ended(&p->sched, stage->job, at->task, at->attempt, &o, now);
    note_cage(p, at, e, verdict == TASK_ACCEPT);
    timeline_take(p, at, e, verdict, silent);
    if (verdict == TASK_ACCEPT) {
        if (backup)
            *counters_get(&p->run->counters, "attempts.backup_won") += 1;
        count_place(p, at);
        rc = attempt_end_accept(p, at, &e->report, err);
    } else if (verdict != TASK_LATE) {
        rc = note_failure(p, at, e, &o, silent, verdict, err);
    }
    at->stage = NULL;
    return rc;
}

int phase_take_end(struct phase *p, struct attempt_event *e, struct err *err)
{
    if (e->worker_gone) {
        phase_lose_worker(p, e);
        return 0;
    }
    take_missing(p, e);
    return take_attempt(p, e, err);
}
