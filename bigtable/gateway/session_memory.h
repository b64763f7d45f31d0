/* Memory of one HTTP/2 session.
 *
 * The session's memory is charged to a budget; above it, allocation fails and
 * the session ends.
 *
 * A session takes and gives back a dozen small pieces for every call, more of
 * them at a time than an allocator for all threads keeps at hand for one. They
 * are kept here, by size, for the next call.
 *
 * Threads: those of its session, which is one.
 */
#ifndef BIGTABLE_GATEWAY_SESSION_MEMORY_H
#define BIGTABLE_GATEWAY_SESSION_MEMORY_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>

struct session_piece;

/* Sizes of pieces are rounded up to this, their head included, */
#define SESSION_MEMORY_STEP 64
/* and kept up to this many steps; larger ones are freed at once. */
#define SESSION_MEMORY_CLASSES 16

struct grpc_budget;

struct session_memory {
    struct grpc_budget *budget; /* Charged first; borrowed, NULL: none. */
    struct session_piece *idle[SESSION_MEMORY_CLASSES + 1]; /* By steps. */
    size_t idle_bytes;
};

/* The allocator to open a session with; @m, zero but for its budget at first,
 * outlives the session. */
nghttp2_mem session_memory_of(struct session_memory *m);

/* Give back what is kept. PRE: the session is deleted. */
void session_memory_close(struct session_memory *m);

#endif /* BIGTABLE_GATEWAY_SESSION_MEMORY_H */
