/* Two pure decisions of the leader: which chunks to move so that disks fill
 * evenly (GFS 4.3, "chunk rebalancing"), and when a new leader has heard enough
 * reports to leave safe mode.
 */
#ifndef GFS_LITE_NAMENODE_CHUNK_BALANCE_H
#define GFS_LITE_NAMENODE_CHUNK_BALANCE_H

#include "gfs-lite/namenode/placement.h"

/* Disks whose fill differs from the mean by no more than this many thousandths
 * are left alone. */
#define BALANCE_BAND_PERMILLE 100

struct balance_move {
    uint16_t from;
    uint16_t to;
};

/* Fill @moves with at most @max moves of one chunk each, from the fullest to
 * the emptiest usable servers. No server both gives and takes in one move.
 * Returns the number of moves; 0: balanced. */
size_t balance_moves(const struct placement_server *servers,
                     size_t count,
                     struct balance_move *moves,
                     size_t max);

/* Knowledge of the leader from reports since it began to lead. */
struct safe_mode_view {
    uint64_t since_us;      /* Time since it began to lead. */
    uint64_t chunks;        /* Sealed ones. */
    uint64_t chunks_seen;   /* Of these, with a copy reported. */
    unsigned servers;       /* In service. */
    unsigned servers_heard; /* Of these, reported in full. */
};

/* Longest time a leader waits for servers that may be gone for good. */
#define SAFE_MODE_US_MAX UINT64_C(30000000)

/* While this is true nothing is copied or deleted, because a chunk whose server
 * has not reported yet would look lost. @v->chunks_seen is at most @v->chunks.
 */
bool safe_mode_holds(const struct safe_mode_view *v);

#endif /* GFS_LITE_NAMENODE_CHUNK_BALANCE_H */
