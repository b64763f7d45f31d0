/* Assembly of rows from merged entries.
 *
 * Entries that cannot be wanted any more (older versions, other families) are
 * stepped over a few times and then jumped over with a seek: a step is cheap
 * and a seek is not, but a column may have a million versions.
 */
#include "bigtable/row/read_row.h"

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/filter_run.h"

/* Steps before a seek pays: a seek costs about as much as ten steps. */
#define STEPS_BEFORE_SEEK 8

static bool source_valid(const struct entry_source *s)
{
    return s->ops->valid(s->it);
}

static struct slice source_key(const struct entry_source *s)
{
    return s->ops->key(s->it);
}

void row_reader_init(struct row_reader *r,
                     const struct row_reader_options *opts)
{
    *r = (struct row_reader){.opts = *opts};
    visibility_init(&r->view, opts->schema, opts->now_us);
}

void row_reader_set_sources(struct row_reader *r,
                            const struct entry_source *sources,
                            size_t source_count)
{
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
    mem_free(r->cells);
}

/* Find the source at the smallest key; ties go to the first, so that equal keys
 * (a deletion of the row stands in every group) follow each other. */
static void find_current(struct row_reader *r)
{
    struct slice best = SLICE_EMPTY;
    r->current = NULL;
    for (size_t i = 0; i < r->source_count; i++) {
        const struct entry_source *s = &r->sources[i];
        if (!source_valid(s))
            continue;
        if (r->current && slice_cmp(source_key(s), best) >= 0)
            continue;
        r->current = s;
        best = source_key(s);
    }
    if (r->current && r->upper.len &&
        slice_cmp(best, buf_slice(&r->upper)) >= 0)
        r->current = NULL;
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
        int rc = r->sources[i].ops->seek(r->sources[i].it, lower, err);
        if (rc)
            return rc;
    }
    find_current(r);
    return 0;
}

static int row_reader_step(struct row_reader *r, struct err *err)
{
    int rc = r->current->ops->next(r->current->it, err);
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
        const struct entry_source *s = &r->sources[i];
        unsigned steps = 0;
        while (source_valid(s) &&
               slice_starts_with(source_key(s), buf_slice(&r->target))) {
            int rc;
            if (steps++ < STEPS_BEFORE_SEEK) {
                rc = s->ops->next(s->it, err);
            } else {
                size_t cut = r->target.len;
                char last = r->target.data[cut - 1];
                if (!cell_key_prefix_successor(&r->target, 0))
                    return err_set(err, ERR_CORRUPT, "a key without successor");
                rc = s->ops->seek(s->it, buf_slice(&r->target), err);
                r->target.len = cut;
                r->target.data[cut - 1] = last;
            }
            if (rc)
                return rc;
        }
    }
    find_current(r);
    return 0;
}

/* Room for @extra bytes of the row: what the cells borrow moves along. */
static char *reserve_bytes(struct row_reader *r, size_t extra)
{
    const char *old = r->bytes.data;
    if (r->bytes.cap - r->bytes.len >= extra)
        return r->bytes.data + r->bytes.len;
    buf_reserve(&r->bytes, extra);
    for (size_t i = 0; i < r->cell_count; i++) {
        struct quarry_cell *c = &r->cells[i];
        if (c->qualifier.len)
            c->qualifier.data = r->bytes.data + (c->qualifier.data - old);
        if (c->value.len)
            c->value.data = r->bytes.data + (c->value.data - old);
    }
    return r->bytes.data + r->bytes.len;
}

static struct slice keep_bytes(struct row_reader *r, struct slice s)
{
    char *p = reserve_bytes(r, s.len);
    if (s.len == 0)
        return SLICE_EMPTY;
    memcpy(p, s.data, s.len);
    r->bytes.len += s.len;
    return slice_make(p, s.len);
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
    MOVE_NEXT_COLUMN,
    MOVE_NEXT_FAMILY,
    MOVE_NEXT_ROW
};

static enum move move_of_verdict(enum filter_verdict v)
{
    switch (v) {
    case FILTER_PASS:
    case FILTER_DROP: return MOVE_STEP;
    case FILTER_DROP_COLUMN: return MOVE_NEXT_COLUMN;
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

static struct slice value_wanted(const struct row_reader *r)
{
    if (r->opts.keys_only ||
        (r->opts.valued && !r->opts.valued[r->view.family]))
        return SLICE_EMPTY;
    return r->current->ops->value(r->current->it);
}

/* A visible cell that options let through: keep it if the filter does. */
static enum move take_cell(struct row_reader *r, int64_t time_us)
{
    struct quarry_cell cell = {
        .family = slice_str(r->view.rules->name),
        .timestamp_us = time_us,
        .value = value_wanted(r),
        .label = SLICE_EMPTY,
    };
    family_id family;
    bool good =
        cell_key_decode_column(source_key(r->current), r->view.row_length,
                               &family, &cell.qualifier, &r->scratch);
    INVARIANT(good);
    if (r->opts.column_regex && !column_matches(r, &cell))
        return MOVE_NEXT_COLUMN;
    if (r->opts.filter) {
        enum filter_verdict v = filter_run_cell(r->opts.filter, &cell);
        if (v != FILTER_PASS)
            return move_of_verdict(v);
    }
    *add_cell(r) = cell;
    /* Both are reserved at once: moving comes before the new cell counts. */
    reserve_bytes(r, cell.qualifier.len + cell.value.len);
    r->cells[r->cell_count].qualifier = keep_bytes(r, cell.qualifier);
    r->cells[r->cell_count].value = keep_bytes(r, cell.value);
    r->cell_count++;
    if (r->opts.versions && ++r->shown >= r->opts.versions)
        return MOVE_NEXT_COLUMN;
    return MOVE_STEP;
}

static enum move judge_cell(struct row_reader *r)
{
    int64_t time_us = r->view.time_us;
    if (r->opts.families && !r->opts.families[r->view.family])
        return MOVE_NEXT_FAMILY;
    if (r->opts.time_min_us != r->opts.time_max_us) {
        if (time_us >= r->opts.time_max_us)
            return MOVE_STEP;
        if (time_us < r->opts.time_min_us)
            return MOVE_NEXT_COLUMN;
    }
    return take_cell(r, time_us);
}

static int make_move(struct row_reader *r, enum move move, struct err *err)
{
    switch (move) {
    case MOVE_STEP: return row_reader_step(r, err);
    case MOVE_NEXT_COLUMN: return skip_prefix(r, r->view.column_length, err);
    case MOVE_NEXT_FAMILY: return skip_prefix(r, r->view.row_length + 2, err);
    case MOVE_NEXT_ROW: return skip_prefix(r, r->view.row_length, err);
    }
    PANIC("move %d", (int)move);
}

static int row_reader_malformed(const struct row_reader *r, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "an entry of %zu bytes in row \"%.*s\" is not a cell key",
                   source_key(r->current).len,
                   SLICE_ARG(slice_sub(buf_slice(&r->row_name), 0, 128)));
}

/* Judge the entry in hand and move on. */
static int take_entry(struct row_reader *r, struct err *err)
{
    struct slice value = r->current->ops->value(r->current->it);
    enum fate fate = visibility_feed(&r->view, source_key(r->current), value);
    enum move move = MOVE_STEP;
    if (r->view.newer <= 1 && fate == FATE_SHOWN)
        r->shown = 0;
    switch (fate) {
    case FATE_SHOWN: move = judge_cell(r); break;
    case FATE_COLLECTED: move = MOVE_NEXT_COLUMN; break;
    case FATE_FOREIGN: move = MOVE_NEXT_FAMILY; break;
    case FATE_MALFORMED: return row_reader_malformed(r, err);
    case FATE_HIDDEN:
    case FATE_TOMBSTONE:
    case FATE_REDUNDANT: break;
    }
    return make_move(r, move, err);
}

/* Collect the cells of the row that begins at the current entry. */
static int take_row(struct row_reader *r, struct err *err)
{
    struct slice key = source_key(r->current);
    size_t row_length = cell_key_row_length(key);
    bool wanted = true;
    int rc = 0;
    r->cell_count = 0;
    r->shown = 0;
    buf_clear(&r->bytes);
    if (row_length == 0)
        return row_reader_malformed(r, err);
    struct slice plain = cell_key_plain_row(key, &r->scratch);
    buf_clear(&r->row_name);
    buf_append_slice(&r->row_name, plain);
    if (r->opts.filter)
        wanted = filter_run_row(r->opts.filter, buf_slice(&r->row_name));
    do {
        rc = take_entry(r, err);
        if (rc == 0 && !wanted)
            rc = skip_prefix(r, r->view.row_length, err);
    } while (rc == 0 && r->current &&
             slice_starts_with(
                 source_key(r->current),
                 slice_sub(buf_slice(&r->view.prefix), 0, row_length)));
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
