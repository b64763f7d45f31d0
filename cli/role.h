/* A role of the server process: a service that `quarry server` hosts.
 *
 * One process hosts any set of roles; all add their methods to one rpc server
 * and answer on one port. Each role is an entry of the table in server_roles.c:
 *
 *     extern const struct role lock_role;      // role_lock.c
 *
 * Order: open() of each role, in the table's order, with the server not yet
 * listening; the port opens; started() of each; health() of each, every second;
 * … SIGTERM, or one that is not well …; stopping() of all at once; the port
 * closes and running calls are cancelled; close() of each in reverse.
 *
 * Threads: everything is called on a fiber of the server's loop.
 */
#ifndef CLI_ROLE_H
#define CLI_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/cluster_version.h"
#include "base/core/err.h"

struct buf;
struct cluster_roles;
struct conf;
struct master_keys;
struct rpc_security;
struct rpc_server;
struct metric_set;
struct metrics;
struct world;

/* The environment of a role. Borrowed for the life of the process. */
struct role_env {
    struct world *world;
    struct rpc_server *server; /* Add methods to it in open(). */
    const struct rpc_security *security;
    struct master_keys *master_keys; /* NULL: nothing is encrypted. */
    const char *trusted; /* Principals that are the cluster's own, too, with
                            commas; NULL: not told. */
    const struct cluster_roles *roles; /* With these: base/rpc/roles.h. */
    const char *key; /* Paths of what it was made from; "": none. */
    const char *certificate;
    const char *certificate_key;
    const char *authority;
    struct metrics *metrics;
    struct conf *conf;   /* The configuration file; section "[ROLE]" is
                            the role's. Never NULL, maybe empty. */
    const char *data;    /* Directory of the process; a role keeps its files
                            in data/ROLE. */
    const char *name;    /* Of this node: "n1". */
    const char *address; /* Where others reach this process: "host:port". */
    const char *cell;    /* "host:port,…": who runs lock servers and
                            namenodes, the same on every node. */
    const char *const *cell_members; /* The same, one by one. */
    size_t cell_count;
    const char *const *lock_servers; /* Whom sessions are opened with: the cell,
                                        or a service that others run. */
    size_t lock_server_count;
    size_t cell_index;       /* Of this node among them; SIZE_MAX: not one. */
    const char *cluster;     /* Name of the cluster. */
    const char *rack;        /* "" when not told. */
    const uint32_t *version; /* The cluster's, as it is known now; at least 1.
                                New things of
                                      a version are used from it on. */
    struct version_range versions; /* That this process speaks. */
    bool has_tablets;              /* This process has the role `tablet`. */
    const char *bigtable_api; /* Where to serve the public API; "": nowhere. */
    const char *api_certificate; /* Paths; "": none. Of its TLS, */
    const char *api_certificate_key;
    const char *api_authority; /* of who signed its clients' certificates, */
    const char *api_tokens;    /* of its clients' tokens, */
    const char *api_jwt_key;   /* of the key that JWTs are verified with. */
};

struct role {
    const char *name; /* "lock"; also its section and directory. */
    const char *help; /* One line for --help. */
    /* Open the service: recover its state, add its methods. *@out is the role's
     * own. Parks. Any error ends the process with its text. */
    int (*open)(const struct role_env *env, void **out, struct err *err);
    /* The port is open. Does not wait for other nodes. NULL: nothing. */
    int (*started)(void *role, struct err *err);
    /* Append "key=value …" about its state, on one line without its end. Does
     * not park. NULL: nothing. */
    void (*status)(void *role, struct buf *out);
    /* Add the same and more as metrics. Does not park. NULL: nothing. */
    void (*gather)(void *role, struct metric_set *out);
    /* Does @principal hold something here without which the cluster would lose
     * something (a lock)? Then it finds a place when connections are many. Does
     * not park. NULL: nobody does. */
    bool (*has_holder)(void *role, const char *principal);
    /* 0, or why the role is unhealthy; called every second. With ERR_FULL, a
     * full disk, the role waits for space and the process continues, and
     * reports it. With ERR_CLOSED it has lost its place in the cluster: the
     * process logs why, stops, and restarts itself. With any other error the
     * role has failed: the process stops in order and ends with status 1, for
     * its supervisor. Does not park. NULL: always well. */
    int (*health)(void *role, struct err *err);
    /* SIGHUP: read certificates, tokens and the like again; on error all stays
     * as it was. Parks. NULL: nothing. */
    int (*reload)(void *role, struct err *err);
    /* The process will end: hand over, take no new work. Parks. NULL: nothing.
     */
    void (*stopping)(void *role);
    /* Instead of stopping(), when the whole cluster will end and there is
     * nobody to hand over to: take no new work, say goodbye. Parks. NULL:
     * stopping(). */
    void (*leaving)(void *role);
    /* Parks. */
    void (*close)(void *role);
};

/* Where a client of the role notes its session with the lock service: a process
 * that was killed and restarts ends it at once (stale_sessions.h). @client:
 * unique in the process. Owned: mem_free(). */
char *role_memo(const struct role_env *env, const char *client);

/* All roles there are, in the order of their opening; ends with NULL. */
extern const struct role *const server_roles[];

#endif /* CLI_ROLE_H */
