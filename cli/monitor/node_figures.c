/* Figures of a node: from its status, its metrics, and the difference of two
 * samples of these.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/monitor/subject.h"
#include "cli/status_text.h"

const char *node_state_name(enum node_state s)
{
    switch (s) {
    case NODE_UP: return "up";
    case NODE_SILENT: return "silent";
    case NODE_DOWN: return "down";
    }
    return "?";
}

static struct slice status_of(const struct monitor_node *n)
{
    return n->answer ? buf_slice(&n->answer->status) : SLICE_EMPTY;
}

struct slice node_about(const struct monitor_node *n, const char *key)
{
    return status_value(status_about(status_of(n)), key);
}

bool node_role(const struct monitor_node *n,
               const char *role,
               struct slice *pairs)
{
    return status_role(status_of(n), role, pairs);
}

const struct monitor_node *monitor_nodes_leader(const struct monitor_nodes *n,
                                                const char *role)
{
    struct slice pairs;
    for (size_t i = 0; i < n->count; i++)
        if (node_role(&n->at[i], role, &pairs) && status_leads(pairs))
            return &n->at[i];
    return NULL;
}

const struct monitor_node *monitor_nodes_find(const struct monitor_nodes *n,
                                              struct slice name)
{
    for (size_t i = 0; i < n->count; i++)
        if (slice_eq_str(name, n->at[i].name) ||
            slice_eq_str(name, n->at[i].address))
            return &n->at[i];
    return NULL;
}

void monitor_nodes_warn(const struct monitor_nodes *n, json_t *doc)
{
    for (size_t i = 0; i < n->count; i++) {
        const struct monitor_node *k = &n->at[i];
        if (k->state != NODE_UP)
            doc_warn(doc, "node %s is %s: %s", k->name,
                     node_state_name(k->state), k->why);
        else if (!k->answer->has_metrics)
            doc_warn(doc,
                     "node %s tells no metrics: it has an older version, "
                     "or they cannot be read",
                     k->name);
    }
    doc_warn_lines(doc, buf_slice(&n->warnings));
}

/* --- the clock ----------------------------------------------------------- */

/* Ahead of the clock of who asks; false: unknown. */
static bool offset_of_asker(const struct monitor_node *n, int64_t *us)
{
    uint64_t time;
    if (!n->answer || text_parse_u64(node_about(n, "time"), &time, NULL))
        return false;
    *us = (int64_t)(time - (n->answer->asked_us + n->answer->waited_us / 2));
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median with this machine's own offset, which is 0: with two nodes it
 * tells which of their clocks is wrong. */
static int64_t middle_offset(const struct monitor_nodes *n)
{
    int64_t all[MONITOR_NODES_MAX + 1] = {0};
    size_t count = 1;
    PRE(n->count <= MONITOR_NODES_MAX);
    for (size_t i = 0; i < n->count; i++)
        count += offset_of_asker(&n->at[i], &all[count]);
    qsort(all, count, sizeof(*all), compare_offsets);
    return all[count / 2];
}

bool node_clock_offset(const struct monitor_nodes *n,
                       const struct monitor_node *node,
                       int64_t *us)
{
    if (!offset_of_asker(node, us))
        return false;
    *us -= middle_offset(n);
    return true;
}

/* --- metrics ------------------------------------------------------------- */

bool node_metric(const struct monitor_node *n,
                 const char *name,
                 const char *labels,
                 double *out)
{
    *out = 0;
    return n->answer && n->answer->has_metrics &&
           node_metrics_sum(&n->answer->metrics, name, labels, out);
}

/* The seconds between two samples of one process; 0: there are not two. */
static double seconds_between(const struct monitor_node *n)
{
    struct slice pid;
    if (!n->answer || !n->before || !n->answer->has_metrics ||
        !n->before->has_metrics ||
        n->answer->at_mono_ns <= n->before->at_mono_ns)
        return 0;
    pid = status_value(status_about(buf_slice(&n->before->status)), "pid");
    if (!slice_eq(pid, node_about(n, "pid")))
        return 0;
    return (double)(n->answer->at_mono_ns - n->before->at_mono_ns) / 1e9;
}

bool node_rate(const struct monitor_node *n,
               const char *name,
               const char *labels,
               double *per_s)
{
    double seconds = seconds_between(n);
    double now;
    double before;
    *per_s = 0;
    if (!(seconds > 0) ||
        !node_metrics_sum(&n->answer->metrics, name, labels, &now))
        return false;
    /* A label that is new counts from 0. */
    (void)node_metrics_sum(&n->before->metrics, name, labels, &before);
    *per_s = now > before ? (now - before) / seconds : 0;
    return true;
}

void node_latency(const struct monitor_node *n,
                  const char *name,
                  const char *labels,
                  struct metric_spread *h)
{
    if (!(seconds_between(n) > 0))
        return;
    metric_spread_add(h, &n->answer->metrics, name, labels, 1);
    metric_spread_add(h, &n->before->metrics, name, labels, -1);
}
