/* The program of a view, run on one row at a time. Its emits are taken as
 * states, which are merged into groups and taken back from them; a row on
 * which the program fails contributes nothing, and its record says so. */
#include "bigtable/view/view_program.h"

#include "base/core/panic.h"
#include "bigtable/view/view_keys.h"

/* --- life ---------------------------------------------------------------- */

int view_program_run(const struct view_program *p,
                     uint64_t memory_bytes_max,
                     struct saw_run **out,
                     struct err *err)
{
    const struct saw_run_options o = {.fuel_per_record = VIEW_FUEL_PER_ROW,
                                      .memory_bytes_max = memory_bytes_max};
    return saw_run_new(p->program, &o, out, err);
}

static int
view_program_refuse(struct err *err, const char *what, const char *hint)
{
    int rc = err_set(err, ERR_INVALID, "the program of the view %s", what);
    err_hint(err, "%s", hint);
    return rc;
}

static int check_program(const struct view_program *p, struct err *err)
{
    if (!saw_program_wants_rows(p->program))
        return view_program_refuse(err, "does not read rows",
                                   "begin it with: r: Row = input;");
    if (saw_program_keeps_rows(p->program))
        return view_program_refuse(
            err, "emits to keep",
            "a view has aggregates: emit to tables of its own");
    if (!saw_program_is_repeatable(p->program))
        return view_program_refuse(
            err, "asks for the clock or for the machine",
            "a row must always give the same: no now(), load() …");
    if (saw_run_writes(p->row_run))
        return view_program_refuse(err, "prints, or writes files",
                                   "emit to tables that aggregate");
    return 0;
}

int view_program_open(struct view_program *p,
                      struct slice source,
                      struct err *err)
{
    const struct saw_compile_options o = {.restricted = true, .errors_max = 3};
    struct buf text = BUF_INIT;
    int rc;

    *p = (struct view_program){.program = NULL};
    rc = saw_compile(&o, source, "view", &p->program, &text);
    if (rc) /* The first line has the place and the reason. */
        rc = err_set(err, rc, "the program: %.*s",
                     (int)slice_find_byte(buf_slice(&text), '\n'),
                     buf_cstr(&text));
    buf_close(&text);
    if (rc == 0)
        rc = view_program_run(p, VIEW_MEMORY_BYTES, &p->row_run, err);
    if (rc == 0)
        rc = view_program_run(p, VIEW_MEMORY_BYTES, &p->merger, err);
    if (rc == 0)
        rc = check_program(p, err);
    if (rc)
        view_program_close(p);
    return rc;
}

void view_program_close(struct view_program *p)
{
    saw_run_free(p->row_run);
    saw_run_free(p->merger);
    saw_program_free(p->program);
    contribution_writer_close(&p->writer);
    *p = (struct view_program){.program = NULL};
}

/* --- rows ---------------------------------------------------------------- */

static int take_state(void *ctx,
                      uint32_t table,
                      struct slice key,
                      struct slice state,
                      struct err *err)
{
    struct view_program *p = ctx;
    if (p->writer.count == VIEW_ROW_GROUPS_MAX)
        return err_set(err, ERR_TOOBIG, "a row emits to more than %zu groups",
                       VIEW_ROW_GROUPS_MAX);
    if (p->writer.entries.len + key.len + state.len > VIEW_ROW_STATES_MAX)
        return err_set(err, ERR_TOOBIG, "a row emits more than %zu MiB",
                       VIEW_ROW_STATES_MAX >> 20);
    if (key.len > VIEW_NAME_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "an index of %zu bytes", key.len);
    contribution_add(&p->writer, table, key, state);
    return 0;
}

static struct saw_cell cell_to_saw(const struct quarry_cell *c)
{
    return (struct saw_cell){c->family, c->qualifier, c->timestamp_us,
                             c->value};
}

static int
run_row(struct view_program *p, const struct quarry_row *row, struct err *err)
{
    struct saw_cell *cells = mem_alloc((row->cell_count + 1) * sizeof(*cells));
    struct saw_row r = {row->key, cells, row->cell_count};
    int rc;

    for (size_t i = 0; i < row->cell_count; i++)
        cells[i] = cell_to_saw(&row->cells[i]);
    saw_run_clear(p->row_run);
    rc = saw_run_row(p->row_run, &r, err);
    mem_free(cells);
    return rc;
}

/* A fault of the program on this row, not of the machine. */
static bool is_of_row(int rc)
{
    return rc == ERR_INVALID || rc == ERR_EXHAUSTED || rc == ERR_TOOBIG;
}

/* A row that contributes too much contributes nothing. */
static int take_states(struct view_program *p, bool *failed, struct err *err)
{
    const struct saw_state_sink sink = {p, take_state};
    int rc = saw_run_states(p->row_run, &sink, &p->row_error);

    if (rc == 0)
        return 0;
    if (!is_of_row(rc))
        return err_copy(err, &p->row_error);
    buf_clear(&p->writer.entries);
    p->writer.count = 0;
    *failed = true;
    return 0;
}

int view_program_row(struct view_program *p,
                     const struct quarry_row *row,
                     int64_t due_us,
                     struct buf *record,
                     struct err *err)
{
    struct err why = ERR_INIT;
    bool failed = false;
    int rc;

    PRE(p->writer.count == 0);
    rc = run_row(p, row, &why);
    if (rc && !is_of_row(rc))
        return err_copy(err, &why);
    if (rc) {
        failed = true;
        p->row_error = why;
        err_wrap(&p->row_error, "row \"%.*s\"",
                 SLICE_ARG(slice_sub(row->key, 0, 128)));
    }
    rc = take_states(p, &failed, err);
    if (rc == 0)
        contribution_finish(&p->writer, failed, due_us, record);
    return rc;
}

unsigned view_program_first_table(const struct view_program *p)
{
    const char *name;
    uint32_t i = 0;
    while ((name = saw_run_table_name(p->merger, i)) != NULL && !*name)
        i++;
    return i;
}

/* --- merging ------------------------------------------------------------- */

void view_merge_begin(struct view_program *p)
{
    saw_run_clear(p->merger);
}

int view_merge_add(struct view_program *p,
                   uint32_t table,
                   struct slice key,
                   struct slice state,
                   struct err *err)
{
    return saw_run_merge_state(p->merger, table, key, state, err);
}

int view_merge_retract(struct view_program *p,
                       uint32_t table,
                       struct slice key,
                       struct slice state,
                       struct err *err)
{
    struct buf negated = BUF_INIT;
    int rc;

    if (saw_run_negate_state(p->merger, table, state, &negated))
        rc = view_merge_add(p, table, key, buf_slice(&negated), err);
    else
        rc = err_set(err, ERR_CORRUPT, "a contribution that is no sum");
    buf_close(&negated);
    return rc;
}

static int keep_state(void *ctx,
                      uint32_t table,
                      struct slice key,
                      struct slice state,
                      struct err *err)
{
    (void)table;
    (void)key;
    (void)err;
    buf_append_slice(ctx, state);
    return 0;
}

int view_merge_end(struct view_program *p, struct buf *state, struct err *err)
{
    const struct saw_state_sink sink = {state, keep_state};
    buf_clear(state);
    return saw_run_states(p->merger, &sink, err);
}

bool view_program_is_sum(struct view_program *p,
                         uint32_t table,
                         struct slice state)
{
    struct buf negated = BUF_INIT;
    bool is = saw_run_negate_state(p->merger, table, state, &negated);
    buf_close(&negated);
    return is;
}
