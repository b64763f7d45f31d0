/* The chunks: which there are, in which version and length, and which servers
 * have said that they hold them.
 *
 * The upper part of a chunk is replicated state, changed by commands alone. The
 * lower part (replicas) is what the leader has learnt from reports; it is not
 * in the image, and a new leader begins with none.
 *
 * Versions. Every time a chunk's writer may have gone wrong, its version is
 * raised (`pending`), the servers that still can be reached are told, and the
 * chunk is sealed with the new one: replicas of an older version are stale from
 * then on, and their server's writes are refused.
 */
#ifndef GFS_LITE_NAMENODE_CHUNK_MAP_H
#define GFS_LITE_NAMENODE_CHUNK_MAP_H

#include "gfs-lite/command.h"
#include "gfs-lite/id_map.h"

struct chunk {
    uint64_t handle;     /* First: see id_map.h. */
    uint32_t version;    /* Replicas below it are stale. */
    uint32_t pending;    /* >= version: the one being given out. */
    uint32_t length;     /* Once sealed. */
    uint32_t refs;       /* Files that consist of it. */
    uint8_t sealed;      /* It will never change again. */
    uint8_t replication; /* Copies wanted: the most of its files' wishes. */
    /* Not replicated: */
    uint8_t replica_count;
    uint8_t busy; /* A copy is being made or a recovery is under way. */
    uint16_t replicas[GFS_REPLICAS_MAX];
};

struct chunk_map {
    struct id_map by_handle;
    uint64_t next_handle;
    /* Called with each chunk that no file consists of any more, before it is
     * freed: the leader's wish to have its replicas deleted. May be NULL. */
    void (*on_free)(void *ctx, const struct chunk *c);
    void *on_free_ctx;
};

void chunk_map_init(struct chunk_map *m);
void chunk_map_close(struct chunk_map *m);

/* An open chunk of version 1 with one reference. Borrowed. */
struct chunk *chunk_map_add(struct chunk_map *m, uint8_t replication);
/* The same with its number given: from an image. NULL if it is taken. */
struct chunk *chunk_map_restore(struct chunk_map *m, uint64_t handle);
/* NULL: there is none. Borrowed until its last reference is dropped. */
struct chunk *chunk_map_get(const struct chunk_map *m, uint64_t handle);
/* Drop a reference; the last one frees it. */
void chunk_map_unref(struct chunk_map *m, struct chunk *c);

bool chunk_has_replica(const struct chunk *c, uint16_t server);
/* False: it was there, or there is no room for one more. */
bool chunk_add_replica(struct chunk *c, uint16_t server);
bool chunk_remove_replica(struct chunk *c, uint16_t server);

#endif /* GFS_LITE_NAMENODE_CHUNK_MAP_H */
