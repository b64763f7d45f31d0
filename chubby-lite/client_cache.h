/* A client's cache of files and directories, by the instance of the node. The
 * session decides what may be in it, and until when (chubby_client.h).
 *
 * One loop.
 *
 * Invariants, kept by client_cache.c
 *     INV-1. `entries` and `recent` have the same entries.
 *     INV-2. `bytes` is what they cost, at most bytes_max.
 *     INV-3. Each drop changes drop_count.
 */
#ifndef CHUBBY_LITE_CLIENT_CACHE_H
#define CHUBBY_LITE_CLIENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "chubby-lite/lock_wire.h"

struct cached {
    TAILQ_ENTRY(cached) link; /* Newest use first. */
    uint64_t instance;
    enum chubby_read_kind kind;
    struct chubby_stat stat;
    struct buf bytes;
};

TAILQ_HEAD(cached_list, cached);

struct client_cache {
    struct hash_map entries;
    struct cached_list recent;
    uint64_t bytes;
    uint64_t bytes_max;
    uint64_t drop_count; /* An answer to a call that began at another count
                            may be old. */
};

/* An empty cache. */
void client_cache_init(struct client_cache *c, uint64_t bytes_max);
/* Drop everything and free the cache. */
void client_cache_close(struct client_cache *c);

/* Borrowed until the next change; NULL if it is not there. */
const struct cached *client_cache_get(struct client_cache *c,
                                      uint64_t instance,
                                      enum chubby_read_kind kind);
/* Add or replace; the least recently used ones make room. @v is copied. */
void client_cache_put(struct client_cache *c,
                      enum chubby_read_kind kind,
                      const struct chubby_view *v);
/* Drop the entries of node @instance, or of all nodes. */
void client_cache_drop(struct client_cache *c, uint64_t instance);
void client_cache_drop_all(struct client_cache *c);

#endif /* CHUBBY_LITE_CLIENT_CACHE_H */
