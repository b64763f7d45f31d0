/* Any bytes as a query, as a text and as a page: what comes of them keeps the
 * invariants of their headers. */
#include <stdlib.h>

#include "base/core/panic.h"
#include "web/search/query/query_parser.h"
#include "web/search/text/page_fields.h"
#include "web/search/text/word_breaks.h"

struct text_walk {
    size_t len;
    size_t last;
};

static void check_word(void *ctx, const struct word *w)
{
    struct text_walk *t = ctx;
    PRE(w->begin >= t->last && w->end > w->begin && w->end <= t->len);
    PRE(w->term.len <= WORD_TERM_BYTES_MAX);
    t->last = w->end;
}

static void check_query(struct word_breaker *b, struct slice text)
{
    struct search_query *q = mem_zalloc(1, sizeof(*q));
    struct err err = ERR_INIT;
    int rc = search_query_parse(b, text, q, &err);
    PRE(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
    PRE(q->term_count <= QUERY_TERMS_MAX);
    for (size_t i = 0; i < q->clause_count; i++) {
        const struct query_clause *c = &q->clauses[i];
        PRE(c->count > 0 && c->first + c->count <= q->term_count);
        for (size_t k = 0; k < c->count; k++)
            PRE(q->terms[c->first + k].end <= text.len);
        for (size_t k = 1; k < c->count; k++)
            PRE(q->terms[c->first + k].offset >
                q->terms[c->first + k - 1].offset);
    }
    search_query_close(q);
    mem_free(q);
}

static void check_page(struct word_breaker *b, struct slice html)
{
    struct page_fields f = {.headings = NULL};
    struct text_walk t = {.last = 0};
    page_fields_html(&f, html);
    for (size_t i = 0; i < f.heading_count; i++)
        PRE(f.headings[i].begin < f.headings[i].end &&
            f.headings[i].end <= f.text.len);
    t.len = f.text.len;
    word_breaks(b, buf_slice(&f.text), check_word, &t);
    page_fields_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct word_breaker *b;
    struct slice bytes = slice_make(data, size);
    struct text_walk t = {.len = size};
    if (!b && word_breaker_new(&b, NULL))
        abort();
    word_breaks(b, bytes, check_word, &t);
    check_query(b, bytes);
    check_page(b, bytes);
    return 0;
}
