/* The bridge between rows of the store and rows of Sawzall. A program sees the
 * cells of a row where they are; a row that it keeps unchanged is handed out as
 * it was read, and only a row that it made is copied, because that is the
 * program's memory. A filter's program is compiled as restricted, may write
 * nowhere, and has bounds of instructions and memory for each row.
 */
#include "bigtable/read/script.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/read/row_digest.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/schema.h"
#include "sawzall-lite/sawzall.h"

/* Cells of a row are converted in pieces of this many on the stack. */
#define CELLS_ON_STACK 64

struct kept_row {
    struct kept_row *next;
    const struct quarry_row *row; /* `made`, or the one that was read. */
    struct quarry_row made;
};

struct script_filter {
    struct row_digest *digest; /* A native program: no other state then. */
    struct kept_row piece;     /* Of it. */
    struct saw_program *own;   /* NULL: it was given. */
    struct saw_run *run;
    struct arena arena;     /* Of the kept rows. */
    struct kept_row *first; /* Not handed out yet. */
    struct kept_row **last;
    const struct quarry_row *row;  /* In hand, */
    const struct saw_row *as_read; /* and as the program sees it. */
};

/* --- rows ---------------------------------------------------------------- */

static struct saw_cell cell_to_saw(const struct quarry_cell *c)
{
    return (struct saw_cell){c->family, c->qualifier, c->timestamp_us,
                             c->value};
}

/* @as_read: where to say what the program was given; NULL: nowhere. */
static int run_whole(struct saw_run *run,
                     const struct quarry_row *row,
                     const struct saw_row **as_read,
                     struct err *err)
{
    struct saw_cell few[CELLS_ON_STACK];
    struct saw_cell *cells = few;
    struct saw_row r = {row->key, NULL, row->cell_count};
    int rc;
    PRE(run);
    if (row->cell_count > CELLS_ON_STACK)
        cells = mem_alloc(row->cell_count * sizeof(*cells));
    for (size_t i = 0; i < row->cell_count; i++)
        cells[i] = cell_to_saw(&row->cells[i]);
    r.cells = cells;
    if (as_read)
        *as_read = &r;
    rc = saw_run_row(run, &r, err);
    if (cells != few)
        mem_free(cells);
    return rc;
}

/* Each cell's value is a record. Its key is the row and, after the first cell,
 * the number of the cell, so that equal contents differ. */
static int
run_cells(struct saw_run *run, const struct quarry_row *row, struct err *err)
{
    struct buf place = BUF_INIT;
    int rc = 0;
    PRE(row->cells || row->cell_count == 0);
    for (size_t i = 0; i < row->cell_count && rc == 0; i++) {
        buf_clear(&place);
        buf_append_slice(&place, row->key);
        if (i > 0)
            buf_printf(&place, "#%zu", i);
        rc = saw_run_record_at(run, row->cells[i].value, row->key,
                               buf_slice(&place), err);
    }
    buf_close(&place);
    return rc;
}

static int name_row(int rc, const struct quarry_row *row, struct err *err)
{
    if (rc)
        err_wrap(err, "row \"%.*s\"", SLICE_ARG(slice_sub(row->key, 0, 128)));
    return rc;
}

int script_run_row(struct saw_run *run,
                   const struct quarry_row *row,
                   struct err *err)
{
    int rc = saw_program_wants_rows(saw_run_program(run))
                 ? run_whole(run, row, NULL, err)
                 : run_cells(run, row, err);
    return name_row(rc, row, err);
}

/* Copy a row that the program made: its memory is the program's. */
static void
copy_row(struct script_filter *f, const struct saw_row *row, struct kept_row *k)
{
    PRE(row != f->as_read);

    struct quarry_cell *cells =
        arena_alloc(&f->arena, (row->cell_count + 1) * sizeof(*cells));
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct saw_cell *c = &row->cells[i];
        cells[i] = (struct quarry_cell){
            .family = arena_dup(&f->arena, c->family),
            .qualifier = arena_dup(&f->arena, c->qualifier),
            .timestamp_us = c->timestamp_us,
            .value = arena_dup(&f->arena, c->value),
            .label = SLICE_EMPTY,
        };
    }
    k->made = (struct quarry_row){arena_dup(&f->arena, row->key), cells,
                                  row->cell_count};
    k->row = &k->made;
}

static int script_keep(void *ctx, const struct saw_row *row, struct err *err)
{
    struct script_filter *f = ctx;
    struct kept_row *k = arena_alloc(&f->arena, sizeof(*k));
    PRE(f->row);
    PRE(!*f->last);
    (void)err;
    if (row == f->as_read)
        k->row = f->row;
    else
        copy_row(f, row, k);
    k->next = NULL;
    *f->last = k;
    f->last = &k->next;
    return 0;
}

/* --- filters ------------------------------------------------------------- */

static int
no_output(void *ctx, const char *path, struct slice text, struct err *err)
{
    (void)ctx;
    (void)text;
    return err_set(err, ERR_DENIED, "a filter of rows cannot write to %s",
                   path);
}

static int
script_compile(struct script_filter *f, struct slice source, struct err *err)
{
    const struct saw_compile_options opts = {.restricted = true};
    struct buf diagnostics = BUF_INIT;
    int rc;
    PRE(!f->own);
    rc = saw_compile(&opts, source, "program", &f->own, &diagnostics);
    if (rc)
        err_set(err, rc, "the program does not compile:\n%.*s",
                SLICE_ARG(slice_trim(buf_slice(&diagnostics))));
    buf_close(&diagnostics);
    return rc;
}

static struct script_filter *new_filter(void)
{
    struct script_filter *f = mem_zalloc(1, sizeof(*f));
    arena_init(&f->arena);
    f->last = &f->first;
    return f;
}

uint64_t script_fuel(uint64_t fuel)
{
    return fuel ? MIN_OF(fuel, SCRIPT_FUEL_MAX) : SCRIPT_FUEL_DEFAULT;
}

/* @cancel: NULL: nobody does. */
static int open_run(struct script_filter *f,
                    struct saw_program *p,
                    uint64_t fuel,
                    const atomic_bool *cancel,
                    struct err *err)
{
    const struct saw_run_options opts = {
        .fuel_per_record = script_fuel(fuel),
        .memory_bytes_max = SCRIPT_BYTES_MAX,
        .cancel = cancel,
        .write = no_output,
        .keep = script_keep,
        .keep_ctx = f,
    };
    PRE(!f->run);
    if (!saw_program_wants_rows(p))
        return err_set(err, ERR_INVALID,
                       "the program does not read rows (r: Row = input;)");
    if (!saw_program_keeps_rows(p))
        return err_set(err, ERR_INVALID,
                       "the program keeps no rows (emit keep <- r;)");
    return saw_run_new(p, &opts, &f->run, err);
}

static int
script_finish(struct script_filter *f, int rc, struct script_filter **out)
{
    *out = f;
    PRE(rc <= 0);
    if (rc) {
        script_filter_free(f);
        *out = NULL;
    }
    return rc;
}

int script_filter_make(struct saw_program *program,
                       uint64_t fuel,
                       const atomic_bool *cancel,
                       struct script_filter **out,
                       struct err *err)
{
    struct script_filter *f = new_filter();
    return script_finish(f, open_run(f, program, fuel, cancel, err), out);
}

bool script_is_native(struct slice source)
{
    return row_digest_is_asked(source);
}

int script_filter_new(struct slice source,
                      uint64_t fuel,
                      struct script_filter **out,
                      struct err *err)
{
    struct script_filter *f = new_filter();
    int rc;
    if (script_is_native(source)) {
        rc = row_digest_new(source, &f->digest, err);
        return script_finish(f, rc, out);
    }
    rc = script_compile(f, source, err);
    if (rc == 0)
        rc = open_run(f, f->own, fuel, NULL, err);
    return script_finish(f, rc, out);
}

void script_filter_free(struct script_filter *f)
{
    if (!f)
        return;
    row_digest_free(f->digest);
    saw_run_free(f->run);
    saw_program_free(f->own);
    arena_close(&f->arena);
    mem_free(f);
}

uint64_t script_filter_fuel(const struct script_filter *f)
{
    return f->digest ? 0 : saw_run_fuel(f->run);
}

/* Hand out the piece of the rows so far, if there were any. */
static void keep_piece(struct script_filter *f, bool ended)
{
    f->piece = (struct kept_row){.row = row_digest_take(f->digest, ended)};
    f->first = f->piece.row ? &f->piece : NULL;
}

static int add_to_piece(struct script_filter *f,
                        const struct quarry_row *row,
                        struct err *err)
{
    bool ends = false;
    int rc = row->cell_count ? row_digest_add(f->digest, row, &ends, err) : 0;
    f->first = NULL;
    if (rc == 0 && ends)
        keep_piece(f, true);
    return name_row(rc, row, err);
}

void script_filter_end(struct script_filter *f)
{
    PRE(!f->first);
    if (f->digest)
        keep_piece(f, false);
}

int script_filter_run(struct script_filter *f,
                      const struct quarry_row *row,
                      struct err *err)
{
    int rc;
    if (f->digest)
        return add_to_piece(f, row, err);
    PRE(f->run);
    arena_reset(&f->arena);
    f->first = NULL;
    f->last = &f->first;
    f->row = row;
    rc = run_whole(f->run, row, &f->as_read, err);
    f->as_read = NULL;
    return name_row(rc, row, err);
}

const struct quarry_row *script_filter_next(struct script_filter *f)
{
    const struct kept_row *k = f->first;
    if (!k)
        return NULL;
    f->first = k->next;
    return k->row;
}

/* --- narrowing ----------------------------------------------------------- */

void script_narrow(const struct saw_program *p,
                   const struct schema *schema,
                   struct read_spec *spec)
{
    const struct slice *columns;
    bool all = false;
    size_t count = saw_program_columns(p, &columns, &all);
    if (all || saw_program_keeps_rows(p) || !saw_program_wants_rows(p))
        return;
    PRE(!spec->valued);
    spec->valued = mem_zalloc(UINT16_MAX + 1, 1);
    for (size_t i = 0; i < count; i++) {
        struct slice name =
            slice_sub(columns[i], 0, slice_find_byte(columns[i], ':'));
        const struct family *f = schema_family(schema, name);
        if (f)
            spec->valued[f->id] = 1;
    }
}
