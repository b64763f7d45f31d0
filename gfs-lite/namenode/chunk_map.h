/* The table of chunks: version, length and references of each (replicated), and
 * the servers that reported a replica (the leader's knowledge, from heartbeats;
 * GFS 2.6.2: chunk locations are not persistent).
 *
 * Versions (GFS 4.5). When a chunk's writer or chain may have failed, `pending`
 * is raised, the servers that can be reached are told the new version, and the
 * chunk is sealed with it: replicas of an older version are stale, and their
 * servers' writes are refused.
 *
 *     INV-1. 0 < version <= pending; neither ever decreases.
 *     INV-2. A sealed chunk's version and length never change.
 *     INV-3. refs counts the files that contain the chunk, and the open
 *            file that has it ahead; at 0 the chunk is freed.
 *     INV-4. A server is in `replicas` at most once.
 */
#ifndef GFS_LITE_NAMENODE_CHUNK_MAP_H
#define GFS_LITE_NAMENODE_CHUNK_MAP_H

#include "gfs-lite/id_map.h"
#include "gfs-lite/namenode_command.h"

struct chunk {
    uint64_t handle;     /* First: see id_map.h. */
    uint32_t version;    /* Replicas below it are stale. */
    uint32_t pending;    /* >= version: the one being given out. */
    uint32_t length;     /* Once sealed. */
    uint32_t refs;       /* Files that consist of it. */
    uint8_t sealed;      /* Its length is final. */
    uint8_t replication; /* Copies wanted: the largest number that one of its
                            files wants. */
    /* Not replicated: */
    uint8_t replica_count;
    uint8_t busy; /* A copy is being made or a recovery is under way. */
    uint16_t replicas[GFS_REPLICAS_MAX];
};

struct chunk_map {
    struct id_map by_handle;
    uint64_t next_handle;
    /* Called with each chunk whose last reference was dropped, before it is
     * freed, so that the leader can delete its replicas. May be NULL. */
    void (*on_free)(void *ctx, const struct chunk *c);
    void *on_free_ctx;
};

/* An empty table. chunk_map_close() frees the chunks without on_free. */
void chunk_map_init(struct chunk_map *m);
void chunk_map_close(struct chunk_map *m);

/* A new unsealed chunk of version 1 with one reference. Borrowed. */
struct chunk *chunk_map_add(struct chunk_map *m, uint8_t replication);
/* An empty chunk with the number @handle, for an image. NULL if the number is
 * taken. */
struct chunk *chunk_map_restore(struct chunk_map *m, uint64_t handle);
/* NULL: there is none. Borrowed until its last reference is dropped. */
struct chunk *chunk_map_get(const struct chunk_map *m, uint64_t handle);
/* Drop a reference. The last one calls on_free and frees @c. */
void chunk_map_unref(struct chunk_map *m, struct chunk *c);

/* Is @server known to hold a replica? */
bool chunk_has_replica(const struct chunk *c, uint16_t server);
/* False: it was there, or there is no room for one more. */
bool chunk_add_replica(struct chunk *c, uint16_t server);
/* False: it was not there. */
bool chunk_remove_replica(struct chunk *c, uint16_t server);
/* Panics unless INV-1, INV-2's bound of the length and INV-4's bound hold. */
void chunk_check(const struct chunk *c);

#endif /* GFS_LITE_NAMENODE_CHUNK_MAP_H */
