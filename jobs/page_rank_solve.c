/* PageRank of a graph that fits into one process: all rounds in the reduce, on
 * numbered nodes. The shares are whole numbers and so are the sums, so that the
 * ranks are those of the rounds by jobs, to the last bit.
 */
#include "jobs/page_rank_solve.h"

#include "base/core/panic.h"
#include "jobs/graph.h"
#include "jobs/jobs.h"
#include "jobs/page_rank_node.h"

struct solved {
    const struct graph *g; /* Borrowed. */
    struct page_rank_round round;
    uint64_t *rank; /* Owned, as the next. */
    uint64_t *sum;
    uint64_t change;
};

static void send_all_shares(struct solved *s)
{
    const struct graph *g = s->g;
    memset(s->sum, 0, g->node_count * sizeof(*s->sum));
    for (uint32_t n = 0; n < g->node_count; n++) {
        uint64_t end = g->first[n + 1];
        uint64_t share;
        if (end == g->first[n])
            continue;
        share = s->rank[n] / (end - g->first[n]);
        for (uint64_t i = g->first[n]; i < end; i++)
            s->sum[g->targets[i]] += share;
    }
}

static void solve_round(struct solved *s)
{
    const struct graph *g = s->g;
    uint64_t dangling = 0;
    s->change = 0;
    send_all_shares(s);
    for (uint32_t n = 0; n < g->node_count; n++) {
        uint64_t old = s->rank[n];
        uint64_t now = page_rank_next(&s->round, s->sum[n]);
        s->rank[n] = now;
        s->change += now > old ? now - old : old - now;
        if (g->first[n + 1] == g->first[n])
            dangling += now;
    }
    s->round.dangling = dangling;
}

static void begin_ranks(struct solved *s)
{
    const struct graph *g = s->g;
    uint64_t each = PAGE_RANK_TOTAL / g->node_count;
    uint64_t dangling = 0;
    for (uint32_t n = 0; n < g->node_count; n++) {
        s->rank[n] = each;
        dangling += g->first[n + 1] == g->first[n];
    }
    s->round.nodes = g->node_count;
    s->round.dangling = each * dangling;
    s->change = UINT64_MAX;
}

static void write_ranks(struct mr_task *t, const struct solved *s)
{
    struct mr_output *out = mr_output(t, NULL);
    struct buf value = BUF_INIT;
    for (uint32_t n = 0; n < s->g->node_count; n++) {
        const struct page_rank_node node = {.rank = s->rank[n],
                                            .has_targets = true};
        buf_clear(&value);
        page_rank_node_encode(&node, &value);
        mr_write(out, graph_name(t, n), buf_slice(&value));
    }
    buf_close(&value);
}

static int solve_end(struct mr_task *t, struct err *err)
{
    struct solved s = {.g = NULL};
    int64_t iterations = 0;
    int64_t change_max = 0;
    int64_t ppm = 0;
    int64_t i = 0;
    int rc = mr_param_i64(t, "iterations", 1, INT64_MAX, &iterations, err);
    if (rc == 0)
        rc = mr_param_i64(t, "change_max", 0, INT64_MAX, &change_max, err);
    if (rc == 0)
        rc = mr_param_i64(t, "damping_ppm", 0, 1000000, &ppm, err);
    s.g = rc ? NULL : graph_take(t);
    if (!s.g || s.g->node_count == 0)
        return rc;
    s.round.damping_ppm = (uint32_t)ppm;
    s.rank = mem_alloc(s.g->node_count * sizeof(*s.rank));
    s.sum = mem_alloc(s.g->node_count * sizeof(*s.sum));
    begin_ranks(&s);
    for (; i < iterations && s.change > (uint64_t)change_max; i++)
        solve_round(&s);
    mr_count(t, "page_rank.rounds_solved", i);
    write_ranks(t, &s);
    mem_free(s.rank);
    mem_free(s.sum);
    return 0;
}

static const struct mr_param params[] = {
    {"iterations", NULL, "Rounds at most."},
    {"change_max", NULL, "Stop when all ranks together change by less."},
    {"damping_ppm", NULL, "Damping in millionths."},
    GRAPH_MEMORY_PARAM,
};

const struct mr_job page_rank_solve_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "page_rank_solve",
    .help = "All rounds of PageRank on a graph in memory.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = graph_setup,
    .teardown = graph_teardown,
    .map = graph_map,
    .map_end = graph_map_end,
    .reduce = graph_reduce,
    .reduce_end = solve_end,
    .single_reducer = true,
};
