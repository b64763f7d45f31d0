/* The processes an attempt has started, theirs, and so on: what they use
 * together, which no limit of the kernel on single processes bounds.
 *
 * Orphans stay in the tree: attempts and the zygote adopt them.
 *
 * One thread.
 */
#ifndef MAPREDUCE_SANDBOX_PROCESS_TREE_H
#define MAPREDUCE_SANDBOX_PROCESS_TREE_H

#include <stdint.h>
#include <sys/types.h>

struct process_tree {
    unsigned processes;  /* Below the root. */
    uint64_t root_bytes; /* Memory of its own, resident, of the root, */
    uint64_t bytes;      /* and of all others. */
};

/* Measure the tree below @root, at most @max processes of it. A system without
 * /proc shows none. */
void process_tree_look(pid_t root, unsigned max, struct process_tree *t);

/* The children of @parent, at most @max of them. Returns how many. */
unsigned process_tree_children(pid_t parent, pid_t *children, unsigned max);

#endif /* MAPREDUCE_SANDBOX_PROCESS_TREE_H */
