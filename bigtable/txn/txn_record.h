/* The records of transactions in the hidden families of a row, the conditions
 * on them, and the changes of them.
 *
 *     .txn.lock:l    the lock: empty when the row is free, else
 *         lock = 2:u8 start:be64 min_commit:be64 expiry:be64
 *                table:lslice row:lslice (of the primary)
 *                count:varint ops:lslice (the writes, as row/mutation.h has
 * them) .txn.lock:p<start:be64>   in the primary: commit:be64 of the
 * transaction, until all other rows are committed .txn.commit:c  commit:be64 of
 * the row's last commit .txn.deleted:<family>:<qualifier>  at the time of a
 * deletion: the cells of the column that it removed and older snapshots may
 * need deleted = (timestamp:be64 value:lslice)…, newest first .txn.deleted:: at
 * the time of a deletion that removed more than is kept: snapshots from before
 * have lost some of the row
 *
 * Lock, commit and status have the tablet's time, so that the last one written
 * is the newest; with versions=1 older ones are skipped and collected.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_TXN_TXN_RECORD_H
#define BIGTABLE_TXN_TXN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct quarry_cell;
struct quarry_filter;
struct quarry_mutation;
struct quarry_row;
struct quarry_table;

/* Of HIDDEN_LOCKS: the lock. */
#define TXN_LOCK_QUALIFIER SLICE_LIT("l")

struct txn_lock {
    int64_t start;
    int64_t min_commit; /* Of the primary: the commit is at this or later. */
    int64_t expiry;     /* Of the primary: free for others after this. */
    struct slice table; /* The primary. */
    struct slice row;
    size_t op_count; /* The writes to this row. */
    struct slice ops;
};

void txn_lock_encode(const struct txn_lock *l, struct buf *out);
/* Slices are borrowed from @value, which is not empty. ERR_CORRUPT,
 * ERR_UNSUPPORTED. */
MUST_CHECK int
txn_lock_decode(struct slice value, struct txn_lock *out, struct err *err);

/* The hidden cells of a row, taken apart. Borrowed from the row. */
struct txn_state {
    bool locked;
    struct txn_lock lock; /* If locked. */
    int64_t last_commit;  /* 0: none that matters any more. */
    int64_t committed;    /* Status of the transaction asked for; 0: none. */
};

/* @row (NULL: nothing is there) was read by txn_filter_state(). */
MUST_CHECK int txn_state_read(const struct quarry_row *row,
                              struct txn_state *out,
                              struct err *err);

/* Is @cell a status, and of the transaction that began at which time? */
bool txn_status_start(const struct quarry_cell *cell, int64_t *start);

/* Is a commit at @commit among the last ones of the row, read likewise? */
bool txn_state_has_commit(const struct quarry_row *row, int64_t commit);

/* --- conditions ---------------------------------------------------------- */
/* Filters, owned. */

/* Lock, last commit, and the status of @start (0: of none). */
struct quarry_filter *txn_filter_state(int64_t start);
/* It is locked, or was committed to at @start or later. */
struct quarry_filter *txn_filter_conflict(int64_t start);
/* The lock, of rows that are locked. */
struct quarry_filter *txn_filter_locked(void);
/* The same, and all statuses. */
struct quarry_filter *txn_filter_left(void);
/* It is locked by @start, with @min_commit (0: whichever). */
struct quarry_filter *txn_filter_held(int64_t start, int64_t min_commit);
/* The newest cell of each column at @at or before, the lock, and what was
 * deleted later. With @family that column alone. */
struct quarry_filter *
txn_filter_snapshot(int64_t at, const char *family, struct slice qualifier);

/* --- changes ------------------------------------------------------------- */
/* They add to @m. */

void txn_put_lock(struct quarry_mutation *m, const struct txn_lock *l);
void txn_put_free(struct quarry_mutation *m);
void txn_put_commit(struct quarry_mutation *m, int64_t commit);
void txn_put_status(struct quarry_mutation *m, int64_t start, int64_t commit);
void txn_forget_status(struct quarry_mutation *m, int64_t start);
/* The writes of a lock, at @commit, but those to families that @table has no
 * more. ERR_CORRUPT. */
MUST_CHECK int txn_put_writes(struct quarry_mutation *m,
                              struct quarry_table *table,
                              const struct txn_lock *l,
                              int64_t commit,
                              struct err *err);
/* Do they delete anything? */
bool txn_writes_delete(const struct txn_lock *l);
/* The cells that they delete, of a few columns; NULL: those of the whole row
 * are to be looked through. Owned. */
struct quarry_filter *txn_filter_deleted(const struct txn_lock *l);
/* Most bytes of deleted cells, and columns, that one commit keeps. */
#define TXN_DELETED_BYTES_MAX   ((size_t)32 << 20)
#define TXN_DELETED_COLUMNS_MAX ((size_t)50000)
/* Qualifier of the record that some were not kept. */
#define TXN_DELETED_CUT ":"
/* The cells of @row (NULL: nothing is there; all versions, users' families)
 * that they delete and that snapshots since @oldest may need. */
void txn_put_deleted(struct quarry_mutation *m,
                     const struct txn_lock *l,
                     const struct quarry_row *row,
                     int64_t commit,
                     int64_t oldest);

#endif /* BIGTABLE_TXN_TXN_RECORD_H */
