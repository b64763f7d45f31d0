/* Sawzall programs over a table: the rows are cut into pieces, tasks run the
 * program over them, and the tables of their runs are merged.
 *
 * Pieces are more than tasks, so that a task that is done early takes another.
 * Their results are merged in the order of rows, which keeps what depends on it
 * (collections) the same in every run. A program that writes, and a read that
 * is ordered or has a row limit, runs over all rows on the caller's thread.
 */
#include <stdatomic.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/read/script.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "sawzall-lite/sawzall.h"

#define PIECES_PER_TASK 4
#define TASKS_MAX       64

struct piece {
    struct buf state; /* Encoded tables. */
    uint64_t rows;
};

struct program_job {
    struct quarry_table *table;
    const struct quarry_read_options *opts;
    struct saw_run *run; /* Its tables get the results. */
    struct slice *cuts;  /* Rows that cut the table; owned. */
    struct piece *pieces;
    size_t piece_count; /* One more than cuts. */
    struct mutex lock;  /* Of what follows. */
    size_t next;        /* Piece to be taken. */
    struct err err;     /* Of the first failure. */
    bool writes;        /* The program writes: it cannot run like this. */
    atomic_bool stop;
};

/* --- one run over some rows ---------------------------------------------- */

static bool is_cancelled(const struct quarry_read_options *opts)
{
    return opts && opts->cancel && atomic_load(opts->cancel);
}

/* Run @run over the rows of @r. */
static int run_rows(struct saw_run *run,
                    struct prepared_read *r,
                    const struct quarry_read_options *opts,
                    const atomic_bool *stop,
                    uint64_t *rows,
                    struct err *err)
{
    const struct quarry_row *row;
    struct scan *scan;
    int rc =
        scan_new(r->view, &r->spec,
                 tablet_env_age_us(&r->table->quarry->store->env), &scan, err);
    if (rc)
        return rc;
    for (;;) {
        rc = scan_next(scan, &row, err);
        if (rc || !row)
            break;
        if (is_cancelled(opts) || (stop && atomic_load(stop))) {
            rc = err_set(err, ERR_CANCELLED, "cancelled");
            break;
        }
        rc = script_run_row(run, row, err);
        if (rc)
            break;
        ++*rows;
    }
    scan_free(scan);
    return rc;
}

static int embedded_program_prepare(struct prepared_read *r,
                                    struct quarry_table *t,
                                    const struct quarry_read_options *opts,
                                    const struct saw_program *program,
                                    struct err *err)
{
    prepared_read_init(r, t, opts);
    if (!r->view)
        return err_copy(err, &r->err);
    script_narrow(program, r->view->schema, &r->spec);
    return 0;
}

/* All rows, one after the other, on the caller's run. */
static int run_ordered(struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct saw_run *run,
                       uint64_t *rows,
                       struct err *err)
{
    struct prepared_read r;
    int rc = embedded_program_prepare(&r, t, opts, saw_run_program(run), err);
    if (rc == 0)
        rc = run_rows(run, &r, opts, NULL, rows, err);
    prepared_read_close(&r);
    return rc;
}

/* --- pieces -------------------------------------------------------------- */

static int
refuse_output(void *ctx, const char *path, struct slice text, struct err *err)
{
    struct program_job *job = ctx;
    (void)text;
    mutex_lock(&job->lock);
    job->writes = true;
    mutex_unlock(&job->lock);
    return err_set(err, ERR_ABORTED, "output to %s", path);
}

static int run_piece(struct program_job *job, size_t i, struct err *err)
{
    struct saw_run_options opts = *saw_run_options(job->run);
    struct saw_run *run = NULL;
    struct prepared_read r;
    int rc = embedded_program_prepare(&r, job->table, job->opts,
                                      saw_run_program(job->run), err);
    opts.cancel = &job->stop;
    opts.write = refuse_output;
    opts.write_ctx = job;
    if (rc == 0) {
        read_spec_clip(&r.spec, i ? job->cuts[i - 1] : SLICE_EMPTY,
                       i + 1 < job->piece_count ? job->cuts[i] : SLICE_EMPTY);
        rc = saw_run_new(saw_run_program(job->run), &opts, &run, err);
    }
    if (rc == 0)
        rc =
            run_rows(run, &r, job->opts, &job->stop, &job->pieces[i].rows, err);
    if (rc == 0)
        saw_run_encode_tables(run, &job->pieces[i].state);
    saw_run_free(run);
    prepared_read_close(&r);
    return rc;
}

static bool take_piece(struct program_job *job, size_t *i)
{
    bool more;
    mutex_lock(&job->lock);
    more = job->next < job->piece_count && !atomic_load(&job->stop);
    if (more)
        *i = job->next++;
    mutex_unlock(&job->lock);
    return more;
}

static void run_pieces(void *arg)
{
    struct program_job *job = arg;
    size_t i;
    while (take_piece(job, &i)) {
        struct err err = ERR_INIT;
        int rc = run_piece(job, i, &err);
        if (rc == 0)
            continue;
        mutex_lock(&job->lock);
        if (job->err.code == 0)
            job->err = err;
        mutex_unlock(&job->lock);
        atomic_store(&job->stop, true);
    }
}

static int merge_pieces(struct program_job *job,
                        struct saw_run *run,
                        uint64_t *rows,
                        struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < job->piece_count && rc == 0; i++) {
        *rows += job->pieces[i].rows;
        rc = saw_run_merge_tables(run, buf_slice(&job->pieces[i].state), err);
    }
    return rc;
}

static void run_tasks(struct program_job *job, unsigned count)
{
    struct world *w = job->table->quarry->world;
    struct task *tasks[TASKS_MAX];
    for (unsigned i = 0; i < count; i++)
        tasks[i] = task_start(w, "quarry-script", run_pieces, job);
    for (unsigned i = 0; i < count; i++)
        task_join(tasks[i]);
}

static void close_job(struct program_job *job)
{
    for (size_t i = 0; i < job->piece_count; i++)
        buf_close(&job->pieces[i].state);
    mem_free(job->pieces);
    mem_free(job->cuts);
    mutex_close(&job->lock);
}

/* In parallel; *@writes tells that the program must run in order instead. */
static int run_parallel(struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        struct saw_run *run,
                        unsigned tasks,
                        bool *writes,
                        uint64_t *rows,
                        struct err *err)
{
    struct program_job job = {.table = t, .opts = opts, .run = run};
    size_t cuts;
    int rc = table_split_points(t->table, (size_t)tasks * PIECES_PER_TASK,
                                &job.cuts, &cuts, err);
    if (rc)
        return rc;
    job.piece_count = cuts + 1;
    job.pieces = mem_zalloc(job.piece_count, sizeof(*job.pieces));
    mutex_init(&job.lock);
    run_tasks(&job, (unsigned)MIN_OF(tasks, job.piece_count));
    *writes = job.writes;
    if (job.err.code)
        rc = err_copy(err, &job.err);
    else
        rc = merge_pieces(&job, run, rows, err);
    close_job(&job);
    return rc;
}

int embedded_run_program(struct quarry_table *t,
                         const struct quarry_read_options *opts,
                         struct saw_run *run,
                         uint64_t *row_count,
                         struct err *err)
{
    unsigned cpus = world_cpu_count(t->quarry->world);
    unsigned tasks = MIN_OF(cpus, TASKS_MAX);
    bool ordered = opts && (opts->ordered || opts->row_limit);
    uint64_t rows = 0;
    bool writes = false;
    int rc = 0;
    if (tasks > 1 && !ordered)
        rc = run_parallel(t, opts, run, tasks, &writes, &rows, err);
    if (tasks <= 1 || ordered || writes)
        rc = run_ordered(t, opts, run, &rows, err);
    if (row_count)
        *row_count = rows;
    return rc;
}
