/* Building a view; see view_core.h. The rows of the table are applied batch by
 * batch, as if each had been written just now. Changes that are made meanwhile
 * are told to the view afterwards, so that it does not matter whether a batch
 * saw them. The place is kept with the view's figures: a build that was stopped
 * continues.
 */
#include "base/core/panic.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_txn.h"

/* The keys of the next batch, and the row behind them. */
struct build_keys {
    struct buf names; /* One after the other. */
    size_t lengths[VIEW_BATCH_ROWS];
    size_t count;
    bool at_end;
    enum view_phase phase; /* In which they were listed, */
    struct slice from;     /* and from where on. Borrowed. */
};

static void keep_key(struct build_keys *k, struct slice key)
{
    buf_append_slice(&k->names, key);
    k->lengths[k->count++] = key.len;
}

/* The rows of the table. */
static int list_rows(struct view_core *v, struct build_keys *k, struct err *err)
{
    const struct quarry_range range = {k->from, SLICE_EMPTY};
    const struct quarry_read_options o = {.ranges = &range,
                                          .range_count = 1,
                                          .row_limit = VIEW_BATCH_ROWS,
                                          .keys_only = true,
                                          .cancel = v->cancel};
    struct quarry_scanner *s = NULL;
    const struct quarry_row *row;
    int rc = quarry_scan(v->source.table, &o, &s, err);

    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, err);
        if (rc || !row)
            break;
        keep_key(k, row->key);
    }
    if (s)
        quarry_scanner_close(s);
    k->at_end = k->count < VIEW_BATCH_ROWS;
    return rc;
}

static int take_record(void *ctx,
                       struct slice key,
                       struct slice value,
                       bool *stop,
                       struct err *err)
{
    struct build_keys *k = ctx;
    (void)value;
    (void)err;
    keep_key(k, slice_sub(key, 1, key.len));
    *stop = k->count == VIEW_BATCH_ROWS;
    return 0;
}

/* The rows that the view has records of. */
static int list_records(struct view_txn *t, void *ctx, struct err *err)
{
    struct build_keys *k = ctx;
    const char prefix = VIEW_KEY_ROW;
    struct buf from = BUF_INIT;
    int rc;

    buf_clear(&k->names);
    k->count = 0;
    view_key_row(&from, k->from);
    rc = view_txn_scan(t, slice_make(&prefix, 1), buf_slice(&from), take_record,
                       k, err);
    k->at_end = k->count < VIEW_BATCH_ROWS;
    buf_close(&from);
    return rc;
}

static int
apply_keys(struct view_core *v, const struct build_keys *k, struct err *err)
{
    struct slice *keys = mem_alloc((k->count + 1) * sizeof(*keys));
    const char *at = k->names.data;
    int rc;

    for (size_t i = 0; i < k->count; i++) {
        keys[i] = slice_make(at, k->lengths[i]);
        at += k->lengths[i];
    }
    rc = view_apply(v, keys, k->count, err);
    mem_free(keys);
    return rc;
}

/* --- the place ----------------------------------------------------------- */

static int set_place(struct view_txn *t, void *ctx, struct err *err)
{
    const struct build_keys *k = ctx;
    struct view_meta *m = &t->meta;
    size_t last = k->count ? k->lengths[k->count - 1] : 0;
    (void)err;

    if (m->phase != k->phase || !slice_eq(buf_slice(&m->cursor), k->from))
        return 0; /* Another was here meanwhile. */
    buf_clear(&m->cursor);
    if (!k->at_end) {
        /* The next name after the last. */
        buf_append_slice(
            &m->cursor,
            slice_sub(buf_slice(&k->names), k->names.len - last, k->names.len));
        buf_append_byte(&m->cursor, '\0');
    } else if (m->phase == VIEW_PHASE_ROWS && m->builds) {
        m->phase = VIEW_PHASE_RECORDS;
    } else {
        m->phase = VIEW_PHASE_READY;
        m->builds++;
    }
    return 0;
}

static int begin_again(struct view_txn *t, void *ctx, struct err *err)
{
    const struct view_core *v = ctx;
    (void)err;
    /* A first build that was stopped may have left records, too. */
    t->meta.builds += (t->meta.builds == 0 && t->meta.rows > 0);
    t->meta.phase = VIEW_PHASE_ROWS;
    buf_clear(&t->meta.cursor);
    buf_clear(&t->meta.rules);
    buf_append_slice(&t->meta.rules, buf_slice(&v->source.rules));
    return 0;
}

int view_build_begin(struct view_core *v, struct err *err)
{
    return view_txn_run(v, begin_again, v, err);
}

int view_build_step(struct view_core *v, bool *ready, struct err *err)
{
    struct build_keys *k = mem_zalloc(1, sizeof(*k));
    struct view_meta m;
    int rc = view_meta_read(v, &m, err);

    *ready = rc == 0 && m.phase == VIEW_PHASE_READY;
    k->phase = m.phase;
    k->from = buf_slice(&m.cursor);
    if (rc == 0 && m.phase == VIEW_PHASE_ROWS)
        rc = list_rows(v, k, err);
    else if (rc == 0 && m.phase == VIEW_PHASE_RECORDS)
        rc = view_txn_look(v, list_records, k, err);
    if (rc == 0 && !*ready)
        rc = apply_keys(v, k, err);
    if (rc == 0 && !*ready)
        rc = view_txn_run(v, set_place, k, err);
    view_meta_close(&m);
    buf_close(&k->names);
    mem_free(k);
    return rc;
}
