/* The list of findings: the memory knows since when, and holds back what may
 * only be a moment's noise; the sentence over all; trends.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/monitor/trend.h"
#include "tests/unit/monitor/finding_fixture.h"

/* --- Helpers ------------------------------------------------------------- */

static const struct finding_case lag = {
    "lag", "apply_lag",
    .nodes = {{.address = "a:1",
               .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 2000\n"}}};
static const struct finding_case nothing = {"nothing", "apply_lag",
                                            .nodes = {{.address = "a:1"}}};

/* Since when the rule of @c finds something, at @at_s seconds; 0: it does not.
 */
static uint64_t
look(const struct finding_case *c, struct finding_memory *m, uint64_t at_s)
{
    struct scene s;
    struct finding_list l;
    const struct finding *x = NULL;
    uint64_t since = 0;
    scene_open(&s, c);
    s.facts.now_us = NOW_US + at_s * SECONDS;
    findings_draw(&s.facts, m, &l);
    if (count_of(&l, c->rule, &x))
        since = x->since_at_us;
    finding_list_close(&l);
    scene_close(&s);
    return since;
}

/* --- Tests --------------------------------------------------------------- */

/* A finding with a hold is told when its condition has lasted so long, and says
 * since when; a short gap does not end it, a long one does. */
START_TEST(test_hold)
{
    struct finding_memory *m = finding_memory_new();
    ck_assert_uint_eq(look(&nothing, m, 0), 0);
    ck_assert_uint_eq(look(&lag, m, 1), 0);
    ck_assert_uint_eq(look(&lag, m, 10), 0);
    ck_assert_uint_eq(look(&lag, m, 11), NOW_US + SECONDS);
    ck_assert_uint_eq(look(&nothing, m, 12), 0);
    ck_assert_uint_eq(look(&lag, m, 60), NOW_US + SECONDS);
    ck_assert_uint_eq(look(&nothing, m, 121), 0);
    ck_assert_uint_eq(look(&lag, m, 122), 0);
    ck_assert_uint_eq(look(&lag, m, 132), NOW_US + 122 * SECONDS);
    finding_memory_free(m);
}

END_TEST

/* A condition that is there when somebody begins to look is told at once: it
 * may have been so for long. The same after nobody looked for a while. */
START_TEST(test_first_look)
{
    struct finding_memory *m = finding_memory_new();
    ck_assert_uint_eq(look(&lag, m, 0), NOW_US);
    ck_assert_uint_eq(look(&lag, m, 2), NOW_US);
    ck_assert_uint_eq(look(&nothing, m, 3), 0);
    ck_assert_uint_eq(look(&lag, m, 100), NOW_US + 100 * SECONDS);
    finding_memory_free(m);
}

END_TEST

/* The sentence over all says how it is, and the worst first. */
START_TEST(test_sentence)
{
    static const struct finding_case well = {
        "well",
        "",
        {{.address = "a:1"}, {.address = "b:1"}},
        .files = {.known = true, .chunks = 1}};
    static const struct finding_case bad = {
        "bad",
        "",
        {{.address = "a:1", .clock_us = 900000},
         {.address = "b:1", .why = "connection refused"}},
        .files = {.known = true, .chunks = 4, .under_replicated = 1}};
    const struct finding_case *all[] = {&well, &bad};
    const char *states[] = {"well", "failing"};
    const char *sentences[] = {
        "The cluster is well: 2 nodes answer, every chunk has its copies.",
        "The cluster is failing: 1 failure and 2 warnings. First: Node b:1 "
        "does not answer: connection refused."};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        struct finding_list l;
        struct buf text = BUF_INIT;
        scene_open(&s, all[i]);
        findings_draw(&s.facts, s.memory, &l);
        findings_put_sentence(&l, &s.facts, &text);
        ck_assert_str_eq(findings_state(&l), states[i]);
        ck_assert_str_eq(buf_cstr(&text), sentences[i]);
        for (size_t n = 1; n < l.count; n++)
            ck_assert(l.at[n - 1].severity >= l.at[n].severity);
        buf_close(&text);
        finding_list_close(&l);
        scene_close(&s);
    }
}

END_TEST

/* A trend is that of most points, whatever a few say. */
START_TEST(test_trend)
{
    struct fact_point points[100];
    double per_s = 0;
    for (size_t i = 0; i < 100; i++) {
        points[i] = (struct fact_point){NOW_US + i * 60 * SECONDS,
                                        1e9 - (double)i * 6e6};
        if (i % 9 == 4)
            points[i].value += 5e9;
    }
    ck_assert(trend_slope(points, 100, &per_s));
    ck_assert_double_eq_tol(per_s, -1e5, 1e4);
    ck_assert(!trend_slope(points, TREND_POINTS_MIN - 1, &per_s));
    ck_assert(!trend_slope(points, 0, &per_s));
    /* All at one moment. */
    for (size_t i = 0; i < 100; i++)
        points[i].at_us = NOW_US;
    ck_assert(!trend_slope(points, 100, &per_s));
}

END_TEST

TEST_MAIN("finding", test_hold, test_first_look, test_sentence, test_trend)
