/* The postings of one term in one segment, by ascending documents.
 *
 * A failure (damage, the disk) ends the list: the cursor's document becomes
 * POSTING_END, and rc and the error tell why. Callers look at rc at the
 * end.
 *
 * Threads: one. Functions that move park.
 *
 * Invariants
 *     INV-1. document is that of the posting `at` of the decoded block, or
 *            POSTING_END.
 *     INV-2. Documents strictly ascend.
 *     INV-3. A block's frequencies and weights are decoded when one of them is
 *            first asked for: most blocks are only looked through.
 */
#ifndef WEB_SEARCH_SEGMENT_POSTING_CURSOR_H
#define WEB_SEARCH_SEGMENT_POSTING_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "web/search/segment/posting_codec.h"
#include "web/search/segment/segment_format.h"

struct segment;

#define POSTING_END UINT32_MAX

struct posting_skip {
    uint32_t last;  /* The block's last document. */
    uint32_t bytes; /* Of the block. */
    uint64_t at;    /* Of the block, in the stream; */
    uint64_t positions_at;
    uint32_t position_bytes;
    uint8_t weight; /* The largest in it. */
};

struct posting_cursor {
    const struct segment *segment; /* Borrowed. */
    struct segment_term term;
    uint32_t document;

    struct posting_skip *skips; /* Owned. */
    size_t block_count;
    size_t block;   /* Decoded now; block_count: none. */
    size_t shallow; /* The block that posting_cursor_block() found last. */
    size_t at;      /* In the arrays. */
    size_t fill;
    uint32_t docs[POSTING_BLOCK_MAX];
    struct bit_reader values; /* Of the block, until has_values. */
    bool has_values;          /* These are decoded, too: */
    uint32_t frequencies[POSTING_BLOCK_MAX];
    int8_t differences[POSTING_BLOCK_MAX];
    char *bytes; /* Of blocks and positions. Owned. */
    size_t bytes_cap;

    char *position_bytes; /* Of the block; owned. */
    size_t position_cap;
    size_t position_block; /* They are of this block; SIZE_MAX: none. */
    size_t position_next;  /* The posting whose positions come next. */
    struct bit_reader bits;
    uint32_t *positions; /* Of the present posting. Owned. */
    size_t positions_cap;

    int rc;
    struct err *err; /* Borrowed. */
};

/* Begin before the first posting: then call posting_cursor_seek(0). @err is
 * borrowed for the cursor's life. */
void posting_cursor_open(struct posting_cursor *c,
                         const struct segment *s,
                         const struct segment_term *term,
                         struct err *err);
void posting_cursor_close(struct posting_cursor *c);

/* Step to the first posting at or behind @document, which is not before the
 * present one. */
void posting_cursor_seek(struct posting_cursor *c, uint32_t document);
void posting_cursor_next(struct posting_cursor *c);
/* The largest weight in the present posting's block. */
uint8_t posting_cursor_bound(const struct posting_cursor *c);
/* The weight of the present posting; 0: it failed. Does not park. */
uint8_t posting_cursor_weight(struct posting_cursor *c);
/* The largest weight in the block that would hold @document, and in *@last its
 * last document; 0 and POSTING_END behind the end. Reads nothing. @document
 * does not descend from call to call, unless seek() went less far. */
uint8_t posting_cursor_block(struct posting_cursor *c,
                             uint32_t document,
                             uint32_t *last);
/* The positions of the present posting, *@count of them, borrowed until the
 * next call. NULL: it failed. */
const uint32_t *posting_cursor_positions(struct posting_cursor *c,
                                         size_t *count);

#endif /* WEB_SEARCH_SEGMENT_POSTING_CURSOR_H */
