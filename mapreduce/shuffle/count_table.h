/* Pairs of a counting job, added up as they are emitted: an open-addressing
 * hash table in a caller's memory.
 *
 * A slot holds keys of up to 16 bytes itself; longer ones lie beside the table.
 * Additions of short keys wait in a small queue between the prefetch of their
 * slot and its use, which hides most of the cache misses.
 *
 * The table doubles inside its memory until that is used up; then
 * count_table_add() says so and the owner writes the contents out and clears
 * it. The first touch of memory is dear on virtual machines, so nothing is ever
 * given back, and old tables' room serves sorting.
 *
 * One thread.
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
    uint32_t hash; /* Its low bits, for growing. */
};

#define COUNT_QUEUE 16 /* Power of two. */

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
    size_t top;               /* End of the newest table. */
    size_t floor;             /* Long keys lie from here to the end. */
    struct count_slot *slots; /* In memory; slot_mask + 1 of them. */
    uint32_t slot_mask;
    uint32_t used;       /* Slots taken. */
    uint32_t used_max;   /* Grow or be full at this many. */
    bool full;           /* No room for another key. */
    uint32_t queue_next; /* Additions ever queued. */
    uint32_t queue_done; /* Of them, those carried out. */
    struct count_pending queue[COUNT_QUEUE];
};

/* Least memory a table can work in. */
#define COUNT_TABLE_BYTES_MIN ((size_t)1 << 20)

/* PRE: @memory is aligned to 64, @bytes >= COUNT_TABLE_BYTES_MIN. */
void count_table_init(struct count_table *t, char *memory, size_t bytes);

/* Add @by to the sum of @key. When `full` is set afterwards the addition was
 * still taken, and the table must be cleared before the next one. */
void count_table_add(struct count_table *t, struct slice key, int64_t by);

/* Carry out what is queued. */
void count_table_settle(struct count_table *t);

/* The key of a taken slot; borrowed from the table. */
struct slice count_slot_key(const struct count_slot *s);

/* Memory for sorting @count references of @each bytes twice over; part of the
 * table's memory that holds nothing. PRE: settled. */
void *count_table_sort_room(struct count_table *t, size_t each);

/* Forget all keys, keep the table at its size. */
void count_table_clear(struct count_table *t);

#endif /* MAPREDUCE_SHUFFLE_COUNT_TABLE_H */
