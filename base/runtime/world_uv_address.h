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
    int dir_fd; /* What @addr leads through; -1: nothing. Owned. */
};

/* @passive: to listen on. Parks for names; literals need nobody's answer. *@out
 * may be used until address_release().
 * Errors: ERR_INVALID (the form), ERR_NOTFOUND (no such host), ERR_UNAVAILABLE.
 */
MUST_CHECK int address_resolve(const char *address,
                               bool passive,
                               struct resolved *out,
                               struct err *err);

/* Also of one that could not be resolved. */
void address_release(struct resolved *a);

/* "1.2.3.4:80", "[::1]:80" or "unix:/path", cut to @bytes. */
void address_print(const struct sockaddr_storage *addr,
                   char *out,
                   size_t bytes);

/* Loopback or a Unix socket. */
bool address_is_local(const struct sockaddr_storage *addr);

#endif /* BASE_RUNTIME_WORLD_UV_ADDRESS_H */
