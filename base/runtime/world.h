/* The world: everything a program reaches outside its own memory.
 *
 * Clock, randomness, files, threads and sockets are reached through this header
 * alone. It has two implementations: world_uv.c, the real one, and world_sim.c,
 * a whole machine (or many) in one thread with virtual time and seeded faults.
 * No state is global, so that many nodes fit into one process.
 *
 * Waiting
 *     A function that may wait says "Parks." Called on a fiber, it parks the
 *     fiber and the loop continues; called on a plain thread (a user's thread,
 *     a task), it blocks that thread. Callers are the same sequential code in
 *     both cases. In the simulated world everything is a fiber. Calls on files
 *     ignore a fiber's deadline and cancellation: an operation that began is
 *     finished.
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

/* --- the real world ------------------------------------------------------ */

/* Open the real world. Owned. Costs nothing: loops and threads start on use. */
struct world *world_real_new(void);
void world_free(struct world *w); /* PRE: no file or task of it is open. */

/* --- time and chance ----------------------------------------------------- */

/* The wall clock may jump in either direction: for people and file times,
 * never for order. */
uint64_t world_now_us(struct world *w); /* Wall clock, µs since 1970. */
/* Never goes back, and counts the time that the machine is suspended: leases
 * are measured by it. Code that relies on two machines' clocks states the
 * drift it tolerates (replica.h). */
uint64_t world_mono_ns(struct world *w);
uint64_t world_random(struct world *w); /* 64 random bits; no secret. */
/* Random bytes that nobody can guess: for keys and challenges. */
void world_random_bytes(struct world *w, void *dst, size_t len);
/* CPUs that this process may use; at least 1. */
unsigned world_cpu_count(struct world *w);
void world_sleep_us(struct world *w, uint64_t us); /* Parks. */
/* From now to the next multiple of @period_us: what looks at something again
 * and again waits for these, so that one wake-up of a loop serves many. */
uint64_t world_to_tick_us(struct world *w, uint64_t period_us);
void world_sleep_to_tick(struct world *w, uint64_t period_us); /* Parks. */

/* Memory that this process may use: the machine's, or what its control groups
 * allow if that is less. */
struct world_memory {
    uint64_t total_bytes;     /* 0: unknown, and so is the other. */
    uint64_t available_bytes; /* Free, or in pages of files that the system
                                 drops when it needs them. */
};

/* As of now; reads a few small files of the system. Never parks. */
void world_memory(struct world *w, struct world_memory *out);

/* --- files --------------------------------------------------------------- */

enum file_flags {
    FILE_READ = 1,
    FILE_WRITE = 2,
    FILE_CREATE = 4,    /* Make it if it is not there. */
    FILE_EXCLUSIVE = 8, /* With FILE_CREATE: ERR_EXISTS if it is there. */
    FILE_TRUNCATE = 16, /* Start empty. */
    FILE_DIRECT = 32,   /* Past the page cache where the file system can;
                           buffers, offsets and lengths in FILE_DIRECT_ALIGN. */
    FILE_SHARED = 64,   /* With FILE_CREATE: others get access as the umask
                           allows. Else a new file is its owner's alone. */
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
    bool is_roots;        /* Root owns it, and this process is not root's. */
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

/* Does the page cache hold all of [offset, offset + len)? True also if the
 * system cannot tell. Never waits, never parks. */
bool file_is_cached(struct file *f, uint64_t offset, uint64_t len);
/* The bytes of [offset, offset + len) that the page cache holds, in whole pages
 * but at most @len; 0 also if the system cannot tell. Never waits, never parks.
 */
uint64_t file_cached_bytes(struct file *f, uint64_t offset, uint64_t len);

/* Write all parts, one after the other, at @offset. Parks. On error any prefix
 * may have been written. */
MUST_CHECK int file_write_at(struct file *f,
                             uint64_t offset,
                             const struct slice *parts,
                             size_t part_count,
                             struct err *err);

/* Data and size are on the disk afterwards (fdatasync). Parks. After a
 * failed sync the state of unsynced bytes is unknown: stop using the file. */
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

/* Write the dirty pages of [offset, offset+len) to the disk and wait for
 * that, as far as the system can tell, so that a later sync has less to do.
 * A caller that does this piece by piece keeps one write under way, and
 * requests of others do not queue after all of them. A hint: durability
 * needs file_sync(). Parks, for a second at most. */
void file_write_back(struct file *f, uint64_t offset, uint64_t len);

enum file_advice {
    FILE_WILL_NEED, /* Start reading it. */
    FILE_WONT_NEED, /* Drop it. */
};

/* Tell the page cache how [offset, offset+len) will be used. A hint. */
void file_advise(struct file *f,
                 uint64_t offset,
                 uint64_t len,
                 enum file_advice);

void file_close(struct file *f); /* NULL is allowed. Syncs nothing. */

/* Give @from the name @to, which is replaced if it exists; or remove a file.
 * Durable after world_sync_dir(). Parks. Errors: ERR_NOTFOUND and those of
 * rename(2) and unlink(2). */
MUST_CHECK int world_rename(struct world *w,
                            const char *from,
                            const char *to,
                            struct err *err);
MUST_CHECK int world_remove(struct world *w, const char *path, struct err *err);
/* Make a directory that only its owner may access. Durable after
 * world_sync_dir(). Parks. ERR_EXISTS, ERR_NOTFOUND (no parent). */
MUST_CHECK int world_mkdir(struct world *w, const char *path, struct err *err);
/* The same; ERR_EXISTS even if the existing directory is this user's alone. */
MUST_CHECK int
world_mkdir_private(struct world *w, const char *path, struct err *err);
/* The same, with access for others as the umask allows. */
MUST_CHECK int
world_mkdir_shared(struct world *w, const char *path, struct err *err);
/* Take away everybody's access but the owner's from directory @path, which
 * an older version may have made. Parks. ERR_DENIED: it belongs to another
 * user, and others have access. */
MUST_CHECK int
world_make_private(struct world *w, const char *path, struct err *err);
/* Remove the empty directory @path. Parks. Errors: those of rmdir(2). */
MUST_CHECK int world_rmdir(struct world *w, const char *path, struct err *err);
/* The kind, size and times of @path, following symbolic links. Parks.
 * ERR_NOTFOUND. */
MUST_CHECK int world_stat(struct world *w,
                          const char *path,
                          struct file_info *info,
                          struct err *err);
/* Refuse (ERR_DENIED, with a hint) a secret at @path that others than its owner
 * may read or write. Of a file that belongs to root the group may read it: so
 * orchestrators hand secrets to processes that are not root's (the rule of
 * PostgreSQL's ssl_key_file). Parks. Errors: those of world_stat(), too. */
MUST_CHECK int
world_check_secret(struct world *w, const char *path, struct err *err);
/* Make names that were created, renamed or removed in directory @path
 * durable. Parks. */
MUST_CHECK int
world_sync_dir(struct world *w, const char *path, struct err *err);

/* The directory part of @path; "." if it has none. Owned: mem_free(). */
char *world_directory_of(const char *path);
/* Make the directory @path unless it exists, and make its name durable in
 * either case: an existing one may come from a process that was killed
 * before it did so. ERR_INVALID: it is not a directory. Parks. */
MUST_CHECK int
world_make_dir(struct world *w, const char *path, struct err *err);
/* The same, with its missing parents. ERR_TOOBIG: too many are missing. */
MUST_CHECK int
world_make_dirs(struct world *w, const char *path, struct err *err);

/* The size of the disk that holds @path, and the space that files of this
 * user could still take. Parks. */
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
 * process that holds it. Held until file_unlock() or the end of the process.
 * Parks. */
MUST_CHECK int file_lock(struct world *w,
                         const char *path,
                         struct file_lock **out,
                         struct err *err);
void file_unlock(struct file_lock *l); /* NULL is allowed. */

/* Lock the directory @path, with others or @alone, without waiting. Locks
 * conflict within a process too. Writes nothing, and needs only the right to
 * read. *@out is NULL if directories cannot be locked (the simulator, some
 * network file systems). Held until dir_unlock() or the end of the process.
 * Errors: ERR_BUSY, ERR_NOTFOUND, ERR_IO. */
MUST_CHECK int dir_lock(struct world *w,
                        const char *path,
                        bool alone,
                        struct dir_lock **out,
                        struct err *err);
void dir_unlock(struct dir_lock *l); /* NULL is allowed. */

/* --- tasks --------------------------------------------------------------- */

typedef void (*task_fn)(void *arg);

/* Run fn(arg) beside the caller: on a thread of its own in the real world, on a
 * fiber in the simulated one. @name (copied) shows in debuggers and dumps.
 * Owned: end it with task_join(). */
struct task *
task_start(struct world *w, const char *name, task_fn fn, void *arg);

/* Wait until it has returned, and free it. Parks. */
void task_join(struct task *t);

#endif /* BASE_RUNTIME_WORLD_H */
