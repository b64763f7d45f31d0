/* Pairs of a counting job, added up as they are emitted: an open-addressing
 * hash table in a caller's memory.
 *
 * A slot holds keys of up to 16 bytes itself; longer ones are beside the table.
 * Additions of short keys wait in a small queue between the prefetch of their
 * slot and its use, which hides most of the cache misses.
 *
 * The table doubles in place until its memory is used up; then
 * count_table_add() reports it and the owner writes the contents out and clears
 * it. The first touch of memory is expensive on virtual machines, so no more is
 * touched than the table needs.
 *
 * Invariants: used <= used_max, and those of count_table.c.
 *
 * One thread. Nothing here parks.
 */
#ifndef MAPREDUCE_SHUFFLE_COUNT_TABLE_H
#define MAPREDUCE_SHUFFLE_COUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct count_slot {
    uint64_t lo; /* Bytes 0..7, or the address of a longer key. */
    uint64_t hi; /* Bytes 8..15, or the hash of a longer key. */
    int64_t sum;
    uint32_t len1; /* Length of the key + 1; 0: the slot is free. */
    uint32_t hash; /* Its upper bits give the slot. */
};

#define COUNT_QUEUE 16 /* In each half. */

struct count_pending {
    uint64_t lo; /* The key's 16 bytes are lo and hi together. */
    uint64_t hi;
    int64_t by;
    uint32_t len1;
    uint32_t hash;
};

struct count_table {
    char *memory; /* Borrowed. */
    size_t memory_bytes;
    size_t floor;             /* Long keys lie from here to the end. */
    struct count_slot *slots; /* In memory; slot_mask + 1 of them. */
    uint32_t slot_mask;
    unsigned shift;    /* Of a hash, to its home. */
    uint32_t used;     /* Slots taken. */
    uint32_t used_max; /* Grow or be full at this many. */
    bool full;         /* No room for another key. */
    unsigned half;     /* Of the queue, being filled. */
    uint32_t queued;   /* In that half. */
    uint32_t waiting;  /* In the other one. */
    struct count_pending queue[2 * COUNT_QUEUE];
};

/* Least memory a table can work in. */
#define COUNT_TABLE_BYTES_MIN ((size_t)1 << 20)

/* PRE: @memory is aligned to 64, @bytes >= COUNT_TABLE_BYTES_MIN. */
void count_table_init(struct count_table *t, char *memory, size_t bytes);

/* Add @by to the sum of @key. When `full` is set afterwards the addition was
 * still taken, and the table must be cleared before the next one. */
void count_table_add(struct count_table *t, struct slice key, int64_t by);

/* Add what is queued to the table. */
void count_table_settle(struct count_table *t);

/* The key of a taken slot; borrowed from the table. */
struct slice count_slot_key(const struct count_slot *s);

/* Settle, and move the taken slots together: they are the first of `slots`, and
 * their number is returned. Nothing can be added before the table is cleared.
 */
uint32_t count_table_pack(struct count_table *t);

/* Memory for sorting two references of @each bytes per key. PRE: packed; @each
 * <= 16. */
void *count_table_sort_room(struct count_table *t, size_t each);

/* Forget all keys, keep the table at its size. */
void count_table_clear(struct count_table *t);

#endif /* MAPREDUCE_SHUFFLE_COUNT_TABLE_H */
