/* The one order of all stored entries: cell keys, compared by memcmp.
 *
 *     key     = row family [column time] trailer
 *     row     = escape(row name) 00 01
 *     family  = big-endian 16-bit family id, then one byte:
 *               00 the entry concerns the whole family (or, id 0, the row)
 *               01 a column follows
 *     column  = escape(qualifier) 00 01
 *     time    = big-endian 64 bits of ~(timestamp µs + 2^63): newest first
 *     trailer = big-endian 64 bits of ~(sequence << 8 | kind): newest first
 *
 * escape() writes 00 as 00 ff, so that a name that is a prefix of another sorts
 * first and no name can imitate a border. A deletion sorts before what it
 * hides: row before families, family before its columns, column (time
 * INT64_MAX) before its cells.
 *
 * This module encodes and decodes keys. For speed some files look at the bytes
 * themselves, and rely on the family's id and its marker following the row
 * part: read_newest.c, visibility.c, sstable/sstable_writer.c and
 * read/family_use.c. The layout has an example in docs/formats.md.
 */
#ifndef BIGTABLE_ROW_CELL_KEY_H
#define BIGTABLE_ROW_CELL_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h" /* get_be64 */
#include "base/core/panic.h"
#include "base/core/slice.h"

/* The paper: rows are "arbitrary strings (currently up to 64KB in size)". */
#define ROW_NAME_BYTES_MAX ((size_t)64 << 10)
/* As Cloud Bigtable. */
#define QUALIFIER_BYTES_MAX ((size_t)16 << 10)
#define VALUE_BYTES_MAX     ((size_t)1 << 30)

typedef uint16_t family_id; /* 0 is no family: entries of the row itself. */

enum entry_kind {
    ENTRY_PUT = 1,           /* A cell; the value is its value. */
    ENTRY_DELETE_CELL = 2,   /* Hides the cell of exactly this timestamp. */
    ENTRY_DELETE_COLUMN = 3, /* Hides the column's older entries, all times. */
    ENTRY_DELETE_RANGE = 4,  /* The same for timestamps in [min, max): the
                                value is min and max as little-endian int64. */
    ENTRY_DELETE_FAMILY = 5, /* Hides the family's older entries in this row. */
    ENTRY_DELETE_ROW = 6,    /* Hides the row's older entries. */
    ENTRY_ORIGIN = 7,        /* Of the row; hides nothing. The commit that it
                                begins came from another table, which the value
                                names (mutation.h). For readers of changes. */
    ENTRY_ADD = 8,           /* An input of an aggregate (aggregate.h). */
    ENTRY_MERGE = 9,         /* A state of one: several inputs, folded. */
};

struct cell_key {
    struct slice row;       /* Plain, unescaped name. */
    struct slice qualifier; /* Plain; empty for family and row entries. */
    int64_t timestamp_us;   /* INT64_MAX for column-wide deletions. */
    uint64_t sequence;      /* Below 2^56. */
    family_id family;       /* 0 for ENTRY_DELETE_ROW and ENTRY_ORIGIN. */
    enum entry_kind kind;
};

/* Time and trailer, which follow the column part. All versions of a cell share
 * the bytes before them. */
#define CELL_KEY_VERSION_BYTES ((size_t)16)
#define CELL_KEY_TRAILER_BYTES ((size_t)8)
/* The border behind an escaped name. */
#define CELL_KEY_BORDER_BYTES ((size_t)2)
/* Family and marker, between row part and qualifier. */
#define CELL_KEY_FAMILY_BYTES ((size_t)3)

/* Is an entry of @kind one of the row? */
static inline bool entry_kind_is_of_row(enum entry_kind kind)
{
    return kind == ENTRY_DELETE_ROW || kind == ENTRY_ORIGIN;
}

/* Is an entry of @kind one of a column? */
static inline bool entry_kind_has_column(enum entry_kind kind)
{
    return kind != ENTRY_DELETE_FAMILY && !entry_kind_is_of_row(kind);
}

/* Is an entry of @kind an operand, which does not hide the older ones of its
 * cell? */
static inline bool entry_kind_is_operand(enum entry_kind kind)
{
    return kind == ENTRY_ADD || kind == ENTRY_MERGE;
}

/* Append the encoding of @k to @out. */
void cell_key_append(struct buf *out, const struct cell_key *k);

/* Append only the row part: what every key of the row starts with. */
void cell_key_append_row(struct buf *out, struct slice row);

/* Append row part, family and column part: the prefix of all cells of one
 * column. Also the unit of the row+column Bloom filter. */
void cell_key_append_column(struct buf *out,
                            struct slice row,
                            family_id family,
                            struct slice qualifier);

/* The pieces, for who encodes many entries of one row: the row part is appended
 * once, then one of these for each entry. */
void cell_key_append_family_column(struct buf *out,
                                   family_id family,
                                   struct slice qualifier);
void cell_key_append_time(struct buf *out, int64_t timestamp_us);
/* Everything behind the row part; k->row is not looked at. */
void cell_key_append_rest(struct buf *out, const struct cell_key *k);

/* Smallest encoding above every key that starts with the prefix @out[at..]. The
 * bytes from @at on are replaced. False when there is none (all 0xff). */
bool cell_key_prefix_successor(struct buf *out, size_t at);

/* Append @key, another entry's encoding, with another sequence number. PRE:
 * key.len >= 8. */
void cell_key_append_numbered(struct buf *out,
                              struct slice key,
                              uint64_t sequence);

/* Make @key, an entry's encoding, that of an entry of another kind. */
void cell_key_set_kind(struct buf *key, enum entry_kind kind);

/* Length of the encoded row part of @key, or 0 when it is malformed. */
size_t cell_key_row_length(struct slice key);
/* Length up to and with the column part; that of row, family and marker for
 * family and row entries; 0 when it is malformed. */
size_t cell_key_column_length(struct slice key);
/* The same, saying whether the name holds escapes; and for a key whose row part
 * is known to be @row_length bytes, whether the qualifier does. */
size_t cell_key_row_parse(struct slice key, bool *escaped);
size_t
cell_key_column_parse(struct slice key, size_t row_length, bool *escaped);

/* Sequence and kind without decoding the rest. PRE: key.len >= 8. */
static inline uint64_t cell_key_sequence(struct slice key)
{
    PRE(key.len >= CELL_KEY_TRAILER_BYTES);
    return ~get_be64(key.data + key.len - CELL_KEY_TRAILER_BYTES) >> 8;
}

static inline enum entry_kind cell_key_kind(struct slice key)
{
    PRE(key.len >= CELL_KEY_TRAILER_BYTES);
    return (enum entry_kind)(~(unsigned char)key.data[key.len - 1] & 0xff);
}

/* Timestamp of an entry of a column. PRE: it has one. */
static inline int64_t cell_key_timestamp(struct slice key)
{
    PRE(key.len >= CELL_KEY_VERSION_BYTES);
    return (int64_t)(~get_be64(key.data + key.len - CELL_KEY_VERSION_BYTES) -
                     (UINT64_C(1) << 63));
}

/* The plain name of an encoded row part (with or without more behind it):
 * borrowed from @encoded, or from @scratch when it holds escapes.
 * PRE: cell_key_row_length(encoded) > 0. */
struct slice cell_key_plain_row(struct slice encoded, struct buf *scratch);

/* Family and plain qualifier of the entry of a column, @row_length bytes into
 * @key. False when it is malformed or not of a column. */
bool cell_key_decode_column(struct slice key,
                            size_t row_length,
                            family_id *family,
                            struct slice *qualifier,
                            struct buf *scratch);

/* Decode all of @key. row and qualifier are borrowed from @key when they hold
 * no escapes, else from @scratch. False when @key is malformed. */
bool cell_key_decode(struct slice key,
                     struct cell_key *out,
                     struct buf *scratch);

#endif /* BIGTABLE_ROW_CELL_KEY_H */
