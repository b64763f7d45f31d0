/* A term: what a master has from the moment it holds the lock until it loses
 * it, dies or is stopped. Private to the master.
 *
 * Each thing that goes on beside others (watching a server, placing a tablet,
 * recovering a log) is a fiber of the term, started by master_term_spawn();
 * they look at `ending` whenever they waited, and the term ends when all have.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_MASTER_MASTER_TERM_H
#define BIGTABLE_MASTER_MASTER_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/runtime/sync.h"
#include "bigtable/master/cluster_view.h"
#include "bigtable/master/events.h"
#include "bigtable/master/garbage.h"
#include "bigtable/master/master.h"
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
    bool known; /* All of METADATA was read: users' tablets may be assigned. */
    bool ready; /* What was half done is finished: calls are taken. */
    const char *awaits; /* Until then: for what, to tell who asks. */
    bool ending;
    bool servers_changed;
    bool listed; /* The files of servers, once. */
    bool rereading;
    bool more_to_move; /* The last round of balancing was cut short. */
    unsigned moving;   /* Tablets on their way. */
    uint64_t balanced_ns;
    uint64_t reread_ns;
    uint64_t merged_ns;
    uint64_t swept_ns;
    struct mutex mutex; /* For `changed` alone: one loop has no races. */
    struct cond changed;
    struct task_entry *tasks;   /* Fibers that run. */
    unsigned calls;             /* Of others, being handled. */
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
};

typedef void (*master_term_fn)(struct master_term *r, void *arg);

/* Run fn(r, arg) beside. */
void master_term_spawn(struct master_term *r,
                       const char *name,
                       master_term_fn fn,
                       void *arg);
/* Wait for a change, for at most @us. Parks. false: the term ends. */
MUST_CHECK bool master_term_wait(struct master_term *r, uint64_t us);
/* Something changed that others wait for. */
void master_term_changed(struct master_term *r);
/* End it: whatever goes on should stop. */
void master_term_end(struct master_term *r,
                     const char *why,
                     const struct err *err);
bool master_term_is_current(const struct master_term *r);
uint64_t master_term_now_ns(const struct master_term *r);
/* ERR_CANCELLED: the term ends. */
int master_term_over(struct err *err);

/* --- discovery (discovery.c) --------------------------------------------- */

/* The last two of the four steps, when servers are being watched: returns when
 * every row of METADATA was read. Tablets are placed beside it. Parks. */
MUST_CHECK int master_term_discover(struct master_term *r, struct err *err);
/* Read METADATA's rows in [@start, @end) into the view; @fn, unless NULL, is
 * told of each. Parks. */
MUST_CHECK int master_term_read(struct master_term *r,
                                struct slice start,
                                struct slice end,
                                metadata_row_fn fn,
                                void *ctx,
                                struct err *err);
/* Read the rows between the bounds that @t has in the view. Parks. */
void master_term_reread_tablet(struct master_term *r, uint64_t tablet);

/* --- the root tablet and METADATA (rows.c) ------------------------------- */

/* Read the root tablet's record into the view, telling @fn (NULL: nobody) of
 * it as of a row; make it if there is none. */
MUST_CHECK int root_read(struct master_term *r,
                         metadata_row_fn fn,
                         void *ctx,
                         struct err *err);
/* Change the row of @t, or the root's record, if t:location is as it was read;
 * @t has the new location then. *@done: it was. PRE: @t is busy. Parks. */
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
/* The same with a state. */
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

/* --- servers (servers.c) ------------------------------------------------- */

/* Read the directory, and watch every server that is new. Parks. */
MUST_CHECK int servers_refresh(struct master_term *r, struct err *err);
/* Every live server has been asked for its tablets. */
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
/* The same without rows; what it answers is appended to @reply. Parks. */
MUST_CHECK int server_order_reply(struct master_term *r,
                                  struct known_server *s,
                                  uint32_t method,
                                  const struct known_tablet *t,
                                  struct buf *reply,
                                  struct err *err);
/* TABLET_LOAD, with who has the logs of @t sorted. Parks. */
MUST_CHECK int server_order_load(struct master_term *r,
                                 struct known_server *s,
                                 const struct known_tablet *t,
                                 struct err *err);
/* TABLET_UNLOAD, and for how long its server has taken no writes when it
 * answers. Parks. */
MUST_CHECK int server_order_unload(struct master_term *r,
                                   struct known_server *s,
                                   const struct known_tablet *t,
                                   uint64_t *closed_us,
                                   struct err *err);
/* It said that it is no more: look after its lock at once. */
void server_suspect(struct master_term *r, struct known_server *s);
void servers_close(struct master_term *r);

/* --- placing (place.c, move.c) ------------------------------------------- */

/* Give orders for all that is unassigned, or ordered and not confirmed. */
void place_all(struct master_term *r);
/* Take @t from its server and give it to @to (0: nobody). PRE: @t is served,
 * and the caller made it busy; it is so no more at the end. *@unserved_us (may
 * be NULL): for how long its rows were not written or read. Parks. Errors:
 * those of the orders. */
MUST_CHECK int move_tablet(struct master_term *r,
                           struct known_tablet *t,
                           uint64_t to,
                           uint64_t *unserved_us,
                           struct err *err);
/* Take @t, busy, from its server; its row names nobody then. Parks. */
MUST_CHECK int
take_back(struct master_term *r, struct known_tablet *t, struct err *err);
/* Give @t, busy and unassigned, to the server @to. Parks. */
MUST_CHECK int place_tablet(struct master_term *r,
                            struct known_tablet *t,
                            uint64_t to,
                            struct err *err);

/* --- logs of dead servers (recover.c) ------------------------------------ */

/* Is the log of the dead server @number sorted, and whoever has parts of it in
 * memory alive? Sees to it if not. */
bool recover_is_sorted(struct master_term *r, uint64_t number);
/* Append who has the segments of the logs of @t (wire/log_calls.h). */
void recover_put_holders(struct master_term *r,
                         const struct known_tablet *t,
                         struct buf *out);
uint64_t recover_count(const struct master_term *r); /* Being sorted. */
void recover_close(struct master_term *r);

/* --- housekeeping (care.c, merge.c, sweep.c) ----------------------------- */

/* What is due of balancing, merging, reading METADATA again, sweeping: starts
 * it. */
void master_housekeep(struct master_term *r);
void merge_some(struct master_term *r);
/* Finish merges that an earlier master began. Parks. */
MUST_CHECK int merge_heal(struct master_term *r, struct err *err);
/* Remove files and logs that nobody needs. Parks. */
void sweep(struct master_term *r);
/* Around a reading of METADATA, each row of which goes to sweep_mark(). */
void sweep_begin(struct master_term *r);
void sweep_end(struct master_term *r, bool whole);
/* Mark what @row names. */
MUST_CHECK int sweep_mark(struct master_term *r,
                          const struct metadata_row *row,
                          struct err *err);

/* --- tables (tables.c) --------------------------------------------------- */

/* Finish what an earlier master began: tables without tablets get one, those
 * being dropped are dropped. Parks. */
MUST_CHECK int tables_finish(struct master_term *r, struct err *err);
/* As @creator's, see policies_made(). Parks. */
MUST_CHECK int tables_create(struct master_term *r,
                             const struct table_order *o,
                             struct slice creator,
                             struct err *err);
/* The number of the table @name. Parks. */
MUST_CHECK int tables_find(struct master_term *r,
                           struct slice name,
                           uint64_t *table,
                           struct err *err);
/* Its number and schema, which is appended. Parks. */
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
/* All of its rows are there: it is a table. Parks. */
MUST_CHECK int tables_make_known(struct master_term *r,
                                 struct slice name,
                                 uint64_t table,
                                 struct err *err);
/* Remove what was begun, in a fiber beside. */
void tables_clear_away(struct master_term *r,
                       struct slice name,
                       uint64_t table);
MUST_CHECK int
tables_drop(struct master_term *r, struct slice name, struct err *err);
/* Finish a drop beside other work, if the record at @path has the mark: of a
 * table that was dropped, that an earlier master began to drop, or that could
 * not be made of a snapshot. */
void tables_drop_later(struct master_term *r, const char *path, uint64_t table);
/* Errors: ERR_DENIED: the cluster's own; those of a bad name. */
MUST_CHECK int tables_check_name(struct slice name, struct err *err);
/* The first tablet of @table that is not busy, NULL if there is none; *@more:
 * it has tablets. */
struct known_tablet *
tables_any_tablet(struct master_term *r, uint64_t table, bool *more);
MUST_CHECK int tables_alter(struct master_term *r,
                            const struct table_order *o,
                            struct err *err);
/* Give @method to the servers of all tablets of the table @o names that have
 * rows of [o->row, o->row_end), and wait until all have obeyed. Parks. */
MUST_CHECK int tables_order(struct master_term *r,
                            uint32_t method,
                            const struct table_order *o,
                            struct err *err);
uint64_t tables_count(struct master_term *r);

/* --- calls (service.c) --------------------------------------------------- */

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
