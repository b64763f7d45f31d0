/* The tree of directories and files, each with its lock. Part of the machine
 * (cell_machine.h): no clock, no I/O, the same on every server.
 *
 * One thread.
 *
 * Invariants; node_check() asserts the last three
 *     INV-1. Children are sorted by name (node.c).
 *     INV-2. A file has no children (node.c).
 *     INV-3. holder_count handles of the node hold its lock in `mode`; it is 0
 *            when mode is CHUBBY_FREE (cell_lock.c).
 *     INV-4. An exclusive lock has one holder (cell_lock.c).
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

/* The access control lists of a node. */
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
    uint64_t lock_free_us; /* The lock is closed before this time of the cell:
                              its holder failed (lock-delay). */
};

/* A directory without a parent. Owned: node_free_tree(). */
struct node *node_root_new(void);
/* Free @n and all below it. PRE: no handle has any of them open. */
void node_free_tree(struct node *n);

/* The node at @path, which path_check() accepted; NULL: there is none.
 * Borrowed. */
struct node *node_find(struct node *root, struct slice path);
/* The child @name of @directory; NULL: there is none. Borrowed. */
struct node *node_child(const struct node *directory, struct slice name);
/* A new child with the access control lists of @directory. PRE: there is none
 * with @name. Borrowed from @directory. */
struct node *
node_add(struct node *directory, struct slice name, bool is_directory);
/* Take @n, a leaf, out of the tree and free it. PRE: no handle has it open. */
void node_remove(struct node *n);

/* Let the file /acl/@name decide; "": all principals are allowed. */
void node_set_acl(struct node *n, enum acl_kind kind, struct slice name);
/* Describe @n for clients. */
void node_stat(const struct node *n, struct chubby_stat *out);
/* Append the path of @n, "/a/b". */
void node_put_path(const struct node *n, struct buf *out);

/* Assert the invariants that can be seen of @n alone. */
void node_check(const struct node *n);

#endif /* CHUBBY_LITE_NODE_H */
