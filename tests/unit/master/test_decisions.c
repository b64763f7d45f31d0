/* The master's decisions, by tables of cases and by drawn views. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/master/assignment.h"
#include "bigtable/master/balance.h"
#include "bigtable/master/garbage.h"
#include "bigtable/master/log_schedule.h"
#include "bigtable/master/merge_choice.h"
#include "bigtable/master/pending_outputs.h"
#include "bigtable/master/shares.h"
#include "bigtable/master/weight.h"
#include "bigtable/wire/metadata.h"
#include "bigtable/wire/policy.h"
#include "tests/lib/check_main.h"

#define ROUNDS 300

/* --- weights ------------------------------------------------------------- */

/* Weights of all tablets add up to one for each server, whatever is known. */
START_TEST(test_weights_add_up)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        enum {
            N = 50
        };
        struct tablet_use u[N];
        struct weight_totals t = {.tablets = N,
                                  .servers = 1 + rand_below(&r, 20),
                                  .memory_max = rand_below(&r, 2) << 30};
        struct weight_scale s;
        double sum = 0;
        for (int i = 0; i < N; i++) {
            u[i].bytes = rand_below(&r, 3) << rand_below(&r, 30);
            u[i].memory_bytes = rand_below(&r, 3) << rand_below(&r, 25);
            u[i].requests_per_s = rand_below(&r, 3) << rand_below(&r, 10);
            t.use.bytes += u[i].bytes;
            t.use.memory_bytes += u[i].memory_bytes;
            t.use.requests_per_s += u[i].requests_per_s;
        }
        s = weight_scale_of(&t);
        for (int i = 0; i < N; i++)
            sum += weight_of(&s, &u[i]);
        ck_assert_double_eq_tol(sum, (double)t.servers, 1e-6);
    }
}

END_TEST

/* In an idle cluster a few requests weigh next to nothing. */
START_TEST(test_few_requests_weigh_little)
{
    struct weight_totals t = {
        .tablets = 100, .servers = 10, .use = {.requests_per_s = 10}};
    struct weight_scale s = weight_scale_of(&t);
    struct tablet_use busy = {.requests_per_s = 5};
    struct tablet_use idle = {0};
    ck_assert_double_lt(weight_of(&s, &busy), 2 * weight_of(&s, &idle));
}

END_TEST

/* --- assignment ---------------------------------------------------------- */

static struct assignment_server server(uint64_t number, double load)
{
    return (struct assignment_server){
        .number = number, .load = load, .room = 8};
}

/* Nothing of a level is given out before the levels below are open for it. */
START_TEST(test_root_then_metadata_then_users)
{
    struct assignment_tablet t[] = {{LEVEL_USER, 1, 0, 0},
                                    {LEVEL_METADATA, 1, 0, 0},
                                    {LEVEL_ROOT, 1, 0, 0}};
    struct assignment out[3];
    for (int up_to = LEVEL_ROOT; up_to <= LEVEL_USER; up_to++) {
        struct assignment_server s[] = {server(1, 0)};
        size_t n = assignment_choose(s, 1, t, 3, (enum tablet_level)up_to, out);
        ck_assert_uint_eq(n, (size_t)up_to + 1);
        ck_assert_uint_eq(out[0].tablet, 2);
        if (n == 3)
            ck_assert_uint_eq(out[1].tablet, 1);
    }
}

END_TEST

/* The least loaded server has it; unless it is full of orders, its memory is
 * nearly used up, or it failed to load the tablet before and is not alone. */
START_TEST(test_which_server)
{
    struct assignment_tablet t = {LEVEL_USER, 0.1, 0, 0};
    struct assignment out;

    struct {
        struct assignment_server s[3];
        uint64_t avoid;
        uint64_t only;
        int want; /* -1: nobody. */
    } cases[] = {
        {{server(1, 3), server(2, 1), server(3, 2)}, 0, 0, 1},
        {{server(1, 3), server(2, 1), server(3, 2)}, 2, 0, 2},
        {{server(1, 3), server(2, 1), server(3, 2)}, 0, 1, 0},
        {{server(1, 3), server(2, 1), server(3, 2)}, 0, 9, -1},
        {{server(1, 1), server(2, 1), server(3, 1)}, 0, 0, 0},
        {{server(1, 3), {2, 1, 95, 100, 8}, server(3, 4)}, 0, 0, 0},
        {{{1, 3, 95, 100, 8}, {2, 1, 95, 100, 8}, {3, 2, 95, 100, 8}}, 0, 0, 1},
        {{server(1, 3), {2, 1, 0, 0, 0}, server(3, 4)}, 0, 0, 0},
        {{{1, 3, 0, 0, 0}, {2, 1, 0, 0, 0}, {3, 2, 0, 0, 0}}, 0, 0, -1},
        {{{1, 3, 0, 0, 0}, server(2, 1), {3, 2, 0, 0, 0}}, 2, 0, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n;
        t.avoid = cases[i].avoid;
        t.only = cases[i].only;
        n = assignment_choose(cases[i].s, 3, &t, 1, LEVEL_USER, &out);
        ck_assert_msg((int)n == (cases[i].want >= 0), "case %zu", i);
        if (n)
            ck_assert_msg((int)out.server == cases[i].want, "case %zu", i);
    }
}

END_TEST

/* Each tablet is given once, no server gets more than it has room for, all
 * that there is room for is given, and loads differ by little. */
START_TEST(test_assignment_of_drawn_pictures)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        enum {
            S = 20,
            T = 400
        };
        struct assignment_server s[S];
        static struct assignment_tablet t[T];
        static struct assignment out[T];
        static bool seen[T];
        uint32_t given[S] = {0}, room[S];
        size_t servers = 1 + rand_below(&r, S), all_room = 0, n;
        size_t tablets = rand_below(&r, T + 1);
        bool plenty = rand_one_in(&r, 2);
        double most = 0, least = 1e9;
        memset(seen, 0, sizeof(seen));
        for (size_t i = 0; i < servers; i++) {
            s[i] = server(i + 1, 0);
            s[i].room = plenty ? T : (uint32_t)rand_below(&r, 10);
            room[i] = s[i].room;
            all_room += room[i];
        }
        for (size_t i = 0; i < tablets; i++)
            t[i] = (struct assignment_tablet){
                LEVEL_USER, 0.1 + rand_double(&r), 0,
                rand_one_in(&r, 20) ? rand_below(&r, servers) : 0};
        n = assignment_choose(s, servers, t, tablets, LEVEL_USER, out);
        ck_assert_uint_eq(n, tablets < all_room ? tablets : all_room);
        for (size_t i = 0; i < n; i++) {
            ck_assert(!seen[out[i].tablet]);
            seen[out[i].tablet] = true;
            ck_assert_uint_le(++given[out[i].server], room[out[i].server]);
        }
        for (size_t i = 0; plenty && i < servers; i++) {
            most = s[i].load > most ? s[i].load : most;
            least = s[i].load < least ? s[i].load : least;
        }
        if (plenty)
            ck_assert_double_le(most - least, 2.3);
    }
}

END_TEST

/* --- balance ------------------------------------------------------------- */

struct cluster {
    struct balance_server s[30];
    struct balance_tablet t[2000];
    size_t servers, tablets;
};

static void start(struct cluster *c, size_t servers)
{
    memset(c, 0, sizeof(*c));
    c->servers = servers;
}

static void place(struct cluster *c, uint32_t s, double weight)
{
    c->t[c->tablets++] = (struct balance_tablet){s, weight, true};
    c->s[s].load += weight;
}

static void worst(const struct cluster *c, double *most, double *least)
{
    double sum = 0;
    size_t usable = 0;
    *most = 0;
    *least = 1e9;
    for (size_t i = 0; i < c->servers; i++) {
        sum += c->s[i].load;
        usable += c->s[i].usable;
    }
    for (size_t i = 0; i < c->servers; i++) {
        double part = c->s[i].load / (sum / (double)usable);
        *most = part > *most ? part : *most;
        if (c->s[i].usable)
            *least = part < *least ? part : *least;
    }
}

/* Nothing moves while all are within the band; what cannot be better stays. */
START_TEST(test_balance_leaves_alone)
{
    struct balance_move out[10];
    static struct cluster c;
    start(&c, 3);
    for (uint32_t s = 0; s < 3; s++) {
        c.s[s].usable = true;
        for (int i = 0; i < 10; i++)
            place(&c, s, 0.1);
    }
    place(&c, 0, 0.1); /* A tenth more than the others. */
    ck_assert_uint_eq(balance_choose(c.s, c.servers, c.t, c.tablets, out, 10),
                      0);
    /* One big tablet and two idle servers: to move it helps nobody. */
    start(&c, 3);
    for (uint32_t s = 0; s < 3; s++)
        c.s[s].usable = true;
    place(&c, 0, 3);
    ck_assert_uint_eq(balance_choose(c.s, c.servers, c.t, c.tablets, out, 10),
                      0);
    /* Nor does anything that may not move. */
    place(&c, 0, 3);
    c.t[0].movable = c.t[1].movable = false;
    ck_assert_uint_eq(balance_choose(c.s, c.servers, c.t, c.tablets, out, 10),
                      0);
}

END_TEST

/* A server that shall get nothing more may only give. */
START_TEST(test_balance_never_gives_to_unusable)
{
    struct balance_move out[100];
    static struct cluster c;
    size_t n;
    start(&c, 3);
    c.s[1].usable = c.s[2].usable = true;
    for (int i = 0; i < 30; i++)
        place(&c, 1, 0.1);
    n = balance_choose(c.s, c.servers, c.t, c.tablets, out, 100);
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(out[i].to, 2);
}

END_TEST

/* Rounds of moves end with all servers inside the outer band, when tablets are
 * small beside a server; no tablet moves twice in a round; the next round has
 * nothing to do. */
START_TEST(test_balance_of_drawn_pictures)
{
    struct rand_gen r;
    static struct balance_move out[2000];
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS / 3; round++) {
        static struct cluster c;
        double most, least;
        int rounds = 0;
        size_t n;
        start(&c, 2 + rand_below(&r, 28));
        for (size_t s = 0; s < c.servers; s++)
            c.s[s].usable = true;
        for (int i = 0; i < 2000; i++)
            place(&c, (uint32_t)rand_below(&r, 1 + rand_below(&r, c.servers)),
                  0.1 + rand_double(&r));
        do {
            n = balance_choose(c.s, c.servers, c.t, c.tablets, out,
                               balance_round(c.tablets));
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++)
                    ck_assert_uint_ne(out[i].tablet, out[j].tablet);
            for (size_t i = 0; i < c.tablets; i++)
                c.t[i].movable = true;
        } while (n > 0 && ++rounds < 2000);
        worst(&c, &most, &least);
        ck_assert_double_le(most, 1.2);
        ck_assert_double_ge(least, 0.8);
    }
}

END_TEST

/* Make the moves of one round on @was, and check each: it narrows the gap of
 * two servers, so that the sum of squares falls and no server gets more than
 * the most loaded had. */
static void follow_moves(struct cluster *was,
                         const struct balance_move *moves,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct balance_tablet *t = &was->t[moves[i].tablet];
        struct balance_server *from = &was->s[t->server];
        struct balance_server *to = &was->s[moves[i].to];
        double before = from->load * from->load + to->load * to->load;
        double most = from->load;
        ck_assert(t->movable && to->usable && from != to);
        from->load -= t->weight;
        to->load += t->weight;
        t->server = moves[i].to;
        ck_assert_double_lt(from->load * from->load + to->load * to->load,
                            before);
        ck_assert_double_le(to->load, most);
    }
}

/* All rounds until nothing moves; returns the number of moves. */
static size_t balance_to_rest(struct cluster *c)
{
    static struct balance_move out[2000];
    static struct cluster was;
    size_t moves = 0;
    size_t n;
    do {
        for (size_t i = 0; i < c->tablets; i++)
            c->t[i].movable = true;
        was = *c;
        n = balance_choose(c->s, c->servers, c->t, c->tablets, out,
                           balance_round(c->tablets));
        follow_moves(&was, out, n);
        moves += n;
        ck_assert_uint_le(moves, 2 * c->tablets);
    } while (n > 0);
    return moves;
}

/* Every cell comes to rest, whatever its tablets weigh, and small changes of
 * the weights move hardly anything. */
START_TEST(test_balance_comes_to_rest)
{
    struct rand_gen r;
    size_t noise_moves = 0;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS / 3; round++) {
        static struct cluster c;
        size_t tablets = 1 + rand_below(&r, 1000);
        unsigned tail = (unsigned)rand_below(&r, 12);
        start(&c, 2 + rand_below(&r, 28));
        for (size_t s = 0; s < c.servers; s++)
            c.s[s].usable = s == 0 || !rand_one_in(&r, 10);
        for (size_t i = 0; i < tablets; i++)
            place(&c, (uint32_t)rand_below(&r, 1 + rand_below(&r, c.servers)),
                  (1 + rand_double(&r)) *
                      (double)(UINT64_C(1) << rand_below(&r, tail + 1)));
        balance_to_rest(&c);
        for (int shake = 0; shake < 10; shake++) {
            for (size_t i = 0; i < c.tablets; i++) {
                double change = c.t[i].weight * (rand_double(&r) - 0.5) / 50;
                c.t[i].weight += change;
                c.s[c.t[i].server].load += change;
            }
            noise_moves += balance_to_rest(&c);
        }
    }
    /* Fewer than one for each five changes of all weights. */
    ck_assert_uint_le(noise_moves, (size_t)ROUNDS / 3 * 10 / 5);
}

END_TEST

/* Thousands of nearly empty tablets and one of some megabytes: the few bytes do
 * not drive the others away, and there is an end. */
START_TEST(test_balance_of_a_nearly_empty_cluster)
{
    enum {
        TINY = 1999,
        HEAVY_BYTES = 27 << 20
    };
    static struct cluster c;
    const struct tablet_use tiny = {.bytes = 100};
    const struct tablet_use heavy = {.bytes = HEAVY_BYTES};
    struct weight_totals t = {.tablets = TINY + 1,
                              .servers = 3,
                              .use = {.bytes = HEAVY_BYTES + TINY * 100}};
    struct weight_scale scale = weight_scale_of(&t);
    start(&c, 3);
    for (uint32_t s = 0; s < 3; s++)
        c.s[s].usable = true;
    for (uint32_t i = 0; i < TINY; i++)
        place(&c, i % 3, weight_of(&scale, &tiny));
    place(&c, 0, weight_of(&scale, &heavy));
    ck_assert_uint_eq(balance_to_rest(&c), 0);
}

END_TEST

/* --- merges -------------------------------------------------------------- */

START_TEST(test_merges)
{
    struct merge_rules r = {100, 10, 50};
    uint32_t out[4];

    struct {
        struct merge_tablet t[3];
        size_t want;
        uint32_t first;
    } cases[] = {
        {{{2, 50, 5, 60, true}, {2, 50, 5, 60, true}, {2, 1, 0, 60, true}},
         1,
         0},
        {{{2, 51, 5, 60, true}, {2, 50, 5, 60, true}, {2, 1, 0, 60, true}},
         1,
         1},
        {{{2, 5, 6, 60, true}, {2, 5, 5, 60, true}, {2, 1, 9, 60, true}}, 0, 0},
        {{{2, 5, 5, 60, true}, {3, 5, 5, 60, true}, {4, 1, 0, 60, true}}, 0, 0},
        {{{2, 5, 5, 60, true}, {2, 5, 5, 40, true}, {2, 1, 0, 60, true}}, 0, 0},
        {{{2, 5, 5, 60, false}, {2, 5, 5, 60, true}, {2, 1, 0, 60, true}},
         1,
         1},
        {{{2, ~0ull, 5, 60, true}, {2, 5, 5, 60, true}, {3, 1, 0, 60, true}},
         0,
         0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n = merge_choose(&r, cases[i].t, 3, out, 4);
        ck_assert_msg(n == cases[i].want, "case %zu: %zu", i, n);
        if (n)
            ck_assert_msg(out[0] == cases[i].first, "case %zu", i);
    }
    ck_assert_uint_eq(merge_choose(&r, cases[0].t, 0, out, 4), 0);
}

END_TEST

/* --- logs ---------------------------------------------------------------- */

static void end_sort(struct sort_segment *g,
                     struct sort_server *s,
                     bool failed,
                     size_t *done)
{
    g->at[g->at[1] == s->number] = 0;
    s->running--;
    if (failed)
        g->failed = s->number;
    else if (!g->done)
        ++*done, g->done = true;
}

/* With servers and orders that fail at random, every segment gets sorted, no
 * server ever has more than its share, none is asked twice at once for one. */
START_TEST(test_logs_get_sorted)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        enum {
            S = 5,
            G = 30
        };
        struct sort_server s[S];
        struct sort_segment g[G];

        struct {
            uint32_t segment, server;
        } running[S * LOG_SORTS_PER_SERVER];

        size_t servers = 1 + rand_below(&r, S), n_running = 0, done = 0;
        uint64_t now = 0;
        memset(g, 0, sizeof(g));
        for (size_t i = 0; i < servers; i++)
            s[i] = (struct sort_server){i + 1, 0};
        while (done < G) {
            struct sort_order out[G];
            size_t n = log_schedule_choose(s, servers, g, G, now, out);
            for (size_t i = 0; i < n; i++) {
                struct sort_segment *x = &g[out[i].segment];
                int slot = x->at[0] != 0;
                ck_assert(!x->done);
                ck_assert_uint_eq(x->at[slot], 0);
                ck_assert_uint_ne(x->at[!slot], s[out[i].server].number);
                x->at[slot] = s[out[i].server].number;
                x->since_us = now;
                running[n_running].segment = out[i].segment;
                running[n_running++].server = out[i].server;
                ck_assert_uint_le(s[out[i].server].running,
                                  LOG_SORTS_PER_SERVER);
            }
            ck_assert_uint_gt(n_running, 0);
            now += rand_below(&r, 20000000);
            n = rand_below(&r, n_running);
            end_sort(&g[running[n].segment], &s[running[n].server],
                     rand_one_in(&r, 3), &done);
            running[n] = running[--n_running];
        }
    }
}

END_TEST

/* A sort that failed is tried again at its time, not at once. */
START_TEST(test_a_failed_sort_waits)
{
    struct sort_server s = {1, 0};
    struct sort_segment g = {.failed = 1, .not_before_us = 100};
    struct sort_order out;
    ck_assert_uint_eq(log_schedule_choose(&s, 1, &g, 1, 99, &out), 0);
    ck_assert_uint_eq(log_schedule_choose(&s, 1, &g, 1, 100, &out), 1);
}

END_TEST

/* --- pending_outputs ----------------------------------------------------- */

static void
read_for(struct pending_outputs *m, uint64_t decided_7, bool place_5)
{
    pending_outputs_begin(m, 7);
    pending_outputs_alive(m, 7, cluster_id(7, decided_7));
    if (place_5)
        pending_outputs_place(m, 5);
    pending_outputs_end(m);
}

/* Files of a server that is alive are done with when they were decided before
 * the older of two readings; those of a dead one when no record named it; those
 * of one that came later are not. */
START_TEST(test_pending_outputs)
{
    struct pending_outputs m;
    pending_outputs_init(&m);
    read_for(&m, 3, true);
    ck_assert(!pending_outputs_are_settled(
        &m, cluster_id(7, 2))); /* One reading only. */
    read_for(&m, 9, false);
    ck_assert(pending_outputs_are_settled(&m, cluster_id(7, 2)));
    ck_assert(!pending_outputs_are_settled(&m, cluster_id(7, 3)));
    ck_assert(!pending_outputs_are_settled(&m, cluster_id(5, 1)));
    ck_assert(pending_outputs_are_settled(&m, cluster_id(4, 1)));
    ck_assert(!pending_outputs_are_settled(&m, cluster_id(8, 1)));
    pending_outputs_begin(&m, 9);
    pending_outputs_abandon(&m);
    ck_assert(!pending_outputs_are_settled(&m, cluster_id(7, 3)));
    read_for(&m, 9, false);
    ck_assert(pending_outputs_are_settled(&m, cluster_id(7, 3)));
    ck_assert(!pending_outputs_are_settled(&m, cluster_id(7, 9)));
    ck_assert(pending_outputs_are_settled(&m, cluster_id(5, 1)));
    pending_outputs_close(&m);
}

END_TEST

/* --- garbage ------------------------------------------------------------- */

/* A file goes when it is old and two whole readings in a row did not meet it;
 * a reading that broke off counts for nothing. */
START_TEST(test_garbage)
{
    struct garbage g;
    garbage_init(&g);
    garbage_begin(&g);
    garbage_mark(&g, 1);
    garbage_end(&g);
    ck_assert(!garbage_is_due(&g, 2, 100, 10)); /* One reading only. */
    garbage_begin(&g);
    garbage_mark(&g, 3);
    garbage_end(&g);
    ck_assert(garbage_is_due(&g, 2, 100, 10));
    ck_assert(!garbage_is_due(&g, 2, 10, 10)); /* Too young. */
    ck_assert(!garbage_is_due(&g, 1, 100, 10));
    ck_assert(!garbage_is_due(&g, 3, 100, 10));
    garbage_begin(&g);
    garbage_abandon(&g);
    ck_assert(!garbage_is_due(&g, 1, 100, 10));
    garbage_begin(&g);
    garbage_end(&g);
    ck_assert(garbage_is_due(&g, 1, 100, 10));
    ck_assert(!garbage_is_due(&g, 3, 100, 10));
    garbage_close(&g);
}

END_TEST

/* --- shares of rates ----------------------------------------------------- */

/* Shares of drawn servers are not above the whole together, none is nothing,
 * and the server that is asked for most has most. */
START_TEST(test_shares_of_drawn_servers)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        struct share_server s[8];
        size_t count = rand_below(&r, ARRAY_LEN(s) + 1);
        size_t most = 0;
        uint64_t sum = 0;
        uint64_t number;
        uint32_t part[ARRAY_LEN(s)] = {0};
        struct slice rest;
        for (size_t i = 0; i < count; i++) {
            s[i] = (struct share_server){i + 1, 2, rand_below(&r, 1000)};
            most = s[i].requests_per_s > s[most].requests_per_s ? i : most;
        }
        buf_clear(&b);
        shares_choose(s, count, &b);
        rest = buf_slice(&b);
        for (size_t i = 0; i < count; i++) {
            ck_assert(table_share_get(&rest, &number, &part[i]));
            ck_assert_uint_eq(number, i + 1);
            ck_assert_uint_gt(part[i], 0);
            sum += part[i];
        }
        ck_assert(!table_share_get(&rest, &number, &part[0]));
        ck_assert_uint_le(sum, SHARE_WHOLE);
        ck_assert_uint_ge(sum, count ? SHARE_WHOLE - count : 0);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_ge(part[most], part[i]);
    }
    buf_close(&b);
}

END_TEST

/* Where all rows are of one server it has nearly all; two that both want more
 * than they have get even shares in a while, however it began. */
START_TEST(test_shares_follow_use)
{
    struct share_server s[] = {{1, 1, 100}, {2, 3, 0}};
    uint32_t part[2] = {0};
    struct buf b = BUF_INIT;
    struct buf before = BUF_INIT;
    struct table_policy p = {.has_access = false};
    shares_choose(s, 2, &before);
    p.shares = buf_slice(&before);
    ck_assert(table_policy_share(&p, 1, &part[0]));
    ck_assert_uint_ge(part[0], SHARE_WHOLE / 10 * 9);
    s[1].tablets = 1;
    for (int second = 0; second < 40; second++) {
        buf_clear(&b);
        shares_choose(s, 2, &b);
        p.shares = buf_slice(&b);
        for (size_t i = 0; i < 2; i++) {
            ck_assert(table_policy_share(&p, i + 1, &part[i]));
            s[i].requests_per_s = part[i]; /* It gives all it may. */
        }
    }
    ck_assert_uint_le(part[0] - part[1], SHARE_WHOLE / 20);
    ck_assert(shares_differ(buf_slice(&b), buf_slice(&before)));
    ck_assert(shares_differ(buf_slice(&b), SLICE_EMPTY));
    ck_assert(!shares_differ(buf_slice(&b), buf_slice(&b)));
    buf_close(&b);
    buf_close(&before);
}

END_TEST

TEST_MAIN("decisions",
          test_shares_of_drawn_servers,
          test_shares_follow_use,
          test_weights_add_up,
          test_few_requests_weigh_little,
          test_root_then_metadata_then_users,
          test_which_server,
          test_assignment_of_drawn_pictures,
          test_balance_leaves_alone,
          test_balance_never_gives_to_unusable,
          test_balance_of_drawn_pictures,
          test_balance_comes_to_rest,
          test_balance_of_a_nearly_empty_cluster,
          test_merges,
          test_logs_get_sorted,
          test_a_failed_sort_waits,
          test_pending_outputs,
          test_garbage)
