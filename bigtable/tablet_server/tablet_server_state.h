/* The parts that the files of the tablet server share. Private to
 * bigtable/tablet_server.
 *
 * Handlers run on fibers of the server's loop. Work that computes or reads for
 * long runs on threads: reads in a pool of their own (reader_pool), which never
 * waits for another tablet; orders of the master (loads, unloads, splits) on a
 * thread each, because they may wait for METADATA, which may be served here. */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_SERVER_STATE_H
#define BIGTABLE_TABLET_SERVER_TABLET_SERVER_STATE_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/metrics/metrics.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet_server/loop_task.h"
#include "bigtable/tablet_server/tablet_registry.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/tablet_server/tablet_server_session.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/methods.h"

struct channel_set;
struct heat_log;
struct fiber;
struct loop;
struct program_cache;
struct reader_pool;
struct rpc_call;
struct rule_book;
struct schema;
struct segment_cache;
struct store;
struct table_part;
struct table_rules;
struct table_part_view;
struct write_log;

/* --- meters (tablet_metrics.c) ------------------------------------------- */

/* Meters of a table, which all its tablets here share. Borrowed from the
 * registry; NULLs without one. */
struct table_meters {
    struct metric_histogram *read_seconds;
    struct metric_histogram *scan_seconds;
    struct metric_histogram *write_seconds;
    struct metric_counter *read_rows;
    struct metric_counter *written_rows;
    struct metric_counter *row_bytes;
};

/* Those of the table @name. */
struct table_meters table_meters_find(struct metrics *m, const char *name);
/* A program has burnt @fuel: as a filter of a scan, or to fill tables. */
/* Bytes of its log beyond which it flushes. */
uint64_t server_log_bytes_max(const struct tablet_server *s);
void server_count_fuel(struct tablet_server *s, bool as_filter, uint64_t fuel);

/* --- served tablets (served.c) ------------------------------------------- */

/* A tablet here, from the order to load it until it has left.
 *
 * Invariants, kept by served.c
 *     INV-1. The phase changes along the diagram of enum tablet_phase in
 *            docs/protocols.md, by tablet_move() and tablet_begin_unload().
 *     INV-2. `table` is set once, before the phase leaves TABLET_LOADING.
 *     INV-3. Id and epoch never change: a tablet that comes again is another
 *            struct served.
 *     INV-4. The set holds one reference, and each user one more. */
struct served {
    uint64_t id; /* First: its key in the map. */
    atomic_uint references;
    _Atomic enum tablet_phase phase;
    atomic_bool reads_stopped; /* It is about to be another server's. */
    uint64_t epoch;
    uint64_t table_id;
    bool is_root;
    struct table_part *table;  /* Referenced; NULL until it is loaded. */
    struct table_rules *rules; /* Of its table; NULL: not looked up yet. Of the
                                  loop alone. */
    atomic_ullong reads;       /* Rows. */
    atomic_ullong writes;
    atomic_ullong cpu_us;
    bool recovered;             /* Its rows came from a log. */
    uint64_t loaded_at_us;      /* Since the epoch; set as `table`. */
    struct table_meters meters; /* Set before it is served, as `table`. */
};

/* Threads: any; the lock guards the maps, and the setting of `table`. */
struct served_set {
    struct mutex lock;
    struct cond changed;
    struct hash_map map; /* By id: struct served, referenced. */
    /* By id: the last epoch in which a tablet left, or was withdrawn before it
     * was loaded; it grows. The tablet is not loaded again in that epoch. */
    struct hash_map left;
};

/* An empty set. */
void served_set_init(struct served_set *s);
/* Releases the tablets in it. PRE: nobody uses the set. */
void served_set_close(struct served_set *s);
/* The tablet @id, referenced; NULL: it is not here. Any thread. */
struct served *served_find(struct served_set *s, uint64_t id);
/* Drop a reference; NULL is allowed. Any thread. */
void served_unref(struct served *t);
/* Add the tablet @id, which is being loaded. Returns it referenced; NULL: it is
 * in the set, or has left in @epoch. */
struct served *served_add(struct served_set *s, uint64_t id, uint64_t epoch);
/* Remove @t, which could not be loaded, or was split. */
void served_remove(struct served_set *s, struct served *t);
/* Remove @t, which has left: it is not loaded again in its epoch. */
void served_leave(struct served_set *s, struct served *t);
/* Make sure that the tablet @id is not here in @epoch, and will not be loaded
 * in it. False: it is here. */
bool served_refuse(struct served_set *s, uint64_t id, uint64_t epoch);
/* Has it left in @epoch or later? */
bool served_has_left(struct served_set *s, uint64_t id, uint64_t epoch);
/* Serve @t as @table, of which it takes a reference, from @now_us on. PRE: it
 * is being loaded. */
void served_start(struct served_set *s,
                  struct served *t,
                  struct table_part *table,
                  uint64_t now_us);
/* Change the phase of @t. PRE: its diagram has the move. */
void tablet_move(struct served *t, enum tablet_phase to);
/* From TABLET_SERVING to TABLET_UNLOADING, which one order gets to do. False:
 * *@now is the phase instead. */
bool tablet_begin_unload(struct served *t, enum tablet_phase *now);
/* All, referenced, in order of their ids. Owned. */
struct served **served_list(struct served_set *s, size_t *count);

/* --- the server ---------------------------------------------------------- */

/* The server.
 *
 * Invariants, kept by tablet_server.c unless said otherwise
 *     INV-1. `ready` is set once, after session, log, store and registry are
 *            there and `number` is final.
 *     INV-2. `over` is set once; nothing is answered or written after it.
 *     INV-3. At most LOADS_MAX loads of users' tablets run (load.c).
 *     INV-4. `request_bytes` is the sum of the requests admitted and not
 *            released (serving.c).
 */
struct tablet_server {
    struct world *world;
    struct loop *loop;
    struct loop_tasks loop_tasks;
    struct rpc_server *rpc;
    struct tablet_server_options options;
    char *address;
    struct session *session;
    struct fs *fs;
    struct quarry *quarry;        /* Opened when METADATA is first needed. */
    struct tablet_rows *metadata; /* Its rows, or those given in the options;
                                   * from then. */
    struct mutex client_lock;     /* Held while it is opened. */
    struct tablet_rows *root;
    struct store *store;
    struct heat_log *heat; /* Which rows of its tablets are hot. */
    struct tablet_registry *registry;
    struct write_log *log;
    struct served_set served;
    struct mutex load_lock;
    struct cond load_done;
    unsigned loads;           /* Of users' tablets, in progress. */
    struct hash_map schemas;  /* By table id: struct table_schema. */
    struct mutex schema_lock; /* Held while they are read. */
    struct channel_set *channels;
    struct program_cache *programs;
    struct reader_pool *readers;
    struct rule_book *rules;
    struct segment_cache *segments; /* Of dead servers' logs. */
    struct fiber *starter;
    uint64_t number;
    atomic_bool ready; /* It has joined: INV-1. */
    atomic_bool over;  /* It serves no more: INV-2. */
    bool stopping;
    atomic_bool starter_stop;
    struct mutex failure_lock;
    struct err failure; /* Why it is over. */
    atomic_ullong request_bytes;
    atomic_ullong lost_count;
    struct metric_histogram load_seconds;     /* Of tablets without a log, */
    struct metric_histogram recovery_seconds; /* and with one. */
    size_t work_count; /* Fibers of server_spawn() that still run. */
    struct mutex work_lock;
    struct cond work_done;
};

/* End serving, because of @why; the first reason is kept. Any thread; does not
 * wait. */
void server_fail(struct tablet_server *s, const struct err *why);
/* Run fn(s, arg) on a fiber of the loop, which the server waits for when it is
 * closed. Any thread. */
void server_spawn(struct tablet_server *s,
                  void (*fn)(struct tablet_server *s, uint64_t arg),
                  uint64_t arg);
/* Run fn(arg) on a thread of its own and wait. Parks. */
void server_in_thread(struct tablet_server *s, void (*fn)(void *), void *arg);
/* The rows that have the record of @key. For tablet_registry. */
int server_rows(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err);

/* --- tablets coming and going (load.c, unload.c) ------------------------- */

/* Load the tablet of the order, and serve it. Parks. Errors: ERR_EXISTS: it is
 * served; ERR_ABORTED: it has left, or its record names another server or
 * epoch; ERR_UNAVAILABLE: it is on its way; those of reading its record and
 * files. */
MUST_CHECK int load_tablet(struct tablet_server *s,
                           const struct tablet_order *o,
                           struct err *err);
/* Is the tablet a half of a split here that is being recorded? */
bool is_being_made(struct tablet_server *s, uint64_t tablet);
/* Write what the tablet has in memory to files, record that nobody serves it,
 * and forget it. *@closed_us: how long writers were held off. Parks. Errors:
 * ERR_NOTFOUND: it is not here, and will not be loaded in that epoch;
 * ERR_UNAVAILABLE: it is on its way. */
MUST_CHECK int unload_tablet(struct tablet_server *s,
                             const struct tablet_order *o,
                             uint64_t *closed_us,
                             struct err *err);
/* Give up the tablet @id, whose record names another server. Parks. */
void give_up_tablet(struct tablet_server *s, uint64_t id);
/* The two halves of @old are served in its place. For store_sharing.replaced.
 */
void tablet_was_split(void *ctx,
                      struct table_part *old,
                      struct table_part *const *halves,
                      size_t count);

/* --- schemas (schemas.c) ------------------------------------------------- */

struct table_schema {
    uint64_t id; /* First: its key in the map. */
    uint64_t generation;
    char *name;
    struct schema *schema;
};

/* The schema of table @id as the lock service has it now: a copy, to be closed.
 * Parks. ERR_NOTFOUND. */
MUST_CHECK int schemas_find(struct tablet_server *s,
                            uint64_t id,
                            struct table_schema *out,
                            struct err *err);
/* Frees its name and schema. */
void table_schema_close(struct table_schema *t);
/* Put it in force for @t if that has an older one. Parks. */
MUST_CHECK int schemas_apply(struct tablet_server *s,
                             struct table_part *t,
                             const struct schema *schema,
                             uint64_t generation,
                             struct err *err);
/* Forget all schemas. */
void schemas_close(struct tablet_server *s);

/* --- handlers ------------------------------------------------------------ */

/* May requests be served? ERR_UNAVAILABLE. */
MUST_CHECK int check_ready(const struct tablet_server *s, struct err *err);
/* The tablet @id, with a table, that may be read (and written): referenced.
 * Errors: ERR_NOTFOUND (ERR_DETAIL_ELSEWHERE), ERR_UNAVAILABLE. */
MUST_CHECK int find_tablet(struct tablet_server *s,
                           uint64_t id,
                           struct served **out,
                           struct err *err);
/* Wait until the server certainly holds its lock, so that an answer may be
 * sent. Parks only in doubt. ERR_CLOSED. */
MUST_CHECK int check_answer(struct tablet_server *s, struct err *err);
/* The error that makes a client look up where the tablet is. Returns
 * ERR_NOTFOUND, with ERR_DETAIL_ELSEWHERE. */
int not_here(uint64_t id, struct err *err);
/* The error of a change whose outcome the client has been told before. Returns
 * ERR_ABORTED. */
int change_is_over(struct err *err);
/* Account for a request in memory; ERR_UNAVAILABLE when there is no room. Ends
 * with release_request(). */
MUST_CHECK int
admit_request(struct tablet_server *s, size_t bytes, struct err *err);
/* @bytes: those that were admitted. */
void release_request(struct tablet_server *s, size_t bytes);

/* Add the methods of wire/methods.h to the server's rpc_server; each passes its
 * gate before its handler runs (tablet_methods.c). */
void methods_add(struct tablet_server *s);

/* Is the server of @number meant, and not an earlier incarnation? ERR_CLOSED.
 * PRE: it has joined. */
MUST_CHECK int
check_number(const struct tablet_server *s, uint64_t number, struct err *err);

/* The handlers, on a fiber of the loop, for a call that has passed its gate.
 * They park, and append to call->reply_body and reply_attachment. The line of a
 * method in wire/methods.h names its messages and errors. */
#define METHOD_HANDLER(NAME, number, name, handler, gate)                      \
    MUST_CHECK int handler(struct tablet_server *s, struct rpc_call *call,     \
                           struct err *err);

TABLET_METHODS(METHOD_HANDLER)

#endif /* BIGTABLE_TABLET_SERVER_TABLET_SERVER_STATE_H */
