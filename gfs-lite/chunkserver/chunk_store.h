/* All chunks of one chunk server, in its directory.
 *
 *     DIR/LOCK             held by the owning process
 *     DIR/SERVER           the number the server gave itself
 *     DIR/PROBE            written at intervals to probe the disk
 *     DIR/chunks/HH/…      the chunks' files, by the last byte of their numbers
 *     DIR/copies/          chunks that are being copied here
 *
 * A chunk is a small struct in memory; its file is opened when it is used, and
 * the least recently used are closed again. A file whose identity is unreadable
 * is a damaged chunk of the number in its name.
 *
 *     INV-1. A pinned chunk is not freed; a deleted one is freed by its
 *            last pin.
 *     INV-2. `open` has exactly the chunks whose file is open.
 *     INV-3. A chunk's version never decreases, and a sealed chunk's
 *            length never changes.
 *     INV-4. `bytes` is the sum of the lengths of all chunks in the table.
 *
 * Threads: one loop. Functions park where they say so.
 */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_STORE_H
#define GFS_LITE_CHUNKSERVER_CHUNK_STORE_H

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "gfs-lite/chunkserver/chunk_file.h"
#include "gfs-lite/gfs_wire.h"
#include "gfs-lite/id_map.h"

struct fs;
struct fs_lock;
struct file_change;

/* Chunk files kept open. */
#define CHUNK_STORE_FILES_MAX 512

struct stored_chunk {
    uint64_t handle; /* First: see id_map.h. */
    uint32_t version;
    uint32_t length; /* As of the last change. */
    bool sealed;
    bool damaged;      /* Found damaged: not read or written any more. */
    bool deleted;      /* Not in the table any more; the last pin frees it. */
    bool listed;       /* In store.changed. */
    int failed;        /* A write failed with this: no more are taken. */
    uint32_t found;    /* Its version when it was found, not sealed, at
                          the start; 0: made since. See chunk_write.c. */
    unsigned pins;     /* Users. */
    uint64_t dirty_us; /* When the first unsynced bytes came; 0: none. */
    uint32_t reserved; /* Records have been assigned offsets up to here. */
    struct chunk_file *file; /* NULL: not open. */
    uint64_t used;           /* Last use of its file, by use_count. */
    struct mutex lock;       /* Of all changes, and of opening the file. */
    struct cond grown;       /* Its length or version has changed. */
};

struct chunk_store {
    struct world *world; /* Borrowed. */
    char *dir;           /* Owned. */
    struct fs *fs;       /* Over dir. */
    struct fs_lock *lock;
    uint64_t own_id;
    struct id_map chunks;
    struct stored_chunk **open; /* With open files; owned array. */
    size_t open_count;
    uint64_t use_count;
    struct file_change *changes; /* Files being made or removed. */
    uint64_t *leftover; /* Chunks whose files could not be removed; owned. */
    size_t leftover_count;
    uint64_t *changed; /* To be reported. */
    size_t changed_count;
    size_t changed_cap;
    uint64_t bytes;        /* Of all chunks. */
    uint64_t found_damage; /* Chunks found damaged since the start. */
};

/* Open the directory, made if missing, and read the identity of every chunk in
 * it. *@out is owned. Parks. Errors: ERR_BUSY, ERR_CORRUPT (SERVER), ERR_IO. */
MUST_CHECK int chunk_store_open(struct world *w,
                                const char *dir,
                                struct chunk_store **out,
                                struct err *err);
/* Close all files and free the store. Parks. PRE: nothing is pinned. NULL is
 * allowed. */
void chunk_store_close(struct chunk_store *s);

/* Is the directory still this store's, and can a file in it be written and
 * synced? Parks. Errors: ERR_FULL; any other: the directory is lost. */
MUST_CHECK int chunk_store_probe(struct chunk_store *s, struct err *err);

/* The chunk @handle, pinned; NULL: there is none. */
struct stored_chunk *chunk_store_get(struct chunk_store *s, uint64_t handle);
/* Unpin @c; the last pin frees a deleted chunk. */
void chunk_store_put(struct chunk_store *s, struct stored_chunk *c);

/* Open the file of @c. Parks. Errors: ERR_CORRUPT (recorded), ERR_IO. */
MUST_CHECK int chunk_store_file(struct chunk_store *s,
                                struct stored_chunk *c,
                                struct err *err);
/* The same with c->lock held. */
MUST_CHECK int chunk_store_file_locked(struct chunk_store *s,
                                       struct stored_chunk *c,
                                       struct err *err);

/* A new empty chunk, pinned. Parks. Errors: ERR_EXISTS, ERR_FULL, ERR_IO. */
MUST_CHECK int chunk_store_create(struct chunk_store *s,
                                  uint64_t handle,
                                  uint32_t version,
                                  struct stored_chunk **out,
                                  struct err *err);
/* The path of a copy of @handle until chunk_store_adopt(). Owned. */
char *chunk_store_copy_path(const struct chunk_store *s, uint64_t handle);
/* Remove all copies. One that is begun meanwhile may be removed too. Parks. */
MUST_CHECK int chunk_store_clear_copies(struct chunk_store *s);
/* Move in @f, which is sealed and at chunk_store_copy_path(), replacing the
 * chunk of that number. @f belongs to the store from then on, also on error.
 * Parks. */
MUST_CHECK int
chunk_store_adopt(struct chunk_store *s, struct chunk_file *f, struct err *err);
/* Remove @c from the table, and its file. Parks. PRE: it is pinned. */
void chunk_store_delete(struct chunk_store *s, struct stored_chunk *c);
/* Try again to remove files that could not be removed. Parks. */
void chunk_store_sweep(struct chunk_store *s);

/* Include @c in the next report. */
void chunk_store_report(struct chunk_store *s, struct stored_chunk *c);
/* The next report says that the chunk is not here, or describes it. */
void chunk_store_report_absent(struct chunk_store *s, uint64_t handle);
/* @c's bytes are not those that were written, for the reason @why. */
void chunk_store_note_damage(struct chunk_store *s,
                             struct stored_chunk *c,
                             const struct err *why);
/* Update length, version and seal from @c->file. */
void chunk_store_update(struct chunk_store *s, struct stored_chunk *c);

/* Append the report of all chunks, or of the @count with the given numbers. */
void chunk_store_put_report(const struct chunk_store *s,
                            const uint64_t *handles,
                            size_t count,
                            struct buf *out);
/* The same of all chunks. */
void chunk_store_put_full_report(const struct chunk_store *s, struct buf *out);

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_STORE_H */
