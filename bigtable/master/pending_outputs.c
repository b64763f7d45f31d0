/* Readings of METADATA, and the servers that each found. The older of the last
 * two decides: it was complete before the newer one began, so that the newer
 * one has found the files decided before it. */
#include "bigtable/master/pending_outputs.h"

#include "base/core/panic.h"
#include "bigtable/wire/metadata.h"

enum {
    OLDER,
    NEWER,
    CURRENT
};

static void pending_outputs_clear_reading(struct pending_outputs_reading *r)
{
    hash_map_clear(&r->decided);
    hash_map_clear(&r->places);
}

void pending_outputs_init(struct pending_outputs *m)
{
    for (int i = 0; i < 3; i++) {
        hash_map_init(&m->readings[i].decided, HASH_KEYS_COPIED);
        hash_map_init(&m->readings[i].places, HASH_KEYS_COPIED);
        m->readings[i].newest = 0;
    }
    m->whole = 0;
}

void pending_outputs_close(struct pending_outputs *m)
{
    for (int i = 0; i < 3; i++) {
        hash_map_close(&m->readings[i].decided);
        hash_map_close(&m->readings[i].places);
    }
}

void pending_outputs_begin(struct pending_outputs *m, uint64_t newest)
{
    PRE(m->whole <= 2); /* INV-1 */
    /* Servers stay in the view for ever. */
    PRE(newest >= m->readings[NEWER].newest);
    pending_outputs_clear_reading(&m->readings[CURRENT]);
    m->readings[CURRENT].newest = newest;
}

void pending_outputs_alive(struct pending_outputs *m,
                           uint64_t server,
                           uint64_t decided)
{
    PRE(server != 0);
    PRE(server <= m->readings[CURRENT].newest);
    hash_map_put(&m->readings[CURRENT].decided, hash_key_u64(&server), NULL)
        ->number = decided;
}

void pending_outputs_place(struct pending_outputs *m, uint64_t server)
{
    hash_map_put(&m->readings[CURRENT].places, hash_key_u64(&server), NULL);
}

void pending_outputs_end(struct pending_outputs *m)
{
    struct pending_outputs_reading oldest = m->readings[OLDER];
    m->readings[OLDER] = m->readings[NEWER];
    m->readings[NEWER] = m->readings[CURRENT];
    m->readings[CURRENT] = oldest;
    pending_outputs_clear_reading(&m->readings[CURRENT]);
    if (m->whole < 2)
        m->whole++;
    POST(m->whole <= 2); /* INV-1 */
    POST(m->readings[OLDER].newest <= m->readings[NEWER].newest);
}

void pending_outputs_abandon(struct pending_outputs *m)
{
    pending_outputs_clear_reading(&m->readings[CURRENT]);
}

bool pending_outputs_are_settled(const struct pending_outputs *m,
                                 uint64_t number)
{
    const struct pending_outputs_reading *r = &m->readings[OLDER];
    uint64_t server = cluster_id_server(number);
    const union hash_value *alive =
        hash_map_get(&r->decided, hash_key_u64(&server));

    INVARIANT(m->whole <= 2); /* INV-1 */
    if (m->whole < 2 || server > r->newest)
        return false;
    if (alive)
        return number < alive->number;
    return !hash_map_get(&r->places, hash_key_u64(&server));
}
