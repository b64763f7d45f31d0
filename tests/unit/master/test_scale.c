/* A thousand servers and a hundred thousand tablets, with time simulated: all
 * are assigned within a minute of a cold start, no server's load is further
 * than a fifth from the mean, and one more server moves at most two tablets in
 * a hundred. The decisions are those of the master; what is made up is how long
 * servers take, and how much METADATA can write. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "bigtable/master/assignment.h"
#include "bigtable/master/balance.h"
#include "bigtable/master/weight.h"
#include "tests/lib/check_main.h"

enum {
    SERVERS = 1000,
    METADATA_TABLETS = 10,
    TABLETS = 100000,
    ROOM = 8,           /* Orders a server has at once, */
    LOADERS = 4,        /* and carries out at once. */
    STEP_MS = 250,      /* The master looks again. */
    WRITES_PER_S = 4000 /* Locations METADATA takes. */
};

#define NOBODY UINT32_MAX

struct tablet {
    enum tablet_level level;
    struct tablet_use use;
    uint32_t server;
    uint64_t ready_ms; /* When it is served; ~0: not ordered. */
};

struct world_of_tablets {
    struct rand_gen random;
    struct tablet *tablets;
    uint64_t loader_free_ms[SERVERS + 1][LOADERS];
    size_t servers;
};

/* Sizes and requests as they are: many small, few large. */
static uint64_t skewed(struct rand_gen *r, double median, double sigma)
{
    double u = rand_double(r) + 1e-12, v = rand_double(r);
    double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    return (uint64_t)(median * exp(sigma * normal));
}

static void make(struct world_of_tablets *w)
{
    memset(w, 0, sizeof(*w));
    rand_init(&w->random, test_seed());
    w->servers = SERVERS;
    w->tablets = mem_zalloc(TABLETS, sizeof(*w->tablets));
    for (size_t i = 0; i < TABLETS; i++) {
        struct tablet *t = &w->tablets[i];
        t->level = i == 0                  ? LEVEL_ROOT
                   : i <= METADATA_TABLETS ? LEVEL_METADATA
                                           : LEVEL_USER;
        t->use.bytes = skewed(&w->random, 150e6, 0.9);
        if (t->use.bytes > 1ull << 30)
            t->use.bytes = 1ull << 30;
        t->server = NOBODY;
        t->ready_ms = ~0ull;
    }
}

static struct weight_scale scale(const struct world_of_tablets *w)
{
    struct weight_totals t = {.tablets = TABLETS, .servers = w->servers};
    for (size_t i = 0; i < TABLETS; i++) {
        t.use.bytes += w->tablets[i].use.bytes;
        t.use.requests_per_s += w->tablets[i].use.requests_per_s;
    }
    return weight_scale_of(&t);
}

/* One in a hundred loads straggles. */
static uint64_t load_ms(struct world_of_tablets *w)
{
    return rand_one_in(&w->random, 100) ? 4000 + rand_below(&w->random, 4000)
                                        : skewed(&w->random, 120, 0.6);
}

static uint64_t
order(struct world_of_tablets *w, uint32_t server, uint64_t now_ms)
{
    uint64_t *loader = &w->loader_free_ms[server][0];
    for (int i = 1; i < LOADERS; i++)
        if (w->loader_free_ms[server][i] < *loader)
            loader = &w->loader_free_ms[server][i];
    if (*loader < now_ms)
        *loader = now_ms;
    *loader += load_ms(w);
    return *loader;
}

static enum tablet_level open_level(const struct world_of_tablets *w,
                                    uint64_t now_ms)
{
    for (size_t i = 0; i <= METADATA_TABLETS; i++)
        if (w->tablets[i].ready_ms > now_ms)
            return w->tablets[i].level;
    return LEVEL_USER;
}

/* One look of the master; returns the tablets that are not served yet. */
static size_t look(struct world_of_tablets *w, uint64_t now_ms)
{
    struct weight_scale sc = scale(w);
    static struct assignment_server s[SERVERS + 1];
    static struct assignment_tablet t[TABLETS];
    static struct assignment out[TABLETS];
    static uint32_t which[TABLETS];
    size_t unassigned = 0, unserved = 0, n;
    for (size_t i = 0; i < w->servers; i++)
        s[i] = (struct assignment_server){.number = i + 1, .room = ROOM};
    for (uint32_t i = 0; i < TABLETS; i++) {
        struct tablet *x = &w->tablets[i];
        unserved += x->ready_ms > now_ms;
        if (x->server == NOBODY) {
            which[unassigned] = i;
            t[unassigned++] = (struct assignment_tablet){
                .level = x->level, .weight = weight_of(&sc, &x->use)};
            continue;
        }
        s[x->server].load += weight_of(&sc, &x->use);
        if (x->ready_ms > now_ms)
            s[x->server].room -= s[x->server].room > 0;
    }
    n = assignment_choose(s, w->servers, t, unassigned, open_level(w, now_ms),
                          out);
    if (n > WRITES_PER_S * STEP_MS / 1000)
        n = WRITES_PER_S * STEP_MS / 1000;
    for (size_t i = 0; i < n; i++) {
        struct tablet *x = &w->tablets[which[out[i].tablet]];
        x->server = out[i].server;
        x->ready_ms = order(w, x->server, now_ms);
    }
    return unserved;
}

/* The furthest a server is from the mean, as a part of it. */
static double spread(const struct world_of_tablets *w)
{
    struct weight_scale sc = scale(w);
    static double load[SERVERS + 1];
    double worst = 0;
    memset(load, 0, sizeof(load));
    for (size_t i = 0; i < TABLETS; i++)
        if (w->tablets[i].server != NOBODY)
            load[w->tablets[i].server] += weight_of(&sc, &w->tablets[i].use);
    for (size_t i = 0; i < w->servers; i++)
        if (fabs(load[i] - 1) > worst)
            worst = fabs(load[i] - 1);
    return worst;
}

/* Rounds of balancing until one finds nothing to do; returns the moves. */
static size_t balance(struct world_of_tablets *w, bool *moved)
{
    static struct balance_server s[SERVERS + 1];
    static struct balance_tablet t[TABLETS];
    static struct balance_move out[TABLETS];
    struct weight_scale sc = scale(w);
    size_t moves = 0, n;
    do {
        memset(s, 0, sizeof(s));
        for (size_t i = 0; i < TABLETS; i++) {
            struct tablet *x = &w->tablets[i];
            t[i] = (struct balance_tablet){x->server, weight_of(&sc, &x->use),
                                           x->level == LEVEL_USER};
            s[x->server].load += t[i].weight;
        }
        for (size_t i = 0; i < w->servers; i++)
            s[i].usable = true;
        n = balance_choose(s, w->servers, t, TABLETS, out,
                           balance_round(TABLETS));
        for (size_t i = 0; i < n; i++) {
            w->tablets[out[i].tablet].server = out[i].to;
            moved[out[i].tablet] = true;
        }
        moves += n;
    } while (n > 0);
    return moves;
}

static uint64_t assign_all(struct world_of_tablets *w)
{
    uint64_t now_ms = 0;
    while (look(w, now_ms) > 0) {
        now_ms += STEP_MS;
        ck_assert_uint_lt(now_ms, 600000);
    }
    return now_ms;
}

/* All is assigned within 60 s, evenly; requests come, and it is evened out
 * again; one more server gets its part with few moves; one that dies gives its
 * part to all others within seconds. */
START_TEST(test_cold_start_and_change)
{
    static struct world_of_tablets w;
    static bool moved[TABLETS];
    uint64_t ms;
    size_t moves, again = 0;
    make(&w);
    ms = assign_all(&w);
    printf("cold start: %d tablets on %d servers assigned and loaded in %.1f "
           "s, loads within %.1f %% of the mean\n",
           TABLETS, SERVERS, (double)ms / 1000, 100 * spread(&w));
    ck_assert_uint_le(ms, 60000);
    ck_assert_double_le(spread(&w), 0.2);
    for (size_t i = 0; i < TABLETS; i++)
        w.tablets[i].use.requests_per_s = skewed(&w.random, 8, 1.3);
    printf("requests come: loads within %.1f %%", 100 * spread(&w));
    moves = balance(&w, moved);
    printf(", after %zu moves within %.1f %%\n", moves, 100 * spread(&w));
    ck_assert_double_le(spread(&w), 0.2);
    memset(moved, 0, sizeof(moved));
    w.servers++;
    moves = balance(&w, moved);
    for (size_t i = 0; i < TABLETS; i++)
        again += moved[i];
    printf("one more server: %zu moves (%.2f %% of the tablets), loads within "
           "%.1f %%\n",
           moves, 100.0 * (double)again / TABLETS, 100 * spread(&w));
    ck_assert_uint_le(moves, TABLETS / 50);
    ck_assert_double_le(spread(&w), 0.2);
    for (size_t i = METADATA_TABLETS + 1; i < TABLETS; i++)
        if (w.tablets[i].server == SERVERS) {
            w.tablets[i].server = NOBODY;
            w.tablets[i].ready_ms = ~0ull;
        } else {
            w.tablets[i].ready_ms = 0;
        }
    memset(w.loader_free_ms, 0, sizeof(w.loader_free_ms));
    w.servers--;
    ms = assign_all(&w);
    printf("a server dies: its tablets served again %.1f s later, loads within "
           "%.1f %%",
           (double)ms / 1000, 100 * spread(&w));
    moves = balance(&w, moved);
    printf(", after %zu moves within %.1f %%\n", moves, 100 * spread(&w));
    ck_assert_double_le(spread(&w), 0.2);
    mem_free(w.tablets);
}

END_TEST

TEST_MAIN("scale", test_cold_start_and_change)
