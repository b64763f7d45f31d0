/* Live documents for browsers: server-sent events.
 *
 * All viewers of the same document (subject and parameters) share a topic: one
 * fiber makes the document every EVENTS_PERIOD_US while there are viewers, and
 * each viewer's stream writes it when it has changed, or a comment when nothing
 * was written for a while, so that both sides notice when the other has gone.
 *
 *     event: document          event: failure
 *     data: {…}                data: {"error": "…"}
 *
 * Threads: one loop, that of the fiber that made it.
 *
 * Invariants
 *     INV-1. A topic exists while it has viewers or its fiber runs.
 *     INV-2. A topic's text is replaced, never changed: viewers that still
 *            write the old one hold a reference.
 */
#ifndef CLI_CONSOLE_EVENTS_H
#define CLI_CONSOLE_EVENTS_H

#include <jansson.h>

#include "base/core/err.h"

struct events;
struct http_reply;
struct http_request;
struct page_match;

/* A document that changes is sent after this. */
#define EVENTS_PERIOD_US UINT64_C(2000000)
/* A stream ends after this, so that it does not outlive its viewer's session by
 * long; browsers open it again. */
#define EVENTS_STREAM_US UINT64_C(600000000)
/* Without a change, a comment: the second that cannot be sent ends the stream
 * of a viewer who has left, and he may have opened many pages since. */
#define EVENTS_HEARTBEAT_US UINT64_C(2000000)

/* Makes the document of @m; *@out is owned. Parks. Errors: its own. */
typedef int (*events_make)(void *ctx,
                           const struct page_match *m,
                           json_t **out,
                           struct err *err);

/* Owned. @ctx is borrowed. */
struct events *events_new(events_make make, void *ctx);
/* PRE: no stream is left: the HTTP server is closed. Parks. NULL is allowed. */
void events_free(struct events *e);

/* End all streams: rights have changed. Browsers open them again, and are
 * refused if they may not any more. */
void events_end_streams(struct events *e);
/* Answer with the stream of @m's document (what it points to is copied), or
 * with 503 when there are too many streams. */
void events_reply(struct events *e,
                  const struct page_match *m,
                  const struct http_request *request,
                  struct http_reply *reply);

#endif /* CLI_CONSOLE_EVENTS_H */
