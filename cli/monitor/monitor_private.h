/* The monitor's own state. Private to monitor.c, clients.c and gather.c.
 *
 * Threads: one loop.
 */
#ifndef CLI_MONITOR_MONITOR_PRIVATE_H
#define CLI_MONITOR_MONITOR_PRIVATE_H

#include "base/runtime/sync.h"
#include "cli/monitor/subject.h"

struct fiber;
struct rpc_channel;

/* A client that is opened by its first use. */
struct monitor_client {
    void *open;        /* NULL: not open. */
    uint64_t retry_ns; /* Not before this time, because of */
    struct err err;    /* this. */
};

/* A part of what is asked that other fibers find out: the lists of the
 * namenode, of the lock service and of the job master. */
struct monitor_search {
    struct fiber *fiber; /* NULL: it does not run. */
    bool running;
    bool failed;       /* The last time. */
    struct err err;    /* Of the last one that has ended. */
    uint64_t ended_ns; /* When that was; 0: never. */
};

/* A process of the cluster that the monitor has heard of. */
struct known_node {
    struct monitor *monitor;
    char *address; /* Owned, as all below. */
    char *name;    /* NULL: not known yet. */
    struct rpc_channel *channel;
    bool is_own;         /* This process. */
    unsigned call_count; /* Calls of documents that are under way. */
    struct fiber *fiber; /* The question under way, or its remains. */
    bool running;
    bool asked; /* At least one question has ended. */
    bool in_cell;
    uint64_t listed_ns; /* When a service named it last. */
    enum node_state state;
    struct err err;
    struct node_answer *answer; /* The last good one. */
    struct node_answer *base;   /* An earlier one, for rates. */
};

/* Invariants
 *     INV-1. At most MONITOR_NODES_MAX nodes are known; each address once.
 *     INV-2. `gathering` is held by the one fiber that changes `nodes`, starts
 *            questions and replaces `last`.
 */
struct monitor {
    struct monitor_source source;
    struct mutex gathering;
    struct mutex ended_lock; /* Of ended. */
    struct cond ended;       /* A question or a search has ended. */
    struct known_node *nodes[MONITOR_NODES_MAX];
    size_t node_count;
    bool too_many; /* Some were left out. */
    struct monitor_nodes *last;
    struct mutex surveying; /* Held by who replaces the next one. */
    struct monitor_tablets *tablets;
    size_t metrics_bytes; /* Of all answers that are kept. */
    unsigned making;      /* Documents that are being made. */
    struct monitor_search files_search;
    struct monitor_search locks_search;
    struct monitor_search workers_search;
    struct arena files_arena;
    struct gfs_status files;
    struct mutex opening; /* Of clients. */
    struct monitor_client tables;
    struct monitor_client file_system;
    struct monitor_client jobs;
    struct monitor_client locks;
    struct finding_watch *watch; /* Owned. */
    bool locks_lost;             /* Their session has expired. */
};

/* End all questions. Parks. */
void monitor__stop_asking(struct monitor *m);
/* Close a client whose session has expired, if nobody uses it. Parks. */
void monitor__drop_lost_client(struct monitor *m);
/* Close all clients. Parks. */
void monitor__close_clients(struct monitor *m);

#endif /* CLI_MONITOR_MONITOR_PRIVATE_H */
