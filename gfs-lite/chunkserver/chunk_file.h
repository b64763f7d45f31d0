/* One chunk's file: appended to, cut and sealed once, read with every block
 * verified. chunk_format.h has the bytes.
 *
 *     INV-1. The length only grows until the seal, which may cut it once; after
 *            that neither length nor version changes.
 *     INV-2. The version never decreases (GFS 4.5).
 *     INV-3. table[b] is the checksum of block b for every whole block below
 *            length, and of a sealed chunk's last one.
 *     INV-4. Only one of server and granted writer appends: `granted` excludes
 *            chunk_file_append().
 *
 * Threads: one loop, whose fibers order their changes (no two at once). A read
 * may run beside a change and sees the chunk as it was when it began. Disk work
 * is offloaded.
 */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_FILE_H
#define GFS_LITE_CHUNKSERVER_CHUNK_FILE_H

#include "base/core/slice.h"
#include "gfs-lite/chunk_format.h"

struct chunk_direct;
struct file;
struct world;

struct chunk_file {
    struct world *world; /* Borrowed. */
    struct file
        *file;  /* Owned; NULL: all writes went through the page cache. */
    char *path; /* Owned. */
    struct chunk_direct *direct; /* Owned; NULL: all went through the page
                                    cache. */
    struct chunk_identity id;
    uint32_t length;           /* Bytes appended; of a sealed one its length. */
    uint32_t tail_crc;         /* Of the last block, if it is not whole. */
    uint64_t sequence;         /* Of the last tail record. */
    uint32_t started;          /* Bytes before it are being written back, */
    uint32_t kept;             /* and up to here room is reserved. */
    enum chunk_slot next_sync; /* The slot that holds the older of two syncs. */
    uint32_t table[CHUNK_BLOCKS_MAX]; /* Checksums of whole blocks; of a sealed
                                         chunk also of the last one. */
    bool granted;             /* A writer of this machine has a grant: see */
    struct chunk_grant grant; /* chunk_file_grant(). */
    uint32_t checked_s[CHUNK_BLOCKS_MAX]; /* When whole blocks were last
                                             verified; 0: not yet. */
};

/* An empty chunk in a new file, replacing a file at @path. Nothing is synced.
 * *@out is owned. Parks. Errors: ERR_FULL, ERR_IO. */
MUST_CHECK int chunk_file_create(struct world *w,
                                 const char *path,
                                 uint64_t handle,
                                 uint32_t version,
                                 struct chunk_file **out,
                                 struct err *err);
/* Open @path. An unsealed chunk is cut to its intact part: everything if only
 * the process ended, everything synced if the power failed. *@out is owned.
 * Parks. Errors: ERR_CORRUPT, ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int chunk_file_open(struct world *w,
                               const char *path,
                               struct chunk_file **out,
                               struct err *err);
void chunk_file_close(struct chunk_file *f); /* NULL is allowed. */

/* Read the identity alone. Parks. Errors: as above. */
MUST_CHECK int chunk_file_identify(struct world *w,
                                   const char *path,
                                   struct chunk_identity *id,
                                   struct err *err);

/* Append @data, whose checksum is *@crc (NULL: not known). ERR_CORRUPT: the
 * checksum differs, and nothing has happened; after another error the chunk is
 * as it was, but must not be appended to. Parks. PRE: unsealed; no grant; it
 * stays within GFS_CHUNK_BYTES. */
MUST_CHECK int chunk_file_append(struct chunk_file *f,
                                 struct slice data,
                                 const uint32_t *crc,
                                 struct err *err);
/* The same for bytes that will hardly be read soon: large appends that begin at
 * a page go past the page cache. */
MUST_CHECK int chunk_file_append_unread(struct chunk_file *f,
                                        struct slice data,
                                        const uint32_t *crc,
                                        struct err *err);
/* Are there enough bytes to write back that it is worth a request? */
bool chunk_file_is_behind(const struct chunk_file *f);
/* Write back the next piece and wait for it: a later sync finds less to do.
 * Promises nothing; may run beside any change. Parks. */
void chunk_file_write_back(struct chunk_file *f);
/* Is it time for chunk_file_keep_room()? */
bool chunk_file_lacks_room(const struct chunk_file *f);
/* Reserve room on the disk for the bytes that follow, if the chunk is long
 * enough: appends need not allocate, and blocks are contiguous. The seal
 * releases unused room. Counts as a change. Parks. */
void chunk_file_keep_room(struct chunk_file *f);
/* Make appended bytes survive a power failure. Parks. */
MUST_CHECK int chunk_file_sync(struct chunk_file *f, struct err *err);
/* chunk_file_append() and chunk_file_sync() at once. A large append, and synced
 * ones after it, go past the page cache. Parks. */
MUST_CHECK int chunk_file_append_sync(struct chunk_file *f,
                                      struct slice data,
                                      const uint32_t *crc,
                                      struct err *err);
/* Raise the version, durably. PRE: it does not decrease. Parks. */
MUST_CHECK int
chunk_file_set_version(struct chunk_file *f, uint32_t version, struct err *err);
/* Write all bytes again as they were taken: after a failed write or sync the
 * system may hold pages for clean that are not on the disk. A sync must follow.
 * Parks. Errors: ERR_CORRUPT (they are not the bytes that were taken), ERR_IO,
 * ERR_FULL. */
MUST_CHECK int chunk_file_rewrite(struct chunk_file *f, struct err *err);

/* Grant a writer of this machine, which gets the descriptor, the right to
 * append to the file itself. A change. Parks. ERR_BUSY: there is a grant. PRE:
 * unsealed. */
MUST_CHECK int chunk_file_grant(struct chunk_file *f, struct err *err);
/* Take over the bytes that it has appended. A change; a no-op without a grant.
 * Parks. */
MUST_CHECK int chunk_file_absorb(struct chunk_file *f, struct err *err);
/* Revoke the grant: bytes it appends later do not count; those recorded as
 * written are taken over. A change; a no-op without a grant. Parks. */
MUST_CHECK int chunk_file_end_grant(struct chunk_file *f, struct err *err);
/* The same, and the file is as if there had been no grant: it may be appended
 * to. Parks. */
MUST_CHECK int chunk_file_settle(struct chunk_file *f, struct err *err);

/* Cut to @length, seal, sync. Parks. PRE: unsealed, @length <= f->length.
 * Errors: ERR_CORRUPT: the block in which it is cut is damaged. */
MUST_CHECK int
chunk_file_seal(struct chunk_file *f, uint32_t length, struct err *err);

/* Read [@offset, @offset+@len) into @dst and verify all its blocks. PRE: it is
 * within f->length. Parks. Errors: ERR_CORRUPT: a block is damaged; ERR_IO. */
MUST_CHECK int chunk_file_read(struct chunk_file *f,
                               uint32_t offset,
                               uint32_t len,
                               char *dst,
                               struct err *err);
/* The same for a caller that verifies the bytes itself against *@crc, which is
 * made from stored checksums: a block verified a short while ago is not
 * verified again. */
MUST_CHECK int chunk_file_read_with_crc(struct chunk_file *f,
                                        uint32_t offset,
                                        uint32_t len,
                                        char *dst,
                                        uint32_t *crc,
                                        struct err *err);

/* Can the range be sent as it is in the file: whole blocks of a sealed chunk,
 * in the page cache and verified a short while ago? *@crc is its checksum then.
 * Does not park. PRE: as above. */
bool chunk_file_is_ready(struct chunk_file *f,
                         uint32_t offset,
                         uint32_t len,
                         uint32_t *crc);

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_FILE_H */
