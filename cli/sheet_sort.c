/* Rows sorted by one column: see sheet_sort.h. Columns of text sort by bytes,
 * all others by number, the largest first; equal rows keep their order.
 */
#include "cli/sheet_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"

struct sort_key {
    struct slice text; /* Borrowed from the sheet. */
    double number;
    size_t row;
};

static int by_place(const struct sort_key *a, const struct sort_key *b)
{
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_text(const void *a, const void *b)
{
    const struct sort_key *x = a;
    const struct sort_key *y = b;
    int order = slice_cmp(x->text, y->text);
    return order ? order : by_place(x, y);
}

static int compare_number(const void *a, const void *b)
{
    const struct sort_key *x = a;
    const struct sort_key *y = b;
    int order = (x->number < y->number) - (x->number > y->number);
    return order ? order : by_place(x, y);
}

/* Nothing is less than any number. */
static double number_of(struct slice cell)
{
    char *text = mem_strndup(cell.data, cell.len);
    double number = cell.len ? strtod(text, NULL) : -1;
    mem_free(text);
    return number;
}

static struct sort_key *keys_of(const struct sheet *s, size_t column)
{
    size_t rows = sheet_row_count(s);
    struct sort_key *keys = mem_zalloc(rows + 1, sizeof(*keys));
    PRE(column < s->column_count);
    for (size_t r = 0; r < rows; r++) {
        struct slice cell = sheet_cell(s, r, column);
        keys[r] = (struct sort_key){cell, number_of(cell), r};
    }
    return keys;
}

static void sort_by(struct sheet *s, size_t column)
{
    bool is_text = s->columns[column].kind == SHEET_TEXT;
    size_t rows = sheet_row_count(s);
    struct sort_key *keys = keys_of(s, column);
    struct sheet sorted;
    sheet_init(&sorted, s->columns, s->column_count);
    qsort(keys, rows, sizeof(*keys), is_text ? compare_text : compare_number);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < s->column_count; c++)
            sheet_add(&sorted, sheet_cell(s, keys[r].row, c));
    INVARIANT(sheet_row_count(&sorted) == rows);
    mem_free(keys);
    sheet_close(s);
    *s = sorted;
}

static int sheet_sort_refuse(const struct sheet *s,
                             const struct args *args,
                             struct err *err)
{
    struct buf names = BUF_INIT;
    for (size_t c = 0; c < s->column_count; c++)
        buf_printf(&names, "%s%s", c ? ", " : "", s->columns[c].name);
    usage_error(args, err, "--sort: '%s' is none of %s",
                args_value(args, "sort"), buf_cstr(&names));
    buf_close(&names);
    return ERR_USAGE;
}

int sheet_sort(struct sheet *s, const struct args *args, struct err *err)
{
    const char *name = args_value(args, "sort");
    if (!name)
        return 0;
    for (size_t c = 0; c < s->column_count; c++)
        if (strcmp(s->columns[c].name, name) == 0) {
            sort_by(s, c);
            return 0;
        }
    return sheet_sort_refuse(s, args, err);
}
