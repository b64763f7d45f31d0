/* The job that does all rounds of PageRank in one process: a part of the driver
 * of page_rank. Its output are records of page_rank_node.h, without targets. If
 * the graph is too large it writes nothing and counts graph.too_large.
 */
#ifndef JOBS_PAGE_RANK_SOLVE_H
#define JOBS_PAGE_RANK_SOLVE_H

#include "mapreduce/mapreduce.h"

extern const struct mr_job page_rank_solve_job;

#endif /* JOBS_PAGE_RANK_SOLVE_H */
