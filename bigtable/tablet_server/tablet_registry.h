/* The registry of a tablet server (tablet/registry.h): what the tablets loaded
 * here consist of, in memory, and written down in their records.
 *
 * A tablet is added from its record and then `loading`: changes stay in memory
 * until it is published, with one write. From then on each is written down
 * before it counts, on condition that the record still names this server with
 * the same epoch, and has not changed since. An answer that is lost is found
 * out about by reading; it is tried until it is decided. When the condition
 * does not hold the tablet is lost: nothing may be served of it any more.
 *
 * A split is two writes: first the row of the tablet that is split becomes that
 * of its upper half, and holds the record of the lower one; then the lower one
 * gets its own row.
 *
 * Threads: any. What parks says so. Changes of one tablet take turns.
 */
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
    /* Where the record of @key is (empty: the root tablet's). Parks. */
    int (*rows)(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err);
    /* The tablet is another's. Any thread; must not wait. */
    void (*lost)(void *ctx, uint64_t tablet);
    /* May nothing be written down any more? */
    bool (*is_over)(void *ctx);
    void *ctx;
};

/* Owned; as a registry, and freed as one. */
struct tablet_registry *
tablet_registry_new(const struct tablet_registry_options *opts);
struct registry *tablet_registry_base(struct tablet_registry *r);

/* Where a tablet stood when it was added. Owned by the caller. */
struct tablet_origin {
    uint64_t id;
    uint64_t table;
    uint64_t epoch;
    uint64_t sequence;
    uint64_t *logs; /* Owned. To be replayed. */
    size_t log_count;
};

void tablet_origin_close(struct tablet_origin *o);

/* Add the tablet that @row, the record under @key, describes, loading. @table
 * and @schema are those of its table. Errors: ERR_CORRUPT; ERR_ABORTED: it
 * names another server. */
MUST_CHECK int tablet_registry_add(struct tablet_registry *r,
                                   struct slice key,
                                   const struct tablet_row *row,
                                   const char *table,
                                   const struct schema *schema,
                                   struct tablet_origin *out,
                                   struct err *err);
/* Write down that it is served here. What is in none of its files may be in our
 * log; @is_replayed: also in the logs that it came with, and in memory. Parks.
 * ERR_CANCELLED: it was lost. */
MUST_CHECK int tablet_registry_publish(struct tablet_registry *r,
                                       uint64_t tablet,
                                       bool is_replayed,
                                       struct err *err);
/* Write down that all that the logs had that it came with in @epoch is in its
 * files. Parks. ERR_CANCELLED: it is not here any more, or came again. */
MUST_CHECK int tablet_registry_settle(struct tablet_registry *r,
                                      uint64_t tablet,
                                      uint64_t epoch,
                                      struct err *err);
/* Write down that nobody serves it, and that all is in its files, and forget
 * it. Parks. ERR_CANCELLED: it was lost. */
MUST_CHECK int tablet_registry_release(struct tablet_registry *r,
                                       uint64_t tablet,
                                       struct err *err);
/* Forget it. Parks while a change of it runs. */
void tablet_registry_remove(struct tablet_registry *r, uint64_t tablet);

/* Is it here, or about to come of a split? Does not wait for changes. */
bool tablet_registry_has(struct tablet_registry *r, uint64_t tablet);

/* If t:split of @row, the record under @key, holds a lower half, give it its
 * row, unless it has one, and take t:split away. Parks. */
MUST_CHECK int tablet_registry_finish_split(struct tablet_registry *r,
                                            struct slice key,
                                            const struct tablet_row *row,
                                            struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_REGISTRY_H */
