/* Questions to the nodes of a cluster, their answers, and the two ways of
 * printing these. Private to `quarry cluster`.
 */
#ifndef CLI_CLUSTER_ANSWERS_H
#define CLI_CLUSTER_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "gfs-lite/gfs.h"

/* It runs, as far as is known. */
#define QUESTION_PID_UNKNOWN ((pid_t)-1)

/* The question to one node. */
struct question {
    const struct cluster_node *node;
    pid_t pid; /* 0: it does not run. */
    struct buf answer;
    uint64_t asked_us;  /* By the clock of who asks; */
    uint64_t waited_us; /* for the answer. */
    struct err err;
    int rc;
};

/* Nodes that are asked at most. */
#define INQUIRY_NODES_MAX 512

/* The questions to all nodes, and to the file system. */
struct inquiry {
    struct cli *cli;
    const struct cluster *cluster; /* NULL: one that is known by addresses. */
    const struct rpc_security *security;
    struct question questions[INQUIRY_NODES_MAX];
    size_t count;
    bool about_files;
    struct gfs_status files; /* Valid without an error. */
    struct arena arena;      /* Of files. */
    struct err files_err;
    struct err err; /* There could be no question. */
};

/* "down", "silent" (no answer in time) or "up". */
const char *question_state(const struct question *q);

/* Parts of the answer (status_text.h). All borrowed. */
struct slice answer_up(const struct question *q); /* For how long, in µs. */
/* The value of @key in the line about the process. */
struct slice answer_about(const struct question *q, const char *key);
/* The lines about roles. */
struct slice answer_roles(const struct question *q);
/* The first role that nodes have and none of them leads, or that is not ready;
 * NULL: there is none such. */
const char *answers_without_leader(const struct inquiry *i);

/* Nodes whose clocks differ by more from the most are named. */
#define CLOCKS_DIFFER_US INT64_C(1000000)

/* By how much the clock of node @n is ahead of the others', in µs; 0: it agrees
 * with them, as far as that can be told, or did not answer. */
int64_t answer_clock(const struct inquiry *i, size_t n);

/* "well", or what ails the file system; append. PRE: it was asked. */
void put_files_health(const struct gfs_status *f, struct buf *out);
/* How many chunk servers live, and the bytes they have, and have free. */
size_t
living_servers(const struct gfs_status *f, uint64_t *capacity, uint64_t *space);

/* A row for each role of each node, and one for the files of all. */
void print_roles(const struct inquiry *i);
/* A row for each node, and what they do together in a line or two. */
void print_nodes(const struct inquiry *i);

#endif /* CLI_CLUSTER_ANSWERS_H */
