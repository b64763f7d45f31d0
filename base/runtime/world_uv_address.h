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
};

/* @passive: to listen on. Parks for names; literals need nobody's answer.
 * Errors: ERR_INVALID (the form), ERR_NOTFOUND (no such host), ERR_UNAVAILABLE.
 */
MUST_CHECK int address_resolve(const char *address,
                               bool passive,
                               struct resolved *out,
                               struct err *err);

/* "1.2.3.4:80", "[::1]:80" or "unix:/path", cut to @bytes. */
void address_print(const struct sockaddr_storage *addr,
                   char *out,
                   size_t bytes);

/* Loopback or a Unix socket. */
bool address_is_local(const struct sockaddr_storage *addr);

#endif /* BASE_RUNTIME_WORLD_UV_ADDRESS_H */
