/* A member of a cell: its life, proposals, barriers, membership, state. */
#include "base/replica/replica.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/replica/replica_state.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

#define ELECTION_MS        300
#define SNAPSHOT_LOG_BYTES ((uint64_t)16 << 20)
/* Proposals that may wait at once. */
#define PROPOSALS_MAX 65536
/* Of one step. */
#define STEP_MAX       1024
#define STEP_BYTES_MAX ((size_t)4 << 20)
/* Between looks at what cannot wake the looker. */
#define POLL_US 5000
/* Time for the loop to read what its sockets hold. */
#define LISTEN_US    1000
#define LISTEN_TURNS 3

STATIC_ASSERT(REPLICA_MEMBERS_MAX == RAFT_MEMBERS_MAX, "one table of members");

static const char lost_leadership[] =
    "leadership was lost: it is not known whether the command was executed";

uint64_t replica__now_us(const struct replica *r)
{
    return world_mono_ns(r->world) / 1000;
}

/* --- the core's actions --------------------------------------------------- */

static void stop_leading(struct replica *r)
{
    int code = r->closing ? ERR_CANCELLED : ERR_UNAVAILABLE;
    uint64_t term = r->leading_term;
    log_info(r->world, "replica",
             "cell=%s member=%" PRIu64 " leads no more term=%" PRIu64, r->name,
             r->id, term);
    r->leading_term = 0;
    replica__fail_all(&r->entered, code, lost_leadership);
    replica__fail_all(&r->barriers, code, lost_leadership);
    if (r->announced && r->machine.lead)
        r->machine.lead(r->machine.ctx, false, term);
    r->announced = false;
}

static void follow_role(struct replica *r)
{
    bool leads = raft_role(r->raft) == RAFT_LEADER;
    if (r->leading_term && (!leads || raft_term(r->raft) != r->leading_term))
        stop_leading(r);
    if (leads && !r->leading_term) {
        r->leading_term = raft_term(r->raft);
        log_info(r->world, "replica",
                 "cell=%s member=%" PRIu64 " leads term=%" PRIu64, r->name,
                 r->id, r->leading_term);
    }
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
    /* Behind the messages: what others do with them takes longest. */
    if (r->disk_idle && r->queue_count)
        fiber_wake(r->disk);
    follow_role(r);
    if (r->closing)
        return;
    replica__sync_peers(r);
    replica__check_barriers(r);
    if (r->applied < raft_commit(r->raft))
        fiber_wake(r->applier);
    if (raft_due_us(r->raft) < r->clock_due_us)
        fiber_wake(r->clock);
}

/* --- the clock's fiber ---------------------------------------------------- */

/* What came together goes into the log together. */
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
    for (size_t i = 0; i < n; i++) {
        w = r->proposed.first;
        replica__move(&r->entered, w);
        w->token = index + i;
        w->term = raft_term(r->raft);
    }
    replica__pump(r);
}

/* This process stood still, or its loop did: what came meanwhile has not been
 * read yet, and silence that nobody listened to proves nothing. */
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
    while (!r->closing) {
        uint64_t due = raft_due_us(r->raft);
        if (r->proposed.first) {
            enter_proposals(r);
        } else if (replica__now_us(r) >= due) {
            if (is_late(r, due))
                listen_first(r);
            raft_tick(r->raft, replica__now_us(r));
            replica__pump(r);
        } else {
            r->clock_due_us = due;
            (void)fiber_park_until(due * 1000 + 999);
        }
    }
}

/* --- life ----------------------------------------------------------------- */

static struct replica *new_replica(struct world *w,
                                   const struct replica_machine *machine,
                                   const struct replica_options *opts)
{
    struct replica *r = mem_zalloc(1, sizeof(*r));
    struct buf log = BUF_INIT;
    r->world = w;
    r->loop = loop_self();
    r->machine = *machine;
    r->name = mem_strdup(opts->name ? opts->name : "");
    r->directory = mem_strdup(opts->directory);
    buf_printf(&log, "%s/log", opts->directory);
    r->log_directory = buf_take(&log);
    r->cell = hash64(r->name, strlen(r->name), 0);
    r->id = opts->id;
    r->security = opts->security;
    r->aside = opts->aside;
    r->method = opts->method ? opts->method : REPLICA_METHOD;
    r->election_us =
        (uint64_t)(opts->election_ms ? opts->election_ms : ELECTION_MS) * 1000;
    r->snapshot_log_bytes = opts->snapshot_log_bytes ? opts->snapshot_log_bytes
                                                     : SNAPSHOT_LOG_BYTES;
    mutex_init(&r->files);
    return r;
}

static void free_replica(struct replica *r)
{
    raft_free(r->raft);
    replica_log_close(r->log);
    file_unlock(r->lock);
    mutex_close(&r->files);
    mem_free(r->queue);
    mem_free(r->name);
    mem_free(r->directory);
    mem_free(r->log_directory);
    mem_free(r);
}

int replica_open(struct world *w,
                 struct rpc_server *server,
                 const struct replica_machine *machine,
                 const struct replica_options *opts,
                 struct replica **out,
                 struct err *err)
{
    struct replica *r;
    struct rpc_method method;
    int rc;
    *out = NULL;
    PRE(fiber_self());
    PRE(opts->id && opts->directory);
    r = new_replica(w, machine, opts);
    rc = replica__recover(r, opts, err);
    if (rc) {
        free_replica(r);
        return rc;
    }
    method = (struct rpc_method){r->method, "replica.step", replica__serve};
    rpc_server_add(server, &method, 1, r);
    r->disk = fiber_start(r->loop, "replica disk", replica__run_disk, r);
    r->applier =
        fiber_start(r->loop, "replica applier", replica__run_applier, r);
    r->clock = fiber_start(r->loop, "replica clock", run_clock, r);
    replica__pump(r);
    *out = r;
    return 0;
}

static void hand_over(struct replica *r)
{
    uint64_t waited_us = 0;
    if (raft_transfer(r->raft, replica__now_us(r), 0, NULL) != 0)
        return;
    replica__pump(r);
    /* Not a sleep: who stops a server cancels its fiber, and sleeps of those
     * end at once. Counted, not timed: on a machine that is crashing nothing
     * takes time. */
    for (; raft_role(r->raft) == RAFT_LEADER && waited_us < r->election_us;
         waited_us += POLL_US)
        (void)fiber_park_until((replica__now_us(r) + POLL_US) * 1000);
}

void replica_close(struct replica *r)
{
    if (!r)
        return;
    hand_over(r);
    r->closing = true;
    if (r->leading_term)
        stop_leading(r);
    replica__fail_all(&r->proposed, ERR_CANCELLED, "closing");
    replica__fail_all(&r->stored, ERR_CANCELLED, "closing");
    fiber_wake(r->clock);
    fiber_join(r->clock);
    fiber_wake(r->disk);
    fiber_join(r->disk);
    fiber_wake(r->applier);
    fiber_join(r->applier);
    replica__stop_peers(r);
    free_replica(r);
}

/* --- proposals and barriers ----------------------------------------------- */

static int check_leading(struct replica *r, struct err *err)
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
    int rc = check_leading(r, err);
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
    rc = replica__await(&w);
    raft_bytes_unref(w.command);
    return rc;
}

int replica_read_barrier(struct replica *r, struct err *err)
{
    struct replica_wait w = {.err = err};
    int rc = check_leading(r, err);
    if (rc)
        return rc;
    w.token = raft_barrier(r->raft, replica__now_us(r));
    replica__enqueue(&r->barriers, &w);
    replica__pump(r);
    return replica__await(&w);
}

/* --- membership ----------------------------------------------------------- */

/* Wait until entry @index is applied, in the term it was appended in. */
static int
await_applied(struct replica *r, uint64_t index, uint64_t term, struct err *err)
{
    while (r->applied < index) {
        int rc = fiber_check(err);
        if (rc)
            return rc;
        if (r->closing || r->leading_term != term)
            return err_set(err, ERR_UNAVAILABLE, "%s", lost_leadership);
        world_sleep_us(r->world, POLL_US);
    }
    return 0;
}

static int
change(struct replica *r, const struct raft_config *config, struct err *err)
{
    uint64_t index;
    uint64_t term = raft_term(r->raft);
    int rc = raft_change(r->raft, replica__now_us(r), config, &index, err);
    if (rc)
        return rc;
    replica__pump(r);
    return await_applied(r, index, term, err);
}

/* Wait until learner @id has what was committed when this looked. */
static int await_caught_up(struct replica *r, uint64_t id, struct err *err)
{
    uint64_t term = raft_term(r->raft);
    uint64_t goal = raft_commit(r->raft);
    for (;;) {
        uint64_t match = 0;
        uint64_t heard;
        int rc = fiber_check(err);
        if (rc)
            return rc;
        if (r->closing || r->leading_term != term ||
            !raft_peer(r->raft, id, &match, &heard))
            return err_set(err, ERR_UNAVAILABLE, "%s", lost_leadership);
        if (match >= goal)
            return 0;
        world_sleep_us(r->world, POLL_US);
    }
}

int replica_add(struct replica *r,
                const struct replica_member *m,
                struct err *err)
{
    struct raft_config config = *raft_members(r->raft);
    struct raft_member member = {.id = m->id};
    int rc = check_leading(r, err);
    if (rc)
        return rc;
    if (m->id == 0 || !m->address[0] ||
        strlen(m->address) >= RAFT_ADDRESS_BYTES)
        return err_set(err, ERR_INVALID, "a member has an id and an address");
    if (raft_config_find(&config, m->id))
        return err_set(err, ERR_EXISTS, "member %" PRIu64, m->id);
    memcpy(member.address, m->address, strlen(m->address));
    if (!raft_config_put(&config, &member))
        return err_set(err, ERR_INVALID, "more than %d members",
                       RAFT_MEMBERS_MAX);
    rc = change(r, &config, err);
    if (rc || !m->voting)
        return rc;
    rc = await_caught_up(r, m->id, err);
    if (rc)
        return rc;
    config = *raft_members(r->raft);
    member.voting = true;
    raft_config_put(&config, &member);
    return change(r, &config, err);
}

int replica_remove(struct replica *r, uint64_t id, struct err *err)
{
    struct raft_config config = *raft_members(r->raft);
    int rc = check_leading(r, err);
    if (rc)
        return rc;
    if (!raft_config_find(&config, id))
        return err_set(err, ERR_INVALID, "no member %" PRIu64, id);
    raft_config_drop(&config, id);
    return change(r, &config, err);
}

int replica_transfer(struct replica *r, uint64_t id, struct err *err)
{
    uint64_t term = raft_term(r->raft);
    uint64_t until = replica__now_us(r) + 2 * r->election_us;
    int rc = check_leading(r, err);
    if (rc == 0)
        rc = raft_transfer(r->raft, replica__now_us(r), id, err);
    if (rc)
        return rc;
    replica__pump(r);
    while (raft_term(r->raft) == term && raft_role(r->raft) == RAFT_LEADER) {
        rc = fiber_check(err);
        if (rc)
            return rc;
        if (replica__now_us(r) >= until)
            return err_set(err, ERR_UNAVAILABLE,
                           "no other member took over in time");
        world_sleep_us(r->world, POLL_US);
    }
    return 0;
}

/* --- state ---------------------------------------------------------------- */

static void status_members(const struct replica *r, struct replica_status *out)
{
    const struct raft_config *c = raft_members(r->raft);
    uint64_t now = replica__now_us(r);
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
        out->members[i].reachable =
            raft_role(r->raft) == RAFT_LEADER && heard + r->election_us >= now;
        if (m->id == out->leader_id)
            memcpy(out->leader_address, m->address, sizeof(m->address));
    }
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
    out->id = r->id;
    out->term = raft_term(r->raft);
    out->leader_id = raft_leader(r->raft);
    out->last_index = raft_log_last(raft_entries(r->raft));
    out->commit_index = raft_commit(r->raft);
    out->applied_index = r->applied;
    out->snapshot_index = raft_snapshot_index(r->raft);
    status_members(r, out);
}

int replica_health(const struct replica *r, struct err *err)
{
    return err_copy(err, &r->failure);
}

bool replica_is_leader(const struct replica *r)
{
    return r->announced && raft_role(r->raft) == RAFT_LEADER;
}

static const char hint_mark[] = "the leader is at ";

int replica_not_leader(const struct replica *r, struct err *err)
{
    const struct raft_member *m =
        raft_config_find(raft_members(r->raft), raft_leader(r->raft));
    if (!m || m->id == r->id)
        return err_set(err, ERR_UNAVAILABLE,
                       "cell %s: not the leader, and none is known", r->name);
    return err_set(err, ERR_UNAVAILABLE, "cell %s: not the leader; %s%s",
                   r->name, hint_mark, m->address);
}

bool replica_leader_hint(const struct err *err, char *out, size_t out_bytes)
{
    const char *at = strstr(err->text, hint_mark);
    size_t len;
    if (err->code != ERR_UNAVAILABLE || !at)
        return false;
    at += strlen(hint_mark);
    len = strcspn(at, " ;,()");
    if (len == 0 || len >= out_bytes)
        return false;
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}
