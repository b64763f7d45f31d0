/* Transactions over rows and tables: reads of one snapshot, and writes that
 * appear all at once or not at all. docs/transactions.md has the promise.
 *
 *     quarry_table_enable_transactions(q, "accounts", &err)    once
 *     …
 *     quarry_txn_begin(q, NULL, &txn, &err)
 *     quarry_txn_get(txn, accounts, SLICE_LIT("ann"), "balance", SLICE_EMPTY,
 *                    &value, &found, &err)
 *     quarry_txn_put(txn, accounts, SLICE_LIT("ann"), "balance", SLICE_EMPTY,
 *                    SLICE_LIT("90"), &err)
 *     …
 *     quarry_txn_commit(txn, NULL, &err)    ERR_CONFLICT: begin again
 *     quarry_txn_close(txn)
 *
 * quarry_txn_run() does the beginning and the beginning again.
 *
 * After D. Peng and F. Dabek, "Large-scale Incremental Processing Using
 * Distributed Transactions and Notifications", OSDI 2010. A transaction reads
 * as of its start, and its own writes, which stay in the client until the
 * commit. It conflicts, and nothing of it is done, when a row that it writes
 * was committed to by another since it began, or is being committed to. The
 * unit is the row: two transactions that write different columns of one row
 * conflict.
 *
 * Readers never wait for a writer, and never make one fail: a commit that meets
 * a reader takes a later timestamp.
 *
 * Other calls of quarry.h may be used beside: reads see what is committed, and
 * nothing else. Writes that are not a transaction's are seen by transactions as
 * of the timestamps that they have, and make none of them conflict.
 *
 * Threads: one transaction by one thread at a time. Calls that reach the store
 * park a fiber or block a thread.
 *
 * Errors, beside those of quarry.h:
 *   ERR_CONFLICT         another was faster; begin again
 *   ERR_TOO_OLD          it began more than QUARRY_TXN_US_MAX ago
 *   ERR_DEADLINE         its timeout is over; of a call: as in quarry.h
 *   ERR_CANCELLED        its flag was set
 *   ERR_UNSUPPORTED      the table takes no part in transactions
 *   ERR_CLOSED           it has ended
 *   ERR_UNKNOWN_OUTCOME  of a commit alone: the store could not be asked in
 * time whether it was made After any other error of a commit nothing of it is
 * done, now or later.
 */
#ifndef BIGTABLE_QUARRY_TXN_H
#define BIGTABLE_QUARRY_TXN_H

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quarry_txn;
struct quarry_txn_scanner;

/* A transaction ends after that long, whatever its timeout: what snapshots need
 * is kept a little longer. */
#define QUARRY_TXN_US_MAX ((uint64_t)10 * 60 * 1000000)
/* Rows that it writes, or reads when it is serialisable; bytes it writes. */
#define QUARRY_TXN_ROWS_MAX  ((size_t)100000)
#define QUARRY_TXN_BYTES_MAX ((size_t)64 << 20)

struct quarry_txn_options {
    /* Rows and ranges that it read, with the rows that they have not, must not
     * have changed when it commits. Without, two transactions that each read
     * what the other writes may both commit (write skew). */
    bool serializable;
    bool read_only;      /* Writes are refused (ERR_DENIED). */
    uint64_t timeout_us; /* From its beginning; 0: 60 s. */
    uint64_t lease_us;   /* How long others respect its locks after this client
                            was last heard of; 0: 10 s. */
    const quarry_flag *cancel; /* Ends it when it becomes true; borrowed. NULL:
                                  nothing does. */
};

/* --- tables -------------------------------------------------------------- */

/* Let @table take part in transactions, for good: it gets families that users
 * do not see, and keeps overwritten cells for 15 minutes beside its rules. No
 * transaction may have begun before. ERR_EXISTS: it does already; ERR_NOTFOUND,
 * ERR_UNKNOWN_OUTCOME. */
QUARRY_EXPORT MUST_CHECK int quarry_table_enable_transactions(struct quarry *q,
                                                              const char *table,
                                                              struct err *err);

/* The same, for a call that creates a table with them, */
#define QUARRY_TXN_FAMILIES 3
QUARRY_EXPORT void
quarry_txn_specs(struct quarry_family_spec families[QUARRY_TXN_FAMILIES],
                 struct quarry_group_spec *group);
/* or one that makes other changes, too. The texts live for ever. */
#define QUARRY_TXN_CHANGES (1 + QUARRY_TXN_FAMILIES)
QUARRY_EXPORT void
quarry_txn_changes(struct quarry_alter changes[QUARRY_TXN_CHANGES]);

/* --- a transaction ------------------------------------------------------- */

/* *@out is owned: quarry_txn_close(). @opts may be NULL, and is copied. Tables
 * that are used in it, of @q, stay open as long as it is. */
QUARRY_EXPORT MUST_CHECK int
quarry_txn_begin(struct quarry *q,
                 const struct quarry_txn_options *opts,
                 struct quarry_txn **out,
                 struct err *err);
/* Its start: it sees what was committed at that timestamp or before. */
QUARRY_EXPORT int64_t quarry_txn_start(const struct quarry_txn *txn);
/* Make all its writes, or none; it has ended then. *@committed (NULL allowed)
 * is the timestamp of its cells, or its start if it wrote nothing. */
QUARRY_EXPORT MUST_CHECK int
quarry_txn_commit(struct quarry_txn *txn, int64_t *committed, struct err *err);
/* End it without a commit, if it has not ended, and free it. NULL allowed. */
QUARRY_EXPORT void quarry_txn_close(struct quarry_txn *txn);

/* Call @fn with a new transaction, and commit; on ERR_CONFLICT again, after a
 * while that grows and is partly random, until @opts' timeout is over. @fn may
 * be called several times: what it does beside the transaction, it does as
 * often. Any error of @fn ends it and is returned. */
typedef int (*quarry_txn_fn)(struct quarry_txn *txn,
                             void *ctx,
                             struct err *err);
QUARRY_EXPORT MUST_CHECK int
quarry_txn_run(struct quarry *q,
               const struct quarry_txn_options *opts,
               quarry_txn_fn fn,
               void *ctx,
               struct err *err);

/* --- what dead clients leave --------------------------------------------- */

struct quarry_txn_sweep {
    uint64_t locks;    /* That were met. */
    uint64_t resolved; /* Of those: committed or rolled back. The others are of
                          clients that are alive, or were a moment ago. */
    uint64_t statuses; /* Records of commits that are not needed any more: of
                          transactions that began 20 minutes ago or more. */
};

/* Look through the locks of all tables, and finish or roll back what clients
 * that died have left. Servers and `quarry follow run` do so every few minutes;
 * several may at once. Nobody has to: transactions resolve the locks that they
 * meet, and plain reads those of committed transactions. @cancel (NULL: nobody
 * does) ends it with ERR_CANCELLED. */
QUARRY_EXPORT MUST_CHECK int quarry_txn_sweep(struct quarry *q,
                                              const quarry_flag *cancel,
                                              struct quarry_txn_sweep *out,
                                              struct err *err);

/* --- reading ------------------------------------------------------------- */

/* The value of one column into @value, as quarry_get() does. */
QUARRY_EXPORT MUST_CHECK int quarry_txn_get(struct quarry_txn *txn,
                                            struct quarry_table *t,
                                            struct slice row,
                                            const char *family,
                                            struct slice qualifier,
                                            struct buf *value,
                                            bool *found,
                                            struct err *err);
/* A row: one cell of each column, families and qualifiers ascending; cells that
 * the transaction wrote have its start. *@out is NULL if there is none; else
 * owned: quarry_row_free(). */
QUARRY_EXPORT MUST_CHECK int quarry_txn_read_row(struct quarry_txn *txn,
                                                 struct quarry_table *t,
                                                 struct slice row,
                                                 struct quarry_row **out,
                                                 struct err *err);
/* The rows of [start, end) in order, as quarry_txn_read_row() gives them; an
 * empty @end has no bound. Writes of the transaction while the scan is open
 * may be in it or not. *@out is owned, and closed before the transaction. */
QUARRY_EXPORT MUST_CHECK int quarry_txn_scan(struct quarry_txn *txn,
                                             struct quarry_table *t,
                                             struct slice start,
                                             struct slice end,
                                             struct quarry_txn_scanner **out,
                                             struct err *err);
/* *@row is borrowed until the next call, and NULL at the end. */
QUARRY_EXPORT MUST_CHECK int
quarry_txn_scanner_next(struct quarry_txn_scanner *s,
                        const struct quarry_row **row,
                        struct err *err);
QUARRY_EXPORT void quarry_txn_scanner_close(struct quarry_txn_scanner *s);

/* --- writing ------------------------------------------------------------- */
/* Nothing reaches the store before the commit, which also finds mistakes in
 * names of families. */

QUARRY_EXPORT MUST_CHECK int quarry_txn_put(struct quarry_txn *txn,
                                            struct quarry_table *t,
                                            struct slice row,
                                            const char *family,
                                            struct slice qualifier,
                                            struct slice value,
                                            struct err *err);
/* Delete the column; with a NULL @family the row. */
QUARRY_EXPORT MUST_CHECK int quarry_txn_delete(struct quarry_txn *txn,
                                               struct quarry_table *t,
                                               struct slice row,
                                               const char *family,
                                               struct slice qualifier,
                                               struct err *err);
/* All changes of @m, copied. ERR_UNSUPPORTED: it sets a timestamp of its own,
 * or deletes a range of times. */
QUARRY_EXPORT MUST_CHECK int quarry_txn_apply(struct quarry_txn *txn,
                                              struct quarry_table *t,
                                              const struct quarry_mutation *m,
                                              struct err *err);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_TXN_H */
