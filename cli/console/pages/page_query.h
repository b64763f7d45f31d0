/* The query of a page's address: what the reader chose, so that the address can
 * be shared.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_QUERY_H
#define CLI_CONSOLE_PAGES_PAGE_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/console/html.h"

/* Write the value of @name to @out, decoded. False: it is not given, or does
 * not fit; *out is "" then. */
bool page_query_get(const struct html *h,
                    const char *name,
                    char *out,
                    size_t size);
/* Append ` href="?…"`: the page's query with @name set to @value (NULL: left
 * out), and the other fields kept. */
void page_query_link(struct html *h, const char *name, const char *value);
/* A link to the part of a list that comes after this one: the page's query with
 * @name set to the value of @field of @doc. Nothing without that field. */
void page_query_next(struct html *h,
                     const json_t *doc,
                     const char *field,
                     const char *name,
                     const char *text);

#endif /* CLI_CONSOLE_PAGES_PAGE_QUERY_H */
