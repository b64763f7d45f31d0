/* Findings about cells and leaders: each rule fires where it should, and not
 * below its bound.
 */
#include "tests/unit/monitor/finding_fixture.h"

/* --- Cases --------------------------------------------------------------- */

static const struct fact_point five_terms[] = {{NOW_US - 900 * SECONDS, 9},
                                               {NOW_US - 800 * SECONDS, 9},
                                               {NOW_US - 100 * SECONDS, 0},
                                               {NOW_US, 0.05}};
static const struct fact_series few_terms = {"elections_per_s", five_terms,
                                             ARRAY_LEN(five_terms)};
static const struct fact_point six_terms[] = {{NOW_US - 900 * SECONDS, 9},
                                              {NOW_US - 300 * SECONDS, 0.01},
                                              {NOW_US - 200 * SECONDS, 0.05},
                                              {NOW_US - 100 * SECONDS, 0.01},
                                              {NOW_US, 0}};
static const struct fact_series many_terms = {"elections_per_s", six_terms,
                                              ARRAY_LEN(six_terms)};

static const struct finding_case cases[] = {
    {"a leader",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nlock: state=follower\n"},
      {.address = "b:1", .status = "n=b\nlock: state=leader\n"}},
     .count = 0},
    {"no leader",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nlock: state=follower\n"},
      {.address = "b:1", .why = "x"},
      {.address = "c:1", .why = "x"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence =
         "Of 1 node with the role lock that answers none leads (2 others "
         "are silent)"},
    {"nobody is asked",
     "no_leader",
     {{.address = "a:1", .why = "x"}},
     .count = 0},
    {"a master that is not ready",
     "no_leader",
     {{.address = "a:1", .status = "n=a\nmaster: master=yes ready=no\n"}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "role master"},
    {"three members",
     "members_few",
     {{.address = "a:1", .metrics = "quarry_cell_members{cell=\"lock\"} 3\n"}},
     .count = 0},
    {"one member",
     "members_few",
     {{.address = "a:1", .metrics = "quarry_cell_members{cell=\"lock\"} 1\n"}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "has one member"},
    {"four members",
     "members_few",
     {{.address = "a:1",
       .metrics = "quarry_cell_members{cell=\"namenode\"} 4\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence =
         "has 4 members: it survives the loss of 1, as one of 3 would."},
    {"all are heard",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: \n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 1\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 0\n"}},
     .count = 0},
    {"one is not heard",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: state=leader\n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 2\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 1\n"},
      {.address = "b:1", .status = "n=b\nlock: state=follower\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "does not hear 1 of its 2 members"},
    {"a dead one is another rule's",
     "member_unheard",
     {{.address = "a:1",
       .status = "n=a\nlock: state=leader\n",
       .metrics = "quarry_cell_members{cell=\"lock\"} 2\n"
                  "quarry_cell_unreachable_members{cell=\"lock\"} 1\n"},
      {.address = "b:1", .why = "x"}},
     .count = 0},
    {"a little behind",
     "apply_lag",
     {{.address = "a:1",
       .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 1000\n"}},
     .count = 0},
    {"far behind",
     "apply_lag",
     {{.address = "a:1",
       .metrics = "quarry_cell_apply_lag{cell=\"lock\"} 1001\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1,001 committed entries"},
    {"few terms",
     "elections",
     {{.address = "a:1", .series = &few_terms}},
     .count = 0},
    {"many terms",
     "elections",
     {{.address = "a:1", .series = &many_terms}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "began 12 terms"},
    {"no history", "elections", {{.address = "a:1"}}, .count = 0},
    {"few sessions",
     "sessions_many",
     {{.address = "a:1",
       .metrics = "quarry_lock_sessions 80\nquarry_lock_sessions_limit 100\n"}},
     .count = 0},
    {"many sessions",
     "sessions_many",
     {{.address = "a:1",
       .metrics = "quarry_lock_sessions 81\nquarry_lock_sessions_limit 100\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "81 of the 100 sessions"},
};

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_cases)
{
    check_cases(cases, ARRAY_LEN(cases));
}

END_TEST

TEST_MAIN("findings_cells", test_cases)
