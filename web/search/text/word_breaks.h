/* Words of a text, as searches see them: cut where Unicode says (UAX 29, by
 * ICU, with its dictionaries for Chinese, Japanese, Thai, Khmer, Lao and
 * Burmese) and brought to one form (NFKC_Casefold: case, width, ligatures and
 * soft hyphens make no difference; accents do). No stemming.
 *
 * Bytes that are not UTF-8 are no part of any word.
 *
 * Threads: one breaker, one thread. Nothing waits.
 *
 * Invariants
 *     INV-1. Words ascend and do not overlap; each begins and ends between
 *            characters.
 */
#ifndef WEB_SEARCH_TEXT_WORD_BREAKS_H
#define WEB_SEARCH_TEXT_WORD_BREAKS_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct word_breaker;

/* A longer word has an empty term: it is data. */
#define WORD_TERM_BYTES_MAX ((size_t)120)

struct word {
    struct slice term; /* Borrowed until the next word. */
    size_t begin;      /* Its bytes in the text. */
    size_t end;
};

typedef void (*word_fn)(void *ctx, const struct word *word);

/* Owned: word_breaker_free(). Errors: ERR_UNSUPPORTED (ICU lacks its data). */
MUST_CHECK int word_breaker_new(struct word_breaker **out, struct err *err);
void word_breaker_free(struct word_breaker *b); /* NULL is allowed. */

/* Call @fn for each word of @text. */
void word_breaks(struct word_breaker *b,
                 struct slice text,
                 word_fn fn,
                 void *ctx);
/* The same by ICU alone, to test the quick way against. */
void word_breaks_plain(struct word_breaker *b,
                       struct slice text,
                       word_fn fn,
                       void *ctx);

#endif /* WEB_SEARCH_TEXT_WORD_BREAKS_H */
