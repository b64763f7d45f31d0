/* Sawzall programs as jobs: map runs the program over each record, and its
 * tables are the result to reduce. A map attempt emits the state of its tables
 * as one pair, and the text that the program printed as pairs before it; the
 * only reducer writes the texts, merges the states and writes the results. Both
 * come in the order of the map tasks, so that a job gives the result of one
 * run over the whole input. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/engines/engine.h"
#include "sawzall-lite/sawzall.h"

/* Instructions for one record: an endless loop must end. */
#define FUEL_PER_RECORD UINT64_C(1000000000)
/* Tables and arena of one run. */
#define RUN_BYTES_MAX ((uint64_t)512 << 20)

/* Keys of the pairs, in the order that the reducer needs. */
#define KEY_OUTPUT SLICE_LIT("output")
#define KEY_TABLES SLICE_LIT("tables")
/* Printed text is emitted in pieces of about this size. */
#define OUTPUT_BYTES ((size_t)1 << 20)

struct saw_state {
    struct saw_run *run;
    struct buf output;      /* Printed, and not emitted or written yet. */
    struct buf place;       /* The place of the current record. */
    struct saw_cell *cells; /* Of the current row. Owned. */
    size_t cell_cap;
};

static void emit_output(struct mr_task *t, struct saw_state *s)
{
    if (s->output.len > 0)
        mr_emit(t, KEY_OUTPUT, buf_slice(&s->output));
    buf_clear(&s->output);
}

/* Emit what the program printed in a map task. */
static int
write_text(void *ctx, const char *path, struct slice text, struct err *err)
{
    struct mr_task *t = ctx;
    struct saw_state *s = mr_state(t);
    (void)err;
    if (strcmp(path, "/dev/stderr") == 0) {
        fwrite(text.data, 1, text.len, stderr);
        return 0;
    }
    buf_append_slice(&s->output, text);
    if (s->output.len >= OUTPUT_BYTES)
        emit_output(t, s);
    return 0;
}

/* The time is the same for all attempts. */
static int64_t job_time(void *ctx)
{
    return mr_job_time_us(ctx);
}

static int sawzall_setup(struct mr_task *t, struct err *err)
{
    const struct engine *e = mr_task_engine(t);
    struct saw_run_options o = {.fuel_per_record = FUEL_PER_RECORD,
                                .memory_bytes_max = RUN_BYTES_MAX,
                                .write = write_text,
                                .write_ctx = t,
                                .now_us = job_time,
                                .world_ctx = t};
    struct saw_state *s = mem_zalloc(1, sizeof(*s));
    int64_t seed;
    int rc;
    mr_set_state(t, s);
    rc = mr_param_i64(t, "seed", 0, INT64_MAX, &seed, err);
    if (rc)
        return rc;
    o.seed = (uint64_t)seed;
    return saw_run_new(e->saw, &o, &s->run, err);
}

static void sawzall_teardown(struct mr_task *t)
{
    struct saw_state *s = mr_state(t);
    if (!s)
        return;
    saw_run_free(s->run);
    buf_close(&s->output);
    buf_close(&s->place);
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

/* For programs that read bytes: each cell's value is a record. */
static int
run_cells(struct saw_state *s, const struct quarry_row *row, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < row->cell_count && rc == 0; i++) {
        buf_clear(&s->place);
        buf_append_slice(&s->place, row->key);
        if (i > 0)
            buf_printf(&s->place, "#%zu", i);
        rc = saw_run_record_at(s->run, row->cells[i].value, row->key,
                               buf_slice(&s->place), err);
    }
    return rc;
}

/* Lines have no key: their offset identifies them, written as `quarry saw`
 * does. */
static int
run_record(struct saw_state *s, const struct mr_record *record, struct err *err)
{
    struct slice key = record->key;
    char place[SAW_PLACE_BYTES];
    if (key.len == 0) {
        saw_line_place(record->offset, place);
        key = slice_make(place, sizeof(place));
    }
    return saw_run_record_at(s->run, record->value, key, key, err);
}

static int
sawzall_map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct saw_state *s = mr_state(t);
    const struct engine *e = mr_task_engine(t);
    bool wants_rows = saw_program_wants_rows(e->saw);
    if (record->row)
        return wants_rows ? run_row(s, record->row, err)
                          : run_cells(s, record->row, err);
    if (wants_rows)
        return err_set(err, ERR_INVALID,
                       "the program wants rows of a table (r: Row = input)");
    return run_record(s, record, err);
}

static int map_end(struct mr_task *t, struct err *err)
{
    struct saw_state *s = mr_state(t);
    struct buf state = BUF_INIT;
    (void)err;
    emit_output(t, s);
    saw_run_encode_tables(s->run, &state);
    mr_emit(t, KEY_TABLES, buf_slice(&state));
    buf_close(&state);
    return 0;
}

/* Write the whole lines of the output; with @all also the incomplete last one.
 */
static void write_lines(struct mr_task *t, struct saw_state *s, bool all)
{
    struct slice left = buf_slice(&s->output);
    while (left.len > 0) {
        size_t n = slice_find_byte(left, '\n');
        if (n == left.len && !all)
            break;
        mr_write(mr_output(t, NULL), SLICE_EMPTY, slice_sub(left, 0, n));
        left = slice_sub(left, MIN_OF(n + 1, left.len), left.len);
    }
    buf_consume(&s->output, s->output.len - left.len);
}

static int sawzall_reduce(struct mr_task *t,
                          struct slice key,
                          struct mr_values *values,
                          struct err *err)
{
    struct saw_state *s = mr_state(t);
    bool text = slice_eq(key, KEY_OUTPUT);
    struct slice value;
    int rc = 0;
    while (rc == 0 && mr_values_next(values, &value)) {
        if (!text) {
            rc = saw_run_merge_tables(s->run, value, err);
            continue;
        }
        buf_append_slice(&s->output, value);
        write_lines(t, s, false);
    }
    if (text)
        write_lines(t, s, true);
    return rc;
}

/* The lines as `quarry saw` prints them. */
static int reduce_end(struct mr_task *t, struct err *err)
{
    struct saw_state *s = mr_state(t);
    (void)err;
    saw_run_print(s->run, &s->output);
    write_lines(t, s, true);
    return 0;
}

static const struct mr_param params[] = {
    {"seed", "0", "Of rand() and nrand()."},
};

static int sawzall_load(struct engine *e, struct err *err)
{
    const struct mr_program *p = e->program;
    struct saw_compile_options o = {.restricted = true};
    struct buf diagnostics = BUF_INIT;
    int rc = saw_compile(&o, slice_str(p->saw),
                         p->saw_name ? p->saw_name : "program", &e->saw,
                         &diagnostics);
    if (rc)
        err_set(err, rc, "%s", buf_cstr(&diagnostics));
    buf_close(&diagnostics);
    e->made = (struct mr_job){
        .abi_version = MR_ABI_VERSION,
        .no_table_output = true,
        .name = "sawzall",
        .help = "Run a Sawzall program.",
        .params = params,
        .param_count = ARRAY_LEN(params),
        .setup = sawzall_setup,
        .teardown = sawzall_teardown,
        .map = sawzall_map,
        .map_end = map_end,
        .reduce = sawzall_reduce,
        .reduce_end = reduce_end,
        .single_reducer = true,
        .engine = e,
    };
    e->job = &e->made;
    return rc;
}

static bool sawzall_takes(const struct mr_program *p)
{
    return p->saw != NULL;
}

const struct engine_kind engine_sawzall = {sawzall_takes, sawzall_load};
