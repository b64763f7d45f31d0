/* Findings about followers: one that fails, one that is behind, one that nobody
 * runs, which all hosts tell and is one finding.
 */
#include "tests/unit/monitor/finding_fixture.h"

#define FAILED(n)                                                              \
    "quarry_follower_failures_total{name=\"links\",kind=\"observer\"} " n "\n"
#define LAG(s)                                                                 \
    "quarry_follower_lag_seconds{name=\"links\",kind=\"observer\"} " s "\n"
#define WAITS "quarry_follower_waiting{name=\"links\",kind=\"observer\"} 1\n"

static const struct finding_case cases[] = {
    {"it fails",
     "follower_fails",
     {{.address = "a:1",
       .metrics = STARTED FAILED("7"),
       .before = STARTED FAILED("6")}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "It fails on node a:1, 7 times so far."},
    {"it failed long ago",
     "follower_fails",
     {{.address = "a:1",
       .metrics = STARTED FAILED("7"),
       .before = STARTED FAILED("7")}},
     .count = 0},
    {"it is behind",
     "follower_behind",
     {{.address = "a:1", .metrics = LAG("1000")}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "behind the changes of its table"},
    {"it is a little behind",
     "follower_behind",
     {{.address = "a:1", .metrics = LAG("10")}},
     .count = 0},
    {"nobody runs it",
     "follower_waits",
     {{.address = "a:1", .metrics = WAITS},
      {.address = "b:1", .metrics = WAITS}},
     .count = 1,
     .severity = FINDING_FAILURE,
     .sentence = "Nobody runs it."},
    {"it runs",
     "follower_waits",
     {{.address = "a:1", .metrics = LAG("10")}},
     .count = 0},
};

START_TEST(test_cases)
{
    check_cases(cases, ARRAY_LEN(cases));
}

END_TEST

TEST_MAIN("findings_followers", test_cases)
