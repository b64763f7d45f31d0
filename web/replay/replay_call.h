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
/* Imported by modules of archived pages: js_rewriter.h. */
#define REPLAY_MODULE REPLAY_STATIC "__wb_module_decl.js"

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
    bool is_other;        /* By another method than GET and HEAD. */
    struct buf asked;     /* Then url with the method and the body in it. */
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
/* Answer a TimeGate's client whose Accept-Datetime is no date (RFC
 * 7089, 4.5.3); false: it has none, or a good one. */
bool memento_refuse_date(struct replay_call *k);
/* "/timemap/link/URL", @rest behind "/timemap/". */
void memento_timemap(struct replay_call *k, struct slice rest);

/* --- cdx_query.c --------------------------------------------------------- */

void cdx_query(struct replay_call *k, const struct http_form *query);

/* --- replay_request.c ---------------------------------------------------- */

/* Bodies of requests: what is looked up is told by less. */
#define REPLAY_BODY_BYTES_MAX ((size_t)256 << 10)

/* The URL that the captures of the call are found by: k->url, and for methods
 * other than GET what the request says. Borrowed from @k. */
struct slice replay_asked_url(struct replay_call *k);
/* Answer OPTIONS of a browser that asks what an archived page may send; false:
 * the request is none. */
bool replay_preflight(struct replay_call *k);
/* "bytes=10-19" or "bytes=-5", within @len bytes: [*from, *to). False: it is
 * none, or one that is not served. *from >= *to: it is outside. */
bool replay_range_of(const char *text, size_t len, size_t *from, size_t *to);
/* Let archived pages read the answer: they have no origin. */
void replay_allow_pages(struct replay_call *k);

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
