/* A sheet of rows and columns, printed in the format the user asked for.
 *
 * As text: columns aligned by what a terminal shows (UTF-8, wide characters), a
 * rule under the header; on a terminal too narrow for all columns, those it has
 * no room for stand below each row, by name. As JSON: one object a line. As
 * CSV: a header line and RFC 4180 rows.
 *
 * A sheet keeps all its cells until it is printed. One of many rows is printed
 * page by page (sheet_is_full(), sheet_next_page()): the first page says how
 * wide the columns are, and a later cell that is wider moves the rest of its
 * line to the right.
 */
#ifndef CLI_TABLE_PRINTER_H
#define CLI_TABLE_PRINTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "cli/cli.h"

enum sheet_kind {
    SHEET_TEXT,   /* To the left; a string in JSON. */
    SHEET_NUMBER, /* To the right; a number in JSON. */
    SHEET_BYTES,  /* A number of bytes: "1.5 MB" as text, a number else. */
    SHEET_TIME,   /* µs since 1970: ISO as text, a number else. */
    SHEET_AGE,    /* µs: "1m20s" as text, else a number, named NAME_us. */
    SHEET_PAIRS,  /* "key=value …": in JSON also as the object `facts`. */
};

struct sheet_column {
    const char *name; /* Borrowed. Lower case, words joined by "_". */
    enum sheet_kind kind;
};

#define SHEET_COLUMNS_MAX 256

struct sheet {
    struct sheet_column columns[SHEET_COLUMNS_MAX];
    size_t column_count;
    struct buf bytes; /* All cells, one after the other. */
    struct buf ends;  /* size_t each: where cell after cell ends. */
    size_t cell_count;
    bool continued; /* A page was printed: no header, and as wide as that. */
    size_t widths[SHEET_COLUMNS_MAX]; /* Of text, from the first page on, */
    size_t fitting;                   /* and how many columns a line has. */
};

/* Of a page. */
#define SHEET_ROWS_MAX  ((size_t)4096)
#define SHEET_BYTES_MAX ((size_t)4 << 20)

/* @columns are copied. PRE: count <= SHEET_COLUMNS_MAX. */
void sheet_init(struct sheet *s,
                const struct sheet_column *columns,
                size_t column_count);
void sheet_close(struct sheet *s);

/* The next cell; the row is full after column_count of them. Numbers, bytes
 * and times are given as decimal text. */
void sheet_add(struct sheet *s, struct slice cell);
void sheet_add_str(struct sheet *s, const char *cell);
void sheet_addf(struct sheet *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sheet_add_u64(struct sheet *s, uint64_t v);

size_t sheet_row_count(const struct sheet *s);
/* Cell @column of row @row; borrowed until the next change. */
struct slice sheet_cell(const struct sheet *s, size_t row, size_t column);

/* Print on standard output. PRE: no row is half full. */
void sheet_print(struct sheet *s, enum cli_format format);

/* Has it as many rows, or bytes, as are kept? */
bool sheet_is_full(const struct sheet *s);
/* Forget the rows, which were printed; more of them follow. */
void sheet_next_page(struct sheet *s);

/* Columns of the terminal that standard output is, or @fd; 0 when it is none,
 * or does not say. */
size_t terminal_columns(void);
size_t terminal_columns_of(int fd);

#endif /* CLI_TABLE_PRINTER_H */
