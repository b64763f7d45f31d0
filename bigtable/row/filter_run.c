/* Evaluation of filters. Leading leaves of a chain judge each cell as it
 * streams by, before its value is copied; from the first node that needs the
 * whole row on, the rest is applied to the row's cells in memory.
 */
#include "bigtable/row/filter_run.h"

#include "base/core/arena.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/filter.h"

/* Copies of cells that a filter may make of one row, beyond its own. */
#define COPIES_MAX ((size_t)1 << 20)

/* The state of a leaf inside one row. */
struct leaf_state {
    uint64_t column;    /* Number of the column that `count` is about. */
    uint64_t count;     /* Cells so far. */
    const char *family; /* Family name last matched, by address, */
    bool family_good;   /* and the outcome. */
};

/* A cell on its way through the row part; `at` is its place in the row, by
 * which copies are put back into order. */
struct work_cell {
    struct quarry_cell cell;
    size_t at;
};

struct work {
    struct work_cell *cells; /* Arena. */
    size_t count;
};

struct filter_run {
    struct quarry_filter *filter;        /* Owned reference. */
    const struct quarry_filter **stream; /* Leaves applied while streaming. */
    struct leaf_state *states;           /* One for each. */
    size_t stream_count;
    const struct quarry_filter **rest; /* The links of the chain behind. */
    size_t rest_count;
    struct buf qualifier; /* Of the last streamed cell. */
    const char *family;
    uint64_t column;    /* Counts the columns of a row. */
    struct slice row;   /* Borrowed key of the row in hand. */
    struct arena arena; /* Of the row part. */
    struct work sunk;   /* Cells that reached a sink. */
    size_t copies;      /* Made of this row. */
};

/* --- leaves -------------------------------------------------------------- */

static bool in_range(const struct quarry_filter *f, struct slice s, bool *above)
{
    int c = f->start.kind == FILTER_UNBOUNDED
                ? 1
                : slice_cmp(s, buf_slice(&f->start.bytes));
    *above = false;
    if (c < 0 || (c == 0 && f->start.kind == FILTER_OPEN))
        return false;
    c = f->end.kind == FILTER_UNBOUNDED
            ? -1
            : slice_cmp(s, buf_slice(&f->end.bytes));
    *above = c > 0 || (c == 0 && f->end.kind == FILTER_OPEN);
    return !*above;
}

/* Is @value as long as @mask, with all of its bits set? */
static bool has_bits(struct slice value, struct slice mask)
{
    bool all = value.len == mask.len;
    for (size_t i = 0; i < mask.len && all; i++)
        all = (value.data[i] & mask.data[i]) == mask.data[i];
    return all;
}

/* A leaf, its state in this row, and the cell to judge, of column number
 * `column` of the row. */
struct judged {
    const struct quarry_filter *filter;
    struct leaf_state *state;
    uint64_t column;
    struct quarry_cell *cell;
};

static enum filter_verdict pass_if(bool good)
{
    return good ? FILTER_PASS : FILTER_DROP;
}

/* The verdicts of filter_kinds.def. */

static enum filter_verdict cell_pass(const struct judged *j)
{
    (void)j; /* Judged by the row's key, or not a leaf. */
    return FILTER_PASS;
}

static enum filter_verdict cell_block_all(const struct judged *j)
{
    (void)j;
    return FILTER_DROP_ROW;
}

static enum filter_verdict cell_family_regex(const struct judged *j)
{
    struct leaf_state *s = j->state;
    if (s->family != j->cell->family.data) {
        s->family = j->cell->family.data;
        s->family_good = regex_full_match(j->filter->regex, j->cell->family);
    }
    return s->family_good ? FILTER_PASS : FILTER_DROP_FAMILY;
}

static enum filter_verdict cell_qualifier_regex(const struct judged *j)
{
    return regex_full_match(j->filter->regex, j->cell->qualifier)
               ? FILTER_PASS
               : FILTER_DROP_COLUMN;
}

static enum filter_verdict cell_column_range(const struct judged *j)
{
    bool above;
    if (!slice_eq(j->cell->family, buf_slice(&j->filter->text)))
        return FILTER_DROP_FAMILY;
    if (in_range(j->filter, j->cell->qualifier, &above))
        return FILTER_PASS;
    return above ? FILTER_DROP_FAMILY : FILTER_DROP_COLUMN;
}

static enum filter_verdict cell_times(const struct judged *j)
{
    const struct quarry_filter *f = j->filter;
    if (j->cell->timestamp_us < f->min_us)
        return FILTER_DROP_COLUMN;
    return pass_if(f->max_us == 0 || j->cell->timestamp_us < f->max_us);
}

static enum filter_verdict cell_value_regex(const struct judged *j)
{
    return pass_if(regex_full_match(j->filter->regex, j->cell->value));
}

static enum filter_verdict cell_value_range(const struct judged *j)
{
    bool above;
    return pass_if(in_range(j->filter, j->cell->value, &above));
}

static enum filter_verdict cell_value_bitmask(const struct judged *j)
{
    return pass_if(has_bits(j->cell->value, buf_slice(&j->filter->text)));
}

static enum filter_verdict cell_row_offset(const struct judged *j)
{
    return pass_if(j->state->count++ >= (uint64_t)j->filter->count);
}

static enum filter_verdict cell_row_limit(const struct judged *j)
{
    return j->state->count++ < (uint64_t)j->filter->count ? FILTER_PASS
                                                          : FILTER_DROP_ROW;
}

static enum filter_verdict cell_column_limit(const struct judged *j)
{
    struct leaf_state *s = j->state;
    if (s->column != j->column) {
        s->column = j->column;
        s->count = 0;
    }
    return s->count++ < (uint64_t)j->filter->count ? FILTER_PASS
                                                   : FILTER_DROP_COLUMN;
}

static enum filter_verdict cell_strip_value(const struct judged *j)
{
    j->cell->value = SLICE_EMPTY;
    return FILTER_PASS;
}

static enum filter_verdict cell_label(const struct judged *j)
{
    j->cell->label = buf_slice(&j->filter->text);
    return FILTER_PASS;
}

static bool is_leaf(const struct quarry_filter *f)
{
    enum filter_effect effect = filter_effect(f->kind);
    return effect == FILTER_EFFECT_PLAIN || effect == FILTER_EFFECT_COUNTS;
}

/* Apply leaf @f to cell @c of the row's column number @column. */
static enum filter_verdict leaf_cell(const struct quarry_filter *f,
                                     struct leaf_state *s,
                                     uint64_t column,
                                     struct quarry_cell *c)
{
    const struct judged j = {f, s, column, c};
    switch (f->kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return cell_##cell(&j);
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    return FILTER_PASS;
}

static bool row_any(const struct quarry_filter *f, struct slice key)
{
    (void)f;
    (void)key;
    return true;
}

static bool row_regex(const struct quarry_filter *f, struct slice key)
{
    return regex_full_match(f->regex, key);
}

/* The sample depends on the key alone: the same rows every time. */
static bool row_sample(const struct quarry_filter *f, struct slice key)
{
    return (double)(hash64_slice(key) >> 11) * 0x1p-53 < f->probability;
}

/* Does the row itself pass @f? */
static bool leaf_row(const struct quarry_filter *f, struct slice key)
{
    switch (f->kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        return row_##row(f, key);
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
    return true;
}

/* --- the row part -------------------------------------------------------- */

static struct work work_new(struct filter_run *r, size_t count)
{
    struct work w = {NULL, 0};
    w.cells = arena_alloc(&r->arena, (count + 1) * sizeof(*w.cells));
    return w;
}

static bool same_column(const struct work_cell *a, const struct work_cell *b)
{
    return a->cell.family.data == b->cell.family.data &&
           slice_eq(a->cell.qualifier, b->cell.qualifier);
}

static void eval_leaf(struct filter_run *r,
                      const struct quarry_filter *f,
                      const struct work *in,
                      struct work *out)
{
    struct leaf_state state = {0};
    uint64_t column = 0;
    *out = work_new(r, in->count);
    if (!leaf_row(f, r->row))
        return;
    for (size_t i = 0; i < in->count; i++) {
        struct work_cell *w = &out->cells[out->count];
        *w = in->cells[i];
        if (i == 0 || !same_column(w, &in->cells[i - 1]))
            column++;
        if (leaf_cell(f, &state, column, &w->cell) == FILTER_PASS)
            out->count++;
    }
}

/* Merge @b behind the equal places of @a. */
static int filter_run_merge(struct filter_run *r,
                            struct work *a,
                            const struct work *b,
                            struct err *err)
{
    struct work out;
    size_t i = 0;
    size_t k = 0;
    if (b->count == 0)
        return 0;
    r->copies += b->count;
    if (r->copies > COPIES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "the filter makes more than %zu copies of the cells of "
                       "row \"%.*s\"",
                       COPIES_MAX, SLICE_ARG(slice_sub(r->row, 0, 128)));
    out = work_new(r, a->count + b->count);
    while (i < a->count || k < b->count) {
        bool from_a =
            k == b->count || (i < a->count && a->cells[i].at <= b->cells[k].at);
        out.cells[out.count++] = from_a ? a->cells[i++] : b->cells[k++];
    }
    *a = out;
    return 0;
}

static int filter_run_eval(struct filter_run *r,
                           const struct quarry_filter *f,
                           const struct work *in,
                           struct work *out,
                           struct err *err);

static int eval_links(struct filter_run *r,
                      const struct quarry_filter *const *links,
                      size_t count,
                      const struct work *in,
                      struct work *out,
                      struct err *err)
{
    struct work now = *in;
    for (size_t i = 0; i < count; i++) {
        struct work next;
        int rc = filter_run_eval(r, links[i], &now, &next, err);
        if (rc)
            return rc;
        now = next;
    }
    *out = now;
    return 0;
}

static int eval_interleave(struct filter_run *r,
                           const struct quarry_filter *f,
                           const struct work *in,
                           struct work *out,
                           struct err *err)
{
    *out = (struct work){NULL, 0};
    for (size_t i = 0; i < f->part_count; i++) {
        struct work part;
        int rc = filter_run_eval(r, f->parts[i], in, &part, err);
        if (rc == 0)
            rc = filter_run_merge(r, out, &part, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int eval_condition(struct filter_run *r,
                          const struct quarry_filter *f,
                          const struct work *in,
                          struct work *out,
                          struct err *err)
{
    struct work decided;
    const struct quarry_filter *branch;
    int rc = filter_run_eval(r, f->parts[0], in, &decided, err);
    *out = (struct work){NULL, 0};
    if (rc)
        return rc;
    branch = f->parts[decided.count ? 1 : 2];
    return branch ? filter_run_eval(r, branch, in, out, err) : 0;
}

/* Recursion is bounded by FILTER_DEPTH_MAX. */
static int filter_run_eval(struct filter_run *r,
                           const struct quarry_filter *f,
                           const struct work *in,
                           struct work *out,
                           struct err *err)
{
    *out = (struct work){NULL, 0};
    if (in->count == 0)
        return 0;
    if (f->kind == FILTER_CHAIN)
        return eval_links(r, (const struct quarry_filter *const *)f->parts,
                          f->part_count, in, out, err);
    if (f->kind == FILTER_INTERLEAVE)
        return eval_interleave(r, f, in, out, err);
    if (f->kind == FILTER_CONDITION)
        return eval_condition(r, f, in, out, err);
    if (f->kind == FILTER_SINK)
        return filter_run_merge(r, &r->sunk, in, err);
    eval_leaf(r, f, in, out);
    return 0;
}

int filter_run_finish(struct filter_run *r,
                      struct quarry_row *row,
                      struct err *err)
{
    struct work in;
    struct work out;
    struct quarry_cell *cells;
    int rc;
    if (r->rest_count == 0 || row->cell_count == 0)
        return 0;
    arena_reset(&r->arena);
    r->sunk = (struct work){NULL, 0};
    r->copies = 0;
    in = work_new(r, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++)
        in.cells[in.count++] = (struct work_cell){row->cells[i], i};
    rc = eval_links(r, r->rest, r->rest_count, &in, &out, err);
    if (rc == 0)
        rc = filter_run_merge(r, &out, &r->sunk, err);
    if (rc)
        return rc;
    cells = arena_alloc(&r->arena, (out.count + 1) * sizeof(*cells));
    for (size_t i = 0; i < out.count; i++)
        cells[i] = out.cells[i].cell;
    row->cells = cells;
    row->cell_count = out.count;
    return 0;
}

/* --- the streaming part -------------------------------------------------- */

/* Lay the links of nested chains out in one row. */
static void filter_run_flatten(struct filter_run *r,
                               const struct quarry_filter *f)
{
    if (f->kind == FILTER_CHAIN) {
        for (size_t i = 0; i < f->part_count; i++)
            filter_run_flatten(r, f->parts[i]);
    } else if (is_leaf(f) && r->rest_count == 0) {
        r->stream[r->stream_count++] = f;
    } else {
        r->rest[r->rest_count++] = f;
    }
}

int filter_run_new(const struct quarry_filter *f,
                   struct filter_run **out,
                   struct err *err)
{
    struct filter_run *r;
    int rc = filter_check(f, err);
    *out = NULL;
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->filter = filter_ref(f);
    r->stream = mem_zalloc(f->node_count, sizeof(f));
    r->rest = mem_zalloc(f->node_count, sizeof(f));
    r->states = mem_zalloc(f->node_count, sizeof(*r->states));
    arena_init(&r->arena);
    filter_run_flatten(r, f);
    *out = r;
    return 0;
}

void filter_run_free(struct filter_run *r)
{
    if (!r)
        return;
    filter_unref(r->filter);
    mem_free(r->stream);
    mem_free(r->rest);
    mem_free(r->states);
    buf_close(&r->qualifier);
    arena_close(&r->arena);
    mem_free(r);
}

bool filter_run_row(struct filter_run *r, struct slice key)
{
    r->row = key;
    r->family = NULL;
    r->column = 0;
    for (size_t i = 0; i < r->stream_count; i++) {
        const char *family = r->states[i].family;
        bool good = r->states[i].family_good;
        if (!leaf_row(r->stream[i], key))
            return false;
        r->states[i] = (struct leaf_state){0, 0, family, good};
    }
    return true;
}

static void note_column(struct filter_run *r, const struct quarry_cell *c)
{
    if (r->family == c->family.data &&
        slice_eq(c->qualifier, buf_slice(&r->qualifier)))
        return;
    r->family = c->family.data;
    buf_clear(&r->qualifier);
    buf_append_slice(&r->qualifier, c->qualifier);
    r->column++;
}

enum filter_verdict filter_run_cell(struct filter_run *r,
                                    struct quarry_cell *cell)
{
    note_column(r, cell);
    for (size_t i = 0; i < r->stream_count; i++) {
        enum filter_verdict v =
            leaf_cell(r->stream[i], &r->states[i], r->column, cell);
        if (v != FILTER_PASS)
            return v;
    }
    return FILTER_PASS;
}
