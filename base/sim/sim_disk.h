/* The simulated disk: its current state, and the state that would remain after
 * a loss of power. Private to base/sim.
 *
 * A node is a file or a directory. Calls see its current state; its disk state
 * is the part that syncs have made durable; the list of changes leads from the
 * disk state to the current one. sim_disk_crash() draws which changes reached
 * the disk.
 *
 * References keep a node alive: entries (current and on disk), changes that
 * name it, open files. The last one frees it.
 *
 * Invariants
 *     INV-1. Applying `writes` to `disk` in order gives `data`; applying
 *            `changes` to `disk_entries` gives `entries` (every change goes
 *            through both).
 *     INV-2. used_bytes is the sum of the lengths of all `data`, and does not
 *            exceed bytes_max by new writes.
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
    struct sim_write *next; /* Newer. */
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
    struct sim_change *next; /* Newer. */
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

/* Take one more reference and return @n; or drop one, which may free it. */
struct sim_node *sim_node_ref(struct sim_node *n);
void sim_node_unref(struct sim_disk *d, struct sim_node *n);

/* --- paths --------------------------------------------------------------- */

/* The node at @path, borrowed; NULL with *errnum ENOENT or ENOTDIR. */
struct sim_node *sim_find(struct sim_disk *d, const char *path, int *errnum);
/* The directory that holds @path's last name, which goes to *name (borrowed
 * from @path). NULL as above. */
struct sim_node *sim_find_parent(struct sim_disk *d,
                                 const char *path,
                                 struct slice *name,
                                 int *errnum);
/* The node of @name in the current state of @dir, or NULL. Borrowed. */
struct sim_node *sim_lookup(const struct sim_node *dir, struct slice name);

/* --- changes; each returns 0 or an errno value --------------------------- */

/* A new file or directory. *@out is borrowed from its parent. */
int sim_create(struct sim_disk *d,
               const char *path,
               bool is_dir,
               uint64_t now_us,
               struct sim_node **out);
/* Remove the file or, if @is_dir, the empty directory @path. */
int sim_remove(struct sim_disk *d, const char *path, bool is_dir);
/* As rename(2): @to is replaced. */
int sim_rename(struct sim_disk *d, const char *from, const char *to);
/* Make all changes of names in @dir durable. */
void sim_sync_names(struct sim_disk *d, struct sim_node *dir);

/* Write as much as fits on the disk; returns that number of bytes. */
size_t sim_write(struct sim_disk *d,
                 struct sim_node *n,
                 uint64_t offset,
                 const char *data,
                 size_t len);
/* ENOSPC when it would grow past the disk's size. */
int sim_truncate(struct sim_disk *d, struct sim_node *n, uint64_t bytes);
/* Make the contents of the file @n durable. */
void sim_sync_data(struct sim_node *n);

/* --- loss ---------------------------------------------------------------- */

/* A sync failed: draw which of the file's unsynced bytes reached the disk, and
 * forget the rest; reads see no difference until the power is lost. */
void sim_fail_sync(struct sim_node *n, struct rand_gen *r);
/* The power was lost: draw what remains of everything. */
void sim_disk_crash(struct sim_disk *d, struct rand_gen *r);

/* --- between sim_disk.c and sim_names.c ---------------------------------- */

/* How many of the unsynced changes are lost. */
enum loss {
    LOSE_ALL,
    LOSE_NONE,
    LOSE_SOME, /* Each change on its own. */
};

struct sim_node *sim__node_new(struct sim_disk *d, bool is_dir);
/* Free the entries and changes of @dir. */
void sim__names_free(struct sim_disk *d, struct sim_node *dir);
/* Apply a loss to the names in @dir; @seed draws the fate of each group of
 * changes. */
void sim__names_crash(struct sim_disk *d,
                      struct sim_node *dir,
                      enum loss loss,
                      uint64_t seed);

#endif /* BASE_SIM_SIM_DISK_H */
