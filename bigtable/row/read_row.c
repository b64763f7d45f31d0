/* Assembly of rows from merged entries.
 *
 * Values are not copied while they lie where a source leaves them, in a block
 * that it holds or in a memtable: only before it moves to the next block, or
 * seeks, are those of the row in hand copied. So a scan copies the rows that
 * cross the border of two blocks.
 *
 * Entries that cannot be wanted any more (older versions, other families) are
 * stepped over a few times and then jumped over with a seek: a step is cheap
 * and a seek is not, but a column may have a million versions.
 */
#include "bigtable/row/read_row.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/explain.h"
#include "bigtable/row/filter_run.h"

/* Steps before a seek pays: a seek costs about as much as ten steps. */
#define STEPS_BEFORE_SEEK 8

void row_reader_init(struct row_reader *r,
                     const struct row_reader_options *opts)
{
    *r = (struct row_reader){
        .opts = *opts, .feed = visibility_feed, .filter_cell = filter_run_cell};
    visibility_init(&r->view, opts->schema, opts->now_us);
}

void row_reader_set_sources(struct row_reader *r,
                            struct entry_source *sources,
                            size_t source_count)
{
    PRE(sources || source_count == 0);
    r->sources = sources;
    r->source_count = source_count;
    r->current = NULL;
}

void row_reader_close(struct row_reader *r)
{
    visibility_close(&r->view);
    buf_close(&r->upper);
    buf_close(&r->target);
    buf_close(&r->column);
    buf_close(&r->row_name);
    buf_close(&r->scratch);
    buf_close(&r->bytes);
    buf_close(&r->folded_key);
    buf_close(&r->folded);
    mem_free(r->cells);
}

/* Find the source at the smallest key; ties go to the first, so that equal keys
 * (a deletion of the row stands in every group) follow each other. */
static void find_current(struct row_reader *r)
{
    struct entry_source *best = NULL;
    for (size_t i = 0; i < r->source_count; i++) {
        struct entry_source *s = &r->sources[i];
        if (s->valid && (!best || slice_cmp(s->key, best->key) < 0))
            best = s;
    }
    if (best && r->upper.len && slice_cmp(best->key, buf_slice(&r->upper)) >= 0)
        best = NULL;
    r->current = best;
}

int row_reader_seek(struct row_reader *r,
                    struct slice lower,
                    struct slice upper,
                    struct err *err)
{
    buf_clear(&r->upper);
    buf_append_slice(&r->upper, upper);
    visibility_restart(&r->view);
    for (size_t i = 0; i < r->source_count; i++) {
        int rc = r->sources[i].ops->seek(&r->sources[i], lower, err);
        if (rc)
            return rc;
    }
    find_current(r);
    return 0;
}

/* Room for @extra bytes of the row: what the cells borrow moves along. */
static void reserve_bytes(struct row_reader *r, size_t extra)
{
    const char *old = r->bytes.data;
    if (LIKELY(r->bytes.cap - r->bytes.len >= extra))
        return;
    buf_reserve(&r->bytes, extra);
    for (size_t i = 0; i < r->cell_count; i++) {
        struct quarry_cell *c = &r->cells[i];
        if (c->qualifier.len)
            c->qualifier.data = r->bytes.data + (c->qualifier.data - old);
        if (c->value.len && i < r->copied)
            c->value.data = r->bytes.data + (c->value.data - old);
    }
}

/* Copy @s to the reserved room. */
static struct slice keep_bytes(struct row_reader *r, struct slice s)
{
    char *p = r->bytes.data + r->bytes.len;
    if (s.len == 0)
        return SLICE_EMPTY;
    memcpy(p, s.data, s.len);
    r->bytes.len += s.len;
    return slice_make(p, s.len);
}

/* A source is about to leave the values of the row in hand: copy them. */
static void copy_values(struct row_reader *r)
{
    size_t bytes = 0;
    for (size_t i = r->copied; i < r->cell_count; i++)
        bytes += r->cells[i].value.len;
    reserve_bytes(r, bytes);
    for (; r->copied < r->cell_count; r->copied++) {
        struct quarry_cell *c = &r->cells[r->copied];
        c->value = keep_bytes(r, c->value);
    }
    POST(r->copied >= r->cell_count);
}

static int
source_next(struct row_reader *r, struct entry_source *s, struct err *err)
{
    PRE(s->valid);
    if (UNLIKELY(!s->stays) && r->copied < r->cell_count)
        copy_values(r);
    return s->ops->next(s, err);
}

/* To the first entry that does not start with r->target. */
static int
source_leave(struct row_reader *r, struct entry_source *s, struct err *err)
{
    size_t cut = r->target.len;
    char last = r->target.data[cut - 1];
    int rc;
    PRE(s->valid);
    if (!cell_key_prefix_successor(&r->target, 0))
        return err_set(err, ERR_CORRUPT, "a key without successor");
    copy_values(r);
    rc = s->ops->seek(s, buf_slice(&r->target), err);
    r->target.len = cut;
    r->target.data[cut - 1] = last;
    return rc;
}

static int row_reader_step(struct row_reader *r, struct err *err)
{
    int rc = source_next(r, r->current, err);
    if (rc == 0)
        find_current(r);
    return rc;
}

/* Leave everything that starts with the first @length bytes of the last entry's
 * prefix, in all sources. */
static int skip_prefix(struct row_reader *r, size_t length, struct err *err)
{
    buf_clear(&r->target);
    buf_append(&r->target, r->view.prefix.data, length);
    for (size_t i = 0; i < r->source_count; i++) {
        struct entry_source *s = &r->sources[i];
        unsigned steps = 0;
        while (s->valid && slice_starts_with(s->key, buf_slice(&r->target))) {
            int rc = steps++ < STEPS_BEFORE_SEEK ? source_next(r, s, err)
                                                 : source_leave(r, s, err);
            if (rc)
                return rc;
        }
    }
    find_current(r);
    return 0;
}

static struct quarry_cell *add_cell(struct row_reader *r)
{
    if (r->cell_count == r->cell_cap) {
        r->cell_cap = r->cell_cap ? r->cell_cap * 2 : 16;
        r->cells = mem_realloc(r->cells, r->cell_cap * sizeof(*r->cells));
    }
    return &r->cells[r->cell_count];
}

/* The next step after an entry. */
enum move {
    MOVE_STEP,
    MOVE_TO_TIMES, /* To the times that are wanted, in this column. */
    MOVE_NEXT_COLUMN,
    MOVE_TO_COLUMN, /* Of the same family: the filter says which. */
    MOVE_NEXT_FAMILY,
    MOVE_NEXT_ROW
};

static enum move move_of_verdict(enum filter_verdict v)
{
    switch (v) {
    case FILTER_PASS:
    case FILTER_DROP: return MOVE_STEP;
    case FILTER_DROP_COLUMN: return MOVE_NEXT_COLUMN;
    case FILTER_DROP_TO_COLUMN: return MOVE_TO_COLUMN;
    case FILTER_DROP_FAMILY: return MOVE_NEXT_FAMILY;
    case FILTER_DROP_ROW: return MOVE_NEXT_ROW;
    }
    PANIC("verdict %d", (int)v);
}

static bool column_matches(struct row_reader *r, const struct quarry_cell *c)
{
    buf_clear(&r->column);
    buf_append_slice(&r->column, c->family);
    buf_append_byte(&r->column, ':');
    buf_append_slice(&r->column, c->qualifier);
    return regex_full_match(r->opts.column_regex, buf_slice(&r->column));
}

static struct slice value_wanted(const struct row_reader *r,
                                 const struct entry_source *e)
{
    if (r->opts.keys_only ||
        (r->opts.valued && !r->opts.valued[r->view.family]))
        return SLICE_EMPTY;
    return e->value;
}

static struct slice name_of_family(struct row_reader *r)
{
    if (UNLIKELY(r->named != r->view.rules)) {
        r->named = r->view.rules;
        r->family_name = slice_str(r->named->name);
    }
    return r->family_name;
}

/* The qualifier in @key, that of the last entry that was judged; borrowed from
 * it or from scratch. */
static inline __attribute__((always_inline)) struct slice
qualifier_in_hand(struct row_reader *r, struct slice key)
{
    size_t at = r->view.row_length + CELL_KEY_FAMILY_BYTES;
    struct slice qualifier;
    family_id family;
    bool good;
    PRE(r->view.column_length >= at + CELL_KEY_BORDER_BYTES);
    if (LIKELY(!r->view.has_escapes))
        return slice_make(key.data + at,
                          r->view.column_length - CELL_KEY_BORDER_BYTES - at);
    good = cell_key_decode_column(key, r->view.row_length, &family, &qualifier,
                                  &r->scratch);
    INVARIANT(good);
    return qualifier;
}

/* A visible cell that options let through: keep it if the filter does. */
static inline __attribute__((always_inline)) enum move
take_cell(struct row_reader *r, const struct entry_source *e, int64_t time_us)
{
    struct quarry_cell cell = {
        .family = name_of_family(r),
        .qualifier = qualifier_in_hand(r, e->key),
        .timestamp_us = time_us,
        .value = value_wanted(r, e),
        .label = SLICE_EMPTY,
    };
    if (r->opts.column_regex && !column_matches(r, &cell))
        return MOVE_NEXT_COLUMN;
    if (r->opts.filter) {
        enum filter_verdict v = r->filter_cell(r->opts.filter, &cell);
        if (v != FILTER_PASS)
            return move_of_verdict(v);
    }
    reserve_bytes(r, cell.qualifier.len);
    cell.qualifier = keep_bytes(r, cell.qualifier);
    *add_cell(r) = cell;
    r->cell_count++;
    r->cells_bytes += cell.qualifier.len + cell.value.len;
    if (r->cell_count == r->opts.cell_limit)
        return MOVE_NEXT_ROW;
    if (r->opts.versions && ++r->shown >= r->opts.versions)
        return MOVE_NEXT_COLUMN;
    return MOVE_STEP;
}

/* Versions that are too new may be left out only if nobody counts them. */
static enum move leave_version(const struct row_reader *r)
{
    return r->view.rules->gc ? MOVE_STEP : MOVE_TO_TIMES;
}

/* In line twice, so that cells which are no aggregate's pay no call. */
static inline __attribute__((always_inline)) enum move
judge_cell(struct row_reader *r, const struct entry_source *e)
{
    int64_t time_us = r->view.time_us;
    if (r->opts.families && !r->opts.families[r->view.family])
        return MOVE_NEXT_FAMILY;
    if (r->opts.time_min_us != r->opts.time_max_us) {
        if (time_us >= r->opts.time_max_us)
            return leave_version(r);
        if (time_us < r->opts.time_min_us)
            return MOVE_NEXT_COLUMN;
    }
    return take_cell(r, e, time_us);
}

/* Leave the versions of the column that are newer than wanted: one by one, or,
 * if they are many, by a seek. Only the current source has the family. */
static int skip_versions(struct row_reader *r, struct err *err)
{
    int rc;
    PRE(r->view.has_column);
    if (r->newer_steps++ < STEPS_BEFORE_SEEK)
        return row_reader_step(r, err);
    buf_clear(&r->target);
    buf_append(&r->target, r->view.prefix.data, r->view.column_length);
    cell_key_append_time(&r->target, r->opts.time_max_us - 1);
    copy_values(r);
    rc = r->current->ops->seek(r->current, buf_slice(&r->target), err);
    if (rc == 0)
        find_current(r);
    return rc;
}

/* To the column at which the filter lets cells pass again. Only the current
 * source has the family. */
static int skip_to_column(struct row_reader *r, struct err *err)
{
    struct entry_source *s = r->current;
    unsigned steps = 0;
    int rc = 0;
    PRE(r->view.has_column);
    if (!s) /* The cell was folded, and the last one. */
        return 0;
    buf_clear(&r->target);
    buf_append(&r->target, r->view.prefix.data, r->view.row_length);
    cell_key_append_family_column(&r->target, r->view.family,
                                  filter_run_next(r->opts.filter));
    while (rc == 0 && s->valid && steps++ < STEPS_BEFORE_SEEK &&
           slice_cmp(s->key, buf_slice(&r->target)) < 0)
        rc = source_next(r, s, err);
    if (rc == 0 && s->valid && slice_cmp(s->key, buf_slice(&r->target)) < 0) {
        copy_values(r);
        rc = s->ops->seek(s, buf_slice(&r->target), err);
    }
    if (rc == 0)
        find_current(r);
    return rc;
}

static inline __attribute__((always_inline)) int
make_move(struct row_reader *r, enum move move, struct err *err)
{
    if (move != MOVE_TO_TIMES)
        r->newer_steps = 0;
    switch (move) {
    case MOVE_STEP: return row_reader_step(r, err);
    case MOVE_TO_TIMES: return skip_versions(r, err);
    case MOVE_NEXT_COLUMN: return skip_prefix(r, r->view.column_length, err);
    case MOVE_TO_COLUMN: return skip_to_column(r, err);
    case MOVE_NEXT_FAMILY: return skip_prefix(r, r->view.row_length + 2, err);
    case MOVE_NEXT_ROW: return skip_prefix(r, r->view.row_length, err);
    }
    PANIC("move %d", (int)move);
}

static int row_reader_malformed(const struct row_reader *r, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "an entry of %zu bytes in row \"%.*s\" is not a cell key",
                   r->current->key.len,
                   SLICE_ARG(slice_sub(buf_slice(&r->row_name), 0, 128)));
}

static void count_fate(struct quarry_explain_counts *c, enum fate fate)
{
    switch (fate) {
    case FATE_SHOWN:
    case FATE_FOLDED:
    case FATE_OPERAND: c->entries_shown++; break;
    case FATE_HIDDEN: c->entries_hidden++; break;
    case FATE_TOMBSTONE:
    case FATE_REDUNDANT: c->entries_deletions++; break;
    case FATE_COLLECTED: c->entries_expired++; break;
    case FATE_FOREIGN: c->entries_foreign++; break;
    case FATE_MALFORMED: break;
    }
}

/* visibility_feed() in an explained scan. */
static enum fate
feed_explained(struct visibility *v, struct slice key, struct slice value)
{
    struct row_reader *r = CONTAINER_OF(v, struct row_reader, view);
    enum fate fate = visibility_feed(v, key, value);
    count_fate(&r->opts.explain->counts, fate);
    return fate;
}

void row_reader_set_explain(struct row_reader *r,
                            struct explain_tablet *explain)
{
    r->opts.explain = explain;
    r->feed = explain ? feed_explained : visibility_feed;
    r->filter_cell = explain ? filter_run_cell_explained : filter_run_cell;
    if (r->opts.filter)
        filter_run_set_explain(r->opts.filter, explain);
}

/* The newest operand of a cell is in hand: take the cell that they all make.
 * The source has then left it, so that a step is none. */
NOINLINE static int take_folded(struct row_reader *r, struct err *err)
{
    struct entry_source folded;
    enum move move;
    int rc;
    if (r->view.newer <= 1)
        r->shown = 0;
    copy_values(r); /* The source moves. */
    buf_clear(&r->folded_key);
    buf_append_slice(&r->folded_key, r->current->key);
    buf_clear(&r->folded);
    rc = fold_operands(r->current, &r->view, r->feed, &r->folded, err);
    if (rc)
        return rc;
    find_current(r);
    folded = (struct entry_source){.key = buf_slice(&r->folded_key),
                                   .value = buf_slice(&r->folded)};
    move = judge_cell(r, &folded);
    copy_values(r);
    return move == MOVE_STEP || move == MOVE_TO_TIMES ? 0
                                                      : make_move(r, move, err);
}

/* Judge the entry in hand and move on. */
static int take_entry(struct row_reader *r, struct err *err)
{
    enum fate fate = r->feed(&r->view, r->current->key, r->current->value);
    enum move move = MOVE_STEP;
    if (r->view.newer <= 1 && fate == FATE_SHOWN)
        r->shown = 0;
    switch (fate) {
    case FATE_SHOWN: move = judge_cell(r, r->current); break;
    case FATE_FOLDED: return take_folded(r, err);
    case FATE_COLLECTED: move = MOVE_NEXT_COLUMN; break;
    case FATE_FOREIGN: move = MOVE_NEXT_FAMILY; break;
    case FATE_MALFORMED: return row_reader_malformed(r, err);
    case FATE_OPERAND:
    case FATE_HIDDEN:
    case FATE_TOMBSTONE:
    case FATE_REDUNDANT: break;
    }
    return make_move(r, move, err);
}

/* Is the entry in hand of the row in hand? */
static bool is_in_row(const struct row_reader *r, size_t row_length)
{
    struct slice key = r->current->key;
    return key.len >= row_length &&
           memcmp(key.data, r->view.prefix.data, row_length) == 0;
}

/* Keep the plain name of the row that begins at @key. */
static void begin_row(struct row_reader *r, struct slice key, bool escaped)
{
    struct slice plain =
        escaped ? cell_key_plain_row(key, &r->scratch)
                : slice_sub(key, 0,
                            r->view.next_row_length - CELL_KEY_BORDER_BYTES);
    r->cell_count = r->copied = r->cells_bytes = 0;
    r->shown = 0;
    buf_clear(&r->bytes);
    buf_clear(&r->row_name);
    buf_append_slice(&r->row_name, plain);
}

/* Collect the cells of the row that begins at the current entry. */
static int take_row(struct row_reader *r, struct err *err)
{
    bool escaped;
    struct slice key = r->current->key;
    size_t row_length = cell_key_row_parse(key, &escaped);
    bool wanted = true;
    int rc = 0;
    PRE(r->current->valid);
    if (row_length == 0)
        return row_reader_malformed(r, err);
    visibility_begin_row(&r->view, row_length);
    begin_row(r, key, escaped);
    if (UNLIKELY(r->opts.explain))
        r->opts.explain->counts.rows_examined++;
    if (r->opts.filter)
        wanted = filter_run_row(r->opts.filter, buf_slice(&r->row_name));
    do {
        rc = take_entry(r, err);
        if (rc == 0 && !wanted)
            rc = skip_prefix(r, r->view.row_length, err);
    } while (rc == 0 && r->current && is_in_row(r, row_length));
    if (!wanted)
        r->cell_count = 0;
    return rc;
}

int row_reader_next(struct row_reader *r,
                    const struct quarry_row **row,
                    struct err *err)
{
    uint32_t skipped = 0;
    *row = NULL;
    while (r->current) {
        int rc = take_row(r, err);
        if (rc)
            return rc;
        r->row.key = buf_slice(&r->row_name);
        r->row.cells = r->cells;
        r->row.cell_count = r->cell_count;
        if (r->opts.filter) {
            rc = filter_run_finish(r->opts.filter, &r->row, err);
            if (rc)
                return rc;
        }
        if (r->row.cell_count > 0 || ++skipped == r->opts.progress_rows) {
            *row = &r->row;
            return 0;
        }
    }
    return 0;
}
