/* Attachments between processes of one machine: through shared memory, where a
 * socket would copy them twice, page by page. Private to base/rpc.
 *
 * Each side has a segment of its own, which it writes and the other reads:
 *
 *     segment = taken (8 bytes, in the first page) bytes (SHARED_RING_BYTES)
 *
 * A sender copies an attachment into its ring and names the place in the frame,
 * which still goes over the stream; so attachments are taken in the order in
 * which they were put. The receiver writes to its own segment up to where it
 * has taken them: the sender may reuse that room. Places are counts of bytes
 * since the beginning; a sender may skip some.
 *
 * Nothing the other side writes is trusted: a place is checked, bytes are
 * copied before they are parsed, and an impossible count makes the ring look
 * full for good. An attachment for which there is no room travels with its
 * frame. So do all if a side could not map the other's segment: it makes the
 * other's ring look full, and uses none itself.
 *
 * One loop.
 */
#ifndef BASE_RPC_SHARED_RING_H
#define BASE_RPC_SHARED_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

struct shared_memory;
struct shared_ring;
struct stream;

#define SHARED_RING_BYTES ((size_t)2 << 20)
/* Smaller attachments travel with their frames. */
#define SHARED_ATTACHMENT_BYTES_MIN ((size_t)8 << 10)

/* Exchange the segments of a connection whose sides have both agreed over @s:
 * the client passes its own first. @own becomes the ring's. *@out is owned;
 * NULL, with the reason in @refused, if the other's segment could not be
 * mapped. Parks. Errors: those of the stream; ERR_CORRUPT. */
MUST_CHECK int shared_ring_open(struct stream *s,
                                bool is_client,
                                struct shared_memory *own,
                                struct shared_ring **out,
                                struct err *refused,
                                struct err *err);
/* A ring over two segments (owned), for tests. */
struct shared_ring *shared_ring_over(struct shared_memory *own,
                                     struct shared_memory *others);
void shared_ring_free(struct shared_ring *r); /* NULL is allowed. */
/* The size of a segment. */
size_t shared_ring_segment_bytes(void);

/* Room for @len bytes, at *@place; NULL: there is none now. They stay until
 * the other side has taken them. */
char *shared_ring_put(struct shared_ring *r, size_t len, uint64_t *place);

/* Find the @len bytes that the other side put at @place; copy them at once.
 * ERR_CORRUPT: there is no such place. */
MUST_CHECK int shared_ring_find(const struct shared_ring *r,
                                uint64_t place,
                                size_t len,
                                const char **out,
                                struct err *err);
/* Release these bytes and all before them to the sender. */
void shared_ring_taken(struct shared_ring *r, uint64_t place, size_t len);

#endif /* BASE_RPC_SHARED_RING_H */
