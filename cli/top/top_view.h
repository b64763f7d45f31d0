/* The views of `quarry top`: which document a view shows, which of its members
 * are rows and columns, and where Enter leads from a row.
 *
 * All of it is constant.
 */
#ifndef CLI_TOP_TOP_VIEW_H
#define CLI_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#define TOP_PARAMS_MAX  2
#define TOP_COLUMNS_MAX 14

enum top_view_id {
    TOP_NODES,
    TOP_TABLES,
    TOP_TABLETS,
    TOP_JOBS,
    TOP_CALLS,
    TOP_FINDINGS,
    TOP_NODE,
    TOP_TABLET,
    TOP_JOB,
    TOP_TRACE,
    TOP_VIEWS
};

enum top_kind {
    TOP_TEXT,
    TOP_NUMBER,
    TOP_RATE, /* A second; with a decimal where it is small. */
    TOP_BYTES,
    TOP_DURATION, /* µs */
    TOP_TIME,     /* µs since the epoch. */
    TOP_ROLES     /* Of a node; one that leads has an asterisk. */
};

struct top_column {
    const char *field; /* The member of a row, and the column's name. */
    const char *title; /* As the screen shows it. */
    enum top_kind kind;
};

struct top_view {
    const char *name;
    const char *subject; /* Of the document. */
    /* The arrays of rows, one after the other; a NULL ends. All NULL: the
     * document itself, a row for each of its values. */
    const char *rows[2];
    const char *params[TOP_PARAMS_MAX]; /* That the document needs. */
    struct top_column columns[TOP_COLUMNS_MAX];
    size_t column_count;
    size_t sort; /* The column by which it is sorted at first, */
    bool is_descending;
    const char *key; /* The member that tells a row from others. */
    /* Where Enter leads. Parameters come from members of the row; with a ":"
     * before, from the view's own parameters. TOP_VIEWS: nowhere. */
    enum top_view_id drill;
    const char *drill_from[TOP_PARAMS_MAX];
};

/* Borrowed for ever. */
const struct top_view *top_view(enum top_view_id id);
/* The views that need no parameter are those of the keys 1, 2 …; TOP_VIEWS:
 * there is none of this name. */
enum top_view_id top_view_find(const char *name);
/* The column whose name or title this is, without regard to case; the count of
 * columns: there is none. */
size_t top_column_find(const struct top_view *v, const char *name);
/* Where in its title the letter is by which column @column is chosen: letters
 * are given from the left, each the first of its title that is free. False:
 * it has none. */
bool top_column_letter(const struct top_view *v, size_t column, size_t *at);

#endif /* CLI_TOP_TOP_VIEW_H */
