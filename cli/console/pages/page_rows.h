/* Tables of a page: rows of a document, with columns that a spec lists.
 *
 * A table is sorted by the field that the address names (?sort=-bytes: the
 * greatest first), so that it can be shared and works without a script; heads
 * of columns are links that do so, which the script makes buttons that sort in
 * place. A long one is cut after it was sorted, and says so.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_ROWS_H
#define CLI_CONSOLE_PAGES_PAGE_ROWS_H

#include "cli/console/html.h"

/* Rows of one table that a page shows; the JSON has all. */
#define PAGE_ROWS_MAX 1000

enum page_cell {
    CELL_TEXT,   /* Any scalar, as text. */
    CELL_KEY,    /* A row key or a path. */
    CELL_STATE,  /* A word such as "up". */
    CELL_FIGURE, /* A number, by the unit of the field's name. */
    CELL_AGE,    /* A time: how long ago it was. */
    CELL_LIST,   /* Strings, with commas. */
};

/* Writes the content of a cell in its own way. */
typedef void (*page_cell_fn)(struct html *h,
                             const json_t *row,
                             const json_t *doc);

struct page_column {
    const char *field; /* Of the row; with points for nested ones. It sorts. */
    const char *title;
    enum page_cell kind;
    const char *link; /* NULL, or the pattern of an address: its {} is @field's
                         value. */
    page_cell_fn put; /* NULL: by @kind, which then only says how it sorts. */
};

struct page_rows {
    const char *id; /* Of the table in the page. */
    const char *caption;
    const struct page_column *columns;
    size_t column_count;
    const char *key;     /* The field that tells rows apart, or NULL. */
    const char *sort;    /* The name in the query; each table has its own, which
                            begins with "sort". NULL: "sort". */
    const char *nothing; /* The sentence of an empty table, */
    const char *next;    /* and what to do then. */
};

/* Write the table of @rows (an array, or NULL). @doc is the whole document. */
void page_rows(struct html *h,
               const struct page_rows *table,
               const json_t *rows,
               const json_t *doc);

#endif /* CLI_CONSOLE_PAGES_PAGE_ROWS_H */
