/* The life of a master: candidate, then term after term.
 *
 * A term takes the lock, opens the keys, lists the servers, and lets a fiber
 * discover the rest; meanwhile this loop places tablets as soon as their levels
 * allow it. The term ends with the lock or the session; all its fibers and
 * calls end before the next one begins, so that no work of a term outlives it.
 */
#include "bigtable/master/master.h"

#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/master/cluster_identity.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/quarry.h"
#include "gfs-lite/fs.h"

/* No delay is needed: orders carry the sequencer, and those of an old master
 * are refused. */
#define LOCK_DELAY_MS 1
/* Between terms, and between rounds of a term. */
#define AGAIN_US    UINT64_C(500000)
#define LOOK_US     UINT64_C(500000)
#define LOOK_US_MIN UINT64_C(10000)
/* A round looks at all tablets: the more there are, the more changes share it.
 */
#define LOOK_US_A_TABLET UINT64_C(10)
#define LOOK_US_MIN_MAX  UINT64_C(200000)
/* Files are listed again without an event, because events may be lost. */
#define LIST_US UINT64_C(30000000)

/* --- a term -------------------------------------------------------------- */

static void on_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct master_term *r = ctx;
    if (e == CHUBBY_EVENT_EXPIRED) {
        master_term_end(r, "the session with the lock service is lost", NULL);
    } else if (h == r->lock && e == CHUBBY_EVENT_INVALID) {
        master_term_end(r, "the lock's file is gone", NULL);
    } else if (e == CHUBBY_EVENT_CHILDREN || e == CHUBBY_EVENT_FAILOVER) {
        r->servers_changed = true;
        master_term_changed(r);
    }
}

static int master_connect(struct master_term *r, struct err *err)
{
    const struct master_options *o = r->options;
    struct chubby_options c = {.servers = o->cell,
                               .server_count = o->cell_count,
                               .security = o->security,
                               .lease_ms = o->lease_ms,
                               .memo = o->memo,
                               .address = o->address,
                               .on_event = on_event,
                               .ctx = r};
    PRE(!r->chubby);
    return chubby_connect(r->world, &c, &r->chubby, err);
}

/* Before anything of the cluster is changed. */
static int check_identity(struct master_term *r, struct err *err)
{
    int rc = cluster_identity_check(r->chubby, r->options->fs, err);

    PRE(r->lock);
    if (rc == ERR_EXISTS)
        err_copy(&r->master->refusal, err);
    return rc;
}

/* The first step: take the lock, whose sequencer all orders carry. */
static int take_lock(struct master_term *r, struct err *err)
{
    struct chubby_open_options o = {.lock_delay_ms = LOCK_DELAY_MS};
    int rc = lock_state_prepare(r->chubby, r->options->version, err);

    PRE(!r->lock);
    PRE(r->number == 0);
    if (rc == 0)
        rc = policies_prepare(r->chubby, r->options->roles, err);
    if (rc == 0)
        rc = chubby_open(r->chubby, BIGTABLE_LOCK_MASTER,
                         CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, &o,
                         &r->lock, err);
    if (rc == 0)
        rc = chubby_acquire(r->lock, CHUBBY_EXCLUSIVE, err);
    if (rc == 0)
        rc = chubby_sequencer(r->lock, r->sequencer, err);
    if (rc == 0)
        rc = check_identity(r, err);
    if (rc == 0)
        rc = lock_state_next_server(r->chubby, &r->number, err);
    if (rc == 0)
        rc = chubby_write(r->lock, slice_str(r->options->address), 0, err);
    return rc;
}

/* The second step: list the tablet servers. */
static int open_directory(struct master_term *r, struct err *err)
{
    struct chubby_open_options o = {.events = CHUBBY_EVENT_CHILDREN};
    int rc = chubby_open(r->chubby, BIGTABLE_LOCK_SERVERS, CHUBBY_READ, &o,
                         &r->servers, err);

    PRE(r->lock);
    if (rc == 0)
        rc = servers_refresh(r, err);
    r->listed = true;
    return rc;
}

/* The third and fourth steps; then finish work that an earlier master began. */
static void master_discover(struct master_term *r, void *arg)
{
    struct err err = ERR_INIT;
    int rc = master_term_discover(r, &err);

    (void)arg;
    r->awaits = "the records of tables";
    if (rc == 0)
        rc = tables_finish(r, &err);
    r->awaits = "the policies of tables";
    if (rc == 0)
        rc = policies_load(r, &err);
    if (rc) {
        master_term_end(r, "cannot learn", &err);
        return;
    }
    INVARIANT(r->known);
    INVARIANT(r->store); /* INV-2 */
    r->ready = true;
    r->balanced_ns = r->reread_ns = r->merged_ns = r->swept_ns =
        master_term_now_ns(r);
    log_info(r->world, "master", "ready");
}

/* Take the lock that is held to change KEYS; quarry encryption and the job
 * master change it too. Errors: ERR_BUSY. */
static int lock_keys(struct fs *fs, struct fs_lock **out, struct err *err)
{
    int rc = fs_mkdirs(fs, BIGTABLE_KEYS_LOCK_DIR, err);
    if (rc == 0)
        rc = fs_lock(fs, BIGTABLE_KEYS_LOCK_DIR "/LOCK", out, err);
    return rc;
}

/* Seal KEYS with the present master key, which may have been replaced. While
 * another process changes KEYS this does nothing, and is tried again later. */
static int take_new_master_key(struct master_term *r, struct err *err)
{
    struct fs *fs = r->options->fs;
    struct fs_lock *lock;
    bool done = false;
    int rc;
    PRE(fs);
    if (!fs_keyring(fs) || !keyring_is_outdated(fs_keyring(fs)))
        return 0;
    rc = lock_keys(fs, &lock, err);
    if (rc == ERR_BUSY)
        return 0;
    if (rc == 0) {
        rc = keyring_rewrap(fs_keyring(fs), &done, err);
        fs_unlock(lock);
    }
    if (done)
        log_info(r->world, "master", "data keys have a new master key");
    return rc;
}

static int make_keys(struct master_term *r, struct err *err)
{
    struct fs *fs = r->options->fs;
    struct fs_lock *lock;
    int rc = lock_keys(fs, &lock, err);

    PRE(r->options->fs);
    PRE(r->options->master_keys);
    if (rc)
        return rc;
    rc = fs_open_keyring(fs, BIGTABLE_KEYS, r->options->master_keys, true, err);
    fs_unlock(lock);
    return rc;
}

/* A failure is logged, and tried again later. */
static void follow_master_key(struct master_term *r)
{
    struct err err = ERR_INIT;
    if (r->options->fs && take_new_master_key(r, &err))
        log_warn(r->world, "master", "KEYS: %s", err.text);
}

/* Open the keys of SSTables, logs and snapshots; the first master with a master
 * key makes them. Tablet servers wait for them. */
static int open_keys(struct master_term *r, struct err *err)
{
    int rc;

    PRE(r->lock);
    PRE(r->options->fs);
    if (fs_keyring(r->options->fs))
        return 0;
    if (!chubby_is_safe(r->chubby))
        return err_set(err, ERR_UNAVAILABLE, "this may not be the master");
    rc = fs_open_keyring(r->options->fs, BIGTABLE_KEYS, r->options->master_keys,
                         false, err);
    if (rc == 0 && r->options->master_keys && !fs_keyring(r->options->fs))
        rc = make_keys(r, err);
    if (rc == 0 && fs_keyring(r->options->fs))
        rc = take_new_master_key(r, err);
    if (rc)
        err_wrap(err, "keys of tables");
    return rc;
}

static int
refresh_if_due(struct master_term *r, uint64_t *listed_ns, struct err *err)
{
    PRE(master_term_now_ns(r) >= *listed_ns);
    if (!r->servers_changed &&
        master_term_now_ns(r) - *listed_ns < LIST_US * 1000)
        return 0;
    r->servers_changed = false;
    *listed_ns = master_term_now_ns(r);
    follow_master_key(r);
    return servers_refresh(r, err);
}

/* Has the time come, and nothing changed? */
static bool is_tick(const struct master_term *r)
{
    return world_to_tick_us(r->world, LOOK_US) > LOOK_US - LOOK_US_MIN;
}

static int master_govern(struct master_term *r, struct err *err)
{
    uint64_t listed_ns = master_term_now_ns(r);
    int rc = r->options->fs ? open_keys(r, err) : 0;

    PRE(r->lock); /* The term has begun. */
    if (rc == 0)
        rc = open_directory(r, err);
    if (rc)
        return rc;
    master_term_spawn(r, "discovery", master_discover, NULL);
    while (master_term_is_current(r) && !r->master->stopping) {
        rc = refresh_if_due(r, &listed_ns, err);
        if (rc)
            return rc;
        place_all(r);
        master_housekeep(r);
        if (!master_term_wait(r, LOOK_US))
            break;
        /* Many changes are handled in one round. */
        if (!is_tick(r))
            world_sleep_us(
                r->world,
                MIN_OF(LOOK_US_MIN + LOOK_US_A_TABLET * r->view.tablet_count,
                       LOOK_US_MIN_MAX));
    }
    return 0;
}

static void master_term_init(struct master_term *r, struct master *m)
{
    PRE(!m->term);
    *r = (struct master_term){.master = m,
                              .world = m->world,
                              .options = &m->options,
                              .next_id = 1,
                              .awaits = "the list of tablet servers"};
    cluster_view_init(&r->view);
    garbage_init(&r->files);
    garbage_init(&r->logs);
    pending_outputs_init(&r->pending_outputs);
    hash_map_init(&r->dropping, HASH_KEYS_COPIED);
    mutex_init(&r->mutex);
    mutex_init(&r->snapshot_lock);
    replication_init(&r->replication);
    oracle_init(&r->oracle);
    cond_init(&r->changed);
}

/* Wait until all fibers and calls of the term have ended. */
static void master_drain(struct master_term *r)
{
    PRE(r->ending);
    mutex_lock(&r->mutex);
    while (r->tasks || r->calls > 0)
        (void)cond_wait_us(&r->changed, &r->mutex, r->world, LOOK_US_MIN);
    mutex_unlock(&r->mutex);
}

static void master_term_close(struct master_term *r)
{
    PRE(r->ending);
    PRE(!r->tasks);
    PRE(r->calls == 0); /* INV-1 */
    metadata_store_free(r->store);
    quarry_close(r->quarry);
    recover_close(r);
    servers_close(r);
    cluster_view_close(&r->view);
    policies_close(r);
    garbage_close(&r->files);
    garbage_close(&r->logs);
    pending_outputs_close(&r->pending_outputs);
    hash_map_close(&r->dropping);
    chubby_close(r->servers);
    chubby_close(r->lock);
    chubby_disconnect(r->chubby);
    mutex_close(&r->mutex);
    mutex_close(&r->snapshot_lock);
    replication_close(&r->replication);
    oracle_close(&r->oracle);
    cond_close(&r->changed);
}

static void master_term_once(struct master *m)
{
    struct master_term *r = mem_alloc(sizeof(*r));
    struct err err = ERR_INIT;
    int rc;

    master_term_init(r, m);
    rc = master_connect(r, &err);
    if (rc == 0)
        rc = take_lock(r, &err);
    if (rc == 0) {
        master_note(r, EVENT_TERM, "master=%llu",
                    (unsigned long long)r->number);
        INVARIANT(!m->term);
        INVARIANT(r->number != 0);
        m->term = r;
        rc = master_govern(r, &err);
    }
    master_term_end(r, rc ? "an error" : "asked to stop", rc ? &err : NULL);
    master_drain(r);
    m->term = NULL;
    master_term_close(r);
    mem_free(r);
}

/* --- a master ------------------------------------------------------------ */

static void master_run_terms(void *arg)
{
    struct master *m = arg;

    PRE(!m->term);
    while (!m->stopping && fiber_check(NULL) == 0) {
        master_term_once(m);
        if (!m->stopping && fiber_check(NULL) == 0)
            world_sleep_us(m->world, AGAIN_US);
    }
}

int master_health(const struct master *m, struct err *err)
{
    return m->refusal.code ? err_copy(err, &m->refusal) : 0;
}

static void set_default(uint64_t *option, uint64_t value)
{
    if (*option == 0)
        *option = value;
}

static void set_defaults(struct master_options *o)
{
    const uint64_t s = 1000000;
    set_default(&o->status_us, s);
    set_default(&o->silent_us, s);
    set_default(&o->order_us, 60 * s);
    set_default(&o->balance_us, 10 * s);
    set_default(&o->still_us, 300 * s);
    set_default(&o->reread_us, 60 * s);
    set_default(&o->garbage_us, 600 * s);
    set_default(&o->garbage_age_us, 3600 * s);
    set_default(&o->merge_us, 300 * s);
    set_default(&o->merge_age_us, 3600 * s);
    set_default(&o->merge_bytes, UINT64_C(64) << 20);
}

int master_open(struct world *w,
                struct rpc_server *rpc,
                const struct master_options *opts,
                struct master **out,
                struct err *err)
{
    struct master *m;
    *out = NULL;
    if (opts->cell_count == 0 || !opts->fs)
        return err_set(err, ERR_INVALID,
                       "a master needs a lock service and a file system");
    m = mem_zalloc(1, sizeof(*m));
    m->world = w;
    m->rpc = rpc;
    m->options = *opts;
    set_defaults(&m->options);
    master_events_init(&m->events, m->options.metrics);
    service_add(m);
    *out = m;
    return 0;
}

void master_start(struct master *m)
{
    PRE(!m->fiber);
    m->fiber = fiber_start(loop_self(), "master", master_run_terms, m);
}

void master_stop(struct master *m)
{
    if (!m->fiber)
        return;
    m->stopping = true;
    if (m->term)
        master_term_end(m->term, "asked to stop", NULL);
    fiber_cancel(m->fiber);
    fiber_join(m->fiber);
    m->fiber = NULL;
    POST(!m->term);
}

void master_close(struct master *m)
{
    if (!m)
        return;
    master_stop(m);
    mem_free(m);
}
