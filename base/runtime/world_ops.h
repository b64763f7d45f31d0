/* The operations that an implementation of the world provides.
 *
 * Private to base/runtime and to worlds that tests build. Each implementation
 * embeds the base structs below as its first member. The meaning of each entry
 * is that of the function of the same name in world.h, loop.h or stream.h.
 */
#ifndef BASE_RUNTIME_WORLD_OPS_H
#define BASE_RUNTIME_WORLD_OPS_H

#include "base/runtime/world.h"

struct logger;
struct loop;
struct stream;
struct stream_listener;
struct tracer;

struct world_ops {
    void (*free)(struct world *w);

    uint64_t (*now_us)(struct world *w);
    uint64_t (*mono_ns)(struct world *w);
    uint64_t (*random)(struct world *w);
    void (*random_bytes)(struct world *w, void *dst, size_t len);
    unsigned (*cpu_count)(struct world *w);
    void (*sleep_us)(struct world *w, uint64_t us);
    /* NULL: unknown. */
    void (*memory)(struct world *w, struct world_memory *out);
    /* Where log lines go without a logger; NULL: nowhere. */
    void (*log_line)(struct world *w, const char *line);

    int (*file_open)(struct world *w,
                     const char *path,
                     unsigned flags,
                     struct file **out,
                     struct err *err);
    int (*file_read_at)(struct file *f,
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err);
    /* NULL: unknown. */
    bool (*file_is_cached)(struct file *f, uint64_t offset, uint64_t len);
    /* NULL: unknown, 0. */
    uint64_t (*file_cached_bytes)(struct file *f,
                                  uint64_t offset,
                                  uint64_t len);
    int (*file_write_at)(struct file *f,
                         uint64_t offset,
                         const struct slice *parts,
                         size_t part_count,
                         struct err *err);
    int (*file_sync)(struct file *f, struct err *err);
    /* NULL: the two above, one after the other. */
    int (*file_write_synced)(struct file *f,
                             uint64_t offset,
                             const struct slice *parts,
                             size_t part_count,
                             struct err *err);
    int (*file_size)(struct file *f, uint64_t *bytes, struct err *err);
    int (*file_truncate)(struct file *f, uint64_t bytes, struct err *err);
    void (*file_allocate)(struct file *f, uint64_t bytes);
    /* NULL: nothing is done. */
    void (*file_write_back)(struct file *f, uint64_t offset, uint64_t len);
    void (*file_advise)(struct file *f,
                        uint64_t offset,
                        uint64_t len,
                        enum file_advice advice);
    void (*file_close)(struct file *f);

    int (*rename)(struct world *w,
                  const char *from,
                  const char *to,
                  struct err *err);
    int (*remove)(struct world *w, const char *path, struct err *err);
    int (*mkdir)(struct world *w, const char *path, struct err *err);
    /* NULL: there is one user. */
    int (*mkdir_private)(struct world *w, const char *path, struct err *err);
    /* NULL, where there are no other users: mkdir, and nothing. */
    int (*mkdir_shared)(struct world *w, const char *path, struct err *err);
    int (*make_private)(struct world *w, const char *path, struct err *err);
    int (*rmdir)(struct world *w, const char *path, struct err *err);
    int (*stat)(struct world *w,
                const char *path,
                struct file_info *info,
                struct err *err);
    int (*sync_dir)(struct world *w, const char *path, struct err *err);
    int (*space)(struct world *w,
                 const char *path,
                 uint64_t *capacity_bytes,
                 uint64_t *free_bytes,
                 struct err *err);
    /* Unsorted; world.c sorts. */
    int (*list)(struct world *w,
                const char *path,
                char ***names,
                size_t *count,
                struct err *err);
    int (*lock)(struct world *w,
                const char *path,
                struct file_lock **out,
                struct err *err);
    void (*unlock)(struct file_lock *l);
    int (*lock_dir)(struct world *w, /* NULL: directories have no locks. */
                    const char *path,
                    bool alone,
                    struct dir_lock **out,
                    struct err *err);
    void (*unlock_dir)(struct dir_lock *l);

    struct task *(*task_start)(struct world *w,
                               const char *name,
                               task_fn fn,
                               void *arg);
    void (*task_join)(struct task *t);

    int (*loop_new)(struct world *w,
                    const char *name,
                    struct loop **out,
                    struct err *err);
    /* @l is the running fiber's. */
    int (*listen)(struct loop *l,
                  const char *address,
                  struct stream_listener **out,
                  struct err *err);
    int (*connect)(struct loop *l,
                   const char *address,
                   struct stream **out,
                   struct err *err);
};

struct world {
    const struct world_ops *ops;
    struct logger *logger; /* Borrowed; NULL: none. See log.h. */
    struct audit *audit;   /* Borrowed; NULL: none. See audit.h. */
    struct tracer *tracer; /* Borrowed; NULL: none. See base/trace/tracer.h. */
    /* See world_mount.h. Borrowed; NULL: no names are another world's. */
    struct world *mounted;
    bool (*is_mounted)(const char *path);
};

struct file {
    struct world *world;
};

struct file_lock {
    struct world *world;
};

struct dir_lock {
    struct world *world;
};

struct task {
    struct world *world;
};

/* Names for world_list(), grown one by one. */
struct name_list {
    char **names; /* Owned, each one too. */
    size_t count;
    size_t cap;
};

/* Add a copy of @name. */
void name_list_add(struct name_list *l, const char *name);

#endif /* BASE_RUNTIME_WORLD_OPS_H */
