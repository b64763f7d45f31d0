/* The calls of world.h: checks the rules that hold for every implementation
 * and calls the one that @w is. Operations that are compositions of others
 * (making parents, syncing names) are here, so that the simulator runs the
 * same code. */
#include "base/runtime/world.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world_mount.h"
#include "base/runtime/world_ops.h"

/* Mode bits that a secret must not have, and those of one that belongs to root.
 */
#define SECRET_OTHERS       077u
#define ROOTS_SECRET_OTHERS 037u

void world_free(struct world *w)
{
    if (w)
        w->ops->free(w);
}

/* --- time and chance ----------------------------------------------------- */

uint64_t world_now_us(struct world *w)
{
    return w->ops->now_us(w);
}

uint64_t world_mono_ns(struct world *w)
{
    return w->ops->mono_ns(w);
}

uint64_t world_random(struct world *w)
{
    return w->ops->random(w);
}

void world_random_bytes(struct world *w, void *dst, size_t len)
{
    w->ops->random_bytes(w, dst, len);
}

unsigned world_cpu_count(struct world *w)
{
    return w->ops->cpu_count(w);
}

void world_sleep_us(struct world *w, uint64_t us)
{
    w->ops->sleep_us(w, us);
}

uint64_t world_to_tick_us(struct world *w, uint64_t period_us)
{
    PRE(period_us > 0);
    return period_us - world_mono_ns(w) / 1000 % period_us;
}

void world_sleep_to_tick(struct world *w, uint64_t period_us)
{
    world_sleep_us(w, world_to_tick_us(w, period_us));
}

void world_memory(struct world *w, struct world_memory *out)
{
    *out = (struct world_memory){.total_bytes = 0};
    if (w->ops->memory)
        w->ops->memory(w, out);
}

/* --- files --------------------------------------------------------------- */

void world_mount(struct world *w,
                 struct world *files,
                 bool (*has)(const char *path))
{
    PRE(!files || has);
    w->mounted = files;
    w->is_mounted = has;
}

void world_mount_as(struct world *w, const struct world *other)
{
    world_mount(w, other->mounted, other->is_mounted);
}

bool world_is_mounted(const struct world *w, const char *path)
{
    return w->mounted && w->is_mounted(path);
}

/* The world that has the file @path of @w. */
static struct world *world_of_name(struct world *w, const char *path)
{
    return world_is_mounted(w, path) ? w->mounted : w;
}

int file_open(struct world *w,
              const char *path,
              unsigned flags,
              struct file **out,
              struct err *err)
{
    w = world_of_name(w, path);
    PRE(flags & (FILE_READ | FILE_WRITE));
    PRE((flags & FILE_WRITE) || !(flags & (FILE_CREATE | FILE_TRUNCATE)));
    *out = NULL;
    return w->ops->file_open(w, path, flags, out, err);
}

int file_read_at(struct file *f,
                 uint64_t offset,
                 void *dst,
                 size_t len,
                 size_t *got,
                 struct err *err)
{
    PRE(offset <= INT64_MAX);
    *got = 0;
    return f->world->ops->file_read_at(f, offset, dst, len, got, err);
}

bool file_is_cached(struct file *f, uint64_t offset, uint64_t len)
{
    const struct world_ops *ops = f->world->ops;
    PRE(offset <= INT64_MAX);
    return !ops->file_is_cached || ops->file_is_cached(f, offset, len);
}

uint64_t file_cached_bytes(struct file *f, uint64_t offset, uint64_t len)
{
    const struct world_ops *ops = f->world->ops;
    uint64_t bytes;
    PRE(offset <= INT64_MAX);
    bytes = ops->file_cached_bytes ? ops->file_cached_bytes(f, offset, len) : 0;
    POST(bytes <= len);
    return bytes;
}

int file_write_at(struct file *f,
                  uint64_t offset,
                  const struct slice *parts,
                  size_t part_count,
                  struct err *err)
{
    PRE(offset <= INT64_MAX);
    return f->world->ops->file_write_at(f, offset, parts, part_count, err);
}

int file_sync(struct file *f, struct err *err)
{
    return f->world->ops->file_sync(f, err);
}

int file_write_synced(struct file *f,
                      uint64_t offset,
                      const struct slice *parts,
                      size_t part_count,
                      struct err *err)
{
    const struct world_ops *ops = f->world->ops;
    int rc;
    PRE(offset <= INT64_MAX);
    if (ops->file_write_synced)
        return ops->file_write_synced(f, offset, parts, part_count, err);
    rc = ops->file_write_at(f, offset, parts, part_count, err);
    return rc ? rc : ops->file_sync(f, err);
}

int file_size(struct file *f, uint64_t *bytes, struct err *err)
{
    *bytes = 0;
    return f->world->ops->file_size(f, bytes, err);
}

int file_truncate(struct file *f, uint64_t bytes, struct err *err)
{
    PRE(bytes <= INT64_MAX);
    return f->world->ops->file_truncate(f, bytes, err);
}

void file_allocate(struct file *f, uint64_t bytes)
{
    f->world->ops->file_allocate(f, bytes);
}

void file_write_back(struct file *f, uint64_t offset, uint64_t len)
{
    const struct world_ops *ops = f->world->ops;
    PRE(offset <= INT64_MAX && len <= INT64_MAX - offset);
    if (ops->file_write_back)
        ops->file_write_back(f, offset, len);
}

void file_advise(struct file *f,
                 uint64_t offset,
                 uint64_t len,
                 enum file_advice advice)
{
    f->world->ops->file_advise(f, offset, len, advice);
}

void file_close(struct file *f)
{
    if (f)
        f->world->ops->file_close(f);
}

/* --- names --------------------------------------------------------------- */

int world_rename(struct world *w,
                 const char *from,
                 const char *to,
                 struct err *err)
{
    struct world *m = world_of_name(w, from);
    if (m != world_of_name(w, to))
        return err_set(err, ERR_UNSUPPORTED,
                       "%s cannot become %s: they are of different systems",
                       from, to);
    return m->ops->rename(m, from, to, err);
}

int world_remove(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->remove(w, path, err);
}

int world_mkdir(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->mkdir(w, path, err);
}

int world_mkdir_private(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->mkdir_private ? w->ops->mkdir_private(w, path, err)
                                 : w->ops->mkdir(w, path, err);
}

int world_mkdir_shared(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->mkdir_shared ? w->ops->mkdir_shared(w, path, err)
                                : w->ops->mkdir(w, path, err);
}

int world_make_private(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->make_private ? w->ops->make_private(w, path, err) : 0;
}

int world_rmdir(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->rmdir(w, path, err);
}

int world_stat(struct world *w,
               const char *path,
               struct file_info *info,
               struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->stat(w, path, info, err);
}

int world_check_secret(struct world *w, const char *path, struct err *err)
{
    struct file_info info;
    int rc = world_stat(w, path, &info, err);
    if (rc)
        return rc;
    if (info.mode & (info.is_roots ? ROOTS_SECRET_OTHERS : SECRET_OTHERS)) {
        err_set(err, ERR_DENIED, "%s: others may read or write this secret",
                path);
        err_hint(err, "chmod 600 %s", path);
        return ERR_DENIED;
    }
    return 0;
}

int world_sync_dir(struct world *w, const char *path, struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->sync_dir(w, path, err);
}

/* Most directories that are made at once: the recursion's bound. */
#define MAKE_DIRS_MAX 32

char *world_directory_of(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len == 0)
        return mem_strdup(".");
    return mem_strndup(path, len > 1 ? len - 1 : 1);
}

/* A directory that cannot be read exists: somebody else made it. */
static int
sync_name(struct world *w, const char *path, bool made, struct err *err)
{
    char *above = world_directory_of(path);
    int rc = world_sync_dir(w, above, err);
    mem_free(above);
    return rc == ERR_DENIED && !made ? 0 : rc;
}

int world_make_dir(struct world *w, const char *path, struct err *err)
{
    struct file_info info;
    int rc;
    if (world_is_mounted(w, path))
        return world_mkdir(w, path, err);
    rc = world_stat(w, path, &info, NULL);
    if (rc == 0 && info.kind != FILE_KIND_DIRECTORY)
        return err_set(err, ERR_INVALID, "%s is not a directory", path);
    if (rc == 0)
        return sync_name(w, path, false, err);
    rc = world_mkdir(w, path, err);
    if (rc && rc != ERR_EXISTS) /* Another process was faster. */
        return rc;
    return sync_name(w, path, true, err);
}

static int
make_dirs(struct world *w, const char *path, int depth, struct err *err)
{
    struct file_info info;
    int rc = 0;
    if (!world_is_mounted(w, path) && world_stat(w, path, &info, NULL) != 0) {
        char *above = world_directory_of(path);
        if (depth == MAKE_DIRS_MAX)
            rc = err_set(err, ERR_TOOBIG, "%s: directories too deep", path);
        else if (strcmp(above, path) != 0)
            rc = make_dirs(w, above, depth + 1, err);
        mem_free(above);
    }
    return rc ? rc : world_make_dir(w, path, err);
}

int world_make_dirs(struct world *w, const char *path, struct err *err)
{
    return make_dirs(w, path, 0, err);
}

int world_space(struct world *w,
                const char *path,
                uint64_t *capacity_bytes,
                uint64_t *free_bytes,
                struct err *err)
{
    w = world_of_name(w, path);
    return w->ops->space(w, path, capacity_bytes, free_bytes, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int world_list(struct world *w,
               const char *path,
               char ***names,
               size_t *count,
               struct err *err)
{
    int rc;
    w = world_of_name(w, path);
    *names = NULL;
    *count = 0;
    rc = w->ops->list(w, path, names, count, err);
    if (rc == 0 && *count)
        qsort(*names, *count, sizeof(**names), compare_names);
    return rc;
}

void world_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(names[i]);
    mem_free(names);
}

void name_list_add(struct name_list *l, const char *name)
{
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->names = mem_realloc(l->names, l->cap * sizeof(*l->names));
    }
    l->names[l->count++] = mem_strdup(name);
}

int file_lock(struct world *w,
              const char *path,
              struct file_lock **out,
              struct err *err)
{
    w = world_of_name(w, path);
    *out = NULL;
    return w->ops->lock(w, path, out, err);
}

void file_unlock(struct file_lock *l)
{
    if (l)
        l->world->ops->unlock(l);
}

int dir_lock(struct world *w,
             const char *path,
             bool alone,
             struct dir_lock **out,
             struct err *err)
{
    w = world_of_name(w, path);
    *out = NULL;
    return w->ops->lock_dir ? w->ops->lock_dir(w, path, alone, out, err) : 0;
}

void dir_unlock(struct dir_lock *l)
{
    if (l)
        l->world->ops->unlock_dir(l);
}

/* --- tasks --------------------------------------------------------------- */

struct task *
task_start(struct world *w, const char *name, task_fn fn, void *arg)
{
    return w->ops->task_start(w, name, fn, arg);
}

void task_join(struct task *t)
{
    t->world->ops->task_join(t);
}
