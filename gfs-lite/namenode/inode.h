/* Files and directories in memory, and the tree of a directory's entries.
 *
 * An inode is one allocation with its first name at the end. The entries of a
 * directory are a treap by name whose priorities are hashes of the inodes'
 * numbers: its shape depends on nothing but its contents, so members of a cell
 * have equal trees.
 *
 *     INV-1. In a treap names are ordered and no child outranks its parent.
 *     INV-2. Only the last chunk of a file may be unsealed.
 *     INV-3. A file's array of two or more chunks has room for the next power
 *            of two.
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

/* The part of an inode that only directories have. Counters are of all inodes
 * below it. */
struct directory {
    struct inode *entries; /* Root of the treap. */
    uint64_t entry_count;  /* Files and directories. */
    uint64_t file_count;
    uint64_t bytes;   /* Of the files, one copy each. */
    uint32_t *levels; /* Inodes by how many levels they lie below it; owned, */
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

/* A new inode in no directory, without chunks. Owned: inode_free(). PRE: @name
 * has at most GFS_NAME_BYTES_MAX bytes. */
struct inode *
inode_new(uint64_t id, struct slice name, bool is_directory, uint64_t time_us);
/* PRE: it has no chunks and no entries. */
void inode_free(struct inode *n);
/* Give @n another name. PRE: it is in no directory. */
void inode_rename(struct inode *n, struct slice name);

static inline struct slice inode_name(const struct inode *n)
{
    return slice_make(n->name, n->name_bytes);
}

/* --- a file's chunks ----------------------------------------------------- */

/* The chunk at @index. PRE: there is one. */
struct chunk *inode_chunk(const struct inode *n, uint32_t index);
/* NULL: it has none. */
struct chunk *inode_last_chunk(const struct inode *n);
/* Append @c, whose reference the caller took. PRE: the last one is sealed. */
void inode_add_chunk(struct inode *n, struct chunk *c);
/* Remove the last one; its reference stays the caller's to drop. PRE: it has
 * one. */
void inode_drop_chunk(struct inode *n);
/* Sum of the lengths of the sealed chunks. */
uint64_t inode_bytes(const struct inode *n);

/* --- a directory's entries ----------------------------------------------- */

/* The entry @name of the treap @root, or NULL. Borrowed, like the following. */
struct inode *inode_entries_find(struct inode *root, struct slice name);
/* The first whose name is greater than @name; NULL at the end. */
struct inode *inode_entries_after(struct inode *root, struct slice name);
/* The first entry by name; NULL: the treap is empty. */
struct inode *inode_entries_first(struct inode *root);
/* PRE: no entry has its name. */
void inode_entries_add(struct inode **root, struct inode *n);
/* PRE: it is there. */
void inode_entries_remove(struct inode **root, struct inode *n);

/* Append the path of @n below the root, without a leading '/'. */
struct buf;
void inode_put_path(const struct inode *n, struct buf *out);
/* Prefix the text of @err with "/PATH: ", the path of @n. */
void inode_wrap_error(const struct inode *n, struct err *err);

#endif /* GFS_LITE_NAMENODE_INODE_H */
