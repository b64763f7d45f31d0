/* A pool of Ceph as a file system. Private to gfs-lite.
 *
 * A file's bytes are the objects "f/ID.0", "f/ID.1", … of 4 MiB, under a number
 * of its own. Names are keys of maps: of the object "names" those directly
 * below the pool, of "names/TOP" all below the directory TOP, so that whatever
 * happens to names below one TOP happens in one step:
 *
 *     DIRECTORY//NAME → d                             a directory
 *     DIRECTORY//NAME → f ID BYTES MODIFIED_US s      a file of that length
 *     DIRECTORY//NAME → f ID BYTES MODIFIED_US g      it may grow: see its
 * state
 *     //ID            → p MODIFIED_US BYTES           objects without a name:
 *                                                     being written, or to go
 *
 * (in "names", NAME alone). A file that grows has the state "WRITER BYTES
 * MODIFIED_US" at its first object; each append compares and sets it in the
 * step that writes, so that who changes WRITER cuts the writer off.
 *
 * Invariants
 *     INV-1. All directories of a name are there, in the same map.
 *     INV-2. TOP is a "d" of "names" if "names/TOP" exists; it may stay when
 *            that is removed.
 *     INV-3. Objects of a file are made after its key "//ID", which goes in the
 *            step that gives it a name, and comes back in the one that takes
 * it.
 *
 * Threads: any. Everything parks.
 */
#ifndef GFS_LITE_RADOS_RADOS_FS_H
#define GFS_LITE_RADOS_RADOS_FS_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/objects/rados_client.h"
#include "gfs-lite/fs_ops.h"

/* Of a number of a file, its NUL included. */
#define RADOS_ID_BYTES 33
/* Of a value of a name. */
#define RADOS_VALUE_BYTES 128

struct rados_fs {
    struct fs base;
    struct rados_client *client; /* Owned. */
    atomic_bool lock_lost;       /* A lock ran out: nothing is written now. */
    atomic_bool swept;           /* rados_fs_sweep() was called. */
};

static inline struct rados_client *rados_fs_client(struct fs *fs)
{
    return ((struct rados_fs *)fs)->client;
}

/* A file system over @c, which it owns from now on. Owned: fs_close(). */
struct fs *rados_fs_new(struct world *w, struct rados_client *c);
bool rados_fs_is(const struct fs *fs);

/* ERR_INVALID unless @path can be a name; the root is one. */
MUST_CHECK int rados_fs_check(struct fs *fs, const char *path, struct err *err);
/* ERR_ABORTED if a lock ran out. */
MUST_CHECK int rados_fs_may_write(struct fs *fs, struct err *err);

/* --- names: rados_names.c ------------------------------------------------ */

enum rados_kind {
    RADOS_NONE,
    RADOS_DIRECTORY,
    RADOS_FILE,
};

struct rados_entry {
    enum rados_kind kind;
    bool grows;
    char id[RADOS_ID_BYTES];
    uint64_t size_bytes;
    uint64_t modified_us;
    char value[RADOS_VALUE_BYTES]; /* As it is in the map. */
};

/* The value of a name for a file. */
void rados_entry_of_file(struct rados_entry *e,
                         const char *id,
                         uint64_t size_bytes,
                         uint64_t modified_us,
                         bool grows);
/* Read @value. ERR_CORRUPT. */
MUST_CHECK int
rados_entry_parse(struct slice value, struct rados_entry *out, struct err *err);

/* The entry at @path; kind RADOS_NONE: nothing. The root is a directory. */
MUST_CHECK int rados_names_find(struct fs *fs,
                                const char *path,
                                struct rados_entry *out,
                                struct err *err);
/* Note that the objects of @id will be written for @path, before they are;
 * *@pending (RADOS_VALUE_BYTES) is what rados_names_put() needs. */
MUST_CHECK int rados_names_begin(struct fs *fs,
                                 const char *path,
                                 const char *id,
                                 char *pending,
                                 struct err *err);
/* The objects of @id, whose name was never put, are gone. */
void rados_names_end(struct fs *fs,
                     const char *path,
                     const char *id,
                     const char *pending);

struct rados_put_options {
    bool exclusive;      /* ERR_EXISTS instead of replacing. */
    const char *was;     /* The value that it must have; NULL: any. */
    const char *pending; /* Of rados_names_begin(); NULL: it has a name. */
    const char *from;    /* That name, which it loses; NULL: none. */
};

/* Give the file @e the name @path, making directories; what was there is
 * removed. Errors: ERR_EXISTS, ERR_INVALID (a directory), ERR_ABORTED (another
 * value than `was`; its objects were removed meanwhile). */
MUST_CHECK int rados_names_put(struct fs *fs,
                               const char *path,
                               const struct rados_entry *e,
                               const struct rados_put_options *o,
                               struct err *err);
/* Remove the file @path; @was as above. Errors: ERR_NOTFOUND, ERR_INVALID,
 * ERR_ABORTED. */
MUST_CHECK int rados_names_remove(struct fs *fs,
                                  const char *path,
                                  const char *was,
                                  struct err *err);
/* Give the file @e of the name @from the name @to, of the same map, in one
 * step; what was there is removed. Errors: ERR_NOTFOUND, ERR_INVALID (a
 * directory). */
MUST_CHECK int rados_names_move(struct fs *fs,
                                const char *from,
                                const struct rados_entry *e,
                                const char *to,
                                struct err *err);
MUST_CHECK int
rados_names_mkdirs(struct fs *fs, const char *path, struct err *err);
/* Remove the objects of the file @id. */
MUST_CHECK int rados_fs_drop_objects(struct fs *fs,
                                     const char *id,
                                     uint64_t size_bytes,
                                     bool exact,
                                     struct err *err);

/* The map that has @path, and its key in it. Both owned. */
void rados_names_key(const char *path, char **map, char **key);
/* A try failed with @rc: is there to be another? *@tries counts them; waits. */
bool rados_names_again(struct fs *fs, int rc, unsigned *tries);

/* --- many names: rados_trees.c ------------------------------------------- */

int rados_fs_list(struct fs *fs,
                  const char *path,
                  char ***names,
                  size_t *count,
                  struct err *err);
int rados_fs_each(struct fs *fs,
                  const char *path,
                  fs_each_fn visit,
                  void *ctx,
                  struct err *err);
int rados_fs_rename(struct fs *fs,
                    const char *from,
                    const char *to,
                    struct err *err);
int rados_fs_remove_tree(struct fs *fs, const char *path, struct err *err);
/* Once in the life of @fs: objects in the map of @path that have had no name
 * for a week go, as those of a process that was killed. */
void rados_fs_sweep(struct fs *fs, const char *path);

/* --- files: rados_writer.c ----------------------------------------------- */

int rados_fs_create(struct fs *fs,
                    const char *path,
                    const struct fs_write_options *opts,
                    struct fs_writer **out,
                    struct err *err);
int rados_fs_append(struct fs_writer *w,
                    const void *data,
                    size_t len,
                    struct err *err);
int rados_fs_flush(struct fs_writer *w, struct err *err);
void rados_fs_writer_close(struct fs_writer *w);
int rados_fs_recover(struct fs *fs,
                     const char *path,
                     uint64_t *length,
                     struct err *err);
/* Make @e, a file that may grow, what its state says now. ERR_NOTFOUND: it was
 * removed. */
MUST_CHECK int
rados_fs_refresh(struct fs *fs, struct rados_entry *e, struct err *err);
/* Make the small file @path of @contents. */
MUST_CHECK int rados_fs_place(struct fs *fs,
                              const char *path,
                              struct slice contents,
                              bool exclusive,
                              struct err *err);

/* --- locks: rados_lock.c ------------------------------------------------- */

int rados_fs_lock(struct fs *fs,
                  const char *path,
                  struct fs_lock **out,
                  struct err *err);
void rados_fs_unlock(struct fs_lock *l);

#endif /* GFS_LITE_RADOS_RADOS_FS_H */
