/* Scanners of the store: a row is handed out in the memory of the scan and is
 * valid until the next call, so a row costs no copy.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/read/script.h"
#include "bigtable/row/explain.h"
#include "bigtable/store/store.h"

struct embedded_scanner {
    struct quarry_scanner base;
    struct prepared_read read; /* Outlives the scan, which borrows from it. */
    struct scan *scan;
    struct script_filter *script; /* NULL: rows as they are. */
    uint64_t row_limit;           /* Of kept rows; 0: none. */
    uint64_t rows;
    struct quarry_explain *explain; /* Borrowed; NULL: not explained. */
};

/* A program counts the rows it keeps, so the limit is the scanner's then. */
static int open_script(struct embedded_scanner *s,
                       const struct quarry_read_options *opts,
                       struct err *err)
{
    if (!opts || !opts->program)
        return 0;
    s->row_limit = opts->row_limit;
    s->read.spec.row_limit = 0;
    return script_filter_new(slice_make(opts->program, opts->program_len),
                             opts->program_fuel, &s->script, err);
}

static uint64_t world_clock(void *world)
{
    return world_mono_ns(world);
}

int embedded_scan(struct quarry_table *t,
                  const struct quarry_read_options *opts,
                  struct quarry_scanner **out,
                  struct err *err)
{
    struct embedded_scanner *s = mem_zalloc(1, sizeof(*s));
    int rc;
    *out = NULL;
    prepared_read_init(&s->read, t, opts);
    rc = s->read.view ? open_script(s, opts, err) : err_copy(err, &s->read.err);
    if (rc == 0 && opts && opts->explain) {
        s->explain = s->read.spec.explain = opts->explain;
        explain_begin(s->explain, s->read.spec.filter, s->script != NULL,
                      world_clock, t->quarry->world);
    }
    if (rc == 0)
        rc = scan_new(s->read.view, &s->read.spec,
                      tablet_env_age_us(&t->quarry->store->env), &s->scan, err);
    if (rc) {
        embedded_scanner_close(&s->base);
        return rc;
    }
    POST(s->scan != NULL);
    s->base.ops = t->ops;
    *out = &s->base;
    return 0;
}

/* script_filter_run() in an explained scan. */
static int run_explained(struct embedded_scanner *s,
                         const struct quarry_row *row,
                         struct err *err)
{
    uint64_t begin_ns = explain_now(s->explain);
    int rc = script_filter_run(s->script, row, err);
    struct explain_tablet *t = scan_explained(s->scan);
    explain_program(t, explain_now(s->explain) - begin_ns, row->cell_count,
                    script_filter_fuel(s->script));
    return rc;
}

/* The next row that the program keeps. */
static int next_kept(struct embedded_scanner *s,
                     const struct quarry_row **row,
                     struct err *err)
{
    if (s->row_limit && s->rows >= s->row_limit) {
        *row = NULL;
        return 0;
    }
    for (;;) {
        int rc;
        *row = script_filter_next(s->script);
        if (*row) {
            s->rows++;
            INVARIANT(!s->row_limit || s->rows <= s->row_limit);
            return 0;
        }
        rc = scan_next(s->scan, row, err);
        if (rc)
            return rc;
        if (!*row) {
            script_filter_end(s->script);
            *row = script_filter_next(s->script);
            return 0;
        }
        rc = s->explain ? run_explained(s, *row, err)
                        : script_filter_run(s->script, *row, err);
        if (rc)
            return rc;
    }
}

static struct embedded_scanner *scanner_of(struct quarry_scanner *s)
{
    return CONTAINER_OF(s, struct embedded_scanner, base);
}

static int next_of_scanner(struct embedded_scanner *s,
                           const struct quarry_row **row,
                           struct err *err)
{
    return s->script ? next_kept(s, row, err) : scan_next(s->scan, row, err);
}

static int next_explained(struct embedded_scanner *s,
                          const struct quarry_row **row,
                          struct err *err)
{
    int rc;
    PRE(s->scan);
    explain_enter(s->explain);
    rc = next_of_scanner(s, row, err);
    if (rc == 0 && *row && (s->script || (*row)->cell_count))
        explain_row_out(scan_explained(s->scan), *row, s->script != NULL);
    explain_leave(s->explain);
    return rc;
}

int embedded_scanner_next(struct quarry_scanner *base,
                          const struct quarry_row **row,
                          struct err *err)
{
    struct embedded_scanner *s = scanner_of(base);
    return LIKELY(!s->explain) ? next_of_scanner(s, row, err)
                               : next_explained(s, row, err);
}

void embedded_scanner_close(struct quarry_scanner *base)
{
    struct embedded_scanner *s = scanner_of(base);
    if (s->explain)
        explain_end(s->explain);
    script_filter_free(s->script);
    scan_free(s->scan);
    prepared_read_close(&s->read);
    mem_free(s);
}
