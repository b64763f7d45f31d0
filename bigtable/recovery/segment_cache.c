/* The cache of sorted segments. The first caller for a segment sorts it outside
 * of the lock; the others wait for the entry that it left.
 */
#include "bigtable/recovery/segment_cache.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/recovery/log_sort.h"
#include "bigtable/recovery/sorted_segment.h"

/* When there is no room, what was not asked for in so long makes some. */
#define IDLE_US UINT64_C(10000000)

struct item {
    struct item *next;
    char *path;                     /* DIR/NAME. Owned. */
    struct sorted_segment *segment; /* NULL: somebody is sorting it. */
    uint64_t used_ns;
};

struct segment_cache {
    struct world *world;
    uint64_t bytes_max;
    struct mutex lock;
    struct cond changed;
    struct item *items;
    uint64_t bytes; /* Of the segments. */
};

struct segment_cache *segment_cache_new(struct world *w, uint64_t bytes_max)
{
    struct segment_cache *s = mem_zalloc(1, sizeof(*s));
    s->world = w;
    s->bytes_max = bytes_max;
    mutex_init(&s->lock);
    cond_init(&s->changed);
    return s;
}

/* Take the item at @at away. */
static void segment_cache_drop(struct segment_cache *s, struct item **at)
{
    struct item *i = *at;
    *at = i->next;
    if (i->segment)
        s->bytes -= sorted_segment_bytes(i->segment);
    sorted_segment_unref(i->segment);
    mem_free(i->path);
    mem_free(i);
}

void segment_cache_free(struct segment_cache *s)
{
    if (!s)
        return;
    while (s->items)
        segment_cache_drop(s, &s->items);
    cond_close(&s->changed);
    mutex_close(&s->lock);
    mem_free(s);
}

static struct item **segment_cache_find(struct segment_cache *s,
                                        const char *path)
{
    struct item **at = &s->items;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static void segment_cache_drop_idle(struct segment_cache *s, uint64_t idle_us)
{
    uint64_t now_ns = world_mono_ns(s->world);
    struct item **at = &s->items;
    while (*at)
        if ((*at)->segment && now_ns - (*at)->used_ns > idle_us * 1000)
            segment_cache_drop(s, at);
        else
            at = &(*at)->next;
}

void segment_cache_expire(struct segment_cache *s, uint64_t idle_us)
{
    mutex_lock(&s->lock);
    segment_cache_drop_idle(s, idle_us);
    mutex_unlock(&s->lock);
}

uint64_t segment_cache_bytes(struct segment_cache *s)
{
    uint64_t bytes;
    mutex_lock(&s->lock);
    bytes = s->bytes;
    mutex_unlock(&s->lock);
    return bytes;
}

/* The segment, referenced; or NULL, and the caller must sort it: other callers
 * then wait for its segment_cache_settle(). */
static struct sorted_segment *take_or_begin(struct segment_cache *s,
                                            const char *path)
{
    struct sorted_segment *found = NULL;
    struct item *i;
    mutex_lock(&s->lock);
    while ((i = *segment_cache_find(s, path)) != NULL && !i->segment)
        cond_wait(&s->changed, &s->lock);
    if (i) {
        i->used_ns = world_mono_ns(s->world);
        found = sorted_segment_ref(i->segment);
    } else {
        i = mem_zalloc(1, sizeof(*i));
        i->path = mem_strdup(path);
        i->next = s->items;
        s->items = i;
    }
    mutex_unlock(&s->lock);
    return found;
}

/* Put @segment (NULL: nothing came of it) where take_or_begin() was told to
 * expect it. False: there is no room. */
static bool segment_cache_settle(struct segment_cache *s,
                                 const char *path,
                                 struct sorted_segment *segment)
{
    struct item **at;
    bool fits = false;
    mutex_lock(&s->lock);
    if (segment) {
        size_t bytes = sorted_segment_bytes(segment);
        if (s->bytes + bytes > s->bytes_max)
            segment_cache_drop_idle(s, IDLE_US);
        fits = s->bytes + bytes <= s->bytes_max;
    }
    at = segment_cache_find(s, path);
    if (fits) {
        (*at)->segment = sorted_segment_ref(segment);
        (*at)->used_ns = world_mono_ns(s->world);
        s->bytes += sorted_segment_bytes(segment);
    } else if (!segment) {
        segment_cache_drop(s, at);
    }
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    return fits;
}

/* Sort it, onto the cache or into its file. */
static int segment_cache_sort(struct segment_cache *s,
                              struct fs *fs,
                              const char *dir,
                              const char *name,
                              uint64_t who,
                              const char *path,
                              struct sorted_segment **out,
                              struct err *err)
{
    struct sorted_segment *segment = NULL;
    int rc = 0;
    if (!log_sorted_exists(fs, dir, name))
        rc = sorted_segment_read(fs, dir, name, &segment, err);
    if (segment && segment_cache_settle(s, path, segment)) {
        *out = segment;
        return 0;
    }
    if (segment)
        rc = log_sorted_write(fs, dir, name, who, segment, err);
    sorted_segment_unref(segment);
    (void)segment_cache_settle(s, path, NULL);
    return rc;
}

int segment_cache_get(struct segment_cache *s,
                      struct fs *fs,
                      const char *dir,
                      const char *name,
                      uint64_t who,
                      struct sorted_segment **out,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = 0;
    buf_printf(&path, "%s/%s", dir, name);
    *out = take_or_begin(s, buf_cstr(&path));
    if (!*out)
        rc = segment_cache_sort(s, fs, dir, name, who, buf_cstr(&path), out,
                                err);
    buf_close(&path);
    return rc;
}
