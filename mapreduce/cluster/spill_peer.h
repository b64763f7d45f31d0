/* Reads another worker's spills, one partition: first where the segments are,
 * then their bytes, in large pieces.
 *
 * Answers are hostile bytes: lengths are checked here, contents by the caller
 * (pair_check.h).
 *
 * One thread or fiber beside the loop; ask and read park.
 */
#ifndef MAPREDUCE_CLUSTER_SPILL_PEER_H
#define MAPREDUCE_CLUSTER_SPILL_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/cluster/job_wire.h"

struct channel_set;
struct world;

/* All borrowed. */
struct spill_peer {
    struct world *world;
    struct channel_set *channels;
    struct worker_place place;
    const char *job;
    uint32_t partition;
    unsigned tries; /* Tries of a call that is not answered. */
    /* Is the result no longer needed? Then calls end with ERR_CANCELLED. */
    bool (*is_over)(void *ctx);
    void *ctx;
};

/* The partition's segments in one spill. */
struct spill_found {
    bool missing;               /* The spill does not exist. */
    struct spill_piece *pieces; /* Owned. */
    struct task_segment *at;    /* Their lengths and pairs; the rest is the
                                   caller's. Owned. */
    size_t count;
};

void spill_found_close(struct spill_found *f);

/* Find the segments in @spills: @found[i] of @spills[i], all of them the
 * caller's to close in any case. PRE: at most SPILL_ASK_MAX. Parks. */
MUST_CHECK int spill_peer_ask(const struct spill_peer *p,
                              const struct task_spill *spills,
                              struct spill_found *found,
                              size_t count,
                              struct err *err);

/* The bytes of segments, one after the other. */
struct spill_reader {
    const struct spill_peer *peer;
    /* Called with the next bytes of the segments that were added. */
    int (*take)(void *ctx, struct slice bytes, struct err *err);
    void *ctx;
    struct spill_piece *pieces; /* Of the next call. Owned. */
    size_t count;
    size_t cap;
    uint64_t bytes;
};

/* Add all that was found. Bytes are read whenever enough has gathered. Parks.
 */
MUST_CHECK int spill_reader_add(struct spill_reader *r,
                                const struct spill_found *found,
                                struct err *err);
/* Read the rest. Parks. */
MUST_CHECK int spill_reader_finish(struct spill_reader *r, struct err *err);
void spill_reader_close(struct spill_reader *r);

/* Is @code the fault of the other worker, or of the way to it? */
bool spill_peer_is_to_blame(int code);

#endif /* MAPREDUCE_CLUSTER_SPILL_PEER_H */
