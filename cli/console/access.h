/* The right to see the console and to change something through it: the sender
 * of a request, and whether its page was the console's.
 *
 * Without a file of tokens all may view, and nobody may operate. With one, a
 * program sends `Authorization: Bearer TOKEN`, and people log in with a token
 * once and have a session (sessions.h). Wrong tokens are counted by address
 * (attempt_limit.h).
 *
 * A POST must come from a page of the console itself: the headers by which
 * browsers tell where it comes from, if they are there, and for sessions the
 * form's own token.
 *
 * Threads: one loop.
 */
#ifndef CLI_CONSOLE_ACCESS_H
#define CLI_CONSOLE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/console/sessions.h"
#include "cli/console/token_file.h"

struct console_access;
struct http_reply;
struct http_request;
struct world;

struct console_access_options {
    const char *tokens;      /* The file; NULL: none. Borrowed, as all. */
    const char *once;        /* Instead: a token that logs in once, with every
                                right; NULL: none. */
    bool metrics_need_token; /* Else /metrics is for everybody. */
    bool behind_proxy;       /* X-Forwarded-For and -Proto tell the truth. */
};

/* The sender of a request. */
struct console_viewer {
    char name[API_PRINCIPAL_BYTES]; /* "": nobody in particular. */
    char address[128];              /* Of the client. */
    enum console_right right;
    struct console_session *session; /* NULL: none. Until the next parking. */
    char form_token[CONSOLE_SECRET_TEXT]; /* Of the session; or "". */
    uint64_t wait_s; /* Too many wrong tokens from there: seconds. */
};

/* Read the tokens. Parks. *@out is owned. Errors: console_tokens_read(). */
MUST_CHECK int console_access_open(struct world *w,
                                   const struct console_access_options *opts,
                                   struct console_access **out,
                                   struct err *err);
void console_access_close(struct console_access *a); /* NULL is allowed. */
/* Read the tokens again; on error the old ones stay. Parks. */
MUST_CHECK int console_access_reload(struct console_access *a, struct err *err);

/* Find out who sent @r. */
void console_access_identify(struct console_access *a,
                             const struct http_request *r,
                             struct console_viewer *out);
/* May @r's path be seen without a token? */
bool console_access_is_open(const struct console_access *a,
                            const struct http_request *r);
/* True if people can log in: there are tokens. */
bool console_access_has_tokens(const struct console_access *a);
/* 0, or ERR_DENIED: the POST @r of @v may come from another site. */
MUST_CHECK int console_access_check_origin(const struct console_viewer *v,
                                           const struct http_request *r,
                                           struct err *err);

/* Log in with the field `token` of the form @r: on success @reply sets the
 * cookie, and @v is the new viewer. Errors: ERR_DENIED (a wrong token),
 * ERR_EXHAUSTED (too many of them). */
MUST_CHECK int console_access_log_in(struct console_access *a,
                                     const struct http_request *r,
                                     struct console_viewer *v,
                                     struct http_reply *reply,
                                     struct err *err);
/* End the session of @v. */
void console_access_log_out(const struct console_access *a,
                            const struct http_request *r,
                            struct console_viewer *v,
                            struct http_reply *reply);

/* --- parts, for tests too ------------------------------------------------ */

/* Is the header @origin ("https://n1:7480") that of a page at @host? */
bool console_origin_is(const char *origin, const char *host);

#endif /* CLI_CONSOLE_ACCESS_H */
