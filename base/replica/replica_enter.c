/* A server enters its cell, and then watches that it is still a member; see
 * replica.h.
 *
 * A founder asks all the others first. A member that lost its disk forgot its
 * vote and the entries that it had confirmed; if it continued under its id, a
 * majority might elect two leaders of a term, or lose an entry. A candidate has
 * the new term on its disk before it asks for votes. So if each of the others
 * has an empty directory, or has founded the cell and is in its first term,
 * this one cannot have promised anything that still matters, and may use its id
 * of the list. In any other case it takes an id that no member ever had.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/replica/cell_call.h"
#include "base/replica/replica_state.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

/* Between rounds of questions. */
#define ROUND_US 50000
#define ASK_US   1000000
/* A leader sends a new member the whole state before it answers. */
#define JOIN_US 60000000
/* Between two lines of the log that say what it waits for. */
#define TELL_US 5000000
/* Between looks at whether there is a leader, and how long there may be none
 * before the others are asked. */
#define WATCH_US     1000000
#define FORGOTTEN_US 5000000

uint64_t replica__list_hash(const struct raft_config *first)
{
    uint64_t hash = 0;
    PRE(first->count <= RAFT_MEMBERS_MAX);
    for (size_t i = 0; i < first->count; i++) {
        const char *address = first->members[i].address;
        hash = hash64(address, strlen(address), hash ^ first->members[i].id);
    }
    return hash;
}

/* --- asking the others --------------------------------------------------- */

struct other {
    struct replica *replica;
    char address[RAFT_ADDRESS_BYTES];
    struct cell_view view;
    struct err err;
    int rc; /* Of asking. */
};

/* Heap. */
struct others {
    size_t count;
    struct other list[2 * RAFT_MEMBERS_MAX];
    struct fiber *fibers[2 * RAFT_MEMBERS_MAX]; /* That ask. */
};

static void
add_others(struct replica *r, const struct raft_config *c, struct others *out)
{
    for (size_t i = 0; i < c->count; i++) {
        const char *address = c->members[i].address;
        size_t at = 0;
        while (at < out->count && strcmp(out->list[at].address, address) != 0)
            at++;
        if (at < out->count || strcmp(address, r->address) == 0)
            continue;
        INVARIANT(out->count < ARRAY_LEN(out->list));
        out->list[out->count].replica = r;
        memcpy(out->list[out->count++].address, address, RAFT_ADDRESS_BYTES);
    }
}

/* All members that are known, configured or learned. Owned. */
static struct others *find_others(struct replica *r)
{
    struct others *out = mem_zalloc(1, sizeof(*out));
    add_others(r, raft_members(r->raft), out);
    add_others(r, &r->first, out);
    return out;
}

static void run_ask(void *arg)
{
    struct other *o = arg;
    const struct replica *r = o->replica;
    const struct cell_request q = {.cell = r->cell, .verb = CELL_ASK};
    o->rc = cell_call(o->address, r->security, r->method, ASK_US, &q, &o->view,
                      &o->err);
}

static struct others *ask_others(struct replica *r)
{
    struct others *all = find_others(r);
    PRE(!r->asking);
    for (size_t i = 0; i < all->count; i++)
        all->fibers[i] =
            fiber_start(r->loop, "replica ask", run_ask, &all->list[i]);
    r->asking = all;
    for (size_t i = 0; i < all->count; i++) {
        fiber_join(all->fibers[i]);
        all->fibers[i] = NULL;
    }
    r->asking = NULL;
    return all;
}

/* --- founding or joining ------------------------------------------------- */

enum entry_mode {
    ENTRY_WAIT,
    ENTRY_FOUND,
    ENTRY_JOIN
};

/* Has it founded the cell, and neither voted nor learned of a vote since? A
 * member that joins has nothing either, but knows of a cell. */
static bool has_just_founded(const struct replica_status *s)
{
    return s->term == 1 && s->last_index == 1;
}

static bool knows_same_list(const struct replica *r, const struct other *o)
{
    PRE(o->rc == 0);
    return o->view.list == replica__list_hash(&r->first);
}

/* Choose from the answers how to enter. @missing gets the servers that did not
 * answer. Errors: ERR_INVALID: the lists differ, so that none may found. */
static int choose_entry(const struct replica *r,
                        const struct others *all,
                        enum entry_mode *out,
                        struct buf *missing,
                        struct err *err)
{
    const struct other *differs = NULL;
    PRE(missing->len == 0);
    *out = ENTRY_FOUND;
    for (size_t i = 0; i < all->count; i++) {
        const struct other *o = &all->list[i];
        if (o->rc) {
            buf_printf(missing, "%s%s (%s)", missing->len ? ", " : "",
                       o->address, o->err.text);
            continue;
        }
        if (o->view.status.role != REPLICA_OUTSIDE &&
            !has_just_founded(&o->view.status)) {
            *out = ENTRY_JOIN;
            return 0;
        }
        if (!knows_same_list(r, o))
            differs = o;
    }
    if (differs)
        return err_set(err, ERR_INVALID,
                       "%s was given another list of the cell's first members "
                       "than %s",
                       differs->address, r->address);
    if (missing->len)
        *out = ENTRY_WAIT;
    return 0;
}

static uint64_t id_in_list(const struct replica *r)
{
    PRE(r->address);
    for (size_t i = 0; i < r->first.count; i++)
        if (strcmp(r->first.members[i].address, r->address) == 0)
            return r->first.members[i].id;
    return 0;
}

static int take_entry(struct replica *r, enum entry_mode entry, struct err *err)
{
    uint64_t own = r->id;
    bool founding = entry == ENTRY_FOUND && id_in_list(r);
    int rc;
    PRE(r->outside && entry != ENTRY_WAIT);
    if (founding)
        r->id = id_in_list(r);
    rc = replica__make(r, founding, err);
    if (rc) {
        r->id = own;
        return rc;
    }
    if (founding)
        log_info(r->world, "replica",
                 "cell=%s member=%" PRIu64 " founds it with %zu members",
                 r->name, r->id, r->first.count);
    else
        log_info(r->world, "replica", "cell=%s member=%" PRIu64 " joins it",
                 r->name, r->id);
    replica__start(r);
    return 0;
}

/* @due_us: of the next line. */
static void report_wait(struct replica *r,
                        const char *what,
                        const char *why,
                        uint64_t *due_us)
{
    if (replica__now_us(r) < *due_us)
        return;
    *due_us = replica__now_us(r) + TELL_US;
    log_warn(r->world, "replica", "cell=%s %s %s", r->name, what, why);
}

/* One round; a member that stays outside asks again. */
static int try_enter(struct replica *r, uint64_t *due_us, struct err *err)
{
    struct others *all = ask_others(r);
    struct buf missing = BUF_INIT;
    enum entry_mode entry = ENTRY_WAIT;
    int rc = choose_entry(r, all, &entry, &missing, err);
    PRE(r->outside);
    if (rc == 0 && entry == ENTRY_WAIT)
        report_wait(r,
                    "is founded when all its first members are there; wait for",
                    buf_cstr(&missing), due_us);
    if (rc == 0 && entry != ENTRY_WAIT && !r->closing)
        rc = take_entry(r, entry, err);
    mem_free(all);
    buf_close(&missing);
    return rc;
}

static int replica_enter_once(struct replica *r, struct err *err)
{
    uint64_t due_us = replica__now_us(r) + TELL_US;
    PRE(r->address);
    while (r->outside && !r->closing) {
        int rc = try_enter(r, &due_us, err);
        if (rc == ERR_FULL)
            report_wait(r, "waits for space on its disk:", err->text, &due_us);
        else if (rc)
            return rc;
        if (r->outside)
            world_sleep_us(r->world, ROUND_US);
    }
    return 0;
}

/* --- becoming a voter ---------------------------------------------------- */

/* Is this member a voter, and is that committed? The log may have a change that
 * the next leader does not have and takes back. */
static bool is_in(const struct replica *r)
{
    struct raft_config committed;
    const struct raft_member *m;
    PRE(!r->outside);
    raft_members_at(r->raft, raft_commit(r->raft), &committed);
    m = raft_config_find(&committed, r->id);
    return m && m->voting && strcmp(m->address, r->address) == 0;
}

static bool may_try_again(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE || rc == ERR_BUSY ||
           rc == ERR_CANCELLED || rc == ERR_IO || rc == ERR_FULL;
}

/* Ask @to, and the leader that it names. */
static int ask_to_join(struct replica *r, const char *to, struct err *err)
{
    struct cell_request q = {.cell = r->cell, .verb = CELL_JOIN, .id = r->id};
    char hint[RAFT_ADDRESS_BYTES];
    int rc;
    PRE(strlen(r->address) < sizeof(q.address));
    memcpy(q.address, r->address, strlen(r->address));
    rc = cell_call(to, r->security, r->method, JOIN_US, &q, NULL, err);
    if (rc && replica_leader_hint(err, hint, sizeof(hint)) &&
        strcmp(hint, r->address) != 0)
        rc = cell_call(hint, r->security, r->method, JOIN_US, &q, NULL, err);
    return rc;
}

static int replica_enter_join(struct replica *r, struct err *err)
{
    uint64_t due_us = replica__now_us(r) + TELL_US;
    PRE(!r->outside);
    for (size_t turn = 0; !is_in(r) && !r->closing; turn++) {
        struct others *all = find_others(r);
        int rc = 0;
        if (all->count)
            rc = ask_to_join(r, all->list[turn % all->count].address, err);
        mem_free(all);
        if (rc && !may_try_again(rc))
            return rc;
        if (rc)
            report_wait(r, "does not let it join yet:", err->text, &due_us);
        if (!is_in(r))
            world_sleep_us(r->world, ROUND_US);
    }
    if (r->closing || !r->joining)
        return 0;
    log_info(r->world, "replica", "cell=%s member=%" PRIu64 " is a voter",
             r->name, r->id);
    return replica__joined(r, err);
}

/* --- the watch ----------------------------------------------------------- */

/* Is @o surely the leader, and without this member in its table? */
static bool forgot_us(const struct replica *r, const struct other *o)
{
    const struct replica_status *s = &o->view.status;
    PRE(r->id > 0);
    if (o->rc || s->role != REPLICA_LEADER || s->term < raft_term(r->raft))
        return false;
    for (size_t i = 0; i < s->member_count; i++)
        if (s->members[i].id == r->id)
            return false;
    return true;
}

static int check_removed(struct replica *r, struct err *err)
{
    struct others *all = ask_others(r);
    int rc = 0;
    PRE(r->id);
    for (size_t i = 0; i < all->count && rc == 0; i++)
        if (forgot_us(r, &all->list[i]))
            rc = err_set(err, ERR_DENIED,
                         "member %" PRIu64 " was removed from cell %s", r->id,
                         r->name);
    mem_free(all);
    if (rc)
        err_hint(err, "to let it join again move %s away first", r->directory);
    return rc;
}

/* Does the table have this member with another address, or as a learner? */
static bool is_listed_otherwise(const struct replica *r)
{
    const struct raft_member *m =
        raft_config_find(raft_members(r->raft), r->id);
    PRE(r->id);
    return m && (!m->voting || strcmp(m->address, r->address) != 0);
}

static int replica_enter_watch(struct replica *r, struct err *err)
{
    uint64_t led_us = replica__now_us(r);
    int rc = 0;
    PRE(!r->outside);
    while (rc == 0 && !r->closing) {
        if (raft_leader(r->raft))
            led_us = replica__now_us(r);
        if (is_listed_otherwise(r)) {
            rc = replica_enter_join(r, err);
        } else if (replica__now_us(r) >= led_us + FORGOTTEN_US) {
            led_us = replica__now_us(r);
            rc = check_removed(r, err);
        }
        if (rc == 0 && !r->closing)
            world_sleep_to_tick(r->world, WATCH_US);
    }
    return rc;
}

void replica__run_enter(void *arg)
{
    struct replica *r = arg;
    struct err err = ERR_INIT;
    int rc = r->outside ? replica_enter_once(r, &err) : 0;
    PRE(r->address);
    if (rc == 0 && r->joining && !r->closing)
        rc = replica_enter_join(r, &err);
    if (rc == 0 && !r->closing)
        rc = replica_enter_watch(r, &err);
    if (rc && !r->closing)
        replica__fail(r, &err);
}

void replica__end_enter(struct replica *r)
{
    PRE(r->closing);
    if (!r->enter)
        return;
    fiber_cancel(r->enter);
    for (size_t i = 0; r->asking && i < r->asking->count; i++)
        if (r->asking->fibers[i])
            fiber_cancel(r->asking->fibers[i]);
    fiber_join(r->enter);
}
