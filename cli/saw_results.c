/* The tables of a program as sheets, or in the language's own form, which other
 * Sawzall tools read.
 */
#include "cli/saw_results.h"

#include <errno.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "cli/interrupt.h"
#include "cli/table_printer.h"
#include "sawzall-lite/sawzall.h"

/* Gathers the lines of one aggregator table after the other into sheets. The
 * table's name is a column for programs, and a title for people. */
struct result_printer {
    enum cli_format format;
    struct sheet sheet;
    struct sheet_column columns[SHEET_COLUMNS_MAX];
    size_t column_count;
    size_t name_columns; /* 1 when the table's name is one of them. */
    bool open;           /* The sheet has a table's lines. */
    bool first;          /* Nothing was printed before. */
    struct buf name;
};

static void print_page(struct result_printer *p)
{
    if (!p->sheet.continued) {
        if (!p->first && p->format != FORMAT_JSON)
            putchar('\n');
        if (p->format == FORMAT_TEXT)
            puts(buf_cstr(&p->name));
        p->first = false;
    }
    sheet_print(&p->sheet, p->format);
    sheet_next_page(&p->sheet);
}

static void print_last_page(struct result_printer *p)
{
    if (!p->open)
        return;
    if (sheet_row_count(&p->sheet) > 0)
        print_page(p);
    sheet_close(&p->sheet);
    p->open = false;
}

static void on_table(void *ctx,
                     const char *name,
                     const char *const *columns,
                     size_t column_count)
{
    struct result_printer *p = ctx;
    print_last_page(p);
    buf_clear(&p->name);
    buf_append_str(&p->name, name);
    p->name_columns = p->format == FORMAT_TEXT ? 0 : 1;
    p->columns[0] = (struct sheet_column){"table", SHEET_TEXT};
    p->column_count = p->name_columns;
    for (size_t i = 0; i < column_count; i++)
        if (p->column_count < SHEET_COLUMNS_MAX)
            p->columns[p->column_count++] =
                (struct sheet_column){columns[i], SHEET_TEXT};
}

static bool on_line(void *ctx,
                    const struct slice *values,
                    const bool *numeric,
                    size_t count)
{
    struct result_printer *p = ctx;
    size_t skip = p->name_columns;
    if (!p->open) {
        for (size_t i = 0; i < count && i + skip < p->column_count; i++)
            p->columns[i + skip].kind = numeric[i] ? SHEET_NUMBER : SHEET_TEXT;
        sheet_init(&p->sheet, p->columns, p->column_count);
        p->open = true;
    }
    if (skip)
        sheet_add(&p->sheet, buf_slice(&p->name));
    for (size_t i = 0; i + skip < p->column_count; i++)
        sheet_add(&p->sheet, i < count ? values[i] : SLICE_EMPTY);
    if (sheet_is_full(&p->sheet))
        print_page(p);
    return !interrupted() && !ferror(stdout);
}

static bool write_text(void *ctx, struct slice text)
{
    (void)ctx;
    return fwrite(text.data, 1, text.len, stdout) == text.len && !interrupted();
}

int saw_results_print(struct saw_run *run,
                      enum cli_format format,
                      bool aligned,
                      struct err *err)
{
    const struct saw_text_sink text = {NULL, write_text};
    struct result_printer p = {.format = format, .first = true};
    struct saw_result_sink sink = {&p, on_table, on_line};
    bool done;
    if (format == FORMAT_TEXT && !aligned) {
        done = saw_run_print_to(run, &text);
    } else {
        done = saw_run_results(run, &sink);
        if (done)
            print_last_page(&p);
        else if (p.open)
            sheet_close(&p.sheet);
        buf_close(&p.name);
    }
    if (!interrupted() && (ferror(stdout) || fflush(stdout)))
        return err_set_errno(err, errno, "write the results");
    return done ? 0 : err_set(err, ERR_CANCELLED, "interrupted");
}
