/* The state that all tablets of one store share, and the seam between them and
 * the store: reading and writing see tablets and this, and nothing above.
 *
 * The store owns a tablet_env, fills in what it opens, and implements the three
 * operations; each tablet points to it. Below are the sequence numbers that
 * order all entries, the clock of ages, and what a write counts and locks.
 *
 * Threads: any. Fields that are not atomic are set before the first tablet is
 * opened; `log`, before the first write.
 *
 * Invariants
 *     INV-1  visible never decreases, and is at most the last number that the
 *            write queue gave. (write_group.c)
 */
#ifndef BIGTABLE_TABLET_TABLET_ENV_H
#define BIGTABLE_TABLET_TABLET_ENV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet/age_clock.h"
#include "bigtable/tablet/change_bell.h"
#include "bigtable/tablet/row_stamps.h"

struct heat_log;
struct scan_cache;
struct tablet_env;
struct tablet_group;
struct world;
struct write_log;
struct write_queue;

/* Latches of row transactions, by hash of the row; those of system tables are
 * others, because the holder of one of ours may wait for such a table. */
#define ROW_LATCH_COUNT ((size_t)64)

/* Implemented by the store, for its tablets. */
struct tablet_env_ops {
    /* Wait until memtables have room. PRE: the write turn is not held. Parks.
     * Errors: why flushing fails. */
    int (*wait_for_room)(struct tablet_env *env, struct err *err);
    /* A memtable was frozen: there is something to flush. */
    void (*frozen)(struct tablet_env *env);
    /* File @number has one more user, or one less, by whose going it may be
     * removed. The second parks. */
    void (*hold_file)(struct tablet_env *env, uint64_t number);
    void (*drop_file)(struct tablet_env *env, uint64_t number);
    /* Close @g, whose tablet nobody refers to any more, and free it. Parks. */
    void (*close_group)(struct tablet_group *g);
};

struct tablet_env {
    const struct tablet_env_ops *ops;
    struct world *world;           /* Borrowed. */
    const char *dir;               /* Of the store, for messages. Borrowed. */
    bool read_only;                /* No write is let in. */
    struct scan_cache *scan_cache; /* The store's. NULL: off. */
    struct heat_log *heat;     /* Of hot rows. NULL: not counted. Borrowed. */
    struct write_log *log;     /* The store's. NULL: read-only. */
    struct write_queue *queue; /* The store's. */
    struct age_clock ages;
    struct row_stamps stamps;
    atomic_ullong next_life;    /* Of tablets, opened: for the scan cache. */
    atomic_ullong visible;      /* Readers see entries up to this number. */
    atomic_ullong memory_bytes; /* About: in all memtables. */
    struct change_bell bell;    /* Rings when `visible` has risen. */
    atomic_bool deferred;       /* Something is in memory that is in no log. */
    struct mutex row_latches[2][ROW_LATCH_COUNT]; /* [is_system] */
};

/* All zero but for the clock and the latches: the store fills in the rest.
 * @world and @ops are borrowed. */
void tablet_env_init(struct tablet_env *env,
                     struct world *world,
                     const struct tablet_env_ops *ops);
/* PRE: no tablet is open. */
void tablet_env_close(struct tablet_env *env);

/* The time that a read measures ages by: older cells than their rules allow are
 * hidden. */
int64_t tablet_env_age_us(struct tablet_env *env);
/* ERR_DENIED for a store that was opened read-only. */
MUST_CHECK int tablet_env_check_writable(const struct tablet_env *env,
                                         struct err *err);

#endif /* BIGTABLE_TABLET_TABLET_ENV_H */
