/* The names by which a request may address the server.
 *
 * Protects against DNS rebinding: a page of another site may make its own name
 * resolve to this machine, and then read these pages with the browser of an
 * authorised user; such requests carry the foreign name. An IP address cannot
 * be rebound.
 *
 * Pure. Threads: any.
 */
#ifndef BASE_HTTP_HTTP_HOST_H
#define BASE_HTTP_HTTP_HOST_H

#include <stdbool.h>

/* True if the header @host ("n1:7480", "[::1]") is an IP address, localhost,
 * or one of @names (separated by commas; may be NULL), ignoring port and
 * case. NULL, as in HTTP/1.0, is accepted. */
bool http_host_is_ours(const char *host, const char *names);

#endif /* BASE_HTTP_HTTP_HOST_H */
