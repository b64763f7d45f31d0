/* Marks of files that are named: the sets of two readings, and of the one in
 * progress. */
#include "bigtable/master/garbage.h"

#include "base/core/panic.h"

void garbage_init(struct garbage *g)
{
    for (int i = 0; i < 2; i++)
        hash_map_init(&g->marks[i], HASH_KEYS_COPIED);
    hash_map_init(&g->reading, HASH_KEYS_COPIED);
    hash_map_init(&g->since, HASH_KEYS_COPIED);
    g->whole = 0;
}

void garbage_close(struct garbage *g)
{
    for (int i = 0; i < 2; i++)
        hash_map_close(&g->marks[i]);
    hash_map_close(&g->reading);
    hash_map_close(&g->since);
}

void garbage_begin(struct garbage *g)
{
    PRE(g->whole <= 2); /* INV-1 */
    PRE(g->reading.count == 0);
    hash_map_clear(&g->reading);
}

void garbage_mark(struct garbage *g, uint64_t number)
{
    hash_map_put(&g->reading, hash_key_u64(&number), NULL);
    (void)hash_map_remove(&g->since, hash_key_u64(&number), NULL); /* INV-2 */
}

void garbage_end(struct garbage *g)
{
    struct hash_map oldest = g->marks[0];
    g->marks[0] = g->marks[1];
    g->marks[1] = g->reading;
    g->reading = oldest;
    hash_map_clear(&g->reading);
    if (g->whole < 2)
        g->whole++;
    POST(g->whole <= 2); /* INV-1 */
    POST(g->reading.count == 0);
}

void garbage_abandon(struct garbage *g)
{
    hash_map_clear(&g->reading);
}

bool garbage_is_due(const struct garbage *g,
                    uint64_t number,
                    uint64_t age_us,
                    uint64_t safe_age_us)
{
    struct slice key = hash_key_u64(&number);
    INVARIANT(g->whole <= 2); /* INV-1 */
    return g->whole == 2 && age_us > safe_age_us &&
           !hash_map_get(&g->marks[0], key) && !hash_map_get(&g->marks[1], key);
}

uint64_t garbage_waits_us(struct garbage *g, uint64_t number, uint64_t now_ns)
{
    union hash_value *since;
    bool added;
    if (!garbage_is_due(g, number, UINT64_MAX, 0))
        return 0;
    since = hash_map_put(&g->since, hash_key_u64(&number), &added);
    if (added)
        since->number = now_ns;
    INVARIANT(since->number <= now_ns);
    return (now_ns - since->number) / 1000;
}
