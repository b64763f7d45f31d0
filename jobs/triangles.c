/* Triangles: of each node, how many pairs of its neighbours are neighbours
 * themselves, whatever way the edges go; nodes in none are left out.
 *     text, records:  node <tab> triangles
 *     table:          triangles: = triangles
 *
 * Each edge is followed from the node with fewer neighbours to that with more
 * (Schank and Wagner, WEA 2005), so that a page that all link to costs no more
 * than the others: O(edges^1.5).
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "jobs/graph.h"
#include "jobs/jobs.h"

static uint64_t degree_of(const struct graph *g, uint32_t n)
{
    return g->first[n + 1] - g->first[n];
}

static bool is_below(const struct graph *g, uint32_t a, uint32_t b)
{
    uint64_t x = degree_of(g, a);
    uint64_t y = degree_of(g, b);
    return x < y || (x == y && a < b);
}

/* Of @g, which has each edge twice, the edges upwards alone. */
static struct graph *upward_edges(const struct graph *g)
{
    struct graph *up = mem_zalloc(1, sizeof(*up));
    uint64_t kept = 0;
    up->node_count = g->node_count;
    up->first = mem_zalloc((size_t)g->node_count + 2, sizeof(*up->first));
    up->targets =
        mem_alloc((size_t)(g->edge_count / 2 + 1) * sizeof(*up->targets));
    for (uint32_t n = 0; n < g->node_count; n++) {
        up->first[n] = kept;
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (is_below(g, n, g->targets[i]))
                up->targets[kept++] = g->targets[i];
    }
    up->first[g->node_count] = up->edge_count = kept;
    POST(kept == g->edge_count / 2);
    return up;
}

/* Count the common upper neighbours of @a and @b, which are marked of @a. */
static void count_corners(const struct graph *up,
                          const uint32_t *mark,
                          uint32_t a,
                          uint32_t b,
                          uint64_t *counts)
{
    for (uint64_t i = up->first[b]; i < up->first[b + 1]; i++) {
        uint32_t c = up->targets[i];
        if (mark[c] != a + 1)
            continue;
        counts[a]++;
        counts[b]++;
        counts[c]++;
    }
}

static uint64_t *count_triangles(const struct graph *up)
{
    uint64_t *counts = mem_zalloc((size_t)up->node_count + 1, sizeof(*counts));
    uint32_t *mark = mem_zalloc((size_t)up->node_count + 1, sizeof(*mark));
    for (uint32_t a = 0; a < up->node_count; a++) {
        for (uint64_t i = up->first[a]; i < up->first[a + 1]; i++)
            mark[up->targets[i]] = a + 1;
        for (uint64_t i = up->first[a]; i < up->first[a + 1]; i++)
            count_corners(up, mark, a, up->targets[i], counts);
    }
    mem_free(mark);
    return counts;
}

static int triangles_end(struct mr_task *t, struct err *err)
{
    const struct graph *g;
    struct graph *both;
    struct graph *up;
    uint64_t *counts;
    uint32_t *order;
    uint64_t corners = 0;
    int rc = graph_need(t, &g, err);
    if (rc)
        return rc;
    both = graph_undirected(g);
    up = upward_edges(both);
    graph_free(both);
    counts = count_triangles(up);
    order = graph_by_name(t, g);
    for (uint32_t i = 0; i < g->node_count; i++) {
        uint64_t count = counts[order[i]];
        char text[24];
        int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
        corners += count;
        if (count)
            graph_write(t, order[i], "triangles", slice_make(text, (size_t)n));
    }
    mr_count(t, "triangles.triangles", (int64_t)(corners / 3));
    graph_free(up);
    mem_free(counts);
    mem_free(order);
    return 0;
}

static const struct mr_param params[] = {
    GRAPH_MEMORY_PARAM,
};
static const char *const families[] = {"triangles", NULL};

const struct mr_job job_triangles = {
    .abi_version = MR_ABI_VERSION,
    .name = "triangles",
    .help = "Count the triangles of each node of a graph.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = graph_setup,
    .teardown = graph_teardown,
    .map = graph_map,
    .map_end = graph_map_end,
    .reduce = graph_reduce,
    .reduce_end = triangles_end,
    .single_reducer = true,
    .output_families = families,
};
