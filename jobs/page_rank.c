/* PageRank: the chance to be at a page for one who follows links at random and
 * sometimes jumps anywhere.
 *
 *     rank(v) = (1 - d) / N + d * (sum of rank(u) / links(u) over u -> v
 *                                  + dangling / N)
 *
 * dangling is the rank of pages without links, which all others share. A graph
 * that fits into `memory` is solved by one job (page_rank_solve.c). Others take
 * three kinds of jobs: one makes nodes from edges, one does a round and is
 * repeated until the ranks change by less than `tolerance` together. A last job
 * writes the result, best first. Between them nodes lie in record files.
 *
 * Input: the forms of graph_edges.h.
 * Output: text and records: node <tab> rank; table: rank: = rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "jobs/graph_edges.h"
#include "jobs/jobs.h"
#include "jobs/page_rank_node.h"
#include "jobs/page_rank_solve.h"
#include "jobs/pair_key.h"

const struct mr_param page_rank_params[PAGE_RANK_PARAM_COUNT] = {
    {"iterations", "100", "Rounds at most; one at least."},
    {"tolerance", "0.00001",
     "Stop when all ranks together change by less than this part of 1."},
    {"damping", "0.85", "The chance to follow a link instead of jumping."},
    {"limit", "0", "Ranks to write, the best first; 0: all."},
    {"memory", "805306368",
     "Bytes that the graph may take in one process; a larger one takes a job "
     "for each round."},
};

/* --- from edges to nodes ------------------------------------------------- */

/* Keys "node 00 target"; "node 00" alone announces the node. */
static void emit_edge(void *ctx, struct slice from, struct slice to)
{
    struct mr_task *t = ctx;
    struct buf key = BUF_INIT;
    if (from.len == 0 || to.len == 0) {
        mr_count(t, "page_rank.odd_edges", 1);
    } else if (pair_key(&key, from, to)) {
        mr_emit_count(t, buf_slice(&key), 1);
        if (pair_key(&key, to, SLICE_EMPTY))
            mr_emit_count(t, buf_slice(&key), 1);
    }
    buf_close(&key);
}

static int
edges_map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    (void)err;
    graph_edges_read(record, emit_edge, t);
    return 0;
}

/* One node, its targets each once and in order. */
static int edges_reduce(struct mr_task *t,
                        struct slice node,
                        struct mr_values *values,
                        struct err *err)
{
    struct buf targets = BUF_INIT;
    struct buf value = BUF_INIT;
    struct buf last = BUF_INIT;
    struct page_rank_node n = {.has_targets = true};
    struct slice count;
    (void)err;
    while (mr_values_next(values, &count)) {
        struct slice to = pair_key_member(mr_values_key(values), node.len);
        if (to.len == 0 || slice_eq(to, buf_slice(&last)))
            continue;
        buf_put_lslice(&targets, to);
        buf_clear(&last);
        buf_append_slice(&last, to);
        mr_count(t, "page_rank.links", 1);
    }
    mr_count(t, "page_rank.nodes", 1);
    if (targets.len == 0)
        mr_count(t, "page_rank.dangling_nodes", 1);
    n.targets = buf_slice(&targets);
    page_rank_node_encode(&n, &value);
    mr_write(mr_output(t, NULL), node, buf_slice(&value));
    buf_close(&targets);
    buf_close(&value);
    buf_close(&last);
    return 0;
}

static const struct mr_job edges_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "page_rank_nodes",
    .help = "Make nodes from edges.",
    .map = edges_map,
    .reduce = edges_reduce,
    .combine = mr_combine_sum,
    .group = pair_key_group,
};

/* --- a round ------------------------------------------------------------- */

static const struct mr_param round_params[] = {
    {"nodes", NULL, "How many there are."},
    {"dangling", NULL, "Rank of nodes without targets."},
    {"damping_ppm", NULL, "Damping in millionths."},
    {"first", "0", "1: every node has the same rank before this round."},
};

static int round_setup(struct mr_task *t, struct err *err)
{
    struct page_rank_round *r = mem_zalloc(1, sizeof(*r));
    int64_t nodes = 1;
    int64_t dangling = 0;
    int64_t ppm = 0;
    int rc = mr_param_i64(t, "nodes", 1, INT64_MAX, &nodes, err);
    mr_set_state(t, r);
    if (rc == 0)
        rc = mr_param_i64(t, "dangling", 0, INT64_MAX, &dangling, err);
    if (rc == 0)
        rc = mr_param_i64(t, "damping_ppm", 0, 1000000, &ppm, err);
    *r = (struct page_rank_round){(uint64_t)nodes, (uint64_t)dangling,
                                  (uint32_t)ppm};
    return rc;
}

static void round_teardown(struct mr_task *t)
{
    mem_free(mr_state(t));
}

static size_t count_targets(struct slice targets)
{
    struct cursor in = cursor_make(targets);
    size_t n = 0;
    while (cursor_left(&in) > 0 && !in.bad) {
        (void)cursor_lslice(&in);
        n++;
    }
    return n;
}

static void send_shares(struct mr_task *t, const struct page_rank_node *node)
{
    struct cursor in = cursor_make(node->targets);
    size_t count = count_targets(node->targets);
    struct page_rank_node share = {.has_targets = false};
    struct buf value = BUF_INIT;
    if (count > 0)
        share.sum = node->rank / count;
    page_rank_node_encode(&share, &value);
    while (cursor_left(&in) > 0 && !in.bad)
        mr_emit(t, cursor_lslice(&in), buf_slice(&value));
    buf_close(&value);
}

static int
round_map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    const struct page_rank_round *r = mr_state(t);
    struct page_rank_node node;
    struct buf value = BUF_INIT;
    if (!page_rank_node_decode(record->value, &node))
        return err_set(err, ERR_CORRUPT, "malformed node");
    if (strcmp(mr_param(t, "first"), "1") == 0)
        node.rank = PAGE_RANK_TOTAL / r->nodes;
    node.sum = 0;
    page_rank_node_encode(&node, &value);
    mr_emit(t, record->key, buf_slice(&value));
    buf_close(&value);
    send_shares(t, &node);
    return 0;
}

static void page_rank_fold(struct page_rank_node *into,
                           const struct page_rank_node *from)
{
    into->sum += from->sum;
    if (from->has_targets) {
        into->rank = from->rank;
        into->has_targets = true;
        into->targets = from->targets;
    }
}

static void round_combine(struct mr_task *t,
                          struct slice key,
                          struct buf *acc,
                          struct slice value)
{
    struct page_rank_node a;
    struct page_rank_node b;
    struct buf out = BUF_INIT;
    (void)t;
    (void)key;
    if (!page_rank_node_decode(buf_slice(acc), &a) ||
        !page_rank_node_decode(value, &b))
        PANIC("a node this job encoded cannot be decoded");
    if (!b.has_targets) {
        /* The usual case: only the sum changes, in place. */
        put_le64(acc->data + 8, a.sum + b.sum);
        return;
    }
    page_rank_fold(&a, &b);
    page_rank_node_encode(&a, &out);
    buf_clear(acc);
    buf_append_slice(acc, buf_slice(&out));
    buf_close(&out);
}

static int round_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *values,
                        struct err *err)
{
    const struct page_rank_round *r = mr_state(t);
    struct page_rank_node all = {.rank = 0};
    struct buf targets = BUF_INIT;
    struct buf out = BUF_INIT;
    struct slice value;
    uint64_t old;
    while (mr_values_next(values, &value)) {
        struct page_rank_node one;
        if (!page_rank_node_decode(value, &one)) {
            buf_close(&targets);
            return err_set(err, ERR_CORRUPT, "malformed node");
        }
        page_rank_fold(&all, &one);
        if (one.has_targets)
            buf_append_slice(&targets, one.targets);
    }
    all.targets = buf_slice(&targets);
    old = all.rank;
    all.rank = page_rank_next(r, all.sum);
    all.sum = 0;
    mr_count(t, "page_rank.change",
             (int64_t)(all.rank > old ? all.rank - old : old - all.rank));
    if (all.targets.len == 0)
        mr_count(t, "page_rank.dangling", (int64_t)all.rank);
    page_rank_node_encode(&all, &out);
    mr_write(mr_output(t, NULL), key, buf_slice(&out));
    buf_close(&targets);
    buf_close(&out);
    return 0;
}

static const struct mr_job round_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "page_rank_round",
    .help = "One round of PageRank.",
    .params = round_params,
    .param_count = ARRAY_LEN(round_params),
    .setup = round_setup,
    .teardown = round_teardown,
    .map = round_map,
    .reduce = round_reduce,
    .combine = round_combine,
};

/* --- the result ---------------------------------------------------------- */

/* Keys: the rank, complemented so that the best come first, then the name. */
static int
result_map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct page_rank_node node;
    struct buf key = BUF_INIT;
    if (!page_rank_node_decode(record->value, &node))
        return err_set(err, ERR_CORRUPT, "malformed node");
    if (record->key.len + 8 > MR_KEY_BYTES_MAX)
        return 0;
    buf_put_be64(&key, ~node.rank);
    buf_append_slice(&key, record->key);
    mr_emit(t, buf_slice(&key), SLICE_EMPTY);
    buf_close(&key);
    return 0;
}

static int result_reduce(struct mr_task *t,
                         struct slice key,
                         struct mr_values *values,
                         struct err *err)
{
    struct mr_output *out = mr_output(t, NULL);
    struct slice name = slice_sub(key, 8, key.len);
    uint64_t rank = ~get_be64(key.data);
    int64_t *written = mr_counter(t, "page_rank.written");
    int64_t limit = 0;
    char text[400];
    size_t n = (size_t)snprintf(text, sizeof(text), "%.12f",
                                (double)rank / (double)PAGE_RANK_TOTAL);
    int rc = mr_param_i64(t, "limit", 0, INT64_MAX, &limit, err);
    (void)values;
    if (rc || (limit > 0 && *written >= limit))
        return rc;
    ++*written;
    if (mr_output_is_table(out))
        mr_put(out, name, "rank", SLICE_EMPTY, MR_JOB_TIME,
               slice_make(text, n));
    else
        mr_write(out, name, slice_make(text, n));
    return 0;
}

static const struct mr_param result_params[] = {
    {"limit", "0", "Ranks to write, the best first; 0: all."},
};
static const char *const result_families[] = {"rank", NULL};

static const struct mr_job result_job = {
    .abi_version = MR_ABI_VERSION,
    .name = "page_rank",
    .help = "Rank pages by the links to them.",
    .params = result_params,
    .param_count = ARRAY_LEN(result_params),
    .map = result_map,
    .reduce = result_reduce,
    .single_reducer = true,
    .output_families = result_families,
};

/* Beside the graph, of an attempt. */
#define SOLVE_HEAP_BYTES ((uint64_t)256 << 20)

/* --- one after the other ------------------------------------------------- */

struct driver {
    const struct mr_options *opts;
    struct world *world;
    char *dir; /* Of the record files between jobs. */
    struct page_rank_round round;
    int64_t iterations;
    uint64_t change_max; /* Of PAGE_RANK_TOTAL. */
    const char *limit;
    const char *memory;
    uint64_t memory_bytes;
    struct mr_report *report; /* Of the last job. */
};

static const char *page_rank_param(const struct mr_options *o, const char *name)
{
    for (size_t i = 0; i < o->param_count; i++)
        if (strcmp(o->params[i].name, name) == 0)
            return o->params[i].value;
    for (size_t i = 0; i < PAGE_RANK_PARAM_COUNT; i++)
        if (strcmp(page_rank_params[i].name, name) == 0)
            return page_rank_params[i].fallback;
    return "";
}

static int page_rank_number(const struct mr_options *o,
                            const char *name,
                            double max,
                            double *out,
                            struct err *err)
{
    const char *text = page_rank_param(o, name);
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= 0) || *out > max)
        return err_set(err, ERR_INVALID,
                       "parameter %s=%s: must be a number from 0 to %g", name,
                       text, max);
    return 0;
}

static int check_names(const struct mr_options *o, struct err *err)
{
    for (size_t i = 0; i < o->param_count; i++) {
        size_t k = 0;
        while (k < PAGE_RANK_PARAM_COUNT &&
               strcmp(page_rank_params[k].name, o->params[i].name) != 0)
            k++;
        if (k == PAGE_RANK_PARAM_COUNT)
            return err_set(err, ERR_INVALID,
                           "job page_rank has no parameter %s",
                           o->params[i].name);
    }
    return 0;
}

static int driver_params(struct driver *d, struct err *err)
{
    double iterations = 0;
    double tolerance = 0;
    double damping = 0;
    double memory = 0;
    int rc = check_names(d->opts, err);
    if (rc == 0)
        rc = page_rank_number(d->opts, "iterations", 10000, &iterations, err);
    if (rc == 0)
        rc = page_rank_number(d->opts, "tolerance", 1, &tolerance, err);
    if (rc == 0)
        rc = page_rank_number(d->opts, "damping", 1, &damping, err);
    d->iterations = MAX_OF((int64_t)iterations, 1);
    d->change_max = (uint64_t)(tolerance * (double)PAGE_RANK_TOTAL);
    d->round.damping_ppm = (uint32_t)(damping * 1000000 + 0.5);
    d->limit = page_rank_param(d->opts, "limit");
    d->memory = page_rank_param(d->opts, "memory");
    if (rc == 0)
        rc = page_rank_number(d->opts, "memory", 0x1p50, &memory, err);
    d->memory_bytes = (uint64_t)memory;
    return rc;
}

/* Run one job; @input and @output NULL: those of the user. */
static int run_job(struct driver *d,
                   const struct mr_job *job,
                   const char *input,
                   const char *output,
                   const struct mr_setting *params,
                   size_t param_count,
                   struct err *err)
{
    struct mr_options o = *d->opts;
    o.program = (struct mr_program){.job = job};
    o.params = params;
    o.param_count = param_count;
    o.world = d->world;
    if (input) {
        o.inputs = &input;
        o.input_count = 1;
    }
    if (output) {
        o.outputs = &output;
        o.output_count = 1;
        o.overwrite = true;
    }
    mr_report_free(d->report);
    d->report = NULL;
    return mr_run(&o, &d->report, err);
}

static void spec_of(struct buf *out, const struct driver *d, int64_t round)
{
    buf_clear(out);
    buf_printf(out, "records:%s/%lld", d->dir, (long long)round);
    (void)buf_cstr(out);
}

static int run_round(struct driver *d, int64_t i, struct err *err)
{
    char nodes[24];
    char dangling[24];
    char ppm[24];
    struct mr_setting params[] = {{"nodes", nodes},
                                  {"dangling", dangling},
                                  {"damping_ppm", ppm},
                                  {"first", i == 1 ? "1" : "0"}};
    struct buf in = BUF_INIT;
    struct buf out = BUF_INIT;
    int rc;
    snprintf(nodes, sizeof(nodes), "%llu", (unsigned long long)d->round.nodes);
    snprintf(dangling, sizeof(dangling), "%llu",
             (unsigned long long)d->round.dangling);
    snprintf(ppm, sizeof(ppm), "%u", d->round.damping_ppm);
    spec_of(&in, d, i - 1);
    spec_of(&out, d, i);
    rc = run_job(d, &round_job, in.data, out.data, params, ARRAY_LEN(params),
                 err);
    /* The round before is no longer needed. */
    if (rc == 0)
        rc = mr_scratch_remove(d->opts, d->world, in.data + strlen("records:"),
                               err);
    buf_close(&in);
    buf_close(&out);
    return rc;
}

static int make_nodes(struct driver *d, struct err *err)
{
    struct buf out = BUF_INIT;
    uint64_t dangling;
    int rc;
    spec_of(&out, d, 0);
    rc = run_job(d, &edges_job, NULL, out.data, NULL, 0, err);
    buf_close(&out);
    if (rc)
        return rc;
    d->round.nodes = (uint64_t)mr_report_counter(d->report, "page_rank.nodes");
    if (d->round.nodes == 0)
        return err_set(err, ERR_INVALID, "the input has no links to rank by");
    dangling =
        (uint64_t)mr_report_counter(d->report, "page_rank.dangling_nodes");
    d->round.dangling = PAGE_RANK_TOTAL / d->round.nodes * dangling;
    return 0;
}

/* All rounds in one job. *@done false: the graph is too large for that. */
static int
solve_at_once(struct driver *d, bool *done, int64_t *rounds, struct err *err)
{
    char iterations[24];
    char change_max[24];
    char ppm[24];
    const struct mr_setting params[] = {{"iterations", iterations},
                                        {"change_max", change_max},
                                        {"damping_ppm", ppm},
                                        {"memory", d->memory}};
    const struct mr_options *user = d->opts;
    struct mr_options roomy = *user;
    struct buf out = BUF_INIT;
    int rc;
    snprintf(iterations, sizeof(iterations), "%lld", (long long)d->iterations);
    snprintf(change_max, sizeof(change_max), "%llu",
             (unsigned long long)d->change_max);
    snprintf(ppm, sizeof(ppm), "%u", d->round.damping_ppm);
    if (roomy.heap_bytes == 0)
        roomy.heap_bytes = 2 * d->memory_bytes + SOLVE_HEAP_BYTES;
    d->opts = &roomy;
    spec_of(&out, d, 0);
    rc = run_job(d, &page_rank_solve_job, NULL, out.data, params,
                 ARRAY_LEN(params), err);
    d->opts = user;
    buf_close(&out);
    if (rc)
        return rc;
    *done = mr_report_counter(d->report, "graph.too_large") == 0;
    *rounds = mr_report_counter(d->report, "page_rank.rounds_solved");
    d->round.nodes = (uint64_t)mr_report_counter(d->report, "graph.nodes");
    if (*done && d->round.nodes == 0)
        return err_set(err, ERR_INVALID, "the input has no links to rank by");
    return 0;
}

static void report_rounds(struct driver *d, int64_t rounds)
{
    struct mr_report *r = d->report;
    r->counters =
        mem_realloc(r->counters, (r->counter_count + 2) * sizeof(*r->counters));
    r->counters[r->counter_count++] =
        (struct mr_counter_value){mem_strdup("page_rank.rounds"), rounds};
    r->counters[r->counter_count++] = (struct mr_counter_value){
        mem_strdup("page_rank.nodes"), (int64_t)d->round.nodes};
}

/* A job for each round. */
static int solve_by_rounds(struct driver *d, int64_t *rounds, struct err *err)
{
    uint64_t change = UINT64_MAX;
    int64_t i = 0;
    int rc = make_nodes(d, err);
    while (rc == 0 && i < d->iterations && change > d->change_max) {
        rc = run_round(d, ++i, err);
        if (rc)
            break;
        change = (uint64_t)mr_report_counter(d->report, "page_rank.change");
        d->round.dangling =
            (uint64_t)mr_report_counter(d->report, "page_rank.dangling");
    }
    *rounds = i;
    return rc;
}

static int page_rank_drive(struct driver *d, struct err *err)
{
    struct mr_setting limit = {"limit", d->limit};
    struct buf in = BUF_INIT;
    int64_t rounds = 0;
    bool done = false;
    int rc = 0;
    if (d->memory_bytes > 0)
        rc = solve_at_once(d, &done, &rounds, err);
    spec_of(&in, d, 0);
    if (rc == 0 && !done) {
        rc = solve_by_rounds(d, &rounds, err);
        spec_of(&in, d, rounds);
    }
    if (rc == 0)
        rc = run_job(d, &result_job, in.data, NULL, &limit, 1, err);
    if (rc == 0)
        report_rounds(d, rounds);
    buf_close(&in);
    return rc;
}

const struct mr_job *page_rank_part(const char *name)
{
    static const struct mr_job *const parts[] = {
        &edges_job, &round_job, &result_job, &page_rank_solve_job};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strcmp(parts[i]->name, name) == 0)
            return parts[i];
    return NULL;
}

int page_rank_run(const struct mr_options *opts,
                  struct mr_report **report,
                  struct err *err)
{
    struct driver d = {.opts = opts, .world = opts->world};
    struct world *own = NULL;
    int rc = driver_params(&d, err);
    if (!d.world)
        d.world = own = world_real_new();
    if (rc == 0)
        rc = mr_check_outputs(opts, d.world, err);
    if (rc == 0)
        rc = mr_scratch_make(opts, d.world, &d.dir, err);
    if (rc == 0) {
        int removed;
        rc = page_rank_drive(&d, err);
        removed = mr_scratch_remove(opts, d.world, d.dir, rc ? NULL : err);
        rc = rc ? rc : removed;
    }
    if (report)
        *report = d.report;
    else
        mr_report_free(d.report);
    mem_free(d.dir);
    world_free(own);
    return rc;
}
