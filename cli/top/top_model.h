/* The model of `quarry top`: what is shown, sorted, filtered and chosen. It
 * knows neither terminal nor cluster: documents are given to it, it says which
 * it wants, and top_paint.h turns it into lines.
 *
 * Places are a stack: Enter pushes one (table, tablets, tablet), Esc pops it
 * and finds the row again from which it was entered.
 *
 * Threads: one.
 *
 * Invariants
 *     INV-1 1 <= depth <= TOP_DEPTH_MAX.
 *     INV-2 `shown` has indices of rows, each at most once, in the order of
 *           the screen; chosen < shown_count unless there is none.
 *     INV-3 The cells of all rows are printable: nothing in them is obeyed by
 *           a terminal.
 */
#ifndef CLI_TOP_TOP_MODEL_H
#define CLI_TOP_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/top/top_view.h"

#define TOP_DEPTH_MAX    6
#define TOP_FILTER_MAX   200
#define TOP_DELAY_MIN_US UINT64_C(200000)
#define TOP_DELAY_MAX_US UINT64_C(3600000000)

/* Keys that are no characters. */
enum top_key {
    TOP_KEY_UP = 0x110000, /* Behind Unicode. */
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_BACKSPACE,
    TOP_KEY_TAB
};

struct top_cell {
    struct slice text;
    double number; /* For the order, where is_number. */
    bool is_number;
};

struct top_row {
    struct top_cell *cells; /* As many as the view has columns. */
    const json_t *value;    /* Of the document; NULL: it is no object. */
    struct slice key;
    int severity; /* 0: well, 1: a warning, 2: it fails. */
};

struct top_place {
    enum top_view_id view;
    char *params[TOP_PARAMS_MAX]; /* Owned; NULL where there is none. */
    size_t sort; /* A column; their count: as the document has them. */
    bool is_descending;
    struct buf filter;
    struct buf chosen_key; /* Of the row that is chosen. */
    size_t chosen;         /* Index in `shown`, */
    size_t top;            /* and of the first that is seen. */
};

struct top_model {
    struct top_place places[TOP_DEPTH_MAX];
    size_t depth;
    json_t *overview; /* Owned; NULL: none yet. */
    json_t *document; /* Owned; NULL: none yet of this place. */
    struct buf
        failure; /* Why the newest answer is missing; empty: it is not. */
    struct buf message; /* Of the last key. */
    char *last_table;   /* Owned; whose tablets the key shows. */
    struct arena arena; /* Of rows. */
    struct top_row *rows;
    size_t row_count;
    size_t *shown;
    size_t shown_count;
    size_t page_rows; /* That the screen has room for. */
    uint64_t delay_us;
    uint64_t place_number; /* Another one with each change of place. */
    bool is_paused;
    bool is_typing; /* A filter. */
    bool shows_help;
    bool is_ended;
};

void top_model_init(struct top_model *m, enum top_view_id view);
void top_model_close(struct top_model *m);

static inline struct top_place *top_place(struct top_model *m)
{
    return &m->places[m->depth - 1];
}

/* Take the newest documents; references stay with the caller. NULL
 * @document: @failure says why. Taken also while paused: the caller does not
 * ask then. */
void top_model_take(struct top_model *m,
                    json_t *overview,
                    json_t *document,
                    const char *failure);
/* Go to @view with @params (NULL: none), and forget the places above. */
void top_model_go(struct top_model *m,
                  enum top_view_id view,
                  const char *const *params);
/* A key: a character, or one of enum top_key. */
void top_model_key(struct top_model *m, uint32_t key);
void top_model_set_filter(struct top_model *m, struct slice text);
/* PRE: column <= the view's count of columns. */
void top_model_set_sort(struct top_model *m, size_t column, bool is_descending);
/* Filter, sort and find the chosen row again. */
void top_model_arrange(struct top_model *m);

#endif /* CLI_TOP_TOP_MODEL_H */
