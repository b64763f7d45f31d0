/* Placement, repair, balancing and safe mode: tables of cases, and rules that
 * hold for any cluster. */
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "gfs-lite/namenode/chunk_balance.h"
#include "gfs-lite/namenode/placement.h"
#include "gfs-lite/namenode/repair.h"
#include "tests/lib/check_main.h"

#define GB ((uint64_t)1 << 30)

/* number, usable, machine, rack, GB in all, GB free, load */
static struct placement_server server(uint16_t number,
                                      uint32_t machine,
                                      uint32_t rack,
                                      uint64_t free_gb,
                                      uint32_t load)
{
    return (struct placement_server){.number = number,
                                     .usable = true,
                                     .machine = machine,
                                     .rack = rack,
                                     .capacity_bytes = 100 * GB,
                                     .free_bytes = free_gb * GB,
                                     .load = load};
}

static struct gfs_server_set
choose(const struct placement_server *s, size_t count, unsigned wanted)
{
    struct placement_wish wish = {.count = wanted};
    struct gfs_server_set out;
    placement_choose(s, count, &wish, &out);
    return out;
}

/* --- placement ----------------------------------------------------------- */

/* The second copy leaves the rack, the third goes back to neither machine. */
START_TEST(test_placement_uses_two_racks)
{
    const struct placement_server s[] = {
        server(0, 0, 0, 90, 0), server(1, 1, 0, 90, 0), server(2, 2, 0, 90, 0),
        server(3, 3, 1, 10, 9), server(4, 4, 1, 10, 9)};
    struct gfs_server_set got = choose(s, ARRAY_LEN(s), 3);
    ck_assert_uint_eq(got.count, 3);
    ck_assert_uint_eq(placement_rack_count(s, ARRAY_LEN(s), &got), 2);
}

END_TEST

/* Two servers of one machine do not hold one chunk while others can. */
START_TEST(test_placement_avoids_one_machine)
{
    const struct placement_server s[] = {
        server(0, 0, 0, 90, 0), server(1, 0, 0, 90, 0), server(2, 1, 0, 5, 20)};
    struct gfs_server_set got = choose(s, ARRAY_LEN(s), 2);
    ck_assert_uint_eq(got.count, 2);
    ck_assert(gfs_server_set_has(&got, 2));
    got = choose(s, ARRAY_LEN(s), 3);
    ck_assert_uint_eq(got.count, 3); /* Better there than nowhere. */
}

END_TEST

/* Room and load decide between servers that are equal by the rules. */
START_TEST(test_placement_by_cost)
{
    const struct placement_server by_room[] = {server(0, 0, 0, 20, 0),
                                               server(1, 1, 0, 80, 0)};
    const struct placement_server by_load[] = {server(0, 0, 0, 50, 0),
                                               server(1, 1, 0, 55, 3)};
    ck_assert_uint_eq(choose(by_room, 2, 1).numbers[0], 1);
    ck_assert_uint_eq(choose(by_load, 2, 1).numbers[0], 0);
}

END_TEST

/* The first copy is on the writer's machine when that can hold it. */
START_TEST(test_placement_near_the_writer)
{
    struct placement_server s[] = {server(0, 7, 0, 10, 9),
                                   server(1, 8, 0, 90, 0)};
    struct placement_wish wish = {
        .count = 1, .has_writer = true, .writer_machine = 7};
    struct gfs_server_set got;
    placement_choose(s, 2, &wish, &got);
    ck_assert_uint_eq(got.numbers[0], 0);
    s[0].usable = false;
    placement_choose(s, 2, &wish, &got);
    ck_assert_uint_eq(got.numbers[0], 1);
}

END_TEST

/* Whatever the cluster: only usable, not excluded, no server twice, as many as
 * can be had, two racks and different machines where they can be. */
START_TEST(test_placement_rules_hold)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        struct placement_server s[12];
        size_t count = 1 + rand_below(&r, ARRAY_LEN(s));
        struct placement_wish wish = {.count = 1 + (unsigned)rand_below(&r, 4),
                                      .chance = rand_u64(&r)};
        struct gfs_server_set got;
        size_t able = 0;
        bool roomy = true;
        for (size_t n = 0; n < count; n++) {
            s[n] = server((uint16_t)n, (uint32_t)rand_below(&r, 6),
                          (uint32_t)rand_below(&r, 3), rand_below(&r, 100),
                          (uint32_t)rand_below(&r, 20));
            s[n].rack = s[n].machine % 3;
            s[n].usable = !rand_one_in(&r, 4);
            if (rand_one_in(&r, 6))
                gfs_server_set_add(&wish.excluded, (uint16_t)n);
            if (s[n].usable && s[n].free_bytes &&
                !gfs_server_set_has(&wish.excluded, (uint16_t)n))
                able++;
        }
        placement_choose(s, count, &wish, &got);
        ck_assert_uint_eq(got.count, MIN_OF(able, wish.count));
        for (unsigned a = 0; a < got.count; a++) {
            const struct placement_server *x = &s[got.numbers[a]];
            ck_assert(x->usable && x->free_bytes);
            ck_assert(!gfs_server_set_has(&wish.excluded, x->number));
            roomy &= x->free_bytes >= GFS_CHUNK_BYTES;
            for (unsigned b = 0; b < a; b++)
                ck_assert_uint_ne(got.numbers[a], got.numbers[b]);
        }
        if (got.count >= 2 && roomy) {
            bool other = false;
            for (size_t n = 0; n < count; n++)
                other |= s[n].usable && s[n].free_bytes >= GFS_CHUNK_BYTES &&
                         !gfs_server_set_has(&wish.excluded, s[n].number) &&
                         s[n].rack != s[got.numbers[0]].rack;
            if (other)
                ck_assert_uint_ge(placement_rack_count(s, count, &got), 2);
        }
    }
}

END_TEST

/* Too many copies: the one on a shared machine goes first, then one on a rack
 * with others, then the one on the fullest disk. */
START_TEST(test_excess)
{
    const struct placement_server twins[] = {
        server(0, 0, 0, 50, 0), server(1, 1, 0, 90, 0), server(2, 1, 0, 90, 0)};
    const struct placement_server racks[] = {
        server(0, 0, 0, 1, 0), server(1, 1, 1, 50, 0), server(2, 2, 1, 60, 0)};
    const struct gfs_server_set all = {{0, 1, 2}, 3};
    ck_assert_uint_ne(placement_excess(twins, 3, &all), 0);
    ck_assert_uint_eq(placement_excess(racks, 3, &all), 1);
}

END_TEST

/* --- repair -------------------------------------------------------------- */

START_TEST(test_repair_levels)
{
    static const struct {
        struct repair_view
            view; /* wanted staying leaving racks racks servers */
        enum repair_level level;
    } cases[] = {
        {{3, 3, 0, 2, 2, 9}, REPAIR_NOTHING},
        {{3, 2, 0, 2, 2, 9}, REPAIR_SOME},
        {{3, 1, 0, 1, 2, 9}, REPAIR_LAST_COPY},
        {{6, 2, 0, 2, 2, 9}, REPAIR_FEW},
        {{3, 0, 0, 0, 2, 9}, REPAIR_LOST},
        {{3, 4, 0, 2, 2, 9}, REPAIR_EXCESS},
        {{3, 2, 1, 2, 2, 9}, REPAIR_LEAVING},
        {{3, 0, 3, 0, 2, 9}, REPAIR_LEAVING},
        {{3, 0, 1, 0, 2, 9}, REPAIR_LAST_COPY},
        {{3, 3, 0, 1, 2, 9}, REPAIR_RACK},
        {{3, 3, 0, 1, 1, 9}, REPAIR_NOTHING}, /* There is no other rack. */
        {{3, 1, 0, 1, 1, 1}, REPAIR_NOTHING}, /* Nor another server. */
        {{1, 1, 0, 1, 2, 9}, REPAIR_NOTHING},
        {{3, 3, 1, 2, 2, 9}, REPAIR_NOTHING},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ck_assert_msg(repair_level_of(&cases[i].view) == cases[i].level,
                      "case %zu: level %d", i,
                      (int)repair_level_of(&cases[i].view));
    }
}

END_TEST

/* One copy left of three comes before two left of three, whichever came
 * first. */
START_TEST(test_repair_queue_order)
{
    struct repair_queue q;
    uint64_t chunk;
    static const uint64_t want[] = {5, 2, 4, 1, 3};
    repair_queue_init(&q);
    repair_queue_add(&q, 1, REPAIR_RACK);
    repair_queue_add(&q, 2, REPAIR_SOME);
    repair_queue_add(&q, 3, REPAIR_RACK);
    repair_queue_add(&q, 4, REPAIR_SOME);
    repair_queue_add(&q, 5, REPAIR_LAST_COPY);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        ck_assert(repair_queue_take(&q, &chunk));
        ck_assert_uint_eq(chunk, want[i]);
    }
    ck_assert(!repair_queue_take(&q, &chunk));
    repair_queue_close(&q);
}

END_TEST

/* --- balance and safe mode ----------------------------------------------- */

/* Moves go from the full to the empty, and end within the band. */
START_TEST(test_balance)
{
    struct placement_server s[] = {
        server(0, 0, 0, 10, 0), server(1, 1, 0, 90, 0), server(2, 2, 0, 50, 0)};
    struct balance_move moves[4];
    size_t total = 0;
    size_t n;
    while ((n = balance_moves(s, 3, moves, 4)) > 0 && total < 10000) {
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_ne(moves[i].from, moves[i].to);
            s[moves[i].from].free_bytes += GFS_CHUNK_BYTES;
            s[moves[i].to].free_bytes -= GFS_CHUNK_BYTES;
        }
        total += n;
    }
    ck_assert_uint_gt(total, 100);
    ck_assert_uint_lt(total, 1000);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_ge(s[i].free_bytes, 39 * GB);
        ck_assert_uint_le(s[i].free_bytes, 61 * GB);
    }
}

END_TEST

START_TEST(test_safe_mode)
{
    static const struct {
        struct safe_mode_view view; /* since, chunks, seen, servers, heard */
        bool holds;
    } cases[] = {
        {{0, 1000, 0, 3, 0}, true},
        {{0, 1000, 998, 3, 2}, true},
        {{0, 1000, 999, 3, 2}, false},
        {{0, 1000, 0, 3, 3}, false}, /* All have spoken: it is as it is. */
        {{SAFE_MODE_US_MAX, 1000, 0, 3, 0}, false}, /* It ends. */
        {{0, 0, 0, 3, 0}, true},
        {{0, 0, 0, 0, 0}, false}, /* A new cluster. */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ck_assert_msg(safe_mode_holds(&cases[i].view) == cases[i].holds,
                      "case %zu", i);
}

END_TEST

TEST_MAIN("decisions",
          test_placement_uses_two_racks,
          test_placement_avoids_one_machine,
          test_placement_by_cost,
          test_placement_near_the_writer,
          test_placement_rules_hold,
          test_excess,
          test_repair_levels,
          test_repair_queue_order,
          test_balance,
          test_safe_mode)
