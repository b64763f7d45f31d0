/* Writer of HTML: what the pages of the console are made with.
 *
 * Markup is written as literals, which the compiler checks; everything else
 * goes through functions that escape it. There is no way to write other text
 * unescaped, so that a table, a row or a job with a hostile name is text.
 *
 *     html_lit(h, "<tr><td><a");
 *     html_url(h, "href", "/tables/{name}", name);
 *     html_lit(h, ">");
 *     html_str(h, name);
 *     html_lit(h, "</a></td></tr>");
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_HTML_H
#define CLI_CONSOLE_HTML_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* The viewer of the page, and where it is. All is borrowed; "" where unknown.
 */
struct html_view {
    const char *cluster;
    const char *node; /* The server that shows it; "": a command. */
    const char *path; /* Of the page, as it was asked for: "/tables/a%2Fb". */
    const char *query;
    const char *title;
    const char *viewer;     /* The name of the token, or "". */
    bool can_log_out;       /* The viewer has a session. */
    bool may_operate;       /* Buttons that change something are of use. */
    const char *form_token; /* Against forged forms. */
};

struct html {
    struct buf *out;              /* Borrowed, as the view. */
    const struct html_view *view; /* Never NULL. */
};

/* A page's renderer: the part of the page inside <main>, from its document. */
typedef void (*html_fn)(struct html *h, const json_t *doc);

/* Append a literal, unescaped. */
#define html_lit(h, text) html__literal((h), "" text, sizeof(text) - 1)
void html__literal(struct html *h, const char *text, size_t len);

/* --- text, escaped ------------------------------------------------------- */

/* Append text; NULL is nothing. Bytes that are not UTF-8 become U+FFFD. */
void html_text(struct html *h, struct slice s);
void html_str(struct html *h, const char *s);
void html_printf(struct html *h, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A scalar as text: strings without quotes, true as "yes"; objects and arrays
 * as JSON. NULL is nothing. */
void html_json(struct html *h, const json_t *value);

/* Append ` name="value"`. @name is a literal. */
void html_attr(struct html *h, const char *name, const char *value);
void html_attr_slice(struct html *h, const char *name, struct slice value);
void html_attr_int(struct html *h, const char *name, int64_t value);

/* Append ` name="…"` with a URL of ours: each "{}" of @pattern (a literal) is
 * the next of the strings, percent-encoded: "/tables/{}/tablets?from={}". */
void html_url(struct html *h, const char *name, const char *pattern, ...);
/* The URL alone, for other places than HTML. */
void html_url_put(struct buf *out, const char *pattern, ...);

/* --- figures ------------------------------------------------------------- */

/* 1,234,567. */
void html_count(struct html *h, int64_t n);
/* A <time> that the script shows in the reader's zone, and which is UTC without
 * it. */
void html_time(struct html *h, int64_t at_us);

/* --- parts --------------------------------------------------------------- */

/* The hidden field that each form with method="post" needs. */
void html_form_token(struct html *h);
/* Append ` href="/assets/NAME?v=…"` (or src): the file below
 * cli/console/assets/, which browsers may keep for as long as it does not
 * change. */
void html_asset(struct html *h, const char *attribute, const char *name);

#endif /* CLI_CONSOLE_HTML_H */
