/* The state of a member, shared by its fibers. Private to replica*.c.
 *
 * One loop owns all of it. Every call of the core is followed by
 * replica__pump(), which hands its actions to the fibers below:
 *
 *     clock     proposals that came together become one step; ticks
 *     disk      the core's work for the disk, in order, in groups
 *     spare     makes the log's next segment while the disk's fiber works
 *     applier   committed entries into the machine; snapshots in and out
 *     saver     writes a snapshot while the applier works
 *     send      one per message: a call and its reply
 *     enter     of a member without an id: into the cell, and the watch that it
 *               is still in it
 *
 * Invariants
 *     INV-1. applied <= the core's commit; it grows by one entry at a time, or
 *            to an installed snapshot's index (replica_apply.c).
 *     INV-2. A wait is in the list that it names until it is done or its fiber
 *            takes it out (replica_wait.c).
 *     INV-3. `entered` is ordered by index, and holds proposals of leading_term
 *            alone (replica.c).
 *     INV-4. `announced` implies leading_term (replica.c).
 *     INV-5. Operations of the disk are queued and done in the order of their
 *            numbers; those up to done_op are on the disk (replica_disk.c).
 *     INV-6. While `outside`, there is no log and no fiber but `enter`
 *            (replica_open.c, replica_enter.c).
 *     INV-7. While `frozen`, nothing is applied, loaded or saved elsewhere
 *            (replica_apply.c).
 */
#ifndef BASE_REPLICA_REPLICA_STATE_H
#define BASE_REPLICA_REPLICA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/replica/raft.h"
#include "base/replica/replica.h"
#include "base/replica/replica_log.h"
#include "base/replica/replica_snapshot.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"

struct fiber;
struct file_lock;
struct loop;
struct others;
struct rpc_channel;

struct replica_waits;

/* A fiber that waits for the replica. On its stack, in one list. */
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
    const uint32_t *version; /* Borrowed: the cluster's; NULL: the first. */
    struct version_range versions; /* That this program speaks. */
    struct file_lock *lock;
    struct raft *raft;
    /* Entering */
    bool outside;  /* Nothing is on the disk, `raft` knows nobody, and none of
                      the other fibers runs. */
    bool joining;  /* On the disk, but never a voter so far. */
    char *address; /* Owned; NULL: its id was given. */
    struct raft_config first; /* The first members. */
    struct fiber *enter;
    struct others *asking; /* Of `enter`: the servers it waits for, or NULL. */
    struct replica_log *log;
    bool closing;
    bool failed; /* The disk: for good. */
    struct err failure;
    /* Proposals */
    struct replica_waits proposed; /* Not in the log yet. */
    struct replica_waits entered;  /* By index. */
    struct replica_waits barriers; /* By round. */
    uint64_t leading_term; /* The core leads since this term; 0: it does not. */
    uint64_t term_seen;    /* The last one; 0: none yet. */
    uint64_t terms_seen;   /* Those after the first. */
    bool announced;        /* machine.lead(true) was called. */
    uint64_t led_us;       /* When a leader was known last. */
    uint64_t tell_us;      /* When to log next that none is; 0: it was not. */
    struct fiber *clock;
    uint64_t clock_due_us; /* It sleeps until then. */
    /* Disk */
    struct raft_action *queue; /* Ring. */
    size_t queue_head;
    size_t queue_count;
    size_t queue_cap;
    uint64_t queue_last_op; /* Of the newest action queued. */
    uint64_t done_op;
    struct replica_waits stored; /* Replies that wait for the disk. */
    struct fiber *disk;
    bool disk_idle;          /* Parked with nothing to do. */
    struct fiber *spare;     /* NULL: none was ever made. */
    bool spare_making;       /* Its fiber runs. */
    bool spare_made;         /* For the disk's fiber to take. */
    uint64_t spare_again_us; /* Not before, after one failed. */
    struct mutex files;      /* One call of replica_snapshot.h at a time. */
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

/* The monotonic clock, µs. */
uint64_t replica__now_us(const struct replica *r);
/* Hand out the core's actions, follow its role, wake the fibers that have work.
 * After every call that changes the core. */
void replica__pump(struct replica *r);

/* --- waiting (replica_wait.c) -------------------------------------------- */

/* Queue @w, last, for the running fiber. */
void replica__enqueue(struct replica_waits *list, struct replica_wait *w);
/* Wait until it is done, or until the fiber's deadline or cancellation, which
 * takes it out. Parks. Returns w->rc. */
MUST_CHECK int replica__await(struct replica_wait *w);
/* Move it out of its list, to the end of @to. */
void replica__move(struct replica_waits *to, struct replica_wait *w);
/* Take it out and wake its fiber. */
void replica__finish(struct replica_wait *w, int rc);
/* End all with the error. */
void replica__fail_all(struct replica_waits *list, int code, const char *why);

/* --- disk (replica_disk.c) ----------------------------------------------- */

/* Queue the work of @a, which is taken over. */
void replica__queue_disk(struct replica *r, struct raft_action *a);
/* The disk's fiber. */
void replica__run_disk(void *arg);
/* Wait until operation @op is on the disk. Parks. Errors: the disk's;
 * ERR_CANCELLED, ERR_DEADLINE. */
MUST_CHECK int
replica__await_stored(struct replica *r, uint64_t op, struct err *err);

/* --- machine (replica_apply.c) ------------------------------------------- */

/* The applier's fiber. */
void replica__run_applier(void *arg);
/* Let the barriers pass that may. */
void replica__check_barriers(struct replica *r);

/* --- peers (replica_peer.c) ---------------------------------------------- */

/* Have connections to the present members, and to no others. */
void replica__sync_peers(struct replica *r);
/* Send the message of @a, which is taken over. */
void replica__send(struct replica *r, struct raft_action *a);
/* The method by which members send messages: core's message in, reply out.
 * Parks. */
MUST_CHECK int
replica__serve(void *ctx, struct rpc_call *call, struct err *err);
/* End all sends and connections. PRE: closing. Parks. */
void replica__stop_peers(struct replica *r);

/* --- members (replica_members.c) ----------------------------------------- */

/* The method REPLICA_CELL_METHOD() (cell_call.h). Parks. */
MUST_CHECK int
replica__serve_cell(void *ctx, struct rpc_call *call, struct err *err);

/* --- entering (replica_enter.c) ------------------------------------------ */

/* The fiber of a member that enters, and then watches that it is a member. */
void replica__run_enter(void *arg);
/* End it. PRE: closing. Parks. */
void replica__end_enter(struct replica *r);
/* A hash of the first members' ids and addresses. */
uint64_t replica__list_hash(const struct raft_config *first);
/* Start the fibers of a member. PRE: it is in the cell. */
void replica__start(struct replica *r);
/* 0, or why commands cannot be taken here. */
MUST_CHECK int replica__check_leading(struct replica *r, struct err *err);
/* The member cannot continue: replica_health() says why. */
void replica__fail(struct replica *r, const struct err *why);

/* --- life (replica.c) ---------------------------------------------------- */

/* Without anything of the directory. Owned: replica__free(). */
struct replica *replica__new(struct world *w,
                             const struct replica_machine *machine,
                             const struct replica_options *opts);
/* PRE: no fiber of it runs. */
void replica__free(struct replica *r);

/* --- directory (replica_open.c) ------------------------------------------ */

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
/* Add to @err what can be done about damage. */
void replica__hint_at_remedy(struct err *err);
/* It is a voter: keep that. Parks. */
MUST_CHECK int replica__joined(struct replica *r, struct err *err);

#endif /* BASE_REPLICA_REPLICA_STATE_H */
