/* A client of the rows of one table, in the simulator or of real processes: it
 * reads, writes, deletes, counts, appends, checks and scans as its random
 * numbers say, and puts down each call with its answer for history_rows.h.
 *
 *     struct row_client c = {.quarry = q, .history = h, .clock = my_clock, …};
 *     if (row_client_open(&c, &err) == 0) {
 *         while (…)
 *             (void)!row_client_step(&c);
 *         row_client_close(&c);
 *     }
 *
 * All users of a table share its rows, whose columns are those of
 * history_rows.h: v:a, v:b, v:c, and c:n, c:l in another locality group.
 *
 * Threads: one.
 */
#ifndef TESTS_CLIENTS_ROWS_H
#define TESTS_CLIENTS_ROWS_H

#include "base/core/err.h"
#include "base/core/rand.h"
#include "tests/lib/history_rows.h"

struct quarry;
struct quarry_table;

struct row_client {
    struct quarry *quarry;      /* Borrowed. */
    const char *table_name;     /* Borrowed. */
    struct quarry_table *table; /* Set by row_client_open(). */
    struct history_rows *history;
    struct rand_gen *rand;
    uint64_t number;              /* Of the client, in the history. */
    uint32_t row_first;           /* Rows of the table that are used, */
    uint32_t row_count;           /* and how many. */
    uint32_t value_max;           /* Bytes of values, at most. */
    uint32_t *last_value;         /* Numbers for values: all different. */
    uint64_t (*clock)(void *ctx); /* That all clients share. */
    /* Call @op began, or returned. May be NULL. */
    void (*note)(void *ctx, size_t op);
    void *ctx;
};

/* Make @name, with the families that row clients use. ERR_EXISTS. */
MUST_CHECK int
row_table_create(struct quarry *q, const char *name, struct err *err);

/* Errors: those of quarry_table_open(). */
MUST_CHECK int row_client_open(struct row_client *c, struct err *err);
void row_client_close(struct row_client *c);

/* One call, any. Returns its code. */
MUST_CHECK int row_client_step(struct row_client *c, struct err *err);
/* Read row @row; scan rows [begin, end). */
MUST_CHECK int
row_client_read(struct row_client *c, uint32_t row, struct err *err);
MUST_CHECK int row_client_scan(struct row_client *c,
                               uint32_t begin,
                               uint32_t end,
                               struct err *err);

/* The key of row @row. */
#define ROW_KEY_BYTES 16
void row_key(uint32_t row, char out[ROW_KEY_BYTES]);

#endif /* TESTS_CLIENTS_ROWS_H */
