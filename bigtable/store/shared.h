/* A store in a tablet server: over a file system, with a log and a registry
 * that come from outside, and tablets that come and go. Each tablet is a part
 * of its own (table_part.h), with a copy of the table's schema.
 *
 * SSTables are named by numbers that no other server gives; they are removed
 * by nobody here, because others may share them.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_SHARED_H
#define BIGTABLE_STORE_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/store/store.h"

struct table_part;
struct tablet;

/* The parts that the store is given. Borrowed unless it says otherwise. */
struct store_sharing {
    struct fs *fs;
    struct registry *registry; /* Moved in. */
    struct write_log *log;     /* Moved in. */
    uint64_t first_id;         /* Ids of files and tablets from here on. */
    uint64_t log_bytes_max;    /* Above it, memtables that keep the log long are
                                  flushed. */
    /* @old was split into @halves, which are served already; @old is about to
     * be dropped. Must not wait. */
    void (*replaced)(void *ctx,
                     struct table_part *old,
                     struct table_part *const *halves,
                     size_t count);
    void *ctx;
};

/* @sharing is copied. On error what was to be moved in stays the caller's. */
MUST_CHECK int store_open_shared(struct world *world,
                                 const struct store_options *opts,
                                 const struct store_sharing *sharing,
                                 struct store **out,
                                 struct err *err);

/* Serve @t, which has a view: background work begins. Referenced. */
void store_add_table(struct store *s, struct table_part *t);
/* Release the reference. The part itself stays as it is. */
void store_remove_table(struct store *s, struct table_part *t);

/* First minor compaction of @t's tablet, beside writers. Parks. */
MUST_CHECK int
store_flush_table(struct store *s, struct table_part *t, struct err *err);
/* The next three: PRE: the table's change_lock is held. */

/* Give @t up, whose one tablet is another server's now, or nobody's: writers
 * and new readers are told that the table is gone. If anything of it is only in
 * memory, its next server reads it in the log, which is kept
 * whole from then on. Parks. */
void store_give_up(struct store *s, struct table_part *t);

/* Close @t to writers and flush the rest; on error it is open again. Parks. */
MUST_CHECK int
store_close_table(struct store *s, struct table_part *t, struct err *err);
/* Open it again. Parks. */
void store_reopen_table(struct store *s, struct table_part *t);

#endif /* BIGTABLE_STORE_SHARED_H */
