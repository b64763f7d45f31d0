/* Raft as a pure step function: an event and the time go in, actions come out.
 * No I/O, no clock, no thread, no randomness but a seed.
 *
 * The protocol is that of D. Ongaro and J. Ousterhout, "In Search of an
 * Understandable Consensus Algorithm" (USENIX ATC 2014), and of Ongaro's
 * dissertation. Beyond the paper: pre-vote; members that hear a leader do not
 * vote it out; a leader that hears no majority steps down (check-quorum); a
 * leader's first entry is an empty one of its own term, and nothing is
 * committed by counting copies of older terms; leader transfer; one voter added
 * or removed at a time, learners first; snapshots in chunks; read barriers,
 * many in one round; appends are pipelined, bounded in number and bytes; a
 * leader without work tells its followers that it rests, after which heartbeats
 * are rarer and silence is borne for longer; and, where clocks allow, leases: a
 * leader whose round a majority answered serves reads without asking again,
 * until the first of them could vote for another.
 *
 *     raft_tick(r, now)                          when raft_due_us() has come
 *     raft_receive(r, now, &m, &reply, &after)   a message arrived
 *     raft_propose(r, now, bytes, count)         on the leader
 *     raft_stored(r, now, op)                    the disk has done its work
 *     while (raft_next_action(r, &a)) …          after any of these
 *
 * Order makes this safe. Work for the disk is numbered and done strictly in
 * order, so the disk has this member's state of a moment before. A message or a
 * reply names the operation that it must wait for: no member learns of a state
 * that a loss of power could undo. A leader's appends name none: they promise
 * nothing about its own disk, whose copy counts only when it is stored.
 *
 * Threads: one. Functions do not park.
 *
 * Invariants of the cell (the paper's section 5, figure 3)
 *     I1. At most one member leads in a term. (Each votes once in a term; the
 *         vote is on the disk before the reply leaves.)
 *     I2. Entries up to commit are never changed or dropped unapplied.
 *     I3. commit <= last; snapshot <= commit.
 *     I4. A leader commits by counting copies only entries of its own term.
 *     I5. A follower's log reaches what its leader knows to be on its disk: in
 *         one term that only grows. A member that restarts with less learns so
 *         from the first append that it gets, which raft_new() makes it wait
 *         for before it votes or stands.
 *     I6. Terms never decrease: a member's, and those of entries along a log.
 *     I7. A leader only appends to its log.
 *     I8. Log matching: an append is taken where the entry before it has the
 *         leader's term; then the log is the leader's up to its end.
 *
 * raft_state.h has the invariants of one member's state.
 */
#ifndef BASE_REPLICA_RAFT_H
#define BASE_REPLICA_RAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/replica/raft_config.h"
#include "base/replica/raft_log.h"

struct raft;

/* At rest silence is borne for three election times, and heartbeats come up to
 * five times more rarely: at least three of them fit. */
#define RAFT_REST_ELECTIONS  3
#define RAFT_REST_HEARTBEATS 5

/* --- messages ------------------------------------------------------------ */

enum raft_message_kind {
    RAFT_PREVOTE = 1, /* Would you vote for me at @term? */
    RAFT_VOTE,
    RAFT_APPEND,      /* Entries, or none: a heartbeat. */
    RAFT_SNAPSHOT,    /* A chunk of one. */
    RAFT_TIMEOUT_NOW, /* Stand for election at once. */
    RAFT_PREVOTE_REPLY,
    RAFT_VOTE_REPLY,
    RAFT_APPEND_REPLY,
    RAFT_SNAPSHOT_REPLY,
    RAFT_TIMEOUT_NOW_REPLY,
};

enum raft_refusal {
    RAFT_ACCEPTED,
    RAFT_REFUSED,       /* Vote: no. Append: the logs differ at @index. */
    RAFT_BUSY,          /* A snapshot is being installed. */
    RAFT_NEED_SNAPSHOT, /* This member has nothing of the cell yet. */
};

/* The kind decides which fields have a meaning; the others are 0. */
struct raft_message {
    enum raft_message_kind kind;
    enum raft_refusal refusal; /* Replies. */
    uint64_t from;
    uint64_t to;
    uint64_t term;
    /* Votes: the candidate's last entry. Append: the entry before the first
     * one. Snapshot: what it covers. Append's reply: the append's index when
     * refused, else the last entry known to be the leader's and on the disk.
     * Snapshot's reply: the snapshot's index. */
    uint64_t index;
    uint64_t index_term;
    uint64_t commit; /* Append: the leader's. */
    uint64_t round;  /* Append and its reply: newest round of barriers. */
    /* Append: the last entry that the leader knows to be on the follower's
     * disk. Its reply when refused: the follower's best guess where the logs
     * may agree. */
    uint64_t hint_index;
    uint64_t hint_term;
    uint64_t offset;            /* Snapshot: of data. Its reply: wanted next. */
    uint64_t silence_us;        /* Vote's reply, granted: since this member last
                                   heard a leader or was one; 0: not told. */
    uint32_t version;           /* Of the cluster, as its sender knows it; 0 and
                                   1: the first. Not the core's. */
    bool transfer;              /* Vote: the leader asked for it. */
    bool has_entries;           /* Append's reply: it answers entries. */
    bool last;                  /* Snapshot: nothing follows data. */
    bool rests;                 /* Append: the leader will rest once all know.
                                   Its reply: this member knows. */
    struct raft_entry *entries; /* Append: owned by the message. */
    size_t entry_count;
    struct buf data; /* Snapshot: filled when it is sent. */
};

/* Free what @m owns. */
void raft_message_close(struct raft_message *m);
/* Does a message of @kind answer another one? */
bool raft_message_is_reply(enum raft_message_kind kind);

/* --- actions ------------------------------------------------------------- */

enum raft_action_kind {
    RAFT_DO_META,    /* Disk: keep term and vote. */
    RAFT_DO_APPEND,  /* Disk: entries at index; older ones from there on are
                        void. */
    RAFT_DO_RESET,   /* Disk: the log is empty and follows (index, term). */
    RAFT_DO_COMPACT, /* Disk: entries up to index are not needed any more. */
    RAFT_DO_CHUNK,   /* Disk: data at offset of the incoming snapshot (index,
                        term); offset 0 starts over. */
    RAFT_DO_INSTALL, /* The incoming snapshot is whole: once op is done, verify
                        and load it, then raft_installed(). */
    RAFT_DO_SEND,    /* message, once op is done; for RAFT_SNAPSHOT fill data
                        and last with what is at offset of the newest snapshot,
                        and index, index_term with what that covers. */
};

struct raft_action {
    enum raft_action_kind kind;
    uint64_t op; /* Of the disk's work; of a message: to wait for. */
    uint64_t index;
    uint64_t term;
    uint64_t vote;
    uint64_t offset;
    struct raft_entry *entries; /* Owned by the action. */
    size_t entry_count;
    struct buf data;
    struct raft_message message;
};

/* Take the oldest action; false when there is none. Owned:
 * raft_action_close(). */
bool raft_next_action(struct raft *r, struct raft_action *out);
/* Free what @a owns. */
void raft_action_close(struct raft_action *a);

/* --- life ---------------------------------------------------------------- */

struct raft_options {
    uint64_t id;
    uint64_t election_us;        /* Shortest silence before an election. */
    uint64_t heartbeat_us;       /* Well below. */
    uint64_t lease_us;           /* Of reads; 0: none. Below election_us by more
                                    than two members' clocks drift apart in such
                                    a time. */
    uint64_t rest_us;            /* Without an entry, before the cell rests; 0:
                                    never. */
    uint64_t seed;               /* Spreads elections. */
    uint64_t append_bytes_max;   /* Entries of one message; 0: 1 MiB. */
    uint64_t inflight_bytes_max; /* Unanswered, per follower; 0: 8 MiB. */
    uint32_t inflight_max;       /* Messages, unanswered; 0: 4. */
};

/* The state that was on the disk. */
struct raft_stable {
    uint64_t term;
    uint64_t vote;
    uint64_t snapshot_index;
    uint64_t snapshot_term;
    const struct raft_config *config; /* As of the snapshot. */
    /* Entries after the snapshot; taken over. */
    struct raft_entry *entries;
    size_t entry_count;
};

/* A follower that counts as having heard a leader just now: it neither stands
 * nor votes before an election's time has passed. @opts is copied. Owned:
 * raft_free(). */
struct raft *raft_new(const struct raft_options *opts,
                      const struct raft_stable *stable,
                      uint64_t now_us);
void raft_free(struct raft *r); /* NULL is allowed. */

/* --- events -------------------------------------------------------------- */

/* Act on the time alone: stand, send heartbeats, step down. Here and in all
 * other events, @now_us never goes back. */
void raft_tick(struct raft *r, uint64_t now_us);
/* When raft_tick() is due next. */
uint64_t raft_due_us(const struct raft *r);

/* @m arrived; its entries are taken over, the rest stays the caller's. True
 * with
 * *@reply and the operation it waits for when @m asks for a reply. False too
 * for a message that no correct member sends. */
bool raft_receive(struct raft *r,
                  uint64_t now_us,
                  struct raft_message *m,
                  struct raft_message *reply,
                  uint64_t *after_op);
/* A message of @kind to @to will get no reply. */
void raft_lost(struct raft *r,
               uint64_t now_us,
               uint64_t to,
               enum raft_message_kind kind);

/* Operations up to @op are on the disk. */
void raft_stored(struct raft *r, uint64_t now_us, uint64_t op);
/* While @stuck the disk takes nothing: neither lead nor stand. */
void raft_set_stuck(struct raft *r, uint64_t now_us, bool stuck);

/* Append @count commands, whose references are taken over; returns the first
 * one's index. PRE: raft_may_propose(). */
uint64_t raft_propose(struct raft *r,
                      uint64_t now_us,
                      struct raft_bytes *const *commands,
                      size_t count);
/* Does this member lead, and is it not handing over? */
bool raft_may_propose(const struct raft *r);

/* Ask for a barrier: it is passed when raft_barrier_done() reaches what this
 * returns, which under a lease it has, and everything up to
 * raft_barrier_index() has been applied. PRE: leading. */
uint64_t raft_barrier(struct raft *r, uint64_t now_us);
/* The newest barrier that a majority has answered. */
uint64_t raft_barrier_done(const struct raft *r);
/* The entry that must be applied before a read after that barrier. */
uint64_t raft_barrier_index(const struct raft *r);

/* Begin a round, or join the next one, whatever the lease: returns its number,
 * for raft_answered(). PRE: leading. */
uint64_t raft_begin_round(struct raft *r, uint64_t now_us);
/* Has follower @id answered a message that was sent after round @round began?
 * False: not leading, or no such member. */
bool raft_answered(const struct raft *r, uint64_t id, uint64_t round);

/* Append a change of the table of members to @config, which is copied. *@index
 * is the entry's. A table counts once it is in the log: if those of its voters
 * that are alive are no majority, they elect nobody, and neither do the others,
 * whose log is older. So a majority of @config has to have answered this leader
 * within the silence that it bears. Errors:
 * ERR_UNAVAILABLE (not leading), ERR_BUSY (a change is not committed yet,
 * nothing of this term is, or too few have answered), ERR_INVALID (more than
 * one voter differs). */
MUST_CHECK int raft_change(struct raft *r,
                           uint64_t now_us,
                           const struct raft_config *config,
                           uint64_t *index,
                           struct err *err);
/* Let @to lead, or (0) the most advanced voter. Errors: ERR_UNAVAILABLE (not
 * leading), ERR_INVALID (@to is no other voter). */
MUST_CHECK int
raft_transfer(struct raft *r, uint64_t now_us, uint64_t to, struct err *err);

/* A snapshot of everything up to @index is on the disk; keep up to @keep_bytes
 * of older entries for members that lag. PRE: @index was committed. */
void raft_compact(struct raft *r,
                  uint64_t now_us,
                  uint64_t index,
                  uint64_t keep_bytes);
/* The incoming snapshot is on the disk and in the machine (@config: its
 * members), or (NULL) it is no good. */
void raft_installed(struct raft *r,
                    uint64_t now_us,
                    uint64_t index,
                    uint64_t term,
                    const struct raft_config *config);

/* --- state --------------------------------------------------------------- */

enum raft_role {
    RAFT_FOLLOWER,
    RAFT_PRECANDIDATE,
    RAFT_CANDIDATE,
    RAFT_LEADER
};

/* Its role in that term. */
enum raft_role raft_role(const struct raft *r);
/* The newest term it knows. Never decreases. */
uint64_t raft_term(const struct raft *r);
/* The leader of that term; 0: not known. */
uint64_t raft_leader(const struct raft *r);
/* The silence of others that this member bears now: an election's time, or at
 * rest RAFT_REST_ELECTIONS of them. */
uint64_t raft_patience_us(const struct raft *r);
/* PRE: it leads. No earlier leader began a round of barriers after that time
 * and passed it: each needs an answer of a member that has voted for this
 * leader, and these had not heard an earlier one since. */
uint64_t raft_quiet_since_us(const struct raft *r);
/* The last entry known to be committed; never decreases. */
uint64_t raft_commit(const struct raft *r);
/* The last entry of the newest snapshot. */
uint64_t raft_snapshot_index(const struct raft *r);
const struct raft_log *raft_entries(const struct raft *r); /* Borrowed. */
/* The newest table of members, committed or not. Borrowed. */
const struct raft_config *raft_members(const struct raft *r);
/* The table as of entry @index, which is held or the snapshot. */
void raft_members_at(const struct raft *r,
                     uint64_t index,
                     struct raft_config *out);
/* How far follower @id is and when it was heard last, as its leader knows;
 * false: not leading, or no such member. */
bool raft_peer(const struct raft *r,
               uint64_t id,
               uint64_t *match,
               uint64_t *heard_us);
/* The last entry that this member had on its disk, as its leader knows, if its
 * log ends before it: the member lost entries that it had confirmed. It neither
 * votes nor leads nor takes entries any more, and is to be stopped. 0: nothing
 * is missing. */
uint64_t raft_missing(const struct raft *r);
/* Append what decides whether this member can be elected or elect another, for
 * people, as words KEY=VALUE: its vote, its last entry's term, whether it
 * stands or what keeps it from that, how many votes it needs, how each voter
 * answered it last and how long ago, whom it refused last and why. */
void raft_explain_votes(const struct raft *r, struct buf *out);
/* Messages that contradict what is committed, or each other: 0 unless a member
 * is faulty or lost entries that it had confirmed. */
uint64_t raft_contradictions(const struct raft *r);

#endif /* BASE_REPLICA_RAFT_H */
