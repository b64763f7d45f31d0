/* A request of replay while it is answered, for the files that answer it. */
#ifndef WEB_REPLAY_REPLAY_CALL_H
#define WEB_REPLAY_REPLAY_CALL_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/http/http_form.h"
#include "base/runtime/sync.h"
#include "web/replay/archive.h"
#include "web/replay/crawl_overview.h"
#include "web/replay/replay_server.h"
#include "web/replay/replay_url.h"

struct http_reply;
struct http_request;

/* Beginnings of paths. */
#define REPLAY_WEB     "/web/"
#define REPLAY_CDX     "/cdx"
#define REPLAY_TIMEMAP "/timemap/"
#define REPLAY_STATIC  "/static/"

struct replay_server {
    struct archive *archive; /* Owned. */
    struct http_server *http;
    struct quarry_table *table; /* Borrowed, as these two. */
    struct quarry_table *ranks; /* Or NULL. */
    const struct archive_policy *policy;
    char *table_name;
    struct buf wombat;     /* The script; empty: there is none. */
    struct buf secret;     /* "/~0123…": see replay_server.h. */
    struct buf secret_web; /* The same and "/web/". */
    bool is_proxy;
    bool is_fixed;
    struct mutex overview_lock; /* Of these two. */
    struct crawl_overview overview;
    uint64_t overview_read_us; /* 0: it was not read. */
    replay_guest guest;        /* NULL: none. */
    void *guest_ctx;
};

struct replay_call {
    struct replay_server *replay;
    const struct http_request *request;
    struct http_reply *reply;
    struct buf origin;    /* "http://127.0.0.1:7490", of this request. */
    bool is_archived;     /* An archived page asks: its path has the secret. */
    struct replay_url at; /* The path behind /web/. */
    struct buf url;       /* at.url, absolute and normalised. */
};

/* --- replay_capture.c ---------------------------------------------------- */

/* Answer with the capture that the call asks for, or a redirect to it. */
void replay_capture(struct replay_call *k);
/* Answer a client of a proxy: the capture of its URL as it was. */
void replay_proxy(struct replay_call *k);

/* --- replay_pages.c ------------------------------------------------------ */

/* The page with a form; the table's name. */
void replay_start_page(struct replay_call *k);
/* The banner, and the capture @c of @l in a frame. */
void replay_frame_page(struct replay_call *k,
                       const struct capture_list *l,
                       const struct capture *c);
void replay_calendar_page(struct replay_call *k);
void replay_prefix_page(struct replay_call *k, const struct http_form *query);
/* Two captures side by side. */
void replay_difference_page(struct replay_call *k,
                            const struct http_form *query);
/* An answer of the server itself: a sentence. */
void replay_error(struct replay_call *k, unsigned status, const char *text);
/* The same of a failed call. */
void replay_failed(struct replay_call *k, const struct err *err);
/* No capture of the URL can be shown, of those in @l and those that the policy
 * took off it: 404, or 451 with the reason. */
void replay_not_found(struct replay_call *k, const struct capture_list *l);

/* --- overview_pages.c ---------------------------------------------------- */

/* All three park. The hosts with the most pages; the pages of the highest
 * PageRank, if there is a table of ranks; captures by key and time. */
void replay_hosts_page(struct replay_call *k);
void replay_ranks_page(struct replay_call *k);
void replay_keys_page(struct replay_call *k);

/* --- memento.c ----------------------------------------------------------- */

/* Add Memento-Datetime (with @c) and Link to the reply; @c may be NULL. */
void memento_headers(struct replay_call *k,
                     const struct capture_list *l,
                     const struct capture *c);
/* The instant of Accept-Datetime; false: there is none, or no date. */
bool memento_accepted(const struct replay_call *k, int64_t *us);
/* "/timemap/link/URL", @rest behind "/timemap/". */
void memento_timemap(struct replay_call *k, struct slice rest);

/* --- cdx_query.c --------------------------------------------------------- */

void cdx_query(struct replay_call *k, const struct http_form *query);

/* --- addresses ----------------------------------------------------------- */

/* "/web/", with the server's secret before it if an archived page asks.
 * Borrowed from the server. */
const char *replay_web_of(const struct replay_call *k);
/* Append @web and "DATEmod_/URL" of capture @c, escaped for a header. */
void replay_put_address(struct buf *out,
                        const char *web,
                        const struct capture *c,
                        enum replay_mod mod);

#endif /* WEB_REPLAY_REPLAY_CALL_H */
