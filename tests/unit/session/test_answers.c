/* A command is executed once however often it is sent: kept answers and the
 * client's window against obvious models. */
#include <stdio.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/session/answers.h"
#include "base/session/window.h"
#include "tests/lib/check_main.h"

enum {
    SEQUENCES = 600, /* Of one session in a model; more than are kept. */
    STEPS = 20000
};

/* --- Helpers ------------------------------------------------------------- */

/* The answer to @sequence, in a buffer of the caller. */
static struct slice answer_to(uint64_t sequence, unsigned edition, char out[32])
{
    int n = snprintf(out, 32, "%llu.%u", (unsigned long long)sequence, edition);
    return slice_make(out, (size_t)n);
}

/* The kept answers by sequence: the edition of each, from 1; 0: none. */
struct model {
    unsigned edition[SEQUENCES];
    uint64_t acknowledged;
};

static unsigned model_count(const struct model *m)
{
    unsigned n = 0;
    for (size_t i = 0; i < SEQUENCES; i++)
        n += m->edition[i] != 0;
    return n;
}

static enum session_verdict
model_check(struct model *m, uint64_t sequence, uint64_t acknowledged)
{
    if (m->edition[sequence])
        return SESSION_ANSWERED;
    for (uint64_t i = 0; i < MIN_OF(acknowledged, (uint64_t)SEQUENCES); i++)
        m->edition[i] = 0;
    if (acknowledged > m->acknowledged)
        m->acknowledged = acknowledged;
    if (sequence < m->acknowledged)
        return SESSION_STALE;
    return model_count(m) >= SESSION_ANSWERS_MAX ? SESSION_FULL
                                                 : SESSION_EXECUTE;
}

static void compare(const struct session_answers *a, const struct model *m)
{
    ck_assert_uint_eq(a->count, model_count(m));
    for (uint64_t i = 0; i < SEQUENCES; i++) {
        const struct session_answer *kept = session_answers_find(a, i);
        char text[32];
        ck_assert_int_eq(kept != NULL, m->edition[i] != 0);
        if (kept) {
            struct slice want = answer_to(i, m->edition[i], text);
            ck_assert(slice_eq(want, slice_make(kept->bytes, kept->len)));
        }
    }
}

/* --- Tests --------------------------------------------------------------- */

/* Commands in any order, acknowledgements of any kind, answers that change:
 * the table says what the model says. */
START_TEST(test_any_order)
{
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (int round = 0; round < 5; round++) {
        struct session_answers a = {.count = 0};
        struct model m = {.acknowledged = 0};
        uint64_t base = 1;
        for (int i = 0; i < STEPS && base < SEQUENCES - 300; i++) {
            uint64_t sequence = base + rand_below(&g, 290);
            uint64_t acknowledged = rand_one_in(&g, 50) ? sequence : base;
            struct slice answer = SLICE_EMPTY;
            char text[32];
            enum session_verdict want = model_check(&m, sequence, acknowledged);
            enum session_verdict got =
                session_answers_check(&a, sequence, acknowledged, &answer);
            ck_assert_int_eq(got, want);
            if (got == SESSION_ANSWERED) {
                ck_assert(slice_eq(
                    answer, answer_to(sequence, m.edition[sequence], text)));
                m.edition[sequence]++;
                session_answers_replace(
                    &a, sequence,
                    answer_to(sequence, m.edition[sequence], text));
            } else if (got == SESSION_EXECUTE) {
                m.edition[sequence] = 1;
                session_answers_keep(&a, sequence,
                                     answer_to(sequence, 1, text));
            } else {
                session_answers_replace(&a, sequence, SLICE_LIT("gone"));
            }
            base += rand_one_in(&g, 20);
            if (i % 500 == 0)
                compare(&a, &m);
        }
        compare(&a, &m);
        session_answers_close(&a);
        ck_assert_uint_eq(a.count, 0);
    }
}

END_TEST

/* Kept answers are loaded in any order; a sequence twice, one that was
 * acknowledged, one too many are damage. */
START_TEST(test_load)
{
    struct session_answers a = {.acknowledged = 5};
    struct slice text = SLICE_LIT("x");
    ck_assert(session_answers_load(&a, 9, text));
    ck_assert(session_answers_load(&a, 5, text));
    ck_assert(session_answers_load(&a, 7, text));
    ck_assert(!session_answers_load(&a, 7, text));
    ck_assert(!session_answers_load(&a, 4, text));
    ck_assert(!session_answers_load(&a, 0, text));
    ck_assert_uint_eq(a.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(a.kept[i].sequence, 5 + 2 * i);
    for (uint64_t i = 10; a.count < SESSION_ANSWERS_MAX; i++)
        ck_assert(session_answers_load(&a, i, text));
    ck_assert(!session_answers_load(&a, 1000, text));
    session_answers_close(&a);
}

END_TEST

/* --- Both ends ----------------------------------------------------------- */

struct sent {
    uint64_t sequence;
    uint64_t acknowledged;
};

/* A client that keeps to its window, whose messages are lost, delayed and
 * repeated, has each command executed once and never meets a full table; also
 * while one command is slow and all others are quick. */
START_TEST(test_client_and_server)
{
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (int round = 0; round < 20; round++) {
        struct session_answers a = {.count = 0};
        struct session_window w;
        struct sent under_way[SESSION_WINDOW];
        struct sent late = {.sequence = 0}; /* A message still on its way. */
        static unsigned char executed[4096];
        size_t count = 0;
        bool slow = round % 2;
        memset(executed, 0, sizeof(executed));
        session_window_init(&w);
        for (int i = 0; i < 10000 && w.newest < 4000; i++) {
            size_t at = count ? rand_below(&g, count) : 0;
            struct slice answer;
            enum session_verdict v;
            struct sent s;
            if (!session_window_is_full(&w) && (!count || rand_one_in(&g, 2))) {
                uint64_t sequence = session_window_begin(&w);
                under_way[count++] =
                    (struct sent){sequence, session_window_acknowledged(&w)};
                continue;
            }
            /* The slow one gets its answer when all others wait for it. */
            if (slow &&
                under_way[at].sequence == session_window_acknowledged(&w) &&
                count > 1)
                continue;
            s = rand_one_in(&g, 10) && late.sequence ? late : under_way[at];
            if (rand_one_in(&g, 10))
                late = under_way[at];
            v = session_answers_check(&a, s.sequence, s.acknowledged, &answer);
            ck_assert_int_ne(v, SESSION_FULL);
            if (v == SESSION_EXECUTE) {
                executed[s.sequence]++;
                session_answers_keep(&a, s.sequence, SLICE_LIT("done"));
            }
            if (s.sequence == under_way[at].sequence) {
                ck_assert_int_ne(v, SESSION_STALE);
                if (!rand_one_in(&g, 3)) { /* The answer arrives. */
                    session_window_end(&w, s.sequence);
                    under_way[at] = under_way[--count];
                }
            }
        }
        ck_assert_uint_gt(w.newest, 200);
        for (uint64_t i = 1; i < session_window_acknowledged(&w); i++)
            ck_assert_uint_eq(executed[i], 1);
        session_answers_close(&a);
    }
}

END_TEST

/* The window against the set of what is under way. */
START_TEST(test_window)
{
    struct rand_gen g;
    struct session_window w;
    bool under_way[SEQUENCES] = {false};
    rand_init(&g, test_seed());
    session_window_init(&w);
    ck_assert_uint_eq(session_window_acknowledged(&w), 1);
    while (w.newest < SEQUENCES - 1) {
        uint64_t oldest = 1;
        uint64_t end;
        while (oldest <= w.newest && !under_way[oldest])
            oldest++;
        ck_assert_uint_eq(session_window_acknowledged(&w), oldest);
        ck_assert_int_eq(session_window_is_full(&w),
                         w.newest - oldest + 1 >= SESSION_WINDOW);
        if (!session_window_is_full(&w) && rand_one_in(&g, 2)) {
            uint64_t sequence = session_window_begin(&w);
            ck_assert(!under_way[sequence]);
            under_way[sequence] = true;
            continue;
        }
        end = oldest + rand_below(&g, SESSION_WINDOW);
        if (end <= w.newest && under_way[end]) {
            session_window_end(&w, end);
            under_way[end] = false;
        }
    }
}

END_TEST

TEST_MAIN("answers",
          test_any_order,
          test_load,
          test_client_and_server,
          test_window)
