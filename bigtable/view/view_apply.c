/* Applying rows to a view, a batch in a transaction: the record of each row
 * as it was is taken back, that of the row as it is now is added, in one
 * commit with the follower's token. So each change counts once, however often
 * it is delivered. */
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/view/contribution.h"
#include "bigtable/view/group.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_txn.h"

/* A row of the batch: its records before and after, taken apart. */
struct batch_row {
    struct slice key; /* Borrowed from the caller. */
    struct buf old_record;
    struct buf new_record; /* Empty: the row is not there. */
    struct contribution before;
    struct contribution after;
};

struct batch {
    const struct slice *keys; /* Sorted, each once; borrowed. */
    size_t count;
    struct batch_row *rows;
    struct group_change *changes;
    size_t change_count;
    size_t change_cap;
};

static void batch_clear(struct batch *b)
{
    for (size_t i = 0; b->rows && i < b->count; i++) {
        buf_close(&b->rows[i].old_record);
        buf_close(&b->rows[i].new_record);
        contribution_close(&b->rows[i].before);
        contribution_close(&b->rows[i].after);
    }
    mem_free(b->rows);
    mem_free(b->changes);
    b->rows = NULL;
    b->changes = NULL;
    b->change_count = b->change_cap = 0;
}

/* --- the rows as they are ------------------------------------------------ */

static int make_record(struct view_txn *t,
                       struct batch_row *b,
                       const struct quarry_row *row,
                       int64_t now_us,
                       struct err *err)
{
    struct view_core *v = t->view;
    if (!row)
        return 0;
    return view_program_row(&v->program, row,
                            view_source_due(&v->source, row, now_us),
                            &b->new_record, err);
}

/* After the transaction began, see view_core.h. */
static int read_rows(struct view_txn *t, struct batch *b, struct err *err)
{
    const int64_t now_us = view_core_now_us(t->view);
    struct quarry_row **rows = mem_zalloc(b->count, sizeof(*rows));
    int rc = quarry_read_rows(t->view->source.table, b->keys, b->count, NULL,
                              rows, err);

    for (size_t i = 0; i < b->count && rc == 0; i++) {
        b->rows[i].key = b->keys[i];
        rc = make_record(t, &b->rows[i], rows[i], now_us, err);
    }
    for (size_t i = 0; i < b->count; i++)
        quarry_row_free(rows[i]);
    mem_free(rows);
    return rc;
}

/* --- records ------------------------------------------------------------- */

static int write_due(struct view_txn *t,
                     const struct batch_row *b,
                     struct buf *key,
                     struct err *err)
{
    int rc = 0;
    if (b->before.due_us == b->after.due_us)
        return 0;
    if (b->before.due_us) {
        view_key_due(key, b->before.due_us, b->key);
        rc = view_txn_delete(t, buf_slice(key), err);
    }
    if (rc == 0 && b->after.due_us) {
        view_key_due(key, b->after.due_us, b->key);
        rc = view_txn_put(t, buf_slice(key), SLICE_EMPTY, err);
    }
    return rc;
}

static void
count_row(struct view_meta *m, const struct batch_row *b, const struct err *why)
{
    m->rows += (b->new_record.len != 0);
    m->rows -= (b->old_record.len != 0);
    m->failed += b->after.failed;
    m->failed -= b->before.failed;
    if (b->after.failed && why->code) {
        buf_clear(&m->error);
        buf_append_str(&m->error, why->text);
    }
}

static int
replace_record(struct view_txn *t, struct batch_row *b, struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;

    view_key_row(&key, b->key);
    rc = view_txn_get(t, buf_slice(&key), &b->old_record, err);
    if (rc == 0)
        rc = contribution_parse(buf_slice(&b->old_record), &b->before, err);
    if (rc == 0)
        rc = contribution_parse(buf_slice(&b->new_record), &b->after, err);
    if (rc == 0 &&
        !slice_eq(buf_slice(&b->old_record), buf_slice(&b->new_record)))
        rc = b->new_record.len ? view_txn_put(t, buf_slice(&key),
                                              buf_slice(&b->new_record), err)
                               : view_txn_delete(t, buf_slice(&key), err);
    if (rc == 0) {
        count_row(&t->meta, b, &t->view->program.row_error);
        rc = write_due(t, b, &key, err);
    }
    buf_close(&key);
    return rc;
}

/* --- what changes in groups ---------------------------------------------- */

static void add_change(struct batch *b, struct group_change c)
{
    if (c.was && c.is && slice_eq(c.before, c.after))
        return;
    if (b->change_count == b->change_cap) {
        b->change_cap = b->change_cap ? b->change_cap * 2 : 256;
        b->changes =
            mem_realloc(b->changes, b->change_cap * sizeof(*b->changes));
    }
    b->changes[b->change_count++] = c;
}

/* Both are in one order: go through them together. */
static void diff_row(struct batch *b, const struct batch_row *r)
{
    size_t i = 0;
    size_t k = 0;
    while (i < r->before.count || k < r->after.count) {
        const struct contribution_entry *old = &r->before.entries[i];
        const struct contribution_entry *new = &r->after.entries[k];
        struct group_change c = {.row = r->key};
        int order = i == r->before.count  ? 1
                    : k == r->after.count ? -1
                                          : contribution_entry_cmp(old, new);
        c.was = order <= 0;
        c.is = order >= 0;
        c.table = c.was ? old->table : new->table;
        c.key = c.was ? old->key : new->key;
        c.before = c.was ? old->state : SLICE_EMPTY;
        c.after = c.is ? new->state : SLICE_EMPTY;
        i += c.was;
        k += c.is;
        add_change(b, c);
    }
}

static int apply_batch(struct view_txn *t, void *ctx, struct err *err)
{
    struct batch *b = ctx;
    int rc;

    b->rows = mem_zalloc(b->count, sizeof(*b->rows));
    t->view->program.row_error.code = 0;
    rc = read_rows(t, b, err);
    for (size_t i = 0; i < b->count && rc == 0; i++) {
        rc = replace_record(t, &b->rows[i], err);
        if (rc == 0)
            diff_row(b, &b->rows[i]);
    }
    if (rc == 0)
        rc = group_apply(t, b->changes, b->change_count, err);
    batch_clear(b);
    return rc;
}

/* One transaction; two of half as many rows where it would be too big. */
static int apply_rows(struct view_core *v,
                      const struct slice *keys,
                      size_t count,
                      struct err *err)
{
    struct batch b = {.keys = keys, .count = count};
    int rc = view_txn_run(v, apply_batch, &b, err);

    if (rc == ERR_TOOBIG && count > 1) {
        rc = apply_rows(v, keys, count / 2, err);
        if (rc == 0)
            rc = apply_rows(v, keys + count / 2, count - count / 2, err);
    } else if (rc == 0) {
        v->rows_applied += count;
    }
    return rc;
}

static int by_bytes(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sort, and name each row once. Rows with names too long for the view's keys
 * are left out. */
static size_t prepare_keys(struct slice *keys, size_t count)
{
    size_t n = 0;
    qsort(keys, count, sizeof(*keys), by_bytes);
    for (size_t i = 0; i < count; i++)
        if ((n == 0 || !slice_eq(keys[n - 1], keys[i])) &&
            keys[i].len <= VIEW_NAME_BYTES_MAX)
            keys[n++] = keys[i];
    return n;
}

int view_apply(struct view_core *v,
               const struct slice *rows,
               size_t count,
               struct err *err)
{
    struct slice *keys = mem_alloc((count + 1) * sizeof(*keys));
    size_t n;
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i];
    n = prepare_keys(keys, count);
    for (size_t i = 0; i < n && rc == 0; i += VIEW_BATCH_ROWS)
        rc = apply_rows(v, keys + i, MIN_OF(n - i, VIEW_BATCH_ROWS), err);
    mem_free(keys);
    return rc;
}

/* --- expiry -------------------------------------------------------------- */

/* Rows that are due, and the time of the first that is not. */
struct due_rows {
    int64_t now_us;
    int64_t next_us;
    struct buf names; /* One after the other. */
    size_t lengths[VIEW_BATCH_ROWS];
    size_t count;
};

static int take_due(void *ctx,
                    struct slice key,
                    struct slice value,
                    bool *stop,
                    struct err *err)
{
    struct due_rows *d = ctx;
    struct cursor c = cursor_make(slice_sub(key, 1, key.len));
    int64_t time_us = (int64_t)cursor_be64(&c);
    (void)value;
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "an entry of a row that is due");
    *stop = time_us > d->now_us || d->count == VIEW_BATCH_ROWS;
    if (*stop) {
        d->next_us = time_us;
        return 0;
    }
    buf_append_slice(&d->names, slice_make(c.p, cursor_left(&c)));
    d->lengths[d->count++] = cursor_left(&c);
    return 0;
}

static int list_due(struct view_txn *t, void *ctx, struct err *err)
{
    struct due_rows *d = ctx;
    const char prefix = VIEW_KEY_DUE;
    buf_clear(&d->names);
    d->count = 0;
    d->next_us = 0;
    return view_txn_scan(t, slice_make(&prefix, 1), SLICE_EMPTY, take_due, d,
                         err);
}

static int
apply_due(struct view_core *v, const struct due_rows *d, struct err *err)
{
    struct slice keys[VIEW_BATCH_ROWS];
    const char *at = d->names.data;
    for (size_t i = 0; i < d->count; i++) {
        keys[i] = slice_make(at, d->lengths[i]);
        at += d->lengths[i];
    }
    return view_apply(v, keys, d->count, err);
}

int view_expire(struct view_core *v,
                int64_t now_us,
                int64_t *next_us,
                struct err *err)
{
    struct due_rows *d = mem_zalloc(1, sizeof(*d));
    int rc;

    d->now_us = now_us;
    do {
        rc = view_txn_look(v, list_due, d, err);
        if (rc == 0 && d->count)
            rc = apply_due(v, d, err);
    } while (rc == 0 && d->count == VIEW_BATCH_ROWS);
    *next_us = d->next_us;
    buf_close(&d->names);
    mem_free(d);
    return rc;
}
