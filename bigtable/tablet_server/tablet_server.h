/* A tablet server: serves the tablets that the master orders it to load.
 *
 * It is one store (store/shared.h) over the file system that all servers share:
 * one commit log, one cache, one pool of background work. The files of its
 * tablets are recorded in METADATA, on condition that the record still names
 * this server; the root tablet's record is a file of the lock service.
 *
 * It lives as long as its session with the lock service, in which it holds the
 * lock of its file in /bigtable/servers. Before each answer it checks that it
 * certainly still does. In doubt it waits; once the lock is lost it never
 * serves again, tablet_server_health() reports that, and its process ends.
 * Others may have taken its log away by then, and then all its writes fail.
 *
 * Threads: one loop, that of the fiber that opened it. */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_SERVER_H
#define BIGTABLE_TABLET_SERVER_TABLET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct cluster_roles;
struct fs;
struct metric_set;
struct metrics;
struct quarry;
struct rpc_security;
struct rpc_server;
struct tablet_rows;
struct tablet_server;
struct world;

/* Zeros give the defaults. All pointers are borrowed for the server's life. */
struct tablet_server_options {
    const char *const *cell; /* Of the lock service. */
    size_t cell_count;
    const struct rpc_security *security;
    const struct cluster_roles *roles; /* NULL: all callers are. */
    /* Opens the file system whose root is BIGTABLE_FS_ROOT, once the server has
     * its number; it is closed with the server. */
    int (*open_fs)(void *ctx, struct fs **out, struct err *err);
    /* Opens the cluster through the client library, when METADATA is needed
     * first; it is closed with the server. */
    int (*open_client)(void *ctx, struct quarry **out, struct err *err);
    /* Other rows of METADATA instead, for tests. */
    struct tablet_rows *rows;
    void *ctx;
    uint32_t lease_ms; /* Of its session. */
    uint32_t grace_ms;
    const char *memo; /* Of its session: see chubby.h; borrowed. NULL: none. */
    uint64_t cache_bytes;
    uint64_t memtable_bytes;
    uint64_t split_bytes;
    uint64_t log_segment_bytes;
    uint64_t log_bytes;   /* Of the commit log, about, at most. */
    uint64_t log_slow_us; /* A write that takes longer tries the other lane. */
    unsigned background_tasks;
    uint64_t request_bytes;  /* In memory for requests, at most; 256 MiB. */
    struct metrics *metrics; /* NULL: nothing is counted by table. */
};

/* Add the methods to @rpc; until tablet_server_start() all fail. Parks. *@out
 * is owned. */
MUST_CHECK int tablet_server_open(struct world *w,
                                  struct rpc_server *rpc,
                                  const struct tablet_server_options *opts,
                                  struct tablet_server **out,
                                  struct err *err);
/* Start joining the cluster, in the background, as the process that others
 * reach at @address (copied). Then the server waits for the master's orders. */
void tablet_server_start(struct tablet_server *s, const char *address);
/* Take no more requests, write what is in memory to files, and leave the
 * cluster, so that others take over without reading a log. Parks. */
void tablet_server_stop(struct tablet_server *s);
/* The same, but write nothing: the whole cluster ends, and its next start reads
 * the logs. Parks. */
void tablet_server_leave(struct tablet_server *s);
/* Frees the server and all that it opened. Parks. PRE: no call is running. NULL
 * is allowed. */
void tablet_server_close(struct tablet_server *s);

/* 0, or why it must end. Does not park. */
MUST_CHECK int tablet_server_health(struct tablet_server *s, struct err *err);

struct tablet_server_stats {
    uint64_t number; /* 0: it has not joined yet. */
    bool is_ready;
    uint64_t tablets;
    uint64_t memory_bytes;
    uint64_t log_bytes;
    uint64_t reads; /* Rows. */
    uint64_t writes;
    uint64_t lost; /* Tablets that another server had before this one learned
                    * so. */
};

/* Does not park. */
void tablet_server_get_stats(struct tablet_server *s,
                             struct tablet_server_stats *out);
/* Add the same and more as metrics. Does not park. */
void tablet_server_gather(struct tablet_server *s, struct metric_set *out);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_SERVER_H */
