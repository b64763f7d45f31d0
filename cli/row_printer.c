/* Rows as text blocks, JSON objects, and CSV or TSV lines. JSON and CSV have
 * bytes that are not UTF-8 in base64, TSV escapes them: these three can be read
 * back. Text is for people: values are cut to the terminal.
 */
#include "cli/row_printer.h"

#include <stdio.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "cli/table_printer.h"
#include "cli/text_form.h"

/* A column name longer than this pushes its own line only. */
#define NAME_COLUMNS_MAX 44

#define INDENT "  "

void row_printer_init(struct row_printer *p,
                      enum cli_format format,
                      bool keys_only,
                      size_t cut)
{
    *p = (struct row_printer){.format = format, .keys_only = keys_only};
    p->value_columns = cut;
    p->line = BUF_INIT;
    p->out = stdout;
}

static void put_line(struct row_printer *p)
{
    PRE(p->out);
    fwrite(p->line.data, 1, p->line.len, p->out);
    p->byte_count += p->line.len;
}

static void append_column(struct buf *out, const struct quarry_cell *cell)
{
    text_put_escaped(out, cell->family, 0);
    buf_append_byte(out, ':');
    text_put_escaped(out, cell->qualifier, 0);
}

static size_t name_width(const struct quarry_row *row)
{
    struct buf name = BUF_INIT;
    size_t width = 0;
    for (size_t i = 0; i < row->cell_count; i++) {
        size_t n;
        buf_clear(&name);
        append_column(&name, &row->cells[i]);
        n = utf8_columns(buf_slice(&name));
        if (n <= NAME_COLUMNS_MAX)
            width = MAX_OF(width, n);
    }
    buf_close(&name);
    POST(width <= NAME_COLUMNS_MAX);
    return width;
}

/* Room for a value behind what stands on the line; SIZE_MAX: all of it. */
static size_t value_room(const struct row_printer *p)
{
    size_t terminal = terminal_columns();
    size_t used;
    if (p->value_columns > 0)
        return p->value_columns;
    if (terminal == 0)
        return SIZE_MAX;
    used = utf8_columns(buf_slice(&p->line));
    return used + 10 < terminal ? terminal - used : SIZE_MAX;
}

/* Are these eight bytes a small number, such as counters are? */
static bool is_counter(struct slice value, int64_t *number)
{
    if (value.len != sizeof(*number) ||
        (value.data[0] != '\0' && value.data[0] != '\xff'))
        return false;
    *number = (int64_t)get_be64(value.data);
    return true;
}

/* Of a counter the number in front of the bytes: "5 = \\x00…\\x05". */
static void put_counter(struct buf *line, struct slice value)
{
    int64_t number;
    if (is_counter(value, &number))
        buf_printf(line, "%lld = ", (long long)number);
}

static void
text_cell(struct row_printer *p, const struct quarry_cell *cell, size_t width)
{
    size_t used;
    buf_clear(&p->line);
    buf_append_str(&p->line, INDENT);
    append_column(&p->line, cell);
    used = utf8_columns(buf_slice(&p->line)) - 2;
    if (used < width)
        buf_append_fill(&p->line, ' ', width - used);
    buf_append_str(&p->line, "  ");
    text_put_time(&p->line, cell->timestamp_us);
    buf_append_str(&p->line, "  ");
    if (cell->label.len) {
        buf_append_byte(&p->line, '[');
        text_put_escaped(&p->line, cell->label, 0);
        buf_append_str(&p->line, "]  ");
    }
    put_counter(&p->line, cell->value);
    text_put_cut(&p->line, cell->value, value_room(p));
    buf_append_byte(&p->line, '\n');
    put_line(p);
}

static void text_row(struct row_printer *p, const struct quarry_row *row)
{
    size_t width = p->keys_only ? 0 : name_width(row);
    PRE(p->format == FORMAT_TEXT);
    buf_clear(&p->line);
    text_put_escaped(&p->line, row->key, 0);
    buf_append_byte(&p->line, '\n');
    put_line(p);
    for (size_t i = 0; i < row->cell_count && !p->keys_only; i++)
        text_cell(p, &row->cells[i], width);
}

static void json_cell(struct buf *out, const struct quarry_cell *cell)
{
    int64_t number;
    buf_append_byte(out, '{');
    json_put_bytes(out, "family", cell->family);
    buf_append_str(out, ", ");
    json_put_bytes(out, "qualifier", cell->qualifier);
    buf_printf(out, ", \"timestamp_us\": %lld, \"time\": \"",
               (long long)cell->timestamp_us);
    text_put_time(out, cell->timestamp_us);
    buf_append_str(out, "\", ");
    if (cell->label.len) {
        json_put_bytes(out, "label", cell->label);
        buf_append_str(out, ", ");
    }
    json_put_bytes(out, "value", cell->value);
    if (is_counter(cell->value, &number))
        buf_printf(out, ", \"number\": %lld", (long long)number);
    buf_append_byte(out, '}');
}

static void json_row(struct row_printer *p, const struct quarry_row *row)
{
    PRE(p->format == FORMAT_JSON);
    buf_clear(&p->line);
    buf_append_byte(&p->line, '{');
    json_put_bytes(&p->line, "row", row->key);
    if (!p->keys_only) {
        buf_append_str(&p->line, ", \"cells\": [");
        for (size_t i = 0; i < row->cell_count; i++) {
            if (i)
                buf_append_str(&p->line, ", ");
            json_cell(&p->line, &row->cells[i]);
        }
        buf_append_byte(&p->line, ']');
    }
    buf_append_str(&p->line, "}\n");
    put_line(p);
}

static void csv_header(struct row_printer *p)
{
    if (p->format == FORMAT_CSV && !p->tsv && !p->header_done)
        fputs(p->keys_only ? "row\n"
                           : "row,family,qualifier,timestamp_us,value\n",
              p->out);
    p->header_done = true;
}

static void csv_row(struct row_printer *p, const struct quarry_row *row)
{
    PRE(p->header_done);
    PRE(!p->tsv);
    buf_clear(&p->line);
    if (p->keys_only) {
        csv_put_bytes(&p->line, row->key);
        buf_append_byte(&p->line, '\n');
    }
    for (size_t i = 0; i < row->cell_count && !p->keys_only; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        csv_put_bytes(&p->line, row->key);
        buf_append_byte(&p->line, ',');
        csv_put_bytes(&p->line, cell->family);
        buf_append_byte(&p->line, ',');
        csv_put_bytes(&p->line, cell->qualifier);
        buf_printf(&p->line, ",%lld,", (long long)cell->timestamp_us);
        csv_put_bytes(&p->line, cell->value);
        buf_append_byte(&p->line, '\n');
    }
    put_line(p);
}

/* As `quarry load` reads it. */
static void tsv_row(struct row_printer *p, const struct quarry_row *row)
{
    PRE(p->tsv);
    buf_clear(&p->line);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        text_put_escaped(&p->line, row->key, 0);
        buf_append_byte(&p->line, '\t');
        append_column(&p->line, cell);
        buf_printf(&p->line, "\t%lld\t", (long long)cell->timestamp_us);
        text_put_escaped(&p->line, cell->value, 0);
        buf_append_byte(&p->line, '\n');
    }
    put_line(p);
}

void row_printer_row(struct row_printer *p, const struct quarry_row *row)
{
    csv_header(p);
    INVARIANT(p->header_done);
    switch (p->format) {
    case FORMAT_TEXT: text_row(p, row); break;
    case FORMAT_JSON: json_row(p, row); break;
    case FORMAT_CSV: p->tsv ? tsv_row(p, row) : csv_row(p, row); break;
    }
    p->row_count++;
}

void row_printer_close(struct row_printer *p)
{
    csv_header(p);
    buf_close(&p->line);
}
