/* The console of a server process: what a browser and a scraper see of it.
 *
 *     /            the cell at a glance: nodes, their roles and figures
 *     /status      this node as text, as `quarry cluster status` prints it
 *     /metrics     its metrics, in OpenMetrics or the text format of Prometheus
 *     /vars /fibers /peers /calls     what the methods of server_host.h tell
 *     /health      200, or 503 with why: for load balancers
 *
 * It only tells; nothing can be changed through it, and nobody is asked who
 * they are. So it is off unless an address is given, and should stay on
 * loopback or behind a proxy that asks.
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/metrics/metrics.h"
#include "cli/server_host.h"

struct buf;
struct console;
struct rpc_security;

/* The functions by which the console queries its process. Borrowed for the
 * console's life. */
struct console_source {
    void *ctx;
    /* Append the text of @what. Does not park. */
    void (*text)(void *ctx, enum server_method what, struct buf *out);
    /* Append its metrics. Does not park. */
    void (*metrics)(void *ctx, enum metric_text form, struct buf *out);
    /* 0, or why the process is not well. Does not park. */
    int (*health)(void *ctx, struct err *err);
    const char *names; /* The console's own, with commas. */
    const char *name;
    const char *address;
    const char *cluster;
    const char *const *cell; /* Addresses, maybe with this one. */
    size_t cell_count;
    const struct rpc_security *security;
};

/* Listen on @address ("127.0.0.1:7480"). *@out is owned. Parks. Errors: those
 * of http_listen(). */
MUST_CHECK int console_open(const char *address,
                            const struct console_source *source,
                            struct console **out,
                            struct err *err);
/* Parks. NULL is allowed. */
void console_close(struct console *c);

/* --- pages, for tests too ------------------------------------------------ */

/* One node of the cell, as far as it is known. */
struct console_node {
    const char *address;
    struct slice status; /* As SERVER_STATUS tells; empty: no answer, */
    const char *why_not; /* because of this. */
};

/* The page `/`. */
void console_page(const struct console_source *s,
                  const struct console_node *nodes,
                  size_t count,
                  struct buf *out);
/* The form of the page `/metrics` for a client that sends @accept as its header
 * of that name (NULL: none): OpenMetrics where it asks for that. */
enum metric_text console_metrics_form(const char *accept);

#endif /* CLI_CONSOLE_H */
