/* Facts about a whole table, by which readers can skip it unread.
 *
 * Stored as { tag varint, length varint, bytes }; a reader skips unknown tags,
 * so that later writers can add more.
 *
 * Invariants, of those of a table that is written
 *     INV-1. There is an entry, and a first and a last key.
 *     INV-2. Deletions of rows and families are tombstones, and tombstones are
 *            entries; each block has an entry.
 *     INV-3. sequence_min <= sequence_max.
 */
#ifndef BIGTABLE_SSTABLE_PROPERTIES_H
#define BIGTABLE_SSTABLE_PROPERTIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/sstable_format.h" /* struct block_handle */

struct family_bytes {
    family_id id;
    uint64_t bytes; /* Keys and values before compression. */
};

/* The changes of a tablet that a table holds: every entry that its group got
 * behind the table before it and up to end_sequence. */
struct change_extent {
    uint64_t end_sequence; /* The end of a commit. 0: it is no such table. */
    int64_t first_us;      /* Times of the first commit, */
    int64_t last_us;       /* and of the last. */
};

struct sstable_properties {
    uint64_t entry_count;
    uint64_t tombstone_count; /* Entries that are no puts. */
    uint64_t scope_count;     /* Of these, deletions of rows and families. */
    uint64_t block_count;     /* Data blocks. */
    uint64_t key_bytes;       /* Before compression, as is the next. */
    uint64_t value_bytes;
    uint64_t sequence_min;
    uint64_t sequence_max;
    int64_t time_min_us; /* Of puts; min > max when there are none. */
    int64_t time_max_us;
    uint64_t dictionary_tried; /* 1 if training one was tried. */
    uint64_t bloom;            /* enum bloom_kind of its filters. */
    struct change_extent changes;
    struct block_handle marks; /* Where the times of its commits are. */
    struct buf first_key;
    struct buf last_key;
    struct family_bytes *families; /* Owned; in order of first appearance. */
    size_t family_count;
};

/* Of a file without entries. sstable_properties_close() frees its keys. */
void sstable_properties_init(struct sstable_properties *p);
void sstable_properties_close(struct sstable_properties *p);

/* Count the entry @key with @value_len bytes of value, whose family is known to
 * be @family. First and last key are the caller's to set. */
void sstable_properties_count(struct sstable_properties *p,
                              struct slice key,
                              size_t value_len,
                              family_id family,
                              bool has_time);

/* Append the block of properties of docs/formats.md to @out. */
void sstable_properties_append(struct buf *out,
                               const struct sstable_properties *p);
/* Fill @p, which is initialised. Errors: ERR_CORRUPT. */
MUST_CHECK int sstable_properties_parse(struct slice bytes,
                                        struct sstable_properties *p,
                                        struct err *err);

#endif /* BIGTABLE_SSTABLE_PROPERTIES_H */
