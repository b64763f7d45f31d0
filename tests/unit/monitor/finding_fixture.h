/* A cluster of a few nodes as rules of findings see it, from a table of cases:
 * what its nodes said and what is known of files, tables and jobs, and which
 * finding the rule must draw of it.
 */
#ifndef TESTS_UNIT_MONITOR_FINDING_FIXTURE_H
#define TESTS_UNIT_MONITOR_FINDING_FIXTURE_H

#include <string.h>

#include "cli/monitor/finding.h"
#include "cli/monitor/node_metrics.h"
#include "tests/lib/check_main.h"

#define NODES   4
#define SECONDS UINT64_C(1000000)
#define NOW_US  (UINT64_C(1700000000) * SECONDS)
#define GIB     "1073741824"
#define STARTED "process_start_time_seconds 1690000000\n"

struct node_case {
    const char *address; /* NULL: no such node. */
    const char *status;
    const char *metrics; /* Now, */
    const char *before;  /* and ten seconds ago. NULL: nothing. */
    const char *why;     /* Not NULL: it is down. */
    const char *version;
    int64_t clock_us;
    const struct fact_series *series;
};

struct finding_case {
    const char *name;
    const char *rule;
    struct node_case nodes[NODES];
    struct fact_files files;
    struct fact_tablet tablets[NODES];
    struct fact_job jobs[2];
    const char *unasked; /* Why tables and jobs are not known. */
    /* Expected: */
    size_t count;
    enum finding_severity severity;
    const char *sentence; /* A part of it. */
};

/* Facts of a case, and what they borrow. */
struct scene {
    struct finding_facts facts;
    struct fact_node nodes[NODES];
    struct node_metrics now[NODES];
    struct node_metrics before[NODES];
    struct finding_memory *memory;
};

static inline void parse(const char *text, struct node_metrics *out)
{
    struct err err = ERR_INIT;
    ck_assert_msg(node_metrics_parse(slice_str(text ? text : ""), out, &err) ==
                      0,
                  "%s", err.text);
}

static inline void
set_node(struct scene *s, size_t i, const struct node_case *c)
{
    parse(c->metrics, &s->now[i]);
    parse(c->before, &s->before[i]);
    s->nodes[i] = (struct fact_node){
        .name = c->address,
        .address = c->address,
        .state = c->why ? FACT_DOWN : FACT_UP,
        .why = c->why,
        .version = c->version,
        .has_clock = true,
        .clock_us = c->clock_us,
        .clock_slack_us = 1000,
        .now = {.at_us = NOW_US,
                .status = slice_str(c->status ? c->status : ""),
                .metrics = c->metrics ? &s->now[i] : NULL},
        .before = {.at_us = c->before ? NOW_US - 10 * SECONDS : 0,
                   .metrics = c->before ? &s->before[i] : NULL},
        .series = c->series,
        .series_count = c->series ? 1 : 0,
    };
}

static inline void scene_open(struct scene *s, const struct finding_case *c)
{
    size_t nodes = 0, tablets = 0, jobs = 0;
    memset(s, 0, sizeof(*s));
    while (nodes < NODES && c->nodes[nodes].address) {
        set_node(s, nodes, &c->nodes[nodes]);
        nodes++;
    }
    while (tablets < NODES && c->tablets[tablets].table)
        tablets++;
    while (jobs < 2 && c->jobs[jobs].id)
        jobs++;
    s->memory = finding_memory_new();
    s->facts = (struct finding_facts){
        .now_us = NOW_US,
        .nodes = s->nodes,
        .node_count = nodes,
        .files = c->files,
        .tablets = {!c->unasked, c->unasked, c->tablets, tablets},
        .jobs = {!c->unasked, c->unasked, c->jobs, jobs},
    };
}

static inline void scene_close(struct scene *s)
{
    finding_memory_free(s->memory);
    for (size_t i = 0; i < NODES; i++) {
        node_metrics_close(&s->now[i]);
        node_metrics_close(&s->before[i]);
    }
}

/* Findings of @rule in @l, and the first of them. */
static inline size_t count_of(const struct finding_list *l,
                              const char *rule,
                              const struct finding **first)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->at[i].rule->id, rule) == 0 && count++ == 0)
            *first = &l->at[i];
    return count;
}

static inline void check_case(const struct finding_case *c)
{
    struct scene s;
    struct finding_list l;
    const struct finding *x = NULL;
    size_t count;
    scene_open(&s, c);
    findings_draw(&s.facts, s.memory, &l);
    count = count_of(&l, c->rule, &x);
    ck_assert_msg(count == c->count, "%s: %s: %zu findings, not %zu (%s)",
                  c->rule, c->name, count, c->count, x ? x->sentence : "");
    if (x) {
        ck_assert_msg(x->severity == c->severity, "%s: %s", c->rule, c->name);
        ck_assert_msg(strstr(x->sentence, c->sentence), "%s: %s: %s", c->rule,
                      c->name, x->sentence);
        ck_assert(*x->remedy && *x->link == '/' && *x->subject);
    }
    finding_list_close(&l);
    scene_close(&s);
}

/* Each of @cases, and that each rule among them has one in which it fires and
 * one in which it does not. */
static inline void check_cases(const struct finding_case *cases, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        bool fires = false, is_silent = false;
        check_case(&cases[r]);
        for (size_t i = 0; i < count; i++)
            if (strcmp(cases[i].rule, cases[r].rule) == 0) {
                fires |= cases[i].count > 0;
                is_silent |= cases[i].count == 0;
            }
        ck_assert_msg(fires && is_silent, "%s", cases[r].rule);
    }
}

#endif /* TESTS_UNIT_MONITOR_FINDING_FIXTURE_H */
