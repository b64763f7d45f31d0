/* What the fibers of a member share. Private to replica*.c.
 *
 * One loop owns all of it. Every call of the core is followed by
 * replica__pump(), which hands its actions to the fibers below:
 *
 *     clock     proposals that came together become one step; ticks
 *     disk      the core's work for the disk, in order, in groups
 *     spare     makes the log's next segment while the disk's goes on
 *     applier   committed entries into the machine; snapshots in and out
 *     saver     writes a snapshot while the applier goes on
 *     send      one per message: a call and its reply
 *     enter     of one that was given no id: into the cell, and whether it is
 *               still in it
 */
#ifndef BASE_REPLICA_REPLICA_STATE_H
#define BASE_REPLICA_REPLICA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/replica/log.h"
#include "base/replica/raft.h"
#include "base/replica/replica.h"
#include "base/replica/snapshot.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"

struct fiber;
struct file_lock;
struct loop;
struct others;
struct rpc_channel;

struct replica_waits;

/* A fiber that waits for something of the replica's. On its stack, in one list.
 */
struct replica_wait {
    struct replica_wait *next;
    struct replica_wait *prev;
    struct replica_waits *list; /* The one it is in. */
    struct fiber *fiber;
    uint64_t token; /* Operation, entry's index or round waited for. */
    uint64_t term;  /* Of the entry or the round. */
    struct raft_bytes *command; /* Proposals: until they are in the log. */
    struct buf *reply;
    struct err *err;
    int rc;
    bool done;
};

/* Oldest first. */
struct replica_waits {
    struct replica_wait *first;
    struct replica_wait *last;
    size_t count;
};

struct replica_peer {
    struct replica *replica;
    uint64_t id;
    char address[RAFT_ADDRESS_BYTES];
    struct rpc_channel *channel; /* Owned. */
    bool gone;                   /* Not a member any more. */
};

struct replica {
    struct world *world;
    struct master_keys *masters; /* Shared; NULL: none. */
    struct keyring *keyring;     /* Owned; NULL: nothing is encrypted. */
    struct loop *loop;
    struct replica_machine machine;
    char *name;          /* Owned. */
    char *directory;     /* Owned. */
    char *log_directory; /* Owned. */
    uint64_t cell;       /* Hash of the name. */
    uint64_t id;
    struct raft_options core; /* But for id and seed. */
    uint64_t election_us;
    uint64_t snapshot_log_bytes;
    uint32_t method;
    struct rpc_server *server; /* Borrowed: it was given the methods. */
    const struct rpc_security *security; /* Borrowed; may be NULL. */
    struct file_lock *lock;
    struct raft *raft;
    /* Entering */
    bool outside;  /* Nothing is on the disk, `raft` knows nobody, and none of
                      the other fibers runs. */
    bool joining;  /* On the disk, but never a voter so far. */
    char *address; /* Owned; NULL: its id was given. */
    struct raft_config first; /* The first members. */
    struct fiber *enter;
    struct others *asking; /* Of `enter`: whom it waits for; NULL: nobody. */
    struct replica_log *log;
    bool closing;
    bool failed; /* The disk: for good. */
    struct err failure;
    /* Proposals */
    struct replica_waits proposed; /* Not in the log yet. */
    struct replica_waits entered;  /* By index. */
    struct replica_waits barriers; /* By round. */
    uint64_t leading_term; /* The core leads since this term; 0: it does not. */
    bool announced;        /* machine.lead(true) was called. */
    struct fiber *clock;
    uint64_t clock_due_us; /* What it sleeps until. */
    /* Disk */
    struct raft_action *queue; /* Ring. */
    size_t queue_head;
    size_t queue_count;
    size_t queue_cap;
    uint64_t done_op;
    struct replica_waits stored; /* Replies that wait for the disk. */
    struct fiber *disk;
    bool disk_idle;          /* Parked with nothing to do. */
    struct fiber *spare;     /* NULL: none was ever made. */
    bool spare_making;       /* It is at it. */
    bool spare_made;         /* For the disk's fiber to take. */
    uint64_t spare_again_us; /* Not before, after one failed. */
    struct mutex files;      /* One call of snapshot.h at a time. */
    /* Machine */
    uint64_t applied;
    struct fiber *applier;
    struct fiber *saver; /* NULL: none is being written. */
    bool saving;
    bool frozen; /* The state is being saved on another thread. */
    const struct replica_aside *aside; /* NULL: none. */
    uint64_t save_again_us;            /* Not before, after one failed. */
    struct raft_action install;        /* kind 0: none. */
    /* Peers */
    struct replica_peer *peers[RAFT_MEMBERS_MAX];
    size_t peer_count;
    struct replica_send *sends; /* Fibers that send. */
    struct fiber *closer;       /* Waits for them to end. */
};

uint64_t replica__now_us(const struct replica *r);
/* Hand out what the core asks for, and see to who leads. */
void replica__pump(struct replica *r);

/* --- waiting (replica_wait.c) --------------------------------------------- */

/* Queue @w, last, for the running fiber. */
void replica__enqueue(struct replica_waits *list, struct replica_wait *w);
/* Wait until it is done, or until the fiber's deadline or cancellation, which
 * takes it out. Parks. Returns w->rc. */
MUST_CHECK int replica__await(struct replica_wait *w);
/* Out of its list and last in @to. */
void replica__move(struct replica_waits *to, struct replica_wait *w);
/* Take it out and wake its fiber. */
void replica__finish(struct replica_wait *w, int rc);
/* End all with the error. */
void replica__fail_all(struct replica_waits *list, int code, const char *why);

/* --- disk (replica_disk.c) --------------------------------------------------
 */

void replica__queue_disk(struct replica *r, struct raft_action *a);
void replica__run_disk(void *arg);
/* Wait until operation @op is on the disk. Parks. */
MUST_CHECK int
replica__await_stored(struct replica *r, uint64_t op, struct err *err);

/* --- machine (replica_apply.c) ----------------------------------------------
 */

void replica__run_applier(void *arg);
/* Barriers that may be passed now. */
void replica__check_barriers(struct replica *r);

/* --- peers (replica_peer.c) --------------------------------------------------
 */

/* Connections to the members of now. */
void replica__sync_peers(struct replica *r);
/* Send the message of @a, which is taken over. */
void replica__send(struct replica *r, struct raft_action *a);
MUST_CHECK int
replica__serve(void *ctx, struct rpc_call *call, struct err *err);
void replica__stop_peers(struct replica *r); /* Parks. */

/* --- members (replica_members.c) -------------------------------------------
 */

/* REPLICA_CELL_METHOD(). */
MUST_CHECK int
replica__serve_cell(void *ctx, struct rpc_call *call, struct err *err);

/* --- entering (replica_enter.c) --------------------------------------------
 */

void replica__run_enter(void *arg);
void replica__end_enter(struct replica *r); /* PRE: closing. Parks. */
/* Of the first members' ids and addresses. */
uint64_t replica__list_hash(const struct raft_config *first);
/* The fibers of one that is in the cell. */
void replica__start(struct replica *r);
/* 0, or why commands cannot be taken here. */
MUST_CHECK int replica__check_leading(struct replica *r, struct err *err);
/* It cannot go on: replica_health() says why. */
void replica__fail(struct replica *r, const struct err *why);

/* --- life (replica.c) -------------------------------------------------------
 */

/* Without anything of the directory. Owned: replica__free(). */
struct replica *replica__new(struct world *w,
                             const struct replica_machine *machine,
                             const struct replica_options *opts);
void replica__free(struct replica *r);

/* --- directory (replica_open.c) ----------------------------------------------
 */

/* Lock and read the directory, made if need be, into r->raft, r->log and the
 * machine. One that must enter first is left outside. Parks. On error nothing
 * is held. */
MUST_CHECK int replica__recover(struct replica *r,
                                const struct replica_options *opts,
                                struct err *err);
/* The same of a directory that is there: ERR_NOTFOUND: it is no member's. */
MUST_CHECK int replica__reopen(struct replica *r, struct err *err);
/* Make the directory of one that is outside and read it: as founder @r->id, or
 * as one that joins under that id. On error it is outside still. Parks. */
MUST_CHECK int replica__make(struct replica *r, bool founding, struct err *err);
/* Says in @err what can be done about damage. */
void replica__hint_at_remedy(struct err *err);
/* It is a voter: keep that. Parks. */
MUST_CHECK int replica__joined(struct replica *r, struct err *err);

#endif /* BASE_REPLICA_REPLICA_STATE_H */
