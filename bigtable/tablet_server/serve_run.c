/* Sawzall programs over the rows of a tablet: the program's tables travel to
 * the client, not the rows. A call runs until the tablet ends or its time is
 * up; the client merges the partial tables of all calls. A program that writes
 * to outputs is refused, and runs at the client. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/read/script.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet_server/programs.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "sawzall-lite/sawzall.h"

/* An answer is given after this time, unless the client sets another. */
#define ANSWER_US_DEFAULT UINT64_C(1000000)
#define ANSWER_US_MAX     UINT64_C(10000000)
#define PROGRESS_ROWS     256

struct run_job {
    struct tablet_server *server;
    struct serving serving;
    struct run_request request;
    struct shared_program *program;
    char *table_output;
    struct saw_run *run;
    uint64_t end_ns;
    bool writes;
    struct run_reply reply;
    struct buf next;
    struct buf *tables; /* The attachment. */
    int rc;
    struct err err;
};

static int
refuse_output(void *ctx, const char *path, struct slice text, struct err *err)
{
    struct run_job *j = ctx;
    (void)text;
    j->writes = true;
    err_set(err, ERR_ABORTED, "the program writes to %s", path);
    err_set_detail(err, ERR_DETAIL_PROGRAM_WRITES, "");
    return ERR_ABORTED;
}

static int open_run(struct run_job *j, struct err *err)
{
    const struct run_settings *set = &j->request.settings;
    uint64_t memory = j->request.memory_max;
    struct saw_run_options o = {
        .fuel_per_record = script_fuel(j->request.fuel),
        .memory_bytes_max =
            memory ? MIN_OF(memory, SCRIPT_BYTES_MAX) : SCRIPT_BYTES_MAX,
        .depth_max = set->depth_max,
        .cancel = &j->server->over,
        .write = refuse_output,
        .write_ctx = j,
        .seed = set->seed,
    };

    PRE(j->program);
    PRE(!j->run);
    if (set->has_table_output) {
        j->table_output =
            mem_strndup(set->table_output.data, set->table_output.len);
        o.table_output = j->table_output;
    }
    return saw_run_new(program_code(j->program), &o, &j->run, err);
}

static void continue_after(struct run_job *j, struct slice row)
{
    buf_append_slice(&j->next, row);
    buf_append_byte(&j->next, '\0');
}

static bool is_late(const struct run_job *j)
{
    return world_mono_ns(j->server->world) >= j->end_ns;
}

static int run_rows(struct run_job *j, struct err *err)
{
    const struct quarry_row *row;
    struct scan *scan;
    int rc = scan_new(j->serving.view, &j->serving.spec,
                      tablet_env_age_us(&j->server->store->env), &scan, err);

    PRE(j->run);
    PRE(j->serving.view);
    if (rc)
        return rc;
    while ((rc = scan_next(scan, &row, err)) == 0 && row) {
        if (row->cell_count > 0) {
            rc = script_run_row(j->run, row, err);
            if (rc)
                break;
            j->reply.row_count++;
        }
        if (is_late(j)) {
            continue_after(j, row->key);
            break;
        }
    }
    j->reply.done = rc == 0 && !row;
    POST(rc || j->reply.done || j->next.len > 0);
    scan_free(scan);
    return rc;
}

static void serve_run_on_thread(void *arg)
{
    struct run_job *j = arg;
    const struct run_settings *set = &j->request.settings;

    PRE(j->serving.view);
    PRE(j->end_ns > 0);
    j->rc =
        program_get(j->server->programs, j->request.source, set->ignore_undefs,
                    set->defer_tables, &j->program, &j->err);
    log_debug(j->server->world, "sawzall",
              "program bytes=%zu tablet=%llu code=%d", j->request.source.len,
              (unsigned long long)j->request.tablet, j->rc);
    if (j->rc == 0)
        j->rc = open_run(j, &j->err);
    if (j->rc)
        return;
    script_narrow(program_code(j->program), j->serving.view->schema,
                  &j->serving.spec);
    j->rc = run_rows(j, &j->err);
    if (j->rc == 0)
        saw_run_encode_tables(j->run, j->tables);
}

static int serve_run_prepare(struct run_job *j,
                             struct slice principal,
                             struct arena *a,
                             struct err *err)
{
    uint64_t us = j->request.limit_us ? j->request.limit_us : ANSWER_US_DEFAULT;
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
    j->serving.spec.progress_rows = PROGRESS_ROWS;
    j->end_ns =
        world_mono_ns(j->server->world) + MIN_OF(us, ANSWER_US_MAX) * 1000;
    quarry_filter_free((struct quarry_filter *)(uintptr_t)o.filter);
    return rc;
}

static void close_job(struct run_job *j)
{
    saw_run_free(j->run);
    mem_free(j->table_output);
    program_unref(j->program);
    serving_end(&j->serving);
    buf_close(&j->next);
}

int handle_run(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct run_job j = {.server = s, .tables = call->reply_attachment};
    uint64_t start_ns = world_mono_ns(j.server->world);
    uint64_t took_ns;
    struct arena a;
    int rc = run_request_get(call->body, &j.request, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    arena_init(&a);
    rc = serve_run_prepare(&j, call->principal, &a, err);
    if (rc == 0) {
        reader_pool_run(j.server->readers, serve_run_on_thread, &j);
        rc = j.rc ? err_copy(err, &j.err) : check_answer(j.server, err);
        atomic_fetch_add(&j.serving.served->reads, j.reply.row_count);
        rules_pay(j.server, j.serving.served, call->principal, RATE_READS,
                  j.reply.row_count, j.tables->len);
        took_ns = world_mono_ns(j.server->world) - start_ns;
        atomic_fetch_add(&j.serving.served->cpu_us, took_ns / 1000);
        metric_observe(j.serving.served->meters.scan_seconds, took_ns);
        metric_add(j.serving.served->meters.read_rows, j.reply.row_count);
        if (j.run)
            server_count_fuel(s, false, saw_run_fuel(j.run));
    }
    if (rc == 0) {
        j.reply.next = buf_slice(&j.next);
        run_reply_put(&j.reply, call->reply_body);
    }
    close_job(&j);
    arena_close(&a);
    return rc;
}
