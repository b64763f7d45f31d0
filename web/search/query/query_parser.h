/* The parts of a search, read from what was typed.
 *
 *     query  = item*, blanks between
 *     item   = [+|-] [FIELD:] (word | "words in a row")
 *            | [-] site:HOST | after:DATE | before:DATE
 *     FIELD  = title | url | anchor | body
 *     DATE   = 2024 | 2024-05 | 2024-05-17 | a time of RFC 3339
 *
 * Words are wanted: a page that has one is found, one that has more of them, or
 * rarer ones, comes first. Words in quotes, behind a field or behind a plus
 * must be there, words behind a minus must not. A site is a host with all of
 * its subdomains; of several, any. `after` includes its date, `before` does
 * not.
 *
 * Words are cut and brought to one form as those of pages are (word_breaks.h).
 * Pure.
 *
 * Invariants
 *     INV-1. Each clause has a term at least.
 *     INV-2. after_us < before_us, or there is nothing to find: is_empty.
 */
#ifndef WEB_SEARCH_QUERY_QUERY_PARSER_H
#define WEB_SEARCH_QUERY_QUERY_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "web/search/segment/segment_format.h"

struct word_breaker;

#define QUERY_BYTES_MAX   2048
#define QUERY_CLAUSES_MAX 32
#define QUERY_TERMS_MAX   48
#define QUERY_SITES_MAX   16

enum query_role {
    QUERY_WANTED,
    QUERY_NEEDED,
    QUERY_EXCLUDED,
};

struct query_term {
    struct slice term;
    uint32_t offset; /* In words, from the clause's first. */
    size_t begin;    /* Its bytes in the query. */
    size_t end;
};

struct query_clause {
    enum query_role role;
    enum document_field field; /* FIELD_COUNT: any. */
    size_t first;              /* In terms. */
    size_t count;              /* More than one: in a row. */
};

struct query_site {
    struct slice prefix; /* Of row keys: "com.cnn". */
    bool is_excluded;
};

struct search_query {
    struct query_term terms[QUERY_TERMS_MAX];
    size_t term_count;
    struct query_clause clauses[QUERY_CLAUSES_MAX];
    size_t clause_count;
    struct query_site sites[QUERY_SITES_MAX];
    size_t site_count;
    int64_t after_us;  /* INT64_MIN: any. */
    int64_t before_us; /* INT64_MAX: any. */
    struct arena arena;
};

/* Parse @text into @out, which search_query_close() frees in any case. Errors:
 * ERR_INVALID (a date, a host, nothing to look for), ERR_TOOBIG. */
MUST_CHECK int search_query_parse(struct word_breaker *b,
                                  struct slice text,
                                  struct search_query *out,
                                  struct err *err);
void search_query_close(struct search_query *q);

#endif /* WEB_SEARCH_QUERY_QUERY_PARSER_H */
