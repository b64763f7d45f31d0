/* A query of the public API, understood: its parameters, its translation for
 * the engine, the columns of its result, and a number for the tables it names.
 *
 * Names of tables are those of the query's instance. Everything is read with
 * the rights of the gateway it is given, which are the caller's.
 *
 * Threads: a plan is one caller's at a time.
 */
#ifndef BIGTABLE_GATEWAY_QUERY_PLAN_H
#define BIGTABLE_GATEWAY_QUERY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_translate.h"

struct buf;
struct gateway;
struct grpc_call;

struct query_plan {
    struct arena arena;
    struct slice instance; /* "projects/P/instances/I"; these two borrowed. */
    struct slice text;
    struct gsql_param *params;
    size_t param_count;
    struct gsql_result result; /* Its types are settled. */
    /* Changes when a table that the query names has other families. 0: it
     * names none. */
    uint64_t schema;
    bool no_table; /* A table that it names is not there. */
};

/* Can queries be executed here at all? Errors: ERR_UNSUPPORTED (built without
 * an engine), ERR_NOTFOUND (it is not installed), with the status's code for
 * @call and the remedy. */
MUST_CHECK int
query_engine_check(struct gateway *g, struct grpc_call *call, struct err *err);

/* A plan for @text, with nothing in it yet. query_plan_close(). */
void query_plan_init(struct query_plan *p,
                     struct slice instance,
                     struct slice text);
void query_plan_close(struct query_plan *p);

/* Declare the parameters whose entries (name, Type) are fields @number of
 * @message. ERR_INVALID. */
MUST_CHECK int query_plan_declare(struct query_plan *p,
                                  struct slice message,
                                  unsigned number,
                                  struct err *err);
/* Give the parameters values from the entries (name, Value) that are fields
 * @number of @message; with @declare those that it has not are declared by the
 * types of the values. Every one needs a value. ERR_INVALID. */
MUST_CHECK int query_plan_fill(struct query_plan *p,
                               struct slice message,
                               unsigned number,
                               bool declare,
                               struct err *err);
/* Translate the query; @resume as gsql_options has it. Parks. Errors:
 * ERR_INVALID (what and where, as GoogleSQL says it), those of the store. */
MUST_CHECK int query_plan_translate(struct query_plan *p,
                                    struct gateway *g,
                                    const struct gsql_resume *resume,
                                    struct err *err);

struct gsql_program;

/* Translate the query to a program of the store's views, which gives the same
 * columns; all of @out is of the plan. Parks. Errors: as above;
 * ERR_UNSUPPORTED: it has what such a program has not. */
MUST_CHECK int query_plan_program(struct query_plan *p,
                                  struct gateway *g,
                                  struct gsql_program *out,
                                  struct err *err);

/* Append a ResultSetMetadata of the result as field @number. */
void query_plan_put_metadata(const struct query_plan *p,
                             unsigned number,
                             struct buf *out);

#endif /* BIGTABLE_GATEWAY_QUERY_PLAN_H */
