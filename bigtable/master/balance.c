/* Evening out the servers' loads, one move after the other, from the most to
 * the least loaded server. A server without a tablet worth moving is set aside
 * for the round. */
#include "bigtable/master/balance.h"

#include <math.h>

#include "base/core/panic.h"

#define NOBODY UINT32_MAX
/* Moves are planned for this number of rounds, to see what they are good for.
 */
#define PLAN_ROUNDS 20

struct balancing {
    struct balance_server *servers;
    size_t server_count;
    struct balance_tablet *tablets;
    uint32_t *first; /* First of each server's tablets in `order`, and the end.
                      */
    uint32_t *order; /* Tablets, by server. */
    struct balance_move *moves; /* Planned, */
    uint32_t *origins;          /* and where each tablet was. */
    bool *exhausted;            /* Servers that have no tablet worth moving. */
    double mean;                /* Load of a server that is not exhausted. */
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

/* The load of a usable server if those that are not exhausted shared theirs
 * equally: one that has a single heavy tablet does not count, because no move
 * brings the others closer to it. */
static double mean_load(const struct balancing *b)
{
    double sum = 0;
    size_t usable = 0;
    for (size_t s = 0; s < b->server_count; s++) {
        if (b->exhausted[s])
            continue;
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
        if (b->servers[s].usable && !b->exhausted[s] &&
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
    return most != NOBODY && least != NOBODY && most != least &&
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

    PRE(from < b->server_count);
    PRE(to < b->server_count);
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
    PRE(t->movable);
    PRE(t->server != to);
    PRE(b->servers[to].usable);
    b->servers[t->server].load -= t->weight;
    b->servers[to].load += t->weight;
    t->server = to;
    /* It moves once in a round. */
    t->movable = false;
}

static size_t balance_plan(struct balancing *b, size_t max)
{
    size_t count = 0;
    PRE(b->moves);
    PRE(b->origins);
    while (count < max && is_outside(b, count ? BALANCE_INNER_PERCENT
                                              : BALANCE_OUTER_PERCENT)) {
        uint32_t from = most_loaded(b);
        uint32_t to = least_loaded(b);
        INVARIANT(from < b->server_count);
        INVARIANT(to < b->server_count);
        uint32_t tablet = best_tablet(b, from, to);
        if (tablet == NOBODY) {
            b->exhausted[from] = true;
            b->mean = mean_load(b);
            continue;
        }
        b->origins[count] = from;
        balance_move_tablet(b, tablet, to);
        b->moves[count++] = (struct balance_move){tablet, to};
    }
    return count;
}

/* The most and the least that a server has; one that is not usable only counts
 * for the most. */
struct load_span {
    double most;
    double least;
};

static struct load_span span_of(const struct balancing *b)
{
    struct load_span s = {.least = HUGE_VAL};
    for (size_t i = 0; i < b->server_count; i++) {
        s.most = MAX_OF(s.most, b->servers[i].load);
        if (b->servers[i].usable)
            s.least = MIN_OF(s.least, b->servers[i].load);
    }
    return s;
}

/* Is a plan that ends by itself worth its moves? Where tablets are so heavy
 * that some server always lies outside of the band, each small change of loads
 * would otherwise move something. */
static bool
is_gain(const struct balancing *b, const struct load_span *was, double mean)
{
    struct load_span now = span_of(b);
    double gain = mean * (BALANCE_OUTER_PERCENT - BALANCE_INNER_PERCENT) / 100;
    return was->most - now.most >= gain || now.least - was->least >= gain;
}

/* Take back the moves [first, count). */
static void undo_moves(struct balancing *b, size_t first, size_t count)
{
    PRE(first <= count);
    for (size_t i = count; i > first; i--) {
        struct balance_tablet *t = &b->tablets[b->moves[i - 1].tablet];
        uint32_t from = b->origins[i - 1];
        INVARIANT(t->server == b->moves[i - 1].to);
        b->servers[t->server].load -= t->weight;
        b->servers[from].load += t->weight;
        t->server = from;
        t->movable = true;
    }
}

size_t balance_choose(struct balance_server *servers,
                      size_t server_count,
                      struct balance_tablet *tablets,
                      size_t tablet_count,
                      struct balance_move *out,
                      size_t max)
{
    size_t plan_max = MIN_OF(max * PLAN_ROUNDS, tablet_count);
    struct balancing b = {
        .servers = servers,
        .server_count = server_count,
        .tablets = tablets,
        .first = mem_zalloc(server_count + 2, sizeof(uint32_t)),
        .order = mem_zalloc(tablet_count + 1, sizeof(uint32_t)),
        .moves = mem_zalloc(plan_max + 1, sizeof(struct balance_move)),
        .origins = mem_zalloc(plan_max + 1, sizeof(uint32_t)),
        .exhausted = mem_zalloc(server_count + 1, sizeof(bool)),
    };
    struct load_span was = span_of(&b);
    double mean;
    size_t planned, count;

    group_tablets(&b, tablet_count);
    b.mean = mean = mean_load(&b);
    planned = balance_plan(&b, plan_max);
    count = MIN_OF(planned, max);
    if ((planned < plan_max || plan_max == tablet_count) &&
        !is_gain(&b, &was, mean))
        count = 0;
    undo_moves(&b, count, planned);
    for (size_t i = 0; i < count; i++)
        out[i] = b.moves[i];
    POST(count <= max);
    mem_free(b.first);
    mem_free(b.order);
    mem_free(b.moves);
    mem_free(b.origins);
    mem_free(b.exhausted);
    return count;
}

size_t balance_round(size_t tablet_count)
{
    return tablet_count / 100 < 2 ? 2 : tablet_count / 100;
}
