/* Sawzall programs as jobs: map runs the program over each record, its tables
 * are what is reduced. A map attempt emits the state of its tables as one pair;
 * the only reducer merges the states and prints them. */
#include "sawzall-lite/sawzall.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/quarry.h"
#include "mapreduce/engines/engine.h"

/* A record may use so many instructions: a loop for ever must end. */
#define FUEL_PER_RECORD UINT64_C(1000000000)
/* Tables and arena of one run. */
#define RUN_BYTES_MAX ((uint64_t)512 << 20)

struct saw_state {
    struct saw_run *run;
    struct saw_cell *cells; /* Of the row at hand. Owned. */
    size_t cell_cap;
};

static int setup(struct mr_task *t, struct err *err)
{
    const struct engine *e = mr_task_engine(t);
    struct saw_run_options o = {.fuel_per_record = FUEL_PER_RECORD,
                                .memory_bytes_max = RUN_BYTES_MAX};
    struct saw_state *s = mem_zalloc(1, sizeof(*s));
    mr_set_state(t, s);
    return saw_run_new(e->saw, &o, &s->run, err);
}

static void teardown(struct mr_task *t)
{
    struct saw_state *s = mr_state(t);
    if (!s)
        return;
    saw_run_free(s->run);
    mem_free(s->cells);
    mem_free(s);
    mr_set_state(t, NULL);
}

static int
run_row(struct saw_state *s, const struct quarry_row *row, struct err *err)
{
    struct saw_row r = {.key = row->key};
    if (row->cell_count > s->cell_cap) {
        s->cell_cap = row->cell_count;
        s->cells = mem_realloc(s->cells, s->cell_cap * sizeof(*s->cells));
    }
    for (size_t i = 0; i < row->cell_count; i++)
        s->cells[i] =
            (struct saw_cell){row->cells[i].family, row->cells[i].qualifier,
                              row->cells[i].timestamp_us, row->cells[i].value};
    r.cells = s->cells;
    r.cell_count = row->cell_count;
    return saw_run_row(s->run, &r, err);
}

static int
map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct saw_state *s = mr_state(t);
    const struct engine *e = mr_task_engine(t);
    bool wants_rows = saw_program_wants_rows(e->saw);
    if (wants_rows != (record->row != NULL))
        return err_set(err, ERR_INVALID,
                       wants_rows ? "the program wants rows of a table "
                                    "(r: Row = input)"
                                  : "the program wants bytes, and rows of a "
                                    "table are none: say r: Row = input");
    if (record->row)
        return run_row(s, record->row, err);
    return saw_run_record(s->run, record->value, record->key, err);
}

static int map_end(struct mr_task *t, struct err *err)
{
    struct saw_state *s = mr_state(t);
    struct buf state = BUF_INIT;
    (void)err;
    saw_run_encode_tables(s->run, &state);
    mr_emit(t, SLICE_LIT("tables"), buf_slice(&state));
    buf_close(&state);
    return 0;
}

static int reduce(struct mr_task *t,
                  struct slice key,
                  struct mr_values *values,
                  struct err *err)
{
    struct saw_state *s = mr_state(t);
    struct slice value;
    int code = 0;
    (void)key;
    while (code == 0 && mr_values_next(values, &value))
        code = saw_run_merge_tables(s->run, value, err);
    return code;
}

/* The lines as `quarry saw` prints them. */
static int reduce_end(struct mr_task *t, struct err *err)
{
    struct saw_state *s = mr_state(t);
    struct buf text = BUF_INIT;
    struct slice left;
    (void)err;
    saw_run_print(s->run, &text);
    left = buf_slice(&text);
    while (left.len > 0) {
        size_t n = slice_find_byte(left, '\n');
        mr_write(mr_output(t, NULL), SLICE_EMPTY, slice_sub(left, 0, n));
        left = slice_sub(left, n + 1, left.len);
    }
    buf_close(&text);
    return 0;
}

int sawzall_load(struct engine *e, struct err *err)
{
    const struct mr_program *p = e->program;
    struct saw_compile_options o = {.restricted = true};
    struct buf diagnostics = BUF_INIT;
    int code = saw_compile(&o, slice_str(p->saw),
                           p->saw_name ? p->saw_name : "program", &e->saw,
                           &diagnostics);
    if (code)
        err_set(err, code, "%s", buf_cstr(&diagnostics));
    buf_close(&diagnostics);
    e->made = (struct mr_job){
        .abi_version = MR_ABI_VERSION,
        .name = "sawzall",
        .help = "Run a Sawzall program.",
        .setup = setup,
        .teardown = teardown,
        .map = map,
        .map_end = map_end,
        .reduce = reduce,
        .reduce_end = reduce_end,
        .single_reducer = true,
        .engine = e,
    };
    e->job = &e->made;
    return code;
}
