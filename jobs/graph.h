/* Graphs in memory, for jobs that go over all edges again and again: maps make
 * blocks of edges out of any input, in parallel, and one reduce has the graph.
 *
 *     map      graph_map, graph_map_end   edges -> blocks: names once each, and
 *                                         pairs of numbers
 *     reduce   graph_reduce               blocks -> nodes and edges, numbered
 *     end      graph_take()               arrays: to whom each node links
 *
 * After Pregel (Malewicz, SIGMOD 2010) and GraphChi (Kyrola, OSDI 2012) the
 * nodes have numbers and the edges of a node lie together; unlike those all of
 * it is in one process, since sending a byte costs more than following an edge.
 * A graph that does not fit into the job's parameter `memory` is given up
 * before it is taken, and the counter graph.too_large says so; a driver has
 * another way for those.
 *
 * Invariants
 *     INV-1. first[0] = 0, first ascends, and first[node_count] = edge_count.
 *     INV-2. The targets of a node ascend, each once; a link to itself stays.
 *
 * Threads: a task's.
 */
#ifndef JOBS_GRAPH_H
#define JOBS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/mapreduce.h"

struct graph_task;

struct graph {
    uint32_t node_count;
    uint64_t edge_count;
    uint64_t *first;   /* Of each node: its first edge; one more at the end. */
    uint32_t *targets; /* Of the edges. */
};

/* The functions of a struct mr_job; its state is the graph_task. The job has
 * graph_params, and single_reducer. */
#define GRAPH_MEMORY_PARAM                                                     \
    {                                                                          \
        "memory", "805306368",                                                 \
            "Bytes that the graph may take in one process: larger ones are "   \
            "refused."                                                         \
    }
int graph_setup(struct mr_task *t, struct err *err);
void graph_teardown(struct mr_task *t);
int graph_map(struct mr_task *t,
              const struct mr_record *record,
              struct err *err);
int graph_map_end(struct mr_task *t, struct err *err);
int graph_reduce(struct mr_task *t,
                 struct slice key,
                 struct mr_values *values,
                 struct err *err);

/* The graph, in reduce_end(); borrowed from the task. NULL: it was too large,
 * which is counted. */
const struct graph *graph_take(struct mr_task *t);
/* The same for a job that has no other way: ERR_TOOBIG says what to do. */
MUST_CHECK int
graph_need(struct mr_task *t, const struct graph **out, struct err *err);
/* All nodes in order of their names. Owned: mem_free(). */
uint32_t *graph_by_name(const struct mr_task *t, const struct graph *g);
/* Write @text of node @n: a line or record, or of a table column @family. */
void graph_write(struct mr_task *t,
                 uint32_t n,
                 const char *family,
                 struct slice text);
/* The name of node @n; borrowed. */
struct slice graph_name(const struct mr_task *t, uint32_t n);
/* Each edge in both directions, and none from a node to itself. Owned. */
struct graph *graph_undirected(const struct graph *g);
void graph_free(struct graph *g); /* NULL is allowed. */

#endif /* JOBS_GRAPH_H */
