/* A hash table with a list by use: entries are small, so that the least
 * recently used one is evicted exactly.
 */
#include "chubby-lite/client_cache.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

struct entry_key {
    char bytes[9];
};

static struct slice
key_of(uint64_t instance, enum chubby_read_kind kind, struct entry_key *k)
{
    put_le64(k->bytes, instance);
    k->bytes[8] = (char)kind;
    return slice_make(k->bytes, sizeof(k->bytes));
}

void client_cache_init(struct client_cache *c, uint64_t bytes_max)
{
    hash_map_init(&c->entries, HASH_KEYS_COPIED);
    TAILQ_INIT(&c->recent);
    c->bytes = 0;
    c->bytes_max = bytes_max;
    c->drop_count = 0;
}

static uint64_t chubby_cache_cost(const struct cached *e)
{
    return sizeof(*e) + 64 + e->bytes.cap;
}

static void client_cache_remove(struct client_cache *c, struct cached *e)
{
    struct entry_key k;

    INVARIANT(c->bytes >= chubby_cache_cost(e)); /* INV-2 */
    hash_map_remove(&c->entries, key_of(e->instance, e->kind, &k), NULL);
    TAILQ_REMOVE(&c->recent, e, link);
    c->bytes -= chubby_cache_cost(e);
    buf_close(&e->bytes);
    mem_free(e);
}

void client_cache_close(struct client_cache *c)
{
    client_cache_drop_all(c);
    hash_map_close(&c->entries);
}

const struct cached *client_cache_get(struct client_cache *c,
                                      uint64_t instance,
                                      enum chubby_read_kind kind)
{
    struct entry_key k;
    union hash_value *v = hash_map_get(&c->entries, key_of(instance, kind, &k));
    struct cached *e = v ? v->pointer : NULL;

    if (e) {
        INVARIANT(e->instance == instance);
        INVARIANT(e->kind == kind);
        INVARIANT(!TAILQ_EMPTY(&c->recent)); /* INV-1 */
        TAILQ_REMOVE(&c->recent, e, link);
        TAILQ_INSERT_HEAD(&c->recent, e, link);
    }
    return e;
}

void client_cache_put(struct client_cache *c,
                      enum chubby_read_kind kind,
                      const struct chubby_view *v)
{
    struct entry_key k;
    struct slice key = key_of(v->stat.instance, kind, &k);
    union hash_value *old = hash_map_get(&c->entries, key);
    struct cached *e;

    PRE(kind <= CHUBBY_READ_CHILDREN);
    if (old)
        client_cache_remove(c, old->pointer);
    e = mem_zalloc(1, sizeof(*e));
    e->instance = v->stat.instance;
    e->kind = kind;
    e->stat = v->stat;
    buf_append_slice(&e->bytes, v->bytes);
    hash_map_put(&c->entries, key, NULL)->pointer = e;
    TAILQ_INSERT_HEAD(&c->recent, e, link);
    c->bytes += chubby_cache_cost(e);
    while (c->bytes > c->bytes_max) {
        INVARIANT(!TAILQ_EMPTY(&c->recent)); /* INV-1, INV-2 */
        client_cache_remove(c, TAILQ_LAST(&c->recent, cached_list));
    }
    POST(c->entries.count == 0 || !TAILQ_EMPTY(&c->recent)); /* INV-1 */
}

void client_cache_drop(struct client_cache *c, uint64_t instance)
{
    struct entry_key k;
    int kind;

    c->drop_count++;
    for (kind = CHUBBY_READ_CONTENTS; kind <= CHUBBY_READ_CHILDREN; kind++) {
        union hash_value *v = hash_map_get(
            &c->entries, key_of(instance, (enum chubby_read_kind)kind, &k));
        struct cached *e = v ? v->pointer : NULL;
        INVARIANT(!e || e->instance == instance);
        if (e)
            client_cache_remove(c, e);
    }
}

void client_cache_drop_all(struct client_cache *c)
{
    struct cached *e;

    c->drop_count++;
    while ((e = TAILQ_FIRST(&c->recent)))
        client_cache_remove(c, e);
    POST(c->bytes == 0);
    POST(c->entries.count == 0); /* INV-1, INV-2 */
}
