/* Findings about quotas and rates: each rule fires near its bound, adds up what
 * all servers tell, and says nothing of what is not known.
 */
#include "tests/unit/monitor/finding_fixture.h"

/* --- Cases --------------------------------------------------------------- */

#define QUOTA(table, quota, limit)                                             \
    "quarry_tablet_quota_limit{table=\"" table "\",quota=\"" quota             \
    "\"} " limit "\n"
#define USED(table, quota, used)                                               \
    "quarry_tablet_quota_used{table=\"" table "\",quota=\"" quota "\"} " used  \
    "\n"
#define READS(table, rows)                                                     \
    "quarry_tablet_read_rows_total{table=\"" table "\"} " rows "\n"
#define REFUSED(principal, times)                                              \
    "quarry_tablet_principal_refusals_total{principal=\"" principal            \
    "\"} " times "\n"

static const struct finding_case cases[] = {
    {"over quota",
     "quota_over",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_over_quota_tables 1\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1 table is over a quota of size and takes no writes."},
    {"within quota",
     "quota_over",
     {{.address = "a:1",
       .metrics =
           "quarry_master_active 1\nquarry_master_over_quota_tables 0\n"}},
     .count = 0},

    {"two servers have 90 % of it",
     "quota_near",
     {{.address = "a:1",
       .metrics = QUOTA("web", "stored", GIB) USED("web", "stored", "5e8")},
      {.address = "b:1",
       .metrics = QUOTA("web", "stored", GIB) USED("web", "stored", "4e8")}},
     .count = 0},
    {"they have more",
     "quota_near",
     {{.address = "a:1",
       .metrics = QUOTA("web", "stored", GIB) USED("web", "stored", "5e8")
           USED("other", "stored", "5e8")},
      {.address = "b:1",
       .metrics = QUOTA("web", "stored", GIB) USED("web", "stored", "5e8")}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "Table web has 93 % of its quota \"stored\": 953.7 MiB of 1 "
                 "GiB."},
    {"what is above it is another rule's",
     "quota_near",
     {{.address = "a:1",
       .metrics =
           QUOTA("web", "memory", "1000") USED("web", "memory", "1001")}},
     .count = 0},
    {"nothing is used",
     "quota_near",
     {{.address = "a:1", .metrics = QUOTA("web", "memory", "1000")}},
     .count = 0},
    {"a rate that two servers share",
     "quota_near",
     {{.address = "a:1",
       .metrics = STARTED QUOTA("web", "reads", "1000") READS("web", "5000"),
       .before = STARTED READS("web", "0")},
      {.address = "b:1",
       .metrics = STARTED QUOTA("web", "reads", "1000") READS("web", "5100"),
       .before = STARTED READS("web", "500")}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "Table web takes 96 % of its quota \"reads\": 960 of 1,000 a "
                 "second."},
    {"a rate of another table",
     "quota_near",
     {{.address = "a:1",
       .metrics = STARTED QUOTA("web", "reads", "1000") READS("other", "50000"),
       .before = STARTED READS("other", "0")}},
     .count = 0},

    {"now and then one is refused",
     "principal_limited",
     {{.address = "a:1",
       .metrics = STARTED REFUSED("crawler", "104"),
       .before = STARTED REFUSED("crawler", "100")}},
     .count = 0},
    {"many are refused",
     "principal_limited",
     {{.address = "a:1",
       .metrics = STARTED REFUSED("crawler", "200") REFUSED("other", "5"),
       .before = STARTED REFUSED("crawler", "100") REFUSED("other", "5")},
      {.address = "b:1",
       .metrics = STARTED REFUSED("crawler", "20"),
       .before = STARTED REFUSED("crawler", "0")}},
     .count = 1,
     .severity = FINDING_NOTE,
     .sentence = "12 calls a second of principal crawler are refused"},
};

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_cases)
{
    check_cases(cases, ARRAY_LEN(cases));
}

END_TEST

TEST_MAIN("findings_quotas", test_cases)
