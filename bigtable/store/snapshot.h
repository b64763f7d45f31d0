/* Snapshots of tables of a directory: records (wire/snapshot_record.h) beside
 * the manifest, which hold the SSTables that they name; and tables made of
 * such a record, which share its files.
 *
 *     DIR/snapshots/NAME.snap
 *
 * A record is written whole or not at all, with its files held, before any
 * caller learns of it; its files are released after it is gone. A crash in
 * between leaves files that nobody names: the next open removes them.
 *
 * Threads: any; each function takes the catalog's lock, except
 * snapshots_open(), snapshots_files() and snapshots_close(), beside which
 * nobody uses the store.
 *
 * Invariants
 *     INV-1. All files of a record in the list are held.
 *     INV-2. The list is in order of names, and has none twice.
 */
#ifndef BIGTABLE_STORE_SNAPSHOT_H
#define BIGTABLE_STORE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct store;

/* A record in memory. */
struct held_snapshot {
    char *name;       /* Owned. */
    struct buf bytes; /* The file. */
    uint64_t expires_us;
};

struct held_snapshots {
    struct held_snapshot *list; /* Owned; by name. */
    size_t count;
};

/* Read the records, and hold their files, before tables are opened. A damaged
 * one is an error, or skipped when the store is to be repaired. Parks. */
MUST_CHECK int snapshots_open(struct store *s, struct err *err);
/* Numbers of the files that they hold. Owned. */
uint64_t *snapshots_files(struct store *s, size_t *count);
void snapshots_close(struct store *s);
/* Drop those whose time is over. Parks. */
void snapshots_expire(struct store *s);

/* Snapshot table @table as @name, for @ttl_us (0: for ever). Parks. Errors:
 * ERR_NOTFOUND, ERR_EXISTS, ERR_INVALID. */
MUST_CHECK int store_snapshot(struct store *s,
                              const char *table,
                              const char *name,
                              uint64_t ttl_us,
                              struct err *err);
/* Parks. ERR_NOTFOUND. */
MUST_CHECK int
store_snapshot_drop(struct store *s, const char *name, struct err *err);
/* Make table @table of snapshot @name. Parks. Errors: ERR_NOTFOUND, ERR_EXISTS,
 * ERR_CORRUPT. */
MUST_CHECK int store_snapshot_restore(struct store *s,
                                      const char *name,
                                      const char *table,
                                      struct err *err);
/* Make table @to of what @from is now. Parks. */
MUST_CHECK int store_clone_table(struct store *s,
                                 const char *from,
                                 const char *to,
                                 struct err *err);
/* The record of @name, appended. ERR_NOTFOUND. */
MUST_CHECK int store_snapshot_record(struct store *s,
                                     const char *name,
                                     struct buf *out,
                                     struct err *err);
/* Names, sorted: world_names_free(). */
void store_snapshot_names(struct store *s, char ***names, size_t *count);

#endif /* BIGTABLE_STORE_SNAPSHOT_H */
