/* Who owns files: names of principals, and the numbers that inodes have of
 * them. The number of one whose last file went is given to another.
 *
 * Invariants
 *     INV-1. A number other than 0 that an inode has stands for a name.
 *     INV-2. `uses` of an owner is the count of the inodes that have its
 *            number.
 *
 * One thread.
 */
#ifndef GFS_LITE_NAMENODE_OWNERS_H
#define GFS_LITE_NAMENODE_OWNERS_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/hash_map.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct inode;

/* Most owners at a time, the servers not counted. */
#define OWNERS_MAX (UINT16_MAX - 1)

struct owner {
    char *name; /* Owned. */
    uint64_t uses;
};

struct owners {
    struct owner *list; /* Owned. Number n is at n - 1. */
    uint16_t count;
    struct hash_map numbers; /* By name. */
};

void owners_init(struct owners *o);
void owners_close(struct owners *o);

/* The number of @name, which keeps it while an inode has it, or until the next
 * call; 0 for "", the servers. ERR_EXHAUSTED: there are OWNERS_MAX. */
MUST_CHECK int owners_number(struct owners *o,
                             struct slice name,
                             uint16_t *number,
                             struct err *err);
/* "": the servers. Borrowed. */
struct slice owners_name(const struct owners *o, uint16_t number);

/* Let @n be owned by @number instead of its present owner. */
void owners_give(struct owners *o, struct inode *n, uint16_t number);

#endif /* GFS_LITE_NAMENODE_OWNERS_H */
