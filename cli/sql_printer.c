/* A sink that prints. Text goes through a sheet, page by page; the other
 * formats are written row by row, so that memory does not grow with the result.
 */
#include "cli/sql_printer.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/text_form.h"

void sql_printer_init(struct sql_printer *p, enum sql_format format)
{
    *p = (struct sql_printer){.format = format};
}

static void forget_columns(struct sql_printer *p)
{
    for (size_t i = 0; i < p->column_count; i++)
        mem_free(p->names[i]);
    mem_free(p->names);
    mem_free(p->shapes);
    p->names = NULL;
    p->shapes = NULL;
    p->column_count = 0;
}

void sql_printer_close(struct sql_printer *p)
{
    forget_columns(p);
    buf_close(&p->line);
    buf_close(&p->cell);
}

static int write_line(struct sql_printer *p, struct err *err)
{
    if (p->line.len)
        fwrite(p->line.data, 1, p->line.len, stdout);
    buf_clear(&p->line);
    return ferror(stdout)
               ? err_set(err, ERR_IO, "standard output cannot be written")
               : 0;
}

/* --- begin --------------------------------------------------------------- */

static int begin_aligned(struct sql_printer *p, struct err *err)
{
    struct sheet_column columns[SHEET_COLUMNS_MAX];
    if (p->column_count > SHEET_COLUMNS_MAX) {
        err_set(err, ERR_TOOBIG, "%zu columns do not fit a table of text",
                p->column_count);
        err_hint(err, "--format csv or json has room for them");
        return ERR_TOOBIG;
    }
    for (size_t i = 0; i < p->column_count; i++)
        columns[i] = (struct sheet_column){
            p->names[i],
            p->shapes[i] == SQL_SHAPE_NUMBER ? SHEET_NUMBER : SHEET_TEXT};
    sheet_init(&p->sheet, columns, p->column_count);
    p->in_sheet = true;
    return 0;
}

static int begin_csv(struct sql_printer *p, struct err *err)
{
    for (size_t i = 0; i < p->column_count; i++) {
        if (i)
            buf_append_byte(&p->line, ',');
        text_put_csv(&p->line, slice_str(p->names[i]));
    }
    buf_append_str(&p->line, "\r\n");
    return write_line(p, err);
}

static int printer_begin(void *ctx, const struct sql_header *h, struct err *err)
{
    struct sql_printer *p = ctx;
    forget_columns(p);
    p->row_count = 0;
    p->has_rows = h->has_rows;
    p->column_count = h->count;
    p->names = mem_zalloc(h->count + 1, sizeof(char *));
    p->shapes = mem_zalloc(h->count + 1, sizeof(*p->shapes));
    for (size_t i = 0; i < h->count; i++) {
        p->names[i] = mem_strdup(h->names[i]);
        p->shapes[i] = h->shapes[i];
    }
    if (!h->has_rows)
        return 0;
    p->is_plan = p->format == SQL_ALIGNED && h->count == 2 &&
                 strcmp(h->names[0], "explain_key") == 0;
    if (p->is_plan)
        return 0;
    if (p->format == SQL_ALIGNED)
        return begin_aligned(p, err);
    if (p->format == SQL_CSV)
        return begin_csv(p, err);
    if (p->format == SQL_JSON)
        buf_append_byte(&p->line, '[');
    return 0;
}

/* --- rows ---------------------------------------------------------------- */

/* A plan is a drawing of many lines. */
static void
plan_row(struct sql_printer *p, const struct sql_batch *b, size_t row)
{
    sql_batch_text(b, 1, row, &p->line);
}

static int
aligned_row(struct sql_printer *p, const struct sql_batch *b, size_t row)
{
    for (size_t i = 0; i < p->column_count; i++) {
        buf_clear(&p->cell);
        if (sql_batch_is_null(b, i, row))
            buf_append_str(&p->cell, "NULL");
        else
            sql_batch_text(b, i, row, &p->cell);
        sheet_add(&p->sheet, buf_slice(&p->cell));
    }
    if (sheet_is_full(&p->sheet)) {
        sheet_print(&p->sheet, FORMAT_TEXT);
        sheet_next_page(&p->sheet);
    }
    return 0;
}

/* NULL is an empty field, a text without bytes a quoted one. */
static void
csv_row(struct sql_printer *p, const struct sql_batch *b, size_t row)
{
    for (size_t i = 0; i < p->column_count; i++) {
        if (i)
            buf_append_byte(&p->line, ',');
        if (sql_batch_is_null(b, i, row))
            continue;
        buf_clear(&p->cell);
        sql_batch_text(b, i, row, &p->cell);
        if (p->cell.len)
            csv_put_bytes(&p->line, buf_slice(&p->cell));
        else
            buf_append_str(&p->line, "\"\"");
    }
    buf_append_str(&p->line, "\r\n");
}

static void
json_row(struct sql_printer *p, const struct sql_batch *b, size_t row)
{
    if (p->format == SQL_JSON)
        buf_append_str(&p->line, p->row_count ? ",\n " : "");
    buf_append_byte(&p->line, '{');
    for (size_t i = 0; i < p->column_count; i++) {
        buf_append_str(&p->line, i ? ", " : "");
        text_put_json(&p->line, slice_str(p->names[i]));
        buf_append_str(&p->line, ": ");
        sql_batch_json(b, i, row, &p->line);
    }
    buf_append_byte(&p->line, '}');
    if (p->format == SQL_JSON_LINES)
        buf_append_byte(&p->line, '\n');
}

static int printer_rows(void *ctx, const struct sql_batch *b, struct err *err)
{
    struct sql_printer *p = ctx;
    for (size_t i = 0; p->has_rows && i < sql_batch_row_count(b); i++) {
        int rc = 0;
        if (p->is_plan)
            plan_row(p, b, i);
        else if (p->format == SQL_ALIGNED)
            rc = aligned_row(p, b, i);
        else if (p->format == SQL_CSV)
            csv_row(p, b, i);
        else
            json_row(p, b, i);
        p->row_count++;
        if (rc == 0)
            rc = write_line(p, err);
        if (rc)
            return rc;
    }
    return ferror(stdout)
               ? err_set(err, ERR_IO, "standard output cannot be written")
               : 0;
}

/* --- end ----------------------------------------------------------------- */

static void printer_note(void *ctx, struct slice lines)
{
    struct sql_printer *p = ctx;
    sql_printer_end(p, true);
    p->has_rows = false;
    if (p->format == SQL_ALIGNED)
        printf("%.*s", SLICE_ARG(lines));
    else
        fprintf(stderr, "%.*s", SLICE_ARG(lines));
}

struct sql_sink sql_printer_sink(struct sql_printer *p)
{
    p->has_rows = false;
    return (struct sql_sink){.ctx = p,
                             .begin = printer_begin,
                             .rows = printer_rows,
                             .note = printer_note};
}

void sql_printer_end(struct sql_printer *p, bool well)
{
    if (p->in_sheet && well)
        sheet_print(&p->sheet, FORMAT_TEXT);
    if (p->in_sheet)
        sheet_close(&p->sheet);
    p->in_sheet = false;
    if (p->has_rows && p->format == SQL_JSON && well)
        buf_append_str(&p->line, "]\n");
    if (well)
        (void)write_line(p, NULL);
    buf_clear(&p->line);
    fflush(stdout);
}
