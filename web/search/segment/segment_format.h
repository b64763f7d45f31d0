/* The stream of a segment, in the pages of paged_file.h: an immutable inverted
 * index of some rows. docs/formats.md has the same grammar with an example.
 *
 *     stream     = lists dictionary index rows documents footer
 *     list       = skip* block* positions
 *     skip       = last document delta varint, block bytes varint, weight u8,
 *                  positions bytes varint, of lists of more than 128 postings
 *     dictionary = term block*, of up to 64 terms
 *     term       = lengths u8, rest, postings varint, weight u8, skips bytes
 *                  varint (if there are skips), blocks bytes varint, positions
 *                  bytes varint; its list follows that of the term before
 *     lengths    = shared << 4 | bytes of the rest; of 15 and more 15, and a
 *                  varint of what is above
 *     index      = for each term block: first list le64, first term lslice,
 *                  bytes varint
 *     rows       = row*, groups of 16: shared varint (0 at first of a group),
 *                  rest lslice, documents varint, signature le64
 *     documents  = document*: captures varint, first time zigzag delta, gaps
 *                  varint, gap to the next capture varint (0: there is none),
 *                  rank u8, likeness le64, ends of title, url, anchors, body
 *                  varints (each less the one before)
 *     footer     = magic "QRYSEGF2", five section ends le64, counts of terms,
 *                  term blocks, rows, documents le64, zero le64
 *
 * Terms ascend, and so do row keys; the documents of a row lie together, oldest
 * first. Version 1, of other blocks, positions and terms, is read no more: a
 * build makes the index again.
 */
#ifndef WEB_SEARCH_SEGMENT_SEGMENT_FORMAT_H
#define WEB_SEARCH_SEGMENT_SEGMENT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

#define SEGMENT_FOOTER_MAGIC "QRYSEGF2" /* The last byte: the version. */
#define SEGMENT_FOOTER_BYTES ((size_t)88)
#define SEGMENT_BLOCK_TERMS  64
#define SEGMENT_ROW_GROUP    16
#define SEGMENT_TERM_MAX     ((size_t)255)
#define SEGMENT_ROW_MAX      ((size_t)65535)
#define SEGMENT_TIMES_MAX    ((size_t)1 << 20)
/* The largest weight of a posting. */
#define SEGMENT_WEIGHT_MAX 63

enum segment_section {
    SEGMENT_LISTS,
    SEGMENT_DICTIONARY,
    SEGMENT_INDEX,
    SEGMENT_ROWS,
    SEGMENT_DOCUMENTS,
    SEGMENT_SECTION_COUNT
};

/* Where the fields of a document end in its sequence of words. */
enum document_field {
    FIELD_TITLE,
    FIELD_URL,
    FIELD_ANCHOR,
    FIELD_BODY,
    FIELD_COUNT
};

/* A document: consecutive captures of one row that say the same. */
struct segment_document {
    const int64_t *times_us; /* Of its captures, ascending. Borrowed. */
    uint32_t time_count;
    int64_t next_us; /* Of the row's next document; INT64_MAX: none. */
    uint8_t rank;
    uint64_t likeness;
    uint32_t ends[FIELD_COUNT];
};

/* The dictionary's entry of a term. */
struct segment_term {
    uint64_t postings;
    uint64_t at; /* Of its list. */
    uint64_t skip_bytes;
    uint64_t block_bytes;
    uint64_t position_bytes;
    uint8_t weight; /* The largest of its postings. */
};

#endif /* WEB_SEARCH_SEGMENT_SEGMENT_FORMAT_H */
