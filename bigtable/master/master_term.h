/* A term: the state of a master from the moment it holds the lock until it
 * loses it, dies or is stopped. Private to the master.
 *
 * Concurrent work (watching a server, placing a tablet, recovering a log) runs
 * in fibers of the term, started by master_term_spawn(). They check `ending`
 * after each wait, and the term ends when all have returned.
 *
 * Threads: one loop.
 *
 * Invariants
 *     INV-1. A term is freed only after all its fibers and calls have ended, so
 *            that they may keep pointers to it and to its servers. (master.c)
 *     INV-2. `known` and `ready` are set once, in this order: then all of
 *            METADATA was read, and interrupted work was finished.
 *            (discovery.c, master.c)
 *     INV-3. `ending` is set once. Nothing is ordered or recorded after it but
 *            by calls that are conditional on the lock. (master_term.c)
 *     INV-4. `moving` counts the moves in progress. (move.c) */
#ifndef BIGTABLE_MASTER_MASTER_TERM_H
#define BIGTABLE_MASTER_MASTER_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/runtime/sync.h"
#include "bigtable/master/cluster_view.h"
#include "bigtable/master/events.h"
#include "bigtable/master/garbage.h"
#include "bigtable/master/master.h"
#include "bigtable/master/oracle.h"
#include "bigtable/master/pending_outputs.h"
#include "bigtable/master/replication.h"
#include "bigtable/wire/methods.h"
#include "chubby-lite/chubby.h"

struct policy_watch;
struct recovery;
struct rpc_call;
struct task_entry;

struct master_term {
    struct master *master;
    struct world *world;
    const struct master_options *options;
    struct chubby *chubby;
    struct chubby_handle *lock;    /* Of /bigtable/master, held. */
    struct chubby_handle *servers; /* The directory. */
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    uint64_t number;  /* Of this term, from the counters. */
    uint64_t next_id; /* Of tablets it makes. */
    struct quarry *quarry;
    struct metadata_store *store; /* NULL until METADATA is needed. */
    struct cluster_view view;
    struct recovery *recoveries;
    struct hash_map dropping;      /* Numbers of tables. */
    struct policy_watch *policies; /* Tables with quotas; NULL: none yet. */
    struct garbage files;          /* SSTables, by number, */
    struct garbage logs;           /* and logs, by server. */
    struct pending_outputs pending_outputs; /* Of SSTables. */
    struct replication replication;
    struct oracle oracle;
    bool known; /* All of METADATA was read: users' tablets may be assigned.
                 * INV-2. */
    bool ready; /* Interrupted work is finished: calls are taken. INV-2. */
    const char *awaits; /* Until then: the thing it waits for, for messages. */
    bool ending;
    bool servers_changed;
    bool listed; /* The files of servers were listed once. */
    bool rereading;
    bool more_to_move; /* The last round of balancing was cut short. */
    unsigned moving;   /* Moves in progress: INV-4. */
    uint64_t balanced_ns;
    uint64_t reread_ns;
    uint64_t merged_ns;
    uint64_t swept_ns;
    struct mutex mutex; /* For `changed` alone: one loop has no data races. */
    struct cond changed;
    struct task_entry *tasks;   /* Fibers that run. */
    unsigned calls;             /* Calls that are being handled. */
    struct mutex snapshot_lock; /* One change of snapshots at a time, */
    uint64_t snapshot_steps;    /* counted at its begin and its end. */
};

struct master {
    struct world *world;
    struct rpc_server *rpc;
    struct master_options options;
    struct fiber *fiber;
    bool stopping;
    struct master_events events;
    struct master_term *term; /* NULL: it is not master. */
    struct err refusal;       /* Why it cannot be; code 0: it can. */
};

typedef void (*master_term_fn)(struct master_term *r, void *arg);

/* Run fn(r, arg) in a fiber of the term; it is cancelled when the term ends.
 * @arg is borrowed, or freed by @fn. */
void master_term_spawn(struct master_term *r,
                       const char *name,
                       master_term_fn fn,
                       void *arg);
/* Wait for a change, for at most @us. Parks. false: the term ends. */
MUST_CHECK bool master_term_wait(struct master_term *r, uint64_t us);
/* Wake the fibers that wait for a change. */
void master_term_changed(struct master_term *r);
/* End the term: cancel its fibers. @err (NULL: none) is logged with @why. */
void master_term_end(struct master_term *r,
                     const char *why,
                     const struct err *err);
/* Is it neither ending, nor the calling fiber cancelled? */
bool master_term_is_current(const struct master_term *r);
/* The monotonic clock. */
uint64_t master_term_now_ns(const struct master_term *r);
/* The error of work that the end of the term interrupts: ERR_UNAVAILABLE. */
int master_term_over(struct err *err);

/* --- discovery (discovery.c) --------------------------------------------- */

/* The last two of the four steps: returns when every row of METADATA was read.
 * Meanwhile others watch servers and place tablets. Parks. */
MUST_CHECK int master_term_discover(struct master_term *r, struct err *err);
/* Read METADATA's rows in [@start, @end) into the view, and call @fn (may be
 * NULL) for each. Parks. PRE: the store is open. */
MUST_CHECK int master_term_read(struct master_term *r,
                                struct slice start,
                                struct slice end,
                                metadata_row_fn fn,
                                void *ctx,
                                struct err *err);
/* Read the rows between the bounds that @t has in the view. Parks. */
void master_term_reread_tablet(struct master_term *r, uint64_t tablet);

/* --- the root tablet and METADATA (rows.c) ------------------------------- */

/* Read the root tablet's record into the view, and call @fn (may be NULL) for
 * it as for a row; make the record if there is none. Parks. */
MUST_CHECK int root_read(struct master_term *r,
                         metadata_row_fn fn,
                         void *ctx,
                         struct err *err);
/* Write @l into the row of @t, or the root's record, if t:location is as it was
 * read. *@done: it was, and @t has the new location. PRE: @t is busy, and the
 * epoch grows with every new server. Parks. */
MUST_CHECK int master_term_set_location(struct master_term *r,
                                        struct known_tablet *t,
                                        const struct tablet_location *l,
                                        const char *event,
                                        bool *done,
                                        struct err *err);
/* Write the row of a new tablet that nobody serves, if there is none in its
 * place. Parks. */
MUST_CHECK int master_term_make_tablet(struct master_term *r,
                                       uint64_t table,
                                       struct slice start,
                                       struct slice end,
                                       bool *done,
                                       struct err *err);
/* As master_term_make_tablet(), with a state and the text of the event. */
MUST_CHECK int master_term_put_tablet(struct master_term *r,
                                      uint64_t table,
                                      struct slice start,
                                      struct slice end,
                                      const struct tablet_state *state,
                                      const char *event,
                                      bool *done,
                                      struct err *err);
/* Read the row of @t again, into @t; *@found: there is one with its id. PRE: @t
 * is busy. Parks. */
MUST_CHECK int master_term_read_tablet(struct master_term *r,
                                       struct known_tablet *t,
                                       bool *found,
                                       struct err *err);

/* --- servers (server_list.c) --------------------------------------------- */

/* Read the directory, and watch every server that is new. Parks. */
MUST_CHECK int servers_refresh(struct master_term *r, struct err *err);
/* Has every live server reported its tablets? */
bool servers_all_heard(const struct master_term *r);
/* Call @method of @s. Parks. Errors: the call's; ERR_CANCELLED. */
MUST_CHECK int server_call(struct master_term *r,
                           struct known_server *s,
                           uint32_t method,
                           struct slice body,
                           struct buf *reply,
                           uint64_t timeout_us,
                           struct err *err);
/* Give @s an order about @t with its present epoch. Parks. */
MUST_CHECK int server_order(struct master_term *r,
                            struct known_server *s,
                            uint32_t method,
                            const struct known_tablet *t,
                            struct slice row,
                            struct slice row_end,
                            struct err *err);
/* As server_order() without rows; the answer is appended to @reply. Parks. */
MUST_CHECK int server_order_reply(struct master_term *r,
                                  struct known_server *s,
                                  uint32_t method,
                                  const struct known_tablet *t,
                                  struct buf *reply,
                                  struct err *err);
/* Order TABLET_LOAD, with the holders of sorted segments of the logs of @t.
 * Parks. */
MUST_CHECK int server_order_load(struct master_term *r,
                                 struct known_server *s,
                                 const struct known_tablet *t,
                                 struct err *err);
/* Order TABLET_UNLOAD. *@closed_us: how long its server had taken no writes
 * when it answered. Parks. */
MUST_CHECK int server_order_unload(struct master_term *r,
                                   struct known_server *s,
                                   const struct known_tablet *t,
                                   uint64_t *closed_us,
                                   struct err *err);
/* Probe the lock of @s at once: it seems to have ended. */
void server_suspect(struct master_term *r, struct known_server *s);
/* Free the servers' channels. */
void servers_close(struct master_term *r);

/* --- placing (tablet_placement.c, move.c) -------------------------------- */

/* Start placing all tablets that are unassigned, or ordered and not confirmed,
 * as far as their levels and their servers' room allow. */
void place_all(struct master_term *r);
/* Take @t from its server and give it to @to (0: nobody). PRE: @t is served,
 * and the caller holds it; this releases it. *@unserved_us (may be NULL): how
 * long its rows could not be written, or read. Parks. Errors: those of the
 * orders. */
MUST_CHECK int move_tablet(struct master_term *r,
                           struct known_tablet *t,
                           uint64_t to,
                           uint64_t *unserved_us,
                           struct err *err);
/* Take @t, which is busy, from its server; then its row names nobody, or a
 * server that is dead, and was read again. Parks. Errors: those of the order
 * and of METADATA. */
MUST_CHECK int
take_back(struct master_term *r, struct known_tablet *t, struct err *err);
/* Give @t, busy and unassigned, to the server @to. Parks. */
MUST_CHECK int place_tablet(struct master_term *r,
                            struct known_tablet *t,
                            uint64_t to,
                            struct err *err);

/* --- logs of dead servers (recover.c) ------------------------------------ */

/* Is the log of the dead server @number sorted, and are the holders of its
 * segments alive? If not, this starts sorting. */
bool recover_is_sorted(struct master_term *r, uint64_t number);
/* Append the holders of the segments of the logs of @t (wire/log_calls.h). */
void recover_put_holders(struct master_term *r,
                         const struct known_tablet *t,
                         struct buf *out);
/* Logs that are not sorted yet. */
uint64_t recover_count(const struct master_term *r);

/* PRE: the term's fibers have ended. */
void recover_close(struct master_term *r);

/* --- housekeeping (housekeeping.c, tablet_merge.c, sweep.c) -------------- */

/* Start the housekeeping that is due: balancing, merging, reading METADATA
 * again, sweeping. */
void master_housekeep(struct master_term *r);
/* Start merging some pairs of small neighbours. */
void merge_some(struct master_term *r);
/* Finish merges that an earlier master began. Parks. */
MUST_CHECK int merge_heal(struct master_term *r, struct err *err);
/* Remove files, logs and bulk loads that nobody needs. Parks. */
void sweep(struct master_term *r);
/* Called around a reading of METADATA; each row goes to sweep_mark(). @whole:
 * all rows were read, and no snapshot changed meanwhile. */
void sweep_begin(struct master_term *r);
void sweep_end(struct master_term *r, bool whole);
/* Mark the files, logs and servers that @row names. */
MUST_CHECK int sweep_mark(struct master_term *r,
                          const struct metadata_row *row,
                          struct err *err);

/* --- tables (table_list.c) ----------------------------------------------- */

/* Finish what an earlier master began: tables without tablets get one, those
 * being dropped are dropped. Parks. */
MUST_CHECK int tables_finish(struct master_term *r, struct err *err);
/* Create the table of @o for @creator (policies_made()), and wait for a moment
 * until it is served. Parks. ERR_EXISTS, ERR_INVALID, ERR_DENIED. */
MUST_CHECK int tables_create(struct master_term *r,
                             const struct table_order *o,
                             struct slice creator,
                             struct err *err);
/* The number of the table @name. Parks. */
MUST_CHECK int tables_find(struct master_term *r,
                           struct slice name,
                           uint64_t *table,
                           struct err *err);
/* The number of the table @name; its schema is appended. Parks. */
MUST_CHECK int tables_find_schema(struct master_term *r,
                                  struct slice name,
                                  uint64_t *table,
                                  struct buf *schema,
                                  struct err *err);
/* Call @fn with number and schema of each table that is not being dropped; an
 * error ends it. Parks. */
typedef int (*table_seen_fn)(void *ctx,
                             uint64_t table,
                             struct slice schema,
                             struct err *err);
MUST_CHECK int tables_each(struct master_term *r,
                           table_seen_fn fn,
                           void *ctx,
                           struct err *err);
/* Read the rows of its tablets into the view. Parks. */
MUST_CHECK int
tables_read_rows(struct master_term *r, uint64_t table, struct err *err);
/* Begin table @name, which the next master removes unless it is made known: its
 * tablets are not placed yet. @access: see policies_made(). Parks. ERR_EXISTS,
 * ERR_INVALID. */
MUST_CHECK int tables_begin(struct master_term *r,
                            struct slice name,
                            struct slice schema,
                            struct slice creator,
                            const struct slice *access,
                            uint64_t *table,
                            struct err *err);
/* Make the table known: all rows of its tablets are there. Parks. */
MUST_CHECK int tables_make_known(struct master_term *r,
                                 struct slice name,
                                 uint64_t table,
                                 struct err *err);
/* Remove a table that was begun, in a fiber. */
void tables_clear_away(struct master_term *r,
                       struct slice name,
                       uint64_t table);
/* Drop the table @name. Parks. ERR_NOTFOUND, ERR_DENIED. */
MUST_CHECK int
tables_drop(struct master_term *r, struct slice name, struct err *err);
/* Finish a drop in a fiber, if the record at @path is marked: the table was
 * dropped, an earlier master began to drop it, or it could not be made of a
 * snapshot. */
void tables_drop_later(struct master_term *r, const char *path, uint64_t table);
/* May a user's table have this name? Errors: ERR_DENIED: it is the cluster's
 * own; ERR_INVALID. */
MUST_CHECK int tables_check_name(struct slice name, struct err *err);
/* The first tablet of @table that is not busy, NULL if there is none; *@more:
 * it has tablets. */
struct known_tablet *
tables_any_tablet(struct master_term *r, uint64_t table, bool *more);
/* Change the schema of a table, and wait until all live servers have it. Parks.
 */
MUST_CHECK int tables_alter(struct master_term *r,
                            const struct table_order *o,
                            struct err *err);
/* Give @method to the servers of all tablets of the table @o names that have
 * rows of [o->row, o->row_end), and wait until all have obeyed. Parks. */
MUST_CHECK int tables_order(struct master_term *r,
                            uint32_t method,
                            const struct table_order *o,
                            struct err *err);
/* Tables of users that have tablets. */
uint64_t tables_count(struct master_term *r);

/* --- calls (master_service.c) -------------------------------------------- */

/* Add the methods of wire/methods.h to the master's rpc_server. */
void service_add(struct master *m);

/* The handlers, for a call that has passed its gate while the master is ready.
 * They park, and append to call->reply_body. The line of a method in
 * wire/methods.h names its messages. */
#define METHOD_HANDLER(NAME, number, name, handler, gate)                      \
    MUST_CHECK int handler(struct master_term *r, struct rpc_call *call,       \
                           struct err *err);

MASTER_METHODS(METHOD_HANDLER)

#endif /* BIGTABLE_MASTER_MASTER_TERM_H */
