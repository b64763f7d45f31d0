/* The registry of a tablet server (store/registry.h): the files and bounds of
 * the tablets that are loaded here, in memory and in their records.
 *
 * A tablet is added from its record and is then `loading`: changes stay in
 * memory until it is published, with one write. From then on each change is
 * recorded before it takes effect, on condition that the record still names
 * this server with the same epoch and has not changed since. If an answer is
 * lost, the record is read and the change tried again until its outcome is
 * known. When the condition does not hold the tablet is lost: nothing of it may
 * be served any more.
 *
 * A split is two writes: first the row of the tablet becomes that of its upper
 * half, and holds the record of the lower one; then the lower half gets its own
 * row.
 *
 * Threads: any. Functions that park say so. Changes of one tablet take turns.
 *
 * Invariants, kept by tablet_registry.c
 *     INV-1. An entry has exactly one tablet in its state, the one of its id.
 *     INV-2. An entry that is not loading has its state in its record, as of
 *            the last change; `place` is where.
 *     INV-3. An entry that is gone is in no map and never comes back.
 *     INV-4. There is room for our log in t:state: at most TABLET_LOGS_MAX - 1
 *            logs of others.
 *     INV-5. Both halves of a split are entries before a record names them, so
 *            that an order to load one finds it here. */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_REGISTRY_H
#define BIGTABLE_TABLET_SERVER_TABLET_REGISTRY_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/store/registry.h"
#include "bigtable/tablet_server/tablet_rows.h"

struct manifest_tablet;
struct schema;
struct tablet_registry;
struct world;

struct tablet_registry_options {
    struct world *world;
    uint64_t server; /* Our number. */
    /* The rows that have the record of @key (empty: the root tablet's). Parks.
     */
    int (*rows)(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err);
    /* Called when the record of the tablet names another server. Any thread;
     * must not wait. */
    void (*lost)(void *ctx, uint64_t tablet);
    /* Must nothing be recorded any more? */
    bool (*is_over)(void *ctx);
    void *ctx;
};

/* A registry without tablets. Owned; registry_free() of its base frees it. */
struct tablet_registry *
tablet_registry_new(const struct tablet_registry_options *opts);
/* It as a registry of the store. Borrowed. */
struct registry *tablet_registry_base(struct tablet_registry *r);

/* The contents of the record of a tablet when it was added. Owned by the
 * caller. */
struct tablet_origin {
    uint64_t id;
    uint64_t table;
    uint64_t epoch;
    uint64_t sequence;
    uint64_t *logs; /* Logs to be replayed. Owned. */
    size_t log_count;
};

/* Frees its logs. */
void tablet_origin_close(struct tablet_origin *o);

/* Add the tablet of @row, the record under @key, as loading. @table and @schema
 * are those of its table. Errors: ERR_CORRUPT; ERR_ABORTED: it names another
 * server. */
MUST_CHECK int tablet_registry_add(struct tablet_registry *r,
                                   struct slice key,
                                   const struct tablet_row *row,
                                   const char *table,
                                   const struct schema *schema,
                                   struct tablet_origin *out,
                                   struct err *err);
/* Record that the tablet is served here: entries that are in none of its files
 * may be in our log and, with @is_replayed, in the logs that it came with,
 * whose rows are in memory. Parks. ERR_CANCELLED: it was lost. */
MUST_CHECK int tablet_registry_publish(struct tablet_registry *r,
                                       uint64_t tablet,
                                       bool is_replayed,
                                       struct err *err);
/* Record that everything in the logs that the tablet came with in @epoch is in
 * its files. Parks. ERR_CANCELLED: it is not here any more, or came again. */
MUST_CHECK int tablet_registry_settle(struct tablet_registry *r,
                                      uint64_t tablet,
                                      uint64_t epoch,
                                      struct err *err);
/* Record that nobody serves the tablet and that all of it is in its files, and
 * forget it. Parks. ERR_CANCELLED: it was lost. */
MUST_CHECK int tablet_registry_release(struct tablet_registry *r,
                                       uint64_t tablet,
                                       struct err *err);
/* Forget it. Parks while a change of it runs. */
void tablet_registry_remove(struct tablet_registry *r, uint64_t tablet);

/* Is the tablet here, or a half of a split that is being recorded? Does not
 * wait for changes. */
bool tablet_registry_has(struct tablet_registry *r, uint64_t tablet);

/* If t:split of @row, the record under @key, holds a lower half, make its row
 * unless it is there, and remove t:split. Parks. */
MUST_CHECK int tablet_registry_finish_split(struct tablet_registry *r,
                                            struct slice key,
                                            const struct tablet_row *row,
                                            struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_REGISTRY_H */
