/* A client reaches the server that leads, whatever it was told before, and asks
 * no server for ever. */
#include <stdio.h>
#include <string.h>

#include "base/core/err.h"
#include "base/core/rand.h"
#include "base/session/leader_choice.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static struct leader_choice choice_of(unsigned servers)
{
    struct leader_choice c = {.count = 0};
    for (unsigned i = 0; i < servers; i++) {
        char address[16];
        snprintf(address, sizeof(address), "s%u:1", i);
        leader_choice_add(&c, slice_str(address));
    }
    return c;
}

static void ask_in_vain(struct leader_choice *c, const char *hint)
{
    char asked[LEADER_ADDRESS_BYTES];
    strcpy(asked, leader_choice_current(c));
    leader_choice_failed(c, asked, hint);
}

#define ASKS(c, address) ck_assert_str_eq(leader_choice_current(c), address)

/* --- Tests --------------------------------------------------------------- */

/* Servers in turn, a hint at once, also to an unknown address; a hint to the
 * server that gave it is none. */
START_TEST(test_turns_and_hints)
{
    struct leader_choice c = choice_of(3);
    leader_choice_add(&c, SLICE_LIT("s1:1"));
    leader_choice_add(&c, SLICE_LIT(""));
    ck_assert_uint_eq(c.count, 3);
    ASKS(&c, "s0:1");
    ask_in_vain(&c, "");
    ASKS(&c, "s1:1");
    ask_in_vain(&c, "new:1");
    ASKS(&c, "new:1");
    ask_in_vain(&c, "new:1");
    ASKS(&c, "s0:1");
    ask_in_vain(&c, "s2:1");
    ASKS(&c, "s2:1");
    ask_in_vain(&c, "");
    ASKS(&c, "new:1");
    leader_choice_close(&c);
}

END_TEST

/* Of calls that fail together the first moves on; the others follow it. */
START_TEST(test_calls_that_fail_together)
{
    struct leader_choice c = choice_of(3);
    leader_choice_failed(&c, "s0:1", "s2:1");
    leader_choice_failed(&c, "s0:1", "");
    leader_choice_failed(&c, "s0:1", "s1:1");
    ASKS(&c, "s2:1");
    leader_choice_close(&c);
}

END_TEST

/* Members are replaced again and again while a client lives: it finds each
 * leader, by turns through the configured servers, in bounded memory. */
START_TEST(test_members_come_and_go)
{
    struct rand_gen g;
    struct leader_choice c = choice_of(3);
    rand_init(&g, test_seed());
    for (unsigned i = 0; i < 1000; i++) {
        char leads[16];
        unsigned tries = 0;
        snprintf(leads, sizeof(leads), "m%u:1", (unsigned)rand_below(&g, 300));
        while (strcmp(leader_choice_current(&c), leads) != 0) {
            bool knows = leader_choice_current(&c)[0] == 's';
            ask_in_vain(&c, knows ? leads : "");
            ck_assert_uint_le(++tries, c.count);
        }
        ck_assert_uint_le(c.count, 3 + LEADER_LEARNED_MAX);
        for (unsigned k = 0; k < 3; k++)
            ck_assert(c.addresses[k][0] == 's');
        for (size_t k = 0; k < c.count; k++)
            for (size_t n = 0; n < k; n++)
                ck_assert_str_ne(c.addresses[k], c.addresses[n]);
    }
    leader_choice_close(&c);
}

END_TEST

/* A call ends when each configured server has said that it does not know the
 * method, and not before; one that says something else is asked again. */
START_TEST(test_other_services)
{
    struct leader_choice c = choice_of(2);
    struct leader_search s = {.tries = 0};
    ck_assert(leader_search_continue(&s, &c, "s0:1", ERR_UNSUPPORTED));
    ck_assert(leader_search_continue(&s, &c, "s0:1", ERR_UNSUPPORTED));
    ck_assert(leader_search_continue(&s, &c, "s0:1", ERR_UNAVAILABLE));
    ck_assert(leader_search_continue(&s, &c, "s1:1", ERR_UNSUPPORTED));
    ck_assert(!leader_search_continue(&s, &c, "s0:1", ERR_UNSUPPORTED));
    ck_assert_uint_eq(s.tries, 5);
    leader_choice_close(&c);
}

END_TEST

/* The first round does not wait, later ones wait longer, up to a bound. */
START_TEST(test_pauses)
{
    struct leader_choice c = choice_of(3);
    struct leader_search s = {.tries = 0};
    uint64_t before = 0;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t pause;
        (void)!leader_search_continue(&s, &c, "s0:1", ERR_UNAVAILABLE);
        pause = leader_search_pause_us(&s, &c, 0);
        ck_assert_int_eq(pause == 0, i < 3);
        ck_assert_uint_ge(pause, before);
        ck_assert_uint_le(leader_search_pause_us(&s, &c, UINT64_MAX), 300000);
        before = pause;
    }
    ck_assert_uint_eq(before, 250000);
    leader_choice_close(&c);
}

END_TEST

TEST_MAIN("leader_choice",
          test_turns_and_hints,
          test_calls_that_fail_together,
          test_members_come_and_go,
          test_other_services,
          test_pauses)
