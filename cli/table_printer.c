/* Sheets as aligned columns, JSON lines or CSV. Columns are as wide as the
 * widest cell of the first page; those that the terminal has no room for stand
 * below each row. JSON and CSV have whole values.
 */
#define _XOPEN_SOURCE   700
#define _DEFAULT_SOURCE /* struct winsize */

#include "cli/table_printer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/text_form.h"

#define COLUMN_GAP "  "

#define BELOW_INDENT "    "

/* The last column may wrap, if it has this room at least. */
#define LAST_COLUMNS_MIN 10

void sheet_init(struct sheet *s,
                const struct sheet_column *columns,
                size_t column_count)
{
    PRE(column_count > 0);
    PRE(column_count <= SHEET_COLUMNS_MAX);
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < column_count; i++)
        s->columns[i] = columns[i];
    s->column_count = column_count;
}

void sheet_close(struct sheet *s)
{
    buf_close(&s->bytes);
    buf_close(&s->ends);
}

void sheet_add(struct sheet *s, struct slice cell)
{
    /* Where the cell ends: the start is the end of the one before. */
    size_t end;
    buf_append_slice(&s->bytes, cell);
    end = s->bytes.len;
    buf_append(&s->ends, &end, sizeof(end));
    s->cell_count++;
    INVARIANT(s->ends.len == s->cell_count * sizeof(end)); /* INV-1 */
}

void sheet_add_str(struct sheet *s, const char *cell)
{
    sheet_add(s, slice_str(cell));
}

void sheet_addf(struct sheet *s, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    sheet_add(s, buf_slice(&b));
    buf_close(&b);
}

void sheet_add_u64(struct sheet *s, uint64_t v)
{
    sheet_addf(s, "%llu", (unsigned long long)v);
}

size_t sheet_row_count(const struct sheet *s)
{
    PRE(s->column_count > 0);
    return s->cell_count / s->column_count;
}

bool sheet_is_full(const struct sheet *s)
{
    return sheet_row_count(s) >= SHEET_ROWS_MAX ||
           s->bytes.len >= SHEET_BYTES_MAX;
}

void sheet_next_page(struct sheet *s)
{
    PRE(s->cell_count % s->column_count == 0); /* INV-2 */
    buf_clear(&s->bytes);
    buf_clear(&s->ends);
    s->cell_count = 0;
    s->continued = true;
}

static size_t end_of(const struct sheet *s, size_t cell)
{
    size_t end;
    PRE(cell < s->cell_count);
    memcpy(&end, s->ends.data + cell * sizeof(end), sizeof(end));
    return end;
}

struct slice sheet_cell(const struct sheet *s, size_t row, size_t column)
{
    size_t cell = row * s->column_count + column;
    size_t begin = cell ? end_of(s, cell - 1) : 0;
    PRE(column < s->column_count);
    return slice_sub(buf_slice(&s->bytes), begin, end_of(s, cell));
}

size_t terminal_columns_of(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t terminal_columns(void)
{
    return terminal_columns_of(STDOUT_FILENO);
}

/* A cell that is a decimal number; 0 for anything else. */
static int64_t number_in(struct slice cell)
{
    int64_t v = 0;
    return text_parse_i64(cell, &v, NULL) ? 0 : v;
}

/* Append a cell as people see it to @out. */
static void
table_printer_show(struct buf *out, enum sheet_kind kind, struct slice cell)
{
    if (cell.len > 0 && kind == SHEET_BYTES)
        text_put_bytes(out, (uint64_t)number_in(cell));
    else if (cell.len > 0 && kind == SHEET_TIME)
        text_put_time(out, number_in(cell));
    else if (cell.len > 0 && kind == SHEET_AGE)
        text_put_duration(out, (uint64_t)number_in(cell));
    else
        text_put_escaped(out, cell, 0);
}

static bool is_right(enum sheet_kind kind)
{
    return kind == SHEET_NUMBER || kind == SHEET_BYTES;
}

/* Append @shown in a column of @width; the last column to the left needs no
 * padding behind it. */
static void table_printer_pad(struct buf *line,
                              struct slice shown,
                              size_t width,
                              bool right,
                              bool last)
{
    size_t n = utf8_columns(shown);
    size_t gap = n < width ? width - n : 0;
    if (right)
        buf_append_fill(line, ' ', gap);
    buf_append_slice(line, shown);
    if (!right && !last)
        buf_append_fill(line, ' ', gap);
    if (!last)
        buf_append_str(line, COLUMN_GAP);
}

static void table_printer_measure(const struct sheet *s,
                                  size_t widths[SHEET_COLUMNS_MAX])
{
    struct buf shown = BUF_INIT;
    size_t rows = sheet_row_count(s);
    PRE(s->column_count <= SHEET_COLUMNS_MAX);
    for (size_t c = 0; c < s->column_count; c++) {
        widths[c] = utf8_columns(slice_str(s->columns[c].name));
        for (size_t r = 0; r < rows; r++) {
            size_t n;
            buf_clear(&shown);
            table_printer_show(&shown, s->columns[c].kind, sheet_cell(s, r, c));
            n = utf8_columns(buf_slice(&shown));
            widths[c] = MAX_OF(widths[c], n);
        }
    }
    buf_close(&shown);
}

/* How many columns stand in a line: all, or, on a terminal, those that it has
 * room for. */
static size_t fitting_columns(const struct sheet *s, const size_t *widths)
{
    size_t room = terminal_columns();
    size_t used = 0;
    for (size_t c = 0; c < s->column_count && room > 0; c++) {
        size_t most =
            c + 1 < s->column_count ? widths[c] : (size_t)LAST_COLUMNS_MIN;
        if (used + MIN_OF(widths[c], most) > room)
            return MAX_OF(c, (size_t)1);
        used += widths[c] + strlen(COLUMN_GAP);
    }
    return s->column_count;
}

static void print_line(struct buf *line)
{
    fwrite(line->data, 1, line->len, stdout);
    putchar('\n');
    buf_clear(line);
}

/* The cells of row @r from column @c on, by their names, below the row. */
static void print_below(const struct sheet *s, size_t r, size_t c)
{
    size_t room = terminal_columns();
    struct buf line = BUF_INIT;
    struct buf item = BUF_INIT;
    PRE(c <= s->column_count);
    for (; c < s->column_count; c++) {
        struct slice cell = sheet_cell(s, r, c);
        if (cell.len == 0)
            continue;
        buf_clear(&item);
        buf_printf(&item, "%s: ", s->columns[c].name);
        table_printer_show(&item, s->columns[c].kind, cell);
        if (line.len > 0 && utf8_columns(buf_slice(&line)) +
                                    strlen(COLUMN_GAP) +
                                    utf8_columns(buf_slice(&item)) >
                                room)
            print_line(&line);
        buf_append_str(&line, line.len > 0 ? COLUMN_GAP : BELOW_INDENT);
        buf_append_slice(&line, buf_slice(&item));
    }
    if (line.len > 0)
        print_line(&line);
    buf_close(&line);
    buf_close(&item);
}

static void
print_header(const struct sheet *s, const size_t *widths, size_t count)
{
    struct buf line = BUF_INIT;
    struct buf rule = BUF_INIT;
    size_t room = terminal_columns();
    PRE(count > 0);
    PRE(count <= s->column_count);
    for (size_t c = 0; c < count; c++) {
        bool last = c + 1 == count;
        size_t used = utf8_columns(buf_slice(&rule));
        table_printer_pad(&line, slice_str(s->columns[c].name), widths[c],
                          is_right(s->columns[c].kind), last);
        for (size_t i = 0; i < widths[c] && (!room || used + i < room); i++)
            buf_append_str(&rule, "─");
        if (!last)
            buf_append_str(&rule, COLUMN_GAP);
    }
    printf("%s\n", buf_cstr(&line));
    printf("%s\n", buf_cstr(&rule));
    buf_close(&line);
    buf_close(&rule);
}

static void print_text(struct sheet *s)
{
    size_t rows = sheet_row_count(s);
    struct buf line = BUF_INIT;
    struct buf shown = BUF_INIT;
    if (!s->continued) {
        table_printer_measure(s, s->widths);
        s->fitting = fitting_columns(s, s->widths);
        print_header(s, s->widths, s->fitting);
    }
    INVARIANT(s->fitting > 0);
    INVARIANT(s->fitting <= s->column_count); /* INV-3 */
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < s->fitting; c++) {
            buf_clear(&shown);
            table_printer_show(&shown, s->columns[c].kind, sheet_cell(s, r, c));
            table_printer_pad(&line, buf_slice(&shown), s->widths[c],
                              is_right(s->columns[c].kind),
                              c + 1 == s->fitting);
        }
        print_line(&line);
        print_below(s, r, s->fitting);
    }
    buf_close(&line);
    buf_close(&shown);
}

/* Programs are told the unit. */
static const char *unit_of(const struct sheet_column *column)
{
    return column->kind == SHEET_AGE ? "_us" : "";
}

/* Numbers as numbers, all else as strings. */
static void append_json_pairs(struct buf *line, struct slice pairs)
{
    bool first = true;
    buf_append_str(line, "\"facts\": {");
    while (pairs.len > 0) {
        size_t end = slice_find_byte(pairs, ' ');
        struct slice pair = slice_sub(pairs, 0, end);
        size_t equals = slice_find_byte(pair, '=');
        char *key = mem_strndup(pair.data, equals);
        struct slice value = slice_sub(pair, equals + 1, pair.len);
        uint64_t number;
        pairs = slice_sub(pairs, end + 1, pairs.len);
        if (equals > 0 && equals < pair.len) {
            buf_append_str(line, first ? "" : ", ");
            first = false;
            if (text_parse_u64(value, &number, NULL) == 0)
                buf_printf(line, "\"%s\": %llu", key,
                           (unsigned long long)number);
            else
                json_put_bytes(line, key, value);
        }
        mem_free(key);
    }
    buf_append_byte(line, '}');
}

/* Numbers go as they are; what is not there is null. */
static void append_json_cell(struct buf *line,
                             const struct sheet_column *column,
                             struct slice cell)
{
    PRE(column->name);
    if (column->kind == SHEET_TEXT || column->kind == SHEET_PAIRS) {
        json_put_bytes(line, column->name, cell);
        if (column->kind == SHEET_PAIRS) {
            buf_append_str(line, ", ");
            append_json_pairs(line, cell);
        }
        return;
    }
    buf_printf(line, "\"%s%s\": ", column->name, unit_of(column));
    if (cell.len == 0)
        buf_append_str(line, "null");
    else
        buf_append_slice(line, cell);
}

static void print_json(const struct sheet *s)
{
    struct buf line = BUF_INIT;
    for (size_t r = 0; r < sheet_row_count(s); r++) {
        buf_clear(&line);
        for (size_t c = 0; c < s->column_count; c++) {
            buf_append_str(&line, c ? ", " : "{");
            append_json_cell(&line, &s->columns[c], sheet_cell(s, r, c));
        }
        buf_append_str(&line, "}\n");
        fwrite(line.data, 1, line.len, stdout);
    }
    buf_close(&line);
}

static void print_csv(const struct sheet *s)
{
    struct buf line = BUF_INIT;
    if (!s->continued) {
        for (size_t c = 0; c < s->column_count; c++)
            printf("%s%s%s", c ? "," : "", s->columns[c].name,
                   unit_of(&s->columns[c]));
        putchar('\n');
    }
    for (size_t r = 0; r < sheet_row_count(s); r++) {
        buf_clear(&line);
        for (size_t c = 0; c < s->column_count; c++) {
            if (c)
                buf_append_byte(&line, ',');
            text_put_csv(&line, sheet_cell(s, r, c));
        }
        buf_append_byte(&line, '\n');
        fwrite(line.data, 1, line.len, stdout);
    }
    buf_close(&line);
}

void sheet_print(struct sheet *s, enum cli_format format)
{
    PRE(s->cell_count % s->column_count == 0);
    switch (format) {
    case FORMAT_TEXT: print_text(s); break;
    case FORMAT_JSON: print_json(s); break;
    case FORMAT_CSV: print_csv(s); break;
    }
}
