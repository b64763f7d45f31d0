/* Chunk rebalancing and safe mode. A move goes from the fullest server to the
 * emptiest; how full they are is judged with the moves already chosen, so that
 * one round does not overshoot the mean.
 */
#include "gfs-lite/namenode/chunk_balance.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

static uint64_t disk_balance_used(const struct placement_server *s)
{
    return s->capacity_bytes - MIN_OF(s->free_bytes, s->capacity_bytes);
}

static uint64_t disk_balance_permille(uint64_t part, uint64_t whole)
{
    return whole ? part / (whole / 1000 + 1) : 0;
}

static uint64_t mean_permille(const struct placement_server *servers,
                              size_t count)
{
    uint64_t all = 0;
    uint64_t full = 0;
    for (size_t i = 0; i < count; i++)
        if (servers[i].usable) {
            all += servers[i].capacity_bytes;
            full += disk_balance_used(&servers[i]);
        }
    INVARIANT(full <= all);
    return disk_balance_permille(full, all);
}

/* The usable server that is fullest (@sign 1) or emptiest (-1), if it is beyond
 * the band, less what @moves take from it or bring to it. */
static const struct placement_server *
disk_balance_extreme(const struct placement_server *servers,
                     size_t count,
                     int sign,
                     uint64_t mean,
                     const struct balance_move *moves,
                     size_t move_count)
{
    PRE(sign == 1 || sign == -1);
    const struct placement_server *best = NULL;
    int64_t best_distance = BALANCE_BAND_PERMILLE;
    for (size_t i = 0; i < count; i++) {
        const struct placement_server *s = &servers[i];
        int64_t bytes = (int64_t)disk_balance_used(s);
        int64_t distance;
        for (size_t m = 0; m < move_count; m++) {
            bytes -= moves[m].from == s->number ? GFS_CHUNK_BYTES : 0;
            bytes += moves[m].to == s->number ? GFS_CHUNK_BYTES : 0;
        }
        bytes = MAX_OF(bytes, 0);
        distance = sign * ((int64_t)disk_balance_permille((uint64_t)bytes,
                                                          s->capacity_bytes) -
                           (int64_t)mean);
        if (s->usable && distance > best_distance) {
            best_distance = distance;
            best = s;
        }
    }
    return best;
}

/* The least full usable server with room. It may be within the band, so that
 * the fullest finds a target. */
static const struct placement_server *
least_full(const struct placement_server *servers,
           size_t count,
           uint16_t except,
           const struct balance_move *moves,
           size_t move_count)
{
    const struct placement_server *best = NULL;
    uint64_t best_used = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct placement_server *s = &servers[i];
        uint64_t bytes = disk_balance_used(s);
        for (size_t m = 0; m < move_count; m++)
            bytes += moves[m].to == s->number ? GFS_CHUNK_BYTES : 0;
        if (s->usable && s->number != except &&
            s->free_bytes >= GFS_CHUNK_BYTES &&
            disk_balance_permille(bytes, s->capacity_bytes) < best_used) {
            best_used = disk_balance_permille(bytes, s->capacity_bytes);
            best = s;
        }
    }
    POST(!best || best->number != except);
    return best;
}

size_t balance_moves(const struct placement_server *servers,
                     size_t count,
                     struct balance_move *moves,
                     size_t max)
{
    uint64_t mean = mean_permille(servers, count);
    size_t n = 0;
    while (n < max) {
        const struct placement_server *from =
            disk_balance_extreme(servers, count, 1, mean, moves, n);
        const struct placement_server *to;
        if (!from)
            break;
        to = least_full(servers, count, from->number, moves, n);
        if (!to || disk_balance_permille(disk_balance_used(to),
                                         to->capacity_bytes) >= mean)
            break;
        INVARIANT(from != to);
        moves[n++] = (struct balance_move){from->number, to->number};
    }
    /* A server far below the mean is filled though no other is far above. */
    while (n < max) {
        const struct placement_server *to =
            disk_balance_extreme(servers, count, -1, mean, moves, n);
        const struct placement_server *from = NULL;
        uint64_t most = mean;
        for (size_t i = 0; i < count && to; i++)
            if (servers[i].usable && servers[i].number != to->number &&
                disk_balance_permille(disk_balance_used(&servers[i]),
                                      servers[i].capacity_bytes) > most) {
                most = disk_balance_permille(disk_balance_used(&servers[i]),
                                             servers[i].capacity_bytes);
                from = &servers[i];
            }
        if (!to || !from || to->free_bytes < GFS_CHUNK_BYTES)
            break;
        INVARIANT(from != to);
        moves[n++] = (struct balance_move){from->number, to->number};
    }
    POST(n <= max);
    return n;
}

bool safe_mode_holds(const struct safe_mode_view *v)
{
    PRE(v->chunks_seen <= v->chunks);
    PRE(v->servers_heard <= v->servers);
    if (v->since_us >= SAFE_MODE_US_MAX)
        return false;
    if (v->servers_heard >= v->servers)
        return false;
    /* All but one in a thousand. */
    return v->chunks_seen < v->chunks - v->chunks / 1000 || v->chunks == 0;
}
