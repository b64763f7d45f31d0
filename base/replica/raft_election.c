/* Elections: standing, asking for votes, voting.
 *
 * A member asks first whether it would be elected (pre-vote, Ongaro's
 * dissertation, section 9.6), so that one that is cut off does not raise the
 * term of the others again and again; and it refuses its vote while it hears a
 * leader. A vote is on the disk before its reply leaves (raft_receive()).
 */
#include <inttypes.h>

#include "base/core/panic.h"
#include "base/replica/raft_state.h"

static bool votes_by(const struct raft_entry *e, uint64_t id)
{
    struct raft_config config;
    PRE(e);
    return e->kind == RAFT_ENTRY_CONFIG &&
           raft_config_decode(raft_bytes_slice(e->bytes), &config) &&
           raft_config_votes(&config, id);
}

/* Is this member a voter, or might it be the only one that has the entry that
 * removes it? Then it must be able to lead until that entry is committed. */
static bool is_needed(const struct raft *r)
{
    struct raft_config config;
    INVARIANT(r->config_index <= raft_log_last(&r->log)); /* INV-4 */
    INVARIANT(r->commit <= raft_log_last(&r->log));       /* INV-1 */
    if (raft_config_votes(&r->config, r->options.id))
        return true;
    for (uint64_t i = r->config_index; i > r->commit; i--)
        if (votes_by(raft_log_get(&r->log, i), r->options.id))
            return true;
    raft_members_at(r, r->commit, &config);
    return r->config_index > r->commit &&
           raft_config_votes(&config, r->options.id);
}

static bool may_stand(const struct raft *r)
{
    return !r->stuck && !r->missing && !r->installing && is_needed(r);
}

/* --- candidates ---------------------------------------------------------- */

/* When this member last heard a leader, or was one. */
static uint64_t last_led_us(const struct raft *r)
{
    INVARIANT(r->heard_us <= r->now_us);
    INVARIANT(r->led_us <= r->now_us);
    return MAX_OF(r->heard_us, r->led_us);
}

/* A vote of a member whose silence was @silence_us when it gave it. */
static void note_silence(struct raft *r, uint64_t silence_us)
{
    uint64_t heard_us = r->now_us - MIN_OF(silence_us, r->now_us);

    r->quiet_since_us = MAX_OF(r->quiet_since_us, heard_us);
    POST(r->quiet_since_us <= r->now_us);
}

uint64_t raft_quiet_since_us(const struct raft *r)
{
    PRE(r->role == RAFT_LEADER);
    return r->quiet_since_us;
}

static void ask_for_votes(struct raft *r, enum raft_message_kind kind)
{
    uint64_t last = raft_log_last(&r->log);
    PRE(kind == RAFT_PREVOTE || kind == RAFT_VOTE);
    INVARIANT(kind == RAFT_PREVOTE || r->vote == r->options.id); /* INV-6 */
    for (size_t i = 0; i < r->config.count; i++) {
        const struct raft_member *m = &r->config.members[i];
        struct raft_message *vote;
        if (!m->voting || m->id == r->options.id)
            continue;
        /* The own vote is on the disk before it counts anywhere. */
        vote = raft__send(r, kind, m->id, kind == RAFT_VOTE ? r->vote_op : 0);
        vote->term = kind == RAFT_PREVOTE ? r->term + 1 : r->term;
        vote->index = last;
        vote->index_term = raft_log_term(&r->log, last);
        vote->transfer = r->by_transfer;
    }
}

static void stand_for_real(struct raft *r)
{
    PRE(r->role != RAFT_LEADER);
    PRE(!r->stuck && !r->missing && !r->installing); /* INV-7 */
    raft__reset_election(r);
    r->role = RAFT_CANDIDATE;
    r->leader = 0;
    r->term++;
    r->vote = r->options.id;
    r->meta_dirty = true;
    raft__persist(r);
    INVARIANT(!r->meta_dirty);
    r->vote_op = r->meta_op;
    r->grants[0] = r->options.id;
    r->grant_count = 1;
    r->quiet_since_us = last_led_us(r);
    ask_for_votes(r, RAFT_VOTE);
}

void raft__count_votes(struct raft *r)
{
    size_t majority = raft_config_majority(&r->config);
    size_t count = 0;
    for (size_t i = 0; i < r->grant_count; i++)
        count += raft_config_votes(&r->config, r->grants[i]);
    INVARIANT(count <= raft_config_voter_count(&r->config));
    if (count < majority)
        return;
    if (r->role == RAFT_PRECANDIDATE) {
        stand_for_real(r);
        raft__count_votes(r); /* One vote may be enough. */
    } else if (r->done_op >= r->vote_op) {
        raft__become_leader(r);
    }
}

void raft__stand(struct raft *r, bool by_transfer)
{
    PRE(r->role != RAFT_LEADER);
    r->rests = false;
    r->by_transfer = by_transfer;
    if (by_transfer) {
        stand_for_real(r);
        raft__count_votes(r);
        return;
    }
    r->role = RAFT_PRECANDIDATE;
    /* Asking costs nothing: a member that was refused because others still
     * heard a leader that had just died asks again soon. */
    r->election_us = r->now_us + r->options.election_us / 4 +
                     rand_below(&r->rand, r->options.election_us / 4 + 1);
    r->leader = 0;
    r->grants[0] = r->options.id;
    r->grant_count = 1;
    ask_for_votes(r, RAFT_PREVOTE);
    raft__count_votes(r);
}

void raft__tick_follower(struct raft *r)
{
    PRE(r->role != RAFT_LEADER);
    if (r->now_us < r->election_us)
        return;
    if (may_stand(r)) {
        raft__stand(r, false);
        return;
    }
    r->leader = r->role == RAFT_FOLLOWER && r->installing ? r->leader : 0;
    raft__reset_election(r);
}

static void add_grant(struct raft *r, uint64_t id)
{
    for (size_t i = 0; i < r->grant_count; i++)
        if (r->grants[i] == id)
            return;
    if (r->grant_count < RAFT_MEMBERS_MAX)
        r->grants[r->grant_count++] = id;
    INVARIANT(r->grants[0] == r->options.id);
}

static void note_ballot(struct raft *r, uint64_t id, bool granted)
{
    size_t i = 0;
    while (i < r->ballot_count && r->ballots[i].id != id)
        i++;
    if (i == RAFT_MEMBERS_MAX)
        return;
    r->ballots[i] = (struct raft_ballot){id, r->now_us, granted};
    r->ballot_count = MAX_OF(r->ballot_count, i + 1);
    POST(r->ballot_count <= RAFT_MEMBERS_MAX);
}

void raft__on_vote_reply(struct raft *r, const struct raft_message *m)
{
    bool pre = m->kind == RAFT_PREVOTE_REPLY;
    bool granted = m->refusal == RAFT_ACCEPTED;
    PRE(m->kind == RAFT_PREVOTE_REPLY || m->kind == RAFT_VOTE_REPLY);
    note_ballot(r, m->from, granted);
    if (!granted && m->term > r->term) {
        raft__become_follower(r, m->term, 0);
        return;
    }
    if (!granted || r->role != (pre ? RAFT_PRECANDIDATE : RAFT_CANDIDATE) ||
        m->term != r->term + (pre ? 1 : 0))
        return;
    add_grant(r, m->from);
    if (!pre)
        note_silence(r, m->silence_us);
    raft__count_votes(r);
}

/* --- voters -------------------------------------------------------------- */

static bool is_up_to_date(const struct raft *r, const struct raft_message *m)
{
    uint64_t last = raft_log_last(&r->log);
    uint64_t last_term = raft_log_term(&r->log, last);
    return m->index_term > last_term ||
           (m->index_term == last_term && m->index >= last);
}

/* Was a leader heard lately? Then a candidate has lost it alone, or was removed
 * and does not know. */
static bool hears_leader(const struct raft *r)
{
    return r->role == RAFT_LEADER ||
           r->now_us < r->heard_us + raft_patience_us(r);
}

/* Why @m is not considered, nor its term taken; NULL: it is. */
static const char *why_ignored(const struct raft *r,
                               const struct raft_message *m)
{
    if (m->term < r->term)
        return "its_term_is_over";
    if (r->missing)
        return "entries_are_missing_here";
    return hears_leader(r) && !m->transfer ? "a_leader_is_heard" : NULL;
}

/* Why @m, whose term was taken if it asks for a vote, gets none; NULL: it gets
 * one. */
static const char *why_refused(const struct raft *r,
                               const struct raft_message *m)
{
    bool pre = m->kind == RAFT_PREVOTE;
    PRE(m->term >= r->term && !r->missing);
    if (pre && m->term <= r->term)
        return "its_term_is_over";
    if (!is_up_to_date(r, m))
        return "its_log_is_older";
    if (!pre && ((r->vote && r->vote != m->from) || r->role != RAFT_FOLLOWER))
        return "voted_for_another";
    return NULL;
}

static void give_vote(struct raft *r, const struct raft_message *m)
{
    PRE(m->term == r->term && r->role == RAFT_FOLLOWER);
    PRE(is_up_to_date(r, m));
    if (r->vote != m->from) {
        INVARIANT(r->vote == 0); /* I1: one vote in a term. */
        r->vote = m->from;
        r->meta_dirty = true;
    }
    raft__reset_election(r);
}

void raft__on_vote(struct raft *r,
                   const struct raft_message *m,
                   struct raft_message *reply)
{
    const char *why = why_ignored(r, m);
    PRE(m->kind == RAFT_PREVOTE || m->kind == RAFT_VOTE);
    if (!why && m->kind == RAFT_VOTE && m->term > r->term)
        raft__become_follower(r, m->term, 0);
    if (!why)
        why = why_refused(r, m);
    if (why) {
        reply->refusal = RAFT_REFUSED;
        r->refused_id = m->from;
        r->refused_why = why;
        return;
    }
    reply->refusal = RAFT_ACCEPTED;
    if (m->kind == RAFT_PREVOTE) {
        reply->term = m->term;
        return;
    }
    reply->silence_us = r->now_us - last_led_us(r);
    give_vote(r, m);
}

/* --- for people ---------------------------------------------------------- */

static const char *raft_election_stands(const struct raft *r)
{
    if (r->stuck)
        return "no:its_disk_takes_nothing";
    if (r->missing)
        return "no:entries_are_missing";
    if (r->installing)
        return "no:a_snapshot_is_installed";
    return is_needed(r) ? "yes" : "no:it_has_no_vote";
}

/* The answer of voter @id to this member, and how old it is. */
static void put_ballot(const struct raft *r, uint64_t id, struct buf *out)
{
    size_t i = 0;
    while (i < r->ballot_count && r->ballots[i].id != id)
        i++;
    INVARIANT(i == r->ballot_count || r->ballots[i].at_us <= r->now_us);
    if (id == r->options.id)
        buf_append_str(out, "self");
    else if (i == r->ballot_count)
        buf_append_str(out, "silent");
    else
        buf_printf(out, "%s:%" PRIu64 "ms",
                   r->ballots[i].granted ? "granted" : "refused",
                   (r->now_us - r->ballots[i].at_us) / 1000);
}

void raft_explain_votes(const struct raft *r, struct buf *out)
{
    uint64_t last = raft_log_last(&r->log);
    const char *comma = "";
    INVARIANT(r->ballot_count <= RAFT_MEMBERS_MAX);
    INVARIANT(r->config_index <= last); /* INV-4 */
    buf_printf(out,
               "vote=%" PRIu64 " last_term=%" PRIu64 " stands=%s needs=%zu",
               r->vote, raft_log_term(&r->log, last), raft_election_stands(r),
               raft_config_majority(&r->config));
    buf_append_str(out, " votes=");
    for (size_t i = 0; i < r->config.count; i++) {
        const struct raft_member *m = &r->config.members[i];
        if (!m->voting)
            continue;
        buf_printf(out, "%s%" PRIu64 ":", comma, m->id);
        put_ballot(r, m->id, out);
        comma = ",";
    }
    if (r->config_index > r->commit)
        buf_printf(out, " uncommitted_members=%" PRIu64, r->config_index);
    if (r->refused_why)
        buf_printf(out, " refused=%" PRIu64 ":%s", r->refused_id,
                   r->refused_why);
}
