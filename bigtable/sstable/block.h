/* Sorted entries in one block: building it, and searching in it.
 *
 *     block    = values keys restarts tail
 *     values   = the values, one after the other, in key order
 *     keys     = { shared varint, rest varint, value length varint,
 *                  rest bytes }
 *     restarts = { key offset le32 (from the start of keys),
 *                  value offset le32 }
 *     tail     = length of values le32, entry count le32, restart count le32
 *
 * A key is the first `shared` bytes of the one before it and the rest bytes.
 * The first entry, and each that follows it by a multiple of restart_every,
 * shares nothing with the one before it, and has a restart.
 *
 * Keys lie apart from values so that a search touches a few cache lines that
 * are neighbours, whatever the values' size, and a compressor meets like bytes
 * together.
 *
 * Neither part is thread-safe; any number of iterators may share a block.
 *
 * Invariants
 *     INV-1. A builder has one restart for every restart_every entries begun,
 *            and at most that many entries since the newest.
 *     INV-2. An entry shares no more than the whole key before it.
 *     INV-3. An iterator's parts lie in the block in the order values, keys,
 *            restarts, whatever the block's tail says.
 */
#ifndef BIGTABLE_SSTABLE_BLOCK_H
#define BIGTABLE_SSTABLE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define BLOCK_TAIL_BYTES          ((size_t)12)
#define BLOCK_RESTART_BYTES       ((size_t)8)
#define BLOCK_DATA_RESTART_EVERY  8
#define BLOCK_INDEX_RESTART_EVERY 1

STATIC_ASSERT(BLOCK_TAIL_BYTES == 3 * sizeof(uint32_t), "tail of three le32");

struct block_builder {
    struct buf out;      /* Values, and at the end the whole block. */
    struct buf keys;     /* Encoded keys. */
    struct buf restarts; /* Encoded restarts. */
    struct buf last_key; /* The key added last. */
    uint32_t restart_every;
    uint32_t since_restart;
    uint32_t entry_count;
};

/* An empty block with a restart point every @restart_every entries.
 * block_builder_close() frees its buffers. */
void block_builder_init(struct block_builder *b, uint32_t restart_every);
void block_builder_close(struct block_builder *b);

/* Add an entry. PRE: @key is greater than the one before. @shared is how many
 * bytes it shares with that one (any value if there is none). */
void block_builder_add(struct block_builder *b,
                       struct slice key,
                       size_t shared,
                       struct slice value);

/* Size of the block if it were finished now. */
size_t block_builder_bytes(const struct block_builder *b);

static inline bool block_builder_empty(const struct block_builder *b)
{
    return b->entry_count == 0;
}

/* The whole block; borrowed until the next add or reset. */
struct slice block_builder_finish(struct block_builder *b);
void block_builder_reset(struct block_builder *b);

/* Bytes two keys have in common at their start. */
size_t key_shared_bytes(struct slice a, struct slice b);

/* Keys up to this length need no allocation in an iterator. */
#define BLOCK_ITER_KEY_BYTES 224

struct block_iter {
    const char *values;   /* The block. */
    const char *keys;     /* Start of keys = end of values. */
    const char *keys_end; /* Start of the restarts. */
    const char *next;     /* Encoded entry behind the current one. */
    const char *value;    /* Current value. */
    size_t value_len;
    char *key; /* Current key: `room`, or owned memory. */
    size_t key_len;
    size_t key_cap;
    uint32_t restart_count;
    uint32_t entry_count;
    bool valid;
    bool bad; /* Sticky: the block is malformed. */
    char room[BLOCK_ITER_KEY_BYTES];
};

/* Prepare @it; it is over no block. Pairs with block_iter_close(). */
void block_iter_init(struct block_iter *it);
void block_iter_close(struct block_iter *it);

/* Go over @block, borrowed until the next call or close; at no entry yet.
 * Errors: ERR_CORRUPT when its frame is malformed. */
MUST_CHECK int
block_iter_open(struct block_iter *it, struct slice block, struct err *err);

/* All set `valid`; when an entry turns out malformed they set `bad` and clear
 * `valid`. seek goes to the first key >= @target, after to the first key >
 * @target. */
void block_iter_first(struct block_iter *it);
void block_iter_next(struct block_iter *it);
void block_iter_seek(struct block_iter *it, struct slice target);
void block_iter_after(struct block_iter *it, struct slice target);

/* Number of the current entry in a block in which each is a restart. */
uint32_t block_iter_index(const struct block_iter *it);
/* Go to entry @index of such a block. PRE: index < entry_count. */
void block_iter_at(struct block_iter *it, uint32_t index);

/* Is the current entry the last of its block? PRE: valid. */
static inline bool block_iter_is_last(const struct block_iter *it)
{
    return it->next >= it->keys_end;
}

static inline struct slice block_iter_key(const struct block_iter *it)
{
    return (struct slice){it->key, it->key_len};
}

static inline struct slice block_iter_value(const struct block_iter *it)
{
    return (struct slice){it->value, it->value_len};
}

#endif /* BIGTABLE_SSTABLE_BLOCK_H */
