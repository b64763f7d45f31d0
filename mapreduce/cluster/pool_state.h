/* The pool as its files see it. Private to pool*.c and cell_host.c.
 *
 * Threads: everything is read and changed under `lock`: by fibers of the pool's
 * loop, and by the thread that uses a host. It is not held over a call.
 *
 * Invariants
 *
 *     INV-1. peer->busy is the length of peer->attempts (pool_peer.c).
 *     INV-2. An attempt whose host is NULL was given up by it: its end frees
 *            the slot on the worker and nothing else (cell_host.c).
 *
 */
#ifndef MAPREDUCE_CLUSTER_POOL_STATE_H
#define MAPREDUCE_CLUSTER_POOL_STATE_H

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "mapreduce/cluster/cell_host.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/cluster/pool.h"

struct cell_host;
struct loop;
struct rpc_channel;

/* Between tries of a call that a worker did not answer. */
#define POOL_AGAIN_US UINT64_C(100000)
/* Attempts of one host at a time. */
#define HOST_SLOTS_MAX 4096

/* --- what is there ------------------------------------------------------- */

enum peer_state {
    PEER_NEW, /* Its file is there; it has not answered yet. */
    PEER_UP,
    PEER_GONE, /* Its fibers are ending. */
};

struct pool_attempt {
    LIST_ENTRY(pool_attempt) link;
    uint64_t ticket;
    struct cell_host *host; /* NULL: nobody waits for it. */
    unsigned slot;
    uint64_t bytes;
};

LIST_HEAD(pool_attempts, pool_attempt);

struct pool_order {
    STAILQ_ENTRY(pool_order) link;
    struct pool_job *job; /* One reference; NULL: none is meant. */
    enum worker_order_kind kind;
    uint64_t ticket;
    struct buf spec;
};

STAILQ_HEAD(pool_orders, pool_order);

/* A job's package and state on workers, shared by its host and the peers. */
struct pool_job {
    struct worker_pool *pool;
    unsigned refs;
    char *id;
    struct buf package;
    bool forgotten; /* It has ended: nothing more is sent. */
    /* Set by the first worker to have loaded the code, or to have failed: */
    bool loaded;
    struct job_traits traits; /* Moved to the host. */
    bool failed;
    struct err why;
};

enum ready_state {
    READY_NOT,
    READY_COMING, /* A fiber sends the package. */
    READY_YES,
};

/* A job on a peer. */
struct pool_ready {
    LIST_ENTRY(pool_ready) link;
    struct pool_job *job; /* One reference. */
    struct pool_peer *peer;
    enum ready_state state;
    uint64_t failed_ns; /* When the last try failed; 0: none did. */
};

LIST_HEAD(pool_readies, pool_ready);

/* A worker, in one of its incarnations. */
struct pool_peer {
    struct worker_pool *pool;
    uint32_t index; /* Of pool->peers: the scheduler's number. */
    enum peer_state state;
    struct buf file; /* worker_record, into which the next points. */
    struct worker_record record;
    char *name;
    char *place;
    uint32_t host; /* The scheduler's, of its machine, and its rack. */
    uint32_t rack;
    uint32_t disk; /* Peers of one number open each other's files. */
    bool silent;
    bool listed; /* Its file was there at the last look. */
    bool
        dead; /* And has been for a while, though its process is another now. */
    uint64_t heard_ns;
    uint64_t given_ns; /* When it last got its first attempt. */
    uint64_t
        refused_ns; /* When connections were first refused; 0: they are not. */
    uint64_t seen;  /* News up to this number were received. */
    uint32_t busy;
    uint64_t used_bytes;
    struct pool_attempts attempts;
    struct pool_orders orders;
    struct pool_readies readies;
    struct cond wake;            /* Wakes the fiber that sends orders. */
    struct rpc_channel *channel; /* NULL: it is gone, and its calls ended. */
    unsigned fibers;             /* Running fibers. */
};

LIST_HEAD(cell_hosts, cell_host);

struct worker_pool {
    struct world *world;
    struct worker_pool_options options;
    struct loop *loop;
    char *sequencer;
    uint64_t id;
    uint64_t next_ticket;
    struct mutex lock;
    struct cond changed;      /* Workers came or went; fibers have ended. */
    struct pool_peer **peers; /* A place may be NULL. Owned. */
    uint32_t peer_count;
    char **machines; /* By the scheduler's number. */
    uint32_t machine_count;
    char **racks;
    uint32_t rack_count;
    char **disks;
    uint32_t disk_count;
    struct cell_hosts hosts; /* Newest first. */
    struct fiber *watcher;   /* Of the lock service's list, */
    struct fiber *clock;     /* of those that do not answer. */
    uint64_t end_ns; /* Nothing is waited for after it; 0: no end is set. */
    bool stopping;
    bool denied; /* Another master holds the lock. */
};

/* --- pool.c -------------------------------------------------------------- */

/* The number of @name in a list of names, which grows when @add; else
 * TASK_NONE. Under the lock. */
uint32_t pool_machine(struct worker_pool *p, struct slice name, bool add);
/* Would its hosts wait forever? */
bool pool_is_over(const struct worker_pool *p);
/* The peer in place @index, if it is up. */
struct pool_peer *pool_peer_at(struct worker_pool *p, uint32_t index);
void pool_job_unref(struct pool_job *j);

/* --- pool_peer.c: all under the lock ------------------------------------- */

/* A worker whose file contains @file, in place @index. Owned by the pool. NULL:
 * malformed. */
struct pool_peer *
pool_peer_new(struct worker_pool *p, uint32_t index, struct slice file);
/* The worker is gone: report that to the hosts. The watcher ends its calls, and
 * frees it when its fibers have ended. */
void pool_peer_bury(struct pool_peer *e, const char *why);
/* End its calls. The lock is released meanwhile. Parks. */
void pool_peer_hang_up(struct pool_peer *e);
void pool_peer_free(struct pool_peer *e); /* Without the lock. */
void pool_peer_set_silent(struct pool_peer *e);
/* The attempt of @ticket, or NULL; and its end. */
struct pool_attempt *pool_peer_attempt(struct pool_peer *e, uint64_t ticket);
void pool_peer_drop(struct pool_peer *e, struct pool_attempt *a);
/* Run @fn on a fiber of the pool's loop, which counts from now on, and ends
 * with pool_peer_finish(): the peer may be freed once the lock is released. */
void pool_peer_begin(struct pool_peer *e,
                     const char *name,
                     fiber_fn fn,
                     void *arg);
void pool_peer_finish(struct pool_peer *e);
/* The head of a call, borrowed from both; the call, without the lock, which
 * parks; and the judgement of its error: about the peer, or about this master.
 */
struct worker_head pool_peer_head(const struct pool_peer *e, const char *job);
MUST_CHECK int pool_peer_call(struct pool_peer *e,
                              uint32_t method,
                              uint64_t timeout_us,
                              const struct buf *body,
                              struct slice attachment,
                              struct buf *reply,
                              struct err *err);
void pool_peer_judge(struct pool_peer *e, int code, const struct err *err);
/* Sleep. The lock is released meanwhile. Parks. */
void pool_peer_pause(struct pool_peer *e, uint64_t us);

/* --- pool_hear.c --------------------------------------------------------- */

/* The fiber that receives the peer's news. */
void pool_hear_run(void *peer);

/* --- pool_orders.c: under the lock, besides the fiber -------------------- */

/* The fiber that sends the peer its orders. */
void pool_orders_run(void *peer);
/* Queue the order @kind for it. @spec is copied. */
void pool_peer_order(struct pool_peer *e,
                     struct pool_job *job,
                     enum worker_order_kind kind,
                     uint64_t ticket,
                     struct slice spec);
/* Attempts of @job that were not sent yet fail: another worker may do better.
 */
void pool_orders_fail(struct pool_peer *e,
                      struct pool_job *job,
                      const struct err *err);
void pool_orders_free(struct pool_orders *orders);

/* --- pool_package.c: under the lock -------------------------------------- */

/* The job on the peer; NULL: it is not there, and @add is false. */
struct pool_ready *
pool_ready_of(struct pool_peer *e, struct pool_job *job, bool add);
/* Send the package of @job, if the peer does not have it. */
void pool_peer_prepare(struct pool_peer *e, struct pool_job *job);
/* The job has ended: remove what it has there. */
void pool_peer_forget(struct pool_peer *e, struct pool_job *job);

/* --- cell_host.c: all under the lock ------------------------------------- */

/* The attempt in @slot ended: @e (moved), with its last status. */
void cell_host_end(struct cell_host *h,
                   unsigned slot,
                   struct attempt_event *e,
                   const struct task_status *s);
/* The same for one that is gone with its worker. */
void cell_host_lose(struct cell_host *h, unsigned slot, const char *why);
void cell_host_status(struct cell_host *h,
                      unsigned slot,
                      const struct task_status *s);
/* Peer @index is gone with the spills there. */
void cell_host_peer_gone(struct cell_host *h, uint32_t index);
/* A silent worker does not answer a kill: attempts killed there are over. */
void cell_host_peer_silent(struct cell_host *h, const struct pool_peer *e);
/* Has @h not yet entered the loss of place @index? */
bool cell_host_mourns(const struct cell_host *h, uint32_t index);
struct pool_job *cell_host_job(struct cell_host *h);
void cell_host_ring(struct cell_host *h);
struct cell_host *cell_host_first(struct worker_pool *p);
struct cell_host *cell_host_next(struct cell_host *h);

#endif /* MAPREDUCE_CLUSTER_POOL_STATE_H */
