/* A sorted set of entries in memory: one writer, any number of readers that
 * take no lock.
 *
 * Nodes and keys lie close together, values apart from them: a search walks
 * through a few MB that stay in the CPU's cache, however large the values are.
 * Nothing is ever removed. The first memory comes in small blocks, each as
 * large as all before it, since a store may have thousands of lists with a few
 * entries; then in chunks from a pool. All is returned when the list is closed.
 *
 * Threads: one insert at a time, ordered by the caller. Readers at any time
 * while the list lives; they see an entry fully or not at all.
 *
 * Invariants
 *     INV-1  Keys strictly increase along each level. (insert_at_finger,
 *            insert_before)
 *     INV-2  A node on level n is on all levels below. (skip_list__new_node)
 *     INV-3  The finger is, on each level, the last node before the last
 *            insert, or that insert's own node. (insert_at_finger)
 */
#ifndef BIGTABLE_LSM_SKIP_LIST_H
#define BIGTABLE_LSM_SKIP_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "bigtable/lsm/stem_index.h"

struct chunk_pool;

/* 4^12 entries are searched in logarithmic time; more merely slow down. */
#define SKIP_LIST_HEIGHT_MAX 12

/* A line of the CPU's cache. */
#define SKIP_LINE_BYTES 64

#define SKIP_KEY_BYTES_MAX ((size_t)1 << 24)

struct skip_node {
    const char *value;
    struct skip_node *prev; /* The writer's. */
    uint32_t value_len;
    uint32_t key_len : 24;
    uint32_t height : 8;
    struct skip_node *_Atomic next[]; /* height of them, then the key. */
};

/* Where a list takes bytes of one kind from. */
struct skip_region {
    char *next; /* First free byte of the newest block or chunk. */
    char *end;
    size_t block_bytes; /* Of all its blocks, up to those of a chunk. */
};

struct skip_list {
    struct chunk_pool *pool;  /* Borrowed. */
    struct skip_region nodes; /* Nodes, keys, small values. */
    struct skip_region values;
    void **chunks; /* All that were taken; owned. */
    size_t chunk_count;
    void **large; /* Blocks, and values too big for a chunk; owned. */
    size_t large_count;
    struct skip_node *head;
    struct skip_node *finger[SKIP_LIST_HEIGHT_MAX]; /* Place of the last insert:
                                                       rows often come in
                                                       order. */
    struct stem_index stems;
    atomic_uint height;
    uint64_t random;
    atomic_size_t bytes;  /* Of entries. */
    atomic_size_t memory; /* Held for them, and for the index of stems. */
    atomic_size_t count;
};

/* An empty list that takes its memory from @pool, borrowed. */
void skip_list_init(struct skip_list *l, struct chunk_pool *pool);
/* Return the chunks to the pool. PRE: no thread reads the list. */
void skip_list_close(struct skip_list *l);

/* Copy an entry in. PRE: no equal key is there. @stem_bytes is the length of
 * the key's stem, which all versions of one cell share (stem_index.h); 0: it
 * has none. Returns its node, which lives as long as @l. */
const struct skip_node *skip_list_insert(struct skip_list *l,
                                         struct slice key,
                                         size_t stem_bytes,
                                         struct slice value);

/* First node whose key is >= @key, or NULL; all nodes for an empty key. */
const struct skip_node *skip_list_seek(const struct skip_list *l,
                                       struct slice key);

/* The node with the greatest key; NULL: there is none. */
const struct skip_node *skip_list_last(const struct skip_list *l);

static inline const struct skip_node *skip_node_next(const struct skip_node *n)
{
    return atomic_load_explicit(&n->next[0], memory_order_acquire);
}

/* Prefetch @n, which may be NULL, and the beginning of its key. */
static inline void skip_node_ask_for(const struct skip_node *n)
{
    __builtin_prefetch(n);
    __builtin_prefetch((const void *)((uintptr_t)n + SKIP_LINE_BYTES));
}

static inline struct slice skip_node_key(const struct skip_node *n)
{
    size_t links = n->height * sizeof(n->next[0]);
    return (struct slice){(const char *)n + sizeof(*n) + links, n->key_len};
}

static inline struct slice skip_node_value(const struct skip_node *n)
{
    return (struct slice){n->value, n->value_len};
}

#endif /* BIGTABLE_LSM_SKIP_LIST_H */
