/* Requests that change one row: what they have in common. Threads: any. */
#ifndef BIGTABLE_GATEWAY_REQUEST_ROW_H
#define BIGTABLE_GATEWAY_REQUEST_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_mutation;

/* Numbers of a message's fields; the table is 1 and the row's key 2 in each. 0:
 * it has no such field. */
struct request_row_fields {
    unsigned lists[2]; /* Repeated messages: what is to be done. */
    unsigned filter;
    unsigned view;    /* An authorized view's name. */
    unsigned profile; /* An app profile's id. */
};

/* MutateRow's. */
extern const struct request_row_fields request_row_write;

struct request_row {
    struct slice message;
    struct slice table;
    struct slice row;
    struct slice filter;
    struct slice profile; /* The app profile's id; empty: the default. */
    bool has_filter;
    size_t counts[2];  /* Of each list. */
    struct slice last; /* The last message of the first list. */
};

/* Understand @message, which @out borrows. Errors: ERR_INVALID (no message, no
 * row, nothing to be done or too much), ERR_UNSUPPORTED (a view). */
MUST_CHECK int request_row_parse(struct request_row *out,
                                 struct slice message,
                                 const struct request_row_fields *fields,
                                 struct err *err);

/* What @r, of request_row_write, says is to be done to @m, which has just been
 * begun. The message is read for the last time: see request_mutation_take(). */
MUST_CHECK int request_row_mutate(const struct request_row *r,
                                  struct quarry_mutation *m,
                                  int64_t now_us,
                                  struct err *err);

/* ERR_INVALID: so much is too much. */
MUST_CHECK int request_too_many(struct err *err);
/* ERR_INVALID if @row is empty, or @count 0. */
MUST_CHECK int
request_row_check(struct slice row, size_t count, struct err *err);
MUST_CHECK int request_no_views(struct err *err); /* ERR_UNSUPPORTED. */

#endif /* BIGTABLE_GATEWAY_REQUEST_ROW_H */
