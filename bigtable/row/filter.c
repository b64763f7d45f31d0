/* Building and checking filter trees. A constructor never fails: a mistake is
 * kept in its node, and filter_check() reports the first one, so that callers
 * build a whole tree before they look for errors. Depth and size are bounded
 * here, which is what lets other files walk a tree by recursion.
 */
#include "bigtable/row/filter.h"

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */

struct quarry_filter *filter_new(enum filter_kind kind)
{
    struct quarry_filter *f = mem_zalloc(1, sizeof(*f));
    f->kind = kind;
    f->depth = 1;
    f->node_count = 1;
    atomic_init(&f->references, 1);
    return f;
}

/* Where the mistake just made in @f is described; its first one stays. */
static struct err *filter_mistake(struct quarry_filter *f)
{
    if (f->error)
        return NULL;
    f->error = mem_zalloc(1, sizeof(*f->error));
    return f->error;
}

static const char *kind_name(enum filter_kind kind)
{
    switch (kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return #api_name;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    return "?";
}

enum filter_effect filter_effect(enum filter_kind kind)
{
    switch (kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return FILTER_EFFECT_##EFFECT;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    return FILTER_EFFECT_WHOLE_ROW;
}

struct quarry_filter *filter_new_regex(enum filter_kind kind,
                                       struct slice pattern)
{
    struct quarry_filter *f = filter_new(kind);
    struct err err = ERR_INIT;
    buf_append_slice(&f->text, pattern);
    if (regex_new(pattern, REGEX_BYTES, &f->regex, &err)) {
        err_wrap(&err, "%s", kind_name(kind));
        err_copy(filter_mistake(f), &err);
    }
    return f;
}

struct quarry_filter *filter_new_range(enum filter_kind kind,
                                       struct slice family,
                                       enum filter_bound start_kind,
                                       struct slice start,
                                       enum filter_bound end_kind,
                                       struct slice end)
{
    struct quarry_filter *f = filter_new(kind);
    int c = slice_cmp(start, end);
    buf_append_slice(&f->text, family);
    f->start.kind = start_kind;
    f->end.kind = end_kind;
    if (start_kind != FILTER_UNBOUNDED)
        buf_append_slice(&f->start.bytes, start);
    if (end_kind != FILTER_UNBOUNDED)
        buf_append_slice(&f->end.bytes, end);
    if (kind == FILTER_COLUMN_RANGE &&
        (family.len == 0 || family.len > FAMILY_NAME_BYTES_MAX))
        err_set(filter_mistake(f), ERR_INVALID, "%s: the family is not a name",
                kind_name(kind));
    if (start_kind != FILTER_UNBOUNDED && end_kind != FILTER_UNBOUNDED &&
        (c > 0 ||
         (c == 0 && (start_kind == FILTER_OPEN || end_kind == FILTER_OPEN))))
        err_set(filter_mistake(f), ERR_INVALID, "%s: the range is empty",
                kind_name(kind));
    return f;
}

struct quarry_filter *filter_new_times(int64_t min_us, int64_t max_us)
{
    struct quarry_filter *f = filter_new(FILTER_TIMESTAMP_RANGE);
    f->min_us = min_us;
    f->max_us = max_us;
    if (max_us != 0 && min_us >= max_us)
        err_set(filter_mistake(f), ERR_INVALID,
                "%s: the range [%lld, %lld) is empty", kind_name(f->kind),
                (long long)min_us, (long long)max_us);
    return f;
}

struct quarry_filter *filter_new_count(enum filter_kind kind, int64_t count)
{
    struct quarry_filter *f = filter_new(kind);
    int64_t min = kind == FILTER_ROW_OFFSET ? 0 : 1;
    f->count = count;
    if (count < min || count > INT32_MAX)
        err_set(filter_mistake(f), ERR_INVALID,
                "%s: %lld must be at least %lld and fit into 32 bits",
                kind_name(kind), (long long)count, (long long)min);
    return f;
}

struct quarry_filter *filter_new_sample(double probability)
{
    struct quarry_filter *f = filter_new(FILTER_ROW_SAMPLE);
    f->probability = probability;
    if (!(probability > 0.0 && probability < 1.0))
        err_set(filter_mistake(f), ERR_INVALID,
                "%s: the probability %g must be above 0 and below 1",
                kind_name(f->kind), probability);
    return f;
}

struct quarry_filter *filter_new_label(struct slice label)
{
    struct quarry_filter *f = filter_new(FILTER_LABEL);
    bool good = label.len > 0 && label.len <= FILTER_LABEL_BYTES_MAX;
    for (size_t i = 0; i < label.len && good; i++) {
        char c = label.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    buf_append_slice(&f->text, slice_sub(label, 0, FILTER_LABEL_BYTES_MAX));
    if (!good)
        err_set(filter_mistake(f), ERR_INVALID,
                "%s: a label is 1 to %d of a-z, 0-9 and '-'",
                kind_name(f->kind), FILTER_LABEL_BYTES_MAX);
    return f;
}

struct quarry_filter *filter_new_bitmask(struct slice mask)
{
    struct quarry_filter *f = filter_new(FILTER_VALUE_BITMASK);
    buf_append_slice(&f->text, mask);
    return f;
}

/* Depth and size of the tree that @f would root; saturating. */
static void filter_measure(const struct quarry_filter *f,
                           struct quarry_filter *const *parts,
                           size_t count,
                           unsigned *depth,
                           unsigned *nodes)
{
    *depth = 1;
    *nodes = f->node_count;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i])
            continue;
        *depth = MAX_OF(*depth, parts[i]->depth + 1);
        *nodes += MIN_OF(parts[i]->node_count, FILTER_NODES_MAX);
        *nodes = MIN_OF(*nodes, FILTER_NODES_MAX + 1);
    }
}

struct quarry_filter *filter_new_parts(enum filter_kind kind,
                                       struct quarry_filter *const *parts,
                                       size_t count)
{
    struct quarry_filter *f = filter_new(kind);
    unsigned depth;
    unsigned nodes;
    bool missing = count == 0 || !parts[0];
    filter_measure(f, parts, count, &depth, &nodes);
    for (size_t i = 1; i < count && kind != FILTER_CONDITION; i++)
        missing |= !parts[i];
    if (missing)
        err_set(filter_mistake(f), ERR_INVALID, "%s: a part is missing",
                kind_name(kind));
    if (depth > FILTER_DEPTH_MAX || nodes > FILTER_NODES_MAX) {
        err_set(filter_mistake(f), ERR_TOOBIG,
                "%s: more than %d levels or %d parts", kind_name(kind),
                FILTER_DEPTH_MAX, FILTER_NODES_MAX);
    }
    if (f->error) { /* Stay within the bounds: drop the parts. */
        for (size_t i = 0; i < count; i++)
            filter_unref(parts[i]);
        return f;
    }
    f->depth = depth;
    f->node_count = nodes;
    f->parts = mem_alloc(count * sizeof(struct quarry_filter *));
    memcpy(f->parts, parts, count * sizeof(struct quarry_filter *));
    f->part_count = count;
    return f;
}

struct quarry_filter *filter_ref(const struct quarry_filter *f)
{
    /* The count is not part of what is immutable. */
    struct quarry_filter *shared;
    memcpy(&shared, &f, sizeof(shared));
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

void filter_unref(struct quarry_filter *f)
{
    if (!f ||
        atomic_fetch_sub_explicit(&f->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < f->part_count; i++)
        filter_unref(f->parts[i]);
    mem_free(f->parts);
    regex_free(f->regex);
    buf_close(&f->text);
    buf_close(&f->start.bytes);
    buf_close(&f->end.bytes);
    mem_free(f->error);
    mem_free(f);
}

/* Labels on the way through @f: a chain must not apply two to one cell. */
static unsigned label_count(const struct quarry_filter *f)
{
    unsigned n = f->kind == FILTER_LABEL;
    for (size_t i = 0; i < f->part_count; i++) {
        unsigned part = f->parts[i] ? label_count(f->parts[i]) : 0;
        n = f->kind == FILTER_CHAIN ? n + part : MAX_OF(n, part);
    }
    return n;
}

static int
check_node(const struct quarry_filter *f, bool in_predicate, struct err *err)
{
    if (f->error)
        return err_copy(err, f->error);
    if (f->kind == FILTER_SINK && in_predicate)
        return err_set(err, ERR_INVALID,
                       "sink: not allowed in the predicate of a condition");
    for (size_t i = 0; i < f->part_count; i++) {
        bool predicate =
            in_predicate || (f->kind == FILTER_CONDITION && i == 0);
        int rc = f->parts[i] ? check_node(f->parts[i], predicate, err) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

int filter_check(const struct quarry_filter *f, struct err *err)
{
    int rc = check_node(f, false, err);
    if (rc == 0 && label_count(f) > 1)
        rc = err_set(err, ERR_INVALID,
                     "chain: more than one apply_label_transformer");
    if (rc)
        err_wrap(err, "filter");
    return rc;
}
