/* The master of a Bigtable: it decides which tablet server serves which tablet.
 *
 * After section 5.2 of the Bigtable paper. Of all processes with this role one
 * holds the lock /bigtable/master; the others wait for it. A new master learns
 * the state of the cluster in four steps: it takes the lock; reads the
 * directory of tablet servers; asks every live one for its tablets; reads
 * METADATA, assigning the root tablet and METADATA's tablets on the way if
 * nobody serves them. It may die at any moment: all that must be remembered is
 * recorded in METADATA and the lock service, conditionally, and the next master
 * continues from there.
 *
 * Clients read METADATA themselves and need the master only to change tables.
 *
 * Threads: one loop, that of the fiber that opened it. */
#ifndef BIGTABLE_MASTER_MASTER_H
#define BIGTABLE_MASTER_MASTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bigtable/wire/control_calls.h"

struct arena;
struct chubby;
struct cluster_roles;
struct fs;
struct master_keys;
struct master;
struct metadata_store;
struct quarry;
struct rpc_security;
struct rpc_server;
struct metrics;
struct world;

/* Zeros give the defaults. All pointers are borrowed for the master's life. */
struct master_options {
    const char *address;     /* Where others reach this process. */
    const char *const *cell; /* Of the lock service. */
    size_t cell_count;
    const struct rpc_security *security;
    const struct cluster_roles *roles; /* NULL: all callers are. */
    struct metrics *metrics; /* Counts events (events.h); NULL: nothing. */
    struct fs *fs;           /* Its root is BIGTABLE_FS_ROOT. */
    struct master_keys *master_keys; /* With one, tables are encrypted: it makes
                                        BIGTABLE_KEYS. NULL: they are not. */
    /* Opens the cluster through the client library: called when METADATA is
     * needed, once in a term, which closes it. */
    int (*open_client)(void *ctx, struct quarry **out, struct err *err);
    /* Instead of it, another METADATA: for tests. */
    int (*open_store)(void *ctx, struct metadata_store **out, struct err *err);
    void *ctx;
    uint32_t lease_ms;       /* Of its session; 0: chubby.h's. */
    const char *memo;        /* Of its session: see chubby.h; borrowed. */
    uint32_t version;        /* Of a cluster that it founds; 0: 1. */
    uint64_t status_us;      /* Between status calls to a server; 1 s. */
    uint64_t silent_us;      /* A server whose answer takes longer, or that does
                                not answer, loses its lock if that is free;
                                1 s. */
    uint64_t order_us;       /* How long an order's answer is waited for; 60 s.
                              */
    uint64_t balance_us;     /* Between rounds; 10 s. */
    uint64_t still_us;       /* A tablet that moved stays this long; 5 min. */
    uint64_t reread_us;      /* Between readings of METADATA; 1 min. */
    uint64_t garbage_us;     /* Between sweeps; 10 min. */
    uint64_t garbage_age_us; /* Of files that are removed; 1 h. */
    uint64_t merge_us;       /* Between choices; 5 min. */
    uint64_t merge_age_us;   /* Of tablets that are merged; 1 h. */
    uint64_t merge_bytes;    /* Of both; 64 MiB. */
};

/* Add the master's methods to @rpc, which must not listen yet. *@out is owned.
 */
MUST_CHECK int master_open(struct world *w,
                           struct rpc_server *rpc,
                           const struct master_options *opts,
                           struct master **out,
                           struct err *err);
/* Start waiting for the lock, and then a term. */
void master_start(struct master *m);
/* End the term, if there is one, and wait for no other. Parks. */
void master_stop(struct master *m);
/* Stops and frees it. Parks. PRE: no call is running. NULL is allowed. */
void master_close(struct master *m);

struct master_status {
    bool ready; /* It knows where every tablet is. */
    uint64_t servers;
    uint64_t tables;
    uint64_t tablets;
    uint64_t unassigned;
    uint64_t moving;
    uint64_t recovering_logs;
};

/* The state of this master's term. false: it has none. Does not park. */
bool master_get_status(struct master *m, struct master_status *out);
/* Why this process cannot be the master of its cluster: ERR_EXISTS, the lock
 * service has the state of another. 0: it can, as far as is known. Does not
 * park. */
MUST_CHECK int master_health(const struct master *m, struct err *err);
/* The number of METADATA's tablets. Does not park. */
uint64_t master_count_metadata(const struct master *m);
/* Count tables with quotas, and those that are over a quota of size. 0 without
 * a term. Does not park. */
void master_count_quotas(const struct master *m,
                         uint64_t *tables,
                         uint64_t *over);

#endif /* BIGTABLE_MASTER_MASTER_H */
