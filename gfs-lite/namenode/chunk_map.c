/* The table of chunks. Functions that change a chunk end with chunk_check(), so
 * that a broken version or a replica counted twice is found where it happens
 * and not by the reader who gets stale bytes.
 */
#include "gfs-lite/namenode/chunk_map.h"

#include "base/core/panic.h"

void chunk_check(const struct chunk *c)
{
    INVARIANT(c->version > 0);
    INVARIANT(c->version <= c->pending);             /* INV-1 */
    INVARIANT(c->length <= GFS_CHUNK_BYTES);         /* INV-2 */
    INVARIANT(c->replica_count <= GFS_REPLICAS_MAX); /* INV-4 */
}

void chunk_map_init(struct chunk_map *m)
{
    *m = (struct chunk_map){.next_handle = 1};
}

void chunk_map_close(struct chunk_map *m)
{
    size_t at = 0;
    struct chunk *c;
    while ((c = id_map_next(&m->by_handle, &at)))
        mem_free(c);
    id_map_close(&m->by_handle);
}

struct chunk *chunk_map_restore(struct chunk_map *m, uint64_t handle)
{
    struct chunk *c;
    if (chunk_map_get(m, handle))
        return NULL;
    c = mem_zalloc(1, sizeof(*c));
    c->handle = handle;
    id_map_put(&m->by_handle, c);
    return c;
}

struct chunk *chunk_map_add(struct chunk_map *m, uint8_t replication)
{
    struct chunk *c = chunk_map_restore(m, m->next_handle++);
    INVARIANT(c);
    c->version = 1;
    c->pending = 1;
    c->refs = 1;
    c->replication = replication;
    chunk_check(c);
    return c;
}

struct chunk *chunk_map_get(const struct chunk_map *m, uint64_t handle)
{
    return id_map_get(&m->by_handle, handle);
}

void chunk_map_unref(struct chunk_map *m, struct chunk *c)
{
    PRE(c->refs > 0);
    if (--c->refs > 0)
        return;
    if (m->on_free)
        m->on_free(m->on_free_ctx, c);
    id_map_remove(&m->by_handle, c->handle);
    mem_free(c);
}

bool chunk_has_replica(const struct chunk *c, uint16_t server)
{
    for (unsigned i = 0; i < c->replica_count; i++)
        if (c->replicas[i] == server)
            return true;
    return false;
}

bool chunk_add_replica(struct chunk *c, uint16_t server)
{
    if (c->replica_count == GFS_REPLICAS_MAX || chunk_has_replica(c, server))
        return false;
    PRE(!chunk_has_replica(c, server)); /* INV-4 */
    c->replicas[c->replica_count++] = server;
    POST(c->replica_count <= GFS_REPLICAS_MAX);
    return true;
}

bool chunk_remove_replica(struct chunk *c, uint16_t server)
{
    for (unsigned i = 0; i < c->replica_count; i++)
        if (c->replicas[i] == server) {
            c->replicas[i] = c->replicas[--c->replica_count];
            POST(!chunk_has_replica(c, server)); /* INV-4 */
            return true;
        }
    return false;
}
