/* Bulk loads that were begun and never committed: removed when nothing was
 * written to them for a week.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_STALE_LOADS_H
#define BIGTABLE_STORE_STALE_LOADS_H

#include <stdint.h>

struct fs;

/* Remove those below the root of @fs that are stale at @now_us; what cannot be
 * looked at stays. Parks. */
void remove_stale_loads(struct fs *fs, uint64_t now_us);

#endif /* BIGTABLE_STORE_STALE_LOADS_H */
