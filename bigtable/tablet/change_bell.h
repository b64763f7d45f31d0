/* A bell at which readers of changes wait until something was written. It costs
 * a writer one load where nobody waits.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_TABLET_CHANGE_BELL_H
#define BIGTABLE_TABLET_CHANGE_BELL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/runtime/sync.h"

struct world;

struct change_bell {
    struct mutex lock;
    struct cond rung;
    atomic_uint waiters;
};

void change_bell_init(struct change_bell *b);
void change_bell_close(struct change_bell *b); /* PRE: nobody waits. */
/* Wake those who wait. */
void change_bell_ring(struct change_bell *b);
/* Wait until @value is above @seen, or for @us. Parks. */
void change_bell_wait(struct change_bell *b,
                      struct world *world,
                      const atomic_ullong *value,
                      uint64_t seen,
                      uint64_t us);

#endif /* BIGTABLE_TABLET_CHANGE_BELL_H */
