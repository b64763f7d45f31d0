/* Entries that are in the log but not yet in a table: a skip list that is
 * shared by reference count, with the few facts that spare readers a search.
 *
 * Threads: one insert at a time; readers at any time.
 */
#ifndef BIGTABLE_LSM_MEMTABLE_H
#define BIGTABLE_LSM_MEMTABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bigtable/lsm/skip_list.h"

struct change_order;
struct skip_batch;

struct memtable {
    atomic_uint refs;
    atomic_bool has_scope_deletions; /* Deletions of whole rows or families. */
    uint64_t sequence; /* 0 until it is frozen; no entry has a higher number. */
    struct skip_list list;
    struct change_order *order; /* Of a table that keeps its changes: entries
                                   as they came. Owned; NULL: none. */
};

/* One reference, owned by the caller. @ordered: its table keeps changes. */
struct memtable *memtable_new(struct chunk_pool *pool, bool ordered);
/* One more reference. Returns @m. */
struct memtable *memtable_ref(struct memtable *m);
void memtable_unref(struct memtable *m); /* Any thread. */

/* Copy an entry in. PRE: @m is not frozen; no equal key is there. */
void memtable_insert(struct memtable *m, struct slice key, struct slice value);
/* The same as part of batch @b, see skip_batch.h. */
void memtable_insert_with(struct memtable *m,
                          struct skip_batch *b,
                          struct slice key,
                          struct slice value);

static inline size_t memtable_bytes(const struct memtable *m)
{
    return atomic_load_explicit(&m->list.bytes, memory_order_relaxed);
}

/* The memory that @m holds, unused parts of its blocks included. */
static inline size_t memtable_memory(const struct memtable *m)
{
    return atomic_load_explicit(&m->list.memory, memory_order_relaxed);
}

static inline size_t memtable_count(const struct memtable *m)
{
    return atomic_load_explicit(&m->list.count, memory_order_relaxed);
}

#endif /* BIGTABLE_LSM_MEMTABLE_H */
