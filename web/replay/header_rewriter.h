/* Headers of archived answers as the archive gives them out.
 *
 * Kept are those that describe the bytes (Content-Language,
 * Content-Disposition, Content-Range); links in Location, Content-Location,
 * Refresh and Link lead into the archive. All others, among them cookies,
 * policies, caching, codings that are undone and HSTS, mean nothing here or
 * would reach pages of others: they are given as X-Archive-Orig-NAME, as far as
 * HEADER_BYTES_MAX reaches.
 *
 * Pure.
 */
#ifndef WEB_REPLAY_HEADER_REWRITER_H
#define WEB_REPLAY_HEADER_REWRITER_H

#include "base/core/slice.h"
#include "web/replay/link_rewriter.h"

struct http_reply;

/* Of the names and values of one answer: they must fit in a connection. */
#define HEADER_BYTES_MAX ((size_t)12 << 10)

/* Add the headers of @head, status line and headers as they came, to @reply.
 * Redirects lead to the same use, @mod. */
void headers_rewrite(struct link_rewriter *links,
                     struct slice head,
                     enum replay_mod mod,
                     struct http_reply *reply);

#endif /* WEB_REPLAY_HEADER_REWRITER_H */
