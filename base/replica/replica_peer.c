/* The other members: connections, and messages out and in. Each message is a
 * call in a fiber of its own, which first waits for the operation that the
 * message depends on; a reply waits in the handler's fiber in the same way.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/replica/replica_message.h"
#include "base/replica/replica_state.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

#define CHUNK_BYTES ((size_t)1 << 20)
/* A follower whose disk is slow is waited for; one that is gone is found by its
 * connection or by its silence. */
#define CALL_TIMEOUT_US 10000000
/* A pause between attempts to connect is well below an election's time. */
#define BACKOFF_MIN_US 20000
#define BACKOFF_MAX_US 200000

/* --- connections --------------------------------------------------------- */

static void forget_peer(struct replica *r, struct replica_peer *p)
{
    size_t i = 0;
    while (i < r->peer_count && r->peers[i] != p)
        i++;
    INVARIANT(i < r->peer_count && p->gone);
    r->peers[i] = r->peers[--r->peer_count];
    mem_free(p);
    if (r->closer)
        fiber_wake(r->closer);
}

/* Calls on the channel end first, with an error. */
static void run_goodbye(void *arg)
{
    struct replica_peer *p = arg;
    PRE(p->gone);
    rpc_channel_free(p->channel);
    forget_peer(p->replica, p);
}

static void stop_peer(struct replica_peer *p)
{
    PRE(p->channel);
    if (p->gone)
        return;
    p->gone = true;
    fiber_detach(
        fiber_start(p->replica->loop, "replica goodbye", run_goodbye, p));
}

static void start_peer(struct replica *r, const struct raft_member *m)
{
    struct replica_peer *p = mem_zalloc(1, sizeof(*p));
    struct rpc_channel_options opts = {.security = r->security,
                                       .backoff_min_us = BACKOFF_MIN_US,
                                       .backoff_max_us = BACKOFF_MAX_US};
    PRE(m->id != r->id && r->peer_count < ARRAY_LEN(r->peers));
    p->replica = r;
    p->id = m->id;
    memcpy(p->address, m->address, sizeof(p->address));
    p->channel = rpc_channel_new(p->address, &opts);
    r->peers[r->peer_count++] = p;
}

static struct replica_peer *find_peer(const struct replica *r, uint64_t id)
{
    PRE(r->peer_count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < r->peer_count; i++)
        if (r->peers[i]->id == id && !r->peers[i]->gone)
            return r->peers[i];
    return NULL;
}

void replica__sync_peers(struct replica *r)
{
    const struct raft_config *c = raft_members(r->raft);
    INVARIANT(r->peer_count <= ARRAY_LEN(r->peers));
    for (size_t i = 0; i < r->peer_count; i++) {
        const struct raft_member *m = raft_config_find(c, r->peers[i]->id);
        if (!m || strcmp(m->address, r->peers[i]->address) != 0)
            stop_peer(r->peers[i]);
    }
    for (size_t i = 0; i < c->count && !r->closing; i++)
        if (c->members[i].id != r->id && !find_peer(r, c->members[i].id) &&
            r->peer_count < ARRAY_LEN(r->peers))
            start_peer(r, &c->members[i]);
}

/* --- messages out -------------------------------------------------------- */

/* Heap; in the replica's list until its fiber ends. */
struct replica_send {
    struct replica_send *next;
    struct replica_send *prev;
    struct replica *replica;
    struct fiber *fiber;
    struct raft_message message;
    uint64_t after_op;
};

/* One trip to the thread pool for a chunk of the newest snapshot. */
struct chunk_read {
    struct replica *replica;
    struct raft_message *message;
    int rc;
};

static void read_chunk(void *arg)
{
    struct chunk_read *t = arg;
    struct raft_message *m = t->message;
    PRE(m->kind == RAFT_SNAPSHOT);
    t->rc = snapshot_read_chunk(t->replica->world, t->replica->keyring,
                                t->replica->directory, m->index, m->offset,
                                CHUNK_BYTES, &m->data, &m->last, NULL);
}

static int fill_chunk(struct replica *r, struct raft_message *m)
{
    struct chunk_read t = {r, m, 0};
    PRE(m->kind == RAFT_SNAPSHOT && m->data.len == 0);
    mutex_lock(&r->files);
    offload(read_chunk, &t);
    mutex_unlock(&r->files);
    return t.rc;
}

/* An empty append is sent again soon anyway. */
static uint64_t timeout_of(const struct replica *r,
                           const struct raft_message *m)
{
    return m->kind == RAFT_APPEND && m->entry_count == 0 ? 4 * r->election_us
                                                         : CALL_TIMEOUT_US;
}

static int
call_peer(struct replica *r, struct raft_message *m, struct buf *reply)
{
    struct rpc_call_options opts = {.timeout_us = timeout_of(r, m)};
    struct replica_peer *p = find_peer(r, m->to);
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    int rc;
    PRE(m->from == r->id);
    PRE(!raft_message_is_reply(m->kind));
    if (!p)
        return ERR_UNAVAILABLE;
    m->version = r->version ? *r->version : 0;
    message_encode(r->cell, m, &body, &attachment);
    rc = rpc_call(p->channel, r->method, &opts, buf_slice(&body),
                  buf_slice(&attachment), reply, NULL, NULL);
    buf_close(&body);
    buf_close(&attachment);
    return rc;
}

static void take_reply(struct replica *r,
                       const struct raft_message *sent,
                       struct slice bytes)
{
    struct raft_message reply, none;
    uint64_t cell, after;
    if (message_decode(bytes, SLICE_EMPTY, &cell, &reply, NULL) == 0 &&
        cell == r->cell && reply.from == sent->to && reply.to == r->id &&
        raft_message_is_reply(reply.kind)) {
        bool more =
            raft_receive(r->raft, replica__now_us(r), &reply, &none, &after);
        INVARIANT(!more);
    } else {
        raft_lost(r->raft, replica__now_us(r), sent->to, sent->kind);
    }
    raft_message_close(&reply);
}

static void replica_peer_exchange(struct replica_send *s)
{
    struct replica *r = s->replica;
    struct raft_message *m = &s->message;
    struct buf reply = BUF_INIT;
    int rc = replica__await_stored(r, s->after_op, NULL);
    PRE(s->message.to != r->id);
    if (rc == 0 && m->kind == RAFT_SNAPSHOT)
        rc = fill_chunk(r, m);
    if (rc == 0)
        rc = call_peer(r, m, &reply);
    if (rc == 0)
        take_reply(r, m, buf_slice(&reply));
    else
        raft_lost(r->raft, replica__now_us(r), m->to, m->kind);
    buf_close(&reply);
    if (!r->closing)
        replica__pump(r);
}

static void run_send(void *arg)
{
    struct replica_send *s = arg;
    struct replica *r = s->replica;
    INVARIANT(s->prev || r->sends == s);
    if (!r->closing)
        replica_peer_exchange(s);
    raft_message_close(&s->message);
    if (s->prev)
        s->prev->next = s->next;
    else
        r->sends = s->next;
    if (s->next)
        s->next->prev = s->prev;
    mem_free(s);
    if (r->closer)
        fiber_wake(r->closer);
}

void replica__send(struct replica *r, struct raft_action *a)
{
    struct replica_send *s = mem_zalloc(1, sizeof(*s));
    PRE(a->kind == RAFT_DO_SEND && !r->closing);
    PRE(a->message.from == r->id);
    s->replica = r;
    s->message = a->message;
    s->after_op = a->op;
    s->next = r->sends;
    if (s->next)
        s->next->prev = s;
    r->sends = s;
    s->fiber = fiber_start(r->loop, "replica send", run_send, s);
    fiber_detach(s->fiber);
}

void replica__stop_peers(struct replica *r)
{
    PRE(r->closing && !r->closer);
    r->closer = fiber_self();
    for (struct replica_send *s = r->sends; s; s = s->next)
        fiber_cancel(s->fiber);
    while (r->sends)
        fiber_park();
    for (size_t i = 0; i < r->peer_count; i++)
        stop_peer(r->peers[i]);
    while (r->peer_count)
        fiber_park();
    r->closer = NULL;
    POST(!r->sends && r->peer_count == 0);
}

/* --- messages in --------------------------------------------------------- */

static int check_sender(const struct replica *r,
                        uint64_t cell,
                        const struct raft_message *m,
                        struct err *err)
{
    if (cell != r->cell)
        return err_set(err, ERR_DENIED, "a message of another cell than %s",
                       r->name);
    if (m->to != r->id || m->from == r->id)
        return err_set(err, ERR_INVALID,
                       "a message to member %llu came to member %llu",
                       (unsigned long long)m->to, (unsigned long long)r->id);
    if (raft_message_is_reply(m->kind))
        return err_set(err, ERR_INVALID, "a reply that answers nothing");
    return r->failed ? err_copy(err, &r->failure) : 0;
}

/* This member's disk does not have what it had confirmed. */
static void give_up(struct replica *r)
{
    struct err why = ERR_INIT;
    PRE(raft_missing(r->raft) > 0);
    err_set(&why, ERR_CORRUPT,
            "%s: entries are missing: it ends with entry %" PRIu64
            ", and the leader knows that entry %" PRIu64
            " was on this member's disk",
            r->log_directory, raft_log_last(raft_entries(r->raft)),
            raft_missing(r->raft));
    replica__hint_at_remedy(&why);
    replica__fail(r, &why);
}

/* Messages of a newer cluster must not be taken for those that this program
 * knows. A member that was down when the cluster was raised is told by the
 * leader before any entry that it does not know. */
static int
check_version(struct replica *r, const struct raft_message *m, struct err *err)
{
    struct err why = ERR_INIT;
    if (!r->version || m->version <= r->versions.max || r->failed)
        return 0;
    (void)!cluster_version_check(r->versions, m->version, &why);
    replica__fail(r, &why);
    return err_copy(err, &r->failure);
}

static int replica_peer_answer(struct replica *r,
                               struct raft_message *m,
                               struct rpc_call *call,
                               struct err *err)
{
    struct raft_message reply;
    uint64_t after;
    struct buf none = BUF_INIT;
    bool sane = raft_receive(r->raft, replica__now_us(r), m, &reply, &after);
    int rc;
    if (raft_missing(r->raft) && !r->failed)
        give_up(r);
    replica__pump(r);
    INVARIANT(!sane || reply.to == m->from);
    if (r->failed)
        return err_copy(err, &r->failure);
    if (!sane)
        return err_set(err, ERR_CORRUPT,
                       "a message that contradicts what is committed");
    rc = replica__await_stored(r, after, err);
    reply.version = r->version ? *r->version : 0;
    if (rc == 0)
        message_encode(r->cell, &reply, call->reply_body, &none);
    return rc;
}

int replica__serve(void *ctx, struct rpc_call *call, struct err *err)
{
    struct replica *r = ctx;
    struct raft_message m;
    uint64_t cell;
    PRE(r->server && call->reply_body);
    int rc = message_decode(call->body, call->attachment, &cell, &m, err);
    if (rc == 0)
        rc = check_sender(r, cell, &m, err);
    if (rc == 0)
        rc = check_version(r, &m, err);
    if (rc == 0 && (r->closing || r->outside))
        rc = err_set(err, ERR_UNAVAILABLE,
                     r->closing ? "closing" : "not a member yet");
    if (rc == 0)
        rc = replica_peer_answer(r, &m, call, err);
    raft_message_close(&m);
    return rc;
}
