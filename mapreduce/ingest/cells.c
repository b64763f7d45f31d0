/* `import` of exports: cells with their rows, columns and times as they were. A
 * table that is not there is made as the schema that came with the export says,
 * or without families, which are then added as cells name them. */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/ingest/cell_parser.h"
#include "mapreduce/ingest/csv_fields.h"
#include "mapreduce/ingest/table_rows.h"
#include "mapreduce/ingest/table_schema.h"

/* A quoted field that stays open for longer was never closed. */
#define RECORD_BYTES_MAX ((size_t)512 << 20)

/* State that all files share. */
struct cells_import {
    struct mutex lock; /* Of changes to the table's families. */
    const struct ingest_cell_source *source; /* Of files that are no texts. */
    bool adds_families;
};

/* One file being read. */
struct cells_file {
    struct run *run;
    struct cells_import *import;
    size_t index;
    struct cell_parser parser;
    struct buf record;     /* CSV: a record over several lines, so far. */
    struct run_line begin; /* Its first line. */
    size_t mark_bytes;     /* In front of that: a mark of UTF-8. */
    bool open;             /* It waits for a closing quote. */
    struct buf row;        /* Of the mutation at hand. */
    struct quarry_mutation *mutation;
    char family[CELL_FAMILY_BYTES]; /* One that the table has. */
};

/* --- families ------------------------------------------------------------ */

/* The table has no family @name: add it, or say what can be done. */
static int add_family(struct cells_file *f, const char *name, struct err *err)
{
    struct run *run = f->run;
    const struct quarry_alter add = {QUARRY_ADD_FAMILY, name, ""};
    int rc;
    if (!f->import->adds_families) {
        err_set(err, ERR_INVALID,
                "table %s has no family \"%s\", which this "
                "import writes",
                run->table_name, name);
        err_hint(err,
                 "quarry table alter %s --add-family %s, or import into a "
                 "new table",
                 run->table_name, name);
        return ERR_INVALID;
    }
    mutex_lock(&f->import->lock);
    rc = quarry_table_check_family(run->table, name, NULL);
    if (rc == ERR_NOTFOUND)
        rc = quarry_table_alter(run->q, run->table_name, &add, 1, err);
    if (rc == ERR_EXISTS)
        rc = 0;
    mutex_unlock(&f->import->lock);
    return rc;
}

static int know_family(struct cells_file *f, const char *name, struct err *err)
{
    int rc;
    if (strcmp(f->family, name) == 0)
        return 0;
    rc = quarry_table_check_family(f->run->table, name, NULL);
    if (rc)
        rc = add_family(f, name, err);
    if (!rc)
        memcpy(f->family, name, strlen(name) + 1);
    return rc;
}

/* --- cells --------------------------------------------------------------- */

/* Cells of one row that come one after the other are one mutation. */
static int cells_row(struct cells_file *f,
                     const struct quarry_bulk_cell *cell,
                     struct run_batch *batch,
                     struct err *err)
{
    int rc;
    if (f->mutation && batch->bytes < RUN_BATCH_BYTES &&
        slice_eq(buf_slice(&f->row), cell->row))
        return 0;
    buf_clear(&f->row);
    buf_append_slice(&f->row, cell->row);
    rc = run_batch_row(batch, buf_slice(&f->row), cell->value.len, &f->mutation,
                       err);
    if (rc)
        f->mutation = NULL;
    return rc;
}

static int put_cell(struct cells_file *f,
                    const struct run_line *line,
                    const struct quarry_bulk_cell *cell,
                    struct run_batch *batch,
                    struct err *err)
{
    int rc;
    if (cell->row.len == 0 || cell->row.len > ROW_KEY_BYTES_MAX) {
        run_refuse(f->run, f->index, line, true,
                   "a row key that is empty or over 64 KiB, line skipped");
        return 0;
    }
    rc = know_family(f, cell->family, err);
    if (!rc)
        rc = cells_row(f, cell, batch, err);
    if (!rc)
        run_batch_set(batch, f->mutation, cell->family, cell->qualifier,
                      cell->timestamp_us == QUARRY_NOW ? 0 : cell->timestamp_us,
                      cell->value);
    return rc;
}

/* Is every cell of the row one? A row is taken whole or refused. */
static bool is_whole_row(struct cells_file *f, const char **why)
{
    struct quarry_bulk_cell cell;
    int code;
    while (cell_parser_next(&f->parser, &cell, &code, why))
        continue;
    f->parser.next_cell = 0;
    return code == 0;
}

static int put_record(struct cells_file *f,
                      const struct run_line *record,
                      struct run_batch *batch,
                      struct err *err)
{
    struct quarry_bulk_cell cell;
    const char *why;
    int code = cell_parser_take(&f->parser, record->text, &why);
    int rc = 0;
    batch->counts.records++;
    if (code || (f->parser.form == CELLS_JSON && !is_whole_row(f, &why))) {
        run_refuse(f->run, f->index, record, true, why);
        return 0;
    }
    while (!rc && cell_parser_next(&f->parser, &cell, &code, &why))
        rc = put_cell(f, record, &cell, batch, err);
    return rc;
}

/* --- lines --------------------------------------------------------------- */

/* A line of a record of CSV that takes several. */
static int take_part(struct cells_file *f,
                     const struct run_line *line,
                     struct run_batch *batch,
                     struct err *err)
{
    bool odd = csv_ends_open(line->text, f->open);
    struct run_line whole;
    if (!f->open) {
        f->begin = *line;
        f->mark_bytes = (size_t)(line->text.data - line->raw.data);
        buf_clear(&f->record);
    }
    f->open = odd && f->record.len < RECORD_BYTES_MAX;
    buf_append_slice(&f->record, line->raw);
    if (f->open)
        return 0;
    whole = f->begin;
    whole.raw = buf_slice(&f->record);
    if (odd) {
        run_refuse(f->run, f->index, &whole, true, "quote never closed");
        return 0;
    }
    /* Its own end may be in two bytes; what is in quotes keeps all. */
    whole.text = slice_sub(whole.raw, f->mark_bytes,
                           whole.raw.len - (line->raw.len - line->text.len));
    return put_record(f, &whole, batch, err);
}

static int take_line(void *ctx,
                     const struct run_line *line,
                     struct run_batch *batch,
                     struct err *err)
{
    struct cells_file *f = ctx;
    if (f->parser.form == CELLS_UNKNOWN) {
        f->parser.form = cell_form_of(line->text);
        if (f->parser.form == CELLS_CSV)
            return 0; /* Its header. */
    }
    if (f->parser.form == CELLS_CSV &&
        (f->open || csv_ends_open(line->text, false)))
        return take_part(f, line, batch, err);
    if (line->text.len == 0)
        return 0;
    return put_record(f, line, batch, err);
}

static int read_file(struct run *run, size_t index, struct err *err)
{
    struct cells_file f = {.run = run, .import = run->kind, .index = index};
    int rc;
    cell_parser_init(&f.parser, CELLS_UNKNOWN);
    rc = import_lines(run, index, take_line, &f, err);
    if (rc == 0 && f.open) {
        struct run_counts rest = {.records = 1};
        f.begin.raw = buf_slice(&f.record);
        run_refuse(run, index, &f.begin, true, "quote never closed");
        rc = run_count(run, &rest, err);
    }
    cell_parser_close(&f.parser);
    buf_close(&f.record);
    buf_close(&f.row);
    return rc;
}

/* --- cells of a source --------------------------------------------------- */

#define COUNT_EVERY 4096

static int put_source_cells(struct cells_file *f,
                            const struct ingest_cell_source *source,
                            void *reader,
                            struct run_batch *batch,
                            struct err *err)
{
    struct run_line place = {.number = 0};
    bool more = true;
    while (more) {
        struct quarry_bulk_cell cell;
        struct err why = ERR_INIT;
        int rc = source->next(reader, &cell, &more, &why);
        if (rc && (rc != ERR_INVALID || !more))
            return err_copy(err, &why);
        place.number += more;
        batch->counts.records += more;
        if (rc)
            run_refuse(f->run, f->index, &place, true, why.text);
        else if (more)
            rc = put_cell(f, &place, &cell, batch, err);
        if (rc && rc != ERR_INVALID)
            return rc;
        if (place.number % COUNT_EVERY == 0 || run_stopped(f->run) || !more)
            rc = run_count(f->run, &batch->counts, err);
        else
            rc = 0;
        if (rc)
            return rc;
    }
    return 0;
}

static int read_source(struct run *run, size_t index, struct err *err)
{
    struct cells_import *import = run->kind;
    const struct ingest_cell_source *source = import->source;
    struct cells_file f = {.run = run, .import = import, .index = index};
    struct run_batch batch;
    struct file_info info;
    void *reader;
    int flushed;
    int rc = source->open(source->ctx, run->paths[index], &reader, err);
    if (rc)
        return rc;
    run_batch_init(&batch, run);
    rc = put_source_cells(&f, source, reader, &batch, err);
    if (world_stat(run->world, run->paths[index], &info, NULL) == 0)
        batch.counts.bytes_read += info.size_bytes;
    /* Rows read before a failure are stored, as those of texts are. */
    flushed = run_batch_flush(&batch, rc ? NULL : err);
    run_batch_close(&batch);
    source->close(reader);
    buf_close(&f.row);
    return rc ? rc : flushed;
}

int ingest_cell_files(const struct ingest_job *job,
                      struct ingest_report *report,
                      struct err *err)
{
    struct cells_import import = {.source = job->source};
    int rc;
    PRE(job->source);
    mutex_init(&import.lock);
    rc = import_into(job, read_source, &import, &import.adds_families, report,
                     err);
    mutex_close(&import.lock);
    return rc;
}

int ingest_cells(const struct ingest_job *job,
                 struct ingest_report *report,
                 struct err *err)
{
    struct cells_import import = {.adds_families = false};
    int rc;
    mutex_init(&import.lock);
    rc = import_into(job, read_file, &import, &import.adds_families, report,
                     err);
    mutex_close(&import.lock);
    return rc;
}
