/* Images of a machine on the disk: one file each, with checksums, replaced
 * atomically.
 *
 *     DIR/snapshot-00000000000000001234
 *     file = "QRRAFSNP" version:le32 crc:le32 of the rest of header and config
 *            index:le64 term:le64 image-bytes:le64 image-crc:le32
 *            config-bytes:le32 config image
 *
 * The newest counts; older ones are removed once it is on the disk. A snapshot
 * from the leader is gathered in DIR/incoming until it is whole.
 *
 * With a keyring each file is one of sealed pieces (base/crypt/sealed_file.h)
 * with the bytes above; chunks that go to others are not encrypted, but by the
 * connection: each member has keys of its own.
 *
 * Threads: one at a time per directory; every call parks and may run on a pool
 * thread.
 */
#ifndef BASE_REPLICA_REPLICA_SNAPSHOT_H
#define BASE_REPLICA_REPLICA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/replica/raft_config.h"

struct keyring;
struct world;

#define SNAPSHOT_HEADER_BYTES ((size_t)48)
/* Largest image that is read: far beyond what fits a machine that must be
 * loaded while others wait. */
#define SNAPSHOT_IMAGE_MAX ((uint64_t)16 << 30)

struct snapshot_info {
    uint64_t index; /* Of the last entry it contains. */
    uint64_t term;
    struct raft_config config;
    uint64_t image_bytes;
};

/* Write a snapshot, make it durable and remove older ones. Errors: ERR_FULL,
 * ERR_IO: the older one still counts. */
MUST_CHECK int snapshot_write(struct world *w,
                              struct keyring *k,
                              const char *directory,
                              const struct snapshot_info *info,
                              struct slice image,
                              struct err *err);

/* Index of the newest; *@found false when there is none. */
MUST_CHECK int snapshot_find(struct world *w,
                             const char *directory,
                             bool *found,
                             uint64_t *index,
                             struct err *err);

/* Read and verify the one at @index; the image is appended to @image.
 * Errors: ERR_CORRUPT (says where), ERR_UNSUPPORTED, ERR_NOTFOUND, ERR_IO. */
MUST_CHECK int snapshot_load(struct world *w,
                             struct keyring *k,
                             const char *directory,
                             uint64_t index,
                             struct snapshot_info *info,
                             struct buf *image,
                             struct err *err);
/* The same for the file at @path. */
MUST_CHECK int snapshot_load_file(struct world *w,
                                  struct keyring *k,
                                  const char *path,
                                  struct snapshot_info *info,
                                  struct buf *image,
                                  struct err *err);
/* Does a snapshot begin with @head? */
bool snapshot_is_one(struct slice head);

/* Up to @max bytes of the file at @offset, appended to @out; *@last: nothing
 * follows them. */
MUST_CHECK int snapshot_read_chunk(struct world *w,
                                   struct keyring *k,
                                   const char *directory,
                                   uint64_t index,
                                   uint64_t offset,
                                   size_t max,
                                   struct buf *out,
                                   bool *last,
                                   struct err *err);

/* Add a chunk to the incoming one; @offset 0 starts over. */
MUST_CHECK int snapshot_put_chunk(struct world *w,
                                  struct keyring *k,
                                  const char *directory,
                                  uint64_t offset,
                                  struct slice chunk,
                                  struct err *err);
/* The incoming one is whole: verify it, make it durable, let it be the newest;
 * its image is appended to @image. Errors: ERR_CORRUPT (it is dropped). */
MUST_CHECK int snapshot_accept(struct world *w,
                               struct keyring *k,
                               const char *directory,
                               struct snapshot_info *info,
                               struct buf *image,
                               struct err *err);
/* Remove those older than @index, and leftovers. */
void snapshot_drop_older(struct world *w,
                         const char *directory,
                         uint64_t index);

#endif /* BASE_REPLICA_REPLICA_SNAPSHOT_H */
