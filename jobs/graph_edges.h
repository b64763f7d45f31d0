/* Edges of a graph out of the records of a job: table rows with link:<target>
 * cells (link_graph), or anchor:<source> cells (a Webtable); records of
 * link_graph; lines "source target" separated by blanks, tabs or commas ('#'
 * begins a comment).
 *
 * Nothing parks.
 */
#ifndef JOBS_GRAPH_EDGES_H
#define JOBS_GRAPH_EDGES_H

#include "base/core/slice.h"
#include "mapreduce/mapreduce.h"

/* Called for each edge; a name may be empty. Borrowed for the call. */
typedef void (*graph_edge_fn)(void *ctx, struct slice from, struct slice to);

void graph_edges_read(const struct mr_record *record,
                      graph_edge_fn fn,
                      void *ctx);

#endif /* JOBS_GRAPH_EDGES_H */
