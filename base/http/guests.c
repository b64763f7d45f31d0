/* The HTTP server's connections, by age. A connection is ended by
 * shutdown(), never by close(): its descriptor belongs to the library's
 * thread, which sees the end of the stream and closes it. */
#include "base/http/guests.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"

struct guest {
    struct guest *next;
    struct guest *prev;
    int fd;
    uint64_t address; /* Hashed. */
    uint64_t since_s; /* When it began to wait for its client; monotonic. */
    bool is_here;     /* From this machine. */
    bool is_busy;
    bool is_ending;
};

struct http_guests {
    struct mutex mutex; /* For the library's thread and the sweep's fiber. */
    struct guest *oldest;
    struct guest *newest;
    size_t count; /* Connections that are not ending. */
};

struct http_guests *http_guests_new(void)
{
    struct http_guests *g = mem_zalloc(1, sizeof(*g));
    mutex_init(&g->mutex);
    return g;
}

void http_guests_free(struct http_guests *g)
{
    if (!g)
        return;
    INVARIANT(!g->oldest); /* INV-1 */
    mutex_close(&g->mutex);
    mem_free(g);
}

/* --- addresses ----------------------------------------------------------- */

static bool is_here(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)
                         ->sin_addr.s_addr) >>
                   24 ==
               127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(
               &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* For IPv6, the network of 64 bits. */
static uint64_t hash_address(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return hash64(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      4, 4);
    if (a->sa_family == AF_INET6)
        return hash64(
            &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 8, 6);
    return 0;
}

/* --- making room --------------------------------------------------------- */

/* INV-2: the socket is open. The library sees the end of the stream. */
static void end_guest(struct http_guests *g, struct guest *k)
{
    PRE(!k->is_ending && g->count > 0);
    k->is_ending = true;
    g->count--;
    (void)shutdown(k->fd, SHUT_RDWR);
}

static size_t count_address(const struct http_guests *g, uint64_t address)
{
    size_t count = 0;
    for (const struct guest *k = g->oldest; k; k = k->next)
        count += !k->is_ending && k->address == address;
    return count;
}

/* End the oldest waiting connection of @address, or of @any address; those
 * of this machine only for another of this machine. */
static bool
make_room(struct http_guests *g, uint64_t address, bool any, bool here)
{
    for (struct guest *k = g->oldest; k; k = k->next) {
        if (k->is_ending || k->is_busy || (!any && k->address != address) ||
            (k->is_here && !here))
            continue;
        end_guest(g, k);
        return true;
    }
    return false;
}

bool http_guests_admit(struct http_guests *g, const struct sockaddr *from)
{
    uint64_t address = hash_address(from);
    bool here = is_here(from);
    bool ok = true;
    mutex_lock(&g->mutex);
    if (count_address(g, address) >= HTTP_ADDRESS_MAX)
        ok = make_room(g, address, false, here);
    if (ok && g->count >= HTTP_CONNECTIONS_MAX)
        ok = make_room(g, address, true, here);
    mutex_unlock(&g->mutex);
    return ok;
}

/* --- entering and leaving ------------------------------------------------ */

void *http_guests_enter(struct http_guests *g,
                        int fd,
                        const struct sockaddr *from,
                        uint64_t now_s)
{
    struct guest *k = mem_zalloc(1, sizeof(*k));
    k->fd = fd;
    k->address = hash_address(from);
    k->is_here = is_here(from);
    k->since_s = now_s;
    mutex_lock(&g->mutex);
    k->prev = g->newest;
    if (g->newest)
        g->newest->next = k;
    else
        g->oldest = k;
    g->newest = k;
    g->count++;
    mutex_unlock(&g->mutex);
    return k;
}

void http_guests_busy(struct http_guests *g, void *guest, bool busy)
{
    struct guest *k = guest;
    mutex_lock(&g->mutex);
    k->is_busy = busy;
    mutex_unlock(&g->mutex);
}

void http_guests_answered(struct http_guests *g, void *guest, uint64_t now_s)
{
    struct guest *k = guest;
    mutex_lock(&g->mutex);
    k->since_s = now_s;
    mutex_unlock(&g->mutex);
}

void http_guests_leave(struct http_guests *g, void *guest)
{
    struct guest *k = guest;
    mutex_lock(&g->mutex);
    if (k->prev)
        k->prev->next = k->next;
    else
        g->oldest = k->next;
    if (k->next)
        k->next->prev = k->prev;
    else
        g->newest = k->prev;
    INVARIANT(k->is_ending || g->count > 0);
    g->count -= !k->is_ending;
    mutex_unlock(&g->mutex);
    mem_free(k);
}

void http_guests_sweep(struct http_guests *g, uint64_t now_s)
{
    mutex_lock(&g->mutex);
    for (struct guest *k = g->oldest; k; k = k->next)
        if (!k->is_ending && !k->is_busy && now_s > k->since_s + HTTP_REQUEST_S)
            end_guest(g, k);
    mutex_unlock(&g->mutex);
}

size_t http_guests_count(struct http_guests *g)
{
    size_t count;
    mutex_lock(&g->mutex);
    count = g->count;
    mutex_unlock(&g->mutex);
    return count;
}
