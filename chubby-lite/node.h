/* The tree of directories and files, each with its lock. Part of the machine
 * (cell.h): no clock, no I/O, the same on every server.
 *
 * One thread.
 *
 * Invariants
 *     I1. children are sorted by name; a file has none.
 *     I2. holder_count handles of the node hold its lock in `mode`; it is 0
 *         when mode is CHUBBY_FREE, and 1 when it is CHUBBY_EXCLUSIVE.
 */
#ifndef CHUBBY_LITE_NODE_H
#define CHUBBY_LITE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"

struct handle;

LIST_HEAD(handle_list, handle);

/* Which list of names decides. */
enum acl_kind {
    ACL_READ,
    ACL_WRITE,
    ACL_CHANGE,
    ACL_KINDS
};

struct node {
    char *name;          /* Owned; "" for the root. */
    struct node *parent; /* NULL: the root. */
    struct node **children;
    size_t child_count;
    size_t child_cap;
    bool is_directory;
    bool is_ephemeral;
    uint64_t instance;
    uint64_t content_generation;
    uint64_t lock_generation;
    uint64_t acl_generation;
    struct buf contents;
    char *acl[ACL_KINDS];       /* Owned names of files in /acl; "": anyone. */
    struct handle_list handles; /* That have it open. */
    enum chubby_lock mode;
    unsigned holder_count;
    uint64_t lock_free_us; /* Cell's time before which nobody gets the lock: its
                              holder failed (lock-delay). */
};

/* A directory without a parent. Owned. */
struct node *node_root_new(void);
/* Free @n and all below it. PRE: no handle has any of them open. */
void node_free_tree(struct node *n);

/* The node at checked @path, or NULL. Borrowed. */
struct node *node_find(struct node *root, struct slice path);
struct node *node_child(const struct node *directory, struct slice name);
/* A new child; ACL names are those of @directory. PRE: there is none of the
 * name. Borrowed from @directory. */
struct node *
node_add(struct node *directory, struct slice name, bool is_directory);
/* Take @n, a leaf, out of the tree and free it. PRE: no handle has it open. */
void node_remove(struct node *n);

void node_set_acl(struct node *n, enum acl_kind kind, struct slice name);
void node_stat(const struct node *n, struct chubby_stat *out);
/* Append "/a/b". */
void node_put_path(const struct node *n, struct buf *out);

#endif /* CHUBBY_LITE_NODE_H */
