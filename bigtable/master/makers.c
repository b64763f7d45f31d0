/* What readings of METADATA tell of servers that wrote files. */
#include "bigtable/master/makers.h"

#include "bigtable/wire/metadata.h"

enum {
    OLDER,
    NEWER,
    GOING_ON
};

static void clear(struct makers_reading *r)
{
    hash_map_clear(&r->decided);
    hash_map_clear(&r->places);
}

void makers_init(struct makers *m)
{
    for (int i = 0; i < 3; i++) {
        hash_map_init(&m->readings[i].decided, HASH_KEYS_COPIED);
        hash_map_init(&m->readings[i].places, HASH_KEYS_COPIED);
        m->readings[i].newest = 0;
    }
    m->whole = 0;
}

void makers_close(struct makers *m)
{
    for (int i = 0; i < 3; i++) {
        hash_map_close(&m->readings[i].decided);
        hash_map_close(&m->readings[i].places);
    }
}

void makers_begin(struct makers *m, uint64_t newest)
{
    clear(&m->readings[GOING_ON]);
    m->readings[GOING_ON].newest = newest;
}

void makers_alive(struct makers *m, uint64_t server, uint64_t decided)
{
    hash_map_put(&m->readings[GOING_ON].decided, hash_key_u64(&server), NULL)
        ->number = decided;
}

void makers_place(struct makers *m, uint64_t server)
{
    hash_map_put(&m->readings[GOING_ON].places, hash_key_u64(&server), NULL);
}

void makers_end(struct makers *m)
{
    struct makers_reading oldest = m->readings[OLDER];
    m->readings[OLDER] = m->readings[NEWER];
    m->readings[NEWER] = m->readings[GOING_ON];
    m->readings[GOING_ON] = oldest;
    clear(&m->readings[GOING_ON]);
    if (m->whole < 2)
        m->whole++;
}

void makers_abandon(struct makers *m)
{
    clear(&m->readings[GOING_ON]);
}

bool makers_are_done(const struct makers *m, uint64_t number)
{
    const struct makers_reading *r = &m->readings[OLDER];
    uint64_t server = cluster_id_server(number);
    const union hash_value *alive =
        hash_map_get(&r->decided, hash_key_u64(&server));
    if (m->whole < 2 || server > r->newest)
        return false;
    if (alive)
        return number < alive->number;
    return !hash_map_get(&r->places, hash_key_u64(&server));
}
