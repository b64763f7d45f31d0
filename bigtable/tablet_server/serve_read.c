/* Reading rows: an answer has as many rows as fit, and the row to continue at.
 * The server keeps no state between the answers of a scan. A single row is read
 * on the loop, because it is mostly in memory; all other reads run on a reader
 * thread. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/quarry.h"
#include "bigtable/read/script.h"
#include "bigtable/row/explain.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/programs.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* Bytes of an answer, unless the client asks for less. */
#define ANSWER_BYTES_DEFAULT ((size_t)1 << 20)
#define ANSWER_BYTES_MAX     ((size_t)16 << 20)
/* An answer without rows is given after this time, or after this number of rows
 * without a match. */
#define ANSWER_US     UINT64_C(500000)
#define PROGRESS_ROWS 256

struct read_job {
    struct tablet_server *server;
    struct serving serving;
    struct read_request request;
    bool has_script;
    struct slice source; /* Of it; borrowed from the request. */
    uint64_t fuel;
    struct shared_program *program;
    struct script_filter *script;
    struct buf *rows; /* The attachment. */
    uint64_t row_limit;
    size_t bytes_max;
    uint64_t end_ns;
    struct quarry_explain *explain; /* NULL: it was not asked for. */
    uint64_t queued_ns;             /* When it began to wait for a thread. */
    struct read_reply reply;
    struct buf next;
    int rc;
    struct err err;
};

/* --- explained scans ----------------------------------------------------- */

static uint64_t world_clock(void *world)
{
    return world_mono_ns(world);
}

static void begin_explained(struct read_job *j)
{
    PRE(!j->explain);
    if (!j->request.explain)
        return;
    j->explain = j->serving.spec.explain = explain_new();
    explain_begin(j->explain, j->serving.spec.filter, j->has_script,
                  world_clock, j->server->world);
}

/* Time of the call that no part of the scan has. */
static uint64_t time_of_rest(const struct explain_tablet *t, uint64_t took_ns)
{
    uint64_t known = t->scan_ns + t->counts.time_program + t->counts.time_queue;
    return took_ns > known ? took_ns - known : 0;
}

/* The record of the answer, into @out: nothing if no tablet was read. */
static void
put_explained(struct read_job *j, uint64_t begin_ns, struct buf *out)
{
    struct quarry_explain *e = j->explain;
    if (!e || e->tablet_count == 0)
        return;
    PRE(e->tablet_count == 1); /* One is served in a part of a table. */
    explain_end(e);
    e->tablets[0]->counts.time_answering =
        time_of_rest(e->tablets[0], world_mono_ns(j->server->world) - begin_ns);
    explain_put(e->tablets[0], out);
    j->reply.explain = buf_slice(out);
}

static int run_script_explained(struct read_job *j,
                                struct explain_tablet *t,
                                const struct quarry_row *row,
                                struct err *err)
{
    PRE(j->script);

    uint64_t begin_ns = explain_now(j->explain);
    int rc = script_filter_run(j->script, row, err);
    explain_program(t, explain_now(j->explain) - begin_ns, row->cell_count,
                    script_filter_fuel(j->script));
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

/* The next answer begins at the first row after @row. */
static void continue_after(struct read_job *j, struct slice row)
{
    PRE(!j->reply.done);
    buf_clear(&j->next);
    buf_append_slice(&j->next, row);
    buf_append_byte(&j->next, '\0');
}

static void put_row_out(struct read_job *j,
                        struct explain_tablet *t,
                        const struct quarry_row *row)
{
    PRE(!t || j->explain);
    row_put(row, j->rows);
    j->reply.row_count++;
    if (UNLIKELY(t))
        explain_row_out(t, row, j->script != NULL);
}

static void put_rows_kept(struct read_job *j, struct explain_tablet *t)
{
    const struct quarry_row *row;

    PRE(j->script);
    while ((row = script_filter_next(j->script)) != NULL)
        put_row_out(j, t, row);
}

/* Append one row of the scan to the answer; @t is NULL unless it is explained.
 */
static int put_row(struct read_job *j,
                   struct explain_tablet *t,
                   const struct quarry_row *row,
                   struct err *err)
{
    int rc;
    if (row->cell_count == 0)
        return 0; /* It only reports the progress of the scan. */
    if (!j->script) {
        put_row_out(j, t, row);
        return 0;
    }
    rc = t ? run_script_explained(j, t, row, err)
           : script_filter_run(j->script, row, err);
    if (rc == 0)
        put_rows_kept(j, t);
    return rc;
}

static bool is_full(const struct read_job *j)
{
    return j->rows->len >= j->bytes_max ||
           (j->row_limit && j->reply.row_count >= j->row_limit) ||
           (j->end_ns && world_mono_ns(j->server->world) >= j->end_ns);
}

static int read_rows(struct read_job *j, struct err *err)
{
    const struct quarry_row *row;
    struct scan *scan;
    int rc = scan_new(j->serving.view, &j->serving.spec,
                      tablet_env_age_us(&j->server->store->env), &scan, err);

    PRE(j->serving.view);
    if (rc)
        return rc;
    while ((rc = scan_next(scan, &row, err)) == 0 && row) {
        rc = put_row(j, scan_explained(scan), row, err);
        if (rc)
            break;
        if (is_full(j)) {
            continue_after(j, row->key);
            break;
        }
    }
    if (rc == 0 && j->script) {
        script_filter_end(j->script);
        put_rows_kept(j, scan_explained(scan));
    }
    j->reply.done = rc == 0 && !row;
    POST(rc || j->reply.done || j->next.len > 0);
    scan_free(scan);
    return rc;
}

/* Each call of a scan carries the program's text; it is compiled and run on a
 * thread of the pool. */
static int open_script(struct read_job *j, struct err *err)
{
    int rc;
    PRE(!j->script);
    PRE(!j->program);
    if (script_is_native(j->source))
        return script_filter_new(j->source, j->fuel, &j->script, err);
    rc = program_get(j->server->programs, j->source, false, false, &j->program,
                     err);
    return rc ? rc
              : script_filter_make(program_code(j->program), j->fuel,
                                   &j->server->over, &j->script, err);
}

static void run_read(void *arg)
{
    struct read_job *j = arg;
    uint64_t queue_ns = j->explain ? explain_now(j->explain) - j->queued_ns : 0;
    if (j->has_script)
        j->rc = open_script(j, &j->err);
    if (j->rc == 0)
        j->rc = read_rows(j, &j->err);
    if (j->explain && j->explain->tablet_count)
        j->explain->tablets[0]->counts.time_queue = queue_ns;
}

static bool is_single_row(const struct read_job *j)
{
    const struct read_spec *s = &j->serving.spec;

    PRE(j->serving.view);
    return !j->has_script &&
           (s->none || (s->span_count == 1 && s->spans[0].single));
}

static void serve_read_trace(const struct read_job *j)
{
    struct span *s = span_here();
    span_text(s, "table", slice_str(j->serving.served->table->name));
    span_number(s, "tablet", (int64_t)j->serving.served->id);
    span_number(s, "rows", (int64_t)j->reply.row_count);
}

static int serve_read_run(struct read_job *j, struct err *err)
{
    struct served *t = j->serving.served;
    uint64_t start_ns = world_mono_ns(j->server->world);
    uint64_t took_ns;
    PRE(j->serving.view);
    PRE(j->rc == 0);
    j->queued_ns = start_ns;
    if (is_single_row(j)) {
        run_read(j); /* Mostly from memory; a file is waited for by parking. */
    } else {
        j->end_ns = start_ns + ANSWER_US * 1000;
        reader_pool_run(j->server->readers, run_read, j);
    }
    atomic_fetch_add(&t->reads, MAX_OF(j->reply.row_count, 1));
    took_ns = world_mono_ns(j->server->world) - start_ns;
    atomic_fetch_add(&t->cpu_us, took_ns / 1000);
    metric_observe(is_single_row(j) ? t->meters.read_seconds
                                    : t->meters.scan_seconds,
                   took_ns);
    metric_add(t->meters.read_rows, j->reply.row_count);
    serve_read_trace(j);
    if (j->script)
        server_count_fuel(j->server, true, script_filter_fuel(j->script));
    return j->rc ? err_copy(err, &j->err) : 0;
}

static void note_script(struct read_job *j, const struct quarry_read_options *o)
{
    j->has_script = o->program != NULL;
    j->serving.spec.row_limit = j->has_script ? 0 : j->row_limit;
    if (!j->serving.spec.progress_rows)
        j->serving.spec.progress_rows = PROGRESS_ROWS;
    j->source = slice_make(o->program, o->program_len);
    j->fuel = o->program_fuel;
}

static int serve_read_prepare(struct read_job *j,
                              struct slice principal,
                              struct arena *a,
                              struct err *err)
{
    struct quarry_read_options o = {.versions = 0};
    int rc = read_options_get(j->request.options, a, &o, err);
    if (rc)
        return rc;
    rc = serving_begin(j->server, &j->serving, j->request.tablet,
                       j->request.generation, err);
    if (rc == 0)
        rc = serving_spec(&j->serving, &o, j->request.from, err);
    if (rc == 0)
        rc = serving_may_read(j->server, &j->serving, principal, err);
    if (rc == 0)
        note_script(j, &o);
    if (rc == 0)
        begin_explained(j);
    quarry_filter_free((struct quarry_filter *)(uintptr_t)o.filter);
    return rc;
}

int handle_read(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct read_job j = {.server = s, .rows = call->reply_attachment};
    uint64_t begin_ns = world_mono_ns(s->world);
    struct buf explained = BUF_INIT;
    struct arena a;
    int rc = read_request_get(call->body, &j.request, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    arena_init(&a);
    j.row_limit = j.request.row_limit;
    j.bytes_max = j.request.bytes_max
                      ? MIN_OF(j.request.bytes_max, ANSWER_BYTES_MAX)
                      : ANSWER_BYTES_DEFAULT;
    rc = serve_read_prepare(&j, call->principal, &a, err);
    if (rc == 0)
        rc = serve_read_run(&j, err);
    if (rc == 0)
        rules_pay(j.server, j.serving.served, call->principal, RATE_READS,
                  MAX_OF(j.reply.row_count, 1), j.rows->len);
    if (rc == 0)
        rc = check_answer(j.server, err);
    if (rc == 0) {
        j.reply.next = buf_slice(&j.next);
        put_explained(&j, begin_ns, &explained);
        read_reply_put(&j.reply, call->reply_body);
    }
    explain_free(j.explain);
    buf_close(&explained);
    script_filter_free(j.script);
    program_unref(j.program);
    serving_end(&j.serving);
    buf_close(&j.next);
    arena_close(&a);
    return rc;
}
