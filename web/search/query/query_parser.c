/* Queries as people type them. Nothing but a date, a host and a size can be
 * wrong: a quote that is not closed runs to the end, an unknown field is a
 * word.
 */
#include "web/search/query/query_parser.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "mapreduce/warc/url.h"
#include "web/search/text/word_breaks.h"

struct query_reader {
    struct word_breaker *words;
    struct search_query *out;
    struct slice text;
    size_t at;
    struct err *err;

    /* Of the words that are being read. */
    size_t base; /* Where they begin in the text. */
    size_t first;
    uint32_t offset;
    bool is_full;
};

/* --- words --------------------------------------------------------------- */

static void query_word(void *ctx, const struct word *w)
{
    struct query_reader *r = ctx;
    struct search_query *q = r->out;
    uint32_t offset = r->offset++;
    if (w->term.len == 0)
        return;
    if (q->term_count == QUERY_TERMS_MAX) {
        r->is_full = true;
        return;
    }
    if (q->term_count == r->first)
        r->offset = 1; /* Offsets count from the first that is there. */
    q->terms[q->term_count++] =
        (struct query_term){.term = arena_dup(&q->arena, w->term),
                            .offset = q->term_count == r->first ? 0 : offset,
                            .begin = r->base + w->begin,
                            .end = r->base + w->end};
}

static int query_full(struct query_reader *r)
{
    return err_set(r->err, ERR_TOOBIG,
                   "the query has too many words (at most %d)",
                   QUERY_TERMS_MAX);
}

static int add_clause(struct query_reader *r, const struct query_clause *c)
{
    if (r->out->clause_count == QUERY_CLAUSES_MAX)
        return query_full(r);
    r->out->clauses[r->out->clause_count++] = *c;
    return 0;
}

/* The words of @text as clauses: together where they must follow one another,
 * else one by one. */
static int query_words(struct query_reader *r,
                       struct slice text,
                       enum query_role role,
                       enum document_field field,
                       bool quoted)
{
    struct search_query *q = r->out;
    struct query_clause c = {role, field, q->term_count, 0};
    bool together = quoted || role != QUERY_WANTED || field != FIELD_COUNT;
    int rc = 0;
    r->base = (size_t)(text.data - r->text.data);
    r->first = q->term_count;
    r->offset = 0;
    word_breaks(r->words, text, query_word, r);
    if (r->is_full)
        return query_full(r);
    c.count = q->term_count - c.first;
    if (role == QUERY_WANTED && together)
        c.role = QUERY_NEEDED;
    if (c.count == 0)
        return 0;
    if (together)
        return add_clause(r, &c);
    c.count = 1;
    for (; c.first < q->term_count && !rc; c.first++) {
        q->terms[c.first].offset = 0;
        rc = add_clause(r, &c);
    }
    return rc;
}

/* --- sites and dates ----------------------------------------------------- */

static int query_site(struct query_reader *r, struct slice host, bool excluded)
{
    struct search_query *q = r->out;
    struct buf url = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = 0;
    host = slice_sub(host, 0, slice_find_byte(host, '/'));
    buf_append_str(&url, "http://");
    buf_append_slice(&url, host);
    buf_append_byte(&url, '/');
    if (host.len == 0 || !url_key(buf_slice(&url), &key) || key.len < 2)
        rc = err_set(r->err, ERR_INVALID, "site:%.*s names no host",
                     SLICE_ARG(host));
    else if (q->site_count == QUERY_SITES_MAX)
        rc = err_set(r->err, ERR_TOOBIG, "the query names too many sites");
    else
        q->sites[q->site_count++] = (struct query_site){
            arena_dup(&q->arena, slice_sub(buf_slice(&key), 0, key.len - 1)),
            excluded};
    buf_close(&url);
    buf_close(&key);
    return rc;
}

/* "2024", "2024-05" as their first moment. */
static bool short_date(struct slice s, int64_t *us)
{
    uint64_t year;
    uint64_t month = 1;
    bool with_month = s.len == 7 && s.data[4] == '-';
    if ((s.len != 4 && !with_month) ||
        text_parse_u64(slice_sub(s, 0, 4), &year, NULL) ||
        (with_month && text_parse_u64(slice_sub(s, 5, 7), &month, NULL)) ||
        month < 1 || month > 12)
        return false;
    *us = text_days_from_date((int64_t)year, (unsigned)month, 1) *
          INT64_C(86400000000);
    return true;
}

static int query_date(struct query_reader *r, struct slice date, bool after)
{
    int64_t us;
    if (!short_date(date, &us) && text_parse_time(date, &us, NULL))
        return err_set(r->err, ERR_INVALID,
                       "%s:%.*s is no date: it may be 2024, 2024-05 or "
                       "2024-05-17",
                       after ? "after" : "before", SLICE_ARG(date));
    if (after)
        r->out->after_us = MAX_OF(r->out->after_us, us);
    else
        r->out->before_us = MIN_OF(r->out->before_us, us);
    return 0;
}

/* --- items --------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Take what is quoted, or the word that begins here. */
static struct slice take_operand(struct query_reader *r, bool *quoted)
{
    size_t begin = r->at;
    *quoted = r->at < r->text.len && r->text.data[r->at] == '"';
    if (*quoted) {
        begin = ++r->at;
        while (r->at < r->text.len && r->text.data[r->at] != '"')
            r->at++;
        if (r->at < r->text.len)
            return slice_sub(r->text, begin, r->at++);
        return slice_sub(r->text, begin, r->at);
    }
    while (r->at < r->text.len && !is_blank(r->text.data[r->at]) &&
           r->text.data[r->at] != '"')
        r->at++;
    return slice_sub(r->text, begin, r->at);
}

/* "title:" and so on; none: FIELD_COUNT. */
static enum document_field field_named(struct slice name)
{
    static const char *const names[FIELD_COUNT] = {"title", "url", "anchor",
                                                   "body"};
    for (int i = 0; i < FIELD_COUNT; i++)
        if (slice_eq_str(name, names[i]))
            return (enum document_field)i;
    return FIELD_COUNT;
}

static int query_item(struct query_reader *r)
{
    enum query_role role = QUERY_WANTED;
    struct slice rest;
    struct slice name;
    enum document_field field;
    bool quoted;
    char c = r->text.data[r->at];
    if (c == '-' || c == '+') {
        role = c == '-' ? QUERY_EXCLUDED : QUERY_NEEDED;
        r->at++;
    }
    rest = slice_sub(r->text, r->at, r->text.len);
    name = slice_sub(rest, 0, slice_find_byte(rest, ':'));
    field = name.len < rest.len ? field_named(name) : FIELD_COUNT;
    if (field != FIELD_COUNT) {
        r->at += name.len + 1;
        rest = take_operand(r, &quoted);
        return query_words(r, rest, role, field, quoted);
    }
    rest = take_operand(r, &quoted);
    if (!quoted && slice_starts_with(rest, SLICE_LIT("site:")))
        return query_site(r, slice_sub(rest, 5, rest.len),
                          role == QUERY_EXCLUDED);
    if (!quoted && slice_starts_with(rest, SLICE_LIT("after:")))
        return query_date(r, slice_sub(rest, 6, rest.len), true);
    if (!quoted && slice_starts_with(rest, SLICE_LIT("before:")))
        return query_date(r, slice_sub(rest, 7, rest.len), false);
    return query_words(r, rest, role, FIELD_COUNT, quoted);
}

int search_query_parse(struct word_breaker *b,
                       struct slice text,
                       struct search_query *out,
                       struct err *err)
{
    struct query_reader r = {.words = b, .out = out, .text = text, .err = err};
    bool positive = false;
    int rc = 0;
    out->term_count = out->clause_count = out->site_count = 0;
    out->after_us = INT64_MIN;
    out->before_us = INT64_MAX;
    arena_init(&out->arena);
    if (text.len > QUERY_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "the query is longer than %d bytes",
                       QUERY_BYTES_MAX);
    while (!rc) {
        while (r.at < text.len && is_blank(text.data[r.at]))
            r.at++;
        if (r.at == text.len)
            break;
        rc = query_item(&r);
    }
    for (size_t i = 0; i < out->clause_count; i++)
        positive |= out->clauses[i].role != QUERY_EXCLUDED;
    for (size_t i = 0; i < out->site_count; i++)
        positive |= !out->sites[i].is_excluded;
    if (!rc && !positive)
        rc = err_set(err, ERR_INVALID,
                     "the query has no word and no site to look for");
    return rc;
}

void search_query_close(struct search_query *q)
{
    arena_close(&q->arena);
}
