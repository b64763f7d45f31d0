/* HTML in tokens whose bytes, put together, are the input: text, tags, contents
 * of raw elements, comments. By the rules of HTML 5's tokenizer; linear in the
 * input, whatever it holds. Slices are borrowed from it. Pure.
 *
 * Invariants
 *     INV-1. The tokens' bytes are the input in order, without gaps.
 *     INV-2. No token is empty.
 */
#ifndef MAPREDUCE_WARC_HTML_TOKEN_H
#define MAPREDUCE_WARC_HTML_TOKEN_H

#include <stdbool.h>

#include "base/core/slice.h"

enum html_token_kind {
    HTML_TOKEN_TEXT,
    HTML_TOKEN_START,
    HTML_TOKEN_END,
    HTML_TOKEN_RAW,     /* The contents of <script>, <style> and the like. */
    HTML_TOKEN_COMMENT, /* Also <!doctype> and <?…>. */
};

struct html_token {
    enum html_token_kind kind;
    struct slice bytes;
    struct slice name;       /* Of a tag; of RAW, that of its element. */
    struct slice attributes; /* The rest of a START behind its name. */
};

struct html_tokens {
    struct slice html;
    size_t at;
    struct slice raw; /* The element whose raw contents are next; or "". */
};

/* The next token; false: the end. Start from {.html = …, .raw = ""}. */
bool html_token_next(struct html_tokens *t, struct html_token *out);

struct html_attribute {
    struct slice name;
    struct slice value; /* Without quotes, references as written. */
    char quote;         /* '"', '\'', or 0: none. */
    bool has_value;
};

/* Take the next attribute off @rest. */
bool html_attribute_next(struct slice *rest, struct html_attribute *out);

/* Comparison without case with a name in lower case. */
bool html_name_is(struct slice name, const char *lower);

#endif /* MAPREDUCE_WARC_HTML_TOKEN_H */
