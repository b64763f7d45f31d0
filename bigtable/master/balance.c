/* Evening out the servers' loads, one move after the other, from the most to
 * the least loaded server. A server without a tablet worth moving is set aside
 * for the round. */
#include "bigtable/master/balance.h"

#include "base/core/panic.h"

#define NOBODY UINT32_MAX

struct balancing {
    struct balance_server *servers;
    size_t server_count;
    struct balance_tablet *tablets;
    uint32_t *first; /* First of each server's tablets in `order`, and the end.
                      */
    uint32_t *order; /* Tablets, by server. */
    bool *exhausted; /* Servers that have no tablet worth moving. */
    double mean;
};

static void group_tablets(struct balancing *b, size_t tablet_count)
{
    uint32_t *next = mem_zalloc(b->server_count + 1, sizeof(*next));
    for (size_t i = 0; i < tablet_count; i++)
        b->first[b->tablets[i].server + 1]++;
    for (size_t s = 0; s < b->server_count; s++)
        b->first[s + 1] += b->first[s];
    INVARIANT(b->first[b->server_count] == tablet_count);
    for (size_t s = 0; s < b->server_count; s++)
        next[s] = b->first[s];
    for (uint32_t i = 0; i < tablet_count; i++)
        b->order[next[b->tablets[i].server]++] = i;
    mem_free(next);
}

/* The load of a usable server if they shared all load equally. */
static double mean_load(const struct balancing *b)
{
    double sum = 0;
    size_t usable = 0;
    for (size_t s = 0; s < b->server_count; s++) {
        sum += b->servers[s].load;
        usable += b->servers[s].usable;
    }
    return usable ? sum / (double)usable : 0;
}

static uint32_t most_loaded(const struct balancing *b)
{
    uint32_t best = NOBODY;
    for (uint32_t s = 0; s < b->server_count; s++)
        if (!b->exhausted[s] &&
            (best == NOBODY || b->servers[s].load > b->servers[best].load))
            best = s;
    return best;
}

static uint32_t least_loaded(const struct balancing *b)
{
    uint32_t best = NOBODY;
    for (uint32_t s = 0; s < b->server_count; s++)
        if (b->servers[s].usable &&
            (best == NOBODY || b->servers[s].load < b->servers[best].load))
            best = s;
    return best;
}

static bool is_outside(const struct balancing *b, int percent)
{
    double band = b->mean * percent / 100;
    uint32_t most = most_loaded(b);
    uint32_t least = least_loaded(b);

    PRE(percent > 0);
    return most != NOBODY && least != NOBODY &&
           (b->servers[most].load > b->mean + band ||
            b->servers[least].load < b->mean - band);
}

/* Can @t leave @from, and does the move narrow the gap by more than a quarter
 * of its weight? */
static bool
is_worth_it(const struct balance_tablet *t, uint32_t from, double gap)
{
    double left = gap - 2 * t->weight;
    if (left < 0)
        left = -left;
    return t->movable && t->server == from && t->weight > 0 &&
           gap - left > t->weight / 4;
}

/* The tablet of @from to move to @to; NOBODY: none is worth it. The heaviest of
 * at most a tenth of the gap: heavier tablets have the busiest rows, and would
 * all gather on a new server. If all are heavier, the lightest. */
static uint32_t
best_tablet(const struct balancing *b, uint32_t from, uint32_t to)
{
    double gap = b->servers[from].load - b->servers[to].load;
    uint32_t below = NOBODY;
    uint32_t above = NOBODY;

    PRE(from < b->server_count && to < b->server_count);
    for (uint32_t i = b->first[from]; i < b->first[from + 1]; i++) {
        const struct balance_tablet *t = &b->tablets[b->order[i]];
        if (!is_worth_it(t, from, gap))
            continue;
        if (t->weight <= gap / 10) {
            if (below == NOBODY || t->weight > b->tablets[below].weight)
                below = b->order[i];
        } else if (above == NOBODY || t->weight < b->tablets[above].weight) {
            above = b->order[i];
        }
    }
    return below != NOBODY ? below : above;
}

static void
balance_move_tablet(struct balancing *b, uint32_t tablet, uint32_t to)
{
    struct balance_tablet *t = &b->tablets[tablet];
    PRE(t->movable && t->server != to && b->servers[to].usable);
    b->servers[t->server].load -= t->weight;
    b->servers[to].load += t->weight;
    t->server = to;
    /* It moves once in a round. */
    t->movable = false;
}

static size_t
balance_choose_moves(struct balancing *b, struct balance_move *out, size_t max)
{
    size_t count = 0;
    if (!is_outside(b, BALANCE_OUTER_PERCENT))
        return 0;
    while (count < max && is_outside(b, BALANCE_INNER_PERCENT)) {
        uint32_t from = most_loaded(b);
        uint32_t to = least_loaded(b);
        uint32_t tablet = best_tablet(b, from, to);
        if (tablet == NOBODY) {
            b->exhausted[from] = true;
            continue;
        }
        balance_move_tablet(b, tablet, to);
        out[count++] = (struct balance_move){tablet, to};
    }
    return count;
}

size_t balance_choose(struct balance_server *servers,
                      size_t server_count,
                      struct balance_tablet *tablets,
                      size_t tablet_count,
                      struct balance_move *out,
                      size_t max)
{
    struct balancing b = {
        .servers = servers,
        .server_count = server_count,
        .tablets = tablets,
        .first = mem_zalloc(server_count + 2, sizeof(uint32_t)),
        .order = mem_zalloc(tablet_count + 1, sizeof(uint32_t)),
        .exhausted = mem_zalloc(server_count + 1, sizeof(bool)),
    };
    size_t count;

    group_tablets(&b, tablet_count);
    b.mean = mean_load(&b);
    count = balance_choose_moves(&b, out, max);
    POST(count <= max);
    mem_free(b.first);
    mem_free(b.order);
    mem_free(b.exhausted);
    return count;
}

size_t balance_round(size_t tablet_count)
{
    return tablet_count / 100 < 2 ? 2 : tablet_count / 100;
}
