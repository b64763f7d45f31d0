/* Taking tablets from servers that live, and giving them to others.
 *
 * TABLET_UNLOAD answers when the tablet's data are in files and t:location
 * names nobody. A server that does not have the tablet may still get an order
 * to load it that was delayed on its way. Such an order is good as long as
 * t:location names that server with that epoch; so this is changed first, and
 * then the server is asked again: if it has the tablet now, the order was
 * faster, and t:location is put back to what the server knows.
 */
#include "base/core/panic.h"
#include "bigtable/master/reign.h"

/* Tries to unload before the tablet is left where it is. */
#define UNLOAD_TRIES_MAX 3
#define UNLOAD_RETRY_US  UINT64_C(200000)

static int order_unload(struct reign *r,
                        struct known_tablet *t,
                        struct known_server *s,
                        struct err *err)
{
    uint64_t closed_us = 0;
    int code = ERR_UNAVAILABLE;
    for (int i = 0; i < UNLOAD_TRIES_MAX && s->alive; i++) {
        code = server_order_unload(r, s, t, &closed_us, err);
        t->closed_ns = reign_now_ns(r) - closed_us * 1000;
        if (code != ERR_UNAVAILABLE && code != ERR_BUSY)
            break;
        if (!reign_wait(r, UNLOAD_RETRY_US))
            return reign_over(err);
    }
    return code;
}

/* The server has it not, but t:location still names it. */
static int withdraw(struct reign *r,
                    struct known_tablet *t,
                    struct known_server *s,
                    struct err *err)
{
    struct tablet_location nobody = {0, t->epoch, SLICE_EMPTY};
    struct tablet_location back = {s->number, t->epoch, slice_str(s->address)};
    bool done;
    int code = reign_set_location(r, t, &nobody, "withdrawn", &done, err);
    if (code || !done)
        return code ? code : err_set(err, ERR_ABORTED, "its row has changed");
    code = server_order(r, s, TABLET_UNLOAD, t, SLICE_EMPTY, SLICE_EMPTY, err);
    if (code == ERR_NOTFOUND || !s->alive)
        return 0;
    /* It is there, or that is not known. */
    if (reign_set_location(r, t, &back, "given back", &done, err) == 0 && done)
        t->stage = STAGE_ORDERED;
    return err_set(err, ERR_BUSY, "its server has just loaded it");
}

int take_back(struct reign *r, struct known_tablet *t, struct err *err)
{
    struct known_server *s = picture_server(&r->picture, t->server);
    bool found = false;
    int code;

    PRE(t->busy);
    if (t->stage == STAGE_UNASSIGNED)
        return reign_read_tablet(r, t, &found, err);
    code = order_unload(r, t, s, err);
    if (!s->alive)
        return 0; /* Then it has nothing. */
    if (code && code != ERR_NOTFOUND) {
        t->stage = STAGE_ORDERED; /* Whether it still has it is unknown. */
        return code;
    }
    code = reign_read_tablet(r, t, &found, err);
    if (code == 0 && !found)
        code = err_set(err, ERR_NOTFOUND, "tablet %llu is no more",
                       (unsigned long long)t->id);
    if (code == 0 && t->stage != STAGE_UNASSIGNED)
        code = withdraw(r, t, s, err);
    if (code == 0)
        t->stage = STAGE_UNASSIGNED;
    else if (t->stage == STAGE_SERVED)
        t->stage = STAGE_ORDERED;
    return code;
}

int move_tablet(struct reign *r,
                struct known_tablet *t,
                uint64_t to,
                uint64_t *unserved_us,
                struct err *err)
{
    uint64_t begun_ns = reign_now_ns(r);
    uint64_t unserved = 0;
    uint64_t from = t->server;
    int code;

    PRE(t->busy);
    r->moving++;
    code = take_back(r, t, err);
    if (code == 0 && to != 0)
        code = place_tablet(r, t, to, err);
    r->moving--;
    t->busy = false;
    t->moved_ns = reign_now_ns(r);
    if (code == 0) {
        unserved = (t->moved_ns - t->closed_ns) / 1000;
        master_note(r, EVENT_MOVE,
                    "tablet=%llu from=%llu to=%llu unserved_us=%llu us=%llu",
                    (unsigned long long)t->id, (unsigned long long)from,
                    (unsigned long long)to, (unsigned long long)unserved,
                    (unsigned long long)((t->moved_ns - begun_ns) / 1000));
    }
    if (unserved_us)
        *unserved_us = unserved;
    reign_changed(r);
    return code;
}
