/* The two tokens of queries that clients keep and send back: a prepared query,
 * and the place from which a stream of rows is resumed.
 *
 * A token says all that is needed and is believed in nothing: the query in it
 * is translated again, with the rights of who sends it, so that a forged one
 * gives nothing that its sender could not ask for. Damage is noticed by a
 * checksum. Any gateway of a cluster takes the tokens of another.
 *
 * Pure; any thread.
 */
#ifndef BIGTABLE_GATEWAY_QUERY_TOKEN_H
#define BIGTABLE_GATEWAY_QUERY_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;

/* Parameters of a query. */
#define QUERY_PARAMS_MAX ((size_t)1000)

/* A prepared query. */
struct query_token {
    int64_t until_us;      /* Not valid from then on. */
    uint64_t schema;       /* Of the tables it names (query_plan.h). */
    struct slice instance; /* "projects/P/instances/I"; borrowed, as below. */
    struct slice text;
    struct slice params; /* Entries of PrepareQueryRequest.param_types. */
};

void query_token_put(const struct query_token *t, struct buf *out);
/* Borrows from @bytes. ERR_INVALID. */
MUST_CHECK int
query_token_get(struct slice bytes, struct query_token *out, struct err *err);

/* A place in the rows of a query. */
struct query_place {
    uint64_t query;   /* Which query with which parameters, */
    bool at_end;      /* all of whose rows were delivered, */
    uint64_t rows;    /* or this number of them, */
    struct slice key; /* the last of them with this key. */
};

void query_place_put(const struct query_place *p, struct buf *out);
/* Borrows from @bytes. Errors: ERR_INVALID (garbled, or of another query than
 * @query). */
MUST_CHECK int query_place_get(struct slice bytes,
                               uint64_t query,
                               struct query_place *out,
                               struct err *err);

#endif /* BIGTABLE_GATEWAY_QUERY_TOKEN_H */
