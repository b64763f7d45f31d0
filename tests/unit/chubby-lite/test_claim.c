/* Claims of commands: who conflicts waits, in the order of coming, and nobody
 * else. */
#include "base/core/rand.h"
#include "base/core/slice.h"
#include "chubby-lite/claim.h"
#include "tests/lib/check_main.h"

enum {
    COMMANDS = 8,
    KEYS = 4
};

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_who_waits)
{
    /* Shared claims of a path are held together; an exclusive one waits for
     * them, and who comes later waits for it. */
    struct claim_list l = TAILQ_HEAD_INITIALIZER(l);
    struct claim c[4];
    for (size_t i = 0; i < 4; i++) {
        claim_enter(&l, &c[i]);
        claim_path(&c[i], SLICE_LIT("/d"), i == 2);
    }
    claim_path(&c[3], SLICE_LIT("/e"), true);
    ck_assert(claim_take(&l, &c[0]));
    ck_assert(claim_take(&l, &c[1]));
    ck_assert(!claim_take(&l, &c[2]));
    ck_assert(!claim_take(&l, &c[3])); /* Behind the exclusive one. */
    claim_leave(&l, &c[0]);
    ck_assert(!claim_take(&l, &c[2]));
    claim_leave(&l, &c[1]);
    ck_assert(claim_take(&l, &c[2]));
    ck_assert(!claim_take(&l, &c[3]));
    claim_leave(&l, &c[2]);
    ck_assert(claim_take(&l, &c[3]));
    claim_leave(&l, &c[3]);
}

END_TEST

START_TEST(test_who_does_not)
{
    /* Other paths, sessions whose number is a path's hash, no claims at all. */
    struct claim_list l = TAILQ_HEAD_INITIALIZER(l);
    struct claim c[4];
    for (size_t i = 0; i < 4; i++)
        claim_enter(&l, &c[i]);
    claim_path(&c[0], SLICE_LIT("/d"), true);
    claim_path(&c[1], SLICE_LIT("/d/a"), true);
    claim_session(&c[2], 7, true);
    for (size_t i = 0; i < 4; i++)
        ck_assert(claim_take(&l, &c[i]));
    for (size_t i = 0; i < 4; i++)
        claim_leave(&l, &c[i]);
}

END_TEST

/* No two that are held conflict, and when all leave, all had their turn. */
START_TEST(test_any_order)
{
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (int round = 0; round < 1000; round++) {
        struct claim_list l = TAILQ_HEAD_INITIALIZER(l);
        struct claim c[COMMANDS];
        unsigned wants[COMMANDS][KEYS] = {{0}}; /* 1: shared, 2: exclusive. */
        bool over[COMMANDS] = {false};
        size_t left = COMMANDS;
        for (size_t i = 0; i < COMMANDS; i++) {
            claim_enter(&l, &c[i]);
            for (unsigned k = 0; k < KEYS; k++) {
                wants[i][k] = (unsigned)rand_below(&g, 3);
                if (wants[i][k])
                    claim_session(&c[i], k, wants[i][k] == 2);
            }
        }
        while (left) {
            for (size_t i = 0; i < COMMANDS; i++)
                if (!over[i] && !c[i].held)
                    (void)claim_take(&l, &c[i]);
            for (unsigned k = 0; k < KEYS; k++) {
                unsigned shared = 0;
                unsigned exclusive = 0;
                for (size_t i = 0; i < COMMANDS; i++) {
                    bool held = !over[i] && c[i].held;
                    shared += held && wants[i][k] == 1;
                    exclusive += held && wants[i][k] == 2;
                }
                ck_assert_uint_le(exclusive, 1);
                ck_assert(!exclusive || !shared);
            }
            for (size_t i = 0; i < COMMANDS; i++)
                if (!over[i] && c[i].held && rand_one_in(&g, 2)) {
                    claim_leave(&l, &c[i]);
                    over[i] = true;
                    left--;
                }
        }
    }
}

END_TEST

TEST_MAIN("claim", test_who_waits, test_who_does_not, test_any_order)
