/* What the parts of the core share. Private to raft*.c. */
#ifndef BASE_REPLICA_RAFT_STATE_H
#define BASE_REPLICA_RAFT_STATE_H

#include "base/core/rand.h"
#include "base/replica/raft.h"

/* How a leader feeds a follower. */
enum raft_feed {
    RAFT_FEED_PROBE,    /* One append at a time, to find where logs agree. */
    RAFT_FEED_PIPELINE, /* Several, assuming that each is accepted. */
    RAFT_FEED_SNAPSHOT, /* It lacks what the log has not any more. */
};

struct raft_progress {
    uint64_t id;
    uint64_t match; /* Last entry known to be on its disk. */
    uint64_t next;  /* First entry not sent. */
    uint64_t round; /* Newest round of barriers it answered. */
    uint64_t heard_us;
    uint64_t snapshot_offset; /* Of the next chunk. */
    uint64_t chunk_us;        /* When the last one was sent. */
    enum raft_feed feed;
    uint32_t inflight; /* Messages not answered. */
};

/* A DO_APPEND that the disk has not done. */
struct raft_pending {
    uint64_t op;
    uint64_t last_index;
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
    uint64_t election_us; /* When to stand. */
    uint64_t contradictions;
    uint64_t missing; /* See raft_missing(). */
    /* Candidates */
    uint64_t grants[RAFT_MEMBERS_MAX];
    size_t grant_count;
    uint64_t vote_op; /* Own vote counts once this is done. */
    bool by_transfer; /* This election was asked for by the leader. */
    /* Leader */
    struct raft_progress peers[RAFT_MEMBERS_MAX]; /* All but this one. */
    size_t peer_count;
    uint64_t first_index;  /* Its first entry of this term. */
    uint64_t heartbeat_us; /* When the next is due. */
    uint64_t quorum_us;    /* When to look for a majority next. */
    uint64_t round;        /* Newest round of barriers begun, */
    uint64_t round_wanted; /* asked for, */
    uint64_t round_done;   /* and passed. */
    uint64_t round_index;  /* Commit as the newest began, */
    uint64_t done_index;   /* and as the newest passed one began. */
    uint64_t round_us;     /* When the newest began. */
    uint64_t lease_until_us;
    bool no_lease;        /* In this term: a hand-over may yet elect another. */
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

/* --- raft.c ----------------------------------------------------------------
 */

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
void raft__become_follower(struct raft *r, uint64_t term, uint64_t leader);
void raft__reset_election(struct raft *r);
/* The newest table of members is that of entry @index. */
void raft__adopt_config(struct raft *r,
                        uint64_t index,
                        const struct raft_config *config);
/* Drop entries @index and above, and what depends on them. */
void raft__truncate(struct raft *r, uint64_t index);
void raft__set_commit(struct raft *r, uint64_t commit);

/* --- raft_election.c --------------------------------------------------------
 */

void raft__tick_follower(struct raft *r);
/* Stand for election, without asking first when the leader said so. */
void raft__stand(struct raft *r, bool by_transfer);
void raft__on_vote(struct raft *r,
                   const struct raft_message *m,
                   struct raft_message *reply);
void raft__on_vote_reply(struct raft *r, const struct raft_message *m);
/* Something was stored: maybe the own vote. */
void raft__count_votes(struct raft *r);

/* --- raft_leader.c ----------------------------------------------------------
 */

void raft__become_leader(struct raft *r);
void raft__tick_leader(struct raft *r);
void raft__sync_peers(struct raft *r);
void raft__advance_commit(struct raft *r);
/* Send entries to every follower that has room. */
void raft__feed_all(struct raft *r);
void raft__on_append_reply(struct raft *r, const struct raft_message *m);
void raft__on_snapshot_reply(struct raft *r, const struct raft_message *m);
struct raft_progress *raft__peer(struct raft *r, uint64_t id);

/* --- raft_follower.c --------------------------------------------------------
 */

/* True when @reply is to be sent, once *@after is done. */
bool raft__on_append(struct raft *r,
                     struct raft_message *m,
                     struct raft_message *reply,
                     uint64_t *after);
bool raft__on_snapshot(struct raft *r,
                       struct raft_message *m,
                       struct raft_message *reply,
                       uint64_t *after);

#endif /* BASE_REPLICA_RAFT_STATE_H */
