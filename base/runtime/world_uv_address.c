/* Texts like "host:port" and "unix:/path" to socket addresses and back.
 * Names are resolved on the thread pool, because getaddrinfo() blocks. A
 * Unix path that is too long for sockaddr_un is reached through
 * /proc/self/fd and its directory, so that deep data directories work. */
#define _GNU_SOURCE

#include "base/runtime/world_uv_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/runtime/loop.h"
#include "base/runtime/stream_ops.h"

/* Digits of a port and the NUL, with some to spare. */
#define PORT_BYTES 8

/* Reach a path that is longer than an address may be through a descriptor of
 * its directory, which stays open until address_release(). */
static int world_uv_address_shorten(const char *path,
                                    bool passive,
                                    struct sockaddr_un *un,
                                    struct resolved *out,
                                    struct err *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n;
    if (path[0] == '@' || !slash || slash == path ||
        (size_t)(slash - path) >= sizeof(dir))
        return err_set(err, ERR_INVALID, "unix:%s: the name is too long", path);
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    out->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->dir_fd < 0 && errno == ENOENT && !passive)
        return err_set(err, ERR_UNAVAILABLE, "unix:%s: %s", path,
                       strerror(errno));
    if (out->dir_fd < 0)
        return err_set_errno(err, errno, "unix:%s", path);
    n = snprintf(un->sun_path, sizeof(un->sun_path), "/proc/self/fd/%d%s",
                 out->dir_fd, slash);
    if ((size_t)n < sizeof(un->sun_path))
        return 0;
    address_release(out);
    return err_set(err, ERR_INVALID, "unix:%s: the name is too long", path);
}

static int resolve_unix(const char *path,
                        bool passive,
                        struct resolved *out,
                        struct err *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&out->addr;
    int rc = 0;
    out->family = un->sun_family = AF_UNIX;
    out->len = sizeof(*un);
    if (strlen(path) < sizeof(un->sun_path))
        memcpy(un->sun_path, path, strlen(path) + 1);
    else
        rc = world_uv_address_shorten(path, passive, un, out, err);
    if (path[0] == '@') { /* An abstract name: no NUL ends it. */
        un->sun_path[0] = '\0';
        out->len =
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    }
    return rc;
}

void address_release(struct resolved *a)
{
    if (a->dir_fd >= 0)
        close(a->dir_fd);
    a->dir_fd = -1;
}

struct lookup {
    const char *host;
    const char *port;
    struct addrinfo hints;
    struct addrinfo *found;
    int rc;
};

static void do_lookup(void *arg)
{
    struct lookup *l = arg;
    l->rc = getaddrinfo(l->host, l->port, &l->hints, &l->found);
}

/* Split "host:port" or "[v6]:port" into its two parts. */
static int world_uv_address_split(const char *address,
                                  char *host,
                                  size_t host_bytes,
                                  char *port,
                                  struct err *err)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    const char *from = address;
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        from++;
        len -= 2;
    }
    if (!colon || len == 0 || len >= host_bytes ||
        strlen(colon + 1) >= PORT_BYTES || !colon[1] ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return err_set(err, ERR_INVALID,
                       "address \"%s\": expected host:port or unix:/path",
                       address);
    memcpy(host, from, len);
    host[len] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return 0;
}

int address_resolve(const char *address,
                    bool passive,
                    struct resolved *out,
                    struct err *err)
{
    char host[STREAM_ADDRESS_BYTES];
    char port[PORT_BYTES];
    struct lookup l = {.host = host, .port = port};
    int rc;
    *out = (struct resolved){.dir_fd = -1};
    if (strncmp(address, "unix:", 5) == 0)
        return resolve_unix(address + 5, passive, out, err);
    rc = world_uv_address_split(address, host, sizeof(host), port, err);
    if (rc)
        return rc;
    l.hints.ai_socktype = SOCK_STREAM;
    l.hints.ai_flags =
        AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0);
    do_lookup(&l);
    if (l.rc == EAI_NONAME) {
        l.hints.ai_flags &= ~AI_NUMERICHOST;
        offload(do_lookup, &l);
    }
    if (l.rc)
        return err_set(err, l.rc == EAI_NONAME ? ERR_NOTFOUND : ERR_UNAVAILABLE,
                       "%s: %s", address, gai_strerror(l.rc));
    memcpy(&out->addr, l.found->ai_addr, l.found->ai_addrlen);
    out->len = l.found->ai_addrlen;
    out->family = l.found->ai_family;
    freeaddrinfo(l.found);
    return 0;
}

void address_print(const struct sockaddr_storage *addr, char *out, size_t bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (addr->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, bytes, "%s:%u", host, ntohs(in->sin_port));
    } else if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        snprintf(out, bytes, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const char *path = ((const struct sockaddr_un *)addr)->sun_path;
        bool is_abstract = !path[0] && path[1];
        snprintf(out, bytes, "unix:%s%.*s", is_abstract ? "@" : "",
                 STREAM_ADDRESS_BYTES - 8, path + is_abstract);
    }
}

bool address_is_local(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
    if (addr->ss_family == AF_INET)
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (addr->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
                in6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
    return true;
}
