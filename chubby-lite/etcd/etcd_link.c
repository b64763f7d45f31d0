/* Connections to the servers of etcd, one after the other, and calls over them.
 *
 * All calls say that they need a leader ("hasleader"): a server that has lost
 * the others then refuses them, and ends streams, and does not keep silent. A
 * server that is stopped, or cut off, is noticed by the time of a try; every
 * call over its connection ends then, as the connection is given up.
 *
 * A password is given once, as etcd takes long to check one, and the token that
 * it gives goes with each call, to any server. When a token is refused, because
 * it has run out, the next connection asks for another.
 */
#include "chubby-lite/etcd/etcd_link.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/grpc/grpc_channel.h"
#include "base/runtime/fiber.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"
#include "chubby-lite/etcd/etcd_message.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/wait_queue.h"

/* Of one answer: a list of tens of thousands of names. */
#define ANSWER_BYTES_MAX ((size_t)32 << 20)
/* Between connections that did not help, at random up to this; it doubles. */
#define PAUSE_NS_MIN UINT64_C(20000000)
#define PAUSE_NS_MAX UINT64_C(640000000)
/* For the check of a password, which etcd makes slow on purpose. */
#define AUTHENTICATE_NS UINT64_C(5000000000)

struct etcd_link {
    struct world *world;
    struct etcd_link_options opts;
    char *servers; /* "host:port,…", as it was given, */
    char **at;     /* and each of them. */
    size_t count;
    size_t next; /* To be tried. */
    struct tls_context *tls;
    char *user; /* NULL: no credentials. */
    char *password;
    char *token; /* NULL: none is needed, or was got yet. */
    struct rand_gen random;
    struct grpc_channel *channel; /* NULL: none. */
    bool connecting;              /* A fiber is at it. */
    bool connected;               /* Once, at least. */
    unsigned failures;            /* Since a call was answered. */
    struct wait_queue changed;
};

/* --- errors -------------------------------------------------------------- */

static int etcd_link_denied(const struct channel_status *status,
                            struct err *err)
{
    err_set(err, ERR_DENIED, "etcd: %s", status->text);
    err_hint(err, "see auth in docs/lock-services.md");
    return ERR_DENIED;
}

/* Codes that mean the same for every text. */
static int plain_code(int code)
{
    switch (code) {
    case GRPC_STATUS_NOT_FOUND: return ERR_NOTFOUND;
    case GRPC_STATUS_RESOURCE_EXHAUSTED: return ERR_EXHAUSTED;
    case GRPC_STATUS_INVALID_ARGUMENT: return ERR_INVALID;
    case GRPC_STATUS_CANCELLED:
    case GRPC_STATUS_DEADLINE_EXCEEDED:
    case GRPC_STATUS_UNAUTHENTICATED:
    case GRPC_STATUS_UNAVAILABLE: return ERR_UNAVAILABLE;
    default: return ERR_IO;
    }
}

static bool etcd_link_says(const struct channel_status *status,
                           const char *what)
{
    return strstr(status->text, what) != NULL;
}

/* The right to ask is known by texts alone. */
static bool is_denial(const struct channel_status *status)
{
    return status->code == GRPC_STATUS_PERMISSION_DENIED ||
           (status->code == GRPC_STATUS_INVALID_ARGUMENT &&
            (etcd_link_says(status, "user name is empty") ||
             etcd_link_says(status, "authentication failed")));
}

static void forget_token(struct etcd_link *l)
{
    mem_free(l->token);
    l->token = NULL;
}

int etcd_link_refused(struct etcd_link *l,
                      struct grpc_channel *c,
                      const struct channel_status *status,
                      struct err *err)
{
    int rc = plain_code(status->code);

    PRE(status->code != GRPC_STATUS_OK);
    if (is_denial(status))
        return etcd_link_denied(status, err);
    if (etcd_link_says(status, "revision of auth store is old") ||
        etcd_link_says(status, "too many requests"))
        rc = ERR_UNAVAILABLE;
    if (status->code == GRPC_STATUS_UNAUTHENTICATED ||
        etcd_link_says(status, "revision of auth store is old"))
        forget_token(l);
    if (rc == ERR_UNAVAILABLE)
        etcd_link_fail(l, c);
    err_set(err, rc, "etcd: %s", status->text);
    if (etcd_link_says(status, "database space exceeded"))
        err_hint(err, "compact and defragment etcd, then etcdctl alarm disarm");
    return rc;
}

/* --- connecting ---------------------------------------------------------- */

void etcd_link_fail(struct etcd_link *l, struct grpc_channel *c)
{
    if (l->channel != c)
        return;
    l->failures++;
    l->next = (l->next + 1) % l->count;
    l->channel = NULL;
    grpc_channel_break(c);
    grpc_channel_unref(c);
    wait_queue_wake(&l->changed);
}

/* The fiber's deadline becomes that of a try, if its own is not earlier.
 * Returns its own. */
static uint64_t begin_try(const struct etcd_link *l, uint64_t ns)
{
    uint64_t until = world_mono_ns(l->world) + ns;
    uint64_t own = fiber_deadline();

    return fiber_set_deadline(own ? MIN_OF(own, until) : until);
}

/* The end of a try: its own time has run out, or the fiber's. */
static int
end_try(const struct etcd_link *l, int rc, uint64_t own, struct err *err)
{
    (void)fiber_set_deadline(own);
    if (rc != ERR_DEADLINE || (own && world_mono_ns(l->world) >= own))
        return rc;
    return err_set(err, ERR_UNAVAILABLE, "etcd at %s does not answer",
                   l->at[l->next]);
}

static size_t put_headers(const struct etcd_link *l,
                          struct grpc_header headers[2])
{
    headers[0] = (struct grpc_header){"hasleader", "true"};
    headers[1] = (struct grpc_header){"token", l->token};
    return l->token ? 2 : 1;
}

/* Give the password for a token, if etcd wants one. */
static int etcd_link_authenticate(struct etcd_link *l,
                                  struct grpc_channel *c,
                                  struct err *err)
{
    struct channel_status status = {.code = GRPC_STATUS_OK};
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct slice token;
    int rc;

    etcd_put_authenticate(slice_str(l->user), slice_str(l->password), &request);
    rc = grpc_channel_call(c, "/etcdserverpb.Auth/Authenticate", NULL, 0,
                           buf_slice(&request), &reply, &status, err);
    memset(request.data, 0, request.len);
    buf_close(&request);
    if (!rc && status.code == GRPC_STATUS_FAILED_PRECONDITION) {
        buf_close(&reply); /* Its rights are not switched on. */
        return 0;
    }
    if (!rc && status.code != GRPC_STATUS_OK)
        rc = is_denial(&status)
                 ? etcd_link_denied(&status, err)
                 : err_set(err, ERR_UNAVAILABLE, "etcd: %s", status.text);
    if (!rc)
        rc = etcd_get_token(buf_slice(&reply), &token, err);
    if (!rc)
        l->token = mem_strndup(token.data, token.len);
    buf_close(&reply);
    return rc;
}

/* The host of "host:port" or "[v6]:port". */
static char *host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    size_t len = (size_t)(colon - address);

    if (address[0] == '[' && len > 2)
        return mem_strndup(address + 1, len - 2);
    return mem_strndup(address, len);
}

static int
connect_one(struct etcd_link *l, struct grpc_channel **out, struct err *err)
{
    char *host = host_of(l->at[l->next]);
    const struct grpc_channel_options o = {
        .tls = l->tls, .host = host, .message_bytes_max = ANSWER_BYTES_MAX};
    uint64_t own = begin_try(l, l->opts.try_ns);
    int rc = grpc_channel_open(l->at[l->next], &o, out, err);

    rc = end_try(l, rc, own, err);
    if (!rc && l->user && !l->token) {
        own = begin_try(l, AUTHENTICATE_NS);
        rc = end_try(l, etcd_link_authenticate(l, *out, err), own, err);
        if (rc) {
            grpc_channel_unref(*out);
            *out = NULL;
        }
    }
    mem_free(host);
    return rc;
}

/* Wait at random, longer after each failure. */
static int link_pause(struct etcd_link *l, struct err *err)
{
    uint64_t most;

    if (l->failures < l->count)
        return 0; /* Others are to be tried first. */
    most = MIN_OF(PAUSE_NS_MIN << MIN_OF(l->failures - l->count, 5U),
                  PAUSE_NS_MAX);
    for (uint64_t until =
             world_mono_ns(l->world) + rand_below(&l->random, most);
         world_mono_ns(l->world) < until;) {
        int rc = wait_queue_wait(&l->changed, until, NULL);
        if (rc == ERR_CANCELLED || fiber_check(NULL))
            return fiber_check(err);
    }
    return 0;
}

/* PRE: `connecting` is this fiber's. One server after the other. */
static int connect_any(struct etcd_link *l, struct err *err)
{
    struct grpc_channel *c = NULL;
    struct err e;
    int rc = link_pause(l, err);

    PRE(l->connecting && !l->channel);
    if (rc)
        return rc;
    for (size_t i = 0; i < l->count; i++) {
        err_init(&e);
        rc = connect_one(l, &c, &e);
        if (rc == 0 || rc == ERR_DEADLINE || rc == ERR_CANCELLED)
            break;
        l->failures++;
        l->next = (l->next + 1) % l->count;
    }
    if (rc) {
        err_copy(err, &e);
        if (rc == ERR_NOTFOUND || rc == ERR_CLOSED || rc == ERR_IO)
            rc = err_set(err, ERR_UNAVAILABLE, "%s", e.text);
        return rc;
    }
    l->channel = c;
    if (l->connected && l->opts.on_moved)
        l->opts.on_moved(l->opts.ctx);
    l->connected = true;
    return 0;
}

/* The connection, which is made if there is none. *@out is one reference. */
static int
link_channel(struct etcd_link *l, struct grpc_channel **out, struct err *err)
{
    int rc = 0;

    if (l->channel && !grpc_channel_is_open(l->channel))
        etcd_link_fail(l, l->channel);
    while (!l->channel && !rc) {
        if (l->connecting) {
            rc = wait_queue_wait(&l->changed, 0, err);
            continue;
        }
        l->connecting = true;
        rc = connect_any(l, err);
        l->connecting = false;
        wait_queue_wake(&l->changed);
    }
    if (rc == 0)
        *out = grpc_channel_ref(l->channel);
    return rc;
}

/* --- calls --------------------------------------------------------------- */

/* The outcome of a call over @c. */
static int settle_call(struct etcd_link *l,
                       struct grpc_channel *c,
                       int rc,
                       const struct channel_status *status,
                       struct err *err)
{
    if (rc == ERR_UNAVAILABLE || rc == ERR_CORRUPT)
        etcd_link_fail(l, c);
    if (rc)
        return rc;
    if (status->code != GRPC_STATUS_OK)
        return etcd_link_refused(l, c, status, err);
    l->failures = 0;
    return 0;
}

int etcd_link_call(struct etcd_link *l,
                   const char *path,
                   struct slice message,
                   struct buf *reply,
                   struct err *err)
{
    struct channel_status status = {.code = GRPC_STATUS_OK};
    struct grpc_header headers[2];
    struct grpc_channel *c = NULL;
    uint64_t own;
    int rc = link_channel(l, &c, err);

    buf_clear(reply);
    if (rc)
        return rc;
    own = begin_try(l, l->opts.try_ns);
    rc = grpc_channel_call(c, path, headers, put_headers(l, headers), message,
                           reply, &status, err);
    rc = end_try(l, rc, own, err);
    rc = settle_call(l, c, rc, &status, err);
    grpc_channel_unref(c);
    return rc;
}

int etcd_link_stream(struct etcd_link *l,
                     const char *path,
                     struct channel_stream **out,
                     struct grpc_channel **channel,
                     struct err *err)
{
    struct grpc_header headers[2];
    int rc = link_channel(l, channel, err);

    if (rc)
        return rc;
    rc = channel_stream_open(*channel, path, headers, put_headers(l, headers),
                             out, err);
    if (rc) {
        etcd_link_fail(l, *channel);
        grpc_channel_unref(*channel);
        *channel = NULL;
    }
    return rc;
}

/* --- beginning and end --------------------------------------------------- */

static void take_addresses(struct etcd_link *l)
{
    struct slice rest = slice_str(l->servers);

    while (rest.len > 0) {
        size_t end = slice_find_byte(rest, ',');
        l->at = mem_realloc(l->at, (l->count + 1) * sizeof(char *));
        l->at[l->count++] = mem_strndup(rest.data, end);
        rest = slice_sub(rest, end + 1, rest.len);
    }
    PRE(l->count > 0);
    l->next = rand_below(&l->random, l->count);
}

/* "USER:PASSWORD"; nothing: there are no credentials. */
static int take_credentials(struct etcd_link *l,
                            const struct lock_service *service,
                            struct err *err)
{
    struct buf auth = BUF_INIT;
    int rc = lock_service_read_auth(l->world, service, &auth, err);
    size_t colon = slice_find_byte(buf_slice(&auth), ':');

    if (!rc && auth.len > 0) {
        l->user = mem_strndup(auth.data, colon);
        l->password = mem_strndup(auth.data + colon + 1, auth.len - colon - 1);
        memset(auth.data, 0, auth.len);
    }
    buf_close(&auth);
    return rc;
}

int etcd_link_open(struct world *w,
                   const struct lock_service *service,
                   const struct etcd_link_options *opts,
                   struct etcd_link **out,
                   struct err *err)
{
    struct etcd_link *l = mem_zalloc(1, sizeof(*l));
    int rc;

    l->world = w;
    l->opts = *opts;
    l->servers = mem_strdup(service->servers);
    rand_init(&l->random, world_random(w));
    LIST_INIT(&l->changed);
    take_addresses(l);
    rc = take_credentials(l, service, err);
    if (!rc)
        rc = lock_service_read_tls(w, service, &l->tls, err);
    if (rc)
        etcd_link_close(l);
    *out = rc ? NULL : l;
    return rc;
}

void etcd_link_close(struct etcd_link *l)
{
    if (!l)
        return;
    PRE(!l->connecting);
    if (l->channel)
        grpc_channel_break(l->channel);
    grpc_channel_unref(l->channel);
    tls_context_free(l->tls);
    for (size_t i = 0; i < l->count; i++)
        mem_free(l->at[i]);
    mem_free(l->at);
    mem_free(l->servers);
    mem_free(l->user);
    if (l->password)
        memset(l->password, 0, strlen(l->password));
    mem_free(l->password);
    mem_free(l->token);
    mem_free(l);
}

const char *etcd_link_servers(const struct etcd_link *l)
{
    return l->servers;
}
