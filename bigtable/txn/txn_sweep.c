/* The sweeper: looks at the locks and statuses of all tables, and finishes what
 * clients that are gone have left. A lock is resolved as a writer that met it
 * would do. A status is needed as long as a row of its transaction is locked
 * (INV-3 of txn.h), and does not say which rows those are. So there are two
 * passes: the first notes the statuses, the second resolves the locks of all
 * tables. All rows of a transaction were locked before its status came, so the
 * second pass meets every lock that a noted status is needed for, and when it
 * has left none of them, the statuses go. The client itself may need its status
 * as well, when the answer to its commit was lost; so those of transactions
 * that may still be under way stay.
 */
#include "base/core/panic.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn.h"

/* Statuses that one sweep forgets, at most: the next takes the rest. */
#define STATUSES_MAX ((size_t)100000)

struct left_status {
    size_t table; /* Index of its name. */
    int64_t start;
    struct buf row;
};

struct sweep {
    struct quarry *quarry;
    struct quarry_txn_sweep *report;
    const quarry_flag *cancel;
    int64_t oldest; /* Transactions that began before have ended. */
    char **names;
    size_t name_count;
    struct left_status *statuses; /* Owned. */
    size_t status_count;
};

typedef int (*sweep_row_fn)(struct sweep *s,
                            struct quarry_table *t,
                            size_t table,
                            const struct quarry_row *row,
                            struct err *err);

static int check_cancelled(const struct sweep *s, struct err *err)
{
    if (s->cancel && atomic_load(s->cancel))
        return err_set(err, ERR_CANCELLED, "the sweep was cancelled");
    return 0;
}

/* --- passes -------------------------------------------------------------- */

/* Call @fn for the rows of @t that have what @filter lets through. */
static int sweep_rows(struct sweep *s,
                      struct quarry_table *t,
                      size_t table,
                      const struct quarry_filter *filter,
                      sweep_row_fn fn,
                      struct err *err)
{
    static const char *const families[] = {HIDDEN_LOCKS};
    const struct quarry_read_options read = {
        .families = families, .family_count = 1, .filter = filter};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *rows = NULL;
    int rc = quarry_scan(t, &read, &rows, err);
    while (rc == 0 && (rc = quarry_scanner_next(rows, &row, err)) == 0 && row) {
        rc = check_cancelled(s, err);
        if (rc == 0)
            rc = fn(s, t, table, row, err);
    }
    quarry_scanner_close(rows);
    return rc;
}

/* A table that is dropped meanwhile has nothing left. */
static int sweep_table(struct sweep *s,
                       size_t table,
                       const struct quarry_filter *filter,
                       sweep_row_fn fn,
                       struct err *err)
{
    struct quarry_table *t = NULL;
    int rc = quarry_table_open(s->quarry, s->names[table], &t, err);
    if (rc == 0)
        rc = quarry_table_check_family(t, HIDDEN_LOCKS, err);
    if (rc == 0)
        rc = sweep_rows(s, t, table, filter, fn, err);
    quarry_table_close(t);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int sweep_all(struct sweep *s,
                     struct quarry_filter *f,
                     sweep_row_fn fn,
                     struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->name_count && rc == 0; i++) {
        rc = check_cancelled(s, err);
        if (rc == 0)
            rc = sweep_table(s, i, f, fn, err);
        if (rc)
            err_wrap(err, "transactions of table %s", s->names[i]);
    }
    quarry_filter_free(f);
    return rc;
}

/* --- statuses ------------------------------------------------------------ */

static int note_statuses(struct sweep *s,
                         struct quarry_table *t,
                         size_t table,
                         const struct quarry_row *row,
                         struct err *err)
{
    (void)t;
    (void)err;
    for (size_t i = 0; i < row->cell_count; i++) {
        size_t n = s->status_count;
        int64_t start;
        if (n == STATUSES_MAX || !txn_status_start(&row->cells[i], &start) ||
            start >= s->oldest)
            continue;
        if ((n & (n - 1)) == 0)
            s->statuses = mem_realloc(s->statuses,
                                      (n ? n * 2 : 1) * sizeof(*s->statuses));
        s->statuses[n] = (struct left_status){table, start, BUF_INIT};
        buf_append_slice(&s->statuses[n].row, row->key);
        s->status_count++;
    }
    return 0;
}

static int forget_status(struct sweep *s,
                         const struct left_status *status,
                         struct err *err)
{
    const struct quarry_write_options logged = {QUARRY_LOGGED};
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&status->row));
    struct quarry_table *t = NULL;
    int rc = quarry_table_open(s->quarry, s->names[status->table], &t, err);
    txn_forget_status(m, status->start);
    if (rc == 0)
        rc = quarry_apply(t, m, &logged, err);
    s->report->statuses += rc == 0;
    quarry_mutation_free(m);
    quarry_table_close(t);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* --- locks --------------------------------------------------------------- */

static int resolve_row(struct sweep *s,
                       struct quarry_table *t,
                       size_t table,
                       const struct quarry_row *row,
                       struct err *err)
{
    enum txn_fate fate = TXN_GONE;
    struct txn_state state;
    int rc = txn_state_read(row, &state, err);
    (void)table;
    if (rc || !state.locked)
        return rc;
    s->report->locks++;
    rc = txn_resolve(s->quarry, t, row->key, &state.lock, 0, &fate, err);
    s->report->resolved += rc == 0 && fate == TXN_GONE;
    return rc;
}

int quarry_txn_sweep(struct quarry *q,
                     const quarry_flag *cancel,
                     struct quarry_txn_sweep *out,
                     struct err *err)
{
    struct sweep s = {.quarry = q, .report = out, .cancel = cancel};
    int rc;
    *out = (struct quarry_txn_sweep){.locks = 0};
    rc = quarry_timestamps(q, 1, &s.oldest, err);
    if (rc)
        return rc;
    if (!fault_hit(TXN_ALL_ARE_OVER))
        s.oldest -= 2 * (int64_t)QUARRY_TXN_US_MAX;
    rc = quarry_table_list_all(q, &s.names, &s.name_count, err);
    if (rc)
        return rc;
    rc = sweep_all(&s, txn_filter_left(), note_statuses, err);
    if (rc == 0)
        rc = sweep_all(&s, txn_filter_locked(), resolve_row, err);
    for (size_t i = 0; i < s.status_count && rc == 0; i++)
        rc = forget_status(&s, &s.statuses[i], err);
    INVARIANT(out->resolved <= out->locks);
    for (size_t i = 0; i < s.status_count; i++)
        buf_close(&s.statuses[i].row);
    mem_free(s.statuses);
    quarry_names_free(s.names, s.name_count);
    return rc;
}
