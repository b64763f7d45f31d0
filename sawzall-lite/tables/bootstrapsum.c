/* bootstrapsum(n): the sum, and n - 1 sums of resampled input, from whose
 * spread the uncertainty of the first is read.
 *
 * Row 0 is the plain sum. In each other row a value is counted k times, k drawn
 * from the Poisson distribution of mean 1; the draws are seeded by the weight,
 * a fingerprint that names the unit of resampling: values of one fingerprint
 * are drawn alike in every table and on every worker. Values of the fingerprint
 * 0 are units of their own: their draws follow from the record and the emit.
 * Rows add, so merging is exact (floats up to rounding).
 *
 * An emit costs n draws and, on average, as many additions.
 */
#include <math.h>
#include <string.h>

#include "base/core/hash.h"
#include "sawzall-lite/tables/impl.h"

struct bootstrap {
    struct saw_blob *rows; /* param of them: a datum each, empty when 0. */
};

static void bootstrap_close(struct saw_table *t, void *state)
{
    struct bootstrap *s = state;
    size_t n = saw_table__param(t);
    if (!s->rows)
        return;
    for (size_t i = 0; i < n; i++)
        saw_blob_close(t, &s->rows[i]);
    saw_table__resize(t, s->rows, n * sizeof(*s->rows), 0);
}

static void make_rows(struct saw_table *t, struct bootstrap *s)
{
    size_t bytes = saw_table__param(t) * sizeof(*s->rows);
    if (s->rows || bytes == 0)
        return;
    s->rows = saw_table__resize(t, NULL, 0, bytes);
    memset(s->rows, 0, bytes);
}

static int add_to_row(struct saw_table *t,
                      struct saw_blob *row,
                      struct slice value,
                      struct err *err)
{
    struct buf *b = saw_table__scratch(t);
    if (row->len == 0) {
        saw_blob_set(t, row, value);
        return 0;
    }
    if (!saw_datum_add(saw_blob_slice(row), value, b))
        return err_set(err, ERR_INVALID,
                       "table %s: values that cannot be added to each other",
                       saw_table_decl(t)->name);
    saw_blob_set(t, row, buf_slice(b));
    return 0;
}

/* Inversion: P(k) = e^-1 / k!, found by walking the distribution. */
static unsigned bootstrapsum_poisson(uint64_t bits)
{
    double u = (double)(bits >> 11) * 0x1p-53;
    double p = exp(-1);
    double sum = p;
    unsigned k = 0;
    while (u >= sum && k < 20) {
        k++;
        p /= k;
        sum += p;
    }
    return k;
}

static int bootstrap_add(struct saw_table *t,
                         void *state,
                         struct slice element,
                         struct slice weight,
                         saw_emit_origin origin,
                         struct err *err)
{
    struct bootstrap *s = state;
    uint64_t unit = saw_datum_word(weight);
    uint64_t seed = hash_mix(unit ? unit : origin);
    size_t n = saw_table__param(t);
    make_rows(t, s);
    for (size_t row = 0; row < n; row++) {
        unsigned times =
            row == 0 ? 1 : bootstrapsum_poisson(hash_mix(seed + row));
        for (unsigned k = 0; k < times; k++) {
            int rc = add_to_row(t, &s->rows[row], element, err);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* Each row with its length; 0 for one without a value. */
static void bootstrap_encode(struct saw_table *t, void *state, struct buf *out)
{
    const struct bootstrap *s = state;
    size_t n = s->rows ? saw_table__param(t) : 0;
    for (size_t i = 0; i < n; i++)
        buf_put_lslice(out, saw_blob_slice(&s->rows[i]));
}

static int bootstrap_merge(struct saw_table *t,
                           void *state,
                           struct cursor *c,
                           struct err *err)
{
    struct bootstrap *s = state;
    size_t n = saw_table__param(t);
    if (c->p == c->end)
        return 0;
    /* Each row takes a byte at least, so a short state reserves little. */
    if (n > cursor_left(c))
        return saw_table__corrupt(t, err);
    make_rows(t, s);
    for (size_t i = 0; i < n; i++) {
        struct slice value = cursor_lslice(c);
        int rc;
        if (c->bad || (value.len && !saw_datum_valid(value)))
            return saw_table__corrupt(t, err);
        if (value.len == 0)
            continue;
        rc = add_to_row(t, &s->rows[i], value, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* A row that no value fell into is zero, in the shape of row 0. */
static void
bootstrap_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct bootstrap *s = state;
    size_t n = s->rows ? saw_table__param(t) : 0;
    struct buf *zero = saw_table__scratch(t);
    if (n && s->rows[0].len)
        saw_datum_zero(saw_blob_slice(&s->rows[0]), zero);
    else
        saw_datum_put_int(zero, 0);
    for (size_t i = 0; i < n; i++) {
        struct slice value = saw_blob_slice(&s->rows[i]);
        if (value.len == 0)
            value = buf_slice(zero);
        out->line(out, &value, 1);
    }
}

const struct saw_kind_ops saw_ops_bootstrapsum = {
    .traits = {.name = "bootstrapsum",
               .number = 13,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = 10000,
               .indexed = true,
               .element_number = true,
               .weight_fingerprint = true},
    .wants_origin = true,
    .state_bytes = sizeof(struct bootstrap),
    .close = bootstrap_close,
    .add = bootstrap_add,
    .encode = bootstrap_encode,
    .merge = bootstrap_merge,
    .results = bootstrap_results,
    .column_count = 1,
};
