/* The services of a server process on their loop: roles, the port, and the
 * methods that tell about the process itself.
 *
 * Threads: one loop; everything parks and runs on a fiber of it.
 */
#ifndef CLI_SERVER_HOST_H
#define CLI_SERVER_HOST_H

#include "base/core/err.h"

struct buf;
struct server_host;
struct server_settings;
struct world;

/* Methods of every server process: nothing; [text]. */
enum server_method {
    SERVER_STATUS = 0x101, /* "key=value …", first the process, then a line
                              "ROLE: …" for each role. The process ends with
                              "left=yes" once its roles have left. */
    SERVER_VARS = 0x102,   /* Metrics, "name{labels} value" lines. */
    SERVER_FIBERS = 0x103, /* The fibers that run. */
    SERVER_PEERS = 0x104,  /* Connections. */
    SERVER_CALLS = 0x105,  /* Spans of sampled calls. */
    /* [change]; [levels]: change the levels of the log ("" not), and tell
     * them, in the form of logger_set_levels(). */
    SERVER_LOG_LEVEL = 0x106,
    SERVER_CONFIG = 0x108,  /* The settings in force (settings_text.h). */
    SERVER_METRICS = 0x107, /* All metrics, in the text format of Prometheus. */
    /* [names, from_us, step_us, count]; [now_us, [[name, points], …]]: what
     * the process remembers of its metrics (history_call.h). */
    SERVER_HISTORY = 0x110,
    SERVER_SPANS = 0x111,          /* span_calls.h */
    SERVER_TRACE_SETTINGS = 0x112, /* The same. */
    /* [bytes]; [text]: the last lines of the log (log_tail.h). */
    SERVER_LOG_TAIL = 0x113,
};

/* Open all roles and the port. @failed(ctx) is called when a role has failed:
 * then stop it all; server_host_failure() says why. @s is borrowed. *@out is
 * owned. Errors: those of the first role that fails, with its name. */
MUST_CHECK int server_host_open(struct world *w,
                                const struct server_settings *s,
                                void (*failed)(void *ctx),
                                void *ctx,
                                struct server_host **out,
                                struct err *err);
/* Read keys, certificates and similar files of roles again. Files that cannot
 * be read leave the old contents in use, and are logged. Parks. */
void server_host_reload(struct server_host *h);
/* The whole cluster will end: the roles take no new work and say goodbye. The
 * port stays open, and the cell is served on: nodes that stop together leave
 * first, while all can still reach it. */
void server_host_leave(struct server_host *h);
/* The roles hand over what they have, and say goodbye. Parks. */
void server_host_stop(struct server_host *h);
/* Stop, and close everything; waits for what is under way, which may wait for
 * nodes that are gone. Parks. NULL is allowed. */
void server_host_close(struct server_host *h);

/* "name address role,role": for the line that says that it is ready. */
void server_host_describe(const struct server_host *h, struct buf *out);
/* 0, or why a role has failed. */
int server_host_failure(const struct server_host *h, struct err *err);

#endif /* CLI_SERVER_HOST_H */
