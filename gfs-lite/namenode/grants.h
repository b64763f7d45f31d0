/* Rights that are given by path: to a file, or to a directory and all below it.
 *
 * A grant belongs to the inode, whatever its name becomes. A grant made by the
 * owner holds for files of that owner only, so nobody can read the files of
 * others by moving them below a directory of his own. A grant made by an
 * administrator holds for all files below.
 *
 *     INV-1. A list has 1 to GRANTS_MAX grants; an inode without grants
 *            has no list.
 *     INV-2. A grant's rights are never 0.
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

/* The grants of one inode, in the order of their making. */
struct grant_list {
    uint64_t id; /* Of the inode. First: see id_map.h. */
    struct grant *grants;
    size_t count;
};

/* Free all lists. */
void grants_close(struct id_map *m);
/* NULL: it has none. Borrowed. */
const struct grant_list *grants_of(const struct id_map *m,
                                   const struct inode *n);
/* Add @rights to those that @principal has from the same kind of giver. PRE:
 * @rights is not 0. ERR_EXHAUSTED: GRANTS_MAX. */
MUST_CHECK int grants_add(struct id_map *m,
                          const struct inode *n,
                          struct slice principal,
                          uint8_t rights,
                          bool by_owner,
                          struct err *err);
/* Take @rights from @principal, both the owner's and the administrators'
 * grants. */
void grants_take(struct id_map *m,
                 const struct inode *n,
                 struct slice principal,
                 uint8_t rights);
/* The owner of @n changes: the grants that the old one made are removed. */
void grants_drop_owners(struct id_map *m, const struct inode *n);
/* The inode @id is freed: so are its grants. */
void grants_forget(struct id_map *m, uint64_t id);
/* @to, which has none, gets the grants of @from. */
void grants_copy(struct id_map *m,
                 const struct inode *from,
                 const struct inode *to);

/* The rights (enum gfs_grant) to @n that @principal with @roles (names with
 * commas) has by grants of @n and of the directories above it. */
unsigned grants_rights(const struct id_map *m,
                       const struct inode *n,
                       struct slice principal,
                       struct slice roles);

/* Is @principal "*", role:NAME, or a name of at most GFS_TEXT_BYTES_MAX bytes
 * without control characters, spaces, commas and '#'? ERR_INVALID. */
MUST_CHECK int grants_check_principal(struct slice principal, struct err *err);

#endif /* GFS_LITE_NAMENODE_GRANTS_H */
