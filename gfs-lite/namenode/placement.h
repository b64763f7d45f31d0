/* Where copies go: pure functions of what is known of the servers.
 *
 * Copies of a chunk are on different machines as long as there are enough, on
 * two racks as soon as there are two (the second copy leaves the first one's
 * rack), and on servers with room and little to do. A rule that cannot be kept
 * is given up before the copy is.
 */
#ifndef GFS_LITE_NAMENODE_PLACEMENT_H
#define GFS_LITE_NAMENODE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gfs-lite/command.h"

/* A server as placement sees it. */
struct placement_server {
    uint16_t number;
    bool usable;      /* Alive, in service, and its disk works. */
    bool quiet;       /* Usable, but has been silent for a while: who asks
                         notes it, choices do not look at it. */
    uint32_t machine; /* Equal for servers of one machine, */
    uint32_t rack;    /* of one rack. */
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint32_t load; /* Chunks given to it lately, and copies under way. */
};

struct placement_wish {
    unsigned count; /* Copies to place. */
    /* Servers that hold the chunk already: they and their machines are avoided,
     * and their racks count. */
    struct gfs_server_set present;
    struct gfs_server_set excluded; /* Not these. */
    bool has_writer;
    uint32_t writer_machine; /* Who writes: a copy there is near. */
    uint64_t chance;         /* Decides between equals. */
};

/* Choose up to wish->count servers, the best first. Fewer if there are no more.
 */
void placement_choose(const struct placement_server *servers,
                      size_t count,
                      const struct placement_wish *wish,
                      struct gfs_server_set *out);

/* Which of @present, more than are wanted, to drop: the one whose loss costs
 * the least. PRE: it is not empty. */
uint16_t placement_excess(const struct placement_server *servers,
                          size_t count,
                          const struct gfs_server_set *present);

/* Racks that @set is on. */
unsigned placement_rack_count(const struct placement_server *servers,
                              size_t count,
                              const struct gfs_server_set *set);

/* Of all usable servers. */
unsigned placement_usable_racks(const struct placement_server *servers,
                                size_t count);

bool gfs_server_set_has(const struct gfs_server_set *s, uint16_t number);
/* False if it is full or has it. */
bool gfs_server_set_add(struct gfs_server_set *s, uint16_t number);

#endif /* GFS_LITE_NAMENODE_PLACEMENT_H */
