/* The proxy server's readers: each is used again for a second after its open,
 * because the attempts of a job read the same files one after the other, and an
 * open costs a call to the namenode. It is closed when it is replaced by a
 * newer one or pushed out by others.
 */
#include "gfs-lite/fs_proxy_server.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/fs_proxy.h"

/* A reader is used again for this long after its open, and at most this many
 * are kept. */
#define KEEP_NS  UINT64_C(1000000000)
#define KEEP_MAX 64

struct fs_proxy_server {
    struct fs *fs;
    struct mutex lock;
    LIST_HEAD(, kept_reader) readers; /* Newest first. */
    unsigned count;
};

struct fs *fs_proxy_server_fs(const struct fs_proxy_server *l)
{
    return l->fs;
}

/* --- readers ------------------------------------------------------------- */

/* Unlist @k, and return it if it has no users, to be closed without the lock.
 * PRE: the lock is held. */
static struct kept_reader *fs_proxy_unlist(struct fs_proxy_server *l,
                                           struct kept_reader *k)
{
    LIST_REMOVE(k, link);
    l->count--;
    k->listed = false;
    return k->users == 0 ? k : NULL;
}

static void close_reader(struct kept_reader *k)
{
    if (!k)
        return;
    fs_reader_close(k->reader);
    mem_free(k->path);
    mem_free(k);
}

/* A reader that was opened recently; an older one is closed. */
static struct kept_reader *find_reader(struct fs_proxy_server *l,
                                       const char *path,
                                       struct kept_reader **old)
{
    uint64_t now = world_mono_ns(fs_world(l->fs));
    struct kept_reader *k;
    LIST_FOREACH(k, &l->readers, link)
        if (strcmp(k->path, path) == 0)
            break;
    if (k && now - k->opened_ns > KEEP_NS) {
        *old = fs_proxy_unlist(l, k);
        k = NULL;
    }
    if (k)
        k->users++;
    return k;
}

static struct kept_reader *last_reader(struct fs_proxy_server *l)
{
    struct kept_reader *k;
    struct kept_reader *last = NULL;
    LIST_FOREACH(k, &l->readers, link)
        last = k;
    return last;
}

static int open_reader(struct fs_proxy_server *l,
                       const char *path,
                       struct kept_reader **out,
                       struct err *err)
{
    struct kept_reader *old = NULL;
    struct kept_reader *k = mem_zalloc(1, sizeof(*k));
    int rc = fs_open(l->fs, path, &k->reader, err);
    if (rc) {
        mem_free(k);
        return rc;
    }
    k->path = mem_strdup(path);
    k->opened_ns = world_mono_ns(fs_world(l->fs));
    k->users = 1;
    k->listed = true;
    mutex_lock(&l->lock);
    LIST_INSERT_HEAD(&l->readers, k, link);
    if (++l->count > KEEP_MAX)
        old = fs_proxy_unlist(l, last_reader(l));
    mutex_unlock(&l->lock);
    close_reader(old);
    *out = k;
    return 0;
}

int fs_proxy_server_acquire(struct fs_proxy_server *l,
                            const char *path,
                            struct kept_reader **out,
                            struct err *err)
{
    struct kept_reader *old = NULL;
    mutex_lock(&l->lock);
    *out = find_reader(l, path, &old);
    mutex_unlock(&l->lock);
    close_reader(old);
    return *out ? 0 : open_reader(l, path, out, err);
}

void fs_proxy_server_release(struct fs_proxy_server *l,
                             struct kept_reader *k,
                             bool failed)
{
    struct kept_reader *unused = NULL;
    mutex_lock(&l->lock);
    k->users--;
    if (k->listed && failed)
        unused = fs_proxy_unlist(l, k);
    else if (!k->listed && k->users == 0)
        unused = k;
    mutex_unlock(&l->lock);
    close_reader(unused);
}

struct fs_proxy_server *fs_proxy_server_new(struct fs *fs)
{
    struct fs_proxy_server *l = mem_zalloc(1, sizeof(*l));
    l->fs = fs;
    mutex_init(&l->lock);
    LIST_INIT(&l->readers);
    return l;
}

void fs_proxy_server_free(struct fs_proxy_server *l)
{
    struct kept_reader *k;
    if (!l)
        return;
    while ((k = LIST_FIRST(&l->readers)) != NULL) {
        PRE(k->users == 0);
        close_reader(fs_proxy_unlist(l, k));
    }
    mutex_close(&l->lock);
    mem_free(l);
}
