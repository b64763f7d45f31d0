/* The client's session with the namenode. Commands are numbered in it
 * (base/session/window.h), so that one whose answer was lost is executed once.
 * The session ends when the client was silent for the namenode's bound; a fiber
 * renews it. A command of a session that has ended has an unknown outcome and
 * is not sent again in another one; only the close of a file is.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

/* --- opening ------------------------------------------------------------- */

static int send_command(struct gfs *g,
                        const struct gfs_command *c,
                        struct gfs_result *r,
                        struct buf *reply,
                        struct err *err)
{
    struct buf body = BUF_INIT;
    int rc;
    gfs_command_put(c, &body);
    rc = leader_call(g->leader, GFS_EXECUTE, g->timeout_us, buf_slice(&body),
                     SLICE_EMPTY, reply, NULL, err);
    buf_close(&body);
    if (rc == 0)
        rc = gfs_result_get(buf_slice(reply), r, err);
    return rc;
}

static int open_session(struct gfs *g, uint64_t *session, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_SESSION_OPEN,
                            .text = slice_str(g->name)};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = send_command(g, &c, &r, &reply, err);
    if (rc == 0)
        *session = r.session;
    buf_close(&reply);
    return rc;
}

/* Keep the session alive. Parks. Errors: ERR_CLOSED: it has ended. */
static int gfs_session_renew(struct gfs *g, uint64_t session, struct err *err)
{
    struct gfs_query q = {.session = session};
    struct buf reply = BUF_INIT;
    int rc = gfs__query(g, GFS_RENEW, &q, &reply, err);
    buf_close(&reply);
    return rc;
}

/* @session has ended: forget it and its commands. PRE: the mutex is held. */
static void lose_session(struct gfs *g, uint64_t session)
{
    if (g->session != session)
        return;
    log_warn(g->base.world, "gfs", "the session with the namenode ended");
    g->session = 0;
    session_window_init(&g->window);
    cond_broadcast(&g->changed);
}

/* Have a session that is alive: one that was not renewed lately is renewed
 * first. PRE: the mutex is held; it is released while calls are made. */
static int ensure_session(struct gfs *g, struct err *err)
{
    uint64_t session;
    int rc = 0;
    /* Another fiber opens or renews it. */
    while (g->opening)
        cond_wait(&g->changed, &g->mutex);
    session = g->session;
    INVARIANT(session || session_window_acknowledged(&g->window) == 1);
    if (session &&
        world_mono_ns(g->base.world) - g->renewed_ns < 3 * g->renew_us * 1000)
        return 0;
    g->opening = true;
    mutex_unlock(&g->mutex);
    if (session)
        rc = gfs_session_renew(g, session, err);
    if (!session || rc == ERR_CLOSED) {
        uint64_t new = 0;
        rc = open_session(g, &new, err);
        mutex_lock(&g->mutex);
        if (session)
            lose_session(g, session);
        g->session = rc ? 0 : new;
    } else {
        mutex_lock(&g->mutex);
    }
    if (rc == 0)
        g->renewed_ns = world_mono_ns(g->base.world);
    g->opening = false;
    cond_broadcast(&g->changed);
    return rc;
}

/* --- commands ------------------------------------------------------------ */

/* Give @c its number; wait for the session and for room in its window. */
static int number_command(struct gfs *g, struct gfs_command *c, struct err *err)
{
    int rc;
    mutex_lock(&g->mutex);
    rc = ensure_session(g, err);
    while (rc == 0 && session_window_is_full(&g->window)) {
        cond_wait(&g->changed, &g->mutex);
        rc = ensure_session(g, err);
    }
    if (rc == 0) {
        c->session = g->session;
        c->sequence = session_window_begin(&g->window);
        c->answered = session_window_acknowledged(&g->window) - 1;
    }
    mutex_unlock(&g->mutex);
    return rc;
}

/* @c has its answer, or will not be sent again. */
static void end_command(struct gfs *g, const struct gfs_command *c, int rc)
{
    PRE(c->session != 0 && c->sequence > 0);
    mutex_lock(&g->mutex);
    if (g->session == c->session) {
        session_window_end(&g->window, c->sequence);
        if (rc == ERR_CLOSED)
            lose_session(g, c->session);
    }
    cond_broadcast(&g->changed);
    mutex_unlock(&g->mutex);
}

int gfs__execute(struct gfs *g,
                 struct gfs_command *c,
                 struct gfs_result *r,
                 struct buf *reply,
                 struct err *err)
{
    int rc = number_command(g, c, err);
    if (rc)
        return rc;
    rc = send_command(g, c, r, reply, err);
    end_command(g, c, rc);
    if (rc == ERR_CLOSED)
        rc = err_set(err, ERR_UNAVAILABLE,
                     "the session with the namenode ended: it is not known "
                     "whether \"%s\" was done",
                     gfs_op_name(c->op));
    return rc;
}

int gfs__execute_plain(struct gfs *g, struct gfs_command *c, struct err *err)
{
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = gfs__execute(g, c, &r, &reply, err);
    buf_close(&reply);
    return rc;
}

/* --- renewal, late closing, end ------------------------------------------ */

void gfs__close_later(struct gfs *g,
                      uint64_t file,
                      uint64_t epoch,
                      uint64_t chunk,
                      uint64_t length)
{
    struct unclosed *u = mem_zalloc(1, sizeof(*u));
    *u = (struct unclosed){NULL, file, epoch, chunk, length};
    mutex_lock(&g->mutex);
    u->next = g->unclosed;
    g->unclosed = u;
    mutex_unlock(&g->mutex);
}

/* Close one file of the list; one that the namenode still does not answer about
 * goes back. */
static void close_one(struct gfs *g)
{
    struct unclosed *u;
    struct gfs_command c = {.op = GFS_OP_CLOSE};
    int rc;
    mutex_lock(&g->mutex);
    u = g->unclosed;
    if (u)
        g->unclosed = u->next;
    mutex_unlock(&g->mutex);
    if (!u)
        return;
    c.file = u->file;
    c.epoch = u->epoch;
    c.chunk = u->chunk;
    c.length = u->length;
    rc = gfs__execute_plain(g, &c, NULL);
    if ((rc == ERR_UNAVAILABLE || rc == ERR_BUSY) && !g->stopping)
        gfs__close_later(g, u->file, u->epoch, u->chunk, u->length);
    mem_free(u);
}

void gfs__run_renewer(void *arg)
{
    struct gfs *g = arg;
    while (!g->stopping && fiber_check(NULL) == 0) {
        uint64_t session;
        int rc;
        world_sleep_us(g->base.world, g->renew_us);
        mutex_lock(&g->mutex);
        session = g->opening ? 0 : g->session;
        mutex_unlock(&g->mutex);
        if (!session || g->stopping)
            continue;
        rc = gfs_session_renew(g, session, NULL);
        mutex_lock(&g->mutex);
        if (rc == ERR_CLOSED)
            lose_session(g, session);
        else if (rc == 0)
            g->renewed_ns = world_mono_ns(g->base.world);
        mutex_unlock(&g->mutex);
        close_one(g);
    }
}

void gfs__end_session(struct gfs *g)
{
    struct gfs_command c = {.op = GFS_OP_SESSION_CLOSE, .session = g->session};
    struct buf body = BUF_INIT;
    if (!g->session)
        return;
    while (g->unclosed && fiber_check(NULL) == 0)
        close_one(g);
    gfs_command_put(&c, &body);
    if (leader_call(g->leader, GFS_EXECUTE, MIN_OF(g->timeout_us, 1000000),
                    buf_slice(&body), SLICE_EMPTY, NULL, NULL, NULL))
        log_debug(g->base.world, "gfs", "the session ends by itself");
    buf_close(&body);
}
