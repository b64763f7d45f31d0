/* Attachments through shared memory: a ring in each direction, with one
 * count in each segment by which the receiver returns room. The counts are
 * atomics with acquire and release order; everything else is private to one
 * side, so that a hostile peer can spoil only its own transfers. */
#include "base/rpc/shared_ring.h"

#include <stdatomic.h>

#include "base/core/panic.h"
#include "base/runtime/shared_memory.h"

/* The ring begins on a page of its own. */
#define HEAD_BYTES    ((size_t)4096)
#define SEGMENT_BYTES (HEAD_BYTES + SHARED_RING_BYTES)

struct shared_ring {
    struct shared_memory *own;
    struct shared_memory *others;
    uint64_t put;   /* The place after the last bytes put. */
    uint64_t clear; /* All bytes before this place were taken or skipped. */
};

size_t shared_ring_segment_bytes(void)
{
    return SEGMENT_BYTES;
}

/* --- opening ------------------------------------------------------------- */

struct shared_ring *shared_ring_over(struct shared_memory *own,
                                     struct shared_memory *others)
{
    struct shared_ring *r = mem_zalloc(1, sizeof(*r));
    r->own = own;
    r->others = others;
    return r;
}

void shared_ring_free(struct shared_ring *r)
{
    if (!r)
        return;
    shared_memory_free(r->own);
    shared_memory_free(r->others);
    mem_free(r);
}

/* The count in @own: bytes that its owner has taken from the other's ring. */
static atomic_uint_least64_t *count_in(struct shared_memory *own)
{
    return (atomic_uint_least64_t *)(void *)shared_memory_own(own);
}

/* A client puts nothing before it has the server's segment, and a server
 * nothing before its first request: both see the mark in time. */
static int take_others(struct stream *s,
                       struct shared_memory *own,
                       struct shared_memory **others,
                       struct err *refused,
                       struct err *err)
{
    struct err why = ERR_INIT;
    int rc = shared_memory_receive(s, SEGMENT_BYTES, others, &why);
    if (rc != ERR_EXHAUSTED)
        return rc ? err_copy(err, &why) : 0;
    err_copy(refused, &why);
    atomic_store_explicit(count_in(own), UINT64_MAX, memory_order_release);
    return 0;
}

int shared_ring_open(struct stream *s,
                     bool is_client,
                     struct shared_memory *own,
                     struct shared_ring **out,
                     struct err *refused,
                     struct err *err)
{
    struct shared_memory *others = NULL;
    int rc = 0;
    *out = NULL;
    if (is_client)
        rc = shared_memory_send(own, s, err);
    if (rc == 0)
        rc = take_others(s, own, &others, refused, err);
    if (rc == 0 && !is_client)
        rc = shared_memory_send(own, s, err);
    if (rc == 0 && others) {
        *out = shared_ring_over(own, others);
    } else {
        shared_memory_free(own);
        shared_memory_free(others);
    }
    return rc;
}

/* --- putting ------------------------------------------------------------- */

/* The count that the other side wrote. Untrusted. */
static uint64_t others_count(const struct shared_ring *r)
{
    const void *p = shared_memory_bytes(r->others);
    return atomic_load_explicit((const atomic_uint_least64_t *)p,
                                memory_order_acquire);
}

char *shared_ring_put(struct shared_ring *r, size_t len, uint64_t *place)
{
    uint64_t taken = others_count(r);
    uint64_t at = r->put;
    uint64_t in_ring = at % SHARED_RING_BYTES;
    if (len > SHARED_RING_BYTES || taken > at)
        return NULL;
    /* Return to the start when all was taken, so that a few attachments stay
     * in the CPU's cache; and at the end of the ring. */
    if (in_ring && (taken == at || len > SHARED_RING_BYTES - in_ring))
        at += SHARED_RING_BYTES - in_ring;
    if (taken == r->put) /* Skipped bytes count as taken. */
        r->clear = at;
    if (at + len - MAX_OF(taken, r->clear) > SHARED_RING_BYTES)
        return NULL;
    *place = at;
    POST(at % SHARED_RING_BYTES + len <= SHARED_RING_BYTES);
    r->put = at + len;
    return shared_memory_own(r->own) + HEAD_BYTES + at % SHARED_RING_BYTES;
}

/* --- taking -------------------------------------------------------------- */

int shared_ring_find(const struct shared_ring *r,
                     uint64_t place,
                     size_t len,
                     const char **out,
                     struct err *err)
{
    size_t in_ring = place % SHARED_RING_BYTES;
    *out = NULL;
    if (len > SHARED_RING_BYTES - in_ring)
        return err_set(err, ERR_CORRUPT,
                       "frame: an attachment beyond the shared memory's end");
    *out = shared_memory_bytes(r->others) + HEAD_BYTES + in_ring;
    return 0;
}

void shared_ring_taken(struct shared_ring *r, uint64_t place, size_t len)
{
    atomic_store_explicit(count_in(r->own), place + len, memory_order_release);
}
