/* Documents at a time, over the lists of the query's terms.
 *
 * Without a clause that must hold, lists are walked by Block-Max WAND (Ding,
 * Suel 2011): the documents that no sum of the lists' largest weights could
 * bring among the best so far are skipped, a block at a time where the blocks'
 * own largest weights say so. With such clauses their lists are intersected,
 * and the bound only saves computing scores. A site is a range of documents,
 * because rows ascend by reversed hosts.
 */
#include "web/search/query/query_run.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "web/search/query/query_parser.h"
#include "web/search/segment/index_view.h"
#include "web/search/segment/posting_cursor.h"

/* How much the best rank adds: about as much as a rare word in the text. */
#define RANK_SCORE 0.5
/* Sums of doubles in another order differ by less. */
#define BOUND_SLACK (1.0 + 1e-9)

struct document_range {
    uint32_t begin;
    uint32_t end;
};

#define RANGES_MAX (QUERY_SITES_MAX * 3)

struct run_term {
    struct slice term;
    double idf;
    bool is_scored;
    bool is_needed;
};

/* A query as of an index: each different term once. */
struct query_plan {
    const struct index_view *view;
    const struct search_query *query;
    struct run_term terms[QUERY_TERMS_MAX];
    size_t term_count;
    size_t term_of[QUERY_TERMS_MAX]; /* Of the query's terms. */
};

struct part_term {
    struct posting_cursor cursor;
    const struct run_term *plan;
    double bound; /* idf × its largest weight here. */
    bool is_open;
};

struct top_list {
    const struct index_view *view;
    _Atomic uint64_t *shared;  /* See top_share(). */
    struct found_document *at; /* A heap: the worst is first. */
    size_t count;
    size_t limit;
};

struct part_run {
    const struct query_plan *plan;
    const struct index_part *part;
    uint32_t part_index;
    struct part_term terms[QUERY_TERMS_MAX];
    size_t order[QUERY_TERMS_MAX]; /* Of scored terms, for WAND. */
    size_t order_count;
    size_t needed[QUERY_TERMS_MAX];
    size_t needed_count;
    struct document_range sites[RANGES_MAX];
    size_t site_count;
    struct document_range barred[RANGES_MAX];
    size_t barred_count;
    struct top_list top; /* Its own best; at is owned. */
    double rank_max;     /* The most that a rank adds here. */
    uint64_t scored;
    int rc;
    struct err err;
};

/* --- the best so far ----------------------------------------------------- */

static int compare_rows(const struct index_view *v,
                        const struct found_document *a,
                        const struct found_document *b)
{
    const struct segment *s = v->parts[a->part].segment;
    const struct segment *t = v->parts[b->part].segment;
    struct buf x = BUF_INIT;
    struct buf y = BUF_INIT;
    int order;
    segment_row_key(s, s->documents[a->document].row, &x);
    segment_row_key(t, t->documents[b->document].row, &y);
    order = slice_cmp(buf_slice(&x), buf_slice(&y));
    buf_close(&x);
    buf_close(&y);
    return order;
}

/* Does @a come before @b? */
static bool is_better(const struct index_view *v,
                      const struct found_document *a,
                      const struct found_document *b)
{
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score;
    if (a->time_us != b->time_us)
        return a->time_us > b->time_us;
    return compare_rows(v, a, b) < 0;
}

static void top_sift_down(struct top_list *t, size_t at)
{
    struct found_document item = t->at[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= t->count)
            break;
        if (child + 1 < t->count &&
            is_better(t->view, &t->at[child], &t->at[child + 1]))
            child++;
        if (is_better(t->view, &t->at[child], &item))
            break;
        t->at[at] = t->at[child];
        at = child;
    }
    t->at[at] = item;
}

/* Tell the searches of other segments that documents with a lower score than
 * the worst of a full list are not among the best: its bits, which for numbers
 * that are not negative are in the order of the numbers. */
static void top_share(struct top_list *t)
{
    uint64_t bits;
    uint64_t before = atomic_load_explicit(t->shared, memory_order_relaxed);
    memcpy(&bits, &t->at[0].score, sizeof(bits));
    PRE(t->count == t->limit && t->at[0].score >= 0);
    while (before < bits && !atomic_compare_exchange_weak_explicit(
                                t->shared, &before, bits, memory_order_relaxed,
                                memory_order_relaxed)) {
    }
}

static void top_add(struct top_list *t, const struct found_document *d)
{
    size_t at;
    if (t->count == t->limit) {
        if (is_better(t->view, d, &t->at[0])) {
            t->at[0] = *d;
            top_sift_down(t, 0);
            top_share(t);
        }
        return;
    }
    at = t->count++;
    while (at > 0 && is_better(t->view, &t->at[(at - 1) / 2], d)) {
        t->at[at] = t->at[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    t->at[at] = *d;
    if (t->count == t->limit)
        top_share(t);
}

/* Documents with a lower score need not be looked at. */
static double top_threshold(const struct top_list *t)
{
    uint64_t bits = atomic_load_explicit(t->shared, memory_order_relaxed);
    double least;
    if (bits == 0)
        return -1.0;
    memcpy(&least, &bits, sizeof(least));
    return least;
}

/* Best first. */
static void top_sort(struct top_list *t)
{
    size_t count = t->count;
    while (t->count > 1) {
        struct found_document worst = t->at[0];
        t->at[0] = t->at[--t->count];
        top_sift_down(t, 0);
        t->at[t->count] = worst;
    }
    t->count = count;
}

/* --- one document -------------------------------------------------------- */

/* Is the word range of the clause's field? */
static void field_range(const struct document_values *d,
                        enum document_field field,
                        uint32_t *begin,
                        uint32_t *end)
{
    *begin = field == FIELD_COUNT || field == 0 ? 0 : d->ends[field - 1];
    *end = d->ends[field == FIELD_COUNT ? FIELD_COUNT - 1 : field];
}

static bool has_position(const uint32_t *list, size_t count, uint32_t position)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (list[middle] < position)
            low = middle + 1;
        else if (list[middle] > position)
            count = middle;
        else
            return true;
    }
    return false;
}

static struct part_term *
clause_term(struct part_run *r, const struct query_clause *c, size_t i)
{
    return &r->terms[r->plan->term_of[c->first + i]];
}

/* Do the clause's words follow one another in the present document, which has
 * them all? */
static bool clause_positions(struct part_run *r,
                             const struct query_clause *c,
                             uint32_t document)
{
    const struct query_term *terms = r->plan->query->terms + c->first;
    const uint32_t *lists[QUERY_TERMS_MAX];
    size_t counts[QUERY_TERMS_MAX];
    uint32_t begin;
    uint32_t end;
    field_range(&r->part->segment->documents[document], c->field, &begin, &end);
    for (size_t i = 0; i < c->count; i++) {
        lists[i] =
            posting_cursor_positions(&clause_term(r, c, i)->cursor, &counts[i]);
        if (!lists[i])
            return false;
    }
    for (size_t k = 0; k < counts[0]; k++) {
        uint32_t at = lists[0][k];
        bool good = at >= begin && at + terms[c->count - 1].offset < end;
        for (size_t i = 1; i < c->count && good; i++)
            good = has_position(lists[i], counts[i], at + terms[i].offset);
        if (good)
            return true;
    }
    return false;
}

/* Has @document the clause? Its cursors are not behind. */
static bool clause_holds(struct part_run *r,
                         const struct query_clause *c,
                         uint32_t document)
{
    for (size_t i = 0; i < c->count; i++) {
        struct part_term *t = clause_term(r, c, i);
        if (!t->is_open)
            return false;
        posting_cursor_seek(&t->cursor, document);
        if (t->cursor.document != document)
            return false;
    }
    return (c->count == 1 && c->field == FIELD_COUNT) ||
           clause_positions(r, c, document);
}

static bool is_barred(const struct part_run *r, uint32_t document)
{
    for (size_t i = 0; i < r->barred_count; i++)
        if (document >= r->barred[i].begin && document < r->barred[i].end)
            return true;
    return false;
}

/* The newest capture of @d within the dates; false: there is none, or the row
 * has a newer one within them. */
static bool document_time(const struct segment *s,
                          const struct document_values *d,
                          const struct search_query *q,
                          int64_t *us)
{
    const int64_t *times = s->times_us + d->times_at;
    uint32_t i = d->time_count;
    if (d->next_us < q->before_us)
        return false;
    if (q->before_us != INT64_MAX)
        while (i > 0 && times[i - 1] >= q->before_us)
            i--;
    if (i == 0 || times[i - 1] < q->after_us)
        return false;
    *us = times[i - 1];
    return true;
}

/* The terms that are at the document, those that may add most first. */
struct score_order {
    struct part_term *at[QUERY_TERMS_MAX];
    double bounds[QUERY_TERMS_MAX]; /* By the block of each; */
    double sum;                     /* of all that are left. */
    size_t count;
};

static void
score_order_make(struct part_run *r, uint32_t document, struct score_order *o)
{
    o->count = 0;
    o->sum = 0;
    for (size_t i = 0; i < r->plan->term_count; i++) {
        struct part_term *t = &r->terms[i];
        double bound;
        size_t k;
        if (!t->is_open || !t->plan->is_scored)
            continue;
        posting_cursor_seek(&t->cursor, document);
        if (t->cursor.document != document)
            continue;
        bound = t->plan->idf * posting_cursor_bound(&t->cursor);
        for (k = o->count++; k > 0 && o->bounds[k - 1] < bound; k--) {
            o->at[k] = o->at[k - 1];
            o->bounds[k] = o->bounds[k - 1];
        }
        o->at[k] = t;
        o->bounds[k] = bound;
        o->sum += bound;
    }
}

/* The sum of what the terms give @document, in the order of the query, so that
 * equal documents have equal sums; less than @least where they cannot reach it.
 * @least: of the sum, as the terms' bounds. */
static double score_of(struct part_run *r, uint32_t document, double least)
{
    uint8_t weights[QUERY_TERMS_MAX] = {0};
    struct score_order o;
    double known = 0;
    double sum = 0;
    score_order_make(r, document, &o);
    for (size_t i = 0; i < o.count; i++) {
        if ((known + o.sum) * BOUND_SLACK < least)
            return -1.0;
        weights[o.at[i] - r->terms] = posting_cursor_weight(&o.at[i]->cursor);
        known += o.at[i]->plan->idf * weights[o.at[i] - r->terms];
        o.sum -= o.bounds[i];
    }
    for (size_t i = 0; i < r->plan->term_count; i++)
        sum += r->plan->terms[i].idf * weights[i];
    return sum;
}

/* Compute the score of @document, if it is one of those asked for. All cursors
 * of needed terms are at it, none is behind. */
static void run_document(struct part_run *r, uint32_t document)
{
    const struct search_query *q = r->plan->query;
    const struct segment *s = r->part->segment;
    const struct document_values *d = &s->documents[document];
    struct found_document f = {
        .likeness = d->likeness, .part = r->part_index, .document = document};
    double rank = RANK_SCORE / 255.0 * d->rank;
    if (part_hides(r->part, d->row) || is_barred(r, document) ||
        !document_time(s, d, q, &f.time_us))
        return;
    for (size_t i = 0; i < q->clause_count; i++) {
        const struct query_clause *c = &q->clauses[i];
        if (c->role != QUERY_WANTED &&
            clause_holds(r, c, document) != (c->role == QUERY_NEEDED))
            return;
    }
    f.score = score_of(r, document,
                       (top_threshold(&r->top) - rank) * SEGMENT_WEIGHT_MAX);
    if (f.score < 0)
        return;
    f.score = f.score / SEGMENT_WEIGHT_MAX + rank;
    r->scored++;
    top_add(&r->top, &f);
}

/* --- walking lists ------------------------------------------------------- */

static bool cursors_failed(struct part_run *r)
{
    for (size_t i = 0; i < r->plan->term_count; i++)
        if (r->terms[i].is_open && r->terms[i].cursor.rc)
            r->rc = r->terms[i].cursor.rc;
    return r->rc != 0;
}

/* The most that documents can score whose weights sum up to @weights. */
static double bound_of(const struct part_run *r, double weights)
{
    return (weights / SEGMENT_WEIGHT_MAX + r->rank_max) * BOUND_SLACK;
}

/* Sum up what scored terms have at most in the blocks of @document; *@last: the
 * document up to which that holds. */
static double block_bound(struct part_run *r, uint32_t document, uint32_t *last)
{
    double sum = 0;
    *last = POSTING_END;
    for (size_t i = 0; i < r->plan->term_count; i++) {
        struct part_term *t = &r->terms[i];
        uint32_t end;
        if (!t->is_open || !t->plan->is_scored)
            continue;
        sum += t->plan->idf * posting_cursor_block(&t->cursor, document, &end);
        *last = MIN_OF(*last, end);
    }
    return bound_of(r, sum);
}

/* Documents that have all needed terms. */
static void run_needed(struct part_run *r, const struct document_range *range)
{
    uint32_t document = range->begin;
    while (document < range->end && !r->rc) {
        uint32_t at = document;
        uint32_t last;
        for (size_t i = 0; i < r->needed_count; i++) {
            struct part_term *t = &r->terms[r->needed[i]];
            posting_cursor_seek(&t->cursor, at);
            if (t->cursor.document > at) {
                at = t->cursor.document;
                break;
            }
        }
        if (at >= range->end) {
            (void)cursors_failed(r);
            return;
        }
        if (at > document) {
            document = at;
            continue;
        }
        if (block_bound(r, at, &last) < top_threshold(&r->top)) {
            if (last >= range->end)
                return;
            document = last + 1;
            continue;
        }
        run_document(r, at);
        document = at + 1;
    }
}

/* Sort the scored terms by their present documents: few, nearly sorted. */
static void order_terms(struct part_run *r)
{
    for (size_t i = 1; i < r->order_count; i++) {
        size_t term = r->order[i];
        uint32_t document = r->terms[term].cursor.document;
        size_t k = i;
        while (k > 0 && r->terms[r->order[k - 1]].cursor.document > document) {
            r->order[k] = r->order[k - 1];
            k--;
        }
        r->order[k] = term;
    }
    while (r->order_count &&
           r->terms[r->order[r->order_count - 1]].cursor.document ==
               POSTING_END)
        r->order_count--;
}

/* The first term in order with which the lists' bounds reach @threshold;
 * order_count: none. */
static size_t find_pivot(const struct part_run *r, double threshold)
{
    double sum = 0;
    for (size_t i = 0; i < r->order_count; i++) {
        sum += r->terms[r->order[i]].bound;
        if (bound_of(r, sum) >= threshold)
            return i;
    }
    return r->order_count;
}

/* The bound of the blocks around @document of the first @count terms; *@next:
 * the first document that it does not hold for. */
static double
pivot_bound(struct part_run *r, size_t count, uint32_t document, uint32_t *next)
{
    double sum = 0;
    *next = POSTING_END;
    for (size_t i = 0; i < count; i++) {
        struct part_term *t = &r->terms[r->order[i]];
        uint32_t last;
        sum += t->plan->idf * posting_cursor_block(&t->cursor, document, &last);
        *next = MIN_OF(*next, last == POSTING_END ? last : last + 1);
    }
    if (count < r->order_count)
        *next = MIN_OF(*next, r->terms[r->order[count]].cursor.document);
    return bound_of(r, sum);
}

static void run_wanted(struct part_run *r, const struct document_range *range)
{
    for (size_t i = 0; i < r->order_count; i++)
        posting_cursor_seek(&r->terms[r->order[i]].cursor, range->begin);
    while (!r->rc) {
        double threshold = top_threshold(&r->top);
        uint32_t document;
        uint32_t next;
        size_t pivot;
        size_t count;
        order_terms(r);
        pivot = find_pivot(r, threshold);
        if (pivot == r->order_count)
            break;
        document = r->terms[r->order[pivot]].cursor.document;
        if (document >= range->end)
            break;
        count = pivot + 1;
        while (count < r->order_count &&
               r->terms[r->order[count]].cursor.document == document)
            count++;
        if (pivot_bound(r, count, document, &next) < threshold) {
            if (next <= document)
                next = document + 1;
            for (size_t i = 0; i < count; i++)
                posting_cursor_seek(&r->terms[r->order[i]].cursor, next);
        } else if (r->terms[r->order[0]].cursor.document == document) {
            run_document(r, document);
            for (size_t i = 0; i < count; i++)
                posting_cursor_seek(&r->terms[r->order[i]].cursor,
                                    document + 1);
        } else {
            for (size_t i = 0; i < pivot; i++)
                posting_cursor_seek(&r->terms[r->order[i]].cursor, document);
        }
    }
    (void)cursors_failed(r);
}

/* --- a part of the index ------------------------------------------------- */

/* The documents of rows in [@begin, @end). */
static void add_range(struct document_range *ranges,
                      size_t *count,
                      const struct segment *s,
                      struct slice prefix,
                      char after)
{
    struct buf key = BUF_INIT;
    uint32_t begin;
    uint32_t end;
    buf_append_slice(&key, prefix);
    buf_append_byte(&key, after);
    begin = segment_row_find(s, buf_slice(&key));
    key.data[key.len - 1]++;
    end = segment_row_find(s, buf_slice(&key));
    buf_close(&key);
    if (begin < end)
        ranges[(*count)++] = (struct document_range){s->row_documents[begin],
                                                     s->row_documents[end]};
}

static void sort_ranges(struct document_range *ranges, size_t *count)
{
    size_t n = 0;
    for (size_t i = 1; i < *count; i++) {
        struct document_range x = ranges[i];
        size_t k = i;
        while (k > 0 && ranges[k - 1].begin > x.begin) {
            ranges[k] = ranges[k - 1];
            k--;
        }
        ranges[k] = x;
    }
    for (size_t i = 0; i < *count; i++) { /* Join those that overlap. */
        if (n && ranges[i].begin <= ranges[n - 1].end)
            ranges[n - 1].end = MAX_OF(ranges[n - 1].end, ranges[i].end);
        else
            ranges[n++] = ranges[i];
    }
    *count = n;
}

static void find_sites(struct part_run *r)
{
    const struct search_query *q = r->plan->query;
    const struct segment *s = r->part->segment;
    bool any = false;
    for (size_t i = 0; i < q->site_count; i++) {
        const struct query_site *site = &q->sites[i];
        struct document_range *to = site->is_excluded ? r->barred : r->sites;
        size_t *count = site->is_excluded ? &r->barred_count : &r->site_count;
        any |= !site->is_excluded;
        add_range(to, count, s, site->prefix, '/');
        add_range(to, count, s, site->prefix, '.');
        add_range(to, count, s, site->prefix, ':');
    }
    if (!any)
        r->sites[r->site_count++] =
            (struct document_range){0, s->document_count};
    sort_ranges(r->sites, &r->site_count);
}

/* Open the lists; false: a needed one is not here. */
static bool open_terms(struct part_run *r)
{
    const struct query_plan *p = r->plan;
    for (size_t i = 0; i < p->term_count; i++) {
        struct part_term *t = &r->terms[i];
        struct segment_term value;
        bool found;
        t->plan = &p->terms[i];
        t->is_open = false;
        if (r->rc)
            continue;
        r->rc = segment_find_term(r->part->segment, p->terms[i].term, &value,
                                  &found, &r->err);
        if (r->rc || !found)
            continue;
        posting_cursor_open(&t->cursor, r->part->segment, &value, &r->err);
        posting_cursor_seek(&t->cursor, 0);
        t->is_open = true;
        t->bound = t->plan->idf * value.weight;
        if (t->plan->is_needed)
            r->needed[r->needed_count++] = i;
        if (t->plan->is_scored)
            r->order[r->order_count++] = i;
    }
    if (r->rc || cursors_failed(r))
        return false;
    for (size_t i = 0; i < p->term_count; i++)
        if (p->terms[i].is_needed && !r->terms[i].is_open)
            return false;
    return true;
}

static bool has_positive(const struct query_plan *p)
{
    for (size_t i = 0; i < p->term_count; i++)
        if (p->terms[i].is_scored)
            return true;
    return false;
}

static void run_part(struct part_run *r)
{
    find_sites(r);
    if (!open_terms(r))
        return;
    for (size_t i = 0; i < r->site_count && !r->rc; i++) {
        const struct document_range *range = &r->sites[i];
        if (r->needed_count)
            run_needed(r, range);
        else if (has_positive(r->plan))
            run_wanted(r, range);
        else
            for (uint32_t d = range->begin; d < range->end; d++)
                run_document(r, d);
    }
    (void)cursors_failed(r);
}

/* --- the plan ------------------------------------------------------------ */

/* How many live documents of @part have the term. */
static int live_documents_with(const struct index_part *part,
                               struct slice term,
                               uint64_t *count,
                               struct err *err)
{
    struct segment_term value;
    struct posting_cursor *c;
    bool found;
    int rc = segment_find_term(part->segment, term, &value, &found, err);
    if (rc || !found)
        return rc;
    if (!part->hidden) {
        *count += value.postings;
        return 0;
    }
    c = mem_alloc(sizeof(*c));
    posting_cursor_open(c, part->segment, &value, err);
    posting_cursor_seek(c, 0);
    while (c->document != POSTING_END) {
        *count += !part_hides(part, part->segment->documents[c->document].row);
        posting_cursor_next(c);
    }
    rc = c->rc;
    posting_cursor_close(c);
    mem_free(c);
    return rc;
}

double query_idf(uint64_t all, uint64_t documents)
{
    return log(1.0 + ((double)all - (double)documents + 0.5) /
                         ((double)documents + 0.5));
}

static size_t plan_term(struct query_plan *p, struct slice term)
{
    for (size_t i = 0; i < p->term_count; i++)
        if (slice_eq(p->terms[i].term, term))
            return i;
    p->terms[p->term_count] = (struct run_term){.term = term};
    return p->term_count++;
}

static int
make_plan(struct query_plan *p, struct query_counts *counts, struct err *err)
{
    const struct search_query *q = p->query;
    uint64_t documents[QUERY_TERMS_MAX] = {0};
    int rc = 0;
    for (size_t i = 0; i < q->clause_count; i++) {
        const struct query_clause *c = &q->clauses[i];
        for (size_t k = c->first; k < c->first + c->count; k++) {
            size_t t = plan_term(p, q->terms[k].term);
            p->term_of[k] = t;
            p->terms[t].is_scored |= c->role != QUERY_EXCLUDED;
            p->terms[t].is_needed |= c->role == QUERY_NEEDED;
        }
    }
    for (size_t i = 0; i < p->term_count && !rc; i++) {
        for (size_t k = 0; k < p->view->part_count && !rc; k++)
            rc = live_documents_with(&p->view->parts[k], p->terms[i].term,
                                     &documents[i], err);
        p->terms[i].idf = query_idf(p->view->live_documents, documents[i]);
    }
    counts->live_documents = p->view->live_documents;
    for (size_t i = 0; i < q->term_count; i++)
        counts->term_documents[i] = documents[p->term_of[i]];
    return rc;
}

STATIC_ASSERT(QUERY_TERMS_MAX == 48, "query_counts");

/* --- all parts ----------------------------------------------------------- */

static void run_part_begin(struct part_run *run,
                           const struct query_plan *plan,
                           size_t part,
                           size_t limit,
                           _Atomic uint64_t *shared)
{
    run->plan = plan;
    run->part = &plan->view->parts[part];
    run->part_index = (uint32_t)part;
    run->rank_max = RANK_SCORE / 255.0 * run->part->segment->rank_max;
    run->top =
        (struct top_list){.view = plan->view, .limit = limit, .shared = shared};
    run->top.at = mem_alloc(limit * sizeof(*run->top.at));
    err_init(&run->err);
}

static void run_part_end(struct part_run *run)
{
    for (size_t k = 0; k < run->plan->term_count; k++)
        if (run->terms[k].is_open)
            posting_cursor_close(&run->terms[k].cursor);
    mem_free(run->top.at);
    mem_free(run);
}

static void run_part_task(void *run)
{
    run_part(run);
}

/* Search all parts: the large ones but the first each in a task. */
static void run_parts(struct world *world,
                      size_t task_bytes,
                      struct part_run **runs,
                      size_t count)
{
    struct task **tasks = mem_zalloc(count + 1, sizeof(struct task *));
    bool beside = false;
    for (size_t i = 0; i < count; i++) {
        bool large = runs[i]->part->segment->bytes >= task_bytes;
        if (large && beside)
            tasks[i] = task_start(world, "search", run_part_task, runs[i]);
        beside |= large;
    }
    for (size_t i = 0; i < count; i++)
        if (!tasks[i])
            run_part(runs[i]);
    for (size_t i = 0; i < count; i++)
        if (tasks[i])
            task_join(tasks[i]);
    mem_free(tasks);
}

int query_run(struct world *world,
              size_t task_bytes,
              const struct index_view *view,
              const struct search_query *query,
              size_t limit,
              struct found_document *out,
              size_t *count,
              struct query_counts *counts,
              struct err *err)
{
    struct query_plan *plan = mem_zalloc(1, sizeof(*plan));
    size_t parts = view->part_count;
    struct part_run **runs = mem_zalloc(parts + 1, sizeof(struct part_run *));
    _Atomic uint64_t shared = 0;
    struct top_list top = {
        .view = view, .at = out, .limit = limit, .shared = &shared};
    int rc;
    PRE(limit > 0);
    *counts = (struct query_counts){.scored = 0};
    plan->view = view;
    plan->query = query;
    rc = make_plan(plan, counts, err);
    for (size_t i = 0; i < parts && !rc; i++) {
        runs[i] = mem_zalloc(1, sizeof(*runs[i]));
        run_part_begin(runs[i], plan, i, limit, &shared);
    }
    if (!rc)
        run_parts(world, task_bytes, runs, parts);
    for (size_t i = 0; i < parts && runs[i]; i++) {
        if (!rc && runs[i]->rc)
            rc = err_copy(err, &runs[i]->err);
        counts->scored += runs[i]->scored;
        for (size_t k = 0; k < runs[i]->top.count; k++)
            top_add(&top, &runs[i]->top.at[k]);
        run_part_end(runs[i]);
    }
    top_sort(&top);
    *count = rc ? 0 : top.count;
    mem_free(runs);
    mem_free(plan);
    return rc;
}
