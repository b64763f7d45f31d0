/* Are the answers about rows of tables those of some order of the calls?
 *
 * Each row is one object of linearizable.h. It has three columns that are
 * written and deleted, alone or together, one that is counted in, and one that
 * is appended to:
 *
 *     struct history_rows *h = history_rows_new();
 *     size_t op = history_rows_call(h, now, client, ROWS_PUT, "t/r7",
 *                                   &(struct rows_input){.columns = 1 | 4,
 *                                                        .value = 17});
 *     rc = quarry_apply(…);
 *     history_rows_return(h, op, now, rc, NULL);
 *     …
 *     if (history_rows_check(h, 0, &why) != HISTORY_LINEARIZABLE) …
 *
 * All writers give the cells of a column the same timestamp: the order of
 * writes is then the servers', whatever clocks say. Values are numbers above 0;
 * 0 is a column without a cell.
 *
 * Every change is made once at most, however often the library tries it.
 *
 * Threads: any, one at a time.
 */
#ifndef TESTS_LIB_HISTORY_ROWS_H
#define TESTS_LIB_HISTORY_ROWS_H

#include "base/core/err.h"
#include "base/core/slice.h"
#include "tests/lib/linearizable.h"

struct history_rows;

/* name, text. PUT writes @value into each of @columns, DELETE deletes each of
 * them; ADD adds @value to what is counted, APPEND to the log. CHECK asks: has
 * the column @columns (a number) @value (0: any)? Then @then goes to the column
 * behind it, else to the one behind that. */
#define HISTORY_ROWS_KINDS(X)                                                  \
    X(READ, "read")                                                            \
    X(PUT, "put")                                                              \
    X(DELETE, "delete")                                                        \
    X(DELETE_ROW, "delete-row")                                                \
    X(ADD, "add")                                                              \
    X(APPEND, "append")                                                        \
    X(CHECK, "check")

enum rows_kind {
#define X(name, text) ROWS_##name,
    HISTORY_ROWS_KINDS(X)
#undef X
    ROWS_KIND_COUNT
};

enum {
    ROWS_VALUES = 3, /* Columns that are written. */
    /* Bits of columns. */
    ROWS_COUNTER = 1 << ROWS_VALUES,
    ROWS_LOG = 1 << (ROWS_VALUES + 1)
};

struct rows_input {
    uint32_t columns;
    uint32_t value;
    uint32_t then;
};

/* A row as it is; zeros: nothing is there. */
struct rows_state {
    uint32_t values[ROWS_VALUES];
    uint32_t counter;
    uint64_t log; /* rows_fold() over all that was appended. */
};

/* An answer, besides its code. */
struct rows_answer {
    struct rows_state row; /* READ. ADD: its counter, APPEND: its log. */
    bool matched;          /* CHECK. */
};

/* The log @log with @number behind it. */
uint64_t rows_fold(uint64_t log, uint64_t number);

struct history_rows *history_rows_new(void); /* Owned. */
void history_rows_free(struct history_rows *h);
size_t history_rows_count(const struct history_rows *h);

/* A call begins at @now. @row (copied) names it among all rows of all tables;
 * no tabs. @input NULL: zeros. Returns its number. */
size_t history_rows_call(struct history_rows *h,
                         uint64_t now,
                         uint64_t client,
                         enum rows_kind kind,
                         const char *row,
                         const struct rows_input *input);
/* It ended with @rc. After an error it is not known whether a change was made.
 * @answer: after READ, ADD, APPEND, CHECK, else NULL. */
void history_rows_return(struct history_rows *h,
                         size_t op,
                         uint64_t now,
                         int rc,
                         const struct rows_answer *answer);

/* As history_check(). */
enum history_verdict history_rows_check(const struct history_rows *h,
                                        size_t budget,
                                        struct buf *why);

/* --- as text ------------------------------------------------------------- */

/* Append call @op as one line, tab-separated:
 *     rows CALLED RETURNED|? CLIENT KIND ROW COLUMNS VALUE THEN
 *         A B C                   the answer, as numbers; 0 where there is none
 * A read that failed has no line. */
void history_rows_print(const struct history_rows *h,
                        size_t op,
                        struct buf *out);
/* Add the call of such a line (without its newline). ERR_INVALID. */
MUST_CHECK int
history_rows_read(struct history_rows *h, struct slice line, struct err *err);

#endif /* TESTS_LIB_HISTORY_ROWS_H */
