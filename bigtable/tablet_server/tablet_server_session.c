/* Membership in the cluster (section 5.2 of the Bigtable paper): joining, the
 * loss of the lock, and the check that an order is the present master's.
 *
 * The lease of the session says how long the lock is certainly held. When it is
 * in doubt, answers wait until the lock service has renewed it or the session
 * is lost. */
#include "bigtable/tablet_server/tablet_server_session.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"
#include "bigtable/wire/policy.h"
#include "chubby-lite/chubby.h"

#define PATH_BYTES 128
/* A sequencer is not checked again for this time. */
#define MASTER_TRUSTED_NS UINT64_C(1000000000)
/* Between looks at a session in doubt. */
#define LOOK_US UINT64_C(2000)
/* A try fails only when another server or master has taken the number. */
#define NUMBER_TRIES_MAX 1000
/* How long the lock stays closed after this server fails. It can be short: the
 * server checks its lease before each answer, and a server that takes its log
 * keeps it from writing. */
#define LOCK_DELAY_MS 100

struct session {
    struct world *world;
    struct session_options options;
    struct chubby *chubby;
    struct chubby_handle *file;
    uint64_t number;
    bool lost;
    struct err why;
    struct buf master;  /* The sequencer that was checked, */
    uint64_t master_ns; /* when. */
};

/* --- loss ---------------------------------------------------------------- */

static void tablet_session_lose(struct session *s, const char *why)
{
    if (s->lost)
        return;
    s->lost = true; /* INV-2 */
    err_set(&s->why, ERR_CLOSED, "%s", why);
    if (s->options.lost)
        s->options.lost(s->options.ctx, &s->why);
}

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct session *s = ctx;
    if (event == CHUBBY_EVENT_EXPIRED)
        tablet_session_lose(s, "the session with the lock service is lost");
    else if (event == CHUBBY_EVENT_INVALID && h && h == s->file)
        tablet_session_lose(s,
                            "the master has declared this tablet server dead");
    else if (s->options.changed)
        s->options.changed(s->options.ctx, h);
}

bool session_is_safe(const struct session *s)
{
    return fault_hit("tablet.serve_without_lock") ||
           (!s->lost && chubby_is_safe(s->chubby));
}

int session_wait_safe(struct session *s, struct err *err)
{
    PRE(s->number != 0);
    while (UNLIKELY(!session_is_safe(s))) {
        int rc = s->lost ? err_copy(err, &s->why) : fiber_check(err);
        if (rc)
            return rc;
        world_sleep_us(s->world, LOOK_US);
    }
    return 0;
}

/* --- joining ------------------------------------------------------------- */

static int make_directory(struct session *s, const char *path, struct err *err)
{
    struct chubby_handle *h;
    int rc = chubby_open(s->chubby, path,
                         CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                         &h, err);

    PRE(s->chubby);
    PRE(path[0] == '/');
    if (rc == 0)
        chubby_close(h);
    return rc;
}

static int
open_counters(struct session *s, struct chubby_handle **out, struct err *err)
{
    static const struct cluster_counters first = {FIRST_USER_TABLE_ID, 1};
    struct chubby_open_options o = {.events = 0};
    struct buf bytes = BUF_INIT;
    int rc;

    PRE(s->chubby);
    cluster_counters_put(&first, &bytes);
    o.contents = buf_slice(&bytes);
    rc = chubby_open(s->chubby, BIGTABLE_LOCK_COUNTERS,
                     CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, &o, out, err);
    buf_close(&bytes);
    return rc;
}

/* One try. ERR_ABORTED: another took the number. */
static int
try_number(struct session *s, struct chubby_handle *h, struct err *err)
{
    struct cluster_counters c;
    struct chubby_stat stat;
    struct buf bytes = BUF_INIT;
    int rc = chubby_read(h, &bytes, &stat, err);

    PRE(h);
    if (rc == 0)
        rc = cluster_counters_get(buf_slice(&bytes), &c, err);
    if (rc == 0) {
        s->number = c.server++;
        buf_clear(&bytes);
        cluster_counters_put(&c, &bytes);
        rc = chubby_write(h, buf_slice(&bytes), stat.content_generation, err);
    }
    buf_close(&bytes);
    return rc;
}

static int take_number(struct session *s, struct err *err)
{
    struct chubby_handle *h;
    int rc = open_counters(s, &h, err);
    if (rc)
        return rc;
    rc = ERR_ABORTED;
    for (int i = 0; i < NUMBER_TRIES_MAX && rc == ERR_ABORTED; i++)
        rc = try_number(s, h, err);
    chubby_close(h);
    return rc;
}

static int take_lock(struct session *s, const char *address, struct err *err)
{
    struct server_record record = {s->number, slice_str(address)};
    struct chubby_open_options o = {.lock_delay_ms = LOCK_DELAY_MS};
    struct buf bytes = BUF_INIT;
    char path[PATH_BYTES];
    int rc;

    PRE(s->number != 0);
    PRE(!s->file);
    snprintf(path, sizeof(path), BIGTABLE_LOCK_SERVERS "/%08llu",
             (unsigned long long)s->number);
    server_record_put(&record, &bytes);
    o.contents = buf_slice(&bytes);
    rc = chubby_open(s->chubby, path,
                     CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE | CHUBBY_NEW,
                     &o, &s->file, err);
    buf_close(&bytes);
    /* The master may see the file before the lock is held; it probes only a
     * server that it has heard of. */
    return rc ? rc : chubby_acquire(s->file, CHUBBY_EXCLUSIVE, err);
}

static int
tablet_session_join(struct session *s, const char *address, struct err *err)
{
    const struct chubby_options o = {.servers = s->options.cell,
                                     .server_count = s->options.cell_count,
                                     .security = s->options.security,
                                     .lease_ms = s->options.lease_ms,
                                     .grace_ms = s->options.grace_ms,
                                     .memo = s->options.memo,
                                     .address = address,
                                     .on_event = on_event,
                                     .ctx = s};
    int rc = chubby_connect(s->world, &o, &s->chubby, err);

    if (rc == 0)
        rc = make_directory(s, BIGTABLE_LOCK_ROOT, err);
    if (rc == 0)
        rc = make_directory(s, BIGTABLE_LOCK_SERVERS, err);
    if (rc == 0)
        rc = make_directory(s, BIGTABLE_LOCK_TABLES, err);
    if (rc == 0)
        rc = make_directory(s, BIGTABLE_LOCK_POLICIES, err);
    if (rc == 0)
        rc = take_number(s, err);
    if (rc == 0)
        rc = take_lock(s, address, err);
    return rc;
}

static void tablet_session_end(struct session *s)
{
    chubby_close(s->file);
    chubby_disconnect(s->chubby);
    buf_close(&s->master);
    mem_free(s);
}

int session_join(struct world *w,
                 const struct session_options *opts,
                 const char *address,
                 struct session **out,
                 struct err *err)
{
    struct session *s = mem_zalloc(1, sizeof(*s));
    int rc;
    s->world = w;
    s->options = *opts;
    rc = tablet_session_join(s, address, err);
    *out = s;
    POST(rc || (s->file && s->number != 0));
    if (rc) {
        err_wrap(err, "join the cluster");
        s->options.lost = NULL;
        tablet_session_end(s);
        *out = NULL;
    }
    return rc;
}

void session_quit(struct session *s)
{
    if (!s || s->lost)
        return;
    s->options.lost = NULL;
    if (s->file) {
        /* The master deletes it once the lock is free. */
        IGNORE_RESULT(chubby_delete(s->file, NULL));
    }
    tablet_session_lose(s, "this tablet server is ending");
    POST(s->lost);
}

void session_leave(struct session *s)
{
    if (!s)
        return;
    session_quit(s);
    tablet_session_end(s);
}

uint64_t session_number(const struct session *s)
{
    PRE(s->number != 0);
    return s->number;
}

struct chubby *session_chubby(struct session *s)
{
    PRE(s->chubby);
    return s->chubby;
}

/* --- the master ---------------------------------------------------------- */

int session_check_master(struct session *s,
                         struct slice sequencer,
                         struct err *err)
{
    uint64_t now = world_mono_ns(s->world);
    int rc;
    if (slice_eq(sequencer, buf_slice(&s->master)) &&
        now - s->master_ns < MASTER_TRUSTED_NS)
        return 0;
    rc = chubby_check_sequencer(s->chubby, sequencer, err);
    if (rc == ERR_ABORTED || rc == ERR_INVALID)
        return err_set(err, ERR_DENIED, "this is not the present master");
    if (rc)
        return rc;
    buf_clear(&s->master);
    buf_append_slice(&s->master, sequencer);
    s->master_ns = now;
    return 0;
}

int session_find_master(struct session *s, struct buf *address, struct err *err)
{
    return session_read_file(s, BIGTABLE_LOCK_MASTER, address, err);
}

int session_read_file(struct session *s,
                      const char *path,
                      struct buf *out,
                      struct err *err)
{
    struct chubby_handle *h;
    int rc = chubby_open(s->chubby, path, CHUBBY_READ, NULL, &h, err);

    PRE(s->chubby);
    PRE(path[0] == '/');
    if (rc)
        return rc;
    rc = chubby_read(h, out, NULL, err);
    chubby_close(h);
    return rc;
}
