/* A follower as a row of FOLLOWERS_TABLE, and the steps that the files of this
 * room share.
 *
 *     record:table, settings, principal, paused, runner   texts
 *     record:epoch     8 bytes, big-endian
 *     record:start     the token of the moment at which it was made
 *     state:token      the token that was saved last; not there: none was
 *     state:k.KEY      the follower's own cells
 *     beat:beat        the heartbeat: struct follower_beat
 *
 * Invariants
 *     INV-1. `record` and `state` are changed by transactions alone, and each
 *            change by a runner is of one that read the runner's epoch; so a
 *            change by one who lost it conflicts, or finds another epoch.
 *     INV-2. An epoch is above all that any follower of that name ever had: it
 *            begins with a timestamp of the store, and rises.
 *     INV-3. `beat` is written on condition of the epoch, and decides nothing
 *            but when somebody tries to take it.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_FOLLOW_FOLLOWER_ROW_H
#define BIGTABLE_FOLLOW_FOLLOWER_ROW_H

#include "base/core/buf.h"
#include "bigtable/follow/follow.h"

#define FOLLOWER_RECORD "record"
#define FOLLOWER_STATE  "state"
#define FOLLOWER_BEAT   "beat"

#define FOLLOWER_TOKEN     "token"
#define FOLLOWER_OWN_STATE "k."

/* "KIND/NAME" and its NUL. */
#define FOLLOWER_KEY_BYTES (2 * FOLLOWER_NAME_BYTES_MAX + 2)

struct follower_beat {
    uint64_t count; /* Of heartbeats: so that no two are the same. */
    bool released;  /* Nobody runs it: take it at once. */
    int64_t now_us; /* Wall clock of the runner. */
    uint64_t lag_us;
    int64_t caught_us;
    uint64_t changes;
    uint64_t bytes;
    uint64_t failures;
    int64_t error_us;
    struct slice error; /* Borrowed. */
};

void follower_beat_put(struct buf *out, const struct follower_beat *b);
/* False: it is none. */
bool follower_beat_get(struct slice from, struct follower_beat *b);

/* "KIND/NAME". ERR_INVALID: they are no names. */
MUST_CHECK int follower_key(const char *kind,
                            const char *name,
                            char key[FOLLOWER_KEY_BYTES],
                            struct err *err);
/* *@out is owned; NULL: there is no such table, and no follower. */
MUST_CHECK int follower_table_open(struct quarry *q,
                                   struct quarry_table **out,
                                   struct err *err);
/* The same, made if need be. */
MUST_CHECK int follower_table_make(struct quarry *q,
                                   struct quarry_table **out,
                                   struct err *err);

/* A row as it was read. */
struct follower_row {
    struct follower_info info;
    struct follower_beat beat;
    struct slice beat_bytes; /* "": none. */
    struct slice start;
    struct slice token; /* "": none. */
};

/* Takes @row apart; all is of one allocation, info.owner. False: it is not
 * a follower's, but what an old runner left. */
bool follower_row_decode(const struct quarry_row *row,
                         struct follower_row *out);
void follower_row_close(struct follower_row *r);
/* Read all of one; ERR_NOTFOUND. */
MUST_CHECK int follower_row_read(struct quarry_table *t,
                                 const char *key,
                                 struct follower_row *out,
                                 struct err *err);
/* Records and heartbeats of all rows that begin with @prefix. *@out is owned:
 * each is closed, and then the array freed. */
MUST_CHECK int follower_rows_read(struct quarry_table *t,
                                  const char *prefix,
                                  struct follower_row **out,
                                  size_t *count,
                                  struct err *err);

/* Is @epoch the row's in @txn? ERR_CLOSED: it is not, or there is none. */
MUST_CHECK int follower_check_epoch(struct quarry_txn *txn,
                                    struct quarry_table *t,
                                    const char *key,
                                    uint64_t epoch,
                                    struct err *err);
/* Take it from who has it at @epoch; *@taken is the new epoch. ERR_CLOSED:
 * another was faster. */
MUST_CHECK int follower_take(struct quarry *q,
                             struct quarry_table *t,
                             const char *key,
                             uint64_t epoch,
                             const char *runner,
                             uint64_t *taken,
                             struct err *err);
/* Write a heartbeat. ERR_CLOSED: the epoch is another one. */
MUST_CHECK int follower_beat_write(struct quarry_table *t,
                                   const char *key,
                                   uint64_t epoch,
                                   const struct follower_beat *b,
                                   struct err *err);

#endif /* BIGTABLE_FOLLOW_FOLLOWER_ROW_H */
