/* Integers are folded as they are, sketches by hll_sketch.h. Sums wrap around,
 * because a result that depended on the order of operands would differ between
 * replicas, and before and after a compaction.
 */
#include "bigtable/row/aggregate.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/fingerprint.h"
#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"

static const char *const names[AGGREGATE_KIND_COUNT] = {
    [AGGREGATE_NONE] = "",   [AGGREGATE_SUM] = "sum",
    [AGGREGATE_MIN] = "min", [AGGREGATE_MAX] = "max",
    [AGGREGATE_HLL] = "hll", [AGGREGATE_HLL_BYTES] = "hll-bytes",
};

const char *aggregate_name(enum aggregate_kind kind)
{
    PRE(kind < AGGREGATE_KIND_COUNT);
    return names[kind];
}

bool aggregate_parse(struct slice name, enum aggregate_kind *out)
{
    for (int k = AGGREGATE_SUM; k < AGGREGATE_KIND_COUNT; k++)
        if (slice_eq_str(name, names[k])) {
            *out = (enum aggregate_kind)k;
            return true;
        }
    return false;
}

static bool is_sketch(enum aggregate_kind kind)
{
    return kind == AGGREGATE_HLL || kind == AGGREGATE_HLL_BYTES;
}

static enum hll_values values_of(enum aggregate_kind kind)
{
    return kind == AGGREGATE_HLL ? HLL_INTEGERS : HLL_BYTES;
}

bool aggregate_takes(enum aggregate_kind kind,
                     enum entry_kind entry,
                     struct slice value)
{
    PRE(kind != AGGREGATE_NONE);
    if (entry == ENTRY_ADD)
        return kind == AGGREGATE_HLL_BYTES ||
               value.len == AGGREGATE_INTEGER_BYTES;
    return is_sketch(kind) ? hll_sketch_check(value, values_of(kind))
                           : value.len == AGGREGATE_INTEGER_BYTES;
}

static int refuse_value(const struct family *f,
                        const struct mutation_op *op,
                        struct err *err)
{
    const char *wanted = "an integer of 8 bytes";
    if (op->kind == MUTATION_MERGE && is_sketch(f->aggregate))
        wanted = f->aggregate == AGGREGATE_HLL
                     ? "a sketch of integers with precision 15 and 20"
                     : "a sketch of bytes with precision 15 and 20";
    return err_set(err, ERR_INVALID,
                   "%s:%.*s: the family's aggregate %s takes %s, not these "
                   "%zu bytes",
                   f->name, SLICE_ARG(slice_sub(op->qualifier, 0, 64)),
                   aggregate_name(f->aggregate), wanted, op->value.len);
}

int aggregate_check_op(const struct family *f,
                       const struct mutation_op *op,
                       struct err *err)
{
    bool operand = op->kind == MUTATION_ADD || op->kind == MUTATION_MERGE;
    if (!operand && op->kind != MUTATION_SET)
        return 0;
    if (operand && f->aggregate == AGGREGATE_NONE) {
        err_set(err, ERR_INVALID,
                "column family %s has no aggregate: its cells are set, not "
                "added to",
                f->name);
        err_hint(err, "a family gets one when it is created: "
                      "aggregate=sum|min|max|hll|hll-bytes");
        return ERR_INVALID;
    }
    if (!operand && f->aggregate != AGGREGATE_NONE)
        return err_set(err, ERR_INVALID,
                       "column family %s has the aggregate %s: its cells are "
                       "added to or merged into, not set",
                       f->name, aggregate_name(f->aggregate));
    if (operand &&
        !aggregate_takes(f->aggregate,
                         op->kind == MUTATION_ADD ? ENTRY_ADD : ENTRY_MERGE,
                         op->value))
        return refuse_value(f, op, err);
    return 0;
}

/* --- folding ------------------------------------------------------------- */

void aggregate_value_init(struct aggregate_value *v, enum aggregate_kind kind)
{
    PRE(kind != AGGREGATE_NONE);
    *v = (struct aggregate_value){.kind = kind};
    if (is_sketch(kind))
        hll_sketch_init(&v->sketch, values_of(kind));
}

void aggregate_value_close(struct aggregate_value *v)
{
    hll_sketch_close(&v->sketch);
}

static void fold_integer(struct aggregate_value *v, int64_t n)
{
    if (!v->any)
        v->number = n;
    else if (v->kind == AGGREGATE_SUM)
        v->number = (int64_t)((uint64_t)v->number + (uint64_t)n);
    else if (v->kind == AGGREGATE_MIN)
        v->number = MIN_OF(v->number, n);
    else
        v->number = MAX_OF(v->number, n);
}

static bool fold_sketch(struct aggregate_value *v,
                        enum entry_kind entry,
                        struct slice operand)
{
    if (entry != ENTRY_ADD)
        return hll_sketch_merge(&v->sketch, operand);
    hll_sketch_add(&v->sketch,
                   v->kind == AGGREGATE_HLL
                       ? fingerprint2011_int64((int64_t)get_be64(operand.data))
                       : fingerprint2011(operand));
    return true;
}

bool aggregate_value_add(struct aggregate_value *v,
                         enum entry_kind entry,
                         struct slice operand)
{
    bool good = true;
    if (entry == ENTRY_ADD || !is_sketch(v->kind)) /* The rest checks. */
        good = aggregate_takes(v->kind, entry, operand);
    if (good && is_sketch(v->kind))
        good = fold_sketch(v, entry, operand);
    else if (good)
        fold_integer(v, (int64_t)get_be64(operand.data));
    v->any |= good;
    return good;
}

void aggregate_value_put(struct aggregate_value *v, struct buf *out)
{
    PRE(v->any);
    if (is_sketch(v->kind))
        hll_sketch_put(&v->sketch, out);
    else
        buf_put_be64(out, (uint64_t)v->number);
}
