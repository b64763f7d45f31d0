/* Terms come sorted, so that each shares most of its row of distances with the
 * one before: only the rows of what differs are computed, and where a row has
 * no value within bounds all terms with that beginning are left out.
 */
#include "web/search/query/term_suggestion.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "web/search/segment/index_view.h"
#include "web/search/text/word_breaks.h"

/* Far more: a term of a tenth as many documents may be a mistake. */
#define NEAR_TIMES     10
#define NEAR_BYTES_MIN 3
#define NEAR_BYTES_MAX ((size_t)48)
/* Terms that a suggestion looks at, at most: 20 ms. */
#define NEAR_TERMS_MAX   200000
#define PREFIX_TERMS_MAX 50000

/* --- near terms ---------------------------------------------------------- */

/* Rows of the table of edit distances (Levenshtein), one for each byte of the
 * term that is looked at. */
struct distance_table {
    struct slice wanted;
    unsigned max;
    uint8_t rows[NEAR_BYTES_MAX + 4][NEAR_BYTES_MAX + 1];
    char bytes[NEAR_BYTES_MAX + 4];
    size_t len; /* Rows that hold for `bytes`. */
};

static void distance_row(struct distance_table *d, size_t i, char c)
{
    uint8_t *row = d->rows[i];
    const uint8_t *above = d->rows[i - 1];
    row[0] = (uint8_t)i;
    for (size_t k = 1; k <= d->wanted.len; k++) {
        unsigned cost = d->wanted.data[k - 1] != c;
        unsigned best = above[k - 1] + cost;
        best = MIN_OF(best, above[k] + 1U);
        best = MIN_OF(best, row[k - 1] + 1U);
        if (i > 1 && k > 1 && d->wanted.data[k - 2] == c &&
            d->wanted.data[k - 1] == d->bytes[i - 2]) /* Two are swapped. */
            best = MIN_OF(best, d->rows[i - 2][k - 2] + 1U);
        row[k] = (uint8_t)best;
    }
}

static bool row_is_near(const struct distance_table *d, size_t i)
{
    for (size_t k = 0; k <= d->wanted.len; k++)
        if (d->rows[i][k] <= d->max)
            return true;
    return false;
}

/* The distance of @term; above max where it is not near. */
static unsigned distance_to(struct distance_table *d, struct slice term)
{
    size_t shared = 0;
    if (term.len > d->wanted.len + d->max || term.len + d->max < d->wanted.len)
        return d->max + 1;
    while (shared < d->len && shared < term.len &&
           d->bytes[shared] == term.data[shared])
        shared++;
    for (size_t i = shared; i < term.len; i++) {
        d->bytes[i] = term.data[i];
        distance_row(d, i + 1, term.data[i]);
        if (!row_is_near(d, i + 1) && !(i && row_is_near(d, i))) {
            d->len = i + 1;
            return d->max + 1;
        }
    }
    d->len = term.len;
    return d->rows[term.len][d->wanted.len];
}

struct near_best {
    struct buf term;
    unsigned distance;
    uint64_t documents;
};

static int near_in_part(const struct segment *s,
                        struct distance_table *d,
                        uint64_t least,
                        struct near_best *best,
                        struct err *err)
{
    struct segment_terms t;
    struct slice first = slice_sub(d->wanted, 0, 1);
    bool more = true;
    int rc = 0;
    segment_terms_begin(&t, s, first);
    for (unsigned n = 0; n < NEAR_TERMS_MAX && !rc; n++) {
        struct slice term;
        unsigned distance;
        rc = segment_terms_next(&t, &more, err);
        if (rc || !more)
            break;
        term = buf_slice(&t.term);
        if (!slice_starts_with(term, first)) {
            if (slice_cmp(term, first) > 0)
                break;
            continue;
        }
        if (t.value.postings < least)
            continue;
        distance = distance_to(d, term);
        if (distance == 0 || distance > d->max || distance > best->distance ||
            (distance == best->distance && t.value.postings <= best->documents))
            continue;
        best->distance = distance;
        best->documents = t.value.postings;
        buf_clear(&best->term);
        buf_append_slice(&best->term, term);
    }
    segment_terms_close(&t);
    return rc;
}

static bool has_digit(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] >= '0' && s.data[i] <= '9')
            return true;
    return false;
}

int term_suggestion_near(const struct index_view *view,
                         struct slice term,
                         uint64_t documents,
                         struct buf *out,
                         struct err *err)
{
    struct distance_table *d;
    struct near_best best = {.distance = UINT32_MAX};
    int rc = 0;
    buf_clear(out);
    if (term.len < NEAR_BYTES_MIN || term.len > NEAR_BYTES_MAX ||
        has_digit(term))
        return 0;
    d = mem_zalloc(1, sizeof(*d));
    d->wanted = term;
    d->max = term.len <= 4 ? 1 : 2;
    for (size_t k = 0; k <= term.len; k++)
        d->rows[0][k] = (uint8_t)k;
    for (size_t i = 0; i < view->part_count && !rc; i++) {
        d->len = 0;
        rc = near_in_part(view->parts[i].segment, d, documents * NEAR_TIMES + 1,
                          &best, err);
    }
    buf_append_slice(out, buf_slice(&best.term));
    buf_close(&best.term);
    mem_free(d);
    return rc;
}

/* --- prefixes ------------------------------------------------------------ */

struct prefix_term {
    struct buf term;
    uint64_t documents;
};

struct prefix_list {
    struct prefix_term at[32]; /* Of most documents first. */
    size_t count;
    size_t limit;
};

static void prefix_add(struct prefix_list *l, struct slice term, uint64_t n)
{
    struct prefix_term moved;
    size_t at = l->count;
    for (size_t i = 0; i < l->count; i++)
        if (slice_eq(buf_slice(&l->at[i].term), term)) { /* Of another part. */
            l->at[i].documents += n;
            at = i;
        }
    if (at == l->count) {
        if (l->count == l->limit) {
            if (l->at[l->count - 1].documents >= n)
                return;
            at--;
        } else {
            l->count++;
        }
        buf_clear(&l->at[at].term);
        buf_append_slice(&l->at[at].term, term);
        l->at[at].documents = n;
    }
    moved = l->at[at];
    while (at > 0 && l->at[at - 1].documents < moved.documents) {
        l->at[at] = l->at[at - 1];
        at--;
    }
    l->at[at] = moved;
}

static int prefix_in_part(const struct segment *s,
                          struct slice prefix,
                          struct prefix_list *out,
                          struct err *err)
{
    struct segment_terms t;
    int rc = 0;
    segment_terms_begin(&t, s, prefix);
    for (unsigned n = 0; n < PREFIX_TERMS_MAX && !rc; n++) {
        bool more;
        struct slice term;
        rc = segment_terms_next(&t, &more, err);
        if (rc || !more)
            break;
        term = buf_slice(&t.term);
        if (slice_starts_with(term, prefix))
            prefix_add(out, term, t.value.postings);
        else if (slice_cmp(term, prefix) > 0)
            break;
    }
    segment_terms_close(&t);
    return rc;
}

int term_suggestion_prefix(const struct index_view *view,
                           struct slice prefix,
                           size_t limit,
                           struct buf *out,
                           struct err *err)
{
    struct prefix_list *l = mem_zalloc(1, sizeof(*l));
    int rc = 0;
    l->limit = MIN_OF(limit, ARRAY_LEN(l->at));
    for (size_t i = 0; i < view->part_count && !rc && prefix.len; i++)
        rc = prefix_in_part(view->parts[i].segment, prefix, l, err);
    for (size_t i = 0; i < ARRAY_LEN(l->at); i++) {
        if (!rc && i < l->count) {
            buf_append_slice(out, buf_slice(&l->at[i].term));
            buf_append_byte(out, '\n');
        }
        buf_close(&l->at[i].term);
    }
    mem_free(l);
    return rc;
}
