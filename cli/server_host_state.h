/* The parts of a server process: shared by server_host.c, which opens and
 * closes it, and server_answers.c, which tells about it.
 */
#ifndef CLI_SERVER_HOST_STATE_H
#define CLI_SERVER_HOST_STATE_H

#include "base/metrics/metrics.h"
#include "base/rpc/remote.h"
#include "cli/role.h"
#include "cli/server_host.h"
#include "cli/server_settings.h" /* SERVER_ROLES_MAX */

struct running_role {
    const struct role *role;
    void *self;
    struct err health; /* As of the last question. */
};

struct server_host {
    struct role_env env;
    const struct server_settings *settings;
    struct rpc_listen_options limits; /* Section [limits]. */
    struct rpc_security *security;    /* Owned, as all below. */
    struct rpc_security *as_process;  /* Of the console, where names are not
                                         proved; NULL: they are. */
    struct master_keys *master_keys;
    struct cluster_roles *cluster;
    struct rpc_server *server;
    struct rpc_listener *listener;
    struct metrics *metrics;
    struct metric_history *history;
    struct tracer *tracer;
    struct otlp_exporter *exporter; /* NULL: spans stay here. */
    char *name;
    char *address;
    struct node_version *version;     /* Of the cluster. */
    struct lock_elsewhere *elsewhere; /* NULL: the lock service is ours. */
    struct running_role roles[SERVER_ROLES_MAX];
    size_t role_count;
    struct loop *loop;
    struct fiber *doctor; /* Asks the roles how they are. */
    bool has_left;        /* The roles were told to stop. */
    struct stale_sessions *stale_sessions;
    struct monitor *monitor; /* NULL: no console. */
    struct console *console; /* NULL: none. */
    uint64_t start_ns;
    void (*failed)(void *ctx);
    void *ctx;
    struct err failure;
};

/* All that this process measures. Owned. */
struct metric_set *server_host_gather(struct server_host *h);
/* As text; @ctx is the host. */
void server_host_put_metrics(void *ctx, enum metric_text form, struct buf *out);
/* The answer to @what, one that is a text; @ctx is the host. */
void server_host_put_text(void *ctx, enum server_method what, struct buf *out);
/* The methods of enum server_method. */
void server_host_add_methods(struct server_host *h);
/* Audit methods that change something for others than their caller. Methods of
 * roles that this process does not have are unknown here. */
void server_host_audit_methods(struct server_host *h);

#endif /* CLI_SERVER_HOST_STATE_H */
