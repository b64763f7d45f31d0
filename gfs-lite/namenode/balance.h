/* Evening out how full the disks are, and when a new leader knows enough: pure
 * decisions.
 */
#ifndef GFS_LITE_NAMENODE_BALANCE_H
#define GFS_LITE_NAMENODE_BALANCE_H

#include "gfs-lite/namenode/placement.h"

/* Disks within this many thousandths of the mean are even enough. */
#define BALANCE_BAND_PERMILLE 100

struct balance_move {
    uint16_t from;
    uint16_t to;
};

/* Up to @max moves of one chunk each, from the fullest to the emptiest usable
 * servers. Returns how many; 0: balanced. */
size_t balance_moves(const struct placement_server *servers,
                     size_t count,
                     struct balance_move *moves,
                     size_t max);

/* What a leader has learnt since it began. */
struct safe_mode_view {
    uint64_t since_us;      /* Time since it began to lead. */
    uint64_t chunks;        /* Sealed ones. */
    uint64_t chunks_seen;   /* Of these, with a copy reported. */
    unsigned servers;       /* In service. */
    unsigned servers_heard; /* Of these, reported in full. */
};

/* Longest time a leader waits for servers that may be gone for good. */
#define SAFE_MODE_US_MAX UINT64_C(30000000)

/* Until this is false nothing is copied or deleted: what is not reported yet
 * would look lost. */
bool safe_mode_holds(const struct safe_mode_view *v);

#endif /* GFS_LITE_NAMENODE_BALANCE_H */
