/* A leader: feeds followers, counts copies, answers barriers, hands over.
 *
 * Appends are pipelined: a follower is assumed to accept them and is probed
 * again when it does not. `match` is what it has confirmed, `next` what it is
 * sent next; only `match` counts for commits. Read leases are those of Ongaro's
 * dissertation, section 6.4.1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/replica/raft_state.h"

/* A chunk that has no answer after this many elections' time is sent again. */
#define CHUNK_ELECTIONS 4

struct raft_progress *raft__peer(struct raft *r, uint64_t id)
{
    PRE(r->peer_count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i].id == id)
            return &r->peers[i];
    return NULL;
}

/* Nothing was appended for a while, and all that was is everywhere. */
static bool may_rest(const struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    if (!r->options.rest_us || r->transfer_to ||
        r->commit != raft_log_last(&r->log) ||
        r->now_us < r->busy_us + r->options.rest_us)
        return false;
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i].feed != RAFT_FEED_PIPELINE ||
            r->peers[i].match != r->commit)
            return false;
    return true;
}

/* --- feeding ------------------------------------------------------------- */

/* The number of entries from @next on that fit into one message; at least one.
 */
static size_t entries_that_fit(const struct raft *r, uint64_t next)
{
    uint64_t last = raft_log_last(&r->log);
    uint64_t end = next;
    PRE(next > r->log.base_index && next <= last);
    while (end < last && raft_log_bytes(&r->log, next - 1, end + 1) <=
                             r->options.append_bytes_max)
        end++;
    return (size_t)(end - next + 1);
}

static void
send_append(struct raft *r, const struct raft_progress *p, size_t count)
{
    struct raft_message *m = raft__send(r, RAFT_APPEND, p->id, 0);
    /* To one that gets a snapshot, entry 0 is all that can be named. */
    uint64_t before = p->feed == RAFT_FEED_SNAPSHOT ? 0 : p->next - 1;
    PRE(r->role == RAFT_LEADER);
    INVARIANT(p->match < p->next);                 /* INV-8 */
    INVARIANT(p->match <= raft_log_last(&r->log)); /* I5 */
    m->index = before;
    m->index_term = before ? raft_log_term(&r->log, before) : 0;
    m->commit = r->commit;
    m->round = r->round;
    m->hint_index = p->match;
    m->entries = raft_log_copy(&r->log, p->next, count);
    m->entry_count = count;
    m->rests = count == 0 && may_rest(r);
}

static void send_chunk(struct raft *r, struct raft_progress *p)
{
    struct raft_message *m = raft__send(r, RAFT_SNAPSHOT, p->id, 0);
    PRE(p->feed == RAFT_FEED_SNAPSHOT);
    m->index = r->snapshot_index;
    m->index_term = r->snapshot_term;
    m->offset = p->snapshot_offset;
    p->inflight = 1;
    p->chunk_us = r->now_us;
}

static void begin_snapshot(struct raft *r, struct raft_progress *p)
{
    INVARIANT(r->snapshot_index >= r->log.base_index);
    p->feed = RAFT_FEED_SNAPSHOT;
    p->snapshot_offset = 0;
    send_chunk(r, p);
}

/* Ask whether the logs agree before @p->next. */
static void raft_leader_probe(struct raft *r, struct raft_progress *p)
{
    PRE(p->next > p->match); /* INV-8 */
    p->inflight = 0;
    if (p->next - 1 < r->log.base_index) {
        begin_snapshot(r, p);
        return;
    }
    p->feed = RAFT_FEED_PROBE;
    send_append(r, p, 0);
}

static uint64_t unanswered_bytes(const struct raft *r,
                                 const struct raft_progress *p)
{
    uint64_t from = MAX_OF(p->match, r->log.base_index);
    INVARIANT(p->match < p->next); /* INV-8 */
    return p->next - 1 > from ? raft_log_bytes(&r->log, from, p->next - 1) : 0;
}

static void raft_leader_feed(struct raft *r, struct raft_progress *p)
{
    PRE(r->role == RAFT_LEADER);
    INVARIANT(p->next <= raft_log_last(&r->log) + 1);
    if (p->feed != RAFT_FEED_PIPELINE)
        return;
    while (p->next <= raft_log_last(&r->log) &&
           p->inflight < r->options.inflight_max &&
           unanswered_bytes(r, p) < r->options.inflight_bytes_max) {
        size_t count;
        if (p->next - 1 < r->log.base_index) {
            begin_snapshot(r, p);
            return;
        }
        count = entries_that_fit(r, p->next);
        send_append(r, p, count);
        p->next += count;
        p->inflight++;
    }
}

void raft__feed_all(struct raft *r)
{
    for (size_t i = 0; i < r->peer_count; i++)
        raft_leader_feed(r, &r->peers[i]);
}

static void send_heartbeat(struct raft *r, struct raft_progress *p)
{
    PRE(r->role == RAFT_LEADER);
    if (p->feed == RAFT_FEED_PROBE || p->next - 1 < r->log.base_index) {
        if (p->feed != RAFT_FEED_SNAPSHOT) {
            raft_leader_probe(r, p);
            return;
        }
    }
    /* To learn whether it is installed, or whether a chunk was lost. */
    if (p->feed == RAFT_FEED_SNAPSHOT &&
        (p->inflight == 0 ||
         r->now_us >= p->chunk_us + CHUNK_ELECTIONS * r->options.election_us))
        send_chunk(r, p);
    send_append(r, p, 0);
}

/* Alone there is nobody to hear, until the table of members changes. */
static uint64_t rest_heartbeat_us(const struct raft *r)
{
    const struct raft_options *o = &r->options;
    PRE(o->rest_us > 0);
    if (r->peer_count == 0)
        return o->rest_us + o->election_us;
    return MAX_OF(
        o->heartbeat_us,
        MIN_OF(o->heartbeat_us * RAFT_REST_HEARTBEATS, o->election_us));
}

/* At rest the beats of all cells that a process leads fall together, so that
 * one wake-up serves them. */
static void set_next_heartbeat(struct raft *r)
{
    uint64_t every = r->options.heartbeat_us;
    r->heartbeat_us = r->now_us + every;
    if (!r->rests)
        return;
    every = rest_heartbeat_us(r);
    r->heartbeat_us = (r->now_us / every + 1) * every;
    POST(r->heartbeat_us > r->now_us);
}

static void send_heartbeats(struct raft *r)
{
    for (size_t i = 0; i < r->peer_count; i++)
        send_heartbeat(r, &r->peers[i]);
    set_next_heartbeat(r);
}

/* --- rest ---------------------------------------------------------------- */

/* Heartbeats become rare only once every follower bears the silence; one that
 * runs an older version never says so. */
static void rest_if_all_know(struct raft *r)
{
    bool all = may_rest(r);
    PRE(r->role == RAFT_LEADER);
    for (size_t i = 0; i < r->peer_count; i++)
        all = all && r->peers[i].rests;
    if (all == r->rests)
        return;
    r->rests = all;
    r->quorum_us = r->now_us + raft_patience_us(r);
}

/* There is work: a follower may have answered a resting heartbeat ago. */
static void end_rest(struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    r->busy_us = r->now_us;
    for (size_t i = 0; i < r->peer_count; i++)
        r->peers[i].rests = false;
    if (!r->rests)
        return;
    r->rests = false;
    r->quorum_us = r->now_us + raft_patience_us(r);
    set_next_heartbeat(r);
}

/* --- majorities ---------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The greatest value that a majority of the voters has reached. */
static uint64_t
raft_leader_reached(const struct raft *r,
                    uint64_t own,
                    uint64_t (*value)(const struct raft_progress *))
{
    uint64_t v[RAFT_MEMBERS_MAX];
    size_t n = 0;
    if (raft_config_votes(&r->config, r->options.id))
        v[n++] = own;
    for (size_t i = 0; i < r->peer_count; i++)
        if (raft_config_votes(&r->config, r->peers[i].id))
            v[n++] = value(&r->peers[i]);
    if (n == 0)
        return 0;
    INVARIANT(n <= RAFT_MEMBERS_MAX);
    INVARIANT(raft_config_majority(&r->config) <= n);
    qsort(v, n, sizeof(v[0]), compare_u64);
    return v[n - raft_config_majority(&r->config)];
}

static uint64_t match_of(const struct raft_progress *p)
{
    return p->match;
}

static uint64_t round_of(const struct raft_progress *p)
{
    return p->round;
}

static uint64_t heard_of(const struct raft_progress *p)
{
    return p->heard_us;
}

/* --- barriers ------------------------------------------------------------ */

static void check_round(struct raft *r);

static void start_round(struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    /* The commits of earlier terms are known only after one of this term. */
    if (r->round_wanted <= r->round || r->round > r->round_done ||
        r->commit < r->first_index)
        return;
    r->round++;
    r->round_us = r->now_us;
    r->round_index = r->commit;
    send_heartbeats(r);
    check_round(r);
}

static void check_round(struct raft *r)
{
    if (r->round_done == r->round ||
        raft_leader_reached(r, r->round, round_of) < r->round)
        return;
    r->round_done = r->round;
    r->done_index = MAX_OF(r->done_index, r->round_index);
    INVARIANT(r->done_index <= r->commit);
    r->lease_until_us = r->round_us + r->options.lease_us;
    start_round(r);
}

/* No other member can lead yet: a majority heard this one after the round
 * began, and members that did refuse their votes for an election's time
 * (Ongaro's dissertation, section 6.4.1). They do not refuse a vote that a
 * hand-over asks for, whose message may arrive at any time of the term. */
static bool has_lease(const struct raft *r)
{
    return r->now_us < r->lease_until_us && !r->no_lease &&
           r->commit >= r->first_index;
}

uint64_t raft_barrier(struct raft *r, uint64_t now_us)
{
    PRE(r->role == RAFT_LEADER);
    r->now_us = now_us;
    if (has_lease(r)) {
        r->done_index = MAX_OF(r->done_index, r->commit);
        return r->round_done;
    }
    return raft_begin_round(r, now_us);
}

uint64_t raft_begin_round(struct raft *r, uint64_t now_us)
{
    PRE(r->role == RAFT_LEADER);
    r->now_us = now_us;
    /* One that has begun may have been answered before this call. */
    r->round_wanted = r->round + 1;
    start_round(r);
    raft__persist(r);
    raft__check(r);
    POST(r->round_wanted >= r->round);
    return r->round_wanted;
}

uint64_t raft_barrier_done(const struct raft *r)
{
    INVARIANT(r->round_done <= r->round);
    return r->round_done;
}

uint64_t raft_barrier_index(const struct raft *r)
{
    INVARIANT(r->done_index <= r->commit);
    return r->done_index;
}

/* --- commit -------------------------------------------------------------- */

static void step_down_if_removed(struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    if (r->commit < r->config_index ||
        raft_config_votes(&r->config, r->options.id))
        return;
    send_heartbeats(r); /* They learn that it is committed. */
    raft__become_follower(r, r->term, 0);
}

void raft__advance_commit(struct raft *r)
{
    uint64_t index = raft_leader_reached(r, r->stored, match_of);
    PRE(r->role == RAFT_LEADER);
    INVARIANT(index <= raft_log_last(&r->log)); /* I5 */
    /* I4: older terms are committed by what follows them, never by count. */
    if (index <= r->commit || (raft_log_term(&r->log, index) != r->term &&
                               !fault_hit("raft.count_old_term")))
        return;
    raft__set_commit(r, index);
    start_round(r);
    step_down_if_removed(r);
}

/* --- hand-over ----------------------------------------------------------- */

static void drive_transfer(struct raft *r)
{
    const struct raft_progress *p;
    PRE(r->role == RAFT_LEADER);
    if (!r->transfer_to || r->transfer_sent)
        return;
    p = raft__peer(r, r->transfer_to);
    if (!p || p->match < raft_log_last(&r->log))
        return;
    raft__send(r, RAFT_TIMEOUT_NOW, p->id, 0);
    r->transfer_sent = r->no_lease = true;
}

static const struct raft_progress *best_voter(const struct raft *r)
{
    const struct raft_progress *best = NULL;
    PRE(r->role == RAFT_LEADER);
    INVARIANT(r->peer_count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < r->peer_count; i++) {
        const struct raft_progress *p = &r->peers[i];
        if (raft_config_votes(&r->config, p->id) &&
            (!best || p->match > best->match ||
             (p->match == best->match && p->heard_us > best->heard_us)))
            best = p;
    }
    return best;
}

int raft_transfer(struct raft *r, uint64_t now_us, uint64_t to, struct err *err)
{
    const struct raft_progress *p;
    r->now_us = now_us;
    if (r->role != RAFT_LEADER)
        return err_set(err, ERR_UNAVAILABLE, "not the leader");
    p = to ? raft__peer(r, to) : best_voter(r);
    if (!p || !raft_config_votes(&r->config, p->id))
        return err_set(err, ERR_INVALID, "no other voting member to lead");
    INVARIANT(p->id != r->options.id);
    end_rest(r);
    r->transfer_to = p->id;
    r->transfer_sent = false;
    r->transfer_until_us = now_us + r->options.election_us;
    drive_transfer(r);
    raft__persist(r);
    raft__check(r);
    return 0;
}

/* --- time ---------------------------------------------------------------- */

static void check_quorum(struct raft *r)
{
    uint64_t heard = raft_leader_reached(r, r->now_us, heard_of);
    PRE(r->role == RAFT_LEADER);
    r->quorum_us = r->now_us + raft_patience_us(r) / 2;
    if (heard + raft_patience_us(r) < r->now_us)
        raft__become_follower(r, r->term, 0);
}

void raft__tick_leader(struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    if (r->now_us >= r->quorum_us)
        check_quorum(r);
    if (r->role != RAFT_LEADER)
        return;
    if (r->transfer_to && r->now_us >= r->transfer_until_us)
        r->transfer_to = 0;
    if (r->now_us >= r->heartbeat_us && r->options.lease_us) {
        r->round_wanted = r->round + 1; /* Its answers prolong the lease. */
        start_round(r);
    }
    if (r->now_us >= r->heartbeat_us) {
        rest_if_all_know(r);
        send_heartbeats(r);
    }
}

/* --- replies ------------------------------------------------------------- */

/* The last entry at or before @index whose term is at most @term: where the
 * logs may agree. */
static uint64_t
last_agreeing(const struct raft *r, uint64_t index, uint64_t term)
{
    index = MIN_OF(index, raft_log_last(&r->log));
    while (index > r->log.base_index && raft_log_term(&r->log, index) > term)
        index--;
    return index;
}

static void on_refused(struct raft *r,
                       struct raft_progress *p,
                       const struct raft_message *m)
{
    uint64_t agreed;
    PRE(m->refusal == RAFT_REFUSED);
    if (p->feed == RAFT_FEED_SNAPSHOT || m->index <= p->match ||
        (p->feed == RAFT_FEED_PROBE && m->index != p->next - 1))
        return; /* Answers a message that was superseded. */
    agreed =
        last_agreeing(r, MIN_OF(m->hint_index, m->index - 1), m->hint_term);
    p->next = MAX_OF(agreed, p->match) + 1; /* INV-8 */
    raft_leader_probe(r, p);
}

static void on_accepted(struct raft *r,
                        struct raft_progress *p,
                        const struct raft_message *m)
{
    if (m->index > raft_log_last(&r->log)) {
        r->contradictions++;
        return;
    }
    p->match = MAX_OF(p->match, m->index);
    if (m->has_entries && p->inflight && p->feed == RAFT_FEED_PIPELINE)
        p->inflight--;
    if (p->feed == RAFT_FEED_PROBE) {
        p->feed = RAFT_FEED_PIPELINE;
        p->inflight = 0;
    }
    p->next = MAX_OF(p->next, p->match + 1); /* INV-8 */
    POST(p->match <= raft_log_last(&r->log));
    /* Everything sent is on its disk: if an answer is still missing, it was
     * lost. */
    if (p->feed == RAFT_FEED_PIPELINE && p->match + 1 == p->next)
        p->inflight = 0;
    raft__advance_commit(r);
}

void raft__on_append_reply(struct raft *r, const struct raft_message *m)
{
    struct raft_progress *p = raft__peer(r, m->from);
    PRE(m->kind == RAFT_APPEND_REPLY);
    if (r->role != RAFT_LEADER || m->term != r->term || !p)
        return;
    p->heard_us = p->answered_us = r->now_us;
    p->rests = m->rests;
    p->round = MAX_OF(p->round, m->round);
    switch (m->refusal) {
    case RAFT_ACCEPTED: on_accepted(r, p, m); break;
    case RAFT_REFUSED: on_refused(r, p, m); break;
    case RAFT_BUSY: break;
    case RAFT_NEED_SNAPSHOT:
        if (p->feed != RAFT_FEED_SNAPSHOT)
            begin_snapshot(r, p);
        break;
    }
    if (r->role != RAFT_LEADER)
        return;
    check_round(r);
    raft_leader_feed(r, p);
    drive_transfer(r);
}

void raft__on_snapshot_reply(struct raft *r, const struct raft_message *m)
{
    struct raft_progress *p = raft__peer(r, m->from);
    PRE(m->kind == RAFT_SNAPSHOT_REPLY);
    if (r->role != RAFT_LEADER || m->term != r->term || !p)
        return;
    p->heard_us = p->answered_us = r->now_us;
    if (p->feed != RAFT_FEED_SNAPSHOT)
        return;
    p->inflight = 0;
    if (m->hint_index > raft_log_last(&r->log)) {
        r->contradictions++;
    } else if (m->hint_index) { /* It has all of it. */
        p->match = MAX_OF(p->match, m->hint_index);
        p->next = p->match + 1;
        raft_leader_probe(r, p);
        raft__advance_commit(r);
    } else if (m->refusal == RAFT_ACCEPTED) {
        p->snapshot_offset = m->offset;
        send_chunk(r, p);
    }
}

void raft_lost(struct raft *r,
               uint64_t now_us,
               uint64_t to,
               enum raft_message_kind kind)
{
    struct raft_progress *p = raft__peer(r, to);
    PRE(now_us >= r->now_us);
    r->now_us = now_us;
    if (r->role != RAFT_LEADER || !p)
        return;
    if (kind == RAFT_SNAPSHOT && p->feed == RAFT_FEED_SNAPSHOT)
        p->inflight = 0;
    if (kind == RAFT_APPEND && p->feed == RAFT_FEED_PIPELINE) {
        p->feed = RAFT_FEED_PROBE; /* With the next heartbeat. */
        p->next = p->match + 1;
        p->inflight = 0;
    }
    INVARIANT(p->match < p->next); /* INV-8 */
}

/* --- beginning ----------------------------------------------------------- */

void raft__sync_peers(struct raft *r)
{
    struct raft_progress old[RAFT_MEMBERS_MAX];
    size_t old_count = r->peer_count;
    memcpy(old, r->peers, sizeof(old));
    r->peer_count = 0;
    for (size_t i = 0; i < r->config.count; i++) {
        uint64_t id = r->config.members[i].id;
        struct raft_progress *p;
        if (id == r->options.id)
            continue;
        INVARIANT(r->peer_count < RAFT_MEMBERS_MAX);
        p = &r->peers[r->peer_count++];
        *p = (struct raft_progress){.id = id,
                                    .next = raft_log_last(&r->log) + 1,
                                    .heard_us = r->now_us,
                                    .feed = RAFT_FEED_PROBE};
        for (size_t k = 0; k < old_count; k++)
            if (old[k].id == id)
                *p = old[k];
    }
}

void raft__become_leader(struct raft *r)
{
    PRE(r->role == RAFT_CANDIDATE);
    PRE(r->vote == r->options.id); /* I1 */
    PRE(r->done_op >= r->vote_op); /* The own vote is on the disk. */
    PRE(r->leader_term < r->term); /* I1: nobody led this term. */
    r->role = RAFT_LEADER;
    r->rests = false;
    r->busy_us = r->now_us;
    r->leader = r->options.id;
    r->leader_term = r->term;
    r->transfer_to = 0;
    r->round_wanted = r->round_done = r->round;
    r->lease_until_us = 0;
    r->no_lease = false;
    r->peer_count = 0;
    raft__sync_peers(r);
    for (size_t i = 0; i < r->peer_count; i++)
        r->peers[i].feed = RAFT_FEED_PIPELINE; /* Most logs agree. */
    raft_log_append(&r->log, r->term, RAFT_ENTRY_NOOP,
                    raft_bytes_new(SLICE_EMPTY));
    r->first_index = raft_log_last(&r->log);
    r->quorum_us = r->now_us + r->options.election_us;
    raft__persist(r);
    raft__feed_all(r);
    send_heartbeats(r);
}

/* --- proposals ----------------------------------------------------------- */

bool raft_may_propose(const struct raft *r)
{
    return r->role == RAFT_LEADER && !r->transfer_to;
}

uint64_t raft_propose(struct raft *r,
                      uint64_t now_us,
                      struct raft_bytes *const *commands,
                      size_t count)
{
    uint64_t first = raft_log_last(&r->log) + 1;
    PRE(raft_may_propose(r));
    r->now_us = now_us;
    end_rest(r);
    for (size_t i = 0; i < count; i++)
        raft_log_append(&r->log, r->term, RAFT_ENTRY_COMMAND, commands[i]);
    raft__persist(r);
    raft__feed_all(r);
    POST(raft_log_last(&r->log) + 1 == first + count);
    raft__check(r);
    return first;
}

/* Could the voters of @config that have answered lately commit entries? */
static bool is_served(const struct raft *r, const struct raft_config *config)
{
    size_t count = raft_config_votes(config, r->options.id);
    PRE(r->role == RAFT_LEADER);
    for (size_t i = 0; i < r->peer_count; i++) {
        const struct raft_progress *p = &r->peers[i];
        count += raft_config_votes(config, p->id) && p->answered_us &&
                 p->answered_us + raft_patience_us(r) >= r->now_us;
    }
    INVARIANT(count <= raft_config_voter_count(config));
    return count >= raft_config_majority(config) ||
           fault_hit("replica.count_the_dead");
}

int raft_change(struct raft *r,
                uint64_t now_us,
                const struct raft_config *config,
                uint64_t *index,
                struct err *err)
{
    struct buf bytes = BUF_INIT;
    r->now_us = now_us;
    if (!raft_may_propose(r))
        return err_set(err, ERR_UNAVAILABLE, "not the leader");
    /* Before an entry of this term is committed, a change by an earlier leader
     * may still be lost, and two tables could differ by two voters. */
    if (r->config_index > r->commit || r->commit < r->first_index)
        return err_set(err, ERR_BUSY, "another change of members is under way");
    if (!raft_config_one_step(&r->config, config) ||
        raft_config_voter_count(config) == 0)
        return err_set(err, ERR_INVALID, "only one voter changes at a time");
    if (!is_served(r, config))
        return err_set(err, ERR_BUSY,
                       "too few of those that would be members have answered "
                       "lately");
    raft_config_encode(config, &bytes);
    raft_log_append(&r->log, r->term, RAFT_ENTRY_CONFIG,
                    raft_bytes_new(buf_slice(&bytes)));
    buf_close(&bytes);
    end_rest(r);
    *index = raft_log_last(&r->log);
    INVARIANT(*index > r->commit);
    raft__adopt_config(r, *index, config);
    raft__persist(r);
    raft__feed_all(r);
    raft__check(r);
    return 0;
}

bool raft_answered(const struct raft *r, uint64_t id, uint64_t round)
{
    if (r->role != RAFT_LEADER)
        return false;
    INVARIANT(r->peer_count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i].id == id)
            return r->peers[i].round >= round;
    return false;
}

bool raft_peer(const struct raft *r,
               uint64_t id,
               uint64_t *match,
               uint64_t *heard_us)
{
    if (r->role != RAFT_LEADER)
        return false;
    for (size_t i = 0; i < r->peer_count; i++) {
        if (r->peers[i].id != id)
            continue;
        INVARIANT(r->peers[i].match < r->peers[i].next); /* INV-8 */
        *match = r->peers[i].match;
        *heard_us = r->peers[i].heard_us;
        return true;
    }
    return false;
}
