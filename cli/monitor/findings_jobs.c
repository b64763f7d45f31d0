/* Rules about jobs: do they get on, and what of them fails?
 */
#include "cli/monitor/finding.h"

#define STUCK_US       UINT64_C(300000000)
#define FAILURES_MANY  5
#define FAILURES_SHARE 0.1

static const char *name_of(const struct fact_job *j)
{
    return j->label && *j->label ? j->label : j->id;
}

static void say_stuck(const struct finding_facts *f,
                      const struct fact_job *j,
                      struct finding_list *out)
{
    finding_add(out, FINDING_WARNING, "job %s", j->id)->since_at_us =
        j->progress_at_us;
    if (j->waits_for && j->tasks_total == 0)
        finding_say(out, "Job %s (%s) does not begin: %s.", j->id, name_of(j),
                    j->waits_for);
    else if (j->waits_for)
        finding_say(
            out, "Job %s (%s) does not get on: %s; %u of %u tasks are done.",
            j->id, name_of(j), j->waits_for, j->tasks_done, j->tasks_total);
    else
        finding_say(out,
                    "Job %s (%s) has made no progress since %s: %u of %u "
                    "tasks of its phase %s are done, %u run.",
                    j->id, name_of(j), finding_time(out, f, j->progress_at_us),
                    j->tasks_done, j->tasks_total, j->phase ? j->phase : "",
                    j->tasks_running);
    finding_remedy(out,
                   "quarry job status %s says what it waits for; quarry "
                   "job kill %s ends it",
                   j->id, j->id);
    finding_link(out, "/jobs/%s", j->id);
}

void rule_job_stuck(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; f->jobs.known && i < f->jobs.count; i++) {
        const struct fact_job *j = &f->jobs.at[i];
        bool is_still =
            j->progress_at_us && f->now_us >= j->progress_at_us + STUCK_US;
        bool waits = j->runs && j->waits_for && j->tasks_running == 0;
        if (is_still || waits)
            say_stuck(f, j, out);
    }
}

void rule_job_fails_often(const struct finding_facts *f,
                          struct finding_list *out)
{
    for (size_t i = 0; f->jobs.known && i < f->jobs.count; i++) {
        const struct fact_job *j = &f->jobs.at[i];
        unsigned ended = j->attempts_failed + j->tasks_done;
        if (j->attempts_failed < FAILURES_MANY ||
            j->attempts_failed <= FAILURES_SHARE * ended)
            continue;
        finding_add(out, FINDING_WARNING, "job %s", j->id);
        finding_say(out,
                    "Of job %s (%s) %u attempts failed; %u tasks are "
                    "done.",
                    j->id, name_of(j), j->attempts_failed, j->tasks_done);
        finding_link(out, "/jobs/%s", j->id);
    }
}

void rule_job_stragglers(const struct finding_facts *f,
                         struct finding_list *out)
{
    for (size_t i = 0; f->jobs.known && i < f->jobs.count; i++) {
        const struct fact_job *j = &f->jobs.at[i];
        if (j->stragglers == 0)
            continue;
        finding_add(out, FINDING_NOTE, "job %s", j->id);
        finding_say(out,
                    "Job %s (%s) waits for %u attempt%s much longer than "
                    "the others: %s for %s, where the median is %s.",
                    j->id, name_of(j), j->stragglers,
                    j->stragglers == 1 ? " that takes" : "s that take",
                    j->slowest,
                    finding_duration(out, (double)j->slowest_us / 1e6),
                    finding_duration(out, (double)j->median_us / 1e6));
        finding_link(out, "/jobs/%s", j->id);
    }
}

void rule_workers_none(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_look *l = &f->nodes[i].now;
        double jobs = fact_sum_or(l, "quarry_jobs_running", NULL, 0) +
                      fact_sum_or(l, "quarry_jobs_waiting", NULL, 0);
        if (fact_sum_or(l, "quarry_jobs_active", NULL, 0) < 1 || jobs < 1 ||
            fact_sum_or(l, "quarry_jobs_workers", NULL, 1) > 0)
            continue;
        finding_add(out, FINDING_WARNING, "jobs");
        finding_say(out, "%s job%s, and there is no worker.",
                    finding_number(out, jobs), jobs < 2 ? " waits" : "s wait");
    }
}
