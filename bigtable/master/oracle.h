/* The cluster's source of timestamps: the master, while it holds its lock,
 * gives them out. Private to the master.
 *
 * The file BIGTABLE_LOCK_TIMESTAMPS of the lock service has a bound above all
 * that were given out. A master that begins raises it first, on condition that
 * nobody has written it since it was read: from then on an earlier master can
 * raise it no more. Numbers that it has left below its bound it does not
 * give out, because it answers only while its session is safe, and looks after
 * the answer is made.
 *
 * Threads: the master's loop.
 */
#ifndef BIGTABLE_MASTER_ORACLE_H
#define BIGTABLE_MASTER_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/runtime/sync.h"
#include "bigtable/row/stamp_source.h"

struct master_term;

struct oracle {
    struct mutex lock;   /* Over the file's replacement. */
    bool is_open;        /* The file was raised by this term. */
    uint64_t generation; /* Of the file; 0: there is none. */
    struct stamp_source source;
};

void oracle_init(struct oracle *o);
void oracle_close(struct oracle *o);

/* The first of @count numbers. Parks. ERR_UNAVAILABLE: this is not the master
 * any more; ERR_CORRUPT; errors of the lock service. */
MUST_CHECK int oracle_take(struct master_term *r,
                           uint32_t count,
                           int64_t *first,
                           struct err *err);

#endif /* BIGTABLE_MASTER_ORACLE_H */
