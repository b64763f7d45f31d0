/* Sawzall programs over a table of a cluster: run by the tablet servers, each
 * over the tablets it has, some tablets at a time; the partial tables that come
 * back are merged here, in the order of rows.
 *
 * Programs that only this process can run (those that write, include others, or
 * use files), and all whose read is ordered or has a row limit, run here, over
 * a scan.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/fan_out.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/row_set.h"
#include "bigtable/client/options_copy.h"
#include "bigtable/read/script.h"
#include "sawzall-lite/sawzall.h"

#define WORKERS     32
#define LIMIT_US    500000 /* Of one call: how soon a cancellation is seen. */
#define RANGES_MAX  ((size_t)4096)
#define RANGE_BYTES ((size_t)1 << 20)

/* The rows of one tablet, as it was when they were taken. */
struct piece {
    struct piece *next; /* In the order of rows. */
    struct buf at;      /* Where it begins, later where it continues. */
    struct buf end;     /* Empty: no bound. */
    bool done;
    struct buf *states; /* Owned: partial tables, in order. */
    size_t state_count;
};

struct program_job {
    struct cluster_table *table; /* Reference. */
    const struct quarry_read_options *opts;
    struct options_copy copy;
    struct row_set set;
    struct saw_run *run;    /* The caller's: its program and options. */
    struct saw_run *merged; /* Owned: what came so far. */
    struct mutex mutex;     /* Of taking a piece. */
    struct buf at;          /* No piece was taken of the rows from here on. */
    bool all_taken;
    struct piece *first; /* Taken, and not merged yet. */
    struct piece **last;
    uint64_t rows;
};

static bool is_cancelled(const struct program_job *j)
{
    const atomic_bool *of_run = saw_run_options(j->run)->cancel;
    const atomic_bool *of_read = j->opts ? j->opts->cancel : NULL;
    return (of_run && atomic_load(of_run)) || (of_read && atomic_load(of_read));
}

/* --- pieces -------------------------------------------------------------- */

static void free_piece(struct piece *p)
{
    for (size_t i = 0; i < p->state_count; i++)
        buf_close(&p->states[i]);
    mem_free(p->states);
    buf_close(&p->at);
    buf_close(&p->end);
    mem_free(p);
}

static int cluster_program_locate(struct program_job *j,
                                  struct slice row,
                                  struct location **out,
                                  struct err *err)
{
    struct retry retry = {.cluster = j->table->cluster};
    int rc;
    do {
        rc = cluster_table_refresh(j->table, err);
        if (rc == 0)
            rc = locator_find(j->table->cluster->locator, j->table->id, row,
                              out, err);
    } while (rc && retry_again(&retry, &rc, err));
    return rc;
}

/* The rows of the next tablet. PRE: the mutex is held. */
static int
next_piece(struct program_job *j, struct piece **out, struct err *err)
{
    struct location *where;
    struct piece *p;
    struct slice row;
    int rc;
    if (j->all_taken || !row_set_next(&j->set, buf_slice(&j->at), &row)) {
        j->all_taken = true;
        return 0;
    }
    rc = cluster_program_locate(j, row, &where, err);
    if (rc)
        return rc;
    p = mem_zalloc(1, sizeof(*p));
    buf_append_slice(&p->at, row);
    buf_append_slice(&p->end, where->end);
    location_unref(where);
    j->all_taken = p->end.len == 0;
    buf_clear(&j->at);
    buf_append_slice(&j->at, buf_slice(&p->end));
    *j->last = p;
    j->last = &p->next;
    *out = p;
    return 0;
}

/* *@out is NULL when all are taken. */
static int
take_piece(struct program_job *j, struct piece **out, struct err *err)
{
    int rc;
    *out = NULL;
    mutex_lock(&j->mutex);
    rc = next_piece(j, out, err);
    mutex_unlock(&j->mutex);
    return rc;
}

/* Add up what is complete, in the order of rows. */
static int merge_done(struct program_job *j, struct err *err)
{
    int rc = 0;
    while (j->first && j->first->done && rc == 0) {
        struct piece *p = j->first;
        for (size_t i = 0; i < p->state_count && rc == 0; i++)
            rc = saw_run_merge_tables(j->merged, buf_slice(&p->states[i]), err);
        j->first = p->next;
        if (!j->first)
            j->last = &j->first;
        free_piece(p);
    }
    return rc;
}

/* --- calls --------------------------------------------------------------- */

static void put_request(const struct program_job *j,
                        const struct location *where,
                        const struct piece *p,
                        struct slice *stop,
                        struct buf *body)
{
    const struct saw_run_options *run = saw_run_options(j->run);
    struct quarry_range *ranges = mem_alloc(RANGES_MAX * sizeof(*ranges));
    struct quarry_read_options o = j->copy.options;
    struct saw_compile_options compile;
    struct run_request r = {
        .tablet = where->tablet,
        .generation = j->table->generation,
        .source = saw_program_source(saw_run_program(j->run), &compile),
        .fuel = run->fuel_per_record,
        .memory_max = run->memory_bytes_max,
        .limit_us = LIMIT_US,
        .settings = {.ignore_undefs = compile.ignore_undefs,
                     .defer_tables = compile.defer_tables,
                     .depth_max = run->depth_max,
                     .seed = run->seed,
                     .has_table_output = run->table_output != NULL,
                     .table_output = slice_str(
                         run->table_output ? run->table_output : "")}};
    struct slice end = buf_slice(&p->end);
    struct buf options = BUF_INIT;
    if (end.len == 0 || (where->end.len && slice_cmp(where->end, end) < 0))
        end = where->end;
    o.ranges = ranges;
    o.range_count = row_set_part(&j->set, buf_slice(&p->at), end, RANGE_BYTES,
                                 ranges, RANGES_MAX, stop);
    read_options_put(&o, &options);
    r.options = buf_slice(&options);
    run_request_put(&r, body);
    buf_close(&options);
    mem_free(ranges);
}

/* Continue at @key, which may point into p->at; empty: the table is done. */
static void piece_continue(struct piece *p, struct slice key)
{
    struct buf at = BUF_INIT;
    buf_append_slice(&at, key);
    p->done =
        key.len == 0 || (p->end.len && slice_cmp(key, buf_slice(&p->end)) >= 0);
    buf_close(&p->at);
    p->at = at;
}

static void keep_state(struct piece *p, struct buf *state)
{
    if (state->len == 0)
        return;
    p->states =
        mem_realloc(p->states, (p->state_count + 1) * sizeof(*p->states));
    p->states[p->state_count++] = *state;
    *state = BUF_INIT;
}

static int run_some(struct program_job *j, struct piece *p, struct err *err)
{
    struct cluster *c = j->table->cluster;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct buf state = BUF_INIT;
    struct run_reply r;
    struct location *where;
    struct slice stop;
    int rc = cluster_table_refresh(j->table, err);
    if (rc == 0)
        rc = locator_find(c->locator, j->table->id, buf_slice(&p->at), &where,
                          err);
    if (rc)
        return rc;
    put_request(j, where, p, &stop, &body);
    rc = tablet_call(c, where, TABLET_RUN, NULL, buf_slice(&body), SLICE_EMPTY,
                     &reply, &state, err);
    if (rc == 0)
        rc = run_reply_get(buf_slice(&reply), &r, err);
    if (rc == 0) {
        j->rows += r.row_count;
        keep_state(p, &state);
        piece_continue(p, r.done ? stop : r.next);
    }
    location_unref(where);
    buf_close(&body);
    buf_close(&reply);
    buf_close(&state);
    return rc;
}

static int run_piece(struct program_job *j, struct piece *p, struct err *err)
{
    struct retry retry = {.cluster = j->table->cluster};
    int rc = 0;
    while (!p->done) {
        struct slice row;
        if (is_cancelled(j))
            return err_set(err, ERR_CANCELLED, "cancelled");
        /* Skip rows that are not in the set. */
        if (!row_set_next(&j->set, buf_slice(&p->at), &row) ||
            (p->end.len && slice_cmp(row, buf_slice(&p->end)) >= 0)) {
            p->done = true;
            break;
        }
        piece_continue(p, row);
        p->done = false; /* Also where the first row there can be is "". */
        rc = run_some(j, p, err);
        if (rc == 0)
            retry.tries = 0;
        else if (!retry_again(&retry, &rc, err))
            return rc;
    }
    return 0;
}

static int run_next(void *ctx, bool *more, struct err *err)
{
    struct program_job *j = ctx;
    struct piece *p;
    int rc = take_piece(j, &p, err);
    *more = p != NULL;
    if (rc == 0 && p)
        rc = run_piece(j, p, err);
    if (rc == 0)
        rc = merge_done(j, err);
    return rc;
}

/* --- at the servers ------------------------------------------------------ */

static void job_close(struct program_job *j)
{
    while (j->first) {
        struct piece *p = j->first;
        j->first = p->next;
        free_piece(p);
    }
    options_copy_close(&j->copy);
    row_set_close(&j->set);
    buf_close(&j->at);
    mutex_close(&j->mutex);
    saw_run_free(j->merged);
}

static int run_on_loop(void *arg, struct err *err)
{
    struct program_job *j = arg;
    struct saw_run_options opts = *saw_run_options(j->run);
    struct buf state = BUF_INIT;
    int rc = options_copy_init(&j->copy, j->opts, err);
    if (rc)
        return rc;
    cluster_table_ref(j->table);
    j->copy.options.program = NULL;
    j->last = &j->first;
    row_set_init(&j->set, j->opts);
    mutex_init(&j->mutex);
    rc = saw_run_new(saw_run_program(j->run), &opts, &j->merged, err);
    if (rc == 0)
        rc = fan_out(j->table->cluster->loop, WORKERS, run_next, j, err);
    if (rc == 0) {
        saw_run_encode_tables(j->merged, &state);
        rc = saw_run_merge_tables(j->run, buf_slice(&state), err);
    }
    buf_close(&state);
    job_close(j);
    cluster_table_unref(j->table);
    return rc;
}

/* Would a tablet server take the program? It compiles it by itself, without
 * what lies beside. */
static bool is_portable(const struct saw_run *run)
{
    struct saw_compile_options opts;
    struct slice source = saw_program_source(saw_run_program(run), &opts);
    struct buf diagnostics = BUF_INIT;
    struct saw_program *p = NULL;
    bool ok;
    opts.restricted = true;
    ok = saw_compile(&opts, source, "program", &p, &diagnostics) == 0;
    saw_program_free(p);
    buf_close(&diagnostics);
    return ok;
}

/* --- here ---------------------------------------------------------------- */

static int run_here(struct quarry_table *t,
                    const struct quarry_read_options *opts,
                    struct saw_run *run,
                    uint64_t *rows,
                    struct err *err)
{
    struct quarry_read_options o = {.versions = 0};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    int rc;
    if (opts)
        o = *opts;
    o.program = NULL;
    rc = cluster_scan(t, &o, &s, err);
    if (rc)
        return rc;
    while ((rc = cluster_scanner_next(s, &row, err)) == 0 && row) {
        if (o.cancel && atomic_load(o.cancel)) {
            rc = err_set(err, ERR_CANCELLED, "cancelled");
            break;
        }
        rc = script_run_row(run, row, err);
        if (rc)
            break;
        ++*rows;
    }
    cluster_scanner_close(s);
    return rc;
}

int cluster_run_program(struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        struct saw_run *run,
                        uint64_t *row_count,
                        struct err *err)
{
    struct program_job j = {.table = t->remote, .opts = opts, .run = run};
    bool here =
        (opts && (opts->ordered || opts->row_limit)) || !is_portable(run);
    struct err mine = ERR_INIT;
    uint64_t rows = 0;
    int rc = 0;
    if (!err)
        err = &mine;
    if (!here) {
        rc = cluster_do(t->quarry->cluster, "tables run", CLUSTER_NO_TIMEOUT,
                        run_on_loop, &j, err);
        rows = j.rows;
        here = rc == ERR_ABORTED && err->detail == ERR_DETAIL_PROGRAM_WRITES;
    }
    if (here) {
        rows = 0;
        *err = ERR_INIT;
        rc = run_here(t, opts, run, &rows, err);
    }
    if (row_count)
        *row_count = rows;
    return rc;
}
