/* Observers in Sawzall: the program runs over the row, and each line of its
 * tables is a cell of the output:
 *
 *     NAME: table sum[row: string][qualifier: string] of int;
 *
 * is the cell NAME:qualifier of that row; a table with one key has the cell
 * NAME: of that row. The value is the result as text.
 */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/observer/observer_code.h"
#include "sawzall-lite/sawzall.h"

/* Instructions of a row: some seconds. */
#define FUEL_PER_ROW UINT64_C(2000000000)

struct saw_observer {
    struct saw_program *program; /* Owned, as all but what is said. */
    struct saw_run *run;
    const char *output; /* Borrowed. */
    struct saw_cell *cells;
    size_t cell_cap;
    /* Of the row that is being answered. */
    struct quarry_observation *now; /* Borrowed. */
    const char *family;             /* Borrowed from the program. */
    struct buf last;                /* The cell before: it has one value. */
    struct err *err;                /* Borrowed. */
    int rc;
};

static void saw_close(void *state)
{
    struct saw_observer *s = state;
    saw_run_free(s->run);
    saw_program_free(s->program);
    buf_close(&s->last);
    mem_free(s->cells);
    mem_free(s);
}

static int check_program(const struct saw_observer *s, struct err *err)
{
    if (!s->output)
        return err_set(err, ERR_INVALID,
                       "an observer in Sawzall needs an output table");
    if (!saw_program_wants_rows(s->program))
        return err_set(err, ERR_INVALID,
                       "the program does not read rows: begin it with r: Row "
                       "= input;");
    if (saw_program_keeps_rows(s->program) || saw_run_writes(s->run))
        return err_set(err, ERR_INVALID,
                       "the program prints, writes files or emits to keep: "
                       "emit to tables of its own");
    if (!saw_program_is_repeatable(s->program))
        return err_set(err, ERR_INVALID,
                       "the program asks for the clock or for the machine: a "
                       "row must always give the same");
    return 0;
}

static int
saw_open(const struct observer_setup *setup, void **state, struct err *err)
{
    const struct saw_compile_options o = {.restricted = true, .errors_max = 3};
    const struct saw_run_options run = {.fuel_per_record = FUEL_PER_ROW,
                                        .memory_bytes_max =
                                            setup->settings->memory_bytes};
    struct saw_observer *s = mem_zalloc(1, sizeof(*s));
    struct buf text = BUF_INIT;
    int rc =
        saw_compile(&o, setup->settings->text, setup->name, &s->program, &text);
    s->output = setup->settings->output;
    if (rc) /* The first line has the place and the reason. */
        err_set(err, rc, "the program: %.*s",
                (int)slice_find_byte(buf_slice(&text), '\n'), buf_cstr(&text));
    buf_close(&text);
    if (rc == 0)
        rc = saw_run_new(s->program, &run, &s->run, err);
    if (rc == 0)
        rc = check_program(s, err);
    if (rc) {
        saw_close(s);
        s = NULL;
    }
    *state = s;
    return rc;
}

/* --- results ------------------------------------------------------------- */

static void begin_table(void *ctx,
                        const char *name,
                        const char *const *columns,
                        size_t column_count)
{
    struct saw_observer *s = ctx;
    (void)columns;
    (void)column_count;
    s->family = name;
    buf_clear(&s->last);
}

/* True: the line before was of the same cell. */
static bool is_again(struct saw_observer *s, struct slice row, struct slice q)
{
    struct buf cell = BUF_INIT;
    bool again;
    buf_put_lslice(&cell, row);
    buf_put_lslice(&cell, q);
    again = slice_eq(buf_slice(&cell), buf_slice(&s->last));
    buf_close(&s->last);
    s->last = cell;
    return again;
}

static bool take_line(void *ctx,
                      const struct slice *values,
                      const bool *numeric,
                      size_t count)
{
    struct saw_observer *s = ctx;
    struct slice qualifier = count == 3 ? values[1] : SLICE_EMPTY;
    struct quarry_mutation *m;
    (void)numeric;
    if (count != 2 && count != 3)
        s->rc = err_set(s->err, ERR_INVALID,
                        "table %s has %zu columns: one or two keys and a value "
                        "are a cell",
                        s->family, count);
    else if (is_again(s, values[0], qualifier))
        s->rc = err_set(s->err, ERR_INVALID,
                        "table %s has several values for one cell: a sum, "
                        "maximum or minimum has one",
                        s->family);
    if (s->rc)
        return false;
    m = quarry_mutation_new(values[0]);
    quarry_mutation_set(m, s->family, qualifier, QUARRY_NOW, values[count - 1]);
    s->rc = quarry_observer_write(s->now, s->output, m, s->err);
    quarry_mutation_free(m);
    return s->rc == 0;
}

/* --- rows ---------------------------------------------------------------- */

static int
run_one(struct saw_observer *s, struct quarry_observation *o, struct err *err)
{
    const struct saw_result_sink sink = {s, begin_table, take_line};
    struct saw_row row = {.key = o->row};
    int rc;
    PRE(o->cells != NULL);
    if (o->cells->cell_count > s->cell_cap) {
        s->cell_cap = o->cells->cell_count;
        s->cells = mem_realloc(s->cells, s->cell_cap * sizeof(*s->cells));
    }
    for (size_t i = 0; i < o->cells->cell_count; i++) {
        const struct quarry_cell *c = &o->cells->cells[i];
        s->cells[i] = (struct saw_cell){c->family, c->qualifier,
                                        c->timestamp_us, c->value};
    }
    row.cells = s->cells;
    row.cell_count = o->cells->cell_count;
    s->now = o;
    s->err = err;
    s->rc = 0;
    saw_run_clear(s->run);
    rc = saw_run_row(s->run, &row, err);
    if (rc == 0)
        (void)saw_run_results(s->run, &sink);
    saw_run_clear(s->run);
    return rc ? rc : s->rc;
}

static int saw_rows(void *state,
                    struct quarry_observation *rows,
                    size_t count,
                    size_t *done,
                    bool *exact,
                    struct err *err)
{
    int rc = 0;
    *exact = true;
    for (*done = 0; *done < count; ++*done) {
        rc = run_one(state, &rows[*done], err);
        if (rc)
            break;
    }
    return rc;
}

const struct observer_engine observer_saw = {"saw", saw_open, saw_rows,
                                             saw_close};
