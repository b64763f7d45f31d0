/* Pairs as they are emitted, in a caller's memory, until it is full: the plain
 * store, which keeps all of them, and the folding one, which keeps one value a
 * key and folds the others into it.
 *
 *     memory: [pair][pair]…   free   …[references, when sorting]
 *     pair  = key_bytes:u32 value_bytes:u32 room:u32 next:u32 key value
 *
 * `room` is what the value may grow to in place; `next` chains pairs of one
 * hash bucket in the folding store. Both belong to one task: one thread.
 */
#ifndef MAPREDUCE_SHUFFLE_PAIR_STORE_H
#define MAPREDUCE_SHUFFLE_PAIR_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

typedef void (*pair_fold_fn)(void *ctx,
                             struct slice key,
                             struct buf *acc,
                             struct slice value);

struct pair_store {
    char *memory;        /* Borrowed; aligned to 8. */
    size_t memory_bytes; /* Below 4 GiB: pairs are named by 32 bits. */
    size_t top;          /* End of the last pair. */
    uint32_t pairs;      /* Live ones. */
    pair_fold_fn fold;   /* NULL: the plain store. */
    void *fold_ctx;
    uint32_t *buckets; /* Folding: offset / 8 of a chain's head; owned. */
    uint32_t bucket_mask;
    struct buf acc; /* Folding: the value being changed. */
};

struct pair {
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t room;
    uint32_t next;
};

/* A store in @bytes of @memory, which is borrowed; @fold NULL: the plain one.
 * PRE:
 * @memory is aligned to 8, @bytes is below 4 GiB. */
void pair_store_init(struct pair_store *s,
                     char *memory,
                     size_t bytes,
                     pair_fold_fn fold,
                     void *fold_ctx);
/* Free the buckets; the memory is the caller's. */
void pair_store_close(struct pair_store *s);

/* Add a pair. False, and nothing added, when it does not fit: the owner writes
 * the contents out, clears, and tries again; a pair that does not fit into the
 * empty store never will. */
bool pair_store_add(struct pair_store *s, struct slice key, struct slice value);

/* Walk the live pairs in order of arrival: *@at is 0 at first. */
bool pair_store_next(const struct pair_store *s, uint32_t *at, uint32_t *pair);
struct slice pair_store_key(const struct pair_store *s, uint32_t pair);
struct slice pair_store_value(const struct pair_store *s, uint32_t pair);

/* Room for sorting two references of @each bytes per pair. */
void *pair_store_sort_room(struct pair_store *s, size_t each);

/* Forget all pairs. */
void pair_store_clear(struct pair_store *s);

#endif /* MAPREDUCE_SHUFFLE_PAIR_STORE_H */
