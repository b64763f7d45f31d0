/* Followers: named work that follows the changes of a table for as long as its
 * record exists. A replication stream, an observer, an asynchronous index and a
 * view are kinds of followers.
 *
 * A record is the row "KIND/NAME" of the system table FOLLOWERS_TABLE, which is
 * made when the first one is. A follower runs in one process at a time, without
 * a lock: who takes it raises the record's epoch in a transaction, and then
 * writes a heartbeat every second. Another host takes it over when it has seen
 * the heartbeat unchanged for FOLLOWER_SILENT_US of its own clock.
 *
 * The state of a follower (its token, its cells) is written in transactions
 * that read the epoch: a runner that lost it gets ERR_CLOSED, writes nothing,
 * and stops. Effects of a follower elsewhere are idempotent, or in the
 * transaction of follower_save_in_txn(): then it is there exactly once.
 *
 *     static int run(struct follower_run *r, struct err *err)
 *     {
 *         …
 *         rc = follower_changes_open(r, table, NULL, &changes, err);
 *         while (rc == 0 && !follower_stopped(r)) {
 *             rc = follower_next(r, changes, &list, &count, err);
 *             … make something of them …
 *             if (rc == 0 && count)
 *                 rc = follower_save(r, changes, err);
 *         }
 *         quarry_changes_close(changes);
 *     }
 *     const struct follower_kind index_kind = {.name = "index", .run = run};
 *
 * Threads: any, unless a function says otherwise. Everything that reaches the
 * store parks a fiber or blocks a thread, and fails as quarry.h says.
 */
#ifndef BIGTABLE_FOLLOW_FOLLOW_H
#define BIGTABLE_FOLLOW_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_txn.h"

struct follower_host;
struct follower_run;
struct metric_set;

#define FOLLOWERS_TABLE ".followers"

#define FOLLOWER_NAME_BYTES_MAX     64
#define FOLLOWER_SETTINGS_BYTES_MAX ((size_t)64 << 10)
#define FOLLOWERS_MAX               1000
#define FOLLOWER_SILENT_US          ((uint64_t)5000000)

/* --- records ------------------------------------------------------------- */

struct follower_record {
    const char *kind;      /* "replication", "observer", "index", "view". */
    const char *name;      /* [a-z0-9_.-]{1,64} */
    const char *table;     /* It follows the changes of; "": its kind knows. */
    struct slice settings; /* The kind's own, JSON. */
    const char *principal; /* On whose behalf it acts: its creator. Output: what
                              create is given here is not looked at. */
    bool paused;
    uint64_t epoch; /* Output only. */
};

/* A cell of its state: follower_state_put(). */
struct follower_state {
    struct slice key;
    struct slice value;
};

struct follower_info {
    struct follower_record record;
    const char *runner; /* The host that has or had it; "": none yet. */
    bool running;       /* Its heartbeat is young. */
    int64_t beat_us;    /* Wall clock of the last heartbeat; 0: none. */
    uint64_t lag_us;    /* As it was reported; UINT64_MAX: not yet. */
    int64_t caught_us;  /* Changes up to this time are dealt with; 0: unknown */
    uint64_t changes;   /* Dealt with since the record was made, about. */
    uint64_t bytes;     /* Of them. */
    uint64_t failures;  /* Runs that ended with an error. */
    const char *error;  /* Of the last of them; "": none. */
    int64_t error_us;   /* When. */
    const struct follower_state *states; /* follower_get() alone. */
    size_t state_count;
    void *owner; /* Of all the above: follower_infos_free(). */
};

/* Make a follower: it follows what is written from now on. Copied. Errors:
 * ERR_EXISTS, ERR_INVALID, ERR_TOOBIG; ERR_NOTFOUND, ERR_UNSUPPORTED: the table
 * is not there, or keeps no changes; ERR_DENIED. */
MUST_CHECK int follower_create(struct quarry *q,
                               const struct follower_record *r,
                               struct err *err);
/* Errors of these: ERR_NOTFOUND. A runner notices within about a second. */
MUST_CHECK int follower_drop(struct quarry *q,
                             const char *kind,
                             const char *name,
                             struct err *err);
/* Stop it until it is resumed, when it continues where it stopped. */
MUST_CHECK int follower_pause(struct quarry *q,
                              const char *kind,
                              const char *name,
                              bool paused,
                              struct err *err);
/* Its run ends and begins again with the new settings. */
MUST_CHECK int follower_update(struct quarry *q,
                               const char *kind,
                               const char *name,
                               struct slice settings,
                               struct err *err);
/* *@out is owned: follower_infos_free(*out, 1). ERR_NOTFOUND. */
MUST_CHECK int follower_get(struct quarry *q,
                            const char *kind,
                            const char *name,
                            struct follower_info **out,
                            struct err *err);
/* All of @kind, or of all kinds (NULL), by kind and name. *@out is owned. */
MUST_CHECK int follower_list(struct quarry *q,
                             const char *kind,
                             struct follower_info **out,
                             size_t *count,
                             struct err *err);
/* NULL is allowed. */
void follower_infos_free(struct follower_info *list, size_t count);

/* --- what a kind implements ---------------------------------------------- */

struct follower_kind {
    const char *name;
    /* Follow, until follower_stopped(). Then 0, or ERR_CLOSED, which any call
     * with @run may return when it was lost. Any other error, and a 0 that
     * comes earlier, is noted and tried again: after 1 s, 2 s, … 60 s. */
    int (*run)(struct follower_run *run, struct err *err);
    /* Can this process run @r, or is it another's? NULL: any. Does not park. */
    bool (*takes)(const struct follower_record *r);
};

/* --- what run() is given ------------------------------------------------- */
/* One thread at a time for each run, but for follower_stopped(). */

/* The store, on behalf of the record's principal. Borrowed. */
struct quarry *follower_quarry(struct follower_run *run);
/* The kind that runs it, one of the host's: for kinds that are a part of
 * something larger. Borrowed. */
const struct follower_kind *follower_kind_of(const struct follower_run *run);
/* As it was when the run began. Borrowed. */
const struct follower_record *follower_record(const struct follower_run *run);
/* Shall it end: paused, dropped, changed, lost, or the process ends? */
bool follower_stopped(const struct follower_run *run);
/* The same for calls that take a flag: struct quarry_txn_options.cancel. */
const quarry_flag *follower_stop_flag(const struct follower_run *run);

/* Changes of @table behind the saved token. If none was saved yet: as @options
 * (NULL allowed) say, if these have a token or a time; else from the moment at
 * which the follower was made. *@out is owned: quarry_changes_close(). */
MUST_CHECK int
follower_changes_open(struct follower_run *run,
                      struct quarry_table *table,
                      const struct quarry_changes_options *options,
                      struct quarry_changes **out,
                      struct err *err);
/* quarry_changes_next(), waiting for a short while; it reports progress, and
 * saves a token that has not moved for a minute. PRE: all that it returned
 * before is dealt with and saved. */
MUST_CHECK int follower_next(struct follower_run *run,
                             struct quarry_changes *c,
                             const struct quarry_change **list,
                             size_t *count,
                             struct err *err);
/* All that @c has returned is dealt with: later runs begin behind it.
 * ERR_CLOSED: the run was lost. */
MUST_CHECK int follower_save(struct follower_run *run,
                             struct quarry_changes *c,
                             struct err *err);
/* The same up to @token, a place of the changes. For those that read ahead of
 * what they have dealt with; they report by follower_report(). */
MUST_CHECK int follower_save_token(struct follower_run *run,
                                   struct slice token,
                                   struct err *err);
/* As follower_save(), as a part of @txn, a transaction of follower_quarry(run),
 * just before its commit: all of it happens once. After ERR_CONFLICT of the
 * commit, all of it is done again. */
MUST_CHECK int follower_save_in_txn(struct follower_run *run,
                                    struct quarry_txn *txn,
                                    struct quarry_changes *c,
                                    struct err *err);
/* A cell that the follower keeps beside its token, cleared and appended to
 * @value;
 * *@found: there is one. */
MUST_CHECK int follower_state_get(struct follower_run *run,
                                  const char *key,
                                  struct buf *value,
                                  bool *found,
                                  struct err *err);
/* An empty value removes it. ERR_CLOSED: the run was lost. */
MUST_CHECK int follower_state_put(struct follower_run *run,
                                  const char *key,
                                  struct slice value,
                                  struct err *err);
/* As a part of @txn, as follower_save_in_txn(). */
MUST_CHECK int follower_state_put_in_txn(struct follower_run *run,
                                         struct quarry_txn *txn,
                                         const char *key,
                                         struct slice value,
                                         struct err *err);
/* Progress, for those whose changes are not of follower_next(): how far behind
 * it is now (UINT64_MAX: unknown), and changes and bytes since the report
 * before. */
void follower_report(struct follower_run *run,
                     uint64_t lag_us,
                     uint64_t changes,
                     uint64_t bytes);

/* --- what hosts them ----------------------------------------------------- */

#define FOLLOWER_RUNS_MAX 64

struct follower_host_options {
    const char *name; /* Of this host, for people; NULL: "host". */
    const char *only; /* "KIND/NAME": none but this one; NULL: all. */
};

/* Run followers of @kinds (borrowed, as what it points to) of the store @q,
 * which outlives the host: each in a task of its own, at most
 * FOLLOWER_RUNS_MAX. Any number of hosts may work on a store. @options may be
 * NULL, and is copied. *@out is owned. */
MUST_CHECK int follower_host_open(struct quarry *q,
                                  const struct follower_kind *const *kinds,
                                  size_t kind_count,
                                  const struct follower_host_options *options,
                                  struct follower_host **out,
                                  struct err *err);
/* Stop all runs, wait for them, and release them to others. NULL is allowed. */
void follower_host_close(struct follower_host *h);
/* Those that run here now. */
size_t follower_host_running(struct follower_host *h);
/* Add the metrics of those that run here. Does not park. */
void follower_host_gather(struct follower_host *h, struct metric_set *out);

#endif /* BIGTABLE_FOLLOW_FOLLOW_H */
