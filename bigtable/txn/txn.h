/* A transaction from the inside: what it has read and written so far, and the
 * steps that the files of this room share.
 *
 * Life of a transaction that writes
 *
 *     txn.c          OPEN: writes are collected, reads see start and own writes
 *     txn_prewrite.c each row is locked with its writes, the primary first
 *     txn_commit.c   a commit timestamp; the primary is committed, which
 *                    decides; then the other rows
 *
 * A lock whose client is gone is resolved by the client that meets it
 * (txn_resolve.c),
 * by the state of its primary alone:
 *
 *     the primary has           the transaction is
 *     a status                  committed: apply the writes of the lock
 *     its lock, lease over      rolled back by removing that lock first
 *     its lock                  alive; a reader raises the lock's min_commit
 *                               above its own snapshot and reads on
 *     neither                   rolled back: remove the lock
 *
 * Invariants
 *     INV-1. No row but the primary is locked before the primary was; so a lock
 *            without a primary was rolled back, or is too late.
 *     INV-2. The commit timestamp is asked for when all rows are locked, and is
 *            not below the min_commit of the primary's lock that the commit
 *            removes.
 *     INV-3. A status stays in the primary until all rows are committed.
 *     INV-4. A row lock is changed by single-row transactions alone, on
 *            condition that it is the one that was looked at.
 */
#ifndef BIGTABLE_TXN_TXN_H
#define BIGTABLE_TXN_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/fault.h"
#include "base/core/hash_map.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_txn.h"
#include "bigtable/row/schema.h" /* FAMILY_NAME_BYTES_MAX */
#include "bigtable/txn/txn_record.h"

struct world;

/* The fault point "txn.crash": the client is gone at this step, and cleans
 * nothing up. */
#define TXN_CRASH "txn.crash"

/* The fault point "txn.all_are_over": for a sweep, no transaction is under way
 * whose client could ask for its status. */
#define TXN_ALL_ARE_OVER "txn.all_are_over"

/* Without one of its own. */
#define TXN_TIMEOUT_US ((uint64_t)60 * 1000000)

struct txn_row {
    struct quarry_table *table;     /* Borrowed. */
    struct buf key;                 /* Plain row name. */
    struct quarry_mutation *writes; /* Owned; NULL: none. */
    bool read;                      /* Must not change: serialisable ones. */
    bool tried;                     /* To lock it, */
    bool locked;                    /* and it is. */
};

/* A family, or "" for the table alone, that was found to be there. */
struct txn_checked {
    struct quarry_table *table; /* Borrowed. */
    char family[FAMILY_NAME_BYTES_MAX + 1];
};

/* Rows that were scanned, or their absence: [start, end), empty: no bound. */
struct txn_range {
    struct quarry_table *table; /* Borrowed. */
    struct buf start;
    struct buf end;
};

struct quarry_txn {
    struct quarry *quarry; /* Borrowed, as its world. */
    struct world *world;
    struct quarry_txn_options opts; /* Without zeros. */
    int64_t start;
    uint64_t begun_ns;   /* When `start` was asked for: its deadline. */
    uint64_t stamped_ns; /* When `start` had come: its locks' leases. */
    bool ended;
    struct hash_map by_key; /* Index in `rows`, by table and row. */
    struct txn_row *rows;   /* Owned; in the order of their first use. */
    size_t row_count;
    size_t row_cap;
    struct txn_range *ranges; /* Owned. */
    size_t range_count;
    size_t bytes;                /* Of writes. */
    struct txn_checked *checked; /* Owned. */
    size_t checked_count;
};

/* How long since its beginning. */
uint64_t txn_age_us(const struct quarry_txn *t);
/* May it continue? ERR_CLOSED, ERR_CANCELLED, ERR_DEADLINE, ERR_TOO_OLD. */
MUST_CHECK int txn_check(const struct quarry_txn *t, struct err *err);
/* Does @table take part, and has it @family (NULL: none is asked for)?
 * ERR_UNSUPPORTED, ERR_NOTFOUND, ERR_INVALID. */
MUST_CHECK int txn_use(struct quarry_txn *t,
                       struct quarry_table *table,
                       const char *family,
                       struct err *err);
/* Its part about @row; NULL: none. Borrowed until the next is added. */
struct txn_row *txn_find_row(const struct quarry_txn *t,
                             struct quarry_table *table,
                             struct slice row);
/* The same, added if need be. ERR_TOOBIG. */
MUST_CHECK int txn_add_row(struct quarry_txn *t,
                           struct quarry_table *table,
                           struct slice row,
                           struct txn_row **out,
                           struct err *err);
/* The row may not change until it commits, if it is serialisable. */
MUST_CHECK int txn_note_read(struct quarry_txn *t,
                             struct quarry_table *table,
                             struct slice row,
                             struct err *err);
void txn_note_range(struct quarry_txn *t,
                    struct quarry_table *table,
                    struct slice start,
                    struct slice end);

/* --- single rows: txn_rows.c --------------------------------------------- */

/* Synced, or, of a directory, @logged: what is synced later syncs it, too. */
struct quarry_write_options txn_durability(const struct quarry *q, bool logged);
/* The hidden state of a row. *@row is owned, and what *@out borrows from. */
MUST_CHECK int txn_read_state(struct quarry_table *table,
                              struct slice row,
                              int64_t start,
                              struct quarry_row **owner,
                              struct txn_state *out,
                              struct err *err);
/* On condition that the row is locked by @start (with @min_commit, unless 0),
 * apply @m, which is freed. *@held: it was. */
MUST_CHECK int txn_change_held(struct quarry *q,
                               struct quarry_table *table,
                               int64_t start,
                               int64_t min_commit,
                               struct quarry_mutation *m,
                               bool logged,
                               bool *held,
                               struct err *err);
/* Commit a row that is locked with @lock at @commit; @status: it is the primary
 * of others. *@held: it was locked still. */
MUST_CHECK int txn_commit_row(struct quarry *q,
                              struct quarry_table *table,
                              struct slice row,
                              const struct txn_lock *lock,
                              int64_t min_commit,
                              int64_t commit,
                              bool status,
                              bool logged,
                              bool *held,
                              struct err *err);
/* Remove the lock of @start from a row, whose writes are given up. */
MUST_CHECK int txn_rollback_row(struct quarry *q,
                                struct quarry_table *table,
                                struct slice row,
                                int64_t start,
                                int64_t min_commit,
                                bool *held,
                                struct err *err);

/* --- locks of others: txn_resolve.c -------------------------------------- */

enum txn_fate {
    TXN_GONE,  /* The lock is not there any more: look again. */
    TXN_LATER, /* It will not commit at the snapshot or before. */
    TXN_ALIVE, /* Its client holds it (of a writer alone). */
};

/* Look after the lock of another on @row of @table. A reader, of the snapshot
 * @at, never gets TXN_ALIVE; a writer has @at 0, and never gets TXN_LATER. */
MUST_CHECK int txn_resolve(struct quarry *q,
                           struct quarry_table *table,
                           struct slice row,
                           const struct txn_lock *lock,
                           int64_t at,
                           enum txn_fate *fate,
                           struct err *err);

/* Finish the row, if the transaction of its lock is committed: its primary says
 * so. A transaction that is not is left as it is. ERR_NOTFOUND: the table of
 * the primary was dropped. */
MUST_CHECK int txn_finish_committed(struct quarry *q,
                                    struct quarry_table *table,
                                    struct slice row,
                                    const struct txn_lock *lock,
                                    struct err *err);

/* --- reading: txn_view.c ------------------------------------------------- */

/* The cells of a row that a transaction sees: @found (NULL: nothing) was read
 * by txn_filter_snapshot(t->start). *@locked: by *@lock, which may have to be
 * resolved first; otherwise *@out has them, its own writes included:
 * owned, NULL for nothing. With @past (a lock that commits later), locks are
 * not looked at. ERR_CORRUPT, ERR_TOO_OLD. */
MUST_CHECK int txn_view_row(struct quarry_txn *t,
                            struct quarry_table *table,
                            struct slice row,
                            const struct quarry_row *found,
                            bool past,
                            struct txn_lock *lock,
                            bool *locked,
                            struct quarry_row **out,
                            struct err *err);
/* Read, resolve and view one row; with @family that column alone. */
MUST_CHECK int txn_read_one(struct quarry_txn *t,
                            struct quarry_table *table,
                            struct slice row,
                            const char *family,
                            struct slice qualifier,
                            struct quarry_row **out,
                            struct err *err);

/* --- committing ---------------------------------------------------------- */

/* Lock all rows that it writes, the first one first: the primary. */
MUST_CHECK int txn_prewrite(struct quarry_txn *t,
                            struct txn_row **written,
                            size_t count,
                            struct err *err);
/* The lock of @row, of which @written[0] is the primary; slices are borrowed.
 */
struct txn_lock txn_lock_of(const struct quarry_txn *t,
                            const struct txn_row *primary,
                            const struct txn_row *row);
/* Remove its locks, the primary's first. */
void txn_release(struct quarry_txn *t, struct txn_row **written, size_t count);
/* Is all that it read the same at @commit as at its start? ERR_CONFLICT. */
MUST_CHECK int
txn_validate(struct quarry_txn *t, int64_t commit, struct err *err);

/* "row 'ann' of accounts", for messages. */
void txn_say_row(struct buf *out,
                 const struct quarry_table *t,
                 struct slice row);

#endif /* BIGTABLE_TXN_TXN_H */
