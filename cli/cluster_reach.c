/* Tells whether anybody listens at the addresses of a cluster, see
 * cluster_reach.h. It connects to all of them at once and stops at the first
 * that accepts: a dead one answers only by a timeout.
 */
#define _GNU_SOURCE

#include "cli/cluster_reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/interrupt.h"
#include "cli/remote_call.h"

/* Between two tries. */
#define PAUSE_MS 200

struct knock {
    const char *address;   /* Borrowed. */
    struct addrinfo *name; /* Owned; NULL: it could not be resolved. */
    const char *why;       /* It failed the last time; NULL: no answer yet. */
    int fd;                /* On its way; -1: none. */
};

static void cluster_reach_resolve(struct knock *k)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    const char *colon = strrchr(k->address, ':');
    struct slice host =
        slice_sub(slice_str(k->address), 0, (size_t)(colon - k->address));
    char *name;
    int rc;
    if (host.len > 1 && host.data[0] == '[') /* [::1]:80 */
        host = slice_sub(host, 1, host.len - 1);
    name = mem_strndup(host.data, host.len);
    rc = getaddrinfo(name, colon + 1, &hints, &k->name);
    if (rc) {
        k->name = NULL;
        k->why = gai_strerror(rc);
    }
    mem_free(name);
}

/* Begin to connect. True: it is done. */
static bool cluster_reach_begin(struct knock *k)
{
    const struct addrinfo *a = k->name;
    if (k->fd >= 0 || !a)
        return false;
    k->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (k->fd >= 0 && connect(k->fd, a->ai_addr, a->ai_addrlen) == 0)
        return true;
    if (k->fd >= 0 && errno == EINPROGRESS)
        return false;
    k->why = strerrordesc_np(errno);
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    return false;
}

/* What has become of @k? True: somebody took it. */
static bool cluster_reach_look(struct knock *k)
{
    struct pollfd p = {.fd = k->fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int errnum = 0;
    if (k->fd < 0 || poll(&p, 1, 0) <= 0)
        return false;
    if (getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0 &&
        errnum == 0)
        return true;
    k->why = strerrordesc_np(errnum);
    close(k->fd);
    k->fd = -1;
    return false;
}

static bool knock_at_all(struct knock *all, size_t count)
{
    struct pollfd p[REMOTE_ADDRESSES_MAX];
    size_t pending = 0;
    for (size_t i = 0; i < count; i++) {
        if (cluster_reach_begin(&all[i]))
            return true;
        if (all[i].fd >= 0)
            p[pending++] = (struct pollfd){.fd = all[i].fd, .events = POLLOUT};
    }
    (void)poll(p, (nfds_t)pending, PAUSE_MS);
    for (size_t i = 0; i < count; i++)
        if (cluster_reach_look(&all[i]))
            return true;
    return false;
}

static bool can_succeed(const struct knock *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].name)
            return true;
    return false;
}

static int
nobody_answers(const struct knock *all, size_t count, struct err *err)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        const char *why = all[i].why ? all[i].why : "no answer";
        bool same = i + 1 < count && all[i + 1].why == all[i].why;
        buf_printf(&b, "%s%s", i ? ", " : "", all[i].address);
        if (!same)
            buf_printf(&b, " (%s)", why);
    }
    err_set(err, ERR_UNAVAILABLE, "nobody answers at %s", buf_cstr(&b));
    err_hint(err, "do its servers run? see: quarry cluster status, quarry "
                  "cluster start; $QUARRY_TIMEOUT says how long to try");
    buf_close(&b);
    return ERR_UNAVAILABLE;
}

int cluster_reach(struct world *world,
                  const char *const *addresses,
                  size_t count,
                  uint64_t timeout_us,
                  struct err *err)
{
    struct knock all[REMOTE_ADDRESSES_MAX];
    uint64_t begin_ns = world_mono_ns(world);
    bool reached = false;
    PRE(count <= REMOTE_ADDRESSES_MAX);
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct knock){.address = addresses[i], .fd = -1};
        cluster_reach_resolve(&all[i]);
    }
    while (can_succeed(all, count) && !interrupted()) {
        uint64_t round_ns = world_mono_ns(world);
        reached = knock_at_all(all, count);
        if (reached || (world_mono_ns(world) - begin_ns) / 1000 >= timeout_us)
            break;
        /* A refusal comes at once. */
        if (world_mono_ns(world) - round_ns < UINT64_C(1000000) * PAUSE_MS)
            (void)poll(NULL, 0, PAUSE_MS);
    }
    for (size_t i = 0; i < count; i++) {
        if (all[i].fd >= 0)
            close(all[i].fd);
        if (all[i].name)
            freeaddrinfo(all[i].name);
    }
    if (reached)
        return 0;
    return interrupted() ? err_set(err, ERR_CANCELLED, "interrupted")
                         : nobody_answers(all, count, err);
}
