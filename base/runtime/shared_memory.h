/* Memory that two processes of one machine see: one made it and writes it, the
 * other has it passed over a Unix socket and reads it.
 *
 * The reader cannot be hurt by the maker: the size is sealed, and what is read
 * is bytes that may change at any moment, to be copied before they are looked
 * at. In the real world only.
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

/* Can such memory be passed over @s? */
bool stream_shares_memory(const struct stream *s);

/* @bytes of zeros, to read and write. Owned. ERR_EXHAUSTED. */
MUST_CHECK int
shared_memory_new(size_t bytes, struct shared_memory **out, struct err *err);
/* Pass @m to the process at the other end of @s, which takes it with
 * shared_memory_receive() at the same place of the stream. Once: PRE: it was
 * made here and not passed. Parks. Errors: those of stream_send_file(). */
MUST_CHECK int
shared_memory_send(struct shared_memory *m, struct stream *s, struct err *err);
/* Memory of @bytes, to read. *@out is owned. Parks. Errors: ERR_CORRUPT (what
 * came is something else), ERR_EXHAUSTED (it came, and could not be taken: the
 * stream goes on behind it), those of stream_receive_file(). */
MUST_CHECK int shared_memory_receive(struct stream *s,
                                     size_t bytes,
                                     struct shared_memory **out,
                                     struct err *err);
void shared_memory_free(struct shared_memory *m); /* NULL is allowed. */

/* Borrowed. PRE of the first: it was made here. */
char *shared_memory_own(struct shared_memory *m);
const char *shared_memory_bytes(const struct shared_memory *m);

#endif /* BASE_RUNTIME_SHARED_MEMORY_H */
