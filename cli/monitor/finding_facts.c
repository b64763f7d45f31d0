/* Reading what nodes said: metrics and their growth, pairs of the status.
 */
#include "cli/monitor/finding_facts.h"

#include <string.h>

#include "cli/monitor/node_metrics.h"
#include "cli/status_text.h"

/* --- metrics ------------------------------------------------------------- */

bool fact_sum(const struct fact_look *l,
              const char *name,
              const char *labels,
              double *value)
{
    return l->metrics && node_metrics_sum(l->metrics, name, labels, value);
}

double fact_sum_or(const struct fact_look *l,
                   const char *name,
                   const char *labels,
                   double otherwise)
{
    (void)fact_sum(l, name, labels, &otherwise);
    return otherwise;
}

bool fact_sample(const struct fact_look *l,
                 const char *name,
                 size_t i,
                 struct fact_sample *out)
{
    const struct node_sample *samples;
    struct slice label;
    struct slice rest;
    *out = (struct fact_sample){.value = 0};
    if (!l->metrics || i >= node_metrics_find(l->metrics, name, &samples))
        return false;
    out->value = samples[i].value;
    rest = samples[i].labels;
    if (node_label_next(&rest, &label, &out->first))
        (void)node_label_next(&rest, &label, &out->second);
    return true;
}

/* Is it the process of the look before? */
static bool is_same_process(const struct fact_node *n)
{
    double now = 0;
    double before = 0;
    const char *name = "process_start_time_seconds";
    return n->before.at_us && n->now.at_us > n->before.at_us &&
           fact_sum(&n->now, name, NULL, &now) &&
           fact_sum(&n->before, name, NULL, &before) && now - before < 1 &&
           before - now < 1;
}

/* A counter that was not there was 0. */
bool fact_growth(const struct fact_node *n,
                 const char *name,
                 const char *labels,
                 double *by)
{
    double now = 0;
    double before = 0;
    if (!is_same_process(n) || !fact_sum(&n->now, name, labels, &now))
        return false;
    (void)fact_sum(&n->before, name, labels, &before);
    *by = now - before;
    return *by >= 0;
}

bool fact_rate(const struct fact_node *n,
               const char *name,
               const char *labels,
               double *per_s)
{
    double by;
    if (!fact_growth(n, name, labels, &by))
        return false;
    *per_s = by / ((double)(n->now.at_us - n->before.at_us) / 1e6);
    return true;
}

const struct fact_series *fact_series(const struct fact_node *n,
                                      const char *name)
{
    for (size_t i = 0; i < n->series_count; i++)
        if (strcmp(n->series[i].name, name) == 0)
            return &n->series[i];
    return NULL;
}

/* --- status -------------------------------------------------------------- */

struct slice
fact_status(const struct fact_look *l, const char *role, const char *key)
{
    struct slice pairs = status_about(l->status);
    if (role && !status_role(l->status, role, &pairs))
        return SLICE_EMPTY;
    return status_value(pairs, key);
}

bool fact_has_role(const struct fact_node *n, const char *role)
{
    struct slice pairs;
    return status_role(n->now.status, role, &pairs);
}

const struct fact_node *fact_node_at(const struct finding_facts *f,
                                     const char *address)
{
    for (size_t i = 0; address && i < f->node_count; i++)
        if (strcmp(f->nodes[i].address, address) == 0)
            return &f->nodes[i];
    return NULL;
}
