/* The order to describe a tablet for a snapshot: flush it, and answer with its
 * bounds and files as of one moment. Writers are held off only while the
 * second, small flush runs (store/capture.h). */
#include "base/core/panic.h"
#include "bigtable/store/capture.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/snapshot_record.h"

struct capturing {
    struct tablet_server *server;
    struct table_part *table;
    struct capture capture;
    struct err err;
    int rc;
};

static void run_capture(void *arg)
{
    struct capturing *c = arg;
    c->rc = table_capture(c->server->store, c->table, &c->capture, &c->err);
}

static void put_tablet(const struct captured_tablet *t, struct buf *out)
{
    const struct snapshot_tablet s = {
        buf_slice(&t->start), buf_slice(&t->end), buf_slice(&t->groups),
        t->sequence,          t->bytes,           t->stamped_us};
    snapshot_tablet_put(&s, out);
}

int handle_capture(struct tablet_server *s,
                   struct rpc_call *call,
                   struct err *err)
{
    struct capturing c = {.server = s};
    struct tablet_order o;
    struct served *t;
    int rc = tablet_order_get(call->body, &o, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = find_tablet(s, o.tablet, &t, err);
    if (rc)
        return rc;
    c.table = t->table;
    server_in_thread(s, run_capture, &c);
    served_unref(t);
    if (c.rc == ERR_CANCELLED || c.rc == ERR_NOTFOUND)
        return not_here(o.tablet, err);
    if (c.rc)
        return err_copy(err, &c.err);
    INVARIANT(c.capture.tablet_count == 1);
    put_tablet(&c.capture.tablets[0], call->reply_body);
    capture_release(s->store, &c.capture);
    return 0;
}
