/* quarry cluster add, remove: nodes of a cluster on other hosts, by ssh or as
 * commands for people. */
#ifndef CLI_CLUSTER_HOSTS_H
#define CLI_CLUSTER_HOSTS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;

/* A node that is to be. Texts are borrowed. */
struct new_node {
    const char *host;    /* As ssh knows it. */
    const char *address; /* "host:port", where others reach it. */
    const char *cell;    /* "host:port,…" */
    const char *cluster;
    const char *lock_service; /* "": the cluster's own. */
    const char *roles;
    const char *rack;     /* "": none. */
    const char *dir;      /* All of it is below; NULL: the package's places. */
    const char *key_file; /* Of this machine; NULL: none. */
};

/* Append shell commands that make the node @n and start it: what `add` runs.
 * Nothing secret is in them. */
void new_node_script(const struct new_node *n, struct buf *out);
/* Append commands that stop the node at @host; @dir as above. */
void old_node_script(const char *host, const char *dir, struct buf *out);

#endif /* CLI_CLUSTER_HOSTS_H */
