/* A node of the graph while PageRank runs: a value of the record files between
 * its jobs, whose key is the node's name.
 *
 *      node    = rank:u64 sum:u64 flags:u8 targets:lslice*
 *
 * Ranks are shares of PAGE_RANK_TOTAL, whole numbers: sums of them do not
 * depend on their order, so a graph has the same ranks however it is split.
 */
#ifndef JOBS_PAGE_RANK_NODE_H
#define JOBS_PAGE_RANK_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* All ranks together: 2^60 leaves room to add without overflow. */
#define PAGE_RANK_TOTAL (UINT64_C(1) << 60)

struct page_rank_node {
    uint64_t rank;        /* Of the last round. */
    uint64_t sum;         /* Shares received in this one. */
    bool has_targets;     /* This is the node itself, not only shares for it. */
    struct slice targets; /* lslices. */
};

/* Append @n to @out; page_rank_node_decode() reads it. */
void page_rank_node_encode(const struct page_rank_node *n, struct buf *out);
/* Borrowed from @bytes. False when it is malformed. */
bool page_rank_node_decode(struct slice bytes, struct page_rank_node *n);

/* rank and sum of the next round: see page_rank.c. */
struct page_rank_round {
    uint64_t nodes;
    uint64_t dangling;    /* Rank that nodes without targets had, all of it
                             shared by all. */
    uint32_t damping_ppm; /* 0.85 as 850000. */
};

/* The rank of a node to which its neighbours pass @sum: the share of jumps,
 * plus the damped sum of @sum and its part of the dangling ranks. PRE: r->nodes
 * > 0.
 */
uint64_t page_rank_next(const struct page_rank_round *r, uint64_t sum);

#endif /* JOBS_PAGE_RANK_NODE_H */
