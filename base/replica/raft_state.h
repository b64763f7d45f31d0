/* The core's state. Private to raft*.c.
 *
 * Invariants, kept by the file that is named and asserted by raft__check() at
 * the end of each event
 *     INV-1. base <= snapshot <= commit <= last (raft.c: raft__set_commit(),
 *            raft_compact(), raft_installed()).
 *     INV-2. Everything in the log is in some DO_APPEND, and term and vote in
 *            some DO_META: stored <= queued_last = last, meta_dirty is false
 *            (raft.c: raft__persist()).
 *     INV-3. done_op <= last_op; operations are numbered in the order in which
 *            they are handed out (raft.c: raft__act()).
 *     INV-4. snapshot <= config_index <= last (raft.c: raft__adopt_config()).
 *     INV-5. leader_term <= term; neither decreases (raft_follower.c,
 *            raft_leader.c).
 *     INV-6. A candidate has voted for itself; a leader knows itself as the
 *            leader of its term and has an entry of it (raft_election.c,
 *            raft_leader.c).
 *     INV-7. A member that installs a snapshot, whose disk is stuck or lacks
 *            entries that it had confirmed, is a follower (raft_election.c).
 *     INV-8. Of a follower, match < next (raft_leader.c).
 */
#ifndef BASE_REPLICA_RAFT_STATE_H
#define BASE_REPLICA_RAFT_STATE_H

#include "base/core/rand.h"
#include "base/replica/raft.h"

/* How a leader feeds a follower. */
enum raft_feed {
    RAFT_FEED_PROBE,    /* One append at a time, to find where logs agree. */
    RAFT_FEED_PIPELINE, /* Several, assuming that each is accepted. */
    RAFT_FEED_SNAPSHOT, /* It lacks entries that left the log. */
};

struct raft_progress {
    uint64_t id;
    uint64_t match;           /* Last entry known to be on its disk. */
    uint64_t next;            /* First entry not sent. */
    uint64_t round;           /* Newest round of barriers it answered. */
    uint64_t heard_us;        /* Its last answer, or the term's beginning. */
    uint64_t answered_us;     /* Its last answer in this term; 0: none. */
    uint64_t snapshot_offset; /* Of the next chunk. */
    uint64_t chunk_us;        /* When the last one was sent. */
    enum raft_feed feed;
    uint32_t inflight; /* Messages not answered. */
    bool rests;        /* Its last answer knows of the rest. */
};

/* A DO_APPEND that the disk has not done. */
struct raft_pending {
    uint64_t op;
    uint64_t last_index;
};

/* A member's last answer to a candidacy of this one; for people. */
struct raft_ballot {
    uint64_t id;
    uint64_t at_us;
    bool granted;
};

struct raft {
    struct raft_options options;
    struct rand_gen rand;
    enum raft_role role;
    uint64_t now_us;
    /* Durable, as of the last operation handed out. */
    uint64_t term;
    uint64_t vote;
    bool meta_dirty; /* They changed since the last DO_META. */
    struct raft_log log;
    uint64_t snapshot_index;
    uint64_t snapshot_term;
    struct raft_config snapshot_config;
    /* Disk */
    uint64_t last_op;     /* Handed out. */
    uint64_t done_op;     /* Done. */
    uint64_t meta_op;     /* The last DO_META. */
    uint64_t queued_last; /* Entries up to here are in some DO_APPEND. */
    uint64_t stored;      /* Entries up to here are on the disk. */
    struct raft_pending *pending; /* Oldest first; [0, pending_count). */
    size_t pending_count;
    size_t pending_cap;
    bool stuck;
    /* Volatile */
    uint64_t commit;
    struct raft_config config; /* The newest in the log, committed or not. */
    uint64_t config_index;     /* Its entry, or the snapshot. */
    uint64_t leader;
    uint64_t leader_term; /* Of the last leader that was heard. */
    uint64_t heard_us;    /* From the leader. */
    uint64_t led_us;      /* When it ceased to lead; 0: it has not led. */
    uint64_t election_us; /* When to stand. */
    bool rests; /* A leader: all followers know that it rests. A follower: its
                   leader said so. Else false. */
    uint64_t contradictions;
    uint64_t missing; /* See raft_missing(). */
    /* Candidates */
    uint64_t grants[RAFT_MEMBERS_MAX];
    size_t grant_count;
    uint64_t vote_op;        /* Own vote counts once this is done. */
    uint64_t quiet_since_us; /* When any of those in grants last heard a leader,
                                on this member's clock, or later. */
    bool by_transfer;        /* This election was asked for by the leader. */
    struct raft_ballot ballots[RAFT_MEMBERS_MAX];
    size_t ballot_count;
    uint64_t refused_id;     /* Whom this member refused its vote last; 0: */
    const char *refused_why; /* nobody. A word. */
    /* Leader */
    struct raft_progress peers[RAFT_MEMBERS_MAX]; /* All but this one. */
    size_t peer_count;
    uint64_t first_index;  /* Its first entry of this term. */
    uint64_t heartbeat_us; /* When the next is due. */
    uint64_t quorum_us;    /* When to look for a majority next. */
    uint64_t busy_us;      /* When the last entry was appended. */
    uint64_t round;        /* Newest round of barriers begun, */
    uint64_t round_wanted; /* asked for, */
    uint64_t round_done;   /* and passed. */
    uint64_t round_index;  /* Commit as the newest began, */
    uint64_t done_index;   /* and as the newest passed one began. */
    uint64_t round_us;     /* When the newest began. */
    uint64_t lease_until_us;
    bool no_lease;        /* In this term: a hand-over may still elect another
                             member. */
    uint64_t transfer_to; /* 0: none. */
    uint64_t transfer_until_us;
    bool transfer_sent;
    /* A snapshot coming in */
    uint64_t in_index;
    uint64_t in_term;
    uint64_t in_offset; /* Wanted next. */
    bool installing;
    /* Out */
    struct raft_action *actions; /* Ring: [head, head + count). */
    size_t action_head;
    size_t action_count;
    size_t action_cap;
};

/* --- raft.c -------------------------------------------------------------- */

/* Queue an action and number it if it is the disk's. Borrowed until the next.
 */
struct raft_action *raft__act(struct raft *r, enum raft_action_kind kind);
/* Hand out what the disk has not been asked for: meta first, then entries. */
void raft__persist(struct raft *r);
/* Queue a message to @to; @after_op as in raft_action. Borrowed until the next
 * action. */
struct raft_message *raft__send(struct raft *r,
                                enum raft_message_kind kind,
                                uint64_t to,
                                uint64_t after_op);
/* Follow @leader (0: not known) at @term. PRE: @term is not older. */
void raft__become_follower(struct raft *r, uint64_t term, uint64_t leader);
/* Assert the invariants above; at the end of each event. */
void raft__check(const struct raft *r);
/* Draw when to stand for election next. */
void raft__reset_election(struct raft *r);
/* The newest table of members is that of entry @index. */
void raft__adopt_config(struct raft *r,
                        uint64_t index,
                        const struct raft_config *config);
/* Drop entries @index and above, and what depends on them. PRE: not leading,
 * and none of them is committed. */
void raft__truncate(struct raft *r, uint64_t index);
/* Entries up to @commit are committed; nothing if that was known. */
void raft__set_commit(struct raft *r, uint64_t commit);

/* --- raft_election.c ----------------------------------------------------- */

/* raft_tick() of a member that does not lead. */
void raft__tick_follower(struct raft *r);
/* Stand for election, without asking first when the leader said so. */
void raft__stand(struct raft *r, bool by_transfer);
/* Answer a RAFT_PREVOTE or RAFT_VOTE. */
void raft__on_vote(struct raft *r,
                   const struct raft_message *m,
                   struct raft_message *reply);
/* Count a vote, or learn a newer term. */
void raft__on_vote_reply(struct raft *r, const struct raft_message *m);
/* Lead, or stand in earnest, if a majority has granted its vote and the own
 * vote is stored. */
void raft__count_votes(struct raft *r);

/* --- raft_leader.c ------------------------------------------------------- */

/* Lead the term, and append its first entry. PRE: elected, and the own vote is
 * stored. */
void raft__become_leader(struct raft *r);
/* raft_tick() of the leader. */
void raft__tick_leader(struct raft *r);
/* Make the table of followers that of the members. */
void raft__sync_peers(struct raft *r);
/* Commit the entries of this term that a majority has stored. */
void raft__advance_commit(struct raft *r);
/* Send entries to every follower that has room. */
void raft__feed_all(struct raft *r);
/* Note what a follower has, and send it more. */
void raft__on_append_reply(struct raft *r, const struct raft_message *m);
void raft__on_snapshot_reply(struct raft *r, const struct raft_message *m);
/* Follower @id, borrowed until the members change; NULL: there is none. */
struct raft_progress *raft__peer(struct raft *r, uint64_t id);

/* --- raft_follower.c ----------------------------------------------------- */

/* Take a leader's entries or chunk. True when @reply is to be sent, once
 * *@after is done. */
bool raft__on_append(struct raft *r,
                     struct raft_message *m,
                     struct raft_message *reply,
                     uint64_t *after);
bool raft__on_snapshot(struct raft *r,
                       struct raft_message *m,
                       struct raft_message *reply,
                       uint64_t *after);

#endif /* BASE_REPLICA_RAFT_STATE_H */
