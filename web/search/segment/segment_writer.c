/* A segment from front to back, so that it is appended alone: lists go out term
 * by term, everything that is looked up by is collected meanwhile and follows.
 */
#include "web/search/segment/segment_writer.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "web/search/segment/paged_file.h"
#include "web/search/segment/posting_codec.h"

/* The lengths of a document: of all, for its positions, and of its body. */
struct written_document {
    uint32_t words;
    uint32_t body_words;
};

struct segment_writer {
    struct paged_writer *file; /* Owned. */

    /* Rows and documents, as they will be written. */
    struct buf rows;
    struct buf documents;
    struct buf row_key;
    uint64_t row_signature;
    uint64_t row_documents; /* Of the row that was begun. */
    uint64_t row_count;
    bool has_row;
    struct written_document *lengths; /* Owned. */
    uint32_t document_count;
    uint32_t document_cap;
    int64_t last_time_us;

    /* The list of the term that was begun. */
    struct buf term;
    bool has_term;
    uint32_t docs[POSTING_BLOCK_MAX];
    uint32_t frequencies[POSTING_BLOCK_MAX];
    int8_t differences[POSTING_BLOCK_MAX]; /* Of weights from the guess. */
    uint8_t block_weight;                  /* The largest of the block. */
    size_t fill;                           /* Postings in these arrays. */
    uint64_t postings;
    uint8_t weight_max;
    uint32_t block_base;   /* The document after the last block's. */
    uint64_t positions_at; /* Where the block's begin. */
    struct buf skips;
    struct buf blocks;
    struct buf positions;
    struct bit_writer bits;

    /* The dictionary. */
    struct buf dictionary;
    struct buf index;
    struct buf last_term;
    uint64_t term_count;
    uint64_t block_at; /* Where the term block begins in the dictionary. */
    uint64_t block_count;
};

int segment_writer_new(struct fs *fs,
                       const char *path,
                       struct segment_writer **out,
                       struct err *err)
{
    struct segment_writer *w = mem_zalloc(1, sizeof(*w));
    int rc = paged_writer_new(fs, path, &w->file, err);
    w->bits.out = &w->positions;
    if (rc) {
        segment_writer_free(w);
        w = NULL;
    }
    *out = w;
    return rc;
}

struct segment_writer *
segment_writer_to(int (*sink)(void *ctx, struct slice bytes, struct err *err),
                  void *ctx)
{
    struct segment_writer *w = mem_zalloc(1, sizeof(*w));
    w->file = paged_writer_to(sink, ctx);
    w->bits.out = &w->positions;
    return w;
}

void segment_writer_free(struct segment_writer *w)
{
    if (!w)
        return;
    paged_writer_free(w->file);
    buf_close(&w->rows);
    buf_close(&w->documents);
    buf_close(&w->row_key);
    buf_close(&w->term);
    buf_close(&w->skips);
    buf_close(&w->blocks);
    buf_close(&w->positions);
    buf_close(&w->dictionary);
    buf_close(&w->index);
    buf_close(&w->last_term);
    mem_free(w->lengths);
    mem_free(w);
}

uint64_t segment_writer_rows(const struct segment_writer *w)
{
    return w->row_count;
}

uint64_t segment_writer_documents(const struct segment_writer *w)
{
    return w->document_count;
}

uint64_t segment_writer_bytes(const struct segment_writer *w)
{
    return paged_writer_offset(w->file);
}

static size_t shared_bytes(struct slice a, struct slice b)
{
    size_t n = MIN_OF(a.len, b.len);
    size_t i = 0;
    while (i < n && a.data[i] == b.data[i])
        i++;
    return i;
}

/* Replace @to by @s. */
static void buf_set(struct buf *to, struct slice s)
{
    buf_clear(to);
    buf_append_slice(to, s);
}

/* --- rows ---------------------------------------------------------------- */

static void writer_end_row(struct segment_writer *w)
{
    if (!w->has_row)
        return;
    buf_put_varint(&w->rows, w->row_documents);
    buf_put_le64(&w->rows, w->row_signature);
    w->row_count++;
    w->has_row = false;
}

void segment_writer_row(struct segment_writer *w,
                        struct slice key,
                        uint64_t signature)
{
    size_t shared;
    PRE(!w->has_term && key.len <= SEGMENT_ROW_MAX);
    INVARIANT((w->row_count == 0 && !w->has_row) ||
              slice_cmp(buf_slice(&w->row_key), key) < 0); /* INV-1 */
    writer_end_row(w);
    shared = w->row_count % SEGMENT_ROW_GROUP
                 ? shared_bytes(buf_slice(&w->row_key), key)
                 : 0;
    buf_put_varint(&w->rows, shared);
    buf_put_lslice(&w->rows, slice_sub(key, shared, key.len));
    buf_set(&w->row_key, key);
    w->row_signature = signature;
    w->row_documents = 0;
    w->has_row = true;
}

uint32_t segment_writer_document(struct segment_writer *w,
                                 const struct segment_document *d)
{
    uint32_t end = 0;
    PRE(w->has_row && d->time_count > 0);
    if (w->document_count == w->document_cap) {
        w->document_cap = MAX_OF(w->document_cap * 2, 1024);
        w->lengths =
            mem_realloc(w->lengths, w->document_cap * sizeof(*w->lengths));
    }
    buf_put_varint(&w->documents, d->time_count);
    buf_put_zigzag(&w->documents, d->times_us[0] - w->last_time_us);
    for (uint32_t i = 1; i < d->time_count; i++)
        buf_put_varint(&w->documents,
                       (uint64_t)(d->times_us[i] - d->times_us[i - 1]));
    w->last_time_us = d->times_us[d->time_count - 1];
    buf_put_varint(
        &w->documents,
        d->next_us == INT64_MAX ? 0 : (uint64_t)(d->next_us - w->last_time_us));
    buf_put_u8(&w->documents, d->rank);
    buf_put_le64(&w->documents, d->likeness);
    for (int i = 0; i < FIELD_COUNT; i++) {
        PRE(d->ends[i] >= end);
        buf_put_varint(&w->documents, d->ends[i] - end);
        end = d->ends[i];
    }
    w->lengths[w->document_count] = (struct written_document){
        .words = end, .body_words = end - d->ends[FIELD_ANCHOR]};
    w->row_documents++;
    return w->document_count++;
}

/* --- lists --------------------------------------------------------------- */

static void writer_end_block(struct segment_writer *w, bool with_skip)
{
    size_t before = w->blocks.len;
    posting_block_put(&w->blocks, w->block_base, w->document_count, w->docs,
                      w->frequencies, w->differences, w->fill);
    bit_writer_end(&w->bits);
    if (with_skip) {
        buf_put_varint(&w->skips, w->docs[w->fill - 1] - w->block_base);
        buf_put_varint(&w->skips, w->blocks.len - before);
        buf_put_u8(&w->skips, w->block_weight);
        buf_put_varint(&w->skips, w->positions.len - w->positions_at);
    }
    w->weight_max = MAX_OF(w->weight_max, w->block_weight);
    w->block_weight = 0;
    w->block_base = w->docs[w->fill - 1] + 1;
    w->positions_at = w->positions.len;
    w->fill = 0;
}

/* Both lengths in a byte, with what is above 15 behind it. */
static void
writer_put_rest(struct segment_writer *w, size_t shared, struct slice rest)
{
    size_t a = MIN_OF(shared, (size_t)15);
    size_t b = MIN_OF(rest.len, (size_t)15);
    buf_put_u8(&w->dictionary, (uint8_t)(a << 4 | b));
    if (a == 15)
        buf_put_varint(&w->dictionary, shared - a);
    if (b == 15)
        buf_put_varint(&w->dictionary, rest.len - b);
    buf_append_slice(&w->dictionary, rest);
}

/* Write the term's entry in the dictionary; it begins a new block now and then.
 */
static void writer_put_term(struct segment_writer *w)
{
    struct slice term = buf_slice(&w->term);
    size_t shared = 0;
    if (w->term_count % SEGMENT_BLOCK_TERMS == 0) {
        if (w->term_count) {
            buf_put_varint(&w->index, w->dictionary.len - w->block_at);
            w->block_at = w->dictionary.len;
        }
        buf_put_le64(&w->index, paged_writer_offset(w->file));
        buf_put_lslice(&w->index, term);
        w->block_count++;
    } else {
        shared = shared_bytes(buf_slice(&w->last_term), term);
    }
    writer_put_rest(w, shared, slice_sub(term, shared, term.len));
    buf_put_varint(&w->dictionary, w->postings);
    buf_put_u8(&w->dictionary, w->weight_max);
    if (w->postings > POSTING_BLOCK_MAX)
        buf_put_varint(&w->dictionary, w->skips.len);
    buf_put_varint(&w->dictionary, w->blocks.len);
    buf_put_varint(&w->dictionary, w->positions.len);
    buf_set(&w->last_term, term);
    w->term_count++;
}

static int writer_end_term(struct segment_writer *w, struct err *err)
{
    int rc;
    if (!w->has_term || w->postings == 0)
        return 0;
    if (w->fill)
        writer_end_block(w, w->postings > POSTING_BLOCK_MAX);
    writer_put_term(w);
    rc = paged_writer_append(w->file, buf_slice(&w->skips), err);
    if (!rc)
        rc = paged_writer_append(w->file, buf_slice(&w->blocks), err);
    if (!rc)
        rc = paged_writer_append(w->file, buf_slice(&w->positions), err);
    return rc;
}

int segment_writer_term(struct segment_writer *w,
                        struct slice term,
                        struct err *err)
{
    int rc;
    PRE(term.len <= SEGMENT_TERM_MAX);
    INVARIANT(!w->has_term || slice_cmp(buf_slice(&w->term), term) < 0);
    rc = writer_end_term(w, err);
    writer_end_row(w);
    buf_set(&w->term, term);
    w->has_term = true;
    w->postings = 0;
    w->fill = 0;
    w->weight_max = 0;
    w->block_weight = 0;
    w->block_base = 0;
    w->positions_at = 0;
    buf_clear(&w->skips);
    buf_clear(&w->blocks);
    buf_clear(&w->positions);
    return rc;
}

void segment_writer_posting(struct segment_writer *w,
                            uint32_t document,
                            uint8_t weight,
                            const uint32_t *positions,
                            size_t position_count)
{
    const struct written_document *d;
    PRE(w->has_term && position_count > 0);
    PRE(weight >= 1 && weight <= SEGMENT_WEIGHT_MAX);
    PRE(document >= w->block_base);
    INVARIANT(document < w->document_count); /* INV-2 */
    d = &w->lengths[document];
    if (w->fill == POSTING_BLOCK_MAX)
        writer_end_block(w, true);
    w->docs[w->fill] = document;
    w->frequencies[w->fill] = (uint32_t)position_count;
    w->differences[w->fill] =
        (int8_t)(weight -
                 posting_weight_guess((uint32_t)position_count, d->body_words));
    w->block_weight = MAX_OF(w->block_weight, weight);
    w->fill++;
    w->postings++;
    positions_put(&w->bits, d->words, positions, position_count);
}

/* --- the end ------------------------------------------------------------- */

static int writer_section(struct segment_writer *w,
                          const struct buf *bytes,
                          uint64_t *end,
                          struct err *err)
{
    int rc = paged_writer_append(w->file, buf_slice(bytes), err);
    *end = paged_writer_offset(w->file);
    return rc;
}

static int writer_footer(struct segment_writer *w,
                         const uint64_t ends[SEGMENT_SECTION_COUNT],
                         struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;
    buf_append(&b, SEGMENT_FOOTER_MAGIC, 8);
    for (int i = 0; i < SEGMENT_SECTION_COUNT; i++)
        buf_put_le64(&b, ends[i]);
    buf_put_le64(&b, w->term_count);
    buf_put_le64(&b, w->block_count);
    buf_put_le64(&b, w->row_count);
    buf_put_le64(&b, w->document_count);
    buf_put_le64(&b, 0);
    POST(b.len == SEGMENT_FOOTER_BYTES);
    rc = paged_writer_append(w->file, buf_slice(&b), err);
    buf_close(&b);
    return rc;
}

int segment_writer_finish(struct segment_writer *w, struct err *err)
{
    uint64_t ends[SEGMENT_SECTION_COUNT];
    int rc = writer_end_term(w, err);
    writer_end_row(w);
    ends[SEGMENT_LISTS] = paged_writer_offset(w->file);
    if (w->term_count)
        buf_put_varint(&w->index, w->dictionary.len - w->block_at);
    if (!rc)
        rc = writer_section(w, &w->dictionary, &ends[SEGMENT_DICTIONARY], err);
    if (!rc)
        rc = writer_section(w, &w->index, &ends[SEGMENT_INDEX], err);
    if (!rc)
        rc = writer_section(w, &w->rows, &ends[SEGMENT_ROWS], err);
    if (!rc)
        rc = writer_section(w, &w->documents, &ends[SEGMENT_DOCUMENTS], err);
    if (!rc)
        rc = writer_footer(w, ends, err);
    if (!rc)
        rc = paged_writer_finish(w->file, err);
    return rc;
}
