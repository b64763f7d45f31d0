/* Documents about a cluster: JSON objects about a subject, such as `nodes` or
 * `table`. The console's pages, their JSON twins and
 * `quarry monitor` show the same documents. docs/monitoring.md lists subjects,
 * parameters and fields.
 *
 * A monitor asks the nodes, the master, the namenode and the job master, and
 * keeps their answers for a second: several documents cost the questions of
 * one, and a node that does not answer delays one document by its time-out and
 * no later ones.
 *
 * Threads: one loop, that of the fiber that opened it; any number of fibers.
 */
#ifndef CLI_MONITOR_MONITOR_H
#define CLI_MONITOR_MONITOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/server_host.h"

struct buf;
struct monitor;
struct rpc_security;
struct world;

/* A parameter of a document: "name", "webtable". */
struct monitor_param {
    const char *name;
    const char *value;
};

/* The cluster and the process that looks at it. Borrowed for the monitor's
 * life. */
struct monitor_source {
    struct world *world;
    const struct rpc_security *security;
    const char *cluster;     /* Its name. */
    const char *const *cell; /* "host:port" of lock servers and namenodes; all
                                other nodes are found through them. */
    size_t cell_count;
    /* A server process: its own address, and the texts that it would answer
     * with. Does not park. NULL in a command. */
    const char *own_address;
    void (*own_text)(void *ctx, enum server_method what, struct buf *out);
    void *ctx;
};

/* *@out is owned. Nothing is asked yet. Errors: ERR_INVALID (no cell). */
MUST_CHECK int monitor_open(const struct monitor_source *source,
                            struct monitor **out,
                            struct err *err);
/* Parks. PRE: no document is being made. NULL is allowed. */
void monitor_close(struct monitor *m);

/* Make the document of @subject. *@out is owned: json_decref(). Parks. Errors:
 * ERR_NOTFOUND (no such subject, table, job …), ERR_INVALID (a parameter),
 * ERR_UNAVAILABLE. Parts that cannot be asked are sentences in `warnings`
 * instead. */
MUST_CHECK int monitor_make(struct monitor *m,
                            const char *subject,
                            const struct monitor_param *params,
                            size_t count,
                            json_t **out,
                            struct err *err);

/* The @index-th subject: its name and its parameters, separated by commas. NULL
 * at the end. Borrowed for ever. */
const char *monitor_subject(size_t index, const char **params);
/* Has @subject a parameter @name? False, too, if there is no such subject. */
bool monitor_subject_takes(const char *subject, const char *name);

#endif /* CLI_MONITOR_MONITOR_H */
