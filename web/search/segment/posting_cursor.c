/* Blocks are decoded when a document in them is asked for; skips say which, so
 * that a query reads few blocks of a term that most pages have.
 */
#include "web/search/segment/posting_cursor.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/segment_reader.h"

/* The most bytes of a block: a document has at most 7 bytes, a frequency 8, a
 * weight 1. */
#define BLOCK_BYTES_MAX ((size_t)POSTING_BLOCK_MAX * 16)

static void cursor_fail(struct posting_cursor *c, const char *what)
{
    if (!c->rc)
        c->rc = err_set(c->err, ERR_CORRUPT, "segment %s: %s is damaged",
                        c->segment->path, what);
    c->document = POSTING_END;
    c->block = c->block_count;
    c->fill = 0;
}

/* Read bytes of the stream into *@to, which grows. */
static bool cursor_load(struct posting_cursor *c,
                        uint64_t at,
                        size_t len,
                        char **to,
                        size_t *cap)
{
    if (len > *cap) {
        mem_free(*to);
        *cap = 0;
        *to = mem_try_alloc(len);
        if (!*to) {
            c->rc = err_set(c->err, ERR_NOMEM, "no memory for a list");
            return false;
        }
        *cap = len;
    }
    if (!c->rc)
        c->rc = paged_reader_read(c->segment->file, at, *to, len, c->err);
    return c->rc == 0;
}

/* --- skips --------------------------------------------------------------- */

static bool skips_decode(struct posting_cursor *c, struct slice bytes)
{
    struct cursor from = cursor_make(bytes);
    uint64_t at = c->term.at + c->term.skip_bytes;
    uint64_t positions = at + c->term.block_bytes;
    uint64_t end = positions + c->term.position_bytes;
    uint64_t blocks_end = positions;
    uint64_t next = 0;
    for (size_t i = 0; i < c->block_count; i++) {
        struct posting_skip *s = &c->skips[i];
        uint64_t last = next + cursor_varint(&from);
        uint64_t block_bytes = cursor_varint(&from);
        uint64_t position_bytes;
        s->weight = cursor_u8(&from);
        position_bytes = cursor_varint(&from);
        if (from.bad || last < next || last >= c->segment->document_count ||
            block_bytes > blocks_end - at || block_bytes > BLOCK_BYTES_MAX ||
            position_bytes > end - positions || position_bytes > UINT32_MAX)
            return false;
        s->last = (uint32_t)last;
        s->bytes = (uint32_t)block_bytes;
        s->at = at;
        s->positions_at = positions;
        s->position_bytes = (uint32_t)position_bytes;
        at += block_bytes;
        positions += position_bytes;
        next = last + 1;
    }
    return at == blocks_end && positions == end && cursor_left(&from) == 0;
}

/* A short list has no skips: one that covers it all. */
static bool skips_make(struct posting_cursor *c)
{
    if (c->term.skip_bytes || c->term.block_bytes > BLOCK_BYTES_MAX ||
        c->term.position_bytes > UINT32_MAX)
        return false;
    c->skips[0] = (struct posting_skip){
        .last = c->segment->document_count - 1,
        .bytes = (uint32_t)c->term.block_bytes,
        .at = c->term.at,
        .positions_at = c->term.at + c->term.block_bytes,
        .position_bytes = (uint32_t)c->term.position_bytes,
        .weight = c->term.weight};
    return true;
}

void posting_cursor_open(struct posting_cursor *c,
                         const struct segment *s,
                         const struct segment_term *term,
                         struct err *err)
{
    bool good;
    c->segment = s;
    c->term = *term;
    c->document = 0;
    c->at = 0;
    c->fill = 0;
    c->shallow = 0;
    c->bytes = NULL;
    c->bytes_cap = 0;
    c->position_bytes = NULL;
    c->position_cap = 0;
    c->position_block = SIZE_MAX;
    c->positions = NULL;
    c->positions_cap = 0;
    c->rc = 0;
    c->err = err;
    c->block_count =
        (size_t)((term->postings + POSTING_BLOCK_MAX - 1) / POSTING_BLOCK_MAX);
    c->block = c->block_count;
    c->skips = mem_zalloc(c->block_count, sizeof(*c->skips));
    if (term->postings <= POSTING_BLOCK_MAX)
        good = skips_make(c);
    else
        good = cursor_load(c, term->at, (size_t)term->skip_bytes, &c->bytes,
                           &c->bytes_cap) &&
               skips_decode(c, slice_make(c->bytes, (size_t)term->skip_bytes));
    if (!good)
        cursor_fail(c, "a list");
}

void posting_cursor_close(struct posting_cursor *c)
{
    mem_free(c->skips);
    mem_free(c->bytes);
    mem_free(c->position_bytes);
    mem_free(c->positions);
}

/* --- documents ----------------------------------------------------------- */

static size_t block_postings(const struct posting_cursor *c, size_t block)
{
    return block + 1 < c->block_count
               ? POSTING_BLOCK_MAX
               : (size_t)(c->term.postings - block * POSTING_BLOCK_MAX);
}

static bool block_decode(struct posting_cursor *c, size_t block)
{
    const struct posting_skip *s = &c->skips[block];
    uint32_t base = block ? s[-1].last + 1 : 0;
    if (!cursor_load(c, s->at, s->bytes, &c->bytes, &c->bytes_cap))
        return false;
    c->fill = block_postings(c, block);
    c->block = block;
    c->at = 0;
    c->has_values = false;
    return posting_docs_get(&c->values, slice_make(c->bytes, s->bytes), base,
                            c->segment->document_count, c->fill, c->docs) &&
           c->docs[c->fill - 1] <= s->last;
}

/* Decode the block's frequencies and weights: INV-3. */
static bool values_decode(struct posting_cursor *c)
{
    if (!c->has_values)
        c->has_values = posting_values_get(&c->values, c->fill, c->frequencies,
                                           c->differences);
    return c->has_values;
}

/* The first block from @from on whose last document is not before @document. */
static size_t
find_skip(const struct posting_cursor *c, size_t from, uint32_t document)
{
    size_t step = 1;
    size_t low = from;
    size_t high;
    while (low + step < c->block_count &&
           c->skips[low + step].last < document) {
        low += step;
        step *= 2;
    }
    high = MIN_OF(low + step, c->block_count);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->skips[middle].last < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void cursor_take(struct posting_cursor *c)
{
    c->document = c->docs[c->at];
}

void posting_cursor_seek(struct posting_cursor *c, uint32_t document)
{
    size_t block;
    if (c->rc || c->document == POSTING_END)
        return;
    if (c->fill && c->document >= document)
        return;
    block = find_skip(c, c->block == c->block_count ? 0 : c->block, document);
    if (block == c->block_count) {
        c->document = POSTING_END;
        return;
    }
    if ((block != c->block || c->fill == 0) && !block_decode(c, block)) {
        cursor_fail(c, "a block of postings");
        return;
    }
    while (c->at < c->fill && c->docs[c->at] < document)
        c->at++;
    if (c->at == c->fill) { /* Of a list without skips: its end. */
        if (c->block + 1 < c->block_count)
            cursor_fail(c, "a block of postings");
        c->document = POSTING_END;
        return;
    }
    cursor_take(c);
}

void posting_cursor_next(struct posting_cursor *c)
{
    PRE(c->document != POSTING_END);
    if (++c->at < c->fill) {
        cursor_take(c);
        return;
    }
    c->at = c->fill - 1;
    if (c->block + 1 >= c->block_count) {
        c->document = POSTING_END;
        return;
    }
    if (!block_decode(c, c->block + 1))
        cursor_fail(c, "a block of postings");
    else
        cursor_take(c);
}

uint8_t posting_cursor_bound(const struct posting_cursor *c)
{
    PRE(c->document != POSTING_END && c->at < c->fill);
    return c->skips[c->block].weight;
}

uint8_t posting_cursor_weight(struct posting_cursor *c)
{
    int weight;
    PRE(c->document != POSTING_END && c->at < c->fill);
    if (!values_decode(c)) {
        cursor_fail(c, "a block of postings");
        return 0;
    }
    weight = c->differences[c->at] +
             posting_weight_guess(
                 c->frequencies[c->at],
                 document_body_words(&c->segment->documents[c->document]));
    if (weight < 1 || weight > SEGMENT_WEIGHT_MAX) {
        cursor_fail(c, "a weight");
        return 0;
    }
    return (uint8_t)weight;
}

uint8_t posting_cursor_block(struct posting_cursor *c,
                             uint32_t document,
                             uint32_t *last)
{
    size_t from = c->shallow;
    if (c->rc) {
        *last = POSTING_END;
        return 0;
    }
    if (from >= c->block_count || (from && c->skips[from - 1].last >= document))
        from = 0;
    c->shallow = find_skip(c, from, document);
    if (c->shallow == c->block_count) {
        *last = POSTING_END;
        return 0;
    }
    *last = c->skips[c->shallow].last;
    return c->skips[c->shallow].weight;
}

/* --- positions ----------------------------------------------------------- */

static uint32_t document_length(const struct posting_cursor *c, size_t at)
{
    return c->segment->documents[c->docs[at]].ends[FIELD_COUNT - 1];
}

static bool positions_load(struct posting_cursor *c)
{
    const struct posting_skip *s = &c->skips[c->block];
    if (!cursor_load(c, s->positions_at, s->position_bytes, &c->position_bytes,
                     &c->position_cap))
        return false;
    bit_reader_init(&c->bits, slice_make(c->position_bytes, s->position_bytes));
    c->position_block = c->block;
    c->position_next = 0;
    return true;
}

const uint32_t *posting_cursor_positions(struct posting_cursor *c,
                                         size_t *count)
{
    bool good = values_decode(c);
    size_t n;
    PRE(c->document != POSTING_END && c->at < c->fill);
    if (!good) {
        cursor_fail(c, "a block of postings");
        return NULL;
    }
    n = c->frequencies[c->at];
    *count = n;
    if (c->position_block == c->block && c->position_next == c->at + 1)
        return c->positions; /* Read before. */
    if (c->position_block != c->block || c->position_next > c->at)
        good = positions_load(c);
    while (good && c->position_next < c->at) {
        good = positions_get(&c->bits, document_length(c, c->position_next),
                             c->frequencies[c->position_next], NULL);
        c->position_next++;
    }
    if (good && n > document_length(c, c->at))
        good = false;
    if (good && n > c->positions_cap) {
        mem_free(c->positions);
        c->positions = mem_alloc(n * 2 * sizeof(*c->positions));
        c->positions_cap = n * 2;
    }
    if (good)
        good =
            positions_get(&c->bits, document_length(c, c->at), n, c->positions);
    c->position_next = c->at + 1;
    if (!good) {
        cursor_fail(c, "a list of positions");
        return NULL;
    }
    return c->positions;
}
