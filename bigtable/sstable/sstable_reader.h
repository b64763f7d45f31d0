/* Read side of a table: an immutable, sorted file of (key, value) entries.
 *
 * A reader keeps the top of the index in memory. The partitions of index and
 * filter are pinned at first use while the cache grants room for it, else they
 * go through the cache as data blocks do. The tables of in-memory groups hold
 * all their blocks, decoded.
 *
 * Life cycle
 *     sstable_reader_open()    owned by the caller
 *     sstable_reader_unref()   closes the file and frees the reader
 *
 * Threads
 *     open() parks. Once open, a reader is shared freely; what it pins later is
 *     published by atomics.
 *
 * Invariants
 *     INV-1. Entries are delivered in the order in which they lie in the file.
 *         The writer keeps their keys strictly increasing; a reader checks
 *         those of partitions alone, and sstable_verify() all.
 *     INV-2. No byte of a block reaches a caller before its CRC was verified.
 *     INV-3. An open reader has at least one partition; their numbers of blocks
 *            add up to that of the properties.
 *     INV-4. A valid iterator stands in a partition of its table, at an entry
 *            of a block that it holds, or that the reader keeps.
 *     INV-5. A window never holds more than was allocated for it: a chunk, or
 *            what is read once.
 */
#ifndef BIGTABLE_SSTABLE_SSTABLE_READER_H
#define BIGTABLE_SSTABLE_SSTABLE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/sstable/block.h"
#include "bigtable/sstable/sstable_format.h"

struct block_cache;
struct buf;
struct cached_block;
struct explain_file;
struct fs;
struct sstable_properties;
struct sstable_reader;

struct sstable_reader_options {
    struct block_cache *cache; /* Borrowed; outlives the reader. */
    bool in_memory;            /* Load all blocks now and keep them. */
};

/* Open the table at @path. On failure nothing stays open and @err names the
 * file and the part of it at fault. Parks: usually one read.
 *
 * Errors: ERR_NOTFOUND, ERR_CORRUPT, ERR_UNSUPPORTED, ERR_IO, ERR_NOMEM. */
MUST_CHECK int sstable_reader_open(struct fs *fs,
                                   const char *path,
                                   const struct sstable_reader_options *opts,
                                   struct sstable_reader **out,
                                   struct err *err);
void sstable_reader_unref(struct sstable_reader *r); /* NULL is allowed. */

/* Borrowed; live as long as @r. */
const struct sstable_properties *
sstable_reader_properties(const struct sstable_reader *r);
/* Append the marks of a table for changes (properties: changes.end_sequence is
 * not 0) to @marks, as change_marks.h encodes them. Parks. */
MUST_CHECK int sstable_reader_marks(struct sstable_reader *r,
                                    struct buf *marks,
                                    struct err *err);
uint64_t sstable_reader_file_bytes(const struct sstable_reader *r);
/* Is it encrypted? */
bool sstable_reader_is_sealed(const struct sstable_reader *r);
const char *sstable_reader_path(const struct sstable_reader *r);

/* The target of a read: all of a row, or one column of it. */
struct sstable_probe {
    struct slice prefix; /* Encoded row or column. */
    uint64_t row_hash;   /* hash64() of the encoded row, */
    uint64_t hash;       /* and of the prefix: equal when that is the row. */
    struct explain_file *explain; /* Borrowed; NULL: not explained. */
};

/* May the table hold entries that start with the prefix of @probe? False means
 * no, and that no table behind it in key order holds any, if none before it
 * does. Parks if the filter must be read. */
MUST_CHECK int sstable_reader_probe(struct sstable_reader *r,
                                    const struct sstable_probe *probe,
                                    bool *maybe,
                                    struct err *err);

/* Call fn(arg, separator, handle) for every data block in order, from the index
 * alone. Parks. */
typedef void (*sstable_block_fn)(void *arg,
                                 struct slice separator,
                                 const struct block_handle *handle);
MUST_CHECK int sstable_reader_each_block(struct sstable_reader *r,
                                         sstable_block_fn fn,
                                         void *arg,
                                         struct err *err);

/* --- iterators ----------------------------------------------------------- */

enum sstable_read_mode {
    SSTABLE_READ_POINT, /* Few entries: blocks through the cache. */
    SSTABLE_READ_SCAN,  /* Many: read ahead, and leave the cache alone. */
    SSTABLE_READ_ONCE,  /* All, and never again: past the page cache, too. */
};

struct sstable_iter {
    struct sstable_reader *reader; /* Borrowed; NULL: over no table. */
    enum sstable_read_mode mode;
    uint32_t partition;               /* Of `index`. */
    struct cached_block *index_block; /* Held unless it is pinned. */
    struct cached_block *data_block;  /* Held; NULL for blocks elsewhere. */
    char *window;                     /* Read-ahead: owned, or a chunk; */
    uint64_t window_offset;           /* the file's bytes from here on, */
    size_t window_len;                /* that many. */
    size_t window_want;               /* Grows while the scan continues. */
    char *expanded;                   /* A decoded block of a scan; owned. */
    size_t expanded_cap;
    struct block_cache *cache; /* `window` is a chunk of its pool, or NULL. */
    struct explain_file *explain; /* Borrowed; set after sstable_iter_open();
                                     NULL: not explained. */
    uint8_t window_place;         /* Of it: enum explain_place of the window. */
    bool valid;
    struct block_iter index;
    struct block_iter data;
};

/* Over no table. sstable_iter_close() releases the block that it pins. */
void sstable_iter_init(struct sstable_iter *it);
void sstable_iter_close(struct sstable_iter *it);

/* Go over @r, at no entry yet; it may be over another table before, whose
 * memory is used again. The caller keeps @r alive. */
void sstable_iter_open(struct sstable_iter *it,
                       struct sstable_reader *r,
                       enum sstable_read_mode mode);

/* To the first entry >= @target; to the first entry of the next block. Park.
 * When they fail, the error names file, offset and reason, and the iterator is
 * invalid. */
MUST_CHECK int sstable_iter_seek(struct sstable_iter *it,
                                 struct slice target,
                                 struct err *err);
MUST_CHECK int sstable_iter_next_block(struct sstable_iter *it,
                                       struct err *err);

static inline bool sstable_iter_valid(const struct sstable_iter *it)
{
    return it->valid;
}

static inline struct slice sstable_iter_key(const struct sstable_iter *it)
{
    return block_iter_key(&it->data);
}

static inline struct slice sstable_iter_value(const struct sstable_iter *it)
{
    return block_iter_value(&it->data);
}

/* PRE: valid. */
MUST_CHECK static inline int sstable_iter_next(struct sstable_iter *it,
                                               struct err *err)
{
    block_iter_next(&it->data);
    return LIKELY(it->data.valid) ? 0 : sstable_iter_next_block(it, err);
}

#endif /* BIGTABLE_SSTABLE_SSTABLE_READER_H */
