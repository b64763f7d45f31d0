/* The public Cloud Bigtable API over a store: google.bigtable.v2 and
 * google.bigtable.admin.v2 on gRPC, so that official clients and what is built
 * on them work unchanged with BIGTABLE_EMULATOR_HOST.
 *
 * Everything goes through quarry.h: what serves the rows, a directory or a
 * cluster, is the caller's choice. Resources of the API that are not tables
 * (instances, app profiles, labels) are in the store's table GATEWAY_TABLE.
 *
 * Threads: everything is called on a fiber of one loop.
 */
#ifndef BIGTABLE_GATEWAY_GATEWAY_H
#define BIGTABLE_GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct gateway;
struct gsql_engine;
struct quarry;
struct tls_context;
struct metric_set;
struct metrics;
struct world;

/* Not shown by the API. */
#define GATEWAY_TABLE ".bigtable-api"

struct gateway_options {
    const char *address; /* "host:port"; port 0: any. */
    const char *home;    /* The instance whose tables are the store's own ones;
                            NULL: "quarry". */
    struct metrics *metrics; /* Borrowed; NULL: counts nothing. */
    bool together;           /* Rows of calls that come at once are written at
                                once: for a store in this process, where none of
                                them waits for another's server. */
    unsigned workers;        /* Threads for long calls, at most; 0: 16. */
    const struct tls_context *tls; /* Borrowed; NULL: no TLS. */
    bool certificates;             /* Clients' certificates say who calls. */
    const char *tokens;        /* File of tokens (api_auth.h), read again every
                                  five seconds; NULL: none. */
    const char *jwt_key;       /* File of a public key for JWTs; NULL: none. */
    const char *jwt_issuer;    /* NULL: any. */
    const char *jwt_audience;  /* NULL: any. */
    size_t buffered_bytes_max; /* Of requests and replies; 0: 1 GiB. */
    struct gsql_engine
        *engine;      /* Of queries; borrowed; NULL: there are none. */
    unsigned queries; /* Run at once, at most; 0: 4. */
};

/* Serve @q (borrowed) on @opts->address. Callers who have to say who they are
 * have the rights of that principal (quarry_as()), where the store knows
 * rights; where nobody has to, only this machine's own addresses are served.
 * Parks. Errors: as grpc_server_open() and api_auth_open(). */
MUST_CHECK int gateway_open(struct world *w,
                            struct quarry *q,
                            const struct gateway_options *opts,
                            struct gateway **out,
                            struct err *err);
/* With the port that was chosen. Borrowed. */
const char *gateway_address(const struct gateway *g);
/* Append "bigtable-api=HOST:PORT connections=2 calls=5", without a line's end.
 * Any thread. */
void gateway_status(const struct gateway *g, struct buf *out);
/* Add the same as metrics. Any thread. */
void gateway_gather(const struct gateway *g, struct metric_set *out);
/* Running calls end or are cancelled. Parks. NULL is allowed. */
void gateway_close(struct gateway *g);

#endif /* BIGTABLE_GATEWAY_GATEWAY_H */
