/* Rows are merged by their keys first, which numbers the documents; then each
 * term's postings by these numbers. Weights and positions are copied: they do
 * not depend on the segment.
 */
#include "web/search/segment/segment_merge.h"

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
    struct posting_cursor cursor; /* Of the present term, */
    bool in_term;                 /* if it has it. */
};

struct merge {
    struct merge_input *inputs;
    size_t count;
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

static void merge_rows(struct merge *m)
{
    for (;;) {
        struct merge_input *least = NULL;
        for (size_t i = 0; i < m->count; i++) {
            struct merge_input *in = &m->inputs[i];
            if (in->has_row && (!least || slice_cmp(in->key, least->key) < 0))
                least = in;
        }
        if (!least)
            return;
        merge_row(m, least);
        input_next_row(least);
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

static int merge_postings(struct merge *m)
{
    for (;;) {
        struct merge_input *least = NULL;
        const uint32_t *positions;
        size_t count;
        uint8_t weight;
        for (size_t i = 0; i < m->count; i++) {
            struct merge_input *in = &m->inputs[i];
            if (!in->in_term)
                continue;
            if (in->cursor.rc)
                return in->cursor.rc;
            if (in->cursor.document != POSTING_END &&
                (!least || in->numbers[in->cursor.document] <
                               least->numbers[least->cursor.document]))
                least = in;
        }
        if (!least)
            return 0;
        weight = posting_cursor_weight(&least->cursor);
        positions =
            weight ? posting_cursor_positions(&least->cursor, &count) : NULL;
        if (!positions)
            return least->cursor.rc;
        segment_writer_posting(m->to, least->numbers[least->cursor.document],
                               weight, positions, count);
        posting_cursor_next(&least->cursor);
        input_settle(least);
    }
}

static int merge_term(struct merge *m, struct slice term)
{
    int rc = segment_writer_term(m->to, term, m->err);
    for (size_t i = 0; i < m->count; i++) {
        struct merge_input *in = &m->inputs[i];
        in->in_term =
            in->has_term && slice_eq(buf_slice(&in->terms.term), term);
        if (!in->in_term)
            continue;
        posting_cursor_open(&in->cursor, in->part->segment, &in->terms.value,
                            m->err);
        posting_cursor_seek(&in->cursor, 0);
        input_settle(in);
    }
    if (!rc)
        rc = merge_postings(m);
    for (size_t i = 0; i < m->count; i++)
        if (m->inputs[i].in_term)
            posting_cursor_close(&m->inputs[i].cursor);
    return rc;
}

static int merge_terms(struct merge *m)
{
    struct buf term = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < m->count && !rc; i++) {
        struct merge_input *in = &m->inputs[i];
        segment_terms_begin(&in->terms, in->part->segment, SLICE_EMPTY);
        rc = segment_terms_next(&in->terms, &in->has_term, m->err);
    }
    while (!rc) {
        struct merge_input *least = NULL;
        for (size_t i = 0; i < m->count; i++) {
            struct merge_input *in = &m->inputs[i];
            if (in->has_term &&
                (!least || slice_cmp(buf_slice(&in->terms.term),
                                     buf_slice(&least->terms.term)) < 0))
                least = in;
        }
        if (!least)
            break;
        buf_clear(&term);
        buf_append_slice(&term, buf_slice(&least->terms.term));
        rc = merge_term(m, buf_slice(&term));
        for (size_t i = 0; i < m->count && !rc; i++)
            if (m->inputs[i].in_term)
                rc = segment_terms_next(&m->inputs[i].terms,
                                        &m->inputs[i].has_term, m->err);
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
    mem_free(m.inputs);
    return rc;
}
