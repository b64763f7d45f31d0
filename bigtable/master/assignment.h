/* Which server gets which unassigned tablet: a pure decision.
 *
 * The root tablet comes first, then METADATA's tablets, then all others,
 * because each level is needed to record where the next one is. Within a level
 * the heaviest tablet goes first, to the server with the least load: the loads
 * end up within one light tablet of each other. The orders in progress at a
 * server are bounded, so that a slow server does not collect tablets that
 * others would have loaded long ago; a server whose memory is nearly full is
 * chosen only when there is no other. */
#ifndef BIGTABLE_MASTER_ASSIGNMENT_H
#define BIGTABLE_MASTER_ASSIGNMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A server with this much of its memory in use gets no more, in percent. */
#define ASSIGNMENT_MEMORY_PERCENT 90

enum tablet_level {
    LEVEL_ROOT,
    LEVEL_METADATA,
    LEVEL_USER
};

struct assignment_server {
    uint64_t number;
    double load; /* Of the tablets it has, with orders in progress. */
    uint64_t memory_bytes;
    uint64_t memory_max; /* 0: unknown. */
    uint32_t room;       /* Orders it may still be given; 0: it is not usable.
                          */
};

struct assignment_tablet {
    enum tablet_level level;
    double weight;
    uint64_t only;  /* Number of the only server that can load it, because
                       that server's log has its entries; 0: any. */
    uint64_t avoid; /* Number of a server that failed to load it; 0: none. */
};

/* Indices into the arrays given. */
struct assignment {
    uint32_t tablet;
    uint32_t server;
};

/* Assign tablets of levels up to @up_to; those that cannot be assigned now are
 * left out. At most @tablet_count into @out; returns how many. @servers' load
 * and room are changed as if the orders were given. */
size_t assignment_choose(struct assignment_server *servers,
                         size_t server_count,
                         const struct assignment_tablet *tablets,
                         size_t tablet_count,
                         enum tablet_level up_to,
                         struct assignment *out);

#endif /* BIGTABLE_MASTER_ASSIGNMENT_H */
