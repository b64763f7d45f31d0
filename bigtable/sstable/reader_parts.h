/* Inside of a table reader, for sstable_reader.c, sstable_iter.c and verify.c
 * only. */
#ifndef BIGTABLE_SSTABLE_READER_PARTS_H
#define BIGTABLE_SSTABLE_READER_PARTS_H

#include <stdatomic.h>

#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sealing.h"
#include "bigtable/sstable/sstable_reader.h"

/* A run of data blocks with an index block and a filter. */
struct partition {
    struct slice last_key; /* In the reader's top block. */
    struct partition_entry entry;
    uint32_t first_block;                /* Number of its first data block. */
    struct cached_block *_Atomic index;  /* Pinned, or NULL. */
    struct cached_block *_Atomic filter; /* Pinned, or NULL. */
};

struct sstable_reader {
    atomic_uint refs;
    struct fs_reader *file;
    char *path;
    uint64_t file_bytes;
    uint64_t file_number;      /* In the cache. */
    struct block_cache *cache; /* Borrowed. */
    struct sstable_footer footer;
    struct sstable_properties properties;
    struct dictionary *dictionary;   /* NULL if it has none. */
    struct sstable_sealing *sealing; /* Owned; NULL: it is not encrypted. */
    struct cached_block *top;        /* Keys of the partitions live in it. */
    struct partition *partitions;
    uint32_t partition_count;
    struct cached_block **resident; /* In-memory groups: all data blocks. */
    size_t reserved_bytes;
    bool pins; /* The cache granted room for index and filters. */
};

/* Say which table and where in it. Returns @code. */
int sstable_reader__fail(const struct sstable_reader *r,
                         uint64_t offset,
                         int code,
                         struct err *err);

/* Bytes of the payload of @h, unsealed. */
static inline size_t sstable_reader__payload(const struct sstable_reader *r,
                                             const struct block_handle *h)
{
    size_t seal = r->sealing ? BLOCK_SEAL_BYTES : 0;
    return h->stored_bytes > seal ? h->stored_bytes - seal : 0;
}

/* Read and decode the block at @h into a fresh block with one reference.
 * @explain: NULL, or the record of the explained scan that wants it; its place
 * is then where the block was. Parks. */
MUST_CHECK int sstable_reader__load(struct sstable_reader *r,
                                    const struct block_handle *h,
                                    struct explain_file *explain,
                                    struct cached_block **out,
                                    struct err *err);

/* The block at @h through the cache, with one reference; @explain as above.
 * Parks. */
MUST_CHECK int sstable_reader__cached(struct sstable_reader *r,
                                      const struct block_handle *h,
                                      struct explain_file *explain,
                                      struct cached_block **out,
                                      struct err *err);

/* Fill in what @codec needs to expand the block @h, whose unsealed payload is
 * *@payload, which is advanced to what the codec expands. *@held is what the
 * caller must unref when it has expanded the block (NULL without a reference).
 * A reference is read through the cache, and counted in @explain. Parks.
 * Errors: ERR_CORRUPT, and of reading. */
MUST_CHECK int sstable_reader__context(struct sstable_reader *r,
                                       const struct block_handle *h,
                                       enum block_codec codec,
                                       struct explain_file *explain,
                                       struct slice *payload,
                                       struct block_context *context,
                                       struct cached_block **held,
                                       struct err *err);

/* The index block of partition @i. *@held is what the caller must unref when it
 * is done (NULL for a pinned one). @explain as above. Parks. */
MUST_CHECK int sstable_reader__index(struct sstable_reader *r,
                                     uint32_t i,
                                     struct explain_file *explain,
                                     struct slice *bytes,
                                     struct cached_block **held,
                                     struct err *err);

/* First partition whose last key is >= @target, or partition_count. */
uint32_t sstable_reader__partition(const struct sstable_reader *r,
                                   struct slice target);

#endif /* BIGTABLE_SSTABLE_READER_PARTS_H */
