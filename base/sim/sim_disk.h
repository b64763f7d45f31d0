/* The simulated disk: what is in memory now, and what would be left of it if
 * the power went. Private to base/runtime.
 *
 * A node is a file or a directory. Its current state is what calls see; its
 * disk state is what syncs have made durable; the list of changes leads from
 * the one to the other. sim_disk_crash() draws which changes made it.
 *
 * References keep a node: entries (current and on disk), changes that name it,
 * open files. The last one gone frees it.
 */
#ifndef BASE_SIM_SIM_DISK_H
#define BASE_SIM_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world_ops.h"

/* One write or truncation of a file that was not synced. */
struct sim_write {
    struct sim_write *next; /* Younger. */
    uint64_t offset;        /* Or the new size of a truncation. */
    size_t len;
    bool truncate;
    char data[];
};

struct sim_entry {
    char *name;            /* Owned. */
    struct sim_node *node; /* Referenced. */
};

struct sim_entries {
    struct sim_entry *items;
    size_t count;
    size_t cap;
};

/* One change of a directory that was not synced. */
struct sim_change {
    struct sim_change *next; /* Younger. */
    uint64_t group;          /* Changes of one rename share their fate. */
    char *name;              /* Owned. */
    struct sim_node *node;   /* Referenced; NULL: the name is removed. */
};

struct sim_node {
    struct sim_node *next; /* In the disk's list of all nodes. */
    struct sim_node *prev;
    unsigned refs;
    bool is_dir;
    uint64_t modified_us;
    struct buf data;          /* File: current contents. */
    struct buf disk;          /* File: durable contents. */
    struct sim_write *writes; /* File: from disk to data, oldest first. */
    struct sim_write **writes_end;
    struct sim_entries entries;      /* Directory: current. */
    struct sim_entries disk_entries; /* Directory: durable. */
    struct sim_change *changes;      /* Directory: oldest first. */
    struct sim_change **changes_end;
};

struct sim_disk {
    struct sim_node *root; /* Referenced. */
    struct sim_node *all;
    uint64_t used_bytes;  /* Current contents of all files. */
    uint64_t bytes_max;   /* 0: endless. */
    uint64_t group_count; /* Groups of changes handed out. */
};

void sim_disk_init(struct sim_disk *d);
void sim_disk_close(struct sim_disk *d); /* PRE: no file is open. */

struct sim_node *sim_node_ref(struct sim_node *n);
void sim_node_unref(struct sim_disk *d, struct sim_node *n);

/* --- paths ----------------------------------------------------------- */

/* The node at @path, borrowed; NULL with *errnum ENOENT or ENOTDIR. */
struct sim_node *sim_find(struct sim_disk *d, const char *path, int *errnum);
/* The directory that holds @path's last name, which goes to *name (borrowed
 * from
 * @path). NULL as above. */
struct sim_node *sim_find_parent(struct sim_disk *d,
                                 const char *path,
                                 struct slice *name,
                                 int *errnum);
/* In the current state of @dir; NULL if there is none. Borrowed. */
struct sim_node *sim_lookup(const struct sim_node *dir, struct slice name);

/* --- changes; each returns 0 or an errno value ----------------------- */

/* A new file or directory. *@out is borrowed from its parent. */
int sim_create(struct sim_disk *d,
               const char *path,
               bool is_dir,
               uint64_t now_us,
               struct sim_node **out);
int sim_remove(struct sim_disk *d, const char *path, bool is_dir);
int sim_rename(struct sim_disk *d, const char *from, const char *to);
void sim_sync_names(struct sim_disk *d, struct sim_node *dir);

/* Write what fits on the disk; returns the bytes that did. */
size_t sim_write(struct sim_disk *d,
                 struct sim_node *n,
                 uint64_t offset,
                 const char *data,
                 size_t len);
/* ENOSPC when it would grow past the disk's size. */
int sim_truncate(struct sim_disk *d, struct sim_node *n, uint64_t bytes);
void sim_sync_data(struct sim_node *n);

/* --- loss ------------------------------------------------------------ */

/* A sync failed: draw which of the file's unsynced bytes reached the disk, and
 * forget the rest; what is read does not change until the power goes. */
void sim_fail_sync(struct sim_node *n, struct rand_gen *r);
/* The power went: draw what is left of everything. */
void sim_disk_crash(struct sim_disk *d, struct rand_gen *r);

/* --- between sim_disk.c and sim_names.c ------------------------------ */

/* How much of the unsynced a loss takes. */
enum loss {
    LOSE_ALL,
    LOSE_NONE,
    LOSE_SOME, /* Each change on its own. */
};

struct sim_node *sim__node_new(struct sim_disk *d, bool is_dir);
void sim__names_free(struct sim_disk *d, struct sim_node *dir);
/* @seed draws the fate of each group of changes. */
void sim__names_crash(struct sim_disk *d,
                      struct sim_node *dir,
                      enum loss loss,
                      uint64_t seed);

#endif /* BASE_SIM_SIM_DISK_H */
