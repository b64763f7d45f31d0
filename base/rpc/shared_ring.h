/* Attachments between processes of one machine: through memory that both see,
 * where a socket would copy them twice, page by page. Private to base/rpc.
 *
 * Each side has a segment of its own, which it writes and the other reads:
 *
 *     segment = taken (8 bytes, in the first page) bytes (SHARED_RING_BYTES)
 *
 * A sender puts an attachment into its ring and names the place in the frame,
 * which goes over the stream as ever; so attachments are taken in the order in
 * which they were put. Whoever has taken one notes in its own segment up to
 * where it has: the sender may use that room again. Places are counts of bytes
 * since the beginning; a sender may leave some out.
 *
 * Nothing the other side writes is believed: a place is checked, bytes are
 * copied before they are looked at, and a count that cannot be makes the ring
 * look full, which it then is for good. An attachment for which there is no
 * room travels behind its frame. So do all where a side could not take the
 * other's segment: it makes the other's ring look full, and uses none itself.
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
/* Smaller attachments are not worth it. */
#define SHARED_ATTACHMENT_BYTES_MIN ((size_t)8 << 10)

/* Exchange the segments of a connection whose sides have both agreed over @s:
 * the client passes its own first. @own is taken over. *@out is owned; NULL,
 * and why in @refused, if the other's segment could not be taken. Parks.
 * Errors: those of the stream; ERR_CORRUPT. */
MUST_CHECK int shared_ring_open(struct stream *s,
                                bool is_client,
                                struct shared_memory *own,
                                struct shared_ring **out,
                                struct err *refused,
                                struct err *err);
/* Over two segments (owned): for tests. */
struct shared_ring *shared_ring_over(struct shared_memory *own,
                                     struct shared_memory *others);
void shared_ring_free(struct shared_ring *r); /* NULL is allowed. */
/* What both segments take. */
size_t shared_ring_segment_bytes(void);

/* Room for @len bytes, at *@place; NULL: there is none now. They stay until the
 * other side has taken them. */
char *shared_ring_put(struct shared_ring *r, size_t len, uint64_t *place);

/* Where the other side has put @len bytes, to be copied at once. ERR_CORRUPT:
 * there is no such place. */
MUST_CHECK int shared_ring_find(const struct shared_ring *r,
                                uint64_t place,
                                size_t len,
                                const char **out,
                                struct err *err);
/* They, and all before them, are not needed any more. */
void shared_ring_taken(struct shared_ring *r, uint64_t place, size_t len);

#endif /* BASE_RPC_SHARED_RING_H */
