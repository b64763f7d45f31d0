/* Which names of a server a request may call it by.
 *
 * A page of another site may have its own name lead to this machine, and then
 * read what is here with the browser of somebody who may: such requests carry
 * that name. Addresses cannot be made to lead elsewhere.
 *
 * Pure. Threads: any.
 */
#ifndef BASE_HTTP_HOST_H
#define BASE_HTTP_HOST_H

#include <stdbool.h>

/* Is the header @host ("n1:7480", "[::1]") an IP address, localhost, or one of
 * @names (with commas; may be NULL), whatever the port and the case? NULL, as
 * of HTTP/1.0, is. */
bool http_host_is_ours(const char *host, const char *names);

#endif /* BASE_HTTP_HOST_H */
