/* Texts like "host:port" and "unix:/path" to socket addresses and back. Private
 * to world_uv*.c. */
#ifndef BASE_RUNTIME_WORLD_UV_ADDRESS_H
#define BASE_RUNTIME_WORLD_UV_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/core/err.h"

struct resolved {
    struct sockaddr_storage addr;
    socklen_t len;
    int family; /* AF_INET, AF_INET6 or AF_UNIX. */
    int dir_fd; /* The directory that @addr refers to; -1: none. Owned. */
};

/* Resolve @address; @passive: to listen on it. Parks for names, not for
 * literals. *@out may be used until address_release(). Errors: ERR_INVALID (the
 * form), ERR_NOTFOUND (no such host), ERR_UNAVAILABLE.
 */
MUST_CHECK int address_resolve(const char *address,
                               bool passive,
                               struct resolved *out,
                               struct err *err);

/* Close what address_resolve() opened; also after it failed. */
void address_release(struct resolved *a);

/* "1.2.3.4:80", "[::1]:80" or "unix:/path", cut to @bytes. */
void address_print(const struct sockaddr_storage *addr,
                   char *out,
                   size_t bytes);

/* True for loopback and Unix sockets. */
bool address_is_local(const struct sockaddr_storage *addr);

#endif /* BASE_RUNTIME_WORLD_UV_ADDRESS_H */
