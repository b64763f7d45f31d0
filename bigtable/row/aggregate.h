/* Aggregates: families whose cells are added up instead of overwritten.
 *
 * A write to such a family is an operand of one cell (row, column, timestamp):
 * an input (ENTRY_ADD: an integer, or bytes) or a state (ENTRY_MERGE: what
 * other inputs became). Operands are stored as they come and folded into one
 * state by readers, flushes and compactions; a state is what a reader gets as
 * the cell's value. Folding is associative and commutative, so that it does not
 * matter which operands meet first.
 *
 *     kind        input                state
 *     sum         8 bytes, big-endian  the sum, likewise; it wraps around
 *     min, max    the same             the least, the greatest
 *     hll         the same             a sketch of integers (hll_sketch.h)
 *     hll-bytes   any bytes            a sketch of bytes
 *
 * Threads: a value is one thread's.
 */
#ifndef BIGTABLE_ROW_AGGREGATE_H
#define BIGTABLE_ROW_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/hll_sketch.h"

struct buf;
struct family;
struct mutation_op;

/* Numbers are written in schemas: only append. */
enum aggregate_kind {
    AGGREGATE_NONE,
    AGGREGATE_SUM,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_HLL,
    AGGREGATE_HLL_BYTES,
    AGGREGATE_KIND_COUNT
};

/* Bytes of an integer as input and as state. */
#define AGGREGATE_INTEGER_BYTES ((size_t)8)

/* "sum"; "" for AGGREGATE_NONE. */
const char *aggregate_name(enum aggregate_kind kind);
/* False: there is none of that name. */
bool aggregate_parse(struct slice name, enum aggregate_kind *out);

/* May @value be an operand of @entry's kind for @kind? ENTRY_PUT: a state. */
bool aggregate_takes(enum aggregate_kind kind,
                     enum entry_kind entry,
                     struct slice value);
/* 0 if @op is one that the cells of @f take: cells are set in families without
 * an aggregate, added to and merged into in those with one. ERR_INVALID. */
MUST_CHECK int aggregate_check_op(const struct family *f,
                                  const struct mutation_op *op,
                                  struct err *err);

/* The fold of operands of one cell. */
struct aggregate_value {
    enum aggregate_kind kind;
    bool any; /* Operands were added. */
    int64_t number;
    struct hll_sketch sketch;
};

void aggregate_value_init(struct aggregate_value *v, enum aggregate_kind kind);
void aggregate_value_close(struct aggregate_value *v);
/* False, and nothing has changed: aggregate_takes() would refuse it. */
bool aggregate_value_add(struct aggregate_value *v,
                         enum entry_kind entry,
                         struct slice operand);
/* Append the state. PRE: operands were added. */
void aggregate_value_put(struct aggregate_value *v, struct buf *out);

#endif /* BIGTABLE_ROW_AGGREGATE_H */
