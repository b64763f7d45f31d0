/* One direction of a simulated connection: bytes in flight, and the network's
 * faults. Private to base/sim.
 *
 * A connection is two pipes and two ends. A pipe lives while one of its ends
 * does; an end is NULL once it is freed.
 *
 * Bytes that cannot get through (the link is cut, the reader's machine has no
 * power) are held, as TCP retransmits them, and sent again when the link is
 * free. An end whose bytes stay unacknowledged for SIM_NET_GIVE_UP_US gives up:
 * it is reset.
 *
 * Invariants
 *     INV-1. Chunks arrive in the order of their writes (last_at_ns).
 *     INV-2. bytes is the number of unread bytes in all chunks.
 */
#ifndef BASE_SIM_SIM_PIPE_H
#define BASE_SIM_SIM_PIPE_H

#include "base/runtime/stream_ops.h"
#include "base/sim/world_sim.h"

/* Bytes one direction holds before the writer waits. */
#define SIM_PIPE_BYTES_MAX ((size_t)256 << 10)

/* No such time. */
#define SIM_NEVER UINT64_MAX

/* Bytes that arrive together. */
struct sim_chunk {
    struct sim_chunk *next;
    uint64_t at_ns; /* True time of its arrival; SIM_NEVER: it is held. */
    bool end;       /* No bytes: the end of the stream. */
    size_t read;    /* Already read. */
    size_t len;
    char data[];
};

struct sim_pipe {
    struct sim_pipe *next; /* In the cluster's list. */
    struct sim_pipe *prev;
    struct sim_world *from;
    struct sim_world *to;
    struct sim_stream *writer;
    struct sim_stream *reader;
    struct sim_chunk *first;
    struct sim_chunk **last;
    size_t bytes;        /* Not yet read. */
    uint64_t last_at_ns; /* Chunks arrive in order. */
    uint64_t busy_ns;    /* The line is busy sending until then. */
    uint64_t deaf_ns;    /* From then on arriving bytes are answered by a
                            reset; SIM_NEVER: they are read. */
    bool black_hole;     /* The reader's machine has no power. */
};

struct sim_stream {
    struct stream base;
    struct sim_pipe *in;
    struct sim_pipe *out;
    struct fiber *reading; /* Parked for bytes, */
    struct fiber *writing; /* or for room. */
    uint64_t reset_ns;     /* From then on every call fails. */
    uint64_t give_up_ns;   /* When it resets itself, unless acknowledged. */
    bool gone;             /* Its machine crashed: nothing is sent. */
};

/* A pipe without ends, in the cluster's list. */
struct sim_pipe *sim__pipe_new(struct sim_cluster *c,
                               struct sim_world *from,
                               struct sim_world *to);
/* Free the pipe if both ends are gone. */
void sim__pipe_release(struct sim_cluster *c, struct sim_pipe *p);
/* Drop the first chunk, which was read. */
void sim__pipe_pop(struct sim_pipe *p);

/* Send @len bytes, or the end when @end. The link may break the connection. */
void sim__pipe_send(struct sim_pipe *p, const char *data, size_t len, bool end);

/* The reader closes: bytes that still arrive are answered by a reset. */
void sim__pipe_deafen(struct sim_pipe *p);

/* Make every call on @s fail from true time @at_ns on. NULL is allowed. */
void sim__stream_reset(struct sim_stream *s, uint64_t at_ns);
void sim__stream_wake(struct sim_stream *s); /* NULL is allowed. */

/* True if nothing gets from @from to @to. */
bool sim__is_cut(const struct sim_world *from, const struct sim_world *to);
/* Time a message takes now, without loss; draws. */
uint64_t sim__travel_ns(const struct sim_world *from,
                        const struct sim_world *to);

#endif /* BASE_SIM_SIM_PIPE_H */
