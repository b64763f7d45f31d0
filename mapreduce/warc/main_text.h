/* The main text of a page of HTML: without menus, footers, comments, links to
 * other pages.
 *
 * Two published methods, one after the other. Parts that their elements or
 * names call a frame are left out, as resiliparse and Readability do (J.
 * Bevendorff, S. Gupta, J. Kiesel, B. Stein, An Empirical Comparison of Web
 * Content Extraction Algorithms, SIGIR 2023); of the rest, the decision tree of
 * Kohlschütter et al. (WSDM 2010, algorithm 2) takes a block for text or not,
 * by its words and links and those of its neighbours. Neither knows a language.
 *
 * Linear in the input. Threads: one at a time an extractor. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_MAIN_TEXT_H
#define MAPREDUCE_WARC_MAIN_TEXT_H

#include "base/core/slice.h"

struct main_text;

struct main_text *main_text_new(void);    /* Owned: main_text_free(). */
void main_text_free(struct main_text *m); /* NULL is allowed. */

/* The main text of @html (UTF-8), a line a block; "" if there is none. Borrowed
 * from @m until the next call. */
struct slice main_text_of(struct main_text *m, struct slice html);

/* All text that the page shows, likewise. */
struct slice main_text_all(struct main_text *m, struct slice html);

/* @text, of a page that is text alone, as valid UTF-8; likewise. */
struct slice main_text_plain(struct main_text *m, struct slice text);

#endif /* MAPREDUCE_WARC_MAIN_TEXT_H */
