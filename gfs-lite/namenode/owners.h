/* Names of the principals that own files, and the 16-bit numbers that inodes
 * have in place of them. A number is given to another name once no inode has
 * it.
 *
 *     INV-1. A number other than 0 that an inode has stands for a name.
 *     INV-2. `uses` of an owner is the number of inodes that have its number.
 *     INV-3. Names are distinct; `numbers` maps each to its number.
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

/* No owners. */
void owners_init(struct owners *o);
/* Free the names. */
void owners_close(struct owners *o);

/* The number of @name; a number that no inode has may get another name with the
 * next call. 0 for "", which stands for the servers. ERR_EXHAUSTED: there are
 * OWNERS_MAX. */
MUST_CHECK int owners_number(struct owners *o,
                             struct slice name,
                             uint16_t *number,
                             struct err *err);
/* The name of @number; "" for 0, the servers. Borrowed. PRE: owners_number()
 * gave it. */
struct slice owners_name(const struct owners *o, uint16_t number);

/* Make @number the owner of @n in place of its present owner. */
void owners_give(struct owners *o, struct inode *n, uint16_t number);

#endif /* GFS_LITE_NAMENODE_OWNERS_H */
