/* Names and locks of the simulated world. A lock belongs to the power-up in
 * which it was taken, as a record lock ends with its process. */
#include <errno.h>

#include "base/core/panic.h"
#include "base/sim/world_sim.h"

/* --- names --------------------------------------------------------------- */

static int world_sim_names_outcome(int errnum,
                                   const char *what,
                                   const char *path,
                                   struct err *err)
{
    return errnum ? err_set_errno(err, errnum, "%s %s", what, path) : 0;
}

int sim__rename(struct world *base,
                const char *from,
                const char *to,
                struct err *err)
{
    struct sim_world *w = sim_world(base);
    int rc = sim__begin(w, SIM_NAME, "rename", from, err);
    return rc ? rc
              : world_sim_names_outcome(sim_rename(&w->disk, from, to),
                                        "rename", from, err);
}

int sim__remove(struct world *base, const char *path, struct err *err)
{
    struct sim_world *w = sim_world(base);
    int rc = sim__begin(w, SIM_NAME, "remove", path, err);
    return rc ? rc
              : world_sim_names_outcome(sim_remove(&w->disk, path, false),
                                        "remove", path, err);
}

int sim__mkdir(struct world *base, const char *path, struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct sim_node *n;
    int rc = sim__begin(w, SIM_NAME, "make directory", path, err);
    if (rc)
        return rc;
    return world_sim_names_outcome(
        sim_create(&w->disk, path, true, world_now_us(base), &n),
        "make directory", path, err);
}

int sim__rmdir(struct world *base, const char *path, struct err *err)
{
    struct sim_world *w = sim_world(base);
    int rc = sim__begin(w, SIM_NAME, "remove directory", path, err);
    return rc ? rc
              : world_sim_names_outcome(sim_remove(&w->disk, path, true),
                                        "remove directory", path, err);
}

int sim__stat(struct world *base,
              const char *path,
              struct file_info *info,
              struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct sim_node *n;
    int errnum;
    int rc = sim__begin(w, SIM_READ, "stat", path, err);
    if (rc)
        return rc;
    n = sim_find(&w->disk, path, &errnum);
    if (!n)
        return err_set_errno(err, errnum, "%s", path);
    info->kind = n->is_dir ? FILE_KIND_DIRECTORY : FILE_KIND_REGULAR;
    info->size_bytes = n->data.len;
    info->modified_us = n->modified_us;
    info->mode = 0600;
    info->is_roots = false;
    return 0;
}

/* The directory @path, or an errno value. */
static int
find_dir(struct sim_world *w, const char *path, struct sim_node **out)
{
    int errnum;
    *out = sim_find(&w->disk, path, &errnum);
    if (!*out)
        return errnum;
    return (*out)->is_dir ? 0 : ENOTDIR;
}

int sim__sync_dir(struct world *base, const char *path, struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct sim_node *dir;
    int errnum;
    int rc = sim__begin(w, SIM_SYNC, "sync directory", path, err);
    if (rc)
        return rc;
    errnum = find_dir(w, path, &dir);
    if (errnum == 0)
        sim_sync_names(&w->disk, dir);
    return world_sim_names_outcome(errnum, "sync directory", path, err);
}

/* Reported size of an endless disk. */
#define ENDLESS_BYTES (UINT64_C(1) << 40)

int sim__space(struct world *base,
               const char *path,
               uint64_t *capacity_bytes,
               uint64_t *free_bytes,
               struct err *err)
{
    struct sim_world *w = sim_world(base);
    uint64_t used = w->disk.used_bytes;
    int rc = sim__begin(w, SIM_READ, "space", path, err);
    if (rc)
        return rc;
    *capacity_bytes = w->disk.bytes_max ? w->disk.bytes_max : ENDLESS_BYTES;
    *free_bytes = *capacity_bytes - MIN_OF(used, *capacity_bytes);
    return 0;
}

int sim__list(struct world *base,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct name_list list = {NULL, 0, 0};
    struct sim_node *dir;
    int errnum;
    int rc = sim__begin(w, SIM_READ, "list", path, err);
    if (rc)
        return rc;
    errnum = find_dir(w, path, &dir);
    if (errnum)
        return world_sim_names_outcome(errnum, "list", path, err);
    for (size_t i = 0; i < dir->entries.count; i++)
        name_list_add(&list, dir->entries.items[i].name);
    *names = list.names;
    *count = list.count;
    return 0;
}

/* --- locks --------------------------------------------------------------- */

struct sim_lock {
    struct file_lock base;
    struct sim_lock *next; /* In the world's list. */
    struct sim_node *node; /* Referenced. */
    uint64_t life;         /* The power-up it was taken in. */
};

static bool is_locked(const struct sim_world *w, const struct sim_node *n)
{
    for (const struct sim_lock *l = w->locks; l; l = l->next)
        if (l->node == n && l->life == w->life)
            return true;
    return false;
}

int sim__lock(struct world *base,
              const char *path,
              struct file_lock **out,
              struct err *err)
{
    struct sim_world *w = sim_world(base);
    struct sim_lock *l;
    struct sim_node *n;
    int errnum;
    int rc = sim__begin(w, SIM_NAME, "lock", path, err);
    if (rc)
        return rc;
    n = sim_find(&w->disk, path, &errnum);
    if (!n)
        errnum = sim_create(&w->disk, path, false, world_now_us(base), &n);
    if (errnum)
        return world_sim_names_outcome(errnum, "lock", path, err);
    if (is_locked(w, n))
        return err_set(err, ERR_BUSY, "%s: in use by process 1", path);
    l = mem_zalloc(1, sizeof(*l));
    l->base.world = base;
    l->node = sim_node_ref(n);
    l->life = w->life;
    l->next = w->locks;
    w->locks = l;
    *out = &l->base;
    return 0;
}

void sim__unlock(struct file_lock *base)
{
    struct sim_lock *l = (struct sim_lock *)base;
    struct sim_world *w = sim_world(base->world);
    struct sim_lock **at = &w->locks;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    sim_node_unref(&w->disk, l->node);
    mem_free(l);
}
