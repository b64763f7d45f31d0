/* The core's state, its queue of actions, and the steps that all roles share.
 *
 * Every event ends with raft__persist(), which hands the disk what changed, and
 * with raft__check(), which asserts the invariants of raft_state.h.
 */
#include "base/replica/raft.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/replica/raft_state.h"

#define APPEND_BYTES_MAX   ((uint64_t)1 << 20)
#define INFLIGHT_BYTES_MAX ((uint64_t)8 << 20)
#define INFLIGHT_MAX       4
/* Most doublings of an election's time. */
#define PATIENCE_MAX ((uint64_t)4)
/* Terms and indexes that no cell reaches: beyond them sums could wrap. */
#define SANE_MAX (UINT64_C(1) << 62)

/* --- messages ------------------------------------------------------------ */

void raft_message_close(struct raft_message *m)
{
    PRE(m->entries || m->entry_count == 0);
    raft_entries_free(m->entries, m->entry_count);
    m->entries = NULL;
    m->entry_count = 0;
    buf_close(&m->data);
}

bool raft_message_is_reply(enum raft_message_kind kind)
{
    return kind >= RAFT_PREVOTE_REPLY;
}

/* --- actions ------------------------------------------------------------- */

static void grow_actions(struct raft *r)
{
    size_t cap = r->action_cap ? r->action_cap * 2 : 16;
    struct raft_action *actions = mem_alloc(cap * sizeof(*actions));
    for (size_t i = 0; i < r->action_count; i++)
        actions[i] = r->actions[(r->action_head + i) % r->action_cap];
    mem_free(r->actions);
    r->actions = actions;
    r->action_cap = cap;
    r->action_head = 0;
    POST(r->action_count < r->action_cap);
}

struct raft_action *raft__act(struct raft *r, enum raft_action_kind kind)
{
    struct raft_action *a;
    if (r->action_count == r->action_cap)
        grow_actions(r);
    a = &r->actions[(r->action_head + r->action_count++) % r->action_cap];
    memset(a, 0, sizeof(*a));
    a->kind = kind;
    if (kind != RAFT_DO_SEND && kind != RAFT_DO_INSTALL)
        a->op = ++r->last_op; /* INV-3 */
    INVARIANT(r->action_count <= r->action_cap);
    return a;
}

bool raft_next_action(struct raft *r, struct raft_action *out)
{
    if (r->action_count == 0)
        return false;
    *out = r->actions[r->action_head];
    INVARIANT(out->op <= r->last_op); /* INV-3 */
    r->action_head = (r->action_head + 1) % r->action_cap;
    r->action_count--;
    return true;
}

void raft_action_close(struct raft_action *a)
{
    PRE(a->entries || a->entry_count == 0);
    raft_entries_free(a->entries, a->entry_count);
    a->entries = NULL;
    a->entry_count = 0;
    buf_close(&a->data);
    raft_message_close(&a->message);
}

struct raft_message *raft__send(struct raft *r,
                                enum raft_message_kind kind,
                                uint64_t to,
                                uint64_t after_op)
{
    struct raft_action *a = raft__act(r, RAFT_DO_SEND);
    PRE(to != r->options.id);
    PRE(after_op <= r->last_op);
    a->op = after_op;
    a->message.kind = kind;
    a->message.from = r->options.id;
    a->message.to = to;
    a->message.term = r->term;
    return &a->message;
}

/* --- disk ---------------------------------------------------------------- */

static void persist_meta(struct raft *r)
{
    struct raft_action *a;
    if (!r->meta_dirty)
        return;
    a = raft__act(r, RAFT_DO_META);
    a->term = r->term;
    a->vote = r->vote;
    r->meta_op = a->op;
    r->meta_dirty = false;
    POST(!r->meta_dirty);
}

static void add_pending(struct raft *r, uint64_t op, uint64_t last_index)
{
    if (r->pending_count == r->pending_cap) {
        r->pending_cap = r->pending_cap ? r->pending_cap * 2 : 16;
        r->pending =
            mem_realloc(r->pending, r->pending_cap * sizeof(*r->pending));
    }
    INVARIANT(r->pending_count == 0 ||
              r->pending[r->pending_count - 1].op < op);
    r->pending[r->pending_count++] = (struct raft_pending){op, last_index};
}

void raft__persist(struct raft *r)
{
    uint64_t last = raft_log_last(&r->log);
    struct raft_action *a;
    persist_meta(r);
    if (r->queued_last >= last)
        return;
    a = raft__act(r, RAFT_DO_APPEND);
    a->index = r->queued_last + 1;
    a->entry_count = (size_t)(last - r->queued_last);
    a->entries = raft_log_copy(&r->log, a->index, a->entry_count);
    add_pending(r, a->op, last);
    r->queued_last = last;
    POST(r->queued_last == raft_log_last(&r->log)); /* INV-2 */
}

/* Note the entries that the done operations have stored. */
static void raft_take_pending(struct raft *r)
{
    size_t n = 0;
    for (; n < r->pending_count && r->pending[n].op <= r->done_op; n++)
        r->stored = MAX_OF(r->stored, r->pending[n].last_index);
    INVARIANT(r->stored <= r->queued_last); /* INV-2 */
    r->pending_count -= n;
    if (r->pending_count)
        memmove(r->pending, r->pending + n,
                r->pending_count * sizeof(*r->pending));
}

void raft_stored(struct raft *r, uint64_t now_us, uint64_t op)
{
    PRE(op <= r->last_op);
    r->now_us = now_us;
    r->done_op = MAX_OF(r->done_op, op);
    raft_take_pending(r);
    if (r->role == RAFT_CANDIDATE)
        raft__count_votes(r);
    if (r->role == RAFT_LEADER) {
        raft__advance_commit(r);
        raft__feed_all(r);
    }
    raft__persist(r);
    raft__check(r);
}

void raft_set_stuck(struct raft *r, uint64_t now_us, bool stuck)
{
    PRE(now_us >= r->now_us);
    r->now_us = now_us;
    r->stuck = stuck;
    if (stuck && r->role != RAFT_FOLLOWER)
        raft__become_follower(r, r->term, 0);
    raft__persist(r);
    raft__check(r);
}

/* --- log ----------------------------------------------------------------- */

void raft__adopt_config(struct raft *r,
                        uint64_t index,
                        const struct raft_config *config)
{
    PRE(config->count <= RAFT_MEMBERS_MAX);
    PRE(index <= raft_log_last(&r->log)); /* INV-4 */
    r->config = *config;
    r->config_index = index;
    if (r->role == RAFT_LEADER)
        raft__sync_peers(r);
}

void raft_members_at(const struct raft *r,
                     uint64_t index,
                     struct raft_config *out)
{
    PRE(index >= r->snapshot_index && index <= raft_log_last(&r->log));
    for (uint64_t i = index; i > r->snapshot_index; i--) {
        const struct raft_entry *e = raft_log_get(&r->log, i);
        if (e && e->kind == RAFT_ENTRY_CONFIG &&
            raft_config_decode(raft_bytes_slice(e->bytes), out))
            return;
    }
    *out = r->snapshot_config;
}

/* The newest entry up to @index that changes the table; the snapshot if none.
 */
static uint64_t config_index_at(const struct raft *r, uint64_t index)
{
    PRE(index >= r->snapshot_index);
    for (uint64_t i = index; i > r->snapshot_index; i--) {
        const struct raft_entry *e = raft_log_get(&r->log, i);
        if (e && e->kind == RAFT_ENTRY_CONFIG)
            return i;
    }
    return r->snapshot_index;
}

void raft__truncate(struct raft *r, uint64_t index)
{
    PRE(r->role != RAFT_LEADER); /* I7 */
    PRE(index > r->commit);      /* I2 */
    raft_log_truncate(&r->log, index);
    r->queued_last = MIN_OF(r->queued_last, index - 1);
    r->stored = MIN_OF(r->stored, index - 1);
    for (size_t i = 0; i < r->pending_count; i++)
        r->pending[i].last_index = MIN_OF(r->pending[i].last_index, index - 1);
    if (r->config_index >= index) {
        struct raft_config config;
        raft_members_at(r, index - 1, &config);
        raft__adopt_config(r, config_index_at(r, index - 1), &config);
    }
}

void raft__set_commit(struct raft *r, uint64_t commit)
{
    if (commit <= r->commit)
        return;
    INVARIANT(commit <= raft_log_last(&r->log)); /* I3 */
    r->commit = commit;
    POST(r->snapshot_index <= r->commit); /* I3 */
}

/* --- invariants ---------------------------------------------------------- */

void raft__check(const struct raft *r)
{
    uint64_t last = raft_log_last(&r->log);
    INVARIANT(r->log.base_index <= r->snapshot_index); /* INV-1 */
    INVARIANT(r->snapshot_index <= r->commit);         /* INV-1 */
    INVARIANT(r->commit <= last);                      /* INV-1 */
    INVARIANT(r->stored <= r->queued_last);            /* INV-2 */
    INVARIANT(r->queued_last == last);                 /* INV-2 */
    INVARIANT(!r->meta_dirty);                         /* INV-2 */
    INVARIANT(r->done_op <= r->last_op);               /* INV-3 */
    INVARIANT(r->config_index >= r->snapshot_index);   /* INV-4 */
    INVARIANT(r->config_index <= last);                /* INV-4 */
    INVARIANT(r->leader_term <= r->term);              /* INV-5 */
    INVARIANT(r->peer_count <= RAFT_MEMBERS_MAX);
    INVARIANT(r->grant_count <= RAFT_MEMBERS_MAX);
    INVARIANT(r->round_done <= r->round);
    if (r->role == RAFT_LEADER) {
        INVARIANT(r->leader == r->options.id); /* INV-6 */
        INVARIANT(r->leader_term == r->term);  /* INV-6 */
        INVARIANT(r->first_index <= last);     /* INV-6 */
    } else if (r->role == RAFT_CANDIDATE) {
        INVARIANT(r->vote == r->options.id); /* INV-6 */
    }
    if (r->role != RAFT_FOLLOWER) {
        INVARIANT(!r->stuck);      /* INV-7 */
        INVARIANT(!r->missing);    /* INV-7 */
        INVARIANT(!r->installing); /* INV-7 */
    }
}

/* --- roles --------------------------------------------------------------- */

void raft__reset_election(struct raft *r)
{
    /* Spread by more than a round of votes takes, and short enough that two
     * tries fit into a second. Votes wait for two disks: after an election
     * without a winner the next try has twice the time. A round takes no longer
     * after a rest, so its longer silence spreads no further. */
    uint64_t lost = r->term - r->leader_term;
    uint64_t doublings = MIN_OF(lost ? lost - 1 : 0, PATIENCE_MAX);
    uint64_t spread = (r->options.election_us << doublings) * 2 / 3;
    INVARIANT(r->leader_term <= r->term); /* INV-5 */
    r->election_us = r->now_us + (raft_patience_us(r) << doublings) +
                     rand_below(&r->rand, spread + 1);
    POST(r->election_us > r->now_us);
}

void raft__become_follower(struct raft *r, uint64_t term, uint64_t leader)
{
    PRE(term >= r->term); /* I6 */
    if (term > r->term) {
        r->term = term;
        r->vote = 0;
        r->meta_dirty = true;
    }
    if (r->role == RAFT_LEADER)
        r->led_us = r->now_us;
    r->role = RAFT_FOLLOWER;
    r->rests = false;
    r->leader = leader;
    r->grant_count = 0;
    r->peer_count = 0;
    r->transfer_to = 0;
    raft__reset_election(r);
}

/* --- events -------------------------------------------------------------- */

void raft_tick(struct raft *r, uint64_t now_us)
{
    PRE(now_us >= r->now_us);
    r->now_us = now_us;
    if (r->role == RAFT_LEADER)
        raft__tick_leader(r);
    else
        raft__tick_follower(r);
    raft__persist(r);
    raft__check(r);
}

uint64_t raft_due_us(const struct raft *r)
{
    return r->role == RAFT_LEADER ? MIN_OF(r->heartbeat_us, r->quorum_us)
                                  : r->election_us;
}

static void on_timeout_now(struct raft *r, struct raft_message *reply)
{
    bool may = raft_config_votes(&r->config, r->options.id) && !r->stuck &&
               !r->missing && !r->installing && r->role == RAFT_FOLLOWER;
    reply->refusal = may ? RAFT_ACCEPTED : RAFT_REFUSED;
    if (may)
        raft__stand(r, true);
}

/* Does @m come from a leader or a candidate that exists at its term? */
static bool takes_term(const struct raft_message *m)
{
    switch (m->kind) {
    case RAFT_APPEND:
    case RAFT_SNAPSHOT:
    case RAFT_TIMEOUT_NOW:
    case RAFT_APPEND_REPLY:
    case RAFT_SNAPSHOT_REPLY:
    case RAFT_TIMEOUT_NOW_REPLY:
    case RAFT_VOTE_REPLY: return true;
    case RAFT_PREVOTE: /* Asks about a term that no member is in yet. */
    case RAFT_VOTE:    /* raft__on_vote() decides. */
    case RAFT_PREVOTE_REPLY: return false;
    }
    return false;
}

static bool raft_dispatch(struct raft *r,
                          struct raft_message *m,
                          struct raft_message *reply,
                          uint64_t *after)
{
    PRE(!takes_term(m) || r->term >= m->term);
    switch (m->kind) {
    case RAFT_PREVOTE:
    case RAFT_VOTE: raft__on_vote(r, m, reply); return true;
    case RAFT_APPEND: return raft__on_append(r, m, reply, after);
    case RAFT_SNAPSHOT: return raft__on_snapshot(r, m, reply, after);
    case RAFT_TIMEOUT_NOW:
        if (m->term == r->term)
            on_timeout_now(r, reply);
        return true;
    case RAFT_PREVOTE_REPLY:
    case RAFT_VOTE_REPLY: raft__on_vote_reply(r, m); return false;
    case RAFT_APPEND_REPLY: raft__on_append_reply(r, m); return false;
    case RAFT_SNAPSHOT_REPLY: raft__on_snapshot_reply(r, m); return false;
    case RAFT_TIMEOUT_NOW_REPLY: return false;
    }
    return false;
}

static enum raft_message_kind reply_kind(enum raft_message_kind kind)
{
    switch (kind) {
    case RAFT_PREVOTE: return RAFT_PREVOTE_REPLY;
    case RAFT_VOTE: return RAFT_VOTE_REPLY;
    case RAFT_SNAPSHOT: return RAFT_SNAPSHOT_REPLY;
    case RAFT_TIMEOUT_NOW: return RAFT_TIMEOUT_NOW_REPLY;
    case RAFT_APPEND:
    case RAFT_PREVOTE_REPLY:
    case RAFT_VOTE_REPLY:
    case RAFT_APPEND_REPLY:
    case RAFT_SNAPSHOT_REPLY:
    case RAFT_TIMEOUT_NOW_REPLY: break;
    }
    return RAFT_APPEND_REPLY;
}

bool raft_receive(struct raft *r,
                  uint64_t now_us,
                  struct raft_message *m,
                  struct raft_message *reply,
                  uint64_t *after_op)
{
    uint64_t after = UINT64_MAX; /* "Everything so far." */
    bool answer;
    r->now_us = now_us;
    memset(reply, 0, sizeof(*reply));
    *after_op = 0;
    if (m->term > SANE_MAX || m->index > SANE_MAX || m->commit > SANE_MAX)
        return false;
    reply->kind = reply_kind(m->kind);
    reply->from = r->options.id;
    reply->to = m->from;
    if (takes_term(m) && m->term > r->term)
        raft__become_follower(r, m->term, 0);
    answer = raft_dispatch(r, m, reply, &after);
    raft__persist(r);
    if (reply->term == 0)
        reply->term = r->term;
    *after_op = after == UINT64_MAX ? r->last_op : MAX_OF(after, r->meta_op);
    POST(*after_op <= r->last_op);
    raft__check(r);
    return answer;
}

/* --- snapshots ----------------------------------------------------------- */

void raft_compact(struct raft *r,
                  uint64_t now_us,
                  uint64_t index,
                  uint64_t keep_bytes)
{
    uint64_t drop = index;
    r->now_us = now_us;
    PRE(index <= r->commit);
    if (index <= r->snapshot_index)
        return;
    raft_members_at(r, index, &r->snapshot_config);
    r->snapshot_term = raft_log_term(&r->log, index);
    r->snapshot_index = index;
    r->config_index = MAX_OF(r->config_index, index);
    while (drop > r->log.base_index &&
           raft_log_bytes(&r->log, drop, index) < keep_bytes)
        drop--;
    if (drop > r->log.base_index) {
        raft__act(r, RAFT_DO_COMPACT)->index = drop;
        raft_log_drop_prefix(&r->log, drop);
    }
    raft__persist(r);
    raft__check(r);
}

void raft_installed(struct raft *r,
                    uint64_t now_us,
                    uint64_t index,
                    uint64_t term,
                    const struct raft_config *config)
{
    struct raft_action *a;
    r->now_us = now_us;
    PRE(r->installing);
    PRE(r->role == RAFT_FOLLOWER); /* INV-7 */
    r->installing = false;
    r->in_offset = 0;
    r->in_index = 0;
    raft__reset_election(r);
    if (!config)
        return;
    PRE(index > r->commit);
    if (raft_log_term(&r->log, index) == term) {
        /* The entries after it may be needed: keep them. */
        raft_log_drop_prefix(&r->log, index);
        r->stored = MAX_OF(r->stored, index);
        raft__act(r, RAFT_DO_COMPACT)->index = index;
    } else {
        raft_log_reset(&r->log, index, term);
        r->queued_last = r->stored = index;
        r->pending_count = 0;
        a = raft__act(r, RAFT_DO_RESET);
        a->index = index;
        a->term = term;
    }
    r->snapshot_index = r->commit = index;
    r->snapshot_term = term;
    r->snapshot_config = *config;
    if (r->config_index <= index || raft_log_last(&r->log) == index)
        raft__adopt_config(r, index, config);
    raft__persist(r);
    raft__check(r);
}

/* --- life and state ------------------------------------------------------ */

struct raft *raft_new(const struct raft_options *opts,
                      const struct raft_stable *stable,
                      uint64_t now_us)
{
    struct raft *r = mem_zalloc(1, sizeof(*r));
    r->options = *opts;
    if (!r->options.append_bytes_max)
        r->options.append_bytes_max = APPEND_BYTES_MAX;
    if (!r->options.inflight_bytes_max)
        r->options.inflight_bytes_max = INFLIGHT_BYTES_MAX;
    if (!r->options.inflight_max)
        r->options.inflight_max = INFLIGHT_MAX;
    PRE(opts->id && opts->election_us > opts->heartbeat_us);
    rand_init(&r->rand, opts->seed);
    PRE(opts->lease_us < opts->election_us);
    r->now_us = r->heard_us = now_us;
    r->term = r->leader_term = stable->term;
    r->vote = stable->vote;
    r->snapshot_index = r->commit = stable->snapshot_index;
    r->snapshot_term = stable->snapshot_term;
    r->snapshot_config = r->config = *stable->config;
    r->config_index = stable->snapshot_index;
    raft_log_init(&r->log, stable->snapshot_index, stable->snapshot_term);
    for (size_t i = 0; i < stable->entry_count; i++)
        raft_log_append(&r->log, stable->entries[i].term,
                        stable->entries[i].kind, stable->entries[i].bytes);
    mem_free(stable->entries);
    r->queued_last = r->stored = raft_log_last(&r->log);
    raft_members_at(r, r->stored, &r->config);
    r->config_index = config_index_at(r, r->stored);
    raft__reset_election(r);
    if (raft_config_voter_count(&r->config) == 1 &&
        raft_config_votes(&r->config, opts->id))
        r->election_us = now_us; /* There is no other member to wait for. */
    raft__check(r);
    return r;
}

void raft_free(struct raft *r)
{
    struct raft_action a;
    PRE(!r || r->pending_count <= r->pending_cap);
    if (!r)
        return;
    while (raft_next_action(r, &a))
        raft_action_close(&a);
    mem_free(r->actions);
    mem_free(r->pending);
    raft_log_close(&r->log);
    mem_free(r);
}

enum raft_role raft_role(const struct raft *r)
{
    return r->role;
}

uint64_t raft_term(const struct raft *r)
{
    INVARIANT(r->leader_term <= r->term); /* INV-5 */
    return r->term;
}

uint64_t raft_leader(const struct raft *r)
{
    INVARIANT(r->role != RAFT_LEADER || r->leader == r->options.id); /* INV-6 */
    return r->leader;
}

uint64_t raft_patience_us(const struct raft *r)
{
    return r->options.election_us * (r->rests ? RAFT_REST_ELECTIONS : 1);
}

uint64_t raft_commit(const struct raft *r)
{
    INVARIANT(r->commit <= raft_log_last(&r->log)); /* INV-1 */
    return r->commit;
}

uint64_t raft_snapshot_index(const struct raft *r)
{
    INVARIANT(r->snapshot_index <= r->commit); /* INV-1 */
    return r->snapshot_index;
}

const struct raft_log *raft_entries(const struct raft *r)
{
    INVARIANT(r->log.base_index <= r->snapshot_index); /* INV-1 */
    return &r->log;
}

const struct raft_config *raft_members(const struct raft *r)
{
    INVARIANT(r->config.count <= RAFT_MEMBERS_MAX);
    return &r->config;
}

uint64_t raft_missing(const struct raft *r)
{
    return r->missing;
}

uint64_t raft_contradictions(const struct raft *r)
{
    return r->contradictions;
}
