/* One chunk's file: appended to, cut and sealed once, read with every block
 * checked. chunk_format.h has the bytes.
 *
 * Threads: one loop, whose fibers order their changes (no two at once); reads
 * may run beside a change and see the chunk as it was when they began. The
 * disk's work is offloaded.
 */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_FILE_H
#define GFS_LITE_CHUNKSERVER_CHUNK_FILE_H

#include "base/core/slice.h"
#include "gfs-lite/chunk_format.h"

struct chunk_direct;
struct file;
struct world;

struct chunk_file {
    struct world *world;         /* Borrowed. */
    struct file *file;           /* Owned. */
    char *path;                  /* Owned. */
    struct chunk_direct *direct; /* Owned; NULL: all went through the page
                                    cache. */
    struct chunk_identity id;
    uint32_t length;   /* Bytes appended; of a sealed one its length. */
    uint32_t tail_crc; /* Of the last block, if it is not whole. */
    uint64_t sequence; /* Of the last tail record. */
    uint32_t started;  /* What comes before is on its way to the disk, */
    uint32_t kept;     /* and up to here there is room. */
    enum chunk_slot next_sync; /* The slot that holds the older of two syncs. */
    uint32_t table[CHUNK_BLOCKS_MAX]; /* Checksums of whole blocks; of a sealed
                                         chunk also of the last one. */
    bool granted;             /* A writer of this machine was let in: see */
    struct chunk_grant grant; /* chunk_file_grant(). */
    uint32_t checked_s[CHUNK_BLOCKS_MAX]; /* When whole ones were last found
                                             right; 0: not yet. */
};

/* An empty chunk in a new file, in place of what is there. Nothing is synced.
 * *@out is owned. Parks. Errors: ERR_FULL, ERR_IO. */
MUST_CHECK int chunk_file_create(struct world *w,
                                 const char *path,
                                 uint64_t handle,
                                 uint32_t version,
                                 struct chunk_file **out,
                                 struct err *err);
/* Open @path. An unsealed chunk is cut to what is known to be right: all of it
 * if only the process ended, all that was synced if the power went. Parks.
 * Errors: ERR_CORRUPT, ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int chunk_file_open(struct world *w,
                               const char *path,
                               struct chunk_file **out,
                               struct err *err);
void chunk_file_close(struct chunk_file *f); /* NULL is allowed. */

/* Its identity alone. Parks. */
MUST_CHECK int chunk_file_identify(struct world *w,
                                   const char *path,
                                   struct chunk_identity *id,
                                   struct err *err);

/* Add @data, whose checksum is *@crc (NULL: not known). After ERR_CORRUPT (it
 * is not) nothing has happened; after another error the chunk is as it was, but
 * must not be added to. Parks. PRE: unsealed; it stays within GFS_CHUNK_BYTES.
 */
MUST_CHECK int chunk_file_append(struct chunk_file *f,
                                 struct slice data,
                                 const uint32_t *crc,
                                 struct err *err);
/* The same of bytes that nobody is likely to read soon: many of them at a
 * page's beginning go past the page cache. */
MUST_CHECK int chunk_file_append_unread(struct chunk_file *f,
                                        struct slice data,
                                        const uint32_t *crc,
                                        struct err *err);
/* Is there so much that the disk was not yet told of that it is worth doing so?
 */
bool chunk_file_is_behind(const struct chunk_file *f);
/* Have the disk take the next piece of what was appended, and wait for that: a
 * sync then finds less to wait for. Promises nothing; may run beside any
 * change. Parks. */
void chunk_file_write_back(struct chunk_file *f);
/* Is so little room kept that it is time for chunk_file_keep_room()? */
bool chunk_file_lacks_room(const struct chunk_file *f);
/* Keep room on the disk for what follows, if the chunk is long enough: appends
 * then need not look for any, and its bytes lie side by side. What is not used
 * is given back by the seal. A change, as far as others are concerned. Parks.
 */
void chunk_file_keep_room(struct chunk_file *f);
/* What was appended survives a loss of power. Parks. */
MUST_CHECK int chunk_file_sync(struct chunk_file *f, struct err *err);
/* chunk_file_append() and chunk_file_sync() at once. A large one goes past the
 * page cache, and so do those that follow. Parks. */
MUST_CHECK int chunk_file_append_sync(struct chunk_file *f,
                                      struct slice data,
                                      const uint32_t *crc,
                                      struct err *err);
/* Raise the version, durably. Parks. */
MUST_CHECK int
chunk_file_set_version(struct chunk_file *f, uint32_t version, struct err *err);
/* Write all bytes once more, as they were taken: after a write or a sync that
 * failed, the system may hold for clean what is not on the disk. A sync is to
 * follow. Parks. Errors: ERR_CORRUPT: they are not what was taken; ERR_IO,
 * ERR_FULL. */
MUST_CHECK int chunk_file_rewrite(struct chunk_file *f, struct err *err);

/* Let a writer of this machine, who is given the descriptor, add to the file
 * itself. A change. Parks. ERR_BUSY: one was let in. PRE: unsealed. */
MUST_CHECK int chunk_file_grant(struct chunk_file *f, struct err *err);
/* Take note of what it has added. A change; nothing if there is no grant.
 * Parks. */
MUST_CHECK int chunk_file_absorb(struct chunk_file *f, struct err *err);
/* From now on nothing counts that it adds; what it has been told of as written
 * is taken note of. A change; nothing if there is no grant. Parks. */
MUST_CHECK int chunk_file_end_grant(struct chunk_file *f, struct err *err);
/* The same, and the file is as if there had never been a grant: it may be
 * added to. Parks. */
MUST_CHECK int chunk_file_settle(struct chunk_file *f, struct err *err);

/* Cut to @length, seal, sync. Parks. PRE: length <= f->length. Errors:
 * ERR_CORRUPT: the block it is cut in is damaged. */
MUST_CHECK int
chunk_file_seal(struct chunk_file *f, uint32_t length, struct err *err);

/* Read [@offset, @offset+@len) into @dst, whose bytes were all checked.
 * PRE: it is within f->length. Parks. Errors: ERR_CORRUPT: a block is damaged;
 * ERR_IO. */
MUST_CHECK int chunk_file_read(struct chunk_file *f,
                               uint32_t offset,
                               uint32_t len,
                               char *dst,
                               struct err *err);
/* The same for one who verifies the bytes himself against *@crc, which comes of
 * the stored checksums: a block that was found right a short while ago is not
 * checked here again. */
MUST_CHECK int chunk_file_read_with_crc(struct chunk_file *f,
                                        uint32_t offset,
                                        uint32_t len,
                                        char *dst,
                                        uint32_t *crc,
                                        struct err *err);

/* May the range be passed on as it lies in the file: whole blocks of a sealed
 * chunk, in memory and found right a short while ago? *@crc is its checksum
 * then. Does not park. PRE: as above. */
bool chunk_file_is_ready(struct chunk_file *f,
                         uint32_t offset,
                         uint32_t len,
                         uint32_t *crc);

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_FILE_H */
