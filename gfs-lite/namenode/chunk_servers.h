/* The chunk servers as the leader knows them from their heartbeats: which are
 * alive, which have room, and the orders that wait for them (GFS 2.3:
 * "HeartBeat messages to give it instructions and collect its state"). Not
 * replicated: a new leader begins with nothing.
 *
 *     INV-1. delete_count <= delete_cap, order_count <= order_cap.
 *     INV-2. There is an entry for each server that the catalog has, once
 *            chunk_servers_follow() has run.
 *
 * One loop.
 */
#ifndef GFS_LITE_NAMENODE_CHUNK_SERVERS_H
#define GFS_LITE_NAMENODE_CHUNK_SERVERS_H

#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/namenode/catalog.h"
#include "gfs-lite/namenode/placement.h"

/* Chunks given to a server count as load for this long. */
#define LOAD_MEMORY_NS UINT64_C(10000000000)

/* A server's replica to delete, if it is of at most this version. */
struct pending_delete {
    uint64_t handle;
    uint32_t version;
};

/* A copy or a sealing to be ordered with the next heartbeat. */
struct pending_order {
    enum gfs_order_kind kind;
    uint64_t handle;
};

/* A server that is well reports before this part of the time after which it
 * counts as dead. One that is silent for longer gets shorter timeouts, and no
 * chunks while others can take them. */
#define CHUNK_SERVER_QUIET_PART 4

struct live_server {
    bool alive;
    bool reported;        /* In full, in its present run. */
    uint64_t heard_ns;    /* Monotonic. */
    uint64_t full_ns;     /* When the last full report came. */
    uint64_t full_number; /* Of the full report that came last. */
    uint64_t run;
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t chunk_count;
    uint32_t load;                  /* As it reported. */
    uint32_t given;                 /* Chunks given to it lately. */
    uint64_t given_ns;              /* Since when they count. */
    uint32_t machine;               /* Number of the machine's name, and */
    uint32_t rack;                  /* of the rack's. */
    struct pending_delete *deletes; /* Owned. */
    size_t delete_count;
    size_t delete_cap;
    struct pending_order *orders; /* Owned. */
    size_t order_count;
    size_t order_cap;
};

struct chunk_servers {
    struct live_server *servers; /* By number; owned. */
    size_t count;
    char **texts; /* Names of machines and racks, by their number; owned. */
    size_t text_count;
};

/* Free all of it. */
void chunk_servers_close(struct chunk_servers *s);
/* Forget all reports and orders: this member has just become leader. */
void chunk_servers_reset(struct chunk_servers *s);
/* Make room for all servers that @c has registered, and number their machines
 * and racks. */
void chunk_servers_follow(struct chunk_servers *s, const struct catalog *c);

/* Has it reported within the time after which it counts as dead? */
bool chunk_server_is_alive(const struct chunk_servers *s, uint16_t number);
/* Count a chunk that was given to server @number as load. PRE: it is known. */
void chunk_server_give(struct chunk_servers *s,
                       uint16_t number,
                       uint64_t now_ns);
/* Have @handle's replica deleted with the server's next heartbeat, if it is of
 * at most @version. No-op for an unknown server. */
void chunk_server_add_delete(struct chunk_servers *s,
                             uint16_t number,
                             uint64_t handle,
                             uint32_t version);
/* Order a copy or a sealing with the next heartbeat. No-op for an unknown
 * server. */
void chunk_server_add_order(struct chunk_servers *s,
                            uint16_t number,
                            enum gfs_order_kind kind,
                            uint64_t handle);
/* The number of the name @text of a machine or rack. */
uint32_t chunk_servers_text(struct chunk_servers *s, struct slice text);

/* The servers as placement sees them, one for each number. Owned: mem_free().
 */
struct placement_server *chunk_servers_view(const struct chunk_servers *s,
                                            const struct catalog *c,
                                            uint64_t now_ns);

#endif /* GFS_LITE_NAMENODE_CHUNK_SERVERS_H */
