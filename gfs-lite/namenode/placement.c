/* Choice of servers: candidates are rated by one number, whose upper digits are
 * the rules of placement.h in order of importance and whose lower digits are
 * disk use, load and chance; the lowest wins. A rule that no candidate keeps
 * thus costs nothing.
 */
#include "gfs-lite/namenode/placement.h"

#include "base/core/hash.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

bool gfs_server_set_has(const struct gfs_server_set *s, uint16_t number)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->numbers[i] == number)
            return true;
    return false;
}

bool gfs_server_set_add(struct gfs_server_set *s, uint16_t number)
{
    if (s->count == GFS_REPLICAS_MAX || gfs_server_set_has(s, number))
        return false;
    INVARIANT(s->count < GFS_REPLICAS_MAX);
    s->numbers[s->count++] = number;
    return true;
}

static const struct placement_server *
placement_find(const struct placement_server *servers,
               size_t count,
               uint16_t number)
{
    for (size_t i = 0; i < count; i++)
        if (servers[i].number == number)
            return &servers[i];
    return NULL;
}

/* Copies on the machine and on the rack of @s already, and racks of all. */
struct company {
    unsigned on_machine;
    unsigned on_rack;
    unsigned racks;
};

static struct company company_of(const struct placement_server *servers,
                                 size_t count,
                                 const struct gfs_server_set *set,
                                 const struct placement_server *s)
{
    struct company c = {.racks = placement_rack_count(servers, count, set)};
    for (unsigned i = 0; i < set->count; i++) {
        const struct placement_server *o =
            placement_find(servers, count, set->numbers[i]);
        if (!o || o == s)
            continue;
        c.on_machine += o->machine == s->machine;
        c.on_rack += o->rack == s->rack;
    }
    return c;
}

unsigned placement_rack_count(const struct placement_server *servers,
                              size_t count,
                              const struct gfs_server_set *set)
{
    unsigned racks = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const struct placement_server *s =
            placement_find(servers, count, set->numbers[i]);
        bool first = s != NULL;
        for (unsigned j = 0; j < i && first; j++) {
            const struct placement_server *o =
                placement_find(servers, count, set->numbers[j]);
            first = !o || o->rack != s->rack;
        }
        racks += first;
    }
    POST(racks <= set->count);
    return racks;
}

unsigned placement_usable_racks(const struct placement_server *servers,
                                size_t count)
{
    unsigned racks = 0;
    for (size_t i = 0; i < count; i++) {
        bool first = servers[i].usable;
        for (size_t j = 0; j < i && first; j++)
            first = !servers[j].usable || servers[j].rack != servers[i].rack;
        racks += first;
    }
    POST(racks <= count);
    return racks;
}

/* Thousandths of the disk in use. */
static uint64_t used_permille(const struct placement_server *s)
{
    uint64_t used =
        s->capacity_bytes - MIN_OF(s->free_bytes, s->capacity_bytes);
    return s->capacity_bytes ? used / (s->capacity_bytes / 1000 + 1) : 1000;
}

/* A chunk given lately weighs like this many thousandths of the disk. */
#define LOAD_PERMILLE 50

/* Lower is better. Rules are the upper digits, cost and chance the lower. */
static uint64_t placement_rate(const struct placement_server *servers,
                               size_t count,
                               const struct placement_wish *wish,
                               const struct gfs_server_set *set,
                               const struct placement_server *s)
{
    struct company c = company_of(servers, count, set, s);
    uint64_t cost = used_permille(s) + LOAD_PERMILLE * (uint64_t)s->load;
    bool near = wish->has_writer && set->count == 0 &&
                s->machine == wish->writer_machine;
    uint64_t rules = 0;
    rules = rules * 2 + (c.on_machine > 0);
    rules = rules * 2 + (s->free_bytes < GFS_CHUNK_BYTES);
    /* The second copy leaves the rack; later ones go where few are. */
    rules = rules * 2 + (set->count > 0 && c.racks < 2 && c.on_rack > 0);
    rules = rules * 2 + !near;
    INVARIANT(rules < 16); /* Four rules: they do not reach the sign. */
    return rules << 48 | MIN_OF(cost, UINT32_MAX) << 12 |
           (hash_mix(wish->chance ^ s->number) & 0xfff);
}

void placement_choose(const struct placement_server *servers,
                      size_t count,
                      const struct placement_wish *wish,
                      struct gfs_server_set *out)
{
    struct gfs_server_set set = wish->present;
    PRE(wish->count <= GFS_REPLICAS_MAX);
    *out = (struct gfs_server_set){.count = 0};
    while (out->count < wish->count && set.count < GFS_REPLICAS_MAX) {
        bool added;
        const struct placement_server *best = NULL;
        uint64_t best_rate = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            uint64_t r;
            if (!servers[i].usable || servers[i].free_bytes == 0 ||
                gfs_server_set_has(&set, servers[i].number) ||
                gfs_server_set_has(&wish->excluded, servers[i].number))
                continue;
            r = placement_rate(servers, count, wish, &set, &servers[i]);
            if (r < best_rate) {
                best_rate = r;
                best = &servers[i];
            }
        }
        if (!best)
            return;
        added = gfs_server_set_add(&set, best->number);
        INVARIANT(added);
        added = gfs_server_set_add(out, best->number);
        INVARIANT(added); /* No server counts twice. */
    }
}

/* The replica with the greatest rate is dropped. */
static uint64_t excess_rate(const struct placement_server *servers,
                            size_t count,
                            const struct gfs_server_set *present,
                            const struct placement_server *s)
{
    struct company c = company_of(servers, count, present, s);
    uint64_t rules = 0;
    rules = rules * 2 + !s->usable;
    rules = rules * 2 + (c.on_machine > 0);
    /* Others on its rack remain, or there are enough racks. */
    rules = rules * 2 + (c.on_rack > 0 || c.racks > 2);
    return rules << 32 | used_permille(s);
}

uint16_t placement_excess(const struct placement_server *servers,
                          size_t count,
                          const struct gfs_server_set *present)
{
    uint16_t worst = present->numbers[0];
    uint64_t worst_rate = 0;
    PRE(present->count > 0);
    for (unsigned i = 0; i < present->count; i++) {
        const struct placement_server *s =
            placement_find(servers, count, present->numbers[i]);
        uint64_t r;
        if (!s)
            return present->numbers[i]; /* Nobody knows it. */
        r = excess_rate(servers, count, present, s);
        if (r > worst_rate) {
            worst_rate = r;
            worst = s->number;
        }
    }
    POST(gfs_server_set_has(present, worst));
    return worst;
}
