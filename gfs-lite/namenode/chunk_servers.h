/* What the leader knows of the chunk servers from their reports: who lives, who
 * has room, what they are to do next. Not replicated.
 *
 * One loop.
 */
#ifndef GFS_LITE_NAMENODE_CHUNK_SERVERS_H
#define GFS_LITE_NAMENODE_CHUNK_SERVERS_H

#include "gfs-lite/namenode/catalog.h"
#include "gfs-lite/namenode/placement.h"
#include "gfs-lite/wire.h"

/* Chunks given to a server count as load for so long. */
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

/* One that lives is heard of before this part of the time after which it is
 * taken for dead: later it is asked with less patience, and given no chunks
 * while there are others. */
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
    uint32_t load;                  /* As it said. */
    uint32_t given;                 /* Chunks given to it lately. */
    uint64_t given_ns;              /* Since when they count. */
    uint32_t machine;               /* Number of the machine's name, */
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

void chunk_servers_close(struct chunk_servers *s);
/* Forget everything: another leader knew it, or nobody does. */
void chunk_servers_reset(struct chunk_servers *s);
/* Have room for all that @c has registered, and know their machines. */
void chunk_servers_follow(struct chunk_servers *s, const struct catalog *c);

bool chunk_server_is_alive(const struct chunk_servers *s, uint16_t number);
void chunk_server_give(struct chunk_servers *s,
                       uint16_t number,
                       uint64_t now_ns);
void chunk_server_add_delete(struct chunk_servers *s,
                             uint16_t number,
                             uint64_t handle,
                             uint32_t version);
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
