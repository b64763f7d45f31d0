/* Rows are merged by their keys first, which numbers the documents; then each
 * term's postings by these numbers. Weights and positions are copied: they do
 * not depend on the segment. All three are merged by heaps, since a build of
 * many workers leaves hundreds of segments.
 */
#include "web/search/segment/segment_merge.h"

#include "base/core/heap.h"
#include "base/core/panic.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/posting_cursor.h"
#include "web/search/segment/segment_writer.h"

#define NO_DOCUMENT UINT32_MAX

struct merge_input {
    const struct index_part *part; /* Borrowed. */
    uint32_t *numbers;             /* New ones of its documents; owned. */
    struct segment_rows rows;
    struct slice key;
    bool has_row;
    struct segment_terms terms;
    bool has_term;
    struct posting_cursor cursor; /* Of the present term. */
};

struct merge {
    struct merge_input *inputs;
    size_t count;
    struct merge_input **heap; /* Those that have a row, or a term, left. */
    size_t heap_count;
    struct merge_input **in_term; /* Those that have the present term; */
    size_t in_term_count;
    struct merge_input **lists; /* of them, those with postings left. */
    size_t list_count;
    bool keep_empty;
    struct segment_writer *to;
    struct err *err;
};

/* --- rows ---------------------------------------------------------------- */

static void input_next_row(struct merge_input *in)
{
    do {
        in->has_row = segment_rows_next(&in->rows, &in->key);
    } while (in->has_row && part_hides(in->part, in->rows.next - 1));
}

static void merge_row(struct merge *m, struct merge_input *in)
{
    const struct segment *s = in->part->segment;
    uint32_t row = in->rows.next - 1;
    uint32_t begin = s->row_documents[row];
    uint32_t end = s->row_documents[row + 1];
    if (begin == end && !m->keep_empty && s->row_signatures[row] == 0)
        return;
    segment_writer_row(m->to, in->key, s->row_signatures[row]);
    for (uint32_t i = begin; i < end; i++) {
        const struct document_values *d = &s->documents[i];
        struct segment_document out = {.times_us = s->times_us + d->times_at,
                                       .time_count = d->time_count,
                                       .next_us = d->next_us,
                                       .rank = d->rank,
                                       .likeness = d->likeness};
        for (int k = 0; k < FIELD_COUNT; k++)
            out.ends[k] = d->ends[k];
        in->numbers[i] = segment_writer_document(m->to, &out);
    }
}

static bool row_before(struct merge *m,
                       struct merge_input *const *a,
                       struct merge_input *const *b)
{
    (void)m;
    return slice_cmp((*a)->key, (*b)->key) < 0;
}

HEAP_DEFINE(row_heap, struct merge_input *, struct merge *, row_before);

static void merge_rows(struct merge *m)
{
    m->heap_count = 0;
    for (size_t i = 0; i < m->count; i++)
        if (m->inputs[i].has_row)
            m->heap[m->heap_count++] = &m->inputs[i];
    row_heap_make(m, m->heap, m->heap_count);
    while (m->heap_count) {
        struct merge_input *least = m->heap[0];
        merge_row(m, least);
        input_next_row(least);
        if (least->has_row)
            row_heap_sift_down(m, m->heap, m->heap_count, 0);
        else
            row_heap_take_out(m, m->heap, &m->heap_count, 0);
    }
}

/* --- terms --------------------------------------------------------------- */

/* Step to the next posting whose document counts. */
static void input_settle(struct merge_input *in)
{
    while (in->cursor.document != POSTING_END &&
           in->numbers[in->cursor.document] == NO_DOCUMENT)
        posting_cursor_next(&in->cursor);
}

static uint32_t input_number(const struct merge_input *in)
{
    return in->numbers[in->cursor.document];
}

static bool number_before(struct merge *m,
                          struct merge_input *const *a,
                          struct merge_input *const *b)
{
    (void)m;
    return input_number(*a) < input_number(*b);
}

HEAP_DEFINE(list_heap, struct merge_input *, struct merge *, number_before);

static int merge_posting(struct merge *m, struct merge_input *in)
{
    const uint32_t *positions;
    size_t count = 0;
    uint8_t weight = posting_cursor_weight(&in->cursor);
    positions = weight ? posting_cursor_positions(&in->cursor, &count) : NULL;
    if (!positions)
        return in->cursor.rc;
    segment_writer_posting(m->to, input_number(in), weight, positions, count);
    posting_cursor_next(&in->cursor);
    input_settle(in);
    return in->cursor.rc;
}

static int merge_postings(struct merge *m)
{
    int rc = 0;
    m->list_count = 0;
    for (size_t i = 0; i < m->in_term_count; i++) {
        struct merge_input *in = m->in_term[i];
        if (in->cursor.rc)
            return in->cursor.rc;
        if (in->cursor.document != POSTING_END)
            m->lists[m->list_count++] = in;
    }
    list_heap_make(m, m->lists, m->list_count);
    while (m->list_count && !rc) {
        struct merge_input *least = m->lists[0];
        rc = merge_posting(m, least);
        if (least->cursor.document == POSTING_END)
            list_heap_take_out(m, m->lists, &m->list_count, 0);
        else
            list_heap_sift_down(m, m->lists, m->list_count, 0);
    }
    return rc;
}

static bool term_before(struct merge *m,
                        struct merge_input *const *a,
                        struct merge_input *const *b)
{
    (void)m;
    return slice_cmp(buf_slice(&(*a)->terms.term),
                     buf_slice(&(*b)->terms.term)) < 0;
}

HEAP_DEFINE(term_heap, struct merge_input *, struct merge *, term_before);

/* Take the inputs that have the least term, which is put into @term. */
static void take_term(struct merge *m, struct buf *term)
{
    m->in_term_count = 0;
    buf_clear(term);
    buf_append_slice(term, buf_slice(&m->heap[0]->terms.term));
    while (m->heap_count &&
           slice_eq(buf_slice(&m->heap[0]->terms.term), buf_slice(term))) {
        m->in_term[m->in_term_count++] = m->heap[0];
        term_heap_take_out(m, m->heap, &m->heap_count, 0);
    }
}

static int merge_term(struct merge *m, struct slice term)
{
    int rc = segment_writer_term(m->to, term, m->err);
    for (size_t i = 0; i < m->in_term_count; i++) {
        struct merge_input *in = m->in_term[i];
        posting_cursor_open(&in->cursor, in->part->segment, &in->terms.value,
                            m->err);
        posting_cursor_seek(&in->cursor, 0);
        input_settle(in);
    }
    if (!rc)
        rc = merge_postings(m);
    for (size_t i = 0; i < m->in_term_count; i++)
        posting_cursor_close(&m->in_term[i]->cursor);
    return rc;
}

/* Step the input to its next term, and put it back. */
static int return_input(struct merge *m, struct merge_input *in)
{
    int rc = segment_terms_next(&in->terms, &in->has_term, m->err);
    if (rc || !in->has_term)
        return rc;
    m->heap[m->heap_count] = in;
    term_heap_sift_up(m, m->heap, m->heap_count++);
    return 0;
}

static int merge_terms(struct merge *m)
{
    struct buf term = BUF_INIT;
    int rc = 0;
    m->heap_count = 0;
    for (size_t i = 0; i < m->count && !rc; i++) {
        segment_terms_begin(&m->inputs[i].terms, m->inputs[i].part->segment,
                            SLICE_EMPTY);
        rc = return_input(m, &m->inputs[i]);
    }
    while (!rc && m->heap_count) {
        take_term(m, &term);
        rc = merge_term(m, buf_slice(&term));
        for (size_t i = 0; i < m->in_term_count && !rc; i++)
            rc = return_input(m, m->in_term[i]);
    }
    buf_close(&term);
    return rc;
}

static void input_open(struct merge_input *in, const struct index_part *part)
{
    const struct segment *s = part->segment;
    in->part = part;
    in->numbers = mem_alloc(((size_t)s->document_count + 1) * 4);
    for (uint32_t i = 0; i < s->document_count; i++)
        in->numbers[i] = NO_DOCUMENT;
    segment_rows_begin(&in->rows, s, 0);
    input_next_row(in);
}

int segment_merge(const struct index_part *parts,
                  size_t count,
                  bool keep_empty,
                  struct segment_writer *w,
                  struct err *err)
{
    struct merge m = {
        .count = count, .keep_empty = keep_empty, .to = w, .err = err};
    int rc;
    PRE(count > 0);
    m.inputs = mem_zalloc(count, sizeof(*m.inputs));
    m.heap = mem_zalloc(3 * count, sizeof(*m.heap));
    m.in_term = m.heap + count;
    m.lists = m.in_term + count;
    for (size_t i = 0; i < count; i++)
        input_open(&m.inputs[i], &parts[i]);
    merge_rows(&m);
    rc = merge_terms(&m);
    if (!rc)
        rc = segment_writer_finish(w, err);
    for (size_t i = 0; i < count; i++) {
        mem_free(m.inputs[i].numbers);
        segment_rows_close(&m.inputs[i].rows);
        segment_terms_close(&m.inputs[i].terms);
    }
    mem_free(m.heap);
    mem_free(m.inputs);
    return rc;
}
