/* The applier's fiber: committed entries into the machine, snapshots of it, and
 * snapshots from a leader. Only this fiber changes the machine, so that a
 * snapshot is of one entry and a machine that is saved aside can be frozen.
 */
#include "base/core/panic.h"
#include "base/replica/replica_state.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

/* Entries applied before other fibers of the loop run. */
#define APPLY_BATCH 256
/* After a snapshot that could not be written. */
#define SAVE_AGAIN_US 5000000

/* --- entries ------------------------------------------------------------- */

static const char *const superseded =
    "another leader took over before the command was committed";

/* The proposal of this entry, still in its list. Those before it have failed,
 * as has one whose index another leader's entry took. */
static struct replica_wait *
take_proposal(struct replica *r, uint64_t index, uint64_t term)
{
    struct replica_wait *w;
    PRE(index > 0);
    PRE(term > 0);
    while ((w = r->entered.first) && w->token <= index) {
        if (w->token == index && w->term == term)
            return w;
        replica__finish(w, err_set(w->err, ERR_UNAVAILABLE, "%s", superseded));
    }
    return NULL;
}

static void apply_one(struct replica *r, struct buf *scratch)
{
    uint64_t index = r->applied + 1;
    const struct raft_entry *e = raft_log_get(raft_entries(r->raft), index);
    struct replica_wait *w;
    PRE(index <= raft_commit(r->raft)); /* INV-1 */
    PRE(!r->frozen);                    /* INV-7 */
    INVARIANT(e);
    w = take_proposal(r, index, e->term);
    if (e->kind == RAFT_ENTRY_COMMAND) {
        buf_clear(scratch);
        r->machine.apply(r->machine.ctx, index, raft_bytes_slice(e->bytes),
                         w && w->reply ? w->reply : scratch);
    }
    INVARIANT(r->applied + 1 == index); /* INV-1: apply() does not park. */
    r->applied = index;
    if (w)
        replica__finish(w, 0);
    if (e->kind == RAFT_ENTRY_NOOP && r->leading_term == e->term) {
        INVARIANT(!r->announced); /* One such entry in a term. */
        r->announced = true;
        if (r->machine.lead)
            r->machine.lead(r->machine.ctx, true, e->term);
    }
}

static void apply_some(struct replica *r, struct buf *scratch)
{
    INVARIANT(!r->frozen); /* INV-7 */
    for (unsigned n = 0; n < APPLY_BATCH && !r->closing &&
                         r->applied < raft_commit(r->raft) && !r->install.kind;
         n++)
        apply_one(r, scratch);
    replica__check_barriers(r);
}

void replica__check_barriers(struct replica *r)
{
    struct replica_wait *w;
    if (!r->leading_term || r->applied < raft_barrier_index(r->raft))
        return;
    while ((w = r->barriers.first) && w->token <= raft_barrier_done(r->raft))
        replica__finish(w, 0);
}

/* --- snapshots of the machine -------------------------------------------- */

/* Heap: the applier continues while the saver writes. */
struct save {
    struct replica *replica;
    struct snapshot_info info;
    struct buf image;
    struct err err;
    int rc;
};

static void take_image(void *arg)
{
    struct save *s = arg;
    PRE(s->info.index == s->replica->applied && s->image.len == 0);
    s->replica->machine.save(s->replica->machine.ctx, &s->image);
}

static void write_image(void *arg)
{
    struct save *s = arg;
    struct replica *r = s->replica;
    PRE(s->info.index > 0);
    s->rc = snapshot_write(r->world, r->keyring, r->directory, &s->info,
                           buf_slice(&s->image), &s->err);
}

static void run_saver(void *arg)
{
    struct save *s = arg;
    struct replica *r = s->replica;
    uint64_t now;
    INVARIANT(r->saving);
    if (r->frozen) {
        offload(take_image, s);
        r->frozen = false;
        fiber_wake(r->applier);
    }
    mutex_lock(&r->files);
    /* A newer one may have come from the leader meanwhile. */
    if (s->info.index > raft_snapshot_index(r->raft))
        offload(write_image, s);
    mutex_unlock(&r->files);
    now = replica__now_us(r);
    if (s->rc == 0) {
        raft_compact(r->raft, now, s->info.index, r->snapshot_log_bytes / 4);
    } else {
        log_warn(r->world, "replica", "cell=%s member=%llu %s", r->name,
                 (unsigned long long)r->id, s->err.text);
        r->save_again_us = now + SAVE_AGAIN_US;
    }
    replica__pump(r);
    r->saving = false;
    fiber_wake(r->applier);
    buf_close(&s->image);
    mem_free(s);
}

static bool wants_save(const struct replica *r)
{
    uint64_t from = raft_snapshot_index(r->raft);
    return !r->saving && !r->failed && r->applied > from &&
           raft_log_bytes(raft_entries(r->raft), from, r->applied) >=
               r->snapshot_log_bytes &&
           replica__now_us(r) >= r->save_again_us;
}

static void start_save(struct replica *r)
{
    struct save *s = mem_zalloc(1, sizeof(*s));
    PRE(!r->saving && !r->frozen); /* INV-7 */
    PRE(r->applied > raft_snapshot_index(r->raft));
    s->replica = r;
    s->info.index = r->applied;
    s->info.term = raft_log_term(raft_entries(r->raft), r->applied);
    raft_members_at(r->raft, r->applied, &s->info.config);
    if (r->saver)
        fiber_join(r->saver);
    r->saving = true;
    if (r->aside)
        r->frozen = true;
    else
        take_image(s);
    r->saver = fiber_start(r->loop, "replica saver", run_saver, s);
}

/* --- snapshots from the leader ------------------------------------------- */

struct accept {
    struct replica *replica;
    struct snapshot_info info;
    struct buf image;
    void *state; /* Made of it aside. */
    struct err err;
    int rc;
};

static void accept_image(void *arg)
{
    struct accept *a = arg;
    a->rc =
        snapshot_accept(a->replica->world, a->replica->keyring,
                        a->replica->directory, &a->info, &a->image, &a->err);
}

static void build_aside(void *arg)
{
    struct accept *a = arg;
    PRE(a->replica->aside && a->rc == 0);
    a->rc = a->replica->aside->build(a->replica->machine.ctx,
                                     buf_slice(&a->image), &a->state, &a->err);
}

static void replica_apply_load(struct replica *r, struct accept *a)
{
    if (!r->aside) {
        a->rc = r->machine.load(r->machine.ctx, buf_slice(&a->image), &a->err);
        return;
    }
    offload(build_aside, a);
    if (a->rc == 0)
        r->aside->adopt(r->machine.ctx, a->state);
}

static void replica_apply_install(struct replica *r)
{
    struct accept a = {.replica = r};
    PRE(r->install.kind == RAFT_DO_INSTALL && !r->frozen); /* INV-7 */
    mutex_lock(&r->files);
    offload(accept_image, &a);
    mutex_unlock(&r->files);
    if (a.rc == 0 &&
        (a.info.index != r->install.index || a.info.term != r->install.term))
        a.rc = ERR_CORRUPT;
    if (a.rc == 0)
        replica_apply_load(r, &a);
    if (a.rc == 0)
        r->applied = a.info.index;
    else
        log_warn(r->world, "replica",
                 "cell=%s member=%llu refused a snapshot: %s", r->name,
                 (unsigned long long)r->id, a.err.text);
    INVARIANT(a.rc || r->applied > raft_commit(r->raft));
    r->install = (struct raft_action){0};
    raft_installed(r->raft, replica__now_us(r), a.info.index, a.info.term,
                   a.rc == 0 ? &a.info.config : NULL);
    replica__pump(r);
    buf_close(&a.image);
}

/* --- fiber --------------------------------------------------------------- */

void replica__run_applier(void *arg)
{
    struct replica *r = arg;
    struct buf scratch = BUF_INIT;
    PRE(!r->outside); /* INV-6 */
    while (!r->closing) {
        INVARIANT(r->applied <= raft_commit(r->raft)); /* INV-1 */
        if (r->frozen) {
            fiber_park();
        } else if (r->install.kind) {
            replica_apply_install(r);
        } else if (r->applied < raft_commit(r->raft)) {
            apply_some(r, &scratch);
            if (wants_save(r))
                start_save(r);
            fiber_yield();
        } else {
            fiber_park();
        }
    }
    if (r->saver)
        fiber_join(r->saver);
    buf_close(&scratch);
}
