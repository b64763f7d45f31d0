/* The console: a cluster in a browser, and a server process for scrapers.
 *
 *     /            the overview, and the other pages of console_pages.def, each
 *                  with a twin in JSON: /overview.json, /nodes.json …
 *     /assets/     style and script
 *     /status      this node as text, as `quarry cluster status` prints it
 *     /metrics     its metrics, in OpenMetrics or the text format of Prometheus
 *     /vars /fibers /peers /calls     what the methods of server_host.h tell
 *     /health      200, or 503 with why: for load balancers
 *     /events      documents as they change (events.h)
 *     /actions/    changes of the cluster (actions.h)
 *     /login       see access.h
 *
 * Pages are documents of cli/monitor, rendered: a page and its twin tell the
 * same.
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef CLI_CONSOLE_CONSOLE_H
#define CLI_CONSOLE_CONSOLE_H

#include <jansson.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/metrics/metrics.h"
#include "cli/console/access.h"
#include "cli/console/actions.h"
#include "cli/server_host.h"

struct buf;
struct console;
struct monitor_param;

/* The process and the cluster that the console shows. Borrowed for its life. */
struct console_source {
    void *ctx;
    /* Of a server; NULL, all three: a command, which has no texts of its own.
     * Append the text of @what. Does not park. */
    void (*text)(void *ctx, enum server_method what, struct buf *out);
    /* Append its metrics. Does not park. */
    void (*metrics)(void *ctx, enum metric_text form, struct buf *out);
    /* 0, or why the process is not well. Does not park. */
    int (*health)(void *ctx, struct err *err);
    /* Make the document of @subject (cli/monitor); *@out is owned. Parks. */
    int (*document)(void *ctx,
                    const char *subject,
                    const struct monitor_param *params,
                    size_t count,
                    json_t **out,
                    struct err *err);
    const char *names; /* The console's own, with commas. */
    const char *name;  /* Of the node; "": a command. */
    const char *cluster;
    struct console_access_options access;
    struct action_cluster actions;
};

/* Listen on @address ("127.0.0.1:7480"). *@out is owned. Parks. Errors: those
 * of http_listen() and of console_tokens_read(). */
MUST_CHECK int console_open(const char *address,
                            const struct console_source *source,
                            struct console **out,
                            struct err *err);
/* "host:port" with the port that was chosen. Borrowed. */
const char *console_address(const struct console *c);
/* Do others than this machine reach it, and need no token? Any thread. */
bool console_is_unprotected(const struct console *c);
/* Read the tokens again; on error the old ones stay. Parks. */
MUST_CHECK int console_reload(struct console *c, struct err *err);
/* Parks. NULL is allowed. */
void console_close(struct console *c);

/* The form of the page `/metrics` for a client that sends @accept as its header
 * of that name (NULL: none): OpenMetrics where it asks for that. */
enum metric_text console_metrics_form(const char *accept);

#endif /* CLI_CONSOLE_CONSOLE_H */
