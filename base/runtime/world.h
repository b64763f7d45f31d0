/* The world: everything a program meets outside its own memory.
 *
 * Clock, randomness, files, threads and sockets are reached through this door
 * alone. It has two implementations: world_uv.c, the real one, and world_sim.c,
 * a whole machine (or many) in one thread with virtual time and seeded faults.
 * No state is global, so that many nodes fit into one process.
 *
 * Waiting
 *     A function that may wait says "Parks." Called on a fiber it parks the
 *     fiber and the loop goes on; called on a plain thread (a user's thread, a
 *     task) it blocks that thread. The code above is the same in both cases,
 *     and reads top to bottom. In the simulated world everything is a fiber.
 *     Calls on files do not heed a fiber's deadline or cancellation: what was
 *     begun on a disk is finished.
 *
 * Threads
 *     Any thread, unless a function says otherwise. A struct file may be read
 *     by many at once; writers of one file order themselves.
 */
#ifndef BASE_RUNTIME_WORLD_H
#define BASE_RUNTIME_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct world;
struct file;
struct dir_lock;
struct file_lock;
struct task;

/* --- the real world --------------------------------------------------- */

/* Open the real world. Owned. Costs nothing: loops and threads start on use. */
struct world *world_real_new(void);
void world_free(struct world *w); /* PRE: no file or task of it is open. */

/* --- time and chance -------------------------------------------------- */

uint64_t world_now_us(struct world *w); /* Wall clock, µs since 1970. */
/* Never goes back, and counts the time that the machine is suspended: leases
 * are measured by it. How far two machines' may drift apart is said where a
 * lease counts on it (replica.h). */
uint64_t world_mono_ns(struct world *w);
uint64_t world_random(struct world *w); /* 64 random bits; no secret. */
/* Random bytes that nobody can guess: for keys and challenges. */
void world_random_bytes(struct world *w, void *dst, size_t len);
unsigned world_cpu_count(struct world *w);
void world_sleep_us(struct world *w, uint64_t us); /* Parks. */

/* --- files ------------------------------------------------------------ */

enum file_flags {
    FILE_READ = 1,
    FILE_WRITE = 2,
    FILE_CREATE = 4,    /* Make it if it is not there. */
    FILE_EXCLUSIVE = 8, /* With FILE_CREATE: ERR_EXISTS if it is there. */
    FILE_TRUNCATE = 16, /* Start empty. */
    FILE_DIRECT = 32,   /* Past the page cache where the file system can;
                           buffers, offsets and lengths in FILE_DIRECT_ALIGN. */
    FILE_SHARED = 64,   /* With FILE_CREATE: others may have it, as the umask
                           says. Else a new file is its owner's alone. */
};

#define FILE_DIRECT_ALIGN ((size_t)4096)

enum file_kind {
    FILE_KIND_REGULAR,
    FILE_KIND_DIRECTORY,
    FILE_KIND_OTHER
};

struct file_info {
    enum file_kind kind;
    uint64_t size_bytes;
    uint64_t modified_us; /* Wall clock, µs since 1970. */
    unsigned mode;        /* Permission bits; 0600 in the simulation. */
};

/* Open @path. *@out is owned. Parks. Errors: those of open(2). */
MUST_CHECK int file_open(struct world *w,
                         const char *path,
                         unsigned flags,
                         struct file **out,
                         struct err *err);

/* Read up to @len bytes at @offset. *@got < @len only at the end of the file.
 * Parks; does not when the page cache has it all (preadv2 RWF_NOWAIT). */
MUST_CHECK int file_read_at(struct file *f,
                            uint64_t offset,
                            void *dst,
                            size_t len,
                            size_t *got,
                            struct err *err);

/* Does the page cache hold all of [offset, offset + len)? True also where that
 * cannot be told. Never waits, never parks. */
bool file_is_cached(struct file *f, uint64_t offset, uint64_t len);

/* Write all parts, one after the other, at @offset. Parks. On error any prefix
 * may have been written. */
MUST_CHECK int file_write_at(struct file *f,
                             uint64_t offset,
                             const struct slice *parts,
                             size_t part_count,
                             struct err *err);

/* Data and size are on the disk afterwards (fdatasync). Parks. After a failed
 * sync nothing is known about unsynced bytes: give the file up. */
MUST_CHECK int file_sync(struct file *f, struct err *err);
/* file_write_at(), then file_sync(): together they cost a fiber one turn of
 * another thread. Parks. */
MUST_CHECK int file_write_synced(struct file *f,
                                 uint64_t offset,
                                 const struct slice *parts,
                                 size_t part_count,
                                 struct err *err);

/* The size now, unsynced growth included. Parks. */
MUST_CHECK int file_size(struct file *f, uint64_t *bytes, struct err *err);
/* Cut or extend with zeros. Parks. ERR_FULL, ERR_IO. */
MUST_CHECK int file_truncate(struct file *f, uint64_t bytes, struct err *err);

/* Reserve disk space without changing the size (a hint; never an error). */
void file_allocate(struct file *f, uint64_t bytes);

/* Have the disk take what [offset, offset+len) has in the page cache alone, so
 * that a sync later finds less to wait for, and wait for it, as far as that can
 * be told: who asks for a piece after the other has one under way, and others
 * need not wait behind all of them. A hint; says nothing of what has reached
 * the disk. Parks, for a second at most. */
void file_write_back(struct file *f, uint64_t offset, uint64_t len);

enum file_advice {
    FILE_WILL_NEED, /* Start reading it. */
    FILE_WONT_NEED, /* Drop it. */
};

/* Tell the page cache what [offset, offset+len) is for. A hint. */
void file_advise(struct file *f,
                 uint64_t offset,
                 uint64_t len,
                 enum file_advice);

void file_close(struct file *f); /* NULL is allowed. Syncs nothing. */

MUST_CHECK int world_rename(struct world *w,
                            const char *from,
                            const char *to,
                            struct err *err);
MUST_CHECK int world_remove(struct world *w, const char *path, struct err *err);
/* The new directory is its owner's alone. */
MUST_CHECK int world_mkdir(struct world *w, const char *path, struct err *err);
/* The same, for this user alone. ERR_EXISTS also if it is his already. */
MUST_CHECK int
world_mkdir_private(struct world *w, const char *path, struct err *err);
/* Others may have it, as the umask says. */
MUST_CHECK int
world_mkdir_shared(struct world *w, const char *path, struct err *err);
/* See to it that nobody but its owner gets into directory @path, which may be
 * one that an older program made. ERR_DENIED: it is another's, and others get
 * in. */
MUST_CHECK int
world_make_private(struct world *w, const char *path, struct err *err);
MUST_CHECK int world_rmdir(struct world *w, const char *path, struct err *err);
MUST_CHECK int world_stat(struct world *w,
                          const char *path,
                          struct file_info *info,
                          struct err *err);
/* Names created, renamed or removed in directory @path are on the disk. */
MUST_CHECK int
world_sync_dir(struct world *w, const char *path, struct err *err);

/* The directory that has the name @path in it; "." if none is said. Owned:
 * mem_free(). */
char *world_directory_of(const char *path);
/* Make the directory @path, if it is not there, and have its name on the disk:
 * one that is there may have been made by a process that was killed before it
 * was. ERR_INVALID: it is something else. Parks. */
MUST_CHECK int
world_make_dir(struct world *w, const char *path, struct err *err);
/* The same, with what is missing above it. ERR_TOOBIG: that is too much. */
MUST_CHECK int
world_make_dirs(struct world *w, const char *path, struct err *err);

/* How large the disk that holds @path is, and how much of it a file could still
 * take. Parks. */
MUST_CHECK int world_space(struct world *w,
                           const char *path,
                           uint64_t *capacity_bytes,
                           uint64_t *free_bytes,
                           struct err *err);

/* Names in directory @path, sorted, without "." and "..". *@names and each name
 * are owned by the caller: world_names_free(). */
MUST_CHECK int world_list(struct world *w,
                          const char *path,
                          char ***names,
                          size_t *count,
                          struct err *err);
void world_names_free(char **names, size_t count);

/* Take the lock file @path for this process, creating it; ERR_BUSY names the
 * process that holds it. Held until file_unlock() or the end of the process. */
MUST_CHECK int file_lock(struct world *w,
                         const char *path,
                         struct file_lock **out,
                         struct err *err);
void file_unlock(struct file_lock *l); /* NULL is allowed. */

/* Lock the directory @path, with others or @alone, without waiting. It excludes
 * within a process too, writes nothing, and needs the right to read only. *@out
 * is NULL where directories cannot be locked (the simulator, some network file
 * systems). Held until dir_unlock() or the end of the process. Errors:
 * ERR_BUSY, ERR_NOTFOUND, ERR_IO. */
MUST_CHECK int dir_lock(struct world *w,
                        const char *path,
                        bool alone,
                        struct dir_lock **out,
                        struct err *err);
void dir_unlock(struct dir_lock *l); /* NULL is allowed. */

/* --- tasks ------------------------------------------------------------ */

typedef void (*task_fn)(void *arg);

/* Run fn(arg) beside the caller: on a thread of its own in the real world, on a
 * fiber in the simulated one. @name (copied) shows in debuggers and dumps.
 * Owned: end it with task_join(). */
struct task *
task_start(struct world *w, const char *name, task_fn fn, void *arg);

/* Wait until it has returned, and free it. Parks. */
void task_join(struct task *t);

#endif /* BASE_RUNTIME_WORLD_H */
