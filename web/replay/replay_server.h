/* Replay: the pages of a Webtable in a browser, as they were at any date. The
 * public header of web/replay; docs/replay.md tells what users see.
 *
 * Isolation. Archived pages run scripts that nobody here wrote. They are served
 * on an address of their own, with a policy that gives each page an origin that
 * nothing shares (Content-Security-Policy: sandbox, without allow-same-origin)
 * and that lets it load from this server alone; cookies are never passed on.
 * The pages of the server itself have the console's policy.
 *
 * A page without an origin is, to the server, like a page of any site, which
 * may not read the archive. So the addresses of what is shown in the frame
 * begin with a secret, drawn when the server starts ("/~0123…/web/…").
 *
 * Threads: the loop that opened it.
 */
#ifndef WEB_REPLAY_REPLAY_SERVER_H
#define WEB_REPLAY_REPLAY_SERVER_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive_policy;
struct http_form;
struct http_reply;
struct http_request;
struct quarry_table;
struct replay_server;

/* Answer a request for @path, if it is one of the caller's own; else false. May
 * park. Never asked for what an archived page asks. */
typedef bool (*replay_guest)(void *ctx,
                             struct slice path,
                             const struct http_form *query,
                             struct http_reply *reply);

struct replay_options {
    struct quarry_table *table; /* Borrowed, as all strings. */
    /* Of the job page_rank, for the page of ranks; NULL: there is none. */
    struct quarry_table *ranks;
    const char *table_name;
    const char *address; /* "127.0.0.1:0". */
    const char *names;   /* Of the server, beside its address; or NULL. */
    struct slice wombat; /* The script wombat.js; "": none is served. */
    bool is_fixed;       /* The table does not change while it is open. */
    bool is_proxy;       /* Also answer as a proxy. */
    /* Which captures are not shown; NULL: all are. */
    const struct archive_policy *policy;
    replay_guest guest; /* Other pages at the same address, asked first; or
                           NULL. */
    void *guest_ctx;
};

/* Serve. PRE: on a fiber. *@out is owned. Parks. Errors: ERR_INVALID (the
 * address, or the table lacks a family), ERR_BUSY, ERR_DENIED, ERR_IO, those of
 * reading. */
MUST_CHECK int replay_server_open(const struct replay_options *opts,
                                  struct replay_server **out,
                                  struct err *err);
/* "host:port". Borrowed. */
const char *replay_server_address(const struct replay_server *r);
/* Stop, and free. Parks. NULL is allowed. */
void replay_server_close(struct replay_server *r);

#endif /* WEB_REPLAY_REPLAY_SERVER_H */
