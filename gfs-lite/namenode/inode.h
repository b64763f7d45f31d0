/* Files and directories in memory, and the tree of a directory's entries.
 *
 * An inode is one allocation with its first name at the end. The entries of a
 * directory are a treap by name whose priorities are the mixed numbers of the
 * inodes: its shape depends on nothing but what is in it.
 *
 * One thread.
 */
#ifndef GFS_LITE_NAMENODE_INODE_H
#define GFS_LITE_NAMENODE_INODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct chunk;
struct inode;

/* What a directory has beyond an inode. Counters are of all below it. */
struct directory {
    struct inode *entries; /* Root of the treap. */
    uint64_t entry_count;  /* Files and directories. */
    uint64_t file_count;
    uint64_t bytes;       /* Of the files, one copy each. */
    uint32_t *levels;     /* How many lie so many levels below it; owned, */
    uint32_t level_count; /* up to the last that is not 0. */
    uint32_t level_cap;
    uint64_t entry_quota; /* 0: none. */
    uint64_t byte_quota;
};

struct inode {
    uint64_t id;          /* First: see id_map.h. */
    struct inode *parent; /* NULL: the root, or in no directory. */
    struct inode *left;   /* In the parent's treap. */
    struct inode *right;
    uint64_t modified_us;

    union {
        struct directory *directory; /* Owned. */
        struct chunk *chunk;         /* A file of one chunk. */
        struct chunk **chunks;       /* Of several; owned array. */
    } u;

    uint32_t chunk_count;
    uint8_t name_bytes;
    uint8_t is_directory;
    uint8_t replication; /* Of a file. */
    uint8_t mode;        /* enum gfs_mode. */
    char *name;          /* `first_name`, or owned after it was renamed. */
    uint16_t owner;      /* Its number: owners.h. 0: the servers. */
    char first_name[];
};

/* An inode in no directory, without chunks. Owned. */
struct inode *
inode_new(uint64_t id, struct slice name, bool is_directory, uint64_t time_us);
/* PRE: its chunks were let go of, its entries are gone. */
void inode_free(struct inode *n);
/* PRE: it is in no directory. */
void inode_rename(struct inode *n, struct slice name);

static inline struct slice inode_name(const struct inode *n)
{
    return slice_make(n->name, n->name_bytes);
}

/* --- a file's chunks --------------------------------------------------- */

struct chunk *inode_chunk(const struct inode *n, uint32_t index);
/* NULL: it has none. */
struct chunk *inode_last_chunk(const struct inode *n);
void inode_add_chunk(struct inode *n, struct chunk *c);
/* Forget the last one. PRE: it has one. */
void inode_drop_chunk(struct inode *n);
/* Sum of the lengths of the chunks that are sealed. */
uint64_t inode_bytes(const struct inode *n);

/* --- a directory's entries --------------------------------------------- */

/* Each takes the treap's root. */
struct inode *inode_entries_find(struct inode *root, struct slice name);
/* The first whose name is greater than @name; NULL at the end. */
struct inode *inode_entries_after(struct inode *root, struct slice name);
struct inode *inode_entries_first(struct inode *root);
/* PRE: no entry has its name. */
void inode_entries_add(struct inode **root, struct inode *n);
/* PRE: it is there. */
void inode_entries_remove(struct inode **root, struct inode *n);

/* Append the path of @n below the root. */
struct buf;
void inode_put_path(const struct inode *n, struct buf *out);
/* Put "/PATH: ", of @n, before the text of @err. */
void inode_wrap_error(const struct inode *n, struct err *err);

#endif /* GFS_LITE_NAMENODE_INODE_H */
