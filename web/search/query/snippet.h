/* The words of a query in a text, and the part of a text that shows most of
 * them. Nothing waits. */
#ifndef WEB_SEARCH_QUERY_SNIPPET_H
#define WEB_SEARCH_QUERY_SNIPPET_H

#include <stddef.h>

#include "base/core/slice.h"
#include "web/search/query/query_parser.h"
#include "web/search/search.h"

struct word_breaker;

/* The terms that are highlighted, and how much each is worth. */
struct search_words {
    struct slice terms[QUERY_TERMS_MAX];
    double worth[QUERY_TERMS_MAX];
    size_t count;
};

/* Copy @text, without line ends, and mark the words in it. At most @bytes_max,
 * cut between words. */
void snippet_mark(struct word_breaker *b,
                  const struct search_words *words,
                  struct slice text,
                  size_t bytes_max,
                  struct search_text *out);
/* The part of @text with the most of the words, some 300 bytes of it; "…" where
 * text is left out. */
void snippet_make(struct word_breaker *b,
                  const struct search_words *words,
                  struct slice text,
                  struct search_text *out);

#endif /* WEB_SEARCH_QUERY_SNIPPET_H */
