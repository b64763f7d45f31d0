/* Connections of the HTTP server: their number, addresses and ages.
 *
 * A client that sends half a request and stalls cannot block others: when all
 * places, or those of an address, are taken, the oldest connection that waits
 * for its client is closed. Clients of this machine are displaced only by
 * others of this machine. A request, from its first byte to the last one of its
 * answer, has HTTP_REQUEST_S.
 *
 * Threads: any; a mutex guards it.
 *
 * Invariants
 *     INV-1. A guest is in the list from http_guests_enter() to
 *            http_guests_leave(), the oldest first.
 *     INV-2. Sockets in the list are open: they are shut down here, and closed
 *            only after http_guests_leave().
 */
#ifndef BASE_HTTP_GUESTS_H
#define BASE_HTTP_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_guests;
struct sockaddr;

/* Connections at once, and of one address. */
#define HTTP_CONNECTIONS_MAX 128
#define HTTP_ADDRESS_MAX     32
/* From the first byte of a request to the end of its answer, and without any.
 */
#define HTTP_REQUEST_S 15

/* Owned. */
struct http_guests *http_guests_new(void);
void http_guests_free(struct http_guests *g); /* NULL is allowed. */

/* True if a connection from @from is admitted; closes another one if that
 * makes room. */
bool http_guests_admit(struct http_guests *g, const struct sockaddr *from);
/* Add a connection that came at @now_s (monotonic) with the socket @fd.
 * Returns the guest, for the other calls. */
void *http_guests_enter(struct http_guests *g,
                        int fd,
                        const struct sockaddr *from,
                        uint64_t now_s);
/* While @busy the server works on its request, and it does not time out. */
void http_guests_busy(struct http_guests *g, void *guest, bool busy);
/* Its answer is being sent: the time starts again. */
void http_guests_answered(struct http_guests *g, void *guest, uint64_t now_s);
/* Remove and free @guest. */
void http_guests_leave(struct http_guests *g, void *guest);
/* Close connections whose time is over. */
void http_guests_sweep(struct http_guests *g, uint64_t now_s);
/* Connections now. */
size_t http_guests_count(struct http_guests *g);

#endif /* BASE_HTTP_GUESTS_H */
