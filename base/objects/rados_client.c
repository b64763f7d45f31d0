/* Connecting to Ceph, waiting for operations, and locks. Settings are those of
 * Ceph's own tools: a ceph.conf, and words of CEPH_ARGS that override it.
 */
#ifdef QUARRY_HAVE_RADOS

#include "base/objects/rados_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/core/panic.h"
#include "base/objects/rados_client_parts.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

#define NAMESPACE "quarry"
/* Of one operation; and after a hurry. */
#define SECONDS          30
#define SECONDS_MAX      3600
#define HURRY_US         UINT64_C(3000000)
#define CHECK_US         UINT64_C(500000)
#define ARGUMENTS_MAX    64
#define HOLDER_BYTES_MAX 4096

/* --- opening ------------------------------------------------------------- */

static int
rados_client_configured(struct rados_client *c, int rc, struct err *err)
{
    return rc ? err_set(err, ERR_INVALID, "%s: Ceph's settings: %s", c->name,
                        strerror(-rc))
              : 0;
}

/* Words of CEPH_ARGS, as Ceph's tools take them. */
static int
take_arguments(struct rados_client *c, const char *text, struct err *err)
{
    const char *words[ARGUMENTS_MAX] = {"quarry"};
    char *copy = mem_strdup(text);
    char *rest = NULL;
    int count = 1;
    int rc = 0;
    for (char *word = strtok_r(copy, " \t", &rest); word && rc == 0;
         word = strtok_r(NULL, " \t", &rest)) {
        if (count == ARGUMENTS_MAX)
            rc = err_set(err, ERR_INVALID, "CEPH_ARGS: over %d words",
                         ARGUMENTS_MAX - 1);
        else
            words[count++] = word;
    }
    if (rc == 0)
        rc = rados_client_configured(
            c, c->calls.rados_conf_parse_argv(c->cluster, count, words), err);
    mem_free(copy);
    return rc;
}

static int set_limits(struct rados_client *c, const char *text, struct err *err)
{
    static const char *const names[] = {
        "rados_osd_op_timeout", "rados_mon_op_timeout", "client_mount_timeout"};
    unsigned long seconds = SECONDS;
    char value[16];
    char *end = NULL;
    int rc = 0;
    if (text && *text) {
        seconds = strtoul(text, &end, 10);
        if (*end || seconds == 0 || seconds > SECONDS_MAX)
            return err_set(err, ERR_INVALID,
                           "QUARRY_RADOS_SECONDS: \"%.40s\" is no number from "
                           "1 to %d",
                           text, SECONDS_MAX);
    }
    snprintf(value, sizeof(value), "%lu", seconds);
    for (size_t i = 0; i < ARRAY_LEN(names) && rc == 0; i++)
        rc = rados_client_configured(
            c, c->calls.rados_conf_set(c->cluster, names[i], value), err);
    return rc;
}

/* The order is that of what overrides what. */
static int
read_settings(struct rados_client *c, object_variable variable, struct err *err)
{
    const char *conf = variable("CEPH_CONF");
    const char *arguments = variable("CEPH_ARGS");
    int rc = c->calls.rados_conf_read_file(c->cluster, conf);
    if (rc == -ENOENT && !(arguments && *arguments)) {
        err_set(err, ERR_INVALID, "%s: no ceph.conf%s%s", c->name,
                conf ? " at " : "", conf ? conf : "");
        err_hint(err, "copy /etc/ceph/ceph.conf and a keyring of the cluster "
                      "to this machine, or set CEPH_CONF");
        return ERR_INVALID;
    }
    rc = rc == -ENOENT ? 0 : rados_client_configured(c, rc, err);
    if (rc == 0)
        rc = set_limits(c, variable("QUARRY_RADOS_SECONDS"), err);
    if (rc == 0 && arguments && *arguments)
        rc = take_arguments(c, arguments, err);
    return rc;
}

int rados_client_open(struct world *w,
                      struct slice pool,
                      object_variable variable,
                      struct rados_client **out,
                      struct err *err)
{
    const char *user = variable("QUARRY_RADOS_USER");
    struct rados_client *c = mem_zalloc(1, sizeof(*c));
    struct buf text = BUF_INIT;
    int rc = 0;
    *out = NULL;
    c->world = w;
    c->pool = mem_strndup(pool.data, pool.len);
    buf_printf(&text, "rados://%s", c->pool);
    c->name = buf_take(&text);
    mutex_init(&c->mutex);
    if (pool.len == 0)
        rc = err_set(err, ERR_INVALID, "rados:// needs the name of a pool");
    if (rc == 0)
        rc = rados_calls_load(&c->calls, err);
    buf_printf(&text, "client.%s", user && *user ? user : "admin");
    if (rc == 0)
        rc = rados_client_configured(
            c, c->calls.rados_create2(&c->cluster, "ceph", buf_cstr(&text), 0),
            err);
    buf_close(&text);
    if (rc == 0)
        rc = read_settings(c, variable, err);
    if (rc)
        rados_client_close(c);
    else
        *out = c;
    return rc;
}

static void shut_down(void *arg)
{
    struct rados_client *c = arg;
    if (c->io)
        c->calls.rados_ioctx_destroy(c->io);
    c->calls.rados_shutdown(c->cluster);
}

void rados_client_close(struct rados_client *c)
{
    if (!c)
        return;
    if (c->cluster)
        offload(shut_down, c);
    mutex_close(&c->mutex);
    mem_free(c->pool);
    mem_free(c->name);
    mem_free(c);
}

void rados_client_hurry(struct rados_client *c)
{
    atomic_store(&c->hurried, true);
}

const char *rados_client_name(const struct rados_client *c)
{
    return c->name;
}

void rados_client_counts(struct rados_client *c, struct object_counts *out)
{
    *out =
        (struct object_counts){.requests = atomic_load(&c->requests),
                               .read_bytes = atomic_load(&c->read_bytes),
                               .written_bytes = atomic_load(&c->written_bytes)};
}

/* --- connecting ---------------------------------------------------------- */

struct connecting {
    struct rados_client *client;
    int rc;
};

/* Blocks its thread. */
static void connect_to_pool(void *arg)
{
    struct connecting *call = arg;
    struct rados_client *c = call->client;
    call->rc = c->calls.rados_connect(c->cluster);
    if (call->rc == 0 || call->rc == -EISCONN)
        call->rc = c->calls.rados_ioctx_create(c->cluster, c->pool, &c->io);
    if (call->rc == 0) {
        c->calls.rados_ioctx_set_namespace(c->io, NAMESPACE);
        c->calls.rados_set_pool_full_try(c->io);
    }
}

int rados__connect(struct rados_client *c, struct err *err)
{
    struct connecting call = {.client = c};
    int rc = 0;
    if (atomic_load(&c->is_open))
        return 0;
    mutex_lock(&c->mutex);
    if (!atomic_load(&c->is_open)) {
        offload(connect_to_pool, &call);
        if (call.rc == -ENOENT) {
            rc = err_set(err, ERR_INVALID, "%s: no such pool, or no keyring",
                         c->name);
            err_hint(err, "ceph osd pool ls tells which there are");
        } else {
            rc = rados__error(c, call.rc, "connect", "", err);
        }
        atomic_store(&c->is_open, rc == 0);
    }
    mutex_unlock(&c->mutex);
    return rc;
}

/* --- outcomes ------------------------------------------------------------ */

/* A code of ours for @rc; ERR_IO for others. */
static int code_of(int rc)
{
    static const struct {
        int system;
        int code;
    } codes[] = {{ENOENT, ERR_NOTFOUND},
                 {ECANCELED, ERR_ABORTED},
                 {ERANGE, ERR_ABORTED},
                 {EOVERFLOW, ERR_ABORTED},
                 {EEXIST, ERR_EXISTS},
                 {EPERM, ERR_DENIED},
                 {EACCES, ERR_DENIED},
                 {ETIMEDOUT, ERR_UNAVAILABLE},
                 {ENOTCONN, ERR_UNAVAILABLE},
                 {ESHUTDOWN, ERR_UNAVAILABLE},
                 {EAGAIN, ERR_UNAVAILABLE},
                 {ENOSPC, ERR_FULL},
                 {EDQUOT, ERR_FULL},
                 {EOPNOTSUPP, ERR_UNSUPPORTED},
                 {ENAMETOOLONG, ERR_INVALID},
                 {EBUSY, ERR_BUSY},
                 {ECONNREFUSED, ERR_UNAVAILABLE}};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].system == -rc)
            return codes[i].code;
    return ERR_IO;
}

int rados__error(struct rados_client *c,
                 int rc,
                 const char *what,
                 const char *object,
                 struct err *err)
{
    int code = code_of(rc);
    if (rc >= 0)
        return 0;
    err_set(err, code, "%s: %s%s%s: %s", c->name, what, *object ? " " : "",
            object, strerror(-rc));
    if (code == ERR_UNSUPPORTED)
        err_hint(err, "use a replicated pool: those of erasure codes have no "
                      "maps");
    if (code == ERR_DENIED)
        err_hint(err,
                 "the user (QUARRY_RADOS_USER) needs mon 'allow r' and osd "
                 "'allow rwx pool=%s'",
                 c->pool);
    if (code == ERR_UNAVAILABLE)
        err_hint(err, "ceph -s tells what is down");
    return code;
}

static void call_ended(rados_completion_t completion, void *arg)
{
    struct rados_wait *w = arg;
    (void)completion;
    mutex_lock(&w->mutex);
    w->done = true;
    cond_signal(&w->ended);
    mutex_unlock(&w->mutex);
}

void rados__wait_begin(struct rados_client *c, struct rados_wait *w)
{
    *w = (struct rados_wait){.client = c};
    mutex_init(&w->mutex);
    cond_init(&w->ended);
    if (c->calls.rados_aio_create_completion2(w, call_ended, &w->completion))
        PANIC("librados has no memory");
    atomic_fetch_add(&c->requests, 1);
}

/* PRE: the mutex is held. */
static void await_end(struct rados_wait *w)
{
    struct rados_client *c = w->client;
    uint64_t hurried_us = 0;
    bool given_up = false;
    while (!w->done) {
        if (cond_wait_us(&w->ended, &w->mutex, c->world, CHECK_US) ||
            given_up || !atomic_load(&c->hurried))
            continue;
        hurried_us += CHECK_US;
        given_up = hurried_us >= HURRY_US;
        if (given_up) {
            mutex_unlock(&w->mutex);
            (void)c->calls.rados_aio_cancel(c->io, w->completion);
            mutex_lock(&w->mutex);
        }
    }
}

int rados__wait_end(struct rados_wait *w,
                    int started,
                    const char *what,
                    const char *object,
                    int *result,
                    uint64_t *version,
                    struct err *err)
{
    struct rados_client *c = w->client;
    int rc = started;
    if (started == 0) {
        mutex_lock(&w->mutex);
        await_end(w);
        mutex_unlock(&w->mutex);
        rc = c->calls.rados_aio_get_return_value(w->completion);
        if (version)
            *version = c->calls.rados_aio_get_version(w->completion);
    }
    c->calls.rados_aio_release(w->completion);
    cond_close(&w->ended);
    mutex_close(&w->mutex);
    if (result)
        *result = rc;
    return rados__error(c, rc, what, object, err);
}

/* --- locks --------------------------------------------------------------- */

struct lock_call {
    struct rados_client *client;
    const char *object;
    const char *name;
    const char *cookie;
    unsigned seconds; /* 0: drop it. */
    int rc;
};

/* LIBRADOS_LOCK_FLAG_MAY_RENEW, which older headers do not have. */
#define MAY_RENEW 1

static void call_lock(void *arg)
{
    struct lock_call *l = arg;
    struct rados_client *c = l->client;
    struct timeval duration = {.tv_sec = (time_t)l->seconds};
    l->rc = l->seconds
                ? c->calls.rados_lock_exclusive(c->io, l->object, l->name,
                                                l->cookie, "quarry", &duration,
                                                MAY_RENEW)
                : c->calls.rados_unlock(c->io, l->object, l->name, l->cookie);
}

struct holders {
    struct rados_client *client;
    const char *object;
    const char *name;
    char *texts; /* Clients, cookies, addresses, each HOLDER_BYTES_MAX. */
    ssize_t count;
};

static void call_holders(void *arg)
{
    struct holders *h = arg;
    char tag[64];
    size_t tag_len = sizeof(tag);
    size_t lens[3] = {HOLDER_BYTES_MAX, HOLDER_BYTES_MAX, HOLDER_BYTES_MAX};
    int exclusive = 0;
    h->count = h->client->calls.rados_list_lockers(
        h->client->io, h->object, h->name, &exclusive, tag, &tag_len, h->texts,
        &lens[0], h->texts + HOLDER_BYTES_MAX, &lens[1],
        h->texts + 2 * HOLDER_BYTES_MAX, &lens[2]);
}

/* ERR_BUSY, with the holder's name. */
static int
say_holder(struct rados_client *c, const struct lock_call *l, struct err *err)
{
    struct holders h = {c, l->object, l->name,
                        mem_zalloc(3, HOLDER_BYTES_MAX + 1), 0};
    bool known;
    int rc;
    offload(call_holders, &h);
    known = h.count > 0;
    rc = err_set(err, ERR_BUSY, "%s/%s: locked by %.100s at %.100s", c->name,
                 l->name, known ? h.texts : "another client",
                 known ? h.texts + 2 * HOLDER_BYTES_MAX : "an unknown place");
    mem_free(h.texts);
    return rc;
}

int rados_take_lock(struct rados_client *c,
                    const char *object,
                    const char *name,
                    const char *cookie,
                    unsigned seconds,
                    struct err *err)
{
    struct lock_call l = {c, object, name, cookie, seconds, 0};
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    atomic_fetch_add(&c->requests, 1);
    offload(call_lock, &l);
    /* EEXIST: this client has it, with another cookie. */
    if (l.rc == -EBUSY || l.rc == -EEXIST)
        return say_holder(c, &l, err);
    return rados__error(c, l.rc, "lock", name, err);
}

int rados_drop_lock(struct rados_client *c,
                    const char *object,
                    const char *name,
                    const char *cookie,
                    struct err *err)
{
    struct lock_call l = {c, object, name, cookie, 0, 0};
    int rc = rados__connect(c, err);
    if (rc)
        return rc;
    atomic_fetch_add(&c->requests, 1);
    offload(call_lock, &l);
    return rados__error(c, l.rc, "unlock", name, err);
}

#else

/* A file of C has at least one declaration. */
struct rados_client;

#endif
