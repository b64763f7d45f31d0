/* Building and checking. Both read rows, and compare them with entries, while
 * others write: an entry that a row had when it was read, and has no more, is
 * left behind as one of a writer that died would be, and a difference counts
 * only if it is there when both are looked at once more.
 */
#include "bigtable/index/index_build.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"

#define BATCH_ROWS ((size_t)512)

struct walk {
    struct quarry_table *table;
    const struct index_set *set;
    const struct index_def *def;
    struct quarry_table *entries;
    quarry_index_progress progress;
    void *ctx;
    uint64_t seen;
};

static int walk_step(struct walk *w, struct err *err)
{
    PRE(w->def && w->table);
    if (++w->seen % BATCH_ROWS == 0 && w->progress &&
        !w->progress(w->ctx, w->seen))
        return err_set(err, ERR_CANCELLED, "it was stopped");
    return 0;
}

/* Rows that have the first column, with the columns and their marks. */
static int
open_rows(struct walk *w, struct quarry_scanner **out, struct err *err)
{
    struct quarry_filter *parts[INDEX_COLUMNS_MAX + 1];
    struct quarry_read_options read = {.versions = 1};
    struct quarry_filter *f;
    size_t n = 0;
    int rc;
    PRE(w->def->column_count > 0);
    PRE(w->def->column_count <= INDEX_COLUMNS_MAX);
    for (; n < w->def->column_count; n++) {
        const struct index_column *c = &w->def->columns[n];
        parts[n] =
            quarry_filter_column_range(c->family, QUARRY_CLOSED, c->qualifier,
                                       QUARRY_CLOSED, c->qualifier);
    }
    parts[n++] = quarry_filter_column_range(
        INDEX_FAMILY, QUARRY_CLOSED, SLICE_LIT(INDEX_MARK), QUARRY_CLOSED,
        SLICE_LIT(INDEX_MARK));
    f = quarry_filter_interleave(parts, n);
    read.filter = f;
    rc = quarry_scan(w->table, &read, out, err);
    quarry_filter_free(f);
    INVARIANT(n == w->def->column_count + 1);
    return rc;
}

static bool place_of_row(const struct walk *w,
                         const struct quarry_row *row,
                         struct slice key,
                         struct index_place *out)
{
    struct index_value values[INDEX_COLUMNS_MAX];
    *out = (struct index_place){BUF_INIT, BUF_INIT};
    if (!row)
        return false;
    index_values(row, w->def, values);
    return index_place_of(w->def, values, key, out);
}

static int64_t number_of(const struct quarry_row *row)
{
    const struct index_column mark = {INDEX_FAMILY, SLICE_LIT(INDEX_MARK)};
    const struct quarry_cell *c = index_cell(row, &mark);
    if (!c || c->value.len != INDEX_MARK_BYTES)
        return INDEX_FIRST_NUMBER;
    return (int64_t)get_be64(c->value.data);
}

/* --- building ------------------------------------------------------------ */

/* A claim may fail because of a row that has the values no more, or because
 * this one has not: then both are what their writers made of them. */
static int build_claim(struct walk *w,
                       const struct index_place *p,
                       struct slice row,
                       int64_t number,
                       struct err *err)
{
    struct index_place now;
    struct index_row r;
    bool same;
    int rc =
        index_claim(w->table, w->set, w->def, w->entries, p, row, number, err);
    int again;
    PRE(w->def->unique);
    PRE(index_place_is_claim(p));
    if (rc != ERR_EXISTS)
        return rc;
    again = index_row_read(w->table, w->set, NULL, 0, row, false, &r, err);
    if (again)
        return again;
    same = place_of_row(w, r.owner, row, &now) && index_place_eq(&now, p);
    index_place_close(&now);
    index_row_close(&r);
    if (same) {
        struct buf text = BUF_INIT;
        index_say_row(&text, quarry_table_name(w->table), row);
        err_wrap(err, "%s", buf_cstr(&text));
        buf_close(&text);
    }
    return same ? ERR_EXISTS : 0;
}

struct batch {
    struct quarry_mutation *rows[BATCH_ROWS];
    size_t count;
};

static int batch_write(struct walk *w, struct batch *b, struct err *err)
{
    const struct quarry_write_options o = index_durability(w->table->quarry);
    int rc = b->count ? quarry_apply_batch(w->entries, b->rows, b->count, &o,
                                           NULL, err)
                      : 0;
    PRE(b->count <= BATCH_ROWS);
    b->count = 0;
    POST(b->count == 0);
    return rc;
}

static int build_row(struct walk *w,
                     struct batch *b,
                     const struct quarry_row *row,
                     struct err *err)
{
    struct index_place p;
    int rc = 0;
    PRE(b->count < BATCH_ROWS);
    if (place_of_row(w, row, row->key, &p)) {
        int64_t number = number_of(row);
        if (index_place_is_claim(&p)) {
            rc = build_claim(w, &p, row->key, number, err);
        } else {
            struct quarry_mutation *m = b->rows[b->count++];
            quarry_mutation_reset(m, buf_slice(&p.row));
            quarry_mutation_set(m, INDEX_ENTRY_FAMILY, SLICE_EMPTY, number,
                                SLICE_EMPTY);
            if (b->count == BATCH_ROWS)
                rc = batch_write(w, b, err);
        }
    }
    index_place_close(&p);
    POST(b->count <= BATCH_ROWS);
    return rc;
}

int index_build(struct quarry_table *t,
                const struct index_set *set,
                const struct index_def *d,
                quarry_index_progress progress,
                void *ctx,
                struct err *err)
{
    struct walk w = {
        .table = t, .set = set, .def = d, .progress = progress, .ctx = ctx};
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    struct batch *b = mem_zalloc(1, sizeof(*b));
    int rc = index_table(t->quarry, d, &w.entries, err);
    PRE(d->state == INDEX_BUILDING);
    for (size_t i = 0; i < BATCH_ROWS; i++)
        b->rows[i] = quarry_mutation_new(SLICE_LIT("-"));
    if (rc == 0)
        rc = open_rows(&w, &rows, err);
    while (rc == 0 && (rc = quarry_scanner_next(rows, &row, err)) == 0 && row) {
        rc = build_row(&w, b, row, err);
        if (rc == 0)
            rc = walk_step(&w, err);
    }
    if (rc == 0)
        rc = batch_write(&w, b, err);
    /* They are logged; before the index is ready they are on the disk. */
    if (rc == 0)
        rc = quarry_flush(t->quarry, err);
    quarry_scanner_close(rows);
    for (size_t i = 0; i < BATCH_ROWS; i++)
        quarry_mutation_free(b->rows[i]);
    mem_free(b);
    return rc;
}

/* --- comparing ----------------------------------------------------------- */

/* Is the entry @p there, with a cell of its own? */
static int has_entry(struct walk *w,
                     const struct index_place *p,
                     int64_t *us,
                     bool *others,
                     struct err *err)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_row *found;
    int rc =
        quarry_read_row(w->entries, buf_slice(&p->row), &newest, &found, err);
    PRE(p->row.len > 0);
    *us = 0;
    *others = false;
    for (size_t i = 0; rc == 0 && found && i < found->cell_count; i++) {
        if (slice_eq(found->cells[i].qualifier, buf_slice(&p->qualifier)))
            *us = found->cells[i].timestamp_us;
        else
            *others = true;
    }
    quarry_row_free(found);
    return rc;
}

static int mend_missing(struct walk *w,
                        struct slice row,
                        bool others,
                        struct quarry_index_report *out,
                        struct err *err)
{
    int rc = index_touch(w->table, row, err);
    if (rc == ERR_EXISTS && others)
        return 0; /* It is counted as twice. */
    out->mended += rc == 0;
    return rc;
}

/* Read the row once more: its writer may have been between its steps. */
static int confirm_missing(struct walk *w,
                           struct slice row,
                           bool mend,
                           struct quarry_index_report *out,
                           struct err *err)
{
    struct index_place p = {BUF_INIT, BUF_INIT};
    struct index_row r;
    struct index_row again;
    int64_t us = 0;
    bool others = false;
    int rc = index_row_read(w->table, w->set, NULL, 0, row, false, &r, err);
    PRE(row.len > 0);
    if (rc)
        return rc;
    if (place_of_row(w, r.owner, row, &p))
        rc = has_entry(w, &p, &us, &others, err);
    else
        us = 1;
    if (rc == 0 && us == 0)
        rc = index_row_read(w->table, w->set, NULL, 0, row, false, &again, err);
    if (rc == 0 && us == 0) {
        if (slice_eq(again.mark, r.mark)) {
            out->missing++;
            out->twice += others;
            if (mend)
                rc = mend_missing(w, row, others, out, err);
        }
        index_row_close(&again);
    }
    index_place_close(&p);
    index_row_close(&r);
    POST(out->twice <= out->missing);
    return rc;
}

static int compare_rows(struct walk *w,
                        bool mend,
                        struct quarry_index_report *out,
                        struct err *err)
{
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    int rc = open_rows(w, &rows, err);
    PRE(w->entries);
    while (rc == 0 && (rc = quarry_scanner_next(rows, &row, err)) == 0 && row) {
        struct index_place p;
        int64_t us = 0;
        bool others = false;
        if (place_of_row(w, row, row->key, &p)) {
            out->rows++;
            rc = has_entry(w, &p, &us, &others, err);
            if (rc == 0 && us == 0)
                rc = confirm_missing(w, row->key, mend, out, err);
        }
        index_place_close(&p);
        if (rc == 0)
            rc = walk_step(w, err);
    }
    quarry_scanner_close(rows);
    return rc;
}

static int remove_stale(struct walk *w,
                        struct slice entry_row,
                        const struct quarry_cell *c,
                        struct slice row,
                        const struct index_row *r,
                        struct quarry_index_report *out,
                        struct err *err)
{
    const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct quarry_mutation *m;
    bool done = true;
    int64_t upto = r->number;
    int rc = 0;
    if (c->timestamp_us > r->number) {
        rc = index_fence(w->table, w->set, row, r, c->timestamp_us, &done, err);
        upto = c->timestamp_us;
    }
    if (rc || !done)
        return rc;
    m = quarry_mutation_new(entry_row);
    quarry_mutation_delete_cells(m, INDEX_ENTRY_FAMILY, c->qualifier, 0,
                                 upto + 1);
    rc = quarry_apply(w->entries, m, &logged, err);
    quarry_mutation_free(m);
    out->mended += rc == 0;
    INVARIANT(upto >= c->timestamp_us); /* INV-2 */
    return rc;
}

static int compare_entry(struct walk *w,
                         struct slice entry_row,
                         const struct quarry_cell *c,
                         bool mend,
                         struct quarry_index_report *out,
                         struct err *err)
{
    struct index_place p = {BUF_INIT, BUF_INIT};
    struct index_row r = {.number = 0};
    struct slice row;
    bool wanted;
    int rc;
    if (!index_place_row(w->def, entry_row, c->qualifier, &row))
        return err_set(err, ERR_CORRUPT, "an entry without a row: rebuild it");
    out->entries++;
    rc = index_row_read(w->table, w->set, NULL, 0, row, false, &r, err);
    if (rc)
        return rc;
    wanted = place_of_row(w, r.owner, row, &p) &&
             slice_eq(buf_slice(&p.row), entry_row) &&
             slice_eq(buf_slice(&p.qualifier), c->qualifier);
    if (!wanted) {
        out->stale++;
        if (mend)
            rc = remove_stale(w, entry_row, c, row, &r, out, err);
    }
    index_place_close(&p);
    index_row_close(&r);
    POST(out->stale <= out->entries);
    return rc;
}

static int compare_entries(struct walk *w,
                           bool mend,
                           struct quarry_index_report *out,
                           struct err *err)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_scanner *rows = NULL;
    const struct quarry_row *row;
    int rc = quarry_scan(w->entries, &newest, &rows, err);
    PRE(w->entries);
    while (rc == 0 && (rc = quarry_scanner_next(rows, &row, err)) == 0 && row) {
        for (size_t i = 0; i < row->cell_count && rc == 0; i++)
            rc = compare_entry(w, row->key, &row->cells[i], mend, out, err);
        if (rc == 0)
            rc = walk_step(w, err);
    }
    quarry_scanner_close(rows);
    return rc;
}

int index_compare(struct quarry_table *t,
                  const struct index_set *set,
                  const struct index_def *d,
                  bool mend,
                  struct quarry_index_report *out,
                  quarry_index_progress progress,
                  void *ctx,
                  struct err *err)
{
    struct walk w = {
        .table = t, .set = set, .def = d, .progress = progress, .ctx = ctx};
    int rc = index_table(t->quarry, d, &w.entries, err);
    PRE(d->state == INDEX_READY);
    if (rc == 0)
        rc = compare_rows(&w, mend, out, err);
    if (rc == 0)
        rc = compare_entries(&w, mend, out, err);
    return rc;
}
