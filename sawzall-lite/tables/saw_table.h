/* Aggregator tables: what `emit` writes to.
 *
 * A table maps each distinct index key to the state of one aggregate (a sum,
 * the ten heaviest, a quantile summary, …). It sees values as data (datum.h),
 * so it knows nothing of the machine that runs the program:
 *
 *     saw_table_new(&decl, &budget)                     once per run
 *     saw_table_emit(t, key, element, weight, …)        once per emit
 *     saw_table_encode(t, buf)  …  saw_table_merge(t, state)    between workers
 *     saw_table_print(t, buf) or saw_table_results(t, sink)     at the end
 *
 * Merging is associative and commutative: any split of the records over any
 * tree of workers gives the result of one pass, exactly or within the error
 * that the kind's file states.
 *
 * Threads: a table is one thread's at a time. Nothing here parks.
 */
#ifndef SAWZALL_LITE_TABLES_SAW_TABLE_H
#define SAWZALL_LITE_TABLES_SAW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct saw_result_sink;
struct saw_text_sink;
struct saw_table;

enum saw_table_need {
    SAW_TABLE_NEVER,
    SAW_TABLE_MAY,
    SAW_TABLE_MUST
};

/* A kind of tables: what it asks of its declaration, for the checker, and how
 * its results are printed. The kind's file in tables/ has the one of the kind.
 */
struct saw_table_traits {
    const char *name;          /* The word in the source: "top". */
    uint8_t number;            /* Part of encoded states: never changed. */
    enum saw_table_need param; /* The (n) after the name. */
    enum saw_table_need weight;
    int64_t param_min;
    int64_t param_max;
    bool indexed;         /* May have index columns. */
    bool element_ordered; /* Element must be of an ordered type. */
    bool element_addable; /* int, float, time, tuples and maps of them. */
    bool element_number;  /* int, float, tuples of them. */
    bool element_int;     /* Must be int (mrcounter). */
    bool element_text;    /* Must be string or bytes (text). */
    bool element_basic;   /* Must be of a basic type (recordio). */
    bool weight_number;   /* Weight must be int, float, a tuple of them. */
    bool weight_scalar;   /* Weight must be int or float. */
    bool weight_ordered;  /* Weight must be of an ordered type. */
    bool weight_addable;
    bool weight_fingerprint;
    bool to_files;     /* May have file(…) or proc(…). */
    bool in_order;     /* Listed in the order of emits, not of keys. */
    bool keeps_order;  /* The order of emits shows in the results. */
    bool estimates;    /* Beyond what it keeps exactly: docs/language.md. */
    bool never_listed; /* Printed as emitted, even where tables are listed. */
};

/* Largest (n) of most kinds. */
#define SAW_TABLE_PARAM_MAX INT64_C(0x7fffffff)

/* By the word in the source; NULL when there is no such kind. */
const struct saw_table_traits *saw_table_traits_find(struct slice name);
/* All kinds, by number; NULL past the end. */
const struct saw_table_traits *saw_table_traits_at(size_t index);

struct saw_table_decl {
    const char *name; /* Borrowed, like all below, while the table lives. */
    const struct saw_table_traits *kind;
    int64_t param;                  /* 0 where the kind has none. */
    size_t index_count;             /* Data in a key. */
    const char *const *index_names; /* NULL or entries NULL: "key1", … */
    const char *element_name;       /* NULL: "value". */
    const char *weight_name;        /* NULL: "weight". */
    bool weighted;
};

/* Shared by the tables of one run. */
struct saw_table_budget {
    size_t bytes;     /* Held by all tables now. */
    size_t bytes_max; /* Emits that need more fail. SIZE_MAX: no limit. */
};

/* Owned. @budget is borrowed and outlives the table; NULL: no limit.
 * PRE: the declaration satisfies the kind's traits. */
struct saw_table *saw_table_new(const struct saw_table_decl *decl,
                                struct saw_table_budget *budget);
void saw_table_free(struct saw_table *t); /* NULL is allowed. */
const struct saw_table_decl *saw_table_decl(const struct saw_table *t);

/* The origin of an emitted value. Sampling kinds derive their random tags from
 * it, so that a sample depends on the records alone and not on how they were
 * split over workers: the hash of the record (its key and contents) plus the
 * number of emits before this one in the record. Used only if
 * saw_table_wants_origin(). */
typedef uint64_t saw_emit_origin;
bool saw_table_wants_origin(const struct saw_table *t);
bool saw_traits_want_origin(const struct saw_table_traits *kind);

/* Add one value. @key is the index_count data of the index one after the other
 * (empty for none), @element one datum, @weight one datum or empty.
 * Errors: ERR_EXHAUSTED the budget is used up (the table is as it was). */
MUST_CHECK int saw_table_emit(struct saw_table *t,
                              struct slice key,
                              struct slice element,
                              struct slice weight,
                              saw_emit_origin origin,
                              struct err *err);

/* The shorter ways that a table of this declaration has: of elements that are
 * ints, and of any elements with weights that are. */
bool saw_table_takes_ints(const struct saw_table_decl *decl);
bool saw_table_takes_weights(const struct saw_table_decl *decl);

/* saw_table_emit() of an int without weight. PRE: saw_table_takes_ints(). */
MUST_CHECK int saw_table_emit_int(struct saw_table *t,
                                  struct slice key,
                                  int64_t element,
                                  struct err *err);
/* saw_table_emit() with a weight that is an int. PRE:
 * saw_table_takes_weights(). */
MUST_CHECK int saw_table_emit_weight(struct saw_table *t,
                                     struct slice key,
                                     struct slice element,
                                     int64_t weight,
                                     struct err *err);

/* Drop all values. */
void saw_table_clear(struct saw_table *t);

/* Append the whole state: kind, param, keys and their aggregates. */
void saw_table_encode(struct saw_table *t, struct buf *out);

/* Add a state that saw_table_encode() wrote for a table of the same
 * declaration; consumes it from @c. On failure @t may have taken a part of the
 * state. Errors: ERR_CORRUPT malformed; ERR_INVALID of another declaration;
 * ERR_EXHAUSTED the budget. */
MUST_CHECK int
saw_table_merge(struct saw_table *t, struct cursor *c, struct err *err);

/* Hand out the state of each key, keys ascending, until @fn fails; its failure
 * is returned. Its arguments are borrowed for the call. */
typedef int (*saw_key_state_fn)(void *ctx,
                                struct slice key,
                                struct slice state,
                                struct err *err);
MUST_CHECK int saw_table_states(struct saw_table *t,
                                saw_key_state_fn fn,
                                void *ctx,
                                struct err *err);
/* Add the state of one key. Errors: as saw_table_merge(). */
MUST_CHECK int saw_table_merge_key(struct saw_table *t,
                                   struct slice key,
                                   struct slice state,
                                   struct err *err);
/* Append the state that takes @state of a key back when it is merged; false:
 * the kind has none. */
bool saw_traits_negate(const struct saw_table_traits *kind,
                       struct slice state,
                       struct buf *out);

/* Has the kind a name of its own for value column @i of its results? */
bool saw_traits_names_column(const struct saw_table_traits *kind, size_t i);

/* The first value of the results of a key with @state: one datum, borrowed;
 * empty: there is none, or the kind has no single one. */
struct slice saw_traits_first(const struct saw_table_traits *kind,
                              struct slice state);

/* Add what @from, a table of the same declaration, holds to @t, behind what is
 * there, and clear @from. As a merge of its state, but kinds that drop values
 * when they are encoded do not do so here: the result is that of one table that
 * was given all. On failure @t may have taken a part. Errors: ERR_EXHAUSTED. */
MUST_CHECK int
saw_table_absorb(struct saw_table *t, struct saw_table *from, struct err *err);

/* Append the results as text, `name[k1, k2] = v` a line, keys ascending. */
void saw_table_print(struct saw_table *t, struct buf *out);
/* The same to @sink, piece by piece; @pending gets the text not yet written.
 * False: @sink wants no more. */
bool saw_table_write(struct saw_table *t,
                     const struct saw_text_sink *sink,
                     struct buf *pending);

/* Hand the results to @sink: one table() call, then a line() each. False: it
 * wants no more. */
bool saw_table_results(struct saw_table *t, const struct saw_result_sink *sink);

/* Distinct index keys seen. */
size_t saw_table_key_count(const struct saw_table *t);

#endif /* SAWZALL_LITE_TABLES_SAW_TABLE_H */
