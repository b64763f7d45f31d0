/* A member of a cell: opening and closing, proposals, barriers, state.
 *
 * Proposals that arrive together are one step of the core, so that they share
 * a write and a message. The core is called from many fibers of one loop;
 * replica__pump() after each call keeps what follows from it in one place.
 */
#include "base/replica/replica.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/crypt/master_key.h"
#include "base/replica/cell_call.h"
#include "base/replica/replica_state.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"

#define ELECTION_MS        300
#define HEARTBEAT_MS       50
#define SNAPSHOT_LOG_BYTES ((uint64_t)16 << 20)
/* A cell rests after this time without a command. */
#define REST_US 2000000
/* Proposals that may wait at once. */
#define PROPOSALS_MAX 65536
/* Bounds of one step. */
#define STEP_MAX       1024
#define STEP_BYTES_MAX ((size_t)4 << 20)
/* Between looks at a state that wakes no fiber when it changes. */
#define POLL_US 5000
/* Time for the loop to read what its sockets hold. */
#define LISTEN_US    1000
#define LISTEN_TURNS 3
/* A cell that elects nobody in this time needs help: a line of the log says
 * why, and again later. */
#define LEADERLESS_US 10000000
#define TELL_AGAIN_US 60000000

STATIC_ASSERT(REPLICA_MEMBERS_MAX == RAFT_MEMBERS_MAX, "one table of members");

static const char lost_leadership[] =
    "leadership was lost: it is not known whether the command was executed";

uint64_t replica__now_us(const struct replica *r)
{
    return world_mono_ns(r->world) / 1000;
}

/* --- the core's actions -------------------------------------------------- */

static void stop_leading(struct replica *r)
{
    int rc = r->closing ? ERR_CANCELLED : ERR_UNAVAILABLE;
    uint64_t term = r->leading_term;
    PRE(term);
    log_info(r->world, "replica",
             "cell=%s member=%" PRIu64 " leads no more term=%" PRIu64, r->name,
             r->id, term);
    r->leading_term = 0;
    replica__fail_all(&r->entered, rc, lost_leadership);
    replica__fail_all(&r->barriers, rc, lost_leadership);
    if (r->announced && r->machine.lead)
        r->machine.lead(r->machine.ctx, false, term);
    r->announced = false;                          /* INV-4 */
    POST(!r->entered.first && !r->barriers.first); /* INV-3 */
}

static void count_term(struct replica *r)
{
    uint64_t term = raft_term(r->raft);
    PRE(term >= r->term_seen || r->outside);
    if (term == r->term_seen)
        return;
    log_debug(r->world, "replica",
              "cell=%s member=%" PRIu64 " sees term=%" PRIu64 " after=%" PRIu64,
              r->name, r->id, term, r->term_seen);
    if (r->term_seen && !r->outside)
        r->terms_seen += term - r->term_seen;
    r->term_seen = term;
}

/* Log that there is no leader, once that has lasted. */
static void tell_leaderless(struct replica *r)
{
    uint64_t now = replica__now_us(r);
    struct buf votes = BUF_INIT;
    INVARIANT(r->led_us <= now);
    if (raft_leader(r->raft) || r->failed ||
        now < (r->tell_us ? r->tell_us : r->led_us + LEADERLESS_US))
        return;
    raft_explain_votes(r->raft, &votes);
    log_warn(r->world, "replica",
             "cell=%s member=%" PRIu64 " knows no leader ms=%" PRIu64
             " term=%" PRIu64 " last=%" PRIu64 " committed=%" PRIu64 " %s",
             r->name, r->id, (now - r->led_us) / 1000, raft_term(r->raft),
             raft_log_last(raft_entries(r->raft)), raft_commit(r->raft),
             buf_cstr(&votes));
    buf_close(&votes);
    r->tell_us = now + TELL_AGAIN_US;
}

static void note_leader(struct replica *r)
{
    uint64_t now = replica__now_us(r);
    INVARIANT(r->led_us <= now);
    if (raft_leader(r->raft) == 0)
        return;
    if (r->tell_us)
        log_info(r->world, "replica",
                 "cell=%s member=%" PRIu64 " knows a leader again ms=%" PRIu64
                 " leader=%" PRIu64,
                 r->name, r->id, (now - r->led_us) / 1000,
                 raft_leader(r->raft));
    r->led_us = now;
    r->tell_us = 0;
}

static void follow_role(struct replica *r)
{
    bool leads = raft_role(r->raft) == RAFT_LEADER;
    count_term(r);
    note_leader(r);
    if (r->leading_term && (!leads || raft_term(r->raft) != r->leading_term))
        stop_leading(r);
    if (leads && !r->leading_term) {
        r->leading_term = raft_term(r->raft);
        log_info(r->world, "replica",
                 "cell=%s member=%" PRIu64 " leads term=%" PRIu64, r->name,
                 r->id, r->leading_term);
    }
    POST(leads == (r->leading_term != 0));
}

void replica__pump(struct replica *r)
{
    struct raft_action a;
    while (raft_next_action(r->raft, &a)) {
        if (r->closing)
            raft_action_close(&a);
        else if (a.kind == RAFT_DO_SEND)
            replica__send(r, &a);
        else
            replica__queue_disk(r, &a);
    }
    /* After the messages: what others do with them takes longest. */
    if (r->disk_idle && r->queue_count)
        fiber_wake(r->disk);
    follow_role(r);
    INVARIANT(!r->announced || r->leading_term);   /* INV-4 */
    INVARIANT(r->applied <= raft_commit(r->raft)); /* INV-1 */
    if (r->closing)
        return;
    replica__sync_peers(r);
    replica__check_barriers(r);
    if (r->applied < raft_commit(r->raft))
        fiber_wake(r->applier);
    if (raft_due_us(r->raft) < r->clock_due_us)
        fiber_wake(r->clock);
}

/* --- the clock's fiber --------------------------------------------------- */

/* Proposals that arrived together go into the log together. */
static void enter_proposals(struct replica *r)
{
    struct raft_bytes *commands[STEP_MAX];
    struct replica_wait *w;
    size_t n = 0;
    size_t bytes = 0;
    uint64_t index;
    if (!raft_may_propose(r->raft)) {
        replica__fail_all(&r->proposed, ERR_UNAVAILABLE, "not the leader");
        return;
    }
    for (w = r->proposed.first; w && n < STEP_MAX && bytes < STEP_BYTES_MAX;
         w = w->next) {
        bytes += w->command->len;
        commands[n++] = raft_bytes_ref(w->command);
    }
    index = raft_propose(r->raft, replica__now_us(r), commands, n);
    INVARIANT(!r->entered.last || r->entered.last->token < index); /* INV-3 */
    for (size_t i = 0; i < n; i++) {
        w = r->proposed.first;
        replica__move(&r->entered, w);
        w->token = index + i;
        w->term = raft_term(r->raft);
    }
    replica__pump(r);
}

/* Did this process stand still, or its loop? Then messages that arrived in the
 * meantime are not read yet, and the silence proves nothing. */
static bool is_late(const struct replica *r, uint64_t due)
{
    return replica__now_us(r) > due + r->election_us / 4;
}

static void listen_first(struct replica *r)
{
    for (unsigned i = 0; i < LISTEN_TURNS && !r->closing; i++)
        world_sleep_us(r->world, LISTEN_US);
}

static void run_clock(void *arg)
{
    struct replica *r = arg;
    PRE(!r->outside); /* INV-6 */
    while (!r->closing) {
        uint64_t due = raft_due_us(r->raft);
        if (r->proposed.first) {
            enter_proposals(r);
        } else if (replica__now_us(r) >= due) {
            if (is_late(r, due))
                listen_first(r);
            raft_tick(r->raft, replica__now_us(r));
            replica__pump(r);
            tell_leaderless(r);
        } else {
            r->clock_due_us = due;
            (void)fiber_park_until(due * 1000 + 999);
        }
    }
}

/* --- life ---------------------------------------------------------------- */

static struct raft_options core_options(const struct replica_options *opts)
{
    uint64_t election_ms = opts->election_ms ? opts->election_ms : ELECTION_MS;
    uint64_t heartbeat_ms =
        opts->heartbeat_ms ? opts->heartbeat_ms : HEARTBEAT_MS;
    return (struct raft_options){.election_us = election_ms * 1000,
                                 .heartbeat_us = heartbeat_ms * 1000,
                                 .rest_us = REST_US,
                                 .lease_us = (uint64_t)opts->lease_ms * 1000,
                                 .append_bytes_max = opts->append_bytes_max};
}

struct replica *replica__new(struct world *w,
                             const struct replica_machine *machine,
                             const struct replica_options *opts)
{
    struct replica *r = mem_zalloc(1, sizeof(*r));
    struct buf log = BUF_INIT;
    PRE(opts->directory);
    PRE(opts->id || opts->address);
    r->world = w;
    r->loop = loop_self();
    r->machine = *machine;
    r->name = mem_strdup(opts->name ? opts->name : "");
    r->directory = mem_strdup(opts->directory);
    buf_printf(&log, "%s/log", opts->directory);
    r->log_directory = buf_take(&log);
    r->masters = master_keys_ref(opts->master_keys);
    r->cell = hash64(r->name, strlen(r->name), 0);
    r->id = opts->id;
    r->address = opts->id ? NULL : mem_strdup(opts->address);
    r->security = opts->security;
    r->version = opts->version;
    r->versions = opts->versions;
    r->aside = opts->aside;
    r->method = opts->method ? opts->method : REPLICA_METHOD;
    r->core = core_options(opts);
    r->election_us = r->core.election_us;
    r->snapshot_log_bytes = opts->snapshot_log_bytes ? opts->snapshot_log_bytes
                                                     : SNAPSHOT_LOG_BYTES;
    mutex_init(&r->files);
    return r;
}

void replica__free(struct replica *r)
{
    INVARIANT(!r->proposed.first);
    INVARIANT(!r->entered.first);
    INVARIANT(!r->sends);
    raft_free(r->raft);
    replica_log_close(r->log);
    file_unlock(r->lock);
    keyring_unref(r->keyring);
    master_keys_unref(r->masters);
    mutex_close(&r->files);
    mem_free(r->queue);
    mem_free(r->name);
    mem_free(r->address);
    mem_free(r->directory);
    mem_free(r->log_directory);
    mem_free(r);
}

void replica__start(struct replica *r)
{
    PRE(!r->outside && r->log); /* INV-6 */
    PRE(!r->disk && !r->applier && !r->clock);
    r->led_us = replica__now_us(r);
    r->disk = fiber_start(r->loop, "replica disk", replica__run_disk, r);
    r->applier =
        fiber_start(r->loop, "replica applier", replica__run_applier, r);
    r->clock = fiber_start(r->loop, "replica clock", run_clock, r);
    replica__pump(r);
}

static void add_methods(struct replica *r, struct rpc_server *server)
{
    const struct rpc_method methods[] = {
        {r->method, "replica.step", replica__serve, RPC_METHOD_INTERNAL},
        {REPLICA_CELL_METHOD(r->method), "replica.cell", replica__serve_cell,
         0}};
    PRE(!r->server);
    rpc_server_add(server, methods, ARRAY_LEN(methods), r);
    r->server = server;
}

int replica_open(struct world *w,
                 struct rpc_server *server,
                 const struct replica_machine *machine,
                 const struct replica_options *opts,
                 struct replica **out,
                 struct err *err)
{
    struct replica *r;
    int rc;
    *out = NULL;
    PRE(fiber_self());
    PRE((opts->id || opts->address) && opts->directory);
    r = replica__new(w, machine, opts);
    rc = replica__recover(r, opts, err);
    if (rc) {
        replica__free(r);
        return rc;
    }
    add_methods(r, server);
    if (!r->outside)
        replica__start(r);
    if (r->address)
        r->enter = fiber_start(r->loop, "replica enter", replica__run_enter, r);
    *out = r;
    return 0;
}

static void hand_over(struct replica *r)
{
    uint64_t waited_us = 0;
    PRE(!r->closing);
    if (raft_transfer(r->raft, replica__now_us(r), 0, NULL) != 0)
        return;
    replica__pump(r);
    /* Not a sleep: a server is stopped by cancelling its fiber, whose sleeps
     * then end at once. Counted, not timed: on a machine that is crashing
     * nothing takes time. */
    for (; raft_role(r->raft) == RAFT_LEADER && waited_us < r->election_us;
         waited_us += POLL_US)
        (void)fiber_park_until((replica__now_us(r) + POLL_US) * 1000);
}

static void end_fiber(struct fiber *f)
{
    if (!f)
        return;
    fiber_wake(f);
    fiber_join(f);
}

void replica_close(struct replica *r)
{
    if (!r)
        return;
    hand_over(r);
    r->closing = true;
    replica__end_enter(r);
    if (r->leading_term)
        stop_leading(r);
    replica__fail_all(&r->proposed, ERR_CANCELLED, "closing");
    replica__fail_all(&r->stored, ERR_CANCELLED, "closing");
    end_fiber(r->clock);
    end_fiber(r->disk);
    end_fiber(r->applier);
    replica__stop_peers(r);
    INVARIANT(!r->proposed.first && !r->entered.first && !r->stored.first);
    replica__free(r);
}

/* --- proposals and barriers ---------------------------------------------- */

int replica__check_leading(struct replica *r, struct err *err)
{
    int rc;
    if (r->closing)
        return err_set(err, ERR_CANCELLED, "closing");
    rc = replica_health(r, err);
    if (rc)
        return rc;
    return raft_may_propose(r->raft) ? 0 : replica_not_leader(r, err);
}

int replica_propose(struct replica *r,
                    struct slice command,
                    struct buf *reply,
                    struct err *err)
{
    struct replica_wait w = {.reply = reply, .err = err};
    struct span s;
    int rc = replica__check_leading(r, err);
    PRE(fiber_self());
    if (rc)
        return rc;
    if (command.len > REPLICA_COMMAND_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "a command of %zu bytes, at most %zu",
                       command.len, REPLICA_COMMAND_BYTES_MAX);
    if (r->proposed.count + r->entered.count >= PROPOSALS_MAX)
        return err_set(err, ERR_BUSY, "%d commands wait already",
                       PROPOSALS_MAX);
    w.command = raft_bytes_new(command);
    replica__enqueue(&r->proposed, &w);
    fiber_wake(r->clock);
    span_begin(&s, "commit and apply");
    span_number(&s, "bytes", (int64_t)command.len);
    rc = replica__await(&w);
    span_end(&s, rc);
    raft_bytes_unref(w.command);
    return rc;
}

int replica_read_barrier(struct replica *r, struct err *err)
{
    struct replica_wait w = {.err = err};
    int rc = replica__check_leading(r, err);
    if (rc)
        return rc;
    PRE(fiber_self());
    w.token = raft_barrier(r->raft, replica__now_us(r));
    replica__enqueue(&r->barriers, &w);
    replica__pump(r);
    return replica__await(&w);
}

/* --- state --------------------------------------------------------------- */

static void status_members(const struct replica *r, struct replica_status *out)
{
    const struct raft_config *c = raft_members(r->raft);
    uint64_t now = replica__now_us(r);
    INVARIANT(c->count <= REPLICA_MEMBERS_MAX);
    out->member_count = c->count;
    for (size_t i = 0; i < c->count; i++) {
        const struct raft_member *m = &c->members[i];
        uint64_t heard = now;
        out->members[i].id = m->id;
        out->members[i].voting = m->voting;
        memcpy(out->members[i].address, m->address, sizeof(m->address));
        if (m->id == r->id)
            out->members[i].match_index = raft_log_last(raft_entries(r->raft));
        else
            raft_peer(r->raft, m->id, &out->members[i].match_index, &heard);
        out->members[i].reachable = raft_role(r->raft) == RAFT_LEADER &&
                                    heard + raft_patience_us(r->raft) >= now;
        if (m->id == out->leader_id)
            memcpy(out->leader_address, m->address, sizeof(m->address));
    }
}

static uint64_t status_key_made_us(const struct replica *r)
{
    struct keyring_status s;
    if (!r->keyring)
        return 0;
    keyring_get_status(r->keyring, &s);
    INVARIANT(s.key_count > 0);
    return s.current_created_us;
}

static void status_leaderless(const struct replica *r,
                              struct replica_status *out)
{
    struct buf votes = BUF_INIT;
    PRE(!raft_leader(r->raft));
    raft_explain_votes(r->raft, &votes);
    snprintf(out->votes, sizeof(out->votes), "%s", buf_cstr(&votes));
    buf_close(&votes);
    out->leaderless_us = replica__now_us(r) - r->led_us;
}

void replica_get_status(const struct replica *r, struct replica_status *out)
{
    memset(out, 0, sizeof(*out));
    switch (raft_role(r->raft)) {
    case RAFT_FOLLOWER: out->role = REPLICA_FOLLOWER; break;
    case RAFT_PRECANDIDATE:
    case RAFT_CANDIDATE: out->role = REPLICA_CANDIDATE; break;
    case RAFT_LEADER: out->role = REPLICA_LEADER; break;
    }
    if (r->outside)
        out->role = REPLICA_OUTSIDE;
    out->id = r->id;
    out->term = raft_term(r->raft);
    out->terms_seen = r->terms_seen;
    out->leader_id = raft_leader(r->raft);
    out->last_index = raft_log_last(raft_entries(r->raft));
    out->commit_index = raft_commit(r->raft);
    out->applied_index = r->applied;
    out->snapshot_index = raft_snapshot_index(r->raft);
    out->key_made_us = status_key_made_us(r);
    if (!r->outside && !out->leader_id)
        status_leaderless(r, out);
    status_members(r, out);
}

void replica__fail(struct replica *r, const struct err *why)
{
    r->failed = true;
    r->failure = *why;
    log_error(r->world, "replica", "cell=%s %s", r->name, r->failure.text);
    if (r->outside)
        return;
    raft_set_stuck(r->raft, replica__now_us(r), true);
    replica__fail_all(&r->stored, why->code, r->failure.text);
    replica__pump(r);
}

int replica_health(const struct replica *r, struct err *err)
{
    return err_copy(err, &r->failure);
}

uint64_t replica_quiet_us(const struct replica *r)
{
    uint64_t now_us = replica__now_us(r);
    uint64_t since_us;

    if (raft_role(r->raft) != RAFT_LEADER)
        return 0;
    since_us = raft_quiet_since_us(r->raft) + r->core.lease_us;
    return now_us > since_us ? now_us - since_us : 0;
}

bool replica_is_leader(const struct replica *r)
{
    INVARIANT(!r->announced || r->leading_term); /* INV-4 */
    return r->announced && raft_role(r->raft) == RAFT_LEADER;
}

int replica_not_leader(const struct replica *r, struct err *err)
{
    const struct raft_member *m =
        raft_config_find(raft_members(r->raft), raft_leader(r->raft));
    if (!m || m->id == r->id)
        return err_set(err, ERR_UNAVAILABLE,
                       "cell %s: not the leader, and none is known", r->name);
    err_set(err, ERR_UNAVAILABLE,
            "cell %s: not the leader; the leader is at %s", r->name,
            m->address);
    err_set_detail(err, ERR_DETAIL_NOT_LEADER, m->address);
    return ERR_UNAVAILABLE;
}

bool replica_leader_hint(const struct err *err, char *out, size_t out_bytes)
{
    size_t len = strlen(err->subject);
    PRE(out_bytes > 0);
    if (err->code != ERR_UNAVAILABLE || err->detail != ERR_DETAIL_NOT_LEADER ||
        len == 0 || len >= out_bytes)
        return false;
    memcpy(out, err->subject, len + 1);
    return true;
}
