/* The tables of a program as sheets, or as the language prints them. */
#include "cli/saw_results.h"

#include <stdio.h>

#include "base/core/buf.h"
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

static void print_results_of_table(struct result_printer *p)
{
    if (!p->open)
        return;
    if (!p->first && p->format != FORMAT_JSON)
        putchar('\n');
    if (p->format == FORMAT_TEXT)
        puts(buf_cstr(&p->name));
    sheet_print(&p->sheet, p->format);
    sheet_close(&p->sheet);
    p->open = false;
    p->first = false;
}

static void on_table(void *ctx,
                     const char *name,
                     const char *const *columns,
                     size_t column_count)
{
    struct result_printer *p = ctx;
    print_results_of_table(p);
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

static void on_line(void *ctx,
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
}

void saw_results_print(struct saw_run *run,
                       enum cli_format format,
                       bool aligned)
{
    struct result_printer p = {.format = format, .first = true};
    struct saw_result_sink sink = {&p, on_table, on_line};
    struct buf text = BUF_INIT;
    if (format == FORMAT_TEXT && !aligned) {
        saw_run_print(run, &text);
        fwrite(buf_slice(&text).data, 1, text.len, stdout);
        buf_close(&text);
        return;
    }
    saw_run_results(run, &sink);
    print_results_of_table(&p);
    buf_close(&p.name);
}
