/* The file system interface that everything else stores through: the public
 * header of gfs-lite.
 *
 * Files are written once by one writer that appends, and read by many. Names
 * are paths below the file system's root, '/'-separated, without "..".
 * Implementations: local.c, a directory of the world's files; client/, the
 * cluster's; objects/, hdfs/ and rados/, which differ in what objects.h says;
 * routed.c, fs_proxy.c over these.
 *
 * Threads: any thread; one writer a file. Everything that touches a disk parks.
 *
 * Durability
 *     append   the bytes are readable by this process
 *     flush    the bytes survive the process
 *     sync     the bytes, the file's length and its name survive the machine
 *     rename, remove: durable after fs_sync_dir() of the directory
 */
#ifndef GFS_LITE_FS_H
#define GFS_LITE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct fs;
struct fs_lock;
struct fs_reader;
struct fs_writer;
struct world;

/* Longest path below the root, in bytes. */
#define FS_PATH_BYTES_MAX 1024

/* --- file systems -------------------------------------------------------- */

/* A file system over the directory @root of @w, made if missing. @w is
 * borrowed. *@out is owned. Errors: ERR_DENIED, ERR_INVALID (not a directory).
 */
MUST_CHECK int fs_local_open(struct world *w,
                             const char *root,
                             struct fs **out,
                             struct err *err);
void fs_close(struct fs *fs); /* PRE: nothing of it is open. NULL allowed. */
/* Announce that @fs will be closed soon: failed calls are not retried, now and
 * later, so that none waits for dead servers; one try may take some seconds.
 * Cannot be undone. Any thread. */
void fs_hurry(struct fs *fs);
/* The world it was opened with. Borrowed. */
struct world *fs_world(struct fs *fs);

/* Set the keyring with which writers of files encrypt before the bytes come
 * here; NULL, as at first: they do not. The file system itself does not use it,
 * and unencrypted files stay readable. @k is shared; set before anybody else
 * uses @fs. */
struct keyring;
void fs_set_keyring(struct fs *fs, struct keyring *k);
struct keyring *fs_keyring(struct fs *fs); /* Borrowed. */

struct master_keys;
/* Open the keyring in the file @path of @fs by keyring_open() of base/crypt,
 * and set it. Parks. Errors: those of keyring_open(). */
MUST_CHECK int fs_open_keyring(struct fs *fs,
                               const char *path,
                               struct master_keys *masters,
                               bool create,
                               struct err *err);

/* --- writing ------------------------------------------------------------- */

enum fs_write_mode {
    FS_WRITE_STREAM, /* Large sequential output: direct I/O through recycled
                        aligned buffers where the file system can, unless it
                        is `cached`. Nothing is readable before fs_writer_flush
                        or _sync. */
    FS_WRITE_LOG,    /* Small appends that must reach the system at once. */
};

struct fs_write_options {
    enum fs_write_mode mode;
    bool exclusive;          /* ERR_EXISTS instead of replacing. */
    bool cached;             /* Of a stream: will be read soon, so leave it in
                                the page cache where the files are local. */
    uint64_t expected_bytes; /* Space to reserve; 0 for unknown. */
    uint32_t replication;    /* Copies, where the file system keeps several; 0:
                                as it was opened. */
};

/* Create (or empty) the file @path; missing directories are made. *@out is
 * owned. Parks. Errors: ERR_EXISTS, ERR_INVALID, ERR_FULL. */
MUST_CHECK int fs_create(struct fs *fs,
                         const char *path,
                         const struct fs_write_options *opts,
                         struct fs_writer **out,
                         struct err *err);
/* Append @len bytes, copied. Parks. After an error only fs_writer_close() may
 * be called. ERR_FULL: the disk is full. */
MUST_CHECK int fs_writer_append(struct fs_writer *w,
                                const void *data,
                                size_t len,
                                struct err *err);
/* See Durability above. Park. Errors: as fs_writer_append(). */
MUST_CHECK int fs_writer_flush(struct fs_writer *w, struct err *err);
MUST_CHECK int fs_writer_sync(struct fs_writer *w, struct err *err);
/* fs_writer_append() and fs_writer_sync() in one, over a network in one round
 * trip: for the records of a log. Parks. */
MUST_CHECK int fs_writer_append_sync(struct fs_writer *w,
                                     const void *data,
                                     size_t len,
                                     struct err *err);
/* Is a file there only when its writer was synced, whole? Elsewhere a file that
 * must not be seen in part is written beside its name and renamed. */
bool fs_writes_whole(const struct fs *fs);
/* Bytes appended so far. */
uint64_t fs_writer_offset(const struct fs_writer *w);
/* Close without syncing; NULL is allowed. Flushes what it can: an error here
 * means that fs_writer_sync() was not called, and nothing was promised. */
void fs_writer_close(struct fs_writer *w);

/* Take the file @path from its writer: a process that died, or that was cut off
 * and was replaced without knowing it. After the return,
 *     - no byte of that writer is accepted: its calls fail with ERR_ABORTED
 *         whenever they arrive;
 *     - all bytes it had flushed or synced are on the disks; of others some
 *         may be: a reader of a log checks each record;
 *     - the file is closed, and its length, *@length, does not change.
 *
 * A file that has no writer stays as it is. A local file system, whose writers
 * exclude each other by fs_lock(), only returns the length.
 *
 * Parks: until the copies of the file's end agree; a server that died just now
 * is waited for until it is known to be dead.
 *
 * Errors: ERR_NOTFOUND, ERR_INVALID (a directory), ERR_UNAVAILABLE. */
MUST_CHECK int
fs_recover(struct fs *fs, const char *path, uint64_t *length, struct err *err);

/* --- reading ------------------------------------------------------------- */

/* Open a file to read; its size is that at the time of open. *@out is owned.
 * Parks. Errors: ERR_NOTFOUND, ERR_INVALID, ERR_DENIED. */
MUST_CHECK int fs_open(struct fs *fs,
                       const char *path,
                       struct fs_reader **out,
                       struct err *err);
uint64_t fs_reader_size(const struct fs_reader *r); /* At the time of open. */
/* As file_read_at(): *@got < @len only at the end. */
MUST_CHECK int fs_read_at(struct fs_reader *r,
                          uint64_t offset,
                          void *dst,
                          size_t len,
                          size_t *got,
                          struct err *err);
/* The same for bytes that are read once: from the page cache if they are in it,
 * else past it where the file system can. PRE: @offset, @dst and @len are
 * multiples of 4 KiB. */
MUST_CHECK int fs_read_once_at(struct fs_reader *r,
                               uint64_t offset,
                               void *dst,
                               size_t len,
                               size_t *got,
                               struct err *err);
/* The same for bytes of a scan that may be repeated: cached bytes are taken
 * from memory; of the rest a part is cached for the next time, more each time,
 * and most is read past the page cache, whose pages cost more than the reading.
 * PRE: as above. */
MUST_CHECK int fs_read_scan_at(struct fs_reader *r,
                               uint64_t offset,
                               void *dst,
                               size_t len,
                               size_t *got,
                               struct err *err);

/* Where a read of [offset, offset + len) would find the bytes now; those at
 * different places count for the slowest. Parks: a chunk server of this machine
 * may be asked for a descriptor. */
enum fs_place {
    FS_PLACE_PAGE_CACHE, /* Of this machine, all of them. */
    FS_PLACE_DISK,       /* Of this machine, or the system cannot tell. */
    FS_PLACE_REMOTE,     /* A chunk server is asked over the network. */
};
enum fs_place fs_read_place(struct fs_reader *r, uint64_t offset, uint64_t len);
/* Start reading [offset, offset+len) in the background. A hint. */
void fs_prefetch(struct fs_reader *r, uint64_t offset, uint64_t len);
void fs_reader_close(struct fs_reader *r); /* NULL is allowed. */

/* --- names --------------------------------------------------------------- */

struct fs_info {
    bool is_directory;
    uint64_t size_bytes;
    uint64_t modified_us;
};

/* Rename as rename(2). Parks. Errors: ERR_NOTFOUND, ERR_EXISTS, ERR_INVALID. */
MUST_CHECK int
fs_rename(struct fs *fs, const char *from, const char *to, struct err *err);
/* Remove a file. Parks. Errors: ERR_NOTFOUND, ERR_INVALID (a directory, which
 * fs_remove_tree() removes). */
MUST_CHECK int fs_remove(struct fs *fs, const char *path, struct err *err);
/* Make a directory and missing ones above. Parks. Errors: ERR_INVALID. */
MUST_CHECK int fs_mkdirs(struct fs *fs, const char *path, struct err *err);
/* Remove @path and all below it. ERR_NOTFOUND if there is none. */
MUST_CHECK int fs_remove_tree(struct fs *fs, const char *path, struct err *err);
/* Kind, size and time of @path. Parks. Errors: ERR_NOTFOUND. */
MUST_CHECK int
fs_stat(struct fs *fs, const char *path, struct fs_info *info, struct err *err);
/* Make renames and removals in the directory @path durable. Parks. */
MUST_CHECK int fs_sync_dir(struct fs *fs, const char *path, struct err *err);
/* Names in @path, sorted; free with fs_names_free(). */
MUST_CHECK int fs_list(struct fs *fs,
                       const char *path,
                       char ***names,
                       size_t *count,
                       struct err *err);
void fs_names_free(char **names, size_t count);
/* Call @visit for each entry of the directory @path, by name; its return other
 * than 0 ends it. Entries that go meanwhile are left out. Parks. Errors: those
 * of fs_list() and fs_stat(); that of @visit. */
typedef int (*fs_each_fn)(void *ctx,
                          const char *name,
                          const struct fs_info *info,
                          struct err *err);
MUST_CHECK int fs_each(struct fs *fs,
                       const char *path,
                       fs_each_fn visit,
                       void *ctx,
                       struct err *err);

/* Replace the small file @path by @contents atomically and durably (write
 * beside, sync, rename, sync the directory). */
MUST_CHECK int fs_replace(struct fs *fs,
                          const char *path,
                          struct slice contents,
                          struct err *err);
/* Make the small file @path of @contents, atomically and durably, if there is
 * none: of several who try, also from other machines, one succeeds. The others
 * get ERR_EXISTS. Parks. */
MUST_CHECK int fs_publish(struct fs *fs,
                          const char *path,
                          struct slice contents,
                          struct err *err);
/* Append the whole file, of at most @bytes_max (ERR_TOOBIG), to @out. Parks. */
struct buf;
MUST_CHECK int fs_read_all(struct fs *fs,
                           const char *path,
                           size_t bytes_max,
                           struct buf *out,
                           struct err *err);
/* The same, encrypted if the file system has a keyring: fs_sealed.c. An
 * unencrypted file is read as it is. Park. Errors also: ERR_DENIED (no key),
 * ERR_CORRUPT. */
MUST_CHECK int fs_replace_sealed(struct fs *fs,
                                 const char *path,
                                 struct slice contents,
                                 struct err *err);
MUST_CHECK int fs_read_all_sealed(struct fs *fs,
                                  const char *path,
                                  size_t bytes_max,
                                  struct buf *out,
                                  struct err *err);

/* When the directory @path or a file in it was last written, in microseconds
 * since 1970; UINT64_MAX if unknown. Parks. */
uint64_t fs_last_write_us(struct fs *fs, const char *path);

/* Lock @path against other processes. *@out is owned. Parks. ERR_BUSY names the
 * holder. */
MUST_CHECK int
fs_lock(struct fs *fs, const char *path, struct fs_lock **out, struct err *err);
void fs_unlock(struct fs_lock *l); /* NULL is allowed. */

/* Machines that hold [offset, offset+len), best first; names are borrowed from
 * the file system until it is closed. The local one returns none. */
size_t fs_locality(struct fs_reader *r,
                   uint64_t offset,
                   uint64_t len,
                   const char **machines,
                   size_t machines_max);

#endif /* GFS_LITE_FS_H */
