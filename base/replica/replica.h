/* A replicated state machine: commands that a majority of the cell has on disk
 * are applied on every member in one order.
 *
 * A cell has one to five voting members; one is legal and the default of a
 * machine alone. Its heart is Raft (Ongaro & Ousterhout, "In Search of an
 * Understandable Consensus Algorithm", USENIX ATC 2014, and Ongaro's
 * dissertation) as a pure step function, raft.h; this module gives it a disk
 * (replica_log.h, replica_snapshot.h), peers (base/rpc) and a clock.
 *
 *     replica_open(w, server, &machine, &opts, &r, &err)
 *     replica_propose(r, command, &reply, &err)     on the leader
 *     replica_read_barrier(r, &err)                 then read the machine
 *     replica_close(r)
 *
 * Outcomes. A proposal that ends with ERR_UNAVAILABLE, ERR_DEADLINE or
 * ERR_CANCELLED may still be applied, unless replica_not_leader() says that it
 * was refused. A caller that tries again must let the machine recognise a
 * command by its client and number (base/session/answers.h).
 *
 * Threads: one loop, that of the fiber that opened it; every call, and every
 * call of the machine, is made there.
 */
#ifndef BASE_REPLICA_REPLICA_H
#define BASE_REPLICA_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/cluster_version.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct replica;
struct master_keys;
struct rpc_security;
struct rpc_server;
struct world;

#define REPLICA_MEMBERS_MAX 9 /* Voting and learning ones together. */
#define REPLICA_VOTERS_MAX  5 /* More of them make a cell slower, not safer. */
/* A command is small: bulk belongs into files. */
#define REPLICA_COMMAND_BYTES_MAX ((size_t)1 << 20)

/* --- the machine --------------------------------------------------------- */

/* The state machine that is replicated. Its functions are called in the order
 * of the log, one at a time, and must give the same on every member: no clock,
 * no randomness, no I/O. A command brings along the time or the random numbers
 * that it needs. */
struct replica_machine {
    void *ctx;

    /* Execute @command, entry @index of the log, and append the answer for the
     * proposer to @reply. A command that is refused is answered so in @reply:
     * there is no failing here. Does not park. */
    void (*apply)(void *ctx,
                  uint64_t index,
                  struct slice command,
                  struct buf *reply);

    /* Append the whole state to @out. Does not park. The module adds checksums,
     * writes and ships it. */
    void (*save)(void *ctx, struct buf *out);

    /* Replace the state by what save() wrote; @image empty: by the initial
     * state. ERR_CORRUPT when it is not one. Does not park. */
    int (*load)(void *ctx, struct slice image, struct err *err);

    /* This member begins (@leading) or ceases to lead, at @term. On beginning,
     * all entries of earlier terms have been applied. Does not park: start a
     * fiber for what does. May be NULL. */
    void (*lead)(void *ctx, bool leading, uint64_t term);
};

/* For a machine whose state takes long to save and to load: both happen on
 * another thread, and the loop continues. Nothing is applied meanwhile, so
 * proposals and read barriers wait; what the machine holds beside the
 * replicated state may change. save() must not touch that. */
struct replica_aside {
    /* As load(), into a state of its own. On another thread. */
    int (*build)(void *ctx, struct slice image, void **state, struct err *err);
    /* Let @state, now the machine's, take the place of what there is. On the
     * loop; does not park. */
    void (*adopt)(void *ctx, void *state);
};

/* --- life ---------------------------------------------------------------- */

/* A cell has two methods: this one and REPLICA_CELL_METHOD() (cell_call.h). */
#define REPLICA_METHOD 90

struct replica_member {
    uint64_t id;         /* Not 0; never used again for another machine. */
    const char *address; /* Where its rpc server listens. */
    bool voting;         /* False: a learner, that copies and does not count. */
};

/* Zeros give the defaults. */
struct replica_options {
    const char *name;      /* Of the cell: peers of another refuse; copied. */
    const char *directory; /* Of this member alone; made if missing. */
    /* Of this member. 0: that of the directory; where that is empty the member
     * enters the cell by itself, see below. */
    uint64_t id;
    const char *address; /* With id 0: where others reach this one; copied. */
    /* The cell's first members, the same on each of them; used only when the
     * directory is empty, copied. None: join later, by replica_add() on the
     * leader. */
    const struct replica_member *members;
    size_t member_count;
    const struct rpc_security *security; /* For calls to peers; borrowed. */
    /* With one, what the directory gets is encrypted, with data keys of the
     * member's own in the file KEYS; shared. */
    struct master_keys *master_keys;
    /* Id of its method on @server: another for each cell that a process is a
     * member of, the same on all members. Default REPLICA_METHOD. */
    uint32_t method;
    uint32_t election_ms;  /* Shortest silence of a leader before
                              an election; default 300. */
    uint32_t heartbeat_ms; /* Default 50. */
    /* How long a leader that a majority answered serves reads without asking
     * again; default 0: it asks each time. It must be shorter than election_ms
     * by more than two members' clocks can drift apart in such a time: 80 % is
     * safe with any clock that is right within 10 %. Machines that can be
     * stopped and moved with their clocks (snapshots of virtual machines) have
     * none that allows this. */
    uint32_t lease_ms;
    const struct replica_aside *aside; /* NULL: all on the loop. Borrowed for
                                          the replica's life. */
    uint64_t snapshot_log_bytes; /* Log since the last snapshot before the next;
                                    default 16 MiB. */
    uint64_t append_bytes_max;   /* Commands of one message to a peer; default
                                    1 MiB. A greater one goes alone. */
    /* The version of the cluster as this process knows it now, which goes along
     * with messages, and the versions that its program speaks: what a peer says
     * that is newer is not taken, and the member fails (replica_health():
     * ERR_UNSUPPORTED). Borrowed for the replica's life; NULL: the first. */
    const uint32_t *version;
    struct version_range versions;
};

/* Entering. A member that was given no id and has an empty directory asks the
 * others of its list. Once all of them answer that they know of no cell, they
 * found it: each with its id in the list. Where one has begun, this one joins
 * under an id that no member had: added by the leader, a voter once it has
 * caught up, in the place of the member that had its address before. So a
 * member whose disk was lost comes back by being started with an empty
 * directory, and never under the id whose promises it forgot. Until then its
 * role is REPLICA_OUTSIDE. One that was moved tells the cell its new address;
 * one that was removed, or has another list than the others, is told by
 * replica_health(): ERR_DENIED, ERR_INVALID. */

/* Open the member, recover its state from @opts->directory into @machine
 * (copied; its ctx borrowed) and add its methods to @server, which must not
 * listen yet. Parks. *@out is owned. Errors: ERR_CORRUPT (the disk is damaged:
 * says what and where; nothing was changed), ERR_INVALID (the directory belongs
 * to another member or cell), ERR_BUSY (another process has it), ERR_IO. */
MUST_CHECK int replica_open(struct world *w,
                            struct rpc_server *server,
                            const struct replica_machine *machine,
                            const struct replica_options *opts,
                            struct replica **out,
                            struct err *err);

/* Stop: proposals that wait end with ERR_CANCELLED; a leader first hands over
 * if it can do so within an election's time. Parks. PRE: the server does not
 * listen any more. NULL is allowed. */
void replica_close(struct replica *r);

/* --- use ----------------------------------------------------------------- */

/* Have @command executed by the cell; the answer is appended to @reply, which
 * may be NULL. Many at once are committed as a group. Parks. Errors:
 * ERR_UNAVAILABLE (not the leader, or no majority), ERR_TOOBIG, ERR_BUSY (too
 * many wait), ERR_FULL or ERR_IO (this member's disk; it steps down),
 * ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int replica_propose(struct replica *r,
                               struct slice command,
                               struct buf *reply,
                               struct err *err);

/* Wait until the machine here has everything that was committed before the
 * call: what is read of it then is linearizable. Many at once share one round
 * of the cell. Parks. Errors: as replica_propose(). */
MUST_CHECK int replica_read_barrier(struct replica *r, struct err *err);

/* --- membership; on the leader ------------------------------------------- */

/* Add @m: as a learner first, which becomes a voter, if @m says so, once it has
 * caught up. A learner there is, or a member with another address, becomes what
 * @m says. Parks until that is committed. Errors: as replica_propose();
 * ERR_EXISTS, ERR_INVALID, ERR_BUSY (another change is under way). */
MUST_CHECK int
replica_add(struct replica *r, const struct replica_member *m, struct err *err);
/* Remove member @id, maybe this one, which then steps down. Parks. */
MUST_CHECK int replica_remove(struct replica *r, uint64_t id, struct err *err);
/* Let member @id lead; 0: whichever is best. Parks until this one follows. */
MUST_CHECK int
replica_transfer(struct replica *r, uint64_t id, struct err *err);

/* Of a cell whose majority is gone for good: let the member whose directory is
 * @directory, which nobody has open, be the only one, with all that it has.
 * Commands that only the others acknowledged are lost; the others must never be
 * started again with their directories. @name: of the cell. *@others: how many
 * the cell had beside it; 0: nothing was done. Parks. Errors: ERR_NOTFOUND (no
 * member's directory), ERR_INVALID (of another cell, or it was no voter), those
 * of replica_open().
 */
MUST_CHECK int replica_rescue(struct world *w,
                              const char *name,
                              const char *directory,
                              struct master_keys *masters,
                              size_t *others,
                              struct err *err);

/* Have the data keys of the directory sealed with the present master key, after
 * master_keys_reload(). Parks. Errors: those of keyring_rewrap(). */
MUST_CHECK int replica_take_master_key(struct replica *r, struct err *err);

/* --- state --------------------------------------------------------------- */

enum replica_role {
    REPLICA_FOLLOWER,
    REPLICA_CANDIDATE,
    REPLICA_LEADER,
    REPLICA_OUTSIDE /* Not in the cell yet. */
};

struct replica_status {
    enum replica_role role;
    uint64_t id;
    uint64_t term;
    uint64_t terms_seen;      /* Those that began while it was open. */
    uint64_t leader_id;       /* 0: not known. */
    char leader_address[256]; /* "" when not known. */
    uint64_t last_index;      /* Of the log. */
    uint64_t commit_index;
    uint64_t applied_index;
    uint64_t snapshot_index;
    uint64_t key_made_us; /* The data key that seals new files; 0: none does. */
    size_t member_count;
    uint64_t leaderless_us; /* Since a leader was known; 0: one is. */
    char votes[256];        /* Then: raft_explain_votes(). */

    struct {
        uint64_t id;
        bool voting;
        char address[256];
        uint64_t match_index; /* Known on the leader; else 0. */
        bool reachable;       /* As of the last heartbeats; leader. */
    } members[REPLICA_MEMBERS_MAX];
};

/* The cell as this member knows it now. */
void replica_get_status(const struct replica *r, struct replica_status *out);

/* 0, or why this member is silent: ERR_FULL (it continues once there is space),
 * ERR_IO and others (its disk failed: only opening it again helps, so a server
 * should end). */
MUST_CHECK int replica_health(const struct replica *r, struct err *err);

/* True when this member leads and may serve: see machine.lead. */
bool replica_is_leader(const struct replica *r);
/* For how long, µs, no earlier leader can have passed a read barrier that began
 * meanwhile; 0: not known, or this member does not lead. */
uint64_t replica_quiet_us(const struct replica *r);

/* The answer of a server to a client that came to a follower: ERR_UNAVAILABLE
 * with the leader's address, which replica_leader_hint() finds.
 */
MUST_CHECK int replica_not_leader(const struct replica *r, struct err *err);
/* The address in an error of replica_not_leader(), into @out; false if there is
 * none. */
bool replica_leader_hint(const struct err *err, char *out, size_t out_bytes);

#endif /* BASE_REPLICA_REPLICA_H */
