/* HITS (Kleinberg, SODA 1998): a good authority is linked to by good hubs, and
 * a good hub links to good authorities. Both scores of all nodes have the
 * length 1 as vectors. text, records:  node <tab> authority <space> hub table:
 * authority: and hub:
 *
 * Links of a page to itself do not count.
 */
#include <math.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/graph.h"
#include "jobs/jobs.h"

/* Divide by the length. */
static void make_length_one(double *v, uint32_t count)
{
    double sum = 0;
    for (uint32_t n = 0; n < count; n++)
        sum += v[n] * v[n];
    if (sum > 0)
        for (uint32_t n = 0; n < count; n++)
            v[n] /= sqrt(sum);
}

static void hits_round(const struct graph *g, double *authority, double *hub)
{
    for (uint32_t n = 0; n < g->node_count; n++)
        authority[n] = 0;
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (g->targets[i] != n)
                authority[g->targets[i]] += hub[n];
    make_length_one(authority, g->node_count);
    for (uint32_t n = 0; n < g->node_count; n++) {
        hub[n] = 0;
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (g->targets[i] != n)
                hub[n] += authority[g->targets[i]];
    }
    make_length_one(hub, g->node_count);
}

static void
write_scores(struct mr_task *t, uint32_t n, double authority, double hub)
{
    struct mr_output *out = mr_output(t, NULL);
    char text[800]; /* Of any two numbers. */
    int bytes;
    if (mr_output_is_table(out)) {
        bytes = snprintf(text, sizeof(text), "%.9f", authority);
        graph_write(t, n, "authority", slice_make(text, (size_t)bytes));
        bytes = snprintf(text, sizeof(text), "%.9f", hub);
        graph_write(t, n, "hub", slice_make(text, (size_t)bytes));
        return;
    }
    bytes = snprintf(text, sizeof(text), "%.9f %.9f", authority, hub);
    graph_write(t, n, "", slice_make(text, (size_t)bytes));
}

static int hits_end(struct mr_task *t, struct err *err)
{
    const struct graph *g = NULL;
    double *authority;
    double *hub;
    uint32_t *order;
    int64_t iterations = 0;
    int rc = mr_param_i64(t, "iterations", 1, 100000, &iterations, err);
    if (rc == 0)
        rc = graph_need(t, &g, err);
    if (rc)
        return rc;
    authority = mem_zalloc((size_t)g->node_count + 1, sizeof(*authority));
    hub = mem_alloc(((size_t)g->node_count + 1) * sizeof(*hub));
    for (uint32_t n = 0; n < g->node_count; n++)
        hub[n] = 1;
    for (int64_t i = 0; i < iterations; i++)
        hits_round(g, authority, hub);
    order = graph_by_name(t, g);
    for (uint32_t i = 0; i < g->node_count; i++)
        write_scores(t, order[i], authority[order[i]], hub[order[i]]);
    mem_free(authority);
    mem_free(hub);
    mem_free(order);
    return 0;
}

static const struct mr_param params[] = {
    {"iterations", "50", "Rounds."},
    GRAPH_MEMORY_PARAM,
};
static const char *const families[] = {"authority", "hub", NULL};

const struct mr_job job_hits = {
    .abi_version = MR_ABI_VERSION,
    .name = "hits",
    .help = "Score the authorities and the hubs of a graph.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = graph_setup,
    .teardown = graph_teardown,
    .map = graph_map,
    .map_end = graph_map_end,
    .reduce = graph_reduce,
    .reduce_end = hits_end,
    .single_reducer = true,
    .output_families = families,
};
