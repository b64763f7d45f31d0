/* Moving tablets: taking them from servers that live, and giving them to
 * others.
 *
 * TABLET_UNLOAD answers when the tablet's data are in files and t:location
 * names nobody. A server that does not have the tablet may still get an order
 * to load it that was delayed on its way; having answered that it does not have
 * it, it refuses that order. So t:location is emptied then, unless it names
 * another server, or the same with another epoch: a later master gave the
 * tablet away. */
#include "base/core/panic.h"
#include "bigtable/master/master_term.h"

/* Tries to unload; then the tablet stays where it is. */
#define UNLOAD_TRIES_MAX 3
#define UNLOAD_RETRY_US  UINT64_C(200000)

static int order_unload(struct master_term *r,
                        struct known_tablet *t,
                        struct known_server *s,
                        struct err *err)
{
    uint64_t closed_us = 0;
    int rc = ERR_UNAVAILABLE;
    PRE(t->busy); /* INV-2 of the view. */
    PRE(t->server == s->number);
    for (int i = 0; i < UNLOAD_TRIES_MAX && s->alive; i++) {
        rc = server_order_unload(r, s, t, &closed_us, err);
        t->closed_ns = master_term_now_ns(r) - closed_us * 1000;
        if (rc != ERR_UNAVAILABLE && rc != ERR_BUSY)
            break;
        if (!master_term_wait(r, UNLOAD_RETRY_US))
            return master_term_over(err);
    }
    return rc;
}

/* The server does not have the tablet in @epoch, and will not; but t:location
 * may still name it. */
static int move_withdraw(struct master_term *r,
                         struct known_tablet *t,
                         const struct known_server *s,
                         uint64_t epoch,
                         struct err *err)
{
    struct tablet_location nobody = {0, epoch, SLICE_EMPTY};
    bool done = false;
    int rc = 0;
    PRE(t->busy); /* INV-2 of the view. */
    if (t->server == s->number && t->epoch == epoch)
        rc = master_term_set_location(r, t, &nobody, "withdrawn", &done, err);
    return rc || done ? rc : err_set(err, ERR_ABORTED, "its row has changed");
}

int take_back(struct master_term *r, struct known_tablet *t, struct err *err)
{
    struct known_server *s = cluster_view_server(&r->view, t->server);
    uint64_t epoch = t->epoch;
    bool found = false;
    int rc;

    PRE(t->busy);
    if (t->stage == STAGE_UNASSIGNED)
        return master_term_read_tablet(r, t, &found, err);
    INVARIANT(s); /* A stage has its server: INV-3 of the view. */
    rc = order_unload(r, t, s, err);
    if (!s->alive) /* It has no tablets; it may have emptied t:location. */
        return master_term_read_tablet(r, t, &found, err);
    if (rc && rc != ERR_NOTFOUND) {
        known_tablet_move(t, STAGE_ORDERED); /* It is unknown whether the server
                                              * still has it. */
        return rc;
    }
    rc = master_term_read_tablet(r, t, &found, err);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_NOTFOUND, "tablet %llu is no more",
                     (unsigned long long)t->id);
    if (rc == 0 && t->stage != STAGE_UNASSIGNED)
        rc = move_withdraw(r, t, s, epoch, err);
    if (rc == 0)
        known_tablet_move(t, STAGE_UNASSIGNED);
    else if (t->stage == STAGE_SERVED)
        known_tablet_move(t, STAGE_ORDERED);
    return rc;
}

int move_tablet(struct master_term *r,
                struct known_tablet *t,
                uint64_t to,
                uint64_t *unserved_us,
                struct err *err)
{
    uint64_t begun_ns = master_term_now_ns(r);
    uint64_t unserved = 0;
    uint64_t from = t->server;
    int rc;

    PRE(t->busy);
    PRE(from != to);
    r->moving++;
    rc = take_back(r, t, err);
    if (rc == 0 && to != 0)
        rc = place_tablet(r, t, to, err);
    INVARIANT(r->moving > 0); /* INV-4 */
    r->moving--;
    known_tablet_release(t);
    t->moved_ns = master_term_now_ns(r);
    if (rc == 0) {
        unserved = (t->moved_ns - t->closed_ns) / 1000;
        master_note(r, EVENT_MOVE,
                    "tablet=%llu from=%llu to=%llu unserved_us=%llu us=%llu",
                    (unsigned long long)t->id, (unsigned long long)from,
                    (unsigned long long)to, (unsigned long long)unserved,
                    (unsigned long long)((t->moved_ns - begun_ns) / 1000));
    }
    if (unserved_us)
        *unserved_us = unserved;
    master_term_changed(r);
    return rc;
}
