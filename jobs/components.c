/* Connected components: which nodes hang together, whatever way the edges go. A
 * component is named by the first of its nodes in order of names.
 *     text, records:  node <tab> component
 *     table:          component: = component
 *
 * Union by the smaller number with halved paths (Tarjan): the nodes are
 * numbered in order of names for that, so that the smallest is the first.
 */
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/graph.h"
#include "jobs/jobs.h"

/* The first node of the component of @place, as far as it is known. */
static uint32_t find_first(uint32_t *before, uint32_t place)
{
    while (before[place] != place) {
        before[place] = before[before[place]];
        place = before[place];
    }
    return place;
}

static void join_ends(uint32_t *before, uint32_t a, uint32_t b)
{
    a = find_first(before, a);
    b = find_first(before, b);
    if (a < b)
        before[b] = a;
    else
        before[a] = b;
}

static int components_end(struct mr_task *t, struct err *err)
{
    const struct graph *g;
    uint32_t *order;
    uint32_t *place;
    uint32_t *before;
    int rc = graph_need(t, &g, err);
    if (rc)
        return rc;
    order = graph_by_name(t, g);
    place = mem_alloc(((size_t)g->node_count + 1) * sizeof(*place));
    before = mem_alloc(((size_t)g->node_count + 1) * sizeof(*before));
    for (uint32_t i = 0; i < g->node_count; i++) {
        place[order[i]] = i;
        before[i] = i;
    }
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            join_ends(before, place[n], place[g->targets[i]]);
    for (uint32_t i = 0; i < g->node_count; i++) {
        uint32_t first = find_first(before, i);
        mr_count(t, "components.components", first == i);
        graph_write(t, order[i], "component", graph_name(t, order[first]));
    }
    mem_free(order);
    mem_free(place);
    mem_free(before);
    return 0;
}

static const struct mr_param params[] = {
    GRAPH_MEMORY_PARAM,
};
static const char *const families[] = {"component", NULL};

const struct mr_job job_components = {
    .abi_version = MR_ABI_VERSION,
    .name = "components",
    .help = "Find which nodes of a graph hang together.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = graph_setup,
    .teardown = graph_teardown,
    .map = graph_map,
    .map_end = graph_map_end,
    .reduce = graph_reduce,
    .reduce_end = components_end,
    .single_reducer = true,
    .output_families = families,
};
