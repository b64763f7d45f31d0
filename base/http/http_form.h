/* Names and values as browsers send them: "a=1&b=x%20y" after the question mark
 * of a URL and in the body of a form (application/x-www-form-urlencoded), and
 * the segments of a path.
 *
 * Accepted text is decoded, UTF-8, and free of NUL; anything else is refused
 * as a whole, so that no handler sees a part of it.
 *
 * Pure. Threads: any.
 *
 * Invariants
 *     INV-1. Names and values are UTF-8 without NUL, and end in one.
 *     INV-2. count <= HTTP_FIELDS_MAX.
 */
#ifndef BASE_HTTP_HTTP_FORM_H
#define BASE_HTTP_HTTP_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Fields of one form, and segments of one path. */
#define HTTP_FIELDS_MAX   64
#define HTTP_SEGMENTS_MAX 16

struct http_field {
    const char *name; /* Borrowed from the form. */
    const char *value;
};

/* Zeroed: empty. */
struct http_form {
    char *text; /* The fields point into it; owned. */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t count;
};

struct http_segments {
    char *text; /* Owned. */
    const char *at[HTTP_SEGMENTS_MAX];
    size_t count;
};

/* Parse "a=1&b=2" into @out, which http_form_close() frees in any case. A plus
 * sign is a space. Errors: ERR_INVALID (an escape, a byte), ERR_TOOBIG (more
 * than HTTP_FIELDS_MAX). */
MUST_CHECK int
http_form_parse(struct slice text, struct http_form *out, struct err *err);
void http_form_close(struct http_form *f);
/* The value of the first field @name; NULL: there is none. Borrowed. */
const char *http_form_get(const struct http_form *f, const char *name);

/* Split "/tables/a%2Fb" at its slashes and decode each part: "tables", "a/b".
 * "/" has none, and a slash at the end adds an empty one. @out is closed in any
 * case. Errors: as above, and ERR_INVALID without a slash in front. */
MUST_CHECK int http_segments_parse(struct slice path,
                                   struct http_segments *out,
                                   struct err *err);
void http_segments_close(struct http_segments *s);

/* The value of the cookie @name in the header @cookies ("a=1; b=2"; NULL
 * allowed), or an empty slice. Borrowed from it. */
struct slice http_cookie(const char *cookies, const char *name);

#endif /* BASE_HTTP_HTTP_FORM_H */
