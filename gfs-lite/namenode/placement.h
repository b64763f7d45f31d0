/* Choice of servers for replicas: pure functions of what is known of the
 * servers (GFS 4.2).
 *
 * Replicas of a chunk are on different machines as long as there are enough, on
 * two racks if there are two (the second replica leaves the first one's rack),
 * and on servers with room and little load. A rule that cannot be kept is
 * dropped before the replica is.
 */
#ifndef GFS_LITE_NAMENODE_PLACEMENT_H
#define GFS_LITE_NAMENODE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gfs-lite/namenode_command.h"

/* A server as placement sees it. */
struct placement_server {
    uint16_t number;
    bool usable;      /* Alive, in service, and its disk works. */
    bool quiet;       /* Usable, but silent for a while. Callers set and use it;
                         choices ignore it. */
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
    struct gfs_server_set excluded; /* Never chosen. */
    bool has_writer;
    uint32_t writer_machine; /* The writer's: a copy there is near. */
    uint64_t chance;         /* Breaks ties. */
};

/* Choose at most wish->count servers, the best first; fewer if there are no
 * more. */
void placement_choose(const struct placement_server *servers,
                      size_t count,
                      const struct placement_wish *wish,
                      struct gfs_server_set *out);

/* The replica of @present whose loss costs the least. PRE: @present is not
 * empty. */
uint16_t placement_excess(const struct placement_server *servers,
                          size_t count,
                          const struct gfs_server_set *present);

/* The number of racks that the servers of @set are on. */
unsigned placement_rack_count(const struct placement_server *servers,
                              size_t count,
                              const struct gfs_server_set *set);

/* The number of racks of all usable servers. */
unsigned placement_usable_racks(const struct placement_server *servers,
                                size_t count);

/* Is @number in @s? */
bool gfs_server_set_has(const struct gfs_server_set *s, uint16_t number);
/* Add @number. False if @s is full or has it. */
bool gfs_server_set_add(struct gfs_server_set *s, uint16_t number);

#endif /* GFS_LITE_NAMENODE_PLACEMENT_H */
