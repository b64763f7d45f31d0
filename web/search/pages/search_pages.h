/* The pages of a search: a form, results that lead to replay, and the same as
 * JSON. They are a guest of replay's server (replay_server.h), which shows what
 * results lead to.
 *
 *     /                     the form; with ?q=… the results
 *     /search?q=…&from=…    the same; all=1: nothing is folded
 *     /search.json?q=…&from=…&limit=…
 *     /suggest.json?q=…     words that begin so
 *     /metrics              counts of all these, for Prometheus
 *
 * Whatever comes from the archive is written as text.
 *
 * Threads: the loop that opened it.
 */
#ifndef WEB_SEARCH_PAGES_SEARCH_PAGES_H
#define WEB_SEARCH_PAGES_SEARCH_PAGES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive_policy;
struct http_form;
struct http_reply;
struct metric_set;
struct quarry_table;
struct search_hit;
struct search_index;
struct search_page;
struct search_server;
struct world;

struct search_server_options {
    struct search_index *index; /* Borrowed, as all here. */
    struct quarry_table *table;
    struct quarry_table *ranks; /* As of replay, or NULL. */
    const char *table_name;
    const char *address; /* "127.0.0.1:0". */
    const char *names;   /* Of the server, beside its address; or NULL. */
    struct slice wombat; /* As of replay. */
    bool is_fixed;       /* The table does not change meanwhile. */
    const struct archive_policy *policy; /* As of replay; the index's is its
                                            own. NULL: all is shown. */
    struct world *world;
    /* Adds metrics of the process; NULL: there are none. */
    void (*process_metrics)(struct metric_set *out);
};

/* Serve search and replay at one address. PRE: on a fiber. *@out is owned.
 * Parks. Errors: those of replay_server_open(). */
MUST_CHECK int search_server_open(const struct search_server_options *opts,
                                  struct search_server **out,
                                  struct err *err);
/* "host:port". Borrowed. */
const char *search_server_address(const struct search_server *s);
/* Stop, and free. Parks. NULL is allowed. */
void search_server_close(struct search_server *s);

/* A hit as a JSON object, as both /search.json and the command line give it.
 * Owned. */
json_t *search_hit_json(const struct search_hit *hit,
                        const struct search_page *page);

#endif /* WEB_SEARCH_PAGES_SEARCH_PAGES_H */
