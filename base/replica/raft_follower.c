/* A follower: takes entries and snapshots from the leader of its term.
 *
 * An append is taken only where the entry before it agrees (I8), so the logs
 * agree up to its end. Entries that differ are replaced, unless they are
 * committed: then a member is faulty, and the message is counted and dropped.
 */
#include "base/core/panic.h"
#include "base/replica/raft_state.h"

/* The sender leads at m->term: follow it. False: the term is over, or this
 * member leads it itself. */
static bool raft_hear_leader(struct raft *r, const struct raft_message *m)
{
    if (m->term < r->term)
        return false;
    if (r->role == RAFT_LEADER) { /* Two leaders of a term: I1. */
        r->contradictions++;
        return false;
    }
    if (r->role != RAFT_FOLLOWER)
        raft__become_follower(r, m->term, m->from);
    r->leader = m->from;
    PRE(m->term == r->term); /* raft_receive() took the term. */
    r->leader_term = m->term;
    r->heard_us = r->now_us;
    r->rests = m->rests;
    raft__reset_election(r);
    return true;
}

/* --- entries ------------------------------------------------------------- */

static void raft_follower_refuse(struct raft *r,
                                 const struct raft_message *m,
                                 struct raft_message *reply)
{
    uint64_t last = raft_log_last(&r->log);
    PRE(m->kind == RAFT_APPEND);
    reply->refusal = RAFT_REFUSED;
    reply->index = m->index;
    reply->hint_index = MIN_OF(last, m->index - 1);
    reply->hint_term = raft_log_term(&r->log, reply->hint_index);
}

/* Do the terms of @m's entries never decrease (I6), up to the leader's own? */
static bool raft_terms_rise(const struct raft_message *m)
{
    uint64_t term = m->index_term;
    PRE(m->entries || m->entry_count == 0);
    for (size_t i = 0; i < m->entry_count; i++) {
        if (m->entries[i].term < term)
            return false;
        term = m->entries[i].term;
    }
    return term <= m->term;
}

/* Append the entries of @m that are new; false when that would change what is
 * committed. */
static bool raft_take_entries(struct raft *r, const struct raft_message *m)
{
    PRE(m->kind == RAFT_APPEND);
    PRE(raft_log_last(&r->log) >= m->index);
    for (size_t i = 0; i < m->entry_count; i++) {
        const struct raft_entry *e = &m->entries[i];
        uint64_t index = m->index + 1 + i;
        struct raft_config config;
        if (index <= r->log.base_index ||
            raft_log_term(&r->log, index) == e->term)
            continue;
        if (index <= r->commit)
            return false;
        if (index <= raft_log_last(&r->log))
            raft__truncate(r, index);
        INVARIANT(index == raft_log_last(&r->log) + 1);
        raft_log_append(&r->log, e->term, e->kind, raft_bytes_ref(e->bytes));
        if (e->kind == RAFT_ENTRY_CONFIG &&
            raft_config_decode(raft_bytes_slice(e->bytes), &config))
            raft__adopt_config(r, index, &config);
    }
    POST(raft_log_last(&r->log) >= m->index + m->entry_count);
    return true;
}

static bool raft_follower_append(struct raft *r,
                                 const struct raft_message *m,
                                 struct raft_message *reply)
{
    uint64_t end = m->index + m->entry_count;
    bool known = m->index <= r->log.base_index ||
                 raft_log_term(&r->log, m->index) == m->index_term;
    if (m->index > raft_log_last(&r->log) || !known) {
        if (m->index <= r->commit) {
            r->contradictions++;
            return false;
        }
        raft_follower_refuse(r, m, reply);
        return true;
    }
    if (!raft_terms_rise(m) || !raft_take_entries(r, m)) {
        r->contradictions++;
        return false;
    }
    POST(end <= raft_log_last(&r->log)); /* I8 */
    POST(m->entry_count == 0 || end <= r->log.base_index ||
         raft_log_term(&r->log, end) == m->entries[m->entry_count - 1].term);
    raft__set_commit(r, MIN_OF(m->commit, end));
    reply->index = end;
    return true;
}

/* I5: does the log reach what the leader knows to have been on this disk? */
static bool raft_has_confirmed(struct raft *r, const struct raft_message *m)
{
    if (!r->missing && m->hint_index > raft_log_last(&r->log))
        r->missing = m->hint_index;
    return !r->missing;
}

bool raft__on_append(struct raft *r,
                     struct raft_message *m,
                     struct raft_message *reply,
                     uint64_t *after)
{
    PRE(m->kind == RAFT_APPEND);
    reply->round = m->round;
    reply->rests = m->rests;
    reply->has_entries = m->entry_count > 0;
    if (!raft_hear_leader(r, m)) {
        reply->refusal = RAFT_REFUSED;
        reply->index = m->index;
        return m->term < r->term;
    }
    if (!raft_has_confirmed(r, m))
        return false;
    if (r->installing || r->config.count == 0) {
        reply->refusal = r->installing ? RAFT_BUSY : RAFT_NEED_SNAPSHOT;
        *after = 0;
        return true;
    }
    if (!raft_follower_append(r, m, reply))
        return false;
    /* The reply to a heartbeat does not wait for the disk: it reports what is
     * stored now. */
    if (m->entry_count == 0) {
        if (reply->refusal == RAFT_ACCEPTED)
            reply->index = MIN_OF(reply->index, r->stored);
        *after = 0;
    }
    return true;
}

/* --- snapshots ----------------------------------------------------------- */

static void raft_take_chunk(struct raft *r, struct raft_message *m)
{
    struct raft_action *a = raft__act(r, RAFT_DO_CHUNK);
    PRE(!r->installing && m->index > r->commit);
    a->index = m->index;
    a->term = m->index_term;
    a->offset = m->offset;
    a->data = m->data;
    m->data = BUF_INIT;
    r->in_index = m->index;
    r->in_term = m->index_term;
    r->in_offset = m->offset + a->data.len;
    if (m->last) {
        uint64_t op = a->op;
        a = raft__act(r, RAFT_DO_INSTALL);
        a->index = m->index;
        a->term = m->index_term;
        a->op = op;
        r->installing = true;
    }
}

bool raft__on_snapshot(struct raft *r,
                       struct raft_message *m,
                       struct raft_message *reply,
                       uint64_t *after)
{
    PRE(m->kind == RAFT_SNAPSHOT);
    reply->index = m->index;
    if (!raft_hear_leader(r, m)) {
        reply->refusal = RAFT_REFUSED;
        return m->term < r->term;
    }
    if (r->installing) {
        reply->refusal = RAFT_BUSY;
        *after = 0;
        return true;
    }
    if (m->index <= r->commit) {
        reply->hint_index = m->index; /* Nothing in it is new. */
        return true;
    }
    if (m->offset == 0 ||
        (m->index == r->in_index && m->index_term == r->in_term &&
         m->offset == r->in_offset))
        raft_take_chunk(r, m);
    else if (m->index != r->in_index || m->index_term != r->in_term)
        r->in_offset = 0;
    reply->offset = r->in_offset;
    if (r->installing)
        reply->refusal = RAFT_BUSY;
    INVARIANT(!r->installing || r->role == RAFT_FOLLOWER); /* INV-7 */
    return true;
}
