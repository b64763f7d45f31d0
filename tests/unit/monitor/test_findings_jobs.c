/* Findings about jobs: each rule fires where it should, and not below its
 * bound.
 */
#include "tests/unit/monitor/finding_fixture.h"

/* --- Cases --------------------------------------------------------------- */

static const struct finding_case cases[] = {
    {"a job that works", "job_stuck",
     .jobs = {{.id = "j1",
               .runs = true,
               .tasks_running = 1,
               .progress_at_us = NOW_US - 299 * SECONDS}},
     .count = 0},
    {"a job that stands still", "job_stuck",
     .jobs = {{.id = "j1",
               .label = "words",
               .runs = true,
               .phase = "map",
               .tasks_total = 9,
               .tasks_done = 4,
               .tasks_running = 1,
               .progress_at_us = NOW_US - 300 * SECONDS}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "Job j1 (words) has made no progress since 22:08:20Z: 4 of 9 "
                 "tasks of its phase map are done, 1 run."},
    {"a job that waits for memory", "job_stuck",
     .jobs = {{.id = "j1",
               .runs = true,
               .tasks_total = 9,
               .waits_for = "9 tasks wait: no worker has 512 MiB"}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "does not get on: 9 tasks wait: no worker has 512 MiB; 0 of 9 "
                 "tasks are done."},
    {"a job without workers", "job_stuck",
     .jobs = {{.id = "j1", .runs = true, .waits_for = "no worker is up"}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "Job j1 (j1) does not begin: no worker is up."},
    {"a job in the queue", "job_stuck",
     .jobs = {{.id = "j1", .waits_for = "slots"}}, .count = 0},
    {"nobody knows of jobs", "job_stuck",
     .jobs = {{.id = "j1", .runs = true, .waits_for = "slots"}}, .unasked = "x",
     .count = 0},
    {"four failures", "job_fails_often",
     .jobs = {{.id = "j1", .runs = true, .attempts_failed = 4}}, .count = 0},
    {"five of many", "job_fails_often",
     .jobs =
         {{.id = "j1", .runs = true, .attempts_failed = 5, .tasks_done = 45}},
     .count = 0},
    {"five of few", "job_fails_often",
     .jobs =
         {{.id = "j1", .runs = true, .attempts_failed = 5, .tasks_done = 44}},
     .count = 1, .severity = FINDING_WARNING,
     .sentence = "5 attempts failed; 44 tasks are done."},
    {"no stragglers", "job_stragglers", .jobs = {{.id = "j1", .runs = true}},
     .count = 0},
    {"stragglers", "job_stragglers",
     .jobs = {{.id = "j1",
               .runs = true,
               .stragglers = 2,
               .slowest = "map task 3 on worker w2",
               .slowest_us = 310 * SECONDS,
               .median_us = 20 * SECONDS}},
     .count = 1, .severity = FINDING_NOTE,
     .sentence =
         "2 attempts that take much longer than the others: map task 3 on "
         "worker w2 for 5m10s, where the median is 20s."},
    {"workers",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 1\n"
                  "quarry_jobs_workers 1\n"}},
     .count = 0},
    {"no workers",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 1\n"
                  "quarry_jobs_workers 0\n"}},
     .count = 1,
     .severity = FINDING_WARNING,
     .sentence = "1 job waits, and there is no worker."},
    {"no jobs",
     "workers_none",
     {{.address = "a:1",
       .metrics = "quarry_jobs_active 1\nquarry_jobs_running 0\n"
                  "quarry_jobs_workers 0\n"}},
     .count = 0},
};

/* --- Tests --------------------------------------------------------------- */

START_TEST(test_cases)
{
    check_cases(cases, ARRAY_LEN(cases));
}

END_TEST

TEST_MAIN("findings_jobs", test_cases)
