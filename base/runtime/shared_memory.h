/* Memory that two processes of one machine share: its maker writes it, and the
 * other, which receives it through a Unix socket, reads it.
 *
 * A hostile maker cannot crash the reader: the size is sealed. The bytes may
 * change at any moment, so the reader copies them before it checks them. In the
 * real world only.
 *
 * Threads: any; the caller orders access.
 */
#ifndef BASE_RUNTIME_SHARED_MEMORY_H
#define BASE_RUNTIME_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

struct shared_memory;
struct stream;

/* True if @s can transfer such memory. */
bool stream_shares_memory(const struct stream *s);

/* @bytes of zeros, to read and write. Owned. ERR_EXHAUSTED. */
MUST_CHECK int
shared_memory_new(size_t bytes, struct shared_memory **out, struct err *err);
/* Pass @m to the process at the other end of @s, which receives it with
 * shared_memory_receive() at the same place of the stream. PRE: it was made
 * here and not sent before. Parks. Errors: those of stream_send_file(). */
MUST_CHECK int
shared_memory_send(struct shared_memory *m, struct stream *s, struct err *err);
/* Receive memory of @bytes, to read. *@out is owned. Parks. Errors:
 * ERR_CORRUPT (something else came), ERR_EXHAUSTED (it came and could not be
 * mapped; the stream remains usable), those of stream_receive_file(). */
MUST_CHECK int shared_memory_receive(struct stream *s,
                                     size_t bytes,
                                     struct shared_memory **out,
                                     struct err *err);
void shared_memory_free(struct shared_memory *m); /* NULL is allowed. */

/* The memory, to write or to read. Borrowed. PRE of the first: it was made
 * here. */
char *shared_memory_own(struct shared_memory *m);
const char *shared_memory_bytes(const struct shared_memory *m);

#endif /* BASE_RUNTIME_SHARED_MEMORY_H */
