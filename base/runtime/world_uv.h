/* The parts of the real world, one file each. Private to world_uv*.c. */
#ifndef BASE_RUNTIME_WORLD_UV_H
#define BASE_RUNTIME_WORLD_UV_H

#include <stdatomic.h>

#include "base/runtime/world_ops.h"

struct real_world {
    struct world base;
    atomic_uint_least64_t random_state;  /* Counter mixed into numbers. */
    struct offload_pool *pool;           /* Threads for work off the loops. */
    atomic_uint_least64_t slow_until_ns; /* Until then, writes to the page
                                            cache are expected to wait for
                                            the disk. */
};

static inline struct real_world *real_world(struct world *w)
{
    return (struct real_world *)w;
}

/* The entries of world_ops, by file; their contracts are those of world.h.
 *
 * world_uv_file.c */
int real_file_open(struct world *w,
                   const char *path,
                   unsigned flags,
                   struct file **out,
                   struct err *err);
bool real_file_is_cached(struct file *f, uint64_t offset, uint64_t len);
uint64_t real_file_cached_bytes(struct file *f, uint64_t offset, uint64_t len);
int real_file_read_at(struct file *f,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      size_t *got,
                      struct err *err);
int real_file_write_at(struct file *f,
                       uint64_t offset,
                       const struct slice *parts,
                       size_t part_count,
                       struct err *err);
int real_file_write_synced(struct file *f,
                           uint64_t offset,
                           const struct slice *parts,
                           size_t part_count,
                           struct err *err);
int real_file_sync(struct file *f, struct err *err);
int real_file_size(struct file *f, uint64_t *bytes, struct err *err);
int real_file_truncate(struct file *f, uint64_t bytes, struct err *err);
void real_file_allocate(struct file *f, uint64_t bytes);
void real_file_write_back(struct file *f, uint64_t offset, uint64_t len);
void real_file_advise(struct file *f,
                      uint64_t offset,
                      uint64_t len,
                      enum file_advice advice);
void real_file_close(struct file *f);
/* For transfers between processes: the descriptor of @f, borrowed, and a
 * file for a received descriptor, which it owns from then on. */
int real_file_descriptor(const struct file *f);
struct file *real_file_adopt(struct world *w, int fd, const char *path);

/* world_uv_memory.c */
void real_memory(struct world *w, struct world_memory *out);
/* The same, of a system whose files are below the directory @root: for tests;
 * "" is this one. */
void real_memory_below(const char *root, struct world_memory *out);

/* world_uv_names.c */
int real_rename(struct world *w,
                const char *from,
                const char *to,
                struct err *err);
int real_remove(struct world *w, const char *path, struct err *err);
int real_mkdir(struct world *w, const char *path, struct err *err);
int real_mkdir_private(struct world *w, const char *path, struct err *err);
int real_mkdir_shared(struct world *w, const char *path, struct err *err);
int real_make_private(struct world *w, const char *path, struct err *err);
int real_rmdir(struct world *w, const char *path, struct err *err);
int real_stat(struct world *w,
              const char *path,
              struct file_info *info,
              struct err *err);
int real_sync_dir(struct world *w, const char *path, struct err *err);
int real_space(struct world *w,
               const char *path,
               uint64_t *capacity_bytes,
               uint64_t *free_bytes,
               struct err *err);
int real_list(struct world *w,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err);

/* world_uv_lock.c */
int real_lock(struct world *w,
              const char *path,
              struct file_lock **out,
              struct err *err);
void real_unlock(struct file_lock *l);
int real_lock_dir(struct world *w,
                  const char *path,
                  bool alone,
                  struct dir_lock **out,
                  struct err *err);
void real_unlock_dir(struct dir_lock *l);

/* world_uv_task.c */
struct task *
real_task_start(struct world *w, const char *name, task_fn fn, void *arg);
void real_task_join(struct task *t);

/* world_uv_pool.c */
struct offload_pool *offload_pool_new(struct world *w);
void offload_pool_free(struct offload_pool *p); /* PRE: no work in it. */
/* Run fn(arg) on a thread of the pool. Parks; for fibers. */
void offload_pool_run(struct offload_pool *p, void (*fn)(void *), void *arg);

/* world_uv_loop.c */
int real_loop_new(struct world *w,
                  const char *name,
                  struct loop **out,
                  struct err *err);

/* world_uv_stream.c: the entries `listen` and `connect`. */
int real_listen(struct loop *l,
                const char *address,
                struct stream_listener **out,
                struct err *err);
int real_connect(struct loop *l,
                 const char *address,
                 struct stream **out,
                 struct err *err);

#endif /* BASE_RUNTIME_WORLD_UV_H */
