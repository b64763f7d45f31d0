/* How much of a server a tablet takes: one number, made of its share of all
 * tablets, bytes, requests and memory. Pure.
 *
 * Each share is weighted, and all are scaled so that the mean load of a server
 * is 1. Bytes, requests and memory count only as far as they matter: an idle
 * cluster is balanced by tablets and bytes alone, so that chance requests move
 * nothing, and a nearly empty one by tablets alone.
 */
#ifndef BIGTABLE_MASTER_WEIGHT_H
#define BIGTABLE_MASTER_WEIGHT_H

#include <stddef.h>
#include <stdint.h>

/* The use of a tablet, or the sum of many. */
struct tablet_use {
    uint64_t bytes;
    uint64_t memory_bytes;
    uint64_t requests_per_s;
};

struct weight_totals {
    uint64_t tablets;
    struct tablet_use use;
    uint64_t servers;
    uint64_t memory_max; /* Of all servers; 0: unknown. */
};

/* Load for each unit. */
struct weight_scale {
    double tablet;
    double byte;
    double request;
    double memory_byte;
};

/* Bytes of a server at which they count in full. */
#define WEIGHT_BYTES_FULL ((double)(UINT64_C(1) << 30))
/* Requests per second and server at which they count in full. */
#define WEIGHT_REQUESTS_FULL 200
/* Part of the servers' memory at which it counts in full, in percent. */
#define WEIGHT_MEMORY_FULL_PERCENT 25

/* The scale that makes the mean load of a server 1. */
struct weight_scale weight_scale_of(const struct weight_totals *t);

/* The weight of a tablet with the use @u. */
static inline double weight_of(const struct weight_scale *s,
                               const struct tablet_use *u)
{
    return s->tablet + s->byte * (double)u->bytes +
           s->request * (double)u->requests_per_s +
           s->memory_byte * (double)u->memory_bytes;
}

#endif /* BIGTABLE_MASTER_WEIGHT_H */
