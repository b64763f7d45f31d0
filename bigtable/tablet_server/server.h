/* What the files of the tablet server share. Private to bigtable/tablet_server.
 *
 * Handlers run on fibers of the server's loop. What computes or reads for long
 * runs on threads: reads in a pool of their own (reader_pool), which never
 * waits for another tablet; what is ordered by the master (loads, unloads,
 * splits) on a thread each, because it may wait for METADATA, which may be
 * served here.
 */
#ifndef BIGTABLE_TABLET_SERVER_SERVER_H
#define BIGTABLE_TABLET_SERVER_SERVER_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet_server/loop_task.h"
#include "bigtable/tablet_server/session.h"
#include "bigtable/tablet_server/tablet_registry.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/methods.h"

struct channel_set;
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

/* --- served tablets (served.c) ------------------------------------------- */

/* A tablet here, from the order to load it until it is gone. */
struct served {
    uint64_t id; /* First: its key in the map. */
    atomic_uint references;
    _Atomic enum tablet_phase phase;
    atomic_bool reads_stopped; /* It is about to be another's. */
    uint64_t epoch;
    uint64_t table_id;
    bool is_root;
    struct table_part *table;  /* Referenced; NULL until it is loaded. */
    struct table_rules *rules; /* Of its table; NULL: not looked for yet. Of the
                                  loop alone. */
    atomic_ullong reads;       /* Rows. */
    atomic_ullong writes;
    atomic_ullong cpu_us;
};

struct served_set {
    struct mutex lock;
    struct cond changed;
    struct hash_map map; /* By id: struct served, referenced. */
    /* By id: the last epoch in which a tablet left, or was taken back before it
     * came. It is not loaded in that one any more. */
    struct hash_map left;
};

void served_set_init(struct served_set *s);
void served_set_close(struct served_set *s);
/* Referenced; NULL when it is not here. Any thread. */
struct served *served_find(struct served_set *s, uint64_t id);
void served_unref(struct served *t); /* NULL is allowed. */
/* A new one that is being loaded, in the set and referenced; NULL when there is
 * one with its id, or it has left in @epoch. */
struct served *served_add(struct served_set *s, uint64_t id, uint64_t epoch);
/* It could not be loaded, or was split. */
void served_remove(struct served_set *s, struct served *t);
/* It was here and is no more: not in its epoch. */
void served_leave(struct served_set *s, struct served *t);
/* It is not here in @epoch, and will not be. False: it is here. */
bool served_refuse(struct served_set *s, uint64_t id, uint64_t epoch);
bool served_has_left(struct served_set *s, uint64_t id, uint64_t epoch);
/* It is served: as @table (referenced by it). */
void served_start(struct served_set *s,
                  struct served *t,
                  struct table_part *table);
/* All, referenced, in order of their ids. Owned. */
struct served **served_list(struct served_set *s, size_t *count);

/* --- the server ---------------------------------------------------------- */

struct tablet_server {
    struct world *world;
    struct loop *loop;
    struct loop_tasks loop_tasks;
    struct rpc_server *rpc;
    struct tablet_server_options options;
    char *address;
    struct session *session;
    struct fs *fs;
    struct quarry *quarry;        /* Opened when METADATA is needed first. */
    struct tablet_rows *metadata; /* Of it, or the one given; from then. */
    struct mutex client_lock;     /* Over its opening. */
    struct tablet_rows *root;
    struct store *store;
    struct tablet_registry *registry;
    struct write_log *log;
    struct served_set served;
    struct mutex load_lock;
    struct cond load_done;
    unsigned loads;           /* Of users' tablets, under way. */
    struct hash_map schemas;  /* By table id: struct table_schema. */
    struct mutex schema_lock; /* Over a reading of them. */
    struct channel_set *channels;
    struct program_cache *programs;
    struct reader_pool *readers;
    struct rule_book *rules;
    struct segment_cache *segments; /* Of dead servers' logs. */
    struct fiber *starter;
    uint64_t number;
    atomic_bool ready; /* It has joined. */
    atomic_bool over;  /* It serves no more. */
    bool stopping;
    atomic_bool starter_stop;
    struct mutex failure_lock;
    struct err failure; /* Why it is over. */
    atomic_ullong request_bytes;
    atomic_ullong lost_count;
    size_t work_count; /* Fibers that this started, still running. */
    struct mutex work_lock;
    struct cond work_done;
};

/* It serves no more, because of @why. Any thread; does not wait. */
void server_fail(struct tablet_server *s, const struct err *why);
/* Run fn(s, arg) on a fiber of the loop, which the server waits for when it is
 * closed. Any thread. */
void server_spawn(struct tablet_server *s,
                  void (*fn)(struct tablet_server *s, uint64_t arg),
                  uint64_t arg);
/* Run fn(arg) on a thread of its own and wait. Parks. */
void server_in_thread(struct tablet_server *s, void (*fn)(void *), void *arg);
/* The rows where the record of @key is. For tablet_registry. */
int server_rows(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err);

/* --- tablets coming and going (load.c, unload.c) ------------------------- */

MUST_CHECK int load_tablet(struct tablet_server *s,
                           const struct tablet_order *o,
                           struct err *err);
/* Does it come of a split here that is being written down? */
bool is_being_made(struct tablet_server *s, uint64_t tablet);
/* *@closed_us: for how long it has taken no writes. */
MUST_CHECK int unload_tablet(struct tablet_server *s,
                             const struct tablet_order *o,
                             uint64_t *closed_us,
                             struct err *err);
/* It is another's: give it up. */
void give_up_tablet(struct tablet_server *s, uint64_t id);
/* For store_sharing. */
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

/* That of table @id as the lock service has it now: a copy, the caller's.
 * Parks. ERR_NOTFOUND. */
MUST_CHECK int schemas_find(struct tablet_server *s,
                            uint64_t id,
                            struct table_schema *out,
                            struct err *err);
void table_schema_close(struct table_schema *t);
/* Put it in force for @t if that has an older one. Parks. */
MUST_CHECK int schemas_apply(struct tablet_server *s,
                             struct table_part *t,
                             const struct schema *schema,
                             uint64_t generation,
                             struct err *err);
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
/* Its answer may go out: the server surely still lives. Parks. */
MUST_CHECK int check_answer(struct tablet_server *s, struct err *err);
/* What the store says of a table that is gone, as clients know it. */
int not_here(uint64_t id, struct err *err);
/* A try of a change whose client has been told what became of it. Returns
 * ERR_ABORTED. */
int change_is_over(struct err *err);
/* Account for a request in memory; ERR_UNAVAILABLE when there is no room. Ends
 * with release_request(). */
MUST_CHECK int
admit_request(struct tablet_server *s, size_t bytes, struct err *err);
void release_request(struct tablet_server *s, size_t bytes);

/* Add the methods of wire/methods.h to the server's rpc_server; each passes its
 * gate before its handler runs (methods.c). */
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

#endif /* BIGTABLE_TABLET_SERVER_SERVER_H */
