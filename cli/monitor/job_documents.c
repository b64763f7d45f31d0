/* The documents `jobs`, `job` and `job_log`: jobs that run and have run, the
 * attempts of one, and the output of an attempt that failed. Everything is
 * asked of the job master, with the rights of who asks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/trace/trace_id.h"
#include "cli/monitor/subject.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/cluster/job_client.h"
#include "mapreduce/job_history.h"
#include "mapreduce/task/attempt_digest.h"
#include "mapreduce/task/attempt_record.h"
#include "mapreduce/task/job_trace.h"

#define PAST_JOBS_SHOWN 100
#define ATTEMPTS_SHOWN  1000
/* Tables whose tablets are looked at for one that no server has. */
#define INPUT_TABLES_MAX 4

/* --- a job in a line ----------------------------------------------------- */

/* The trace of a job follows from its id. */
static void put_trace_id(json_t *o, const char *job)
{
    char text[TRACE_ID_TEXT_BYTES];
    trace_id_print(job_trace_id(job), text);
    doc_put_str(o, "trace_id", text);
}

static void put_summary(json_t *o, const struct job_summary *s)
{
    doc_put_str(o, "id", s->id);
    put_trace_id(o, s->id);
    doc_put_str(o, "label", s->name);
    if (s->principal && *s->principal)
        doc_put_str(o, "principal", s->principal);
    doc_put_str(o, "state", job_state_name(s->state));
    if (s->phase)
        doc_put_str(o, "phase", s->phase);
    doc_put_u64(o, "tasks_total", s->tasks_total);
    doc_put_u64(o, "tasks_done", s->tasks_done);
    if (s->state == JOB_RUNNING)
        doc_put_u64(o, "tasks_running", s->tasks_running);
    doc_put_u64(o, "attempts_failed", s->attempts_failed);
    doc_put_u64(o, "begun_at_us", s->started_us);
    if (s->ended_us)
        doc_put_u64(o, "ended_at_us", s->ended_us);
    if (s->state == JOB_RUNNING && s->waits && *s->waits)
        doc_put_str(o, "waits_for", s->waits);
    if (s->error)
        doc_put_str(o, "error", s->error);
}

/* --- jobs ---------------------------------------------------------------- */

/* The job master lists the oldest first. */
static void put_jobs(json_t *running,
                     json_t *past,
                     const struct job_texts *t,
                     size_t *unreadable)
{
    for (size_t i = t->count; i-- > 0;) {
        struct job_summary *s = mem_zalloc(1, sizeof(*s));
        if (job_summary_decode(t->at[i], s, NULL))
            ++*unreadable;
        else
            put_summary(
                doc_append_object(s->state == JOB_RUNNING ? running : past), s);
        job_summaries_free(s, 1);
    }
}

static void put_worker(json_t *o, const struct job_worker *w)
{
    doc_put_text(o, "name", w->name);
    doc_put_text(o, "address", w->address);
    doc_put_text(o, "machine", w->machine);
    doc_put_text(o, "rack", w->rack);
    doc_put_str(o, "state", w->is_silent ? "silent" : "up");
    doc_put_u64(o, "slots", w->slots);
    doc_put_u64(o, "slots_busy", w->busy);
    doc_put_u64(o, "memory_bytes", w->memory_bytes);
    doc_put_u64(o, "memory_promised_bytes", w->used_bytes);
}

static int put_workers(struct job_client *c, json_t *doc, struct err *err)
{
    struct job_workers w = {NULL, 0};
    struct buf reply = BUF_INIT;
    json_t *rows = doc_put_array(doc, "workers");
    int rc = job_client_call(c, JOB_WORKERS, SLICE_EMPTY, 0, &reply, err);
    if (rc == 0)
        rc = job_workers_get(buf_slice(&reply), &w, err);
    for (size_t i = 0; i < w.count && rc == 0; i++)
        put_worker(doc_append_object(rows), &w.at[i]);
    mem_free(w.at);
    buf_close(&reply);
    return rc;
}

static int
put_lists(struct job_client *c, size_t limit, json_t *doc, struct err *err)
{
    const struct job_list ask = {limit};
    struct job_texts t = {NULL, 0};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    json_t *running = doc_put_array(doc, "running");
    json_t *past = doc_put_array(doc, "past");
    size_t unreadable = 0;
    int rc;
    job_list_put(&ask, &body);
    rc = job_client_call(c, JOB_LIST, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_texts_get(buf_slice(&reply), &t, err);
    if (rc == 0)
        put_jobs(running, past, &t, &unreadable);
    if (unreadable > 0)
        doc_warn(doc, "%zu jobs of the history cannot be read", unreadable);
    mem_free(t.at);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int subject_jobs(struct monitor *m,
                 const struct monitor_param *params,
                 size_t count,
                 json_t *doc,
                 struct err *err)
{
    struct job_client *c;
    size_t limit;
    int rc = monitor_param_limit(params, count, PAST_JOBS_SHOWN, &limit, err);
    if (rc == 0)
        rc = monitor_jobs(m, &c, err);
    if (rc == 0)
        rc = put_lists(c, limit, doc, err);
    return rc ? rc : put_workers(c, doc, err);
}

/* --- the parts of a job -------------------------------------------------- */

static void
put_texts(json_t *o, const char *name, char *const *list, size_t count)
{
    json_t *rows = doc_put_array(o, name);
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(rows, json_string(list[i])))
            json_array_append_new(rows, json_string("?"));
}

static void put_phases(json_t *o, const struct job_summary *s)
{
    json_t *rows = doc_put_array(o, "phases");
    for (size_t i = 0; i < s->phase_count; i++) {
        const struct job_phase *p = &s->phases[i];
        json_t *row = doc_append_object(rows);
        doc_put_str(row, "name", p->name);
        doc_put_u64(row, "begun_at_us", p->started_us);
        doc_put_u64(row, "ended_at_us", p->ended_us);
        doc_put_u64(row, "tasks", p->tasks);
        doc_put_u64(row, "attempts", p->attempts);
        doc_put_u64(row, "mean_us", p->mean_us);
        doc_put_u64(row, "longest_us", p->longest_us);
    }
}

static void put_details(json_t *o, const struct job_summary *s)
{
    json_t *counters = doc_put_object(o, "counters");
    for (size_t i = 0; i < s->counter_count; i++)
        doc_put_i64(counters, s->counters[i].name, s->counters[i].value);
    put_phases(o, s);
    put_texts(o, "inputs", s->inputs, s->input_count);
    put_texts(o, "outputs", s->outputs, s->output_count);
    put_texts(o, "notes", s->notes, s->note_count);
    if (s->hint)
        doc_put_str(o, "hint", s->hint);
}

static void put_progress(json_t *o, const struct mr_progress *p)
{
    doc_put_u64(o, "tasks_total", p->tasks_total);
    doc_put_u64(o, "tasks_done", p->tasks_done);
    doc_put_u64(o, "tasks_running", p->tasks_running);
    doc_put_u64(o, "attempts_failed", p->attempts_failed);
    doc_put_u64(o, "records", p->records);
    doc_put_u64(o, "bytes", p->bytes);
    if (p->bytes_total)
        doc_put_u64(o, "bytes_total", p->bytes_total);
    doc_put_u64(o, "records_skipped", p->records_skipped);
}

/* --- attempts ------------------------------------------------------------ */

static void put_attempt_name(json_t *o,
                             const struct attempt_list *l,
                             const struct attempt_record *a)
{
    struct slice worker = attempt_list_worker(l, a);
    struct buf name = BUF_INIT;
    attempt_name_put(a, &name);
    doc_put_text(o, "name", buf_slice(&name));
    if (a->part > 1 || l->parts > 1)
        doc_put_u64(o, "part", a->part);
    doc_put_u64(o, "task", a->task);
    doc_put_str(o, "kind", attempt_kind_name(a->kind));
    doc_put_u64(o, "attempt", a->attempt);
    if (worker.len)
        doc_put_text(o, "worker", worker);
    buf_close(&name);
}

static void put_attempt(json_t *o,
                        const struct attempt_list *l,
                        const struct attempt_record *a,
                        uint64_t now_us)
{
    put_attempt_name(o, l, a);
    doc_put_str(o, "state", attempt_end_name(a->state));
    doc_put_u64(o, "begun_at_us", a->begun_at_us);
    if (a->state != ATTEMPT_END_RUNNING)
        doc_put_u64(o, "ended_at_us", a->begun_at_us + a->took_us);
    doc_put_u64(o, "took_us", attempt_record_took_us(a, now_us));
    doc_put_u64(o, "records", a->records);
    doc_put_u64(o, "bytes", a->bytes);
    if (a->total)
        doc_put_u64(o, a->kind == TASK_REDUCE ? "records_total" : "bytes_total",
                    a->total);
    if (a->backup)
        doc_put_bool(o, "backup", true);
    if (a->has_log)
        doc_put_bool(o, "has_log", true);
    if (a->error.len)
        doc_put_text(o, "error", a->error);
}

static void put_stragglers(json_t *doc, const struct job_attempts *a)
{
    json_t *rows = doc_put_array(doc, "stragglers");
    for (size_t i = 0; i < a->straggler_count; i++) {
        const struct job_straggler *s = &a->stragglers[i];
        json_t *o = doc_append_object(rows);
        put_attempt_name(o, &a->list, &s->attempt);
        doc_put_str(o, "state", attempt_end_name(s->attempt.state));
        doc_put_u64(o, "took_us", s->took_us);
        doc_put_u64(o, "median_us", s->median_us);
    }
    doc_put_str(doc, "straggler_rule", straggler_rule);
}

static void put_partitions(json_t *doc, const struct partition_digest *d)
{
    json_t *rows = doc_put_array(doc, "partitions");
    for (size_t i = 0; i < d->count; i++) {
        json_t *o = doc_append_object(rows);
        if (d->at[i].part > 1)
            doc_put_u64(o, "part", d->at[i].part);
        doc_put_u64(o, "index", d->at[i].index);
        doc_put_u64(o, "records", d->at[i].records);
        if (d->at[i].bytes)
            doc_put_u64(o, "bytes", d->at[i].bytes);
    }
    doc_put_u64(doc, "partitions_total", d->total);
    if (d->total == 0)
        return;
    doc_put_u64(doc, "partition_records_median", d->median_records);
    doc_put_u64(doc, "partition_records_max", d->max_records);
}

/* Parts that were left out are said. */
static void put_cuts(json_t *doc, const struct job_attempts *a, uint64_t after)
{
    uint64_t shown = MIN_OF(after, a->total) + a->list.count;
    doc_put_u64(doc, "attempts_total", a->total);
    if (shown < a->total) {
        doc_put_u64(doc, "attempts_next", shown);
        doc_warn(doc, "%llu more attempts: ask with after=%llu",
                 (unsigned long long)(a->total - shown),
                 (unsigned long long)shown);
    }
    if (a->list.dropped > 0)
        doc_warn(doc,
                 "%llu attempts were not remembered: of a job at most %d are",
                 (unsigned long long)a->list.dropped, ATTEMPT_RECORDS_MAX);
    if (a->partitions.count < a->partitions.total)
        doc_warn(doc, "only the %zu largest of %zu partitions are listed",
                 a->partitions.count, a->partitions.total);
}

static int put_attempts(struct job_client *c,
                        const char *id,
                        uint64_t after,
                        size_t limit,
                        json_t *doc,
                        struct err *err)
{
    const struct job_attempts_ask ask = {slice_str(id), after, limit};
    struct job_attempts a = {.total = 0};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    json_t *rows = doc_put_array(doc, "attempts");
    int rc;
    job_attempts_ask_put(&ask, &body);
    rc = job_client_call(c, JOB_ATTEMPTS, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_attempts_get(buf_slice(&reply), &a, err);
    for (size_t i = 0; i < a.list.count && rc == 0; i++)
        put_attempt(doc_append_object(rows), &a.list, &a.list.at[i], a.now_us);
    if (rc == 0) {
        put_cuts(doc, &a, after);
        put_stragglers(doc, &a);
        put_partitions(doc, &a.partitions);
    }
    job_attempts_close(&a);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

/* --- what a job waits for ------------------------------------------------ */

/* The table that the input @spec reads, appended to @out; false: none. */
static bool input_table(const char *spec, struct buf *out)
{
    size_t n;
    if (strncmp(spec, "table:", 6) != 0)
        return false;
    spec += 6;
    n = strcspn(spec, "?");
    buf_append(out, spec, n);
    return n > 0;
}

/* Describe the first tablet of @table that no server serves. */
static bool describe_unserved(struct monitor *m, const char *table, json_t *doc)
{
    const struct monitor_param name = {"name", table};
    json_t *about;
    const json_t *tablet;
    size_t i;
    bool found = false;
    struct buf text = BUF_INIT;
    if (monitor_make(m, "table", &name, 1, &about, NULL))
        return false; /* Its reader may not see it. */
    json_array_foreach(json_object_get(about, "tablets"), i, tablet) {
        const char *start = json_string_value(json_object_get(tablet, "start"));
        const char *state = json_string_value(json_object_get(tablet, "state"));
        /* While a node is silent it is unknown what it serves. */
        if (!state || strcmp(state, "unserved") != 0)
            continue;
        buf_printf(&text,
                   "its input table %s: the tablet from row \"%s\" is not "
                   "served",
                   table, start ? start : "");
        doc_put_str(doc, "waits_for", buf_cstr(&text));
        found = true;
        break;
    }
    json_decref(about);
    buf_close(&text);
    return found;
}

/* Attempts at rows that nobody serves run, and wait there. */
static void
put_waiting_tables(struct monitor *m, const struct job_summary *s, json_t *doc)
{
    size_t looked = 0;
    bool found = false;
    if (s->state != JOB_RUNNING || json_object_get(doc, "waits_for"))
        return;
    for (size_t i = 0;
         i < s->input_count && looked < INPUT_TABLES_MAX && !found; i++) {
        struct buf table = BUF_INIT;
        if (input_table(s->inputs[i], &table)) {
            looked++;
            found = describe_unserved(m, buf_cstr(&table), doc);
        }
        buf_close(&table);
    }
}

/* --- job ----------------------------------------------------------------- */

static int put_job(struct monitor *m,
                   struct job_client *c,
                   const char *id,
                   json_t *doc,
                   struct err *err)
{
    const struct job_watch w = {.id = slice_str(id)};
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    struct job_news n;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    job_watch_put(&w, &body);
    rc = job_client_call(c, JOB_WATCH, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_news_get(buf_slice(&reply), &n, err);
    if (rc == 0)
        rc = job_summary_decode(n.summary, s, err);
    if (rc == 0) {
        put_summary(doc, s);
        put_details(doc, s);
        if (!n.ended)
            put_progress(doc, &n.progress);
        put_waiting_tables(m, s, doc);
    }
    job_summaries_free(s, 1);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int subject_job(struct monitor *m,
                const struct monitor_param *params,
                size_t count,
                json_t *doc,
                struct err *err)
{
    struct job_client *c;
    const char *id;
    uint64_t after = 0;
    size_t limit;
    int rc = monitor_param_need(params, count, "id", &id, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "after", 0, UINT32_MAX, &after,
                                  err);
    if (rc == 0)
        rc = monitor_param_limit(params, count, ATTEMPTS_SHOWN, &limit, err);
    if (rc == 0)
        rc = monitor_jobs(m, &c, err);
    if (rc == 0)
        rc = put_job(m, c, id, doc, err);
    /* "last" may be another by now. */
    if (rc == 0)
        id = json_string_value(json_object_get(doc, "id"));
    return rc ? rc : put_attempts(c, id, after, limit, doc, err);
}

/* --- job_log ------------------------------------------------------------- */

static const enum task_kind log_kinds[] = {TASK_MAP, TASK_REDUCE, TASK_WHOLE,
                                           TASK_SAMPLE};

static int ask_log(struct job_client *c,
                   const struct job_log_ask *ask,
                   json_t *doc,
                   struct err *err)
{
    struct job_log log;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    job_log_ask_put(ask, &body);
    rc = job_client_call(c, JOB_LOG, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_log_get(buf_slice(&reply), &log, err);
    if (rc == 0) {
        doc_put_str(doc, "kind", attempt_kind_name(ask->kind));
        doc_put_u64(doc, "task", ask->task);
        doc_put_u64(doc, "attempt", ask->attempt);
        doc_put_text(doc, "text", log.text);
        doc_put_u64(doc, "bytes", log.text.len);
    }
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

/* Without a kind, the first that has a log of that number. */
static int ask_logs(struct job_client *c,
                    struct job_log_ask *ask,
                    const char *kind,
                    json_t *doc,
                    struct err *err)
{
    int rc = ERR_NOTFOUND;
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(log_kinds) && rc == ERR_NOTFOUND; i++) {
        ask->kind = log_kinds[i];
        if (kind && strcmp(kind, attempt_kind_name(ask->kind)) != 0)
            continue;
        known = true;
        rc = ask_log(c, ask, doc, err);
    }
    if (!known)
        rc = err_set(err, ERR_INVALID,
                     "parameter kind=%s is not map, reduce, whole or sample",
                     kind);
    return rc;
}

int subject_job_log(struct monitor *m,
                    const struct monitor_param *params,
                    size_t count,
                    json_t *doc,
                    struct err *err)
{
    struct job_client *c;
    const char *id;
    const char *needed;
    uint64_t task = 0;
    uint64_t attempt = 0;
    uint64_t part = 1;
    struct job_log_ask ask;
    int rc = monitor_param_need(params, count, "id", &id, err);
    if (rc == 0)
        rc = monitor_param_need(params, count, "task", &needed, err);
    if (rc == 0)
        rc = monitor_param_need(params, count, "attempt", &needed, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "task", 0, UINT32_MAX, &task,
                                  err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "attempt", 1, UINT32_MAX,
                                  &attempt, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "part", 1, UINT32_MAX, &part,
                                  err);
    if (rc == 0)
        rc = monitor_jobs(m, &c, err);
    if (rc)
        return rc;
    ask = (struct job_log_ask){.id = slice_str(id),
                               .part = (uint32_t)part,
                               .task = (uint32_t)task,
                               .attempt = (uint32_t)attempt};
    doc_put_str(doc, "id", id);
    return ask_logs(c, &ask, monitor_param_value(params, count, "kind"), doc,
                    err);
}
