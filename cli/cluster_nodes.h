/* The nodes of a cluster on loopback: their directories, configuration and
 * processes.
 *
 *     DIR/key            the cluster's key
 *     DIR/n1/server.conf what node n1 is told; its files are beside it
 */
#ifndef CLI_CLUSTER_NODES_H
#define CLI_CLUSTER_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"

struct world;

#define CLUSTER_NODES_MAX 32
/* Nodes with lock servers and namenodes: at most this many, the first ones. */
#define CLUSTER_CELL_MAX 5

struct cluster_node {
    char name[32]; /* "n1" */
    char *dir;     /* Owned, as those below. */
    char *conf;    /* Path of its configuration. */
    char *address; /* "127.0.0.1:port" */
    char *console; /* The same for browsers; "": none. */
};

struct cluster {
    char *dir; /* Owned. */
    struct cluster_node nodes[CLUSTER_NODES_MAX];
    size_t node_count;
};

/* The cluster at @dir. The caller closes @out in any case. Errors:
 * ERR_NOTFOUND, those of reading its files. */
MUST_CHECK int
cluster_open(const char *dir, struct cluster *out, struct err *err);
/* The same; it is made with @count nodes when it is not there. */
MUST_CHECK int cluster_create(struct world *w,
                              const char *dir,
                              size_t count,
                              struct cluster *out,
                              struct err *err);
void cluster_close(struct cluster *c);
/* ERR_NOTFOUND names those there are. */
MUST_CHECK int cluster_find(struct cluster *c,
                            const char *name,
                            struct cluster_node **out,
                            struct err *err);
/* Path of the cluster's key; the caller frees it. */
char *cluster_key_path(const struct cluster *c);

/* --- processes ----------------------------------------------------------- */

/* The process that serves the node; 0: none. */
pid_t cluster_node_pid(const struct cluster_node *n);
/* Was @pid killed, and holds what is its own until the last of its threads is
 * back from the disk? */
bool cluster_process_is_dying(pid_t pid);
/* Start its process, a daemon whose output goes to DIR/nK/out. *@pid is its
 * number; the caller waits for it if it ends. */
MUST_CHECK int
cluster_node_start(const struct cluster_node *n, pid_t *pid, struct err *err);
/* The last line its process wrote before it ended; the caller frees it. */
char *cluster_node_last_words(const struct cluster_node *n);

#endif /* CLI_CLUSTER_NODES_H */
