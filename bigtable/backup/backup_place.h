/* The place where backups are, and what is in it:
 *
 *     backups/NAME.backup       manifests
 *     files/AB/ABCD….sst        table files, by the SHA-256 of their bytes
 *     runs/ID.create, ID.drop   calls that are under way (backup_run.h)
 *
 * Private to bigtable/backup.
 *
 * Threads: any, for the functions here.
 */
#ifndef BIGTABLE_BACKUP_BACKUP_PLACE_H
#define BIGTABLE_BACKUP_BACKUP_PLACE_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "bigtable/backup/backup_manifest.h"
#include "bigtable/quarry_backup.h"
#include "gfs-lite/fs_location.h"

struct fs;

#define BACKUP_MANIFESTS_DIR "backups"
#define BACKUP_SUFFIX        ".backup"
#define BACKUP_FILES_DIR     "files"
#define BACKUP_FILE_SUFFIX   ".sst"
#define BACKUP_RUNS_DIR      "runs"
/* Bytes that are read and written at once. */
#define BACKUP_PIECE_BYTES ((size_t)1 << 20)

struct quarry_backups {
    struct world *world;
    bool owns_world;
    struct fs_location place;
    struct quarry_backup_options options;
    struct mutex lock; /* Of the rest. */
    uint64_t rate_next_ns;
    uint64_t reported_ns;
    struct quarry_backup_counts counts;
};

/* A manifest, and what it borrows from. */
struct backup_held {
    struct buf bytes;
    struct arena arena;
    struct backup_manifest manifest;
    bool is_damaged;
    struct err err; /* Then. */
    char *name;     /* Owned: that of its file. */
};

/* Read the manifest @name. backup_held_close() in any case. Errors:
 * ERR_NOTFOUND, naming those there are; ERR_CORRUPT. */
MUST_CHECK int backup_held_read(struct quarry_backups *b,
                                const char *name,
                                struct backup_held *out,
                                struct err *err);
void backup_held_close(struct backup_held *h);

struct backup_all {
    struct backup_held *list; /* Owned; oldest first, damaged ones before. */
    size_t count;
};

/* Read all manifests; damaged ones are marked. backup_all_close() in any case.
 */
MUST_CHECK int backup_all_read(struct quarry_backups *b,
                               struct backup_all *out,
                               struct err *err);
void backup_all_close(struct backup_all *all);

/* Paths, borrowed from @out, whose contents they replace. */
const char *backup_manifest_path(const struct quarry_backups *b,
                                 const char *name,
                                 struct buf *out);
const char *backup_file_path(const struct quarry_backups *b,
                             const unsigned char digest[SHA256_BYTES],
                             struct buf *out);

/* Wait as the rate demands, and count @bytes as moved. Parks. */
void backup_pace(struct quarry_backups *b, uint64_t bytes);
/* Count @bytes as dealt with, and report, if it is time. */
void backup_count_done(struct quarry_backups *b, uint64_t bytes);

/* Call fn(ctx, index) for each index below @count, options.jobs at a time,
 * until one fails. Returns the first failure. Parks. */
typedef int (*backup_work_fn)(void *ctx, size_t index, struct err *err);
MUST_CHECK int backup_each(struct quarry_backups *b,
                           size_t count,
                           backup_work_fn fn,
                           void *ctx,
                           struct err *err);

/* Read all of @path of @fs: its size, and its digest. Counts as moved if
 * @paced. Parks. */
MUST_CHECK int backup_digest_file(struct quarry_backups *b,
                                  struct fs *fs,
                                  const char *path,
                                  bool paced,
                                  uint64_t *bytes,
                                  unsigned char digest[SHA256_BYTES],
                                  struct err *err);

/* Copy @from of @src to @to of @dst, where it appears whole, if its digest is
 * @digest (else ERR_CORRUPT, and there is none). @beside: a name to write it
 * under until then. Parks. */
struct backup_copy {
    struct fs *src;
    const char *from;
    struct fs *dst;
    const char *to;
    const char *beside;
    const unsigned char *digest; /* NULL: not known; nothing is compared. */
};

MUST_CHECK int backup_copy_file(struct quarry_backups *b,
                                const struct backup_copy *c,
                                struct err *err);

#endif /* BIGTABLE_BACKUP_BACKUP_PLACE_H */
