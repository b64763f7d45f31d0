/* Connections of the HTTP server: how many there are, of whom, since when.
 *
 * One that says half a request and then little costs nobody else his: where the
 * places of its address, or all places, are taken, the oldest connection that
 * waits for its client goes. Clients of this machine are displaced by others of
 * this machine only. A request, from its first byte to the last one of its
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

struct http_guests *http_guests_new(void);
void http_guests_free(struct http_guests *g); /* NULL is allowed. */

/* May one from @from come? Shuts another one down where that makes room. */
bool http_guests_admit(struct http_guests *g, const struct sockaddr *from);
/* It came at @now_s (monotonic), with the socket @fd. Returns what the other
 * calls take. */
void *http_guests_enter(struct http_guests *g,
                        int fd,
                        const struct sockaddr *from,
                        uint64_t now_s);
/* Its request is being answered here: it is not waited for. */
void http_guests_busy(struct http_guests *g, void *guest, bool busy);
/* Its answer is on its way: the time begins again. */
void http_guests_answered(struct http_guests *g, void *guest, uint64_t now_s);
/* It goes; @guest is no more. */
void http_guests_leave(struct http_guests *g, void *guest);
/* Shut those down whose time is over. */
void http_guests_sweep(struct http_guests *g, uint64_t now_s);
size_t http_guests_count(struct http_guests *g);

#endif /* BASE_HTTP_GUESTS_H */
