/* Sessions whose process is gone end before their lease.
 *
 * A killed process shows two signs that one that is busy, paused or cut off
 * does not show: the system closes its connections, the keep-alive's among
 * them, and its host refuses connections to the port where it listened. A
 * process listens before its first session begins and until its last has ended
 * (chubby.h), so both signs together, twice in a row, prove that it holds no
 * lease any more. An address that does not answer proves nothing: its session
 * ends with its lease.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "chubby-lite/server_state.h"

/* A client whose connection broke, or whose leader changed, is back sooner. */
#define SILENT_NS UINT64_C(200000000)
/* Between probes of a process that is not known to be gone. */
#define AGAIN_NS   UINT64_C(1000000000)
#define CONNECT_NS UINT64_C(1000000000)
#define REFUSALS   2
/* Fibers at a time. */
#define PROBES_MAX 64

struct probe {
    struct chubby_server *server;
    struct lease *lease;
    char *address;
};

static void server_probe_finish(struct probe *p)
{
    struct chubby_server *s = p->server;

    INVARIANT(p->lease->probing);
    INVARIANT(s->probe_count > 0);
    INVARIANT(s->busy_count > 0); /* INV-3 */
    p->lease->probing = false;
    lease_unref(p->lease);
    mem_free(p->address);
    mem_free(p);
    s->probe_count--;
    if (--s->busy_count == 0)
        wait_queue_wake(&s->idle);
}

/* Does the host of @address refuse connections to it? Parks. */
static bool is_refused(struct chubby_server *s, const char *address)
{
    struct stream *stream = NULL;
    struct err err = ERR_INIT;

    PRE(s->probe_count > 0);
    PRE(s->busy_count >= s->probe_count); /* INV-3 */
    (void)fiber_set_deadline(world_mono_ns(s->world) + CONNECT_NS);
    if (stream_connect(address, &stream, &err) == 0)
        stream_close(stream);
    return err.detail == ERR_DETAIL_REFUSED;
}

static void run_probe(void *arg)
{
    struct probe *p = arg;
    struct chubby_server *s = p->server;
    struct lease *l = p->lease;
    bool refused = is_refused(s, p->address);

    l->refusals = refused ? l->refusals + 1 : 0;
    if (!refused)
        l->probe_next_ns = world_mono_ns(s->world) + AGAIN_NS;
    else if (l->refusals >= REFUSALS && l->waiting == 0 && !l->gone &&
             !l->ending && s->term)
        server__start_expiry(s, l, "its process is gone");
    server_probe_finish(p);
}

void server__probe_if_silent(struct chubby_server *s,
                             struct lease *l,
                             uint64_t now_ns)
{
    const struct session *session;
    struct probe *p;

    if (l->waiting > 0 || l->probing || l->ending || s->closing ||
        s->probe_count >= PROBES_MAX || now_ns < l->silent_ns + SILENT_NS ||
        now_ns < l->probe_next_ns)
        return;
    session = session_find(cell_sessions(s->cell), l->session);
    if (!session || !*session->address)
        return;
    INVARIANT(l->waiting == 0); /* INV-3 of lease.h. */
    p = mem_alloc(sizeof(*p));
    *p = (struct probe){s, lease_ref(l), mem_strdup(session->address)};
    l->probing = true;
    s->probe_count++;
    s->busy_count++;
    fiber_detach(fiber_start(loop_self(), "lock-probe", run_probe, p));
}
