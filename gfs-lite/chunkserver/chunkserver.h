/* A chunk server: stores chunks, writes them along chains, serves readers, and
 * reports to the namenode (GFS 2.3, 3.2).
 *
 *     chunkserver_open(w, server, &opts, &cs, &err)     adds its methods
 *     … rpc_listen(server, …) …
 *     chunkserver_start(cs, address)                    heartbeats begin
 *     … rpc_listener_close() …
 *     chunkserver_close(cs)
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef GFS_LITE_CHUNKSERVER_CHUNKSERVER_H
#define GFS_LITE_CHUNKSERVER_CHUNKSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct chunkserver;
struct cluster_roles;
struct rpc_security;
struct rpc_server;
struct world;

/* Zeros give the defaults. Texts are copied, @security is borrowed. */
struct chunkserver_options {
    const char *dir;       /* Its directory; made if missing. */
    const char *namenodes; /* "host:port,…" */
    const char *machine;   /* Name of the machine; default: the address's host.
                            */
    const char *rack;      /* Default "default". */
    const char *socket;    /* Path for readers of this machine; NULL: none. */
    const struct rpc_security *security;
    const struct cluster_roles *
        roles; /* Principals that need no proof; NULL: nobody does. Borrowed. */
    bool names_are_proved; /* Ask for proofs whatever @roles say. */
    uint64_t
        proof_grace_us; /* A key of proofs (proof.h) that no namenode has named
                           for this long is forgotten; default 30 min. */
    uint64_t heartbeat_us;      /* Default 1 s. */
    uint64_t scrub_bytes_per_s; /* Default 16 MiB. */
    uint64_t scrub_round_us;    /* The shortest time between two rounds over all
                                   chunks; default 10 s. */
    uint64_t sync_after_us;     /* Unsynced bytes are synced after this time;
                                   default 5 s. */
    uint64_t copy_bytes_per_s;  /* Default 128 MiB. */
};

/* Open the store and add the methods to @server, which must not listen yet.
 * Parks. *@out is owned. Errors: ERR_BUSY, ERR_CORRUPT, ERR_INVALID, ERR_IO. */
MUST_CHECK int chunkserver_open(struct world *w,
                                struct rpc_server *server,
                                const struct chunkserver_options *opts,
                                struct chunkserver **out,
                                struct err *err);
/* Begin to report, as reachable at @address. Parks. Errors: the socket cannot
 * be opened. */
MUST_CHECK int
chunkserver_start(struct chunkserver *cs, const char *address, struct err *err);
/* Stop and free it. Parks. PRE: the server does not listen any more. NULL is
 * allowed. */
void chunkserver_close(struct chunkserver *cs);

/* 0, or the state of its disk, which is probed every few seconds: ERR_FULL
 * (nothing more can be written), any other: its directory is gone, or cannot be
 * read or written, and the process should end. Does not park. */
MUST_CHECK int chunkserver_health(const struct chunkserver *cs,
                                  struct err *err);

/* Figures for the console and tests. */
struct chunkserver_stats {
    uint64_t chunks;
    uint64_t bytes;
    uint64_t found_damage; /* Chunks found damaged since the start. */
    uint64_t scrubbed_bytes;
    uint64_t copied_chunks;
    uint64_t capacity_bytes; /* Of its disk, */
    uint64_t free_bytes;     /* and the bytes that may still be stored. */
    uint64_t probe_us;       /* To write and sync a few bytes to it takes about
                                so long; 0: not known yet. */
    bool is_connected;       /* The last heartbeat was answered. */
};

/* Fill in @out. Does not park. */
void chunkserver_get_stats(const struct chunkserver *cs,
                           struct chunkserver_stats *out);

#endif /* GFS_LITE_CHUNKSERVER_CHUNKSERVER_H */
