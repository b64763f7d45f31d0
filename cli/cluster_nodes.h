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
/* The roles of these, and of the others. */
#define CLUSTER_CELL_ROLES                                                     \
    "lock,namenode,chunk,tablet,master,jobs,worker,follow"
#define CLUSTER_OTHER_ROLES "chunk,tablet,worker"

struct cluster_node {
    char name[32];     /* "n1" */
    char *dir;         /* Owned, as those below. */
    char *conf;        /* Path of its configuration. */
    char *address;     /* "127.0.0.1:port" */
    char *console;     /* The same for browsers; "": none. */
    bool is_elsewhere; /* It stores and runs on another host (slurm_node.h). */
};

struct cluster {
    char *dir; /* Owned. */
    struct cluster_node nodes[CLUSTER_NODES_MAX];
    size_t node_count;
    const char *lock_service; /* Of one that is made; NULL: our own. */
};

/* The cluster at @dir. The caller closes @out in any case. Errors:
 * ERR_NOTFOUND, those of reading its files. */
MUST_CHECK int
cluster_open(const char *dir, struct cluster *out, struct err *err);
/* The same; it is made with @count nodes when it is not there, and with the
 * lock service @lock_service (NULL: our own; borrowed). */
MUST_CHECK int cluster_create(struct world *w,
                              const char *dir,
                              size_t count,
                              const char *lock_service,
                              struct cluster *out,
                              struct err *err);
void cluster_close(struct cluster *c);
/* ERR_NOTFOUND names those there are. */
MUST_CHECK int cluster_find(struct cluster *c,
                            const char *name,
                            struct cluster_node **out,
                            struct err *err);
/* Refuse (ERR_UNSUPPORTED) a cluster with nodes elsewhere, whose processes
 * cannot be started or ended here. */
MUST_CHECK int cluster_refuse_elsewhere(const struct cluster *c,
                                        struct err *err);
/* Path of the cluster's key; the caller frees it. */
char *cluster_key_path(const struct cluster *c);

/* --- for other ways to make a cluster ------------------------------------ */

/* Of @nodes nodes, how many have lock servers and namenodes: an odd number.
 * PRE:
 * @nodes > 0. */
size_t cluster_cell_count(size_t nodes);
/* @count ports that are free on all addresses of this host, and below those
 * that it gives to clients' ends of connections. PRE: @count is at most 2 *
 * CLUSTER_NODES_MAX. ERR_IO: there are fewer. */
MUST_CHECK int cluster_choose_ports(struct world *w,
                                    unsigned *ports,
                                    size_t count,
                                    struct err *err);
/* Make directory @path with mode 0700; that it exists is no error. */
MUST_CHECK int cluster_make_dir(const char *path, struct err *err);
/* Write a key at cluster_key_path(@c), for its owner alone. */
MUST_CHECK int
cluster_write_key(struct world *w, const struct cluster *c, struct err *err);

/* --- processes ----------------------------------------------------------- */

/* The process that serves the node; 0: none, on this host. */
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
