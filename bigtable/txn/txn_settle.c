/* The look for locks before a plain read (txn_settle.h). A lock is judged by
 * its primary's status alone: what is not committed is left to transactions
 * and to the sweeper, so that a read changes nothing that is undecided, asks
 * for no timestamp, and waits for nobody.
 */
#include "bigtable/txn/txn_settle.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/row/hidden.h"
#include "bigtable/txn/txn.h"

int txn_read_stored(struct quarry_table *t,
                    struct slice row,
                    const struct quarry_read_options *opts,
                    struct quarry_row **out,
                    struct err *err)
{
    return t->ops->read_row(t, row, opts, out, err);
}

/* The read continues without what these keep from being finished. */
static bool is_left_to_others(int rc)
{
    return rc == ERR_DENIED || rc == ERR_UNSUPPORTED || rc == ERR_NOTFOUND;
}

/* @value is what the lock's column of @row has. */
static int settle_lock(struct quarry_table *t,
                       struct slice row,
                       struct slice value,
                       struct err *err)
{
    struct txn_lock lock;
    int rc;
    if (value.len == 0 || fault_hit("txn.read_unsettled")) /* Deliberate. */
        return 0;
    rc = txn_lock_decode(value, &lock, err);
    if (rc == 0)
        rc = txn_finish_committed(t->quarry, t, row, &lock, err);
    return is_left_to_others(rc) ? 0 : rc;
}

int txn_settle_row(struct quarry_table *t, struct slice row, struct err *err)
{
    struct err why = ERR_INIT;
    struct buf value = BUF_INIT;
    bool found = false;
    int rc = t->ops->get(t, row, HIDDEN_LOCKS, TXN_LOCK_QUALIFIER, &value,
                         &found, &why);
    if (rc == 0 && found)
        rc = settle_lock(t, row, buf_slice(&value), &why);
    buf_close(&value);
    /* Mistakes in names of rows are told by the read itself. */
    if (is_left_to_others(rc) || rc == ERR_INVALID)
        return 0;
    return rc ? err_copy(err, &why) : 0;
}

/* Finish what is committed of the locks that @where's rows have. */
static int settle_where(struct quarry_table *t,
                        const struct quarry_read_options *where,
                        struct err *err)
{
    static const char *const families[] = {HIDDEN_LOCKS};
    struct quarry_filter *f = txn_filter_locked();
    const struct quarry_read_options read = {.ranges = where->ranges,
                                             .range_count = where->range_count,
                                             .keys = where->keys,
                                             .key_count = where->key_count,
                                             .families = families,
                                             .family_count = 1,
                                             .filter = f};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s = NULL;
    struct err why = ERR_INIT;
    int rc = t->ops->scan(t, &read, &s, &why);
    while (rc == 0 && (rc = quarry_scanner_next(s, &row, &why)) == 0 && row) {
        INVARIANT(row->cell_count > 0);
        rc = settle_lock(t, row->key, row->cells[0].value, &why);
    }
    quarry_scanner_close(s);
    quarry_filter_free(f);
    if (is_left_to_others(rc) || rc == ERR_INVALID)
        return 0;
    return rc ? err_copy(err, &why) : 0;
}

int txn_settle_keys(struct quarry_table *t,
                    const struct slice *keys,
                    size_t count,
                    struct err *err)
{
    const struct quarry_read_options where = {.keys = keys, .key_count = count};
    return count ? settle_where(t, &where, err) : 0;
}

/* --- reads with a limit -------------------------------------------------- */

/* The last row that the read gives into @last; empty: it ends before its
 * limit. */
static int find_last(struct quarry_table *t,
                     const struct quarry_read_options *opts,
                     struct buf *last,
                     struct err *err)
{
    struct quarry_read_options read = *opts;
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s = NULL;
    uint64_t rows = 0;
    int rc;
    read.explain = NULL;
    read.progress_rows = 0;
    read.keys_only = true;
    rc = t->ops->scan(t, &read, &s, err);
    while (rc == 0 && (rc = quarry_scanner_next(s, &row, err)) == 0 && row) {
        rows++;
        buf_clear(last);
        buf_append_slice(last, row->key);
    }
    quarry_scanner_close(s);
    if (rows < opts->row_limit)
        buf_clear(last);
    return rc;
}

/* The rows of @opts up to @last. */
static int settle_up_to(struct quarry_table *t,
                        const struct quarry_read_options *opts,
                        struct buf *last,
                        struct err *err)
{
    static const struct quarry_range all = {{NULL, 0}, {NULL, 0}};
    bool every = opts->range_count + opts->key_count == 0;
    const struct quarry_range *from = every ? &all : opts->ranges;
    size_t count = every ? 1 : opts->range_count;
    struct quarry_range *ranges = mem_alloc((count + 1) * sizeof(*ranges));
    struct quarry_read_options where = {
        .ranges = ranges, .keys = opts->keys, .key_count = opts->key_count};
    struct slice end;
    int rc;
    buf_append_byte(last, '\0'); /* The first name behind it. */
    end = buf_slice(last);
    for (size_t i = 0; i < count; i++) {
        struct quarry_range r = from[i];
        if (slice_cmp(r.start, end) >= 0)
            continue;
        if (r.end.len == 0 || slice_cmp(end, r.end) < 0)
            r.end = end;
        ranges[where.range_count++] = r;
    }
    rc = where.range_count + where.key_count ? settle_where(t, &where, err) : 0;
    mem_free(ranges);
    return rc;
}

int txn_settle_rows(struct quarry_table *t,
                    const struct quarry_read_options *opts,
                    struct err *err)
{
    static const struct quarry_read_options all = {.versions = 0};
    struct buf last = BUF_INIT;
    int rc = 0;
    if (!opts)
        opts = &all;
    if (opts->row_limit && !opts->program)
        rc = find_last(t, opts, &last, err);
    if (rc == 0)
        rc = last.len ? settle_up_to(t, opts, &last, err)
                      : settle_where(t, opts, err);
    buf_close(&last);
    return rc;
}
