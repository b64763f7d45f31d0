/* Blocks of edges, and the graph that is made of them.
 *
 *     block = names:varint name:lslice* (from:varint to:varint)*
 *
 * with numbers of the block's own names. Edges are put in order by counting
 * those of each node: two arrays, twelve bytes an edge, and no sort but that of
 * one node's targets.
 */
#include "jobs/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "jobs/graph_edges.h"
#include "jobs/graph_names.h"

/* A block is written when it has as many. */
#define BLOCK_EDGES      ((size_t)1 << 20)
#define BLOCK_NAME_BYTES ((size_t)8 << 20)
/* While edges are put in order: as pairs, and as targets. */
#define EDGE_BYTES ((size_t)12)
/* Of a node: its place among the edges, and what jobs keep of it. */
#define NODE_BYTES ((size_t)32)

struct graph_edge {
    uint32_t from;
    uint32_t to;
};

struct graph_task {
    struct mr_task *task;
    struct graph_names names;
    struct graph_edge *edges; /* Owned. */
    size_t edge_count;
    size_t edge_cap;
    size_t memory; /* Most bytes. */
    bool too_large;
    unsigned blocks; /* Written by this map. */
    struct graph made;
};

/* --- maps ---------------------------------------------------------------- */

int graph_setup(struct mr_task *t, struct err *err)
{
    struct graph_task *g = mem_zalloc(1, sizeof(*g));
    int64_t memory = 0;
    int rc = mr_param_i64(t, "memory", 0, INT64_MAX / 2, &memory, err);
    g->task = t;
    g->memory = (size_t)memory;
    mr_set_state(t, g);
    return rc;
}

static void close_made(struct graph *g)
{
    mem_free(g->first);
    mem_free(g->targets);
    *g = (struct graph){.node_count = 0};
}

void graph_teardown(struct mr_task *t)
{
    struct graph_task *g = mr_state(t);
    graph_names_close(&g->names);
    mem_free(g->edges);
    close_made(&g->made);
    mem_free(g);
}

static void add_edge(struct graph_task *g, uint32_t from, uint32_t to)
{
    if (g->edge_count == g->edge_cap) {
        g->edge_cap = g->edge_cap ? g->edge_cap + g->edge_cap / 2 : 4096;
        g->edges = mem_realloc(g->edges, g->edge_cap * sizeof(*g->edges));
    }
    g->edges[g->edge_count++] = (struct graph_edge){from, to};
}

static void write_block(struct graph_task *g)
{
    struct buf key = BUF_INIT;
    struct buf block = BUF_INIT;
    if (g->edge_count == 0)
        return;
    buf_put_be64(&key, (uint64_t)mr_task_index(g->task) << 32 | g->blocks++);
    buf_put_varint(&block, g->names.count);
    for (uint32_t i = 0; i < g->names.count; i++)
        buf_put_lslice(&block, graph_names_at(&g->names, i));
    for (size_t i = 0; i < g->edge_count; i++) {
        buf_put_varint(&block, g->edges[i].from);
        buf_put_varint(&block, g->edges[i].to);
    }
    mr_emit(g->task, buf_slice(&key), buf_slice(&block));
    graph_names_clear(&g->names);
    g->edge_count = 0;
    buf_close(&key);
    buf_close(&block);
}

/* As keys of two parts have it, whatever job reads the edges. */
static bool is_name(struct slice s)
{
    return s.len < MR_KEY_BYTES_MAX / 2 && !memchr(s.data, '\0', s.len);
}

static void take_edge(void *ctx, struct slice from, struct slice to)
{
    struct graph_task *g = ctx;
    uint32_t source;
    if (from.len == 0 || to.len == 0 || !is_name(from) || !is_name(to)) {
        mr_count(g->task, "graph.odd_edges", 1);
        return;
    }
    source = graph_names_add(&g->names, from);
    add_edge(g, source, graph_names_add(&g->names, to));
    if (g->edge_count >= BLOCK_EDGES || g->names.bytes.len >= BLOCK_NAME_BYTES)
        write_block(g);
}

int graph_map(struct mr_task *t,
              const struct mr_record *record,
              struct err *err)
{
    (void)err;
    graph_edges_read(record, take_edge, mr_state(t));
    return 0;
}

int graph_map_end(struct mr_task *t, struct err *err)
{
    (void)err;
    write_block(mr_state(t));
    return 0;
}

/* --- the reduce ---------------------------------------------------------- */

static bool is_too_large(const struct graph_task *g, size_t more)
{
    return graph_names_bytes(&g->names) + g->names.count * NODE_BYTES +
                   (g->edge_count + more) * EDGE_BYTES >
               g->memory ||
           g->names.count > UINT32_MAX / 4;
}

static int take_block(struct graph_task *g, struct slice block, struct err *err)
{
    struct cursor c = cursor_make(block);
    uint64_t names = cursor_varint(&c);
    uint32_t *numbers;
    if (c.bad || names > block.len)
        return err_set(err, ERR_CORRUPT, "malformed block of a graph");
    numbers = mem_alloc((size_t)(names + 1) * sizeof(*numbers));
    for (uint64_t i = 0; i < names && !c.bad; i++)
        numbers[i] = graph_names_add(&g->names, cursor_lslice(&c));
    g->too_large = is_too_large(g, cursor_left(&c) / 2);
    while (!c.bad && !g->too_large && cursor_left(&c) > 0) {
        uint64_t from = cursor_varint(&c);
        uint64_t to = cursor_varint(&c);
        c.bad = c.bad || from >= names || to >= names;
        if (!c.bad)
            add_edge(g, numbers[from], numbers[to]);
    }
    mem_free(numbers);
    return c.bad ? err_set(err, ERR_CORRUPT, "malformed block of a graph") : 0;
}

int graph_reduce(struct mr_task *t,
                 struct slice key,
                 struct mr_values *values,
                 struct err *err)
{
    struct graph_task *g = mr_state(t);
    struct slice block;
    int rc = 0;
    (void)key;
    while (rc == 0 && !g->too_large && mr_values_next(values, &block))
        rc = take_block(g, block, err);
    return rc;
}

/* --- arrays -------------------------------------------------------------- */

static int compare_targets(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Short lists, as most are, by insertion. */
static void sort_targets(uint32_t *list, size_t count)
{
    if (count > 24) {
        qsort(list, count, sizeof(*list), compare_targets);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint32_t x = list[i];
        size_t k = i;
        for (; k > 0 && list[k - 1] > x; k--)
            list[k] = list[k - 1];
        list[k] = x;
    }
}

/* INV-2: the targets of each node in order and once, moved together. */
static void tidy_targets(struct graph *g)
{
    uint64_t kept = 0;
    uint64_t begin = 0;
    for (uint32_t n = 0; n < g->node_count; n++) {
        uint64_t end = g->first[n + 1];
        sort_targets(g->targets + begin, (size_t)(end - begin));
        g->first[n] = kept;
        for (uint64_t i = begin; i < end; i++)
            if (i == begin || g->targets[i] != g->targets[i - 1])
                g->targets[kept++] = g->targets[i];
        begin = end;
    }
    g->first[g->node_count] = kept;
    g->edge_count = kept;
    POST(g->first[0] == 0); /* INV-1 */
}

static void make_arrays(struct graph *g, uint32_t nodes, uint64_t edges)
{
    *g = (struct graph){.node_count = nodes, .edge_count = edges};
    g->first = mem_zalloc((size_t)nodes + 2, sizeof(*g->first));
    g->targets = mem_alloc((size_t)(edges + 1) * sizeof(*g->targets));
}

/* From counts of each node in first[n + 2] to places: while edges are put in,
 * first[n + 1] is where the next one of n goes. */
static void add_counts(struct graph *g)
{
    for (uint32_t n = 1; n <= g->node_count; n++)
        g->first[n + 1] += g->first[n];
}

const struct graph *graph_take(struct mr_task *t)
{
    struct graph_task *s = mr_state(t);
    struct graph *g = &s->made;
    if (s->too_large) {
        mr_count(t, "graph.too_large", 1);
        return NULL;
    }
    make_arrays(g, s->names.count, s->edge_count);
    for (size_t i = 0; i < s->edge_count; i++)
        g->first[s->edges[i].from + 2]++;
    add_counts(g);
    for (size_t i = 0; i < s->edge_count; i++)
        g->targets[g->first[s->edges[i].from + 1]++] = s->edges[i].to;
    mem_free(s->edges);
    s->edges = NULL;
    s->edge_count = s->edge_cap = 0;
    tidy_targets(g);
    mr_count(t, "graph.nodes", g->node_count);
    mr_count(t, "graph.edges", (int64_t)g->edge_count);
    return g;
}

int graph_need(struct mr_task *t, const struct graph **out, struct err *err)
{
    *out = graph_take(t);
    if (*out)
        return 0;
    err_set(err, ERR_TOOBIG, "the graph does not fit into memory=%s bytes",
            mr_param(t, "memory"));
    err_hint(err, "give it more: --param memory=BYTES and --heap");
    return ERR_TOOBIG;
}

struct named_node {
    struct slice name;
    uint32_t number;
};

static int compare_names(const void *a, const void *b)
{
    const struct named_node *x = a;
    const struct named_node *y = b;
    return slice_cmp(x->name, y->name);
}

uint32_t *graph_by_name(const struct mr_task *t, const struct graph *g)
{
    struct named_node *all =
        mem_alloc(((size_t)g->node_count + 1) * sizeof(*all));
    uint32_t *order = mem_alloc(((size_t)g->node_count + 1) * sizeof(*order));
    for (uint32_t n = 0; n < g->node_count; n++)
        all[n] = (struct named_node){graph_name(t, n), n};
    if (g->node_count)
        qsort(all, g->node_count, sizeof(*all), compare_names);
    for (uint32_t i = 0; i < g->node_count; i++)
        order[i] = all[i].number;
    mem_free(all);
    return order;
}

void graph_write(struct mr_task *t,
                 uint32_t n,
                 const char *family,
                 struct slice text)
{
    struct mr_output *out = mr_output(t, NULL);
    struct slice name = graph_name(t, n);
    if (mr_output_is_table(out))
        mr_put(out, name, family, SLICE_EMPTY, MR_JOB_TIME, text);
    else
        mr_write(out, name, text);
}

struct slice graph_name(const struct mr_task *t, uint32_t n)
{
    const struct graph_task *g = mr_state(t);
    return graph_names_at(&g->names, n);
}

struct graph *graph_undirected(const struct graph *g)
{
    struct graph *r = mem_zalloc(1, sizeof(*r));
    make_arrays(r, g->node_count, 2 * g->edge_count);
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (g->targets[i] != n) {
                r->first[n + 2]++;
                r->first[g->targets[i] + 2]++;
            }
    add_counts(r);
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (g->targets[i] != n) {
                r->targets[r->first[n + 1]++] = g->targets[i];
                r->targets[r->first[g->targets[i] + 1]++] = n;
            }
    tidy_targets(r);
    return r;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    close_made(g);
    mem_free(g);
}
