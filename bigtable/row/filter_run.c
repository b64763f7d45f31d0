/* Evaluation of filters. Leading leaves of a chain judge each cell as it
 * streams by, before its value is copied; from the first node that needs the
 * whole row on, the rest is applied to the row's cells in memory.
 */
#include "bigtable/row/filter_run.h"

#include "base/core/arena.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/explain.h"
#include "bigtable/row/filter.h"

/* Copies of cells that a filter may make of one row, beyond its own. */
#define COPIES_MAX ((size_t)1 << 20)

/* Column ranges that are known of one filter. */
#define RANGES_MAX 32

/* Explained scans look at the clock in one row of these: twice for each cell
 * of all rows would cost more than most filters. */
#define TIMED_ROWS 8

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
    /* The places of both in the preorder of the filter's nodes. */
    unsigned *stream_nodes;
    unsigned *rest_nodes;
    /* If any: cells outside of these ranges are jumped over. Borrowed. */
    const struct quarry_filter *ranges[RANGES_MAX];
    size_t range_count;
    const struct quarry_filter *next; /* Of them: at or behind its start. */
    struct explain_tablet *explain;   /* Borrowed; NULL: not explained. */
    bool is_timed;                    /* The row in hand is. */
    bool is_refused;                  /* It is, by its key. */
    struct buf qualifier;             /* Of the last streamed cell. */
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

/* A node of the filter, and its place in the preorder of the nodes. */
struct placed {
    const struct quarry_filter *filter;
    unsigned at;
};

/* The part after @before of @of; the first when that is not one. */
static struct placed
part_after(struct placed of, size_t i, struct placed before)
{
    unsigned at =
        i == 0 ? of.at + 1
               : before.at + (before.filter ? before.filter->node_count : 0);
    return (struct placed){of.filter->parts[i], at};
}

static int filter_run_eval(struct filter_run *r,
                           struct placed p,
                           const struct work *in,
                           struct work *out,
                           struct err *err);

static int eval_chain(struct filter_run *r,
                      struct placed p,
                      const struct work *in,
                      struct work *out,
                      struct err *err)
{
    struct placed part = p;
    struct work now = *in;
    for (size_t i = 0; i < p.filter->part_count; i++) {
        struct work next;
        int rc;
        part = part_after(p, i, part);
        rc = filter_run_eval(r, part, &now, &next, err);
        if (rc)
            return rc;
        now = next;
    }
    *out = now;
    return 0;
}

static int eval_interleave(struct filter_run *r,
                           struct placed p,
                           const struct work *in,
                           struct work *out,
                           struct err *err)
{
    struct placed now = p;
    *out = (struct work){NULL, 0};
    for (size_t i = 0; i < p.filter->part_count; i++) {
        struct work part;
        int rc;
        now = part_after(p, i, now);
        rc = filter_run_eval(r, now, in, &part, err);
        if (rc == 0)
            rc = filter_run_merge(r, out, &part, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int eval_condition(struct filter_run *r,
                          struct placed p,
                          const struct work *in,
                          struct work *out,
                          struct err *err)
{
    struct work decided;
    struct placed branch = part_after(p, 0, p);
    int rc = filter_run_eval(r, branch, in, &decided, err);
    *out = (struct work){NULL, 0};
    if (rc)
        return rc;
    branch = part_after(p, 1, branch);
    if (decided.count == 0)
        branch = part_after(p, 2, branch);
    return branch.filter ? filter_run_eval(r, branch, in, out, err) : 0;
}

static int eval_node(struct filter_run *r,
                     struct placed p,
                     const struct work *in,
                     struct work *out,
                     struct err *err)
{
    enum filter_kind kind = p.filter->kind;
    if (kind == FILTER_CHAIN)
        return eval_chain(r, p, in, out, err);
    if (kind == FILTER_INTERLEAVE)
        return eval_interleave(r, p, in, out, err);
    if (kind == FILTER_CONDITION)
        return eval_condition(r, p, in, out, err);
    if (kind == FILTER_SINK)
        return filter_run_merge(r, &r->sunk, in, err);
    eval_leaf(r, p.filter, in, out);
    return 0;
}

/* Recursion is bounded by FILTER_DEPTH_MAX. */
static int filter_run_eval(struct filter_run *r,
                           struct placed p,
                           const struct work *in,
                           struct work *out,
                           struct err *err)
{
    int rc;
    *out = (struct work){NULL, 0};
    if (in->count == 0)
        return 0;
    if (r->explain)
        explain_stage_in(r->explain->explain, p.at, in->count);
    rc = eval_node(r, p, in, out, err);
    if (r->explain)
        explain_stage_out(r->explain->explain, p.at, out->count);
    return rc;
}

/* The links behind the streaming part, one after the other. */
static int eval_rest(struct filter_run *r,
                     const struct work *in,
                     struct work *out,
                     struct err *err)
{
    struct work now = *in;
    for (size_t i = 0; i < r->rest_count; i++) {
        const struct placed link = {r->rest[i], r->rest_nodes[i]};
        struct work next;
        int rc = filter_run_eval(r, link, &now, &next, err);
        if (rc)
            return rc;
        now = next;
    }
    *out = now;
    return 0;
}

static int
finish_row(struct filter_run *r, struct quarry_row *row, struct err *err)
{
    struct work in;
    struct work out;
    struct quarry_cell *cells;
    int rc;
    arena_reset(&r->arena);
    r->sunk = (struct work){NULL, 0};
    r->copies = 0;
    in = work_new(r, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++)
        in.cells[in.count++] = (struct work_cell){row->cells[i], i};
    rc = eval_rest(r, &in, &out, err);
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

/* --- explained scans ----------------------------------------------------- */

static uint64_t timed_begin(const struct filter_run *r)
{
    return r->is_timed ? explain_now(r->explain->explain) : 0;
}

static void timed_end(struct filter_run *r, uint64_t begin_ns)
{
    if (r->is_timed)
        r->explain->filter_timed_ns +=
            explain_now(r->explain->explain) - begin_ns;
}

static void mark_streaming(struct filter_run *r, struct placed p)
{
    struct placed part = p;
    r->explain->explain->stages[p.at].streams = true;
    for (size_t i = 0;
         p.filter->kind == FILTER_CHAIN && i < p.filter->part_count; i++) {
        part = part_after(p, i, part);
        if (part.filter->kind == FILTER_CHAIN)
            mark_streaming(r, part);
    }
}

void filter_run_set_explain(struct filter_run *r,
                            struct explain_tablet *explain)
{
    r->explain = explain;
    r->is_timed = false;
    if (explain) {
        PRE(explain->explain->stage_count >= r->filter->node_count);
        mark_streaming(r, (struct placed){r->filter, 0});
    }
}

/* Leaf @i refuses the row in hand, which those before it let pass. */
static void refuse_explained_row(struct filter_run *r, size_t i)
{
    struct quarry_explain *e = r->explain->explain;
    for (size_t k = 0; k < i; k++)
        explain_stage_row(e, r->stream_nodes[k], true);
    explain_stage_row(e, r->stream_nodes[i], false);
    r->is_refused = true;
}

static void begin_explained_row(struct filter_run *r)
{
    struct explain_tablet *t = r->explain;
    t->explain->row++;
    r->is_refused = false;
    r->is_timed = t->filter_rows++ % TIMED_ROWS == 0;
    t->filter_timed_rows += r->is_timed;
}

static enum filter_verdict stream_explained(struct filter_run *r,
                                            struct quarry_cell *cell)
{
    struct quarry_explain *e = r->explain->explain;
    enum filter_verdict v = FILTER_PASS;
    /* Of a row that is refused, one cell comes here before it is left. */
    for (size_t i = 0; i < r->stream_count && v == FILTER_PASS; i++) {
        explain_stage_in(e, r->stream_nodes[i], !r->is_refused);
        v = leaf_cell(r->stream[i], &r->states[i], r->column, cell);
        explain_stage_out(e, r->stream_nodes[i],
                          !r->is_refused && v == FILTER_PASS);
    }
    return v;
}

/* --- the streaming part -------------------------------------------------- */

/* Lay the links of nested chains out in one row. */
static void filter_run_flatten(struct filter_run *r, struct placed p)
{
    if (p.filter->kind == FILTER_CHAIN) {
        struct placed part = p;
        for (size_t i = 0; i < p.filter->part_count; i++) {
            part = part_after(p, i, part);
            filter_run_flatten(r, part);
        }
    } else if (is_leaf(p.filter) && r->rest_count == 0) {
        r->stream_nodes[r->stream_count] = p.at;
        r->stream[r->stream_count++] = p.filter;
    } else {
        r->rest_nodes[r->rest_count] = p.at;
        r->rest[r->rest_count++] = p.filter;
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
    r->stream_nodes = mem_zalloc(f->node_count, sizeof(*r->stream_nodes));
    r->rest_nodes = mem_zalloc(f->node_count, sizeof(*r->rest_nodes));
    arena_init(&r->arena);
    filter_run_flatten(r, (struct placed){f, 0});
    if (!filter_reads_columns(f, r->ranges, RANGES_MAX, &r->range_count))
        r->range_count = 0;
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
    mem_free(r->stream_nodes);
    mem_free(r->rest_nodes);
    buf_close(&r->qualifier);
    arena_close(&r->arena);
    mem_free(r);
}

bool filter_run_row(struct filter_run *r, struct slice key)
{
    r->row = key;
    r->family = NULL;
    r->column = 0;
    if (UNLIKELY(r->explain))
        begin_explained_row(r);
    for (size_t i = 0; i < r->stream_count; i++) {
        const char *family = r->states[i].family;
        bool good = r->states[i].family_good;
        if (!leaf_row(r->stream[i], key)) {
            if (r->explain)
                refuse_explained_row(r, i);
            return false;
        }
        r->states[i] = (struct leaf_state){0, 0, family, good};
    }
    return true;
}

static inline void note_column(struct filter_run *r,
                               const struct quarry_cell *c)
{
    if (r->family == c->family.data &&
        slice_eq(c->qualifier, buf_slice(&r->qualifier)))
        return;
    r->family = c->family.data;
    buf_clear(&r->qualifier);
    buf_append_slice(&r->qualifier, c->qualifier);
    r->column++;
}

struct slice filter_run_next(const struct filter_run *r)
{
    PRE(r->next != NULL);
    return buf_slice(&r->next->start.bytes);
}

/* Where the next cell may pass that follows one outside of all ranges. */
NOINLINE static enum filter_verdict jump(struct filter_run *r,
                                         const struct quarry_cell *cell)
{
    r->next = NULL;
    for (size_t i = 0; i < r->range_count; i++) {
        const struct quarry_filter *f = r->ranges[i];
        bool above;
        if (!slice_eq(cell->family, buf_slice(&f->text)))
            continue;
        if (in_range(f, cell->qualifier, &above))
            return FILTER_PASS;
        if (!above &&
            (!r->next || slice_cmp(buf_slice(&f->start.bytes),
                                   buf_slice(&r->next->start.bytes)) < 0))
            r->next = f;
    }
    return r->next ? FILTER_DROP_TO_COLUMN : FILTER_DROP_FAMILY;
}

/* @v of the streaming part, unless more can be left out. */
static inline enum filter_verdict
jump_if_outside(struct filter_run *r,
                const struct quarry_cell *cell,
                enum filter_verdict v)
{
    enum filter_verdict j;
    if (r->range_count == 0 || v == FILTER_DROP_FAMILY || v == FILTER_DROP_ROW)
        return v;
    j = jump(r, cell);
    return j == FILTER_PASS ? v : j;
}

enum filter_verdict filter_run_cell_explained(struct filter_run *r,
                                              struct quarry_cell *cell)
{
    uint64_t begin_ns = timed_begin(r);
    enum filter_verdict v;
    PRE(r->explain);
    note_column(r, cell);
    v = jump_if_outside(r, cell, stream_explained(r, cell));
    timed_end(r, begin_ns);
    return v;
}

int filter_run_finish(struct filter_run *r,
                      struct quarry_row *row,
                      struct err *err)
{
    uint64_t begin_ns;
    int rc;
    if (r->rest_count == 0 || row->cell_count == 0)
        return 0;
    begin_ns = timed_begin(r);
    rc = finish_row(r, row, err);
    timed_end(r, begin_ns);
    return rc;
}

enum filter_verdict filter_run_cell(struct filter_run *r,
                                    struct quarry_cell *cell)
{
    enum filter_verdict v = FILTER_PASS;
    note_column(r, cell);
    for (size_t i = 0; i < r->stream_count && v == FILTER_PASS; i++)
        v = leaf_cell(r->stream[i], &r->states[i], r->column, cell);
    return jump_if_outside(r, cell, v);
}
