/* Changes of the table of members, made by the leader, and the method by which
 * servers and people ask for them. A new member first copies the log as a
 * learner, so that it can vote for commits at once when it becomes a voter.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/replica/cell_call.h"
#include "base/replica/replica_state.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"

/* Between looks at a state that wakes no fiber when it changes. */
#define POLL_US 5000

static const char lost_leadership[] =
    "leadership was lost: it is not known whether the change was made";

/* --- changes ------------------------------------------------------------- */

/* Wait until entry @index is applied, in the term it was appended in. */
static int
await_applied(struct replica *r, uint64_t index, uint64_t term, struct err *err)
{
    PRE(term > 0);
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

static int replica_members_change(struct replica *r,
                                  const struct raft_config *config,
                                  struct err *err)
{
    uint64_t index;
    uint64_t term = raft_term(r->raft);
    PRE(!r->outside); /* INV-6 */
    PRE(config->count <= RAFT_MEMBERS_MAX);
    int rc = raft_change(r->raft, replica__now_us(r), config, &index, err);
    if (rc)
        return rc;
    replica__pump(r);
    return await_applied(r, index, term, err);
}

/* Wait until learner @id has what is committed now. */
static int await_caught_up(struct replica *r, uint64_t id, struct err *err)
{
    uint64_t term = raft_term(r->raft);
    uint64_t goal = raft_commit(r->raft);
    PRE(id > 0 && id != r->id);
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

/* Make it a voter once it has caught up. */
static int replica_promote_member(struct replica *r,
                                  const struct raft_member *m,
                                  struct err *err)
{
    struct raft_config config;
    int rc = await_caught_up(r, m->id, err);
    PRE(m->voting);
    if (rc)
        return rc;
    config = *raft_members(r->raft);
    raft_config_put(&config, m);
    return replica_members_change(r, &config, err);
}

int replica_add(struct replica *r,
                const struct replica_member *m,
                struct err *err)
{
    struct raft_config config = *raft_members(r->raft);
    const struct raft_member *old = raft_config_find(&config, m->id);
    struct raft_member member = {.id = m->id, .voting = old && old->voting};
    int rc = replica__check_leading(r, err);
    if (rc)
        return rc;
    if (m->id == 0 || !m->address[0] ||
        strlen(m->address) >= RAFT_ADDRESS_BYTES)
        return err_set(err, ERR_INVALID, "a member has an id and an address");
    memcpy(member.address, m->address, strlen(m->address));
    if (old && old->voting >= m->voting &&
        strcmp(old->address, m->address) == 0)
        return err_set(err, ERR_EXISTS, "member %" PRIu64, m->id);
    if (!old || strcmp(old->address, m->address) != 0) {
        if (!raft_config_put(&config, &member))
            return err_set(err, ERR_INVALID, "more than %d members",
                           RAFT_MEMBERS_MAX);
        rc = replica_members_change(r, &config, err);
    }
    if (rc || member.voting >= m->voting)
        return rc;
    member.voting = true;
    return replica_promote_member(r, &member, err);
}

int replica_remove(struct replica *r, uint64_t id, struct err *err)
{
    struct raft_config config = *raft_members(r->raft);
    int rc = replica__check_leading(r, err);
    if (rc)
        return rc;
    if (!raft_config_find(&config, id))
        return err_set(err, ERR_INVALID, "no member %" PRIu64, id);
    raft_config_drop(&config, id);
    return replica_members_change(r, &config, err);
}

int replica_transfer(struct replica *r, uint64_t id, struct err *err)
{
    uint64_t term = raft_term(r->raft);
    uint64_t until = replica__now_us(r) + 2 * r->election_us;
    int rc = replica__check_leading(r, err);
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

/* --- requests ------------------------------------------------------------ */

static bool replica_member_answers(const struct replica *r,
                                   const struct raft_member *m)
{
    uint64_t match;
    uint64_t heard;
    PRE(m->id > 0);
    PRE(raft_role(r->raft) == RAFT_LEADER);
    return m->id == r->id ||
           (raft_peer(r->raft, m->id, &match, &heard) &&
            heard + raft_patience_us(r->raft) >= replica__now_us(r));
}

static const struct raft_member *find_at(const struct raft_config *c,
                                         const char *address)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->members[i].address, address) == 0)
            return &c->members[i];
    return NULL;
}

/* The cell as this member knows it; as it is now, if this member leads. */
static int replica_describe_members(struct replica *r,
                                    struct rpc_call *call,
                                    struct err *err)
{
    struct cell_view v = {.list = replica__list_hash(&r->first)};
    int rc = 0;
    PRE(call->reply_body);
    if (!r->outside && raft_role(r->raft) == RAFT_LEADER)
        rc = replica_read_barrier(r, err);
    /* A member that leads no longer answers with what it knows. */
    if (rc && raft_role(r->raft) == RAFT_LEADER)
        return rc;
    replica_get_status(r, &v.status);
    cell_view_put(&v, call->reply_body);
    return 0;
}

/* Remove the member at the address of a new one, if it is silent. */
static int replica_replace_silent(struct replica *r,
                                  const struct raft_member *before,
                                  struct err *err)
{
    PRE(before->id > 0);
    if (replica_member_answers(r, before))
        return err_set(err, ERR_BUSY, "member %" PRIu64 " at %s answers still",
                       before->id, before->address);
    log_warn(r->world, "replica",
             "cell=%s member=%" PRIu64 " is gone: another is at %s now",
             r->name, before->id, before->address);
    return replica_remove(r, before->id, err);
}

static int replica_join_member(struct replica *r,
                               const struct cell_request *q,
                               struct err *err)
{
    const struct replica_member m = {q->id, q->address, true};
    const struct raft_config *c = raft_members(r->raft);
    const struct raft_member *there = find_at(c, q->address);
    int rc = replica__check_leading(r, err);
    PRE(q->verb == CELL_JOIN);
    if (rc == 0 && there && there->id != q->id)
        rc = replica_replace_silent(r, there, err);
    c = raft_members(r->raft);
    if (rc == 0 && !raft_config_votes(c, q->id) &&
        raft_config_voter_count(c) >= REPLICA_VOTERS_MAX)
        return err_set(err, ERR_INVALID,
                       "cell %s has %d members already: remove one first",
                       r->name, REPLICA_VOTERS_MAX);
    if (rc == 0)
        rc = replica_add(r, &m, err);
    return rc == ERR_EXISTS ? 0 : rc;
}

static bool has_answered(const struct replica *r,
                         const struct raft_member *m,
                         uint64_t round)
{
    return m->id == r->id || raft_answered(r->raft, m->id, round) ||
           fault_hit("replica.count_the_dead");
}

/* Are the voters of @c that answered @round a majority of it? */
static bool
is_served(const struct replica *r, const struct raft_config *c, uint64_t round)
{
    size_t well = 0;
    for (size_t i = 0; i < c->count; i++)
        well += c->members[i].voting && has_answered(r, &c->members[i], round);
    return well >= raft_config_majority(c);
}

static bool is_served_without(const struct replica *r,
                              const struct raft_member *gone,
                              uint64_t round)
{
    struct raft_config c = *raft_members(r->raft);
    raft_config_drop(&c, gone->id);
    return is_served(r, &c, round);
}

static bool have_all_answered(const struct replica *r, uint64_t round)
{
    const struct raft_config *c = raft_members(r->raft);
    for (size_t i = 0; i < c->count; i++)
        if (c->members[i].voting && !has_answered(r, &c->members[i], round))
            return false;
    return true;
}

/* Ask all members for an answer, and wait for those that are alive. Earlier
 * answers prove nothing: their sender may have died since, and a leader at rest
 * bears long silence. Returns the round to look for. Parks. */
static uint64_t hear_members(struct replica *r)
{
    uint64_t waited_us = 0;
    uint64_t round;
    PRE(raft_role(r->raft) == RAFT_LEADER);
    round = raft_begin_round(r->raft, replica__now_us(r));
    replica__pump(r);
    /* Counted, not timed: this process may stand still meanwhile. */
    for (; raft_role(r->raft) == RAFT_LEADER && !have_all_answered(r, round) &&
           waited_us < 2 * r->election_us && fiber_check(NULL) == 0;
         waited_us += POLL_US)
        world_sleep_us(r->world, POLL_US);
    return round;
}

/* The member that @q names. */
static int find_meant(struct replica *r,
                      const struct cell_request *q,
                      const struct raft_member **out,
                      struct err *err)
{
    const struct raft_config *c = raft_members(r->raft);
    int rc = replica__check_leading(r, err);
    PRE(q->verb == CELL_REMOVE || q->verb == CELL_LEAD);
    if (rc)
        return rc;
    *out = q->id ? raft_config_find(c, q->id) : find_at(c, q->address);
    if (*out)
        return 0;
    if (q->id)
        return err_set(err, ERR_NOTFOUND, "cell %s has no member %" PRIu64,
                       r->name, q->id);
    return err_set(err, ERR_NOTFOUND, "cell %s has no member at %s", r->name,
                   q->address);
}

static int
remove_meant(struct replica *r, const struct cell_request *q, struct err *err)
{
    const struct raft_member *m = NULL;
    uint64_t round;
    int rc = find_meant(r, q, &m, err);
    if (rc)
        return rc;
    round = hear_members(r);
    rc = find_meant(r, q, &m, err);
    if (rc)
        return rc;
    /* This process may have stood still: it will hear the others, or stop
     * leading. */
    if (!is_served(r, raft_members(r->raft), round))
        return err_set(err, ERR_BUSY,
                       "too few members of cell %s have answered lately",
                       r->name);
    if (!is_served_without(r, m, round))
        return err_set(err, ERR_INVALID,
                       "without member %" PRIu64 " at %s those that answer "
                       "would be no majority of cell %s",
                       m->id, m->address, r->name);
    if (m->id != r->id)
        return replica_remove(r, m->id, err);
    /* The caller asks the next leader. */
    rc = replica_transfer(r, 0, err);
    INVARIANT(m);
    return rc ? rc : replica_not_leader(r, err);
}

static int
let_lead(struct replica *r, const struct cell_request *q, struct err *err)
{
    const struct raft_member *m = NULL;
    int rc = find_meant(r, q, &m, err);
    PRE(q->verb == CELL_LEAD);
    if (rc || m->id == r->id)
        return rc;
    return replica_transfer(r, m->id, err);
}

int replica__serve_cell(void *ctx, struct rpc_call *call, struct err *err)
{
    struct replica *r = ctx;
    struct cell_request q;
    int rc = cell_request_get(call->body, &q, err);
    if (rc == 0 && q.cell && q.cell != r->cell)
        rc =
            err_set(err, ERR_DENIED, "a call of another cell than %s", r->name);
    if (rc == 0 && r->closing)
        rc = err_set(err, ERR_UNAVAILABLE, "closing");
    if (rc)
        return rc;
    call->is_audited = q.verb != CELL_ASK;
    if (q.verb != CELL_ASK && !rpc_server_trusts(r->server, call)) {
        err_set(err, ERR_DENIED, "%.*s may not change who is in the cell",
                SLICE_ARG(call->principal));
        err_hint(err, "those may who have a certificate of the cluster itself");
        return ERR_DENIED;
    }
    switch (q.verb) {
    case CELL_ASK: return replica_describe_members(r, call, err);
    case CELL_JOIN: return replica_join_member(r, &q, err);
    case CELL_REMOVE: return remove_meant(r, &q, err);
    case CELL_LEAD: return let_lead(r, &q, err);
    }
    return 0;
}
