/* Locks by RADOS's own, which end by themselves: the holder renews its lock,
 * and when it could not for as long as the lock lasts, its file system writes
 * nothing any more, because another may have it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/rados/rados_fs.h"

#define LOCK_SECONDS 30
#define RENEW_US     UINT64_C(8000000)
/* Before the lock ends, by the server's clock, which may be a bit faster. */
#define LOST_US UINT64_C(27000000)

struct rados_lock {
    struct fs_lock base;
    char *map;  /* The object that has it; owned. */
    char *name; /* Owned. */
    char cookie[40];
    struct task *renewing;
    struct mutex mutex; /* Of `ending`. */
    struct cond changed;
    bool ending;
};

static uint64_t boot_us(struct rados_lock *l)
{
    return world_mono_ns(l->base.fs->world) / 1000;
}

/* PRE: the mutex is held. */
static void renew_until_ended(struct rados_lock *l)
{
    struct rados_fs *fs = (struct rados_fs *)l->base.fs;
    uint64_t renewed = boot_us(l);
    while (!l->ending) {
        uint64_t begin;
        int rc;
        (void)cond_wait_us(&l->changed, &l->mutex, fs->base.world, RENEW_US);
        if (l->ending)
            break;
        begin = boot_us(l);
        mutex_unlock(&l->mutex);
        rc = rados_take_lock(fs->client, l->map, l->name, l->cookie,
                             LOCK_SECONDS, NULL);
        mutex_lock(&l->mutex);
        if (rc == 0 && boot_us(l) < renewed + LOST_US)
            renewed = begin;
        else if (rc == ERR_BUSY || rc == ERR_NOTFOUND ||
                 boot_us(l) >= renewed + LOST_US)
            atomic_store(&fs->lock_lost, true);
    }
}

static void renew_lock(void *arg)
{
    struct rados_lock *l = arg;
    mutex_lock(&l->mutex);
    renew_until_ended(l);
    mutex_unlock(&l->mutex);
}

static void free_lock(struct rados_lock *l)
{
    cond_close(&l->changed);
    mutex_close(&l->mutex);
    mem_free(l->map);
    mem_free(l->name);
    mem_free(l);
}

int rados_fs_lock(struct fs *fs,
                  const char *path,
                  struct fs_lock **out,
                  struct err *err)
{
    struct rados_client *c = rados_fs_client(fs);
    struct rados_lock *l;
    const char *slash = strrchr(path, '/');
    char *parent = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    char *key;
    int rc = rados_fs_check(fs, path, err);
    *out = NULL;
    if (rc == 0 && slash)
        rc = rados_names_mkdirs(fs, parent, err);
    mem_free(parent);
    if (rc)
        return rc;
    l = mem_zalloc(1, sizeof(*l));
    l->base.fs = fs;
    mutex_init(&l->mutex);
    cond_init(&l->changed);
    rados_names_key(path, &l->map, &key);
    mem_free(key);
    l->name = mem_strdup(path);
    snprintf(l->cookie, sizeof(l->cookie), "%016" PRIx64 "%016" PRIx64,
             world_random(fs->world), world_random(fs->world));
    rc = rados_take_lock(c, l->map, l->name, l->cookie, LOCK_SECONDS, err);
    if (rc) {
        free_lock(l);
        return rc;
    }
    l->renewing = task_start(fs->world, "rados lock", renew_lock, l);
    *out = &l->base;
    return 0;
}

void rados_fs_unlock(struct fs_lock *base)
{
    struct rados_lock *l = (struct rados_lock *)base;
    if (!l)
        return;
    mutex_lock(&l->mutex);
    l->ending = true;
    cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
    task_join(l->renewing);
    (void)!rados_drop_lock(rados_fs_client(base->fs), l->map, l->name,
                           l->cookie, NULL);
    free_lock(l);
}
