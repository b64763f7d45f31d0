/* Rights that are given by path: to a file, or a directory and all below it.
 *
 * A grant belongs to the inode, whatever its name becomes. One that its owner
 * made holds for what has the same owner: so nobody reads files of others by
 * moving them below a directory of his own. One that an administrator made
 * holds for all below.
 *
 * One thread.
 */
#ifndef GFS_LITE_NAMENODE_GRANTS_H
#define GFS_LITE_NAMENODE_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "gfs-lite/id_map.h"

struct inode;

/* Most grants of one path. */
#define GRANTS_MAX 1024

struct grant {
    char *principal; /* Or "role:NAME", or "*". Owned. */
    uint8_t rights;  /* enum gfs_grant. */
    bool by_owner;
};

/* Those of one inode, in the order of their making. */
struct grant_list {
    uint64_t id; /* Of the inode. First: see id_map.h. */
    struct grant *grants;
    size_t count;
};

void grants_close(struct id_map *m);
/* NULL: it has none. Borrowed. */
const struct grant_list *grants_of(const struct id_map *m,
                                   const struct inode *n);
/* Add @rights to those that @principal was given by the same kind of giver, or
 * take them away, whoever gave them. ERR_EXHAUSTED. */
MUST_CHECK int grants_add(struct id_map *m,
                          const struct inode *n,
                          struct slice principal,
                          uint8_t rights,
                          bool by_owner,
                          struct err *err);
void grants_take(struct id_map *m,
                 const struct inode *n,
                 struct slice principal,
                 uint8_t rights);
/* The owner of @n changes: what the old one gave is gone. */
void grants_drop_owners(struct id_map *m, const struct inode *n);
/* @n goes. */
void grants_forget(struct id_map *m, uint64_t id);
/* @to gets what @from has. */
void grants_copy(struct id_map *m,
                 const struct inode *from,
                 const struct inode *to);

/* A right of @n itself, or of what is above it, that @principal with @roles
 * (names with commas) has by grants: enum gfs_grant. */
unsigned grants_rights(const struct id_map *m,
                       const struct inode *n,
                       struct slice principal,
                       struct slice roles);

/* "*", role:NAME, or a name of at most GFS_TEXT_BYTES_MAX bytes without
 * control characters, spaces and commas. ERR_INVALID. */
MUST_CHECK int grants_check_principal(struct slice principal, struct err *err);

#endif /* GFS_LITE_NAMENODE_GRANTS_H */
