/* Rules about what is replicated or has one leader: the lock service, the
 * namenodes, the masters of tables and of jobs.
 */
#include <string.h>

#include "base/core/panic.h"
#include "cli/monitor/finding.h"
#include "cli/status_text.h"

#define APPLY_LAG_MANY  1000
#define TERMS_MANY      5.5
#define TERMS_WINDOW_US UINT64_C(600000000)
#define SESSIONS_SHARE  0.8

static const char *const cells[] = {"lock", "namenode"};
#define CELL_COUNT (sizeof(cells) / sizeof(cells[0]))

/* "cell=lock" */
static const char *cell_label(size_t cell)
{
    static const char *const labels[CELL_COUNT] = {"cell=lock",
                                                   "cell=namenode"};
    PRE(cell < CELL_COUNT);
    return labels[cell];
}

/* Does @n lead @role, and is it ready to? */
static bool findings_cells_leads(const struct fact_node *n, const char *role)
{
    struct slice pairs;
    return status_role(n->now.status, role, &pairs) && status_leads(pairs) &&
           !slice_eq_str(status_value(pairs, "ready"), "no");
}

static void say_leaderless(const struct finding_facts *f,
                           const char *role,
                           const char *effect,
                           struct finding_list *out)
{
    size_t there = 0;
    size_t silent = 0;
    for (size_t i = 0; i < f->node_count; i++) {
        there += fact_has_role(&f->nodes[i], role);
        silent += f->nodes[i].state != FACT_UP;
        if (findings_cells_leads(&f->nodes[i], role))
            return;
    }
    INVARIANT(there <= f->node_count);
    INVARIANT(silent <= f->node_count);
    if (there == 0)
        return;
    finding_add(out, FINDING_FAILURE, "role %s", role);
    finding_say(out,
                "Of %zu node%s with the role %s that answer%s none leads "
                "(%zu other%s silent): %s.",
                there, there == 1 ? "" : "s", role, there == 1 ? "s" : "",
                silent, silent == 1 ? " is" : "s are", effect);
}

void rule_no_leader(const struct finding_facts *f, struct finding_list *out)
{
    static const char *const roles[][2] = {
        {"lock", "no lock is given, and sessions will end"},
        {"namenode", "no file can be opened or made"},
        {"master", "tables are served, but tablets of dead servers are not"},
        {"jobs", "no job starts or continues"}};
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        say_leaderless(f, roles[i][0], roles[i][1], out);
}

/* The greatest value of the metric over all nodes; false: nobody tells. */
static bool cells_greatest(const struct finding_facts *f,
                           const char *name,
                           const char *label,
                           double *out)
{
    bool found = false;
    for (size_t i = 0; i < f->node_count; i++) {
        double value;
        if (!fact_sum(&f->nodes[i].now, name, label, &value))
            continue;
        if (!found || value > *out)
            *out = value;
        found = true;
    }
    return found;
}

void rule_members_few(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t c = 0; c < CELL_COUNT; c++) {
        double members = 0;
        int count;
        if (!cells_greatest(f, "quarry_cell_members", cell_label(c), &members))
            continue;
        count = (int)members;
        if (count == 1) {
            finding_add(out, FINDING_NOTE, "cell %s", cells[c]);
            finding_say(out,
                        "The cell of role %s has one member: what it "
                        "keeps is lost with that node's disk.",
                        cells[c]);
        } else if (count > 1 && count % 2 == 0) {
            finding_add(out, FINDING_WARNING, "cell %s", cells[c]);
            finding_say(out,
                        "The cell of role %s has %d members: it survives "
                        "the loss of %d, as one of %d would.",
                        cells[c], count, (count - 1) / 2, count - 1);
        }
    }
}

/* Those that do not answer anybody are told of as nodes. */
void rule_member_unheard(const struct finding_facts *f,
                         struct finding_list *out)
{
    for (size_t c = 0; c < CELL_COUNT; c++) {
        double unheard = 0;
        double members = 0;
        double answer = 0;
        for (size_t i = 0; i < f->node_count; i++)
            answer += fact_has_role(&f->nodes[i], cells[c]);
        if (!cells_greatest(f, "quarry_cell_members", cell_label(c),
                            &members) ||
            !cells_greatest(f, "quarry_cell_unreachable_members", cell_label(c),
                            &unheard) ||
            unheard < 1 || answer < members)
            continue;
        finding_add(out, FINDING_WARNING, "cell %s", cells[c]);
        finding_say(out,
                    "The leader of role %s does not hear %.0f of its %.0f "
                    "members, though all answer.",
                    cells[c], unheard, members);
    }
}

void rule_apply_lag(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t c = 0; c < CELL_COUNT; c++) {
            const struct fact_node *n = &f->nodes[i];
            double lag =
                fact_sum_or(&n->now, "quarry_cell_apply_lag", cell_label(c), 0);
            if (lag <= APPLY_LAG_MANY)
                continue;
            finding_add(out, FINDING_WARNING, "node %s role %s", n->name,
                        cells[c]);
            finding_link_node(out, n);
            finding_say(out,
                        "Role %s of node %s has %s committed entries "
                        "still to apply.",
                        cells[c], n->name, finding_number(out, lag));
        }
}

/* How many terms @n saw begin within the window. */
static double terms_lately(const struct finding_facts *f,
                           const struct fact_node *n)
{
    const struct fact_series *s = fact_series(n, "elections_per_s");
    double terms = 0;
    for (size_t i = 1; s && i < s->count; i++)
        if (s->points[i].at_us + TERMS_WINDOW_US >= f->now_us)
            terms += s->points[i].value *
                     (double)(s->points[i].at_us - s->points[i - 1].at_us) /
                     1e6;
    return terms;
}

void rule_elections(const struct finding_facts *f, struct finding_list *out)
{
    double most = 0;
    for (size_t i = 0; i < f->node_count; i++) {
        double terms = terms_lately(f, &f->nodes[i]);
        most = terms > most ? terms : most;
    }
    if (most <= TERMS_MANY)
        return;
    finding_add(out, FINDING_WARNING, "cells");
    finding_say(out,
                "The cells of the lock service and the namenodes began "
                "%.0f terms within ten minutes: each stops one for a "
                "moment.",
                most);
}

void rule_sessions_many(const struct finding_facts *f, struct finding_list *out)
{
    double sessions = 0;
    double limit = 0;
    if (!cells_greatest(f, "quarry_lock_sessions", NULL, &sessions) ||
        !cells_greatest(f, "quarry_lock_sessions_limit", NULL, &limit) ||
        limit <= 0 || sessions <= SESSIONS_SHARE * limit)
        return;
    finding_add(out, FINDING_WARNING, "cell lock");
    finding_say(out,
                "The lock service has %s of the %s sessions that it may "
                "have.",
                finding_number(out, sessions), finding_number(out, limit));
}
