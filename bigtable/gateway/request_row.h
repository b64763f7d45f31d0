/* Requests that change one row (MutateRow, CheckAndMutateRow and
 * ReadModifyWriteRow): the fields they share. Pure; any thread.
 */
#ifndef BIGTABLE_GATEWAY_REQUEST_ROW_H
#define BIGTABLE_GATEWAY_REQUEST_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_mutation;

/* Numbers of a message's fields; 0: it has no such field. */
struct request_row_fields {
    unsigned table;
    unsigned row;
    unsigned lists[2]; /* Repeated messages: the changes. */
    unsigned filter;
    unsigned view;    /* An authorized view's name. */
    unsigned profile; /* An app profile's id. */
};

/* Those of MutateRow. */
extern const struct request_row_fields request_row_write;

struct request_row {
    struct slice message;
    struct slice table;
    struct slice row;
    struct slice filter;
    struct slice profile; /* The app profile's id; empty: the default. */
    struct slice view;    /* An authorized view's name, instead of `table`. */
    bool has_filter;
    size_t counts[2];  /* Of each list. */
    struct slice last; /* The last message of the first list. */
};

/* Parse @message, which @out borrows. ERR_INVALID: malformed, no row key, no
 * changes or too many. */
MUST_CHECK int request_row_parse(struct request_row *out,
                                 struct slice message,
                                 const struct request_row_fields *fields,
                                 struct err *err);

/* Add the changes of @r, parsed with request_row_write, to @m, which has just
 * been begun. The message may be overwritten: see request_mutation_take(). */
MUST_CHECK int request_row_mutate(const struct request_row *r,
                                  struct quarry_mutation *m,
                                  int64_t now_us,
                                  struct err *err);

/* The error for a request above REQUEST_MUTATIONS_MAX: ERR_INVALID. */
MUST_CHECK int request_too_many(struct err *err);
/* ERR_INVALID if @row is empty, or @count 0. */
MUST_CHECK int
request_row_check(struct slice row, size_t count, struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_ROW_H */
