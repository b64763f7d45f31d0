/* Keeping sorted segments. */
#include "bigtable/tablet/segment_shelf.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/log_sort.h"
#include "bigtable/tablet/sorted_segment.h"

/* When there is no room, what was not asked for in so long makes some. */
#define IDLE_US UINT64_C(10000000)

struct item {
    struct item *next;
    char *path;                     /* DIR/NAME. Owned. */
    struct sorted_segment *segment; /* NULL: somebody is sorting it. */
    uint64_t used_ns;
};

struct segment_shelf {
    struct world *world;
    uint64_t bytes_max;
    struct mutex lock;
    struct cond changed;
    struct item *items;
    uint64_t bytes; /* Of the segments. */
};

struct segment_shelf *segment_shelf_new(struct world *w, uint64_t bytes_max)
{
    struct segment_shelf *s = mem_zalloc(1, sizeof(*s));
    s->world = w;
    s->bytes_max = bytes_max;
    mutex_init(&s->lock);
    cond_init(&s->changed);
    return s;
}

/* Take the item at @at away. */
static void drop(struct segment_shelf *s, struct item **at)
{
    struct item *i = *at;
    *at = i->next;
    if (i->segment)
        s->bytes -= sorted_segment_bytes(i->segment);
    sorted_segment_unref(i->segment);
    mem_free(i->path);
    mem_free(i);
}

void segment_shelf_free(struct segment_shelf *s)
{
    if (!s)
        return;
    while (s->items)
        drop(s, &s->items);
    cond_close(&s->changed);
    mutex_close(&s->lock);
    mem_free(s);
}

static struct item **find(struct segment_shelf *s, const char *path)
{
    struct item **at = &s->items;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static void expire(struct segment_shelf *s, uint64_t idle_us)
{
    uint64_t now_ns = world_mono_ns(s->world);
    struct item **at = &s->items;
    while (*at)
        if ((*at)->segment && now_ns - (*at)->used_ns > idle_us * 1000)
            drop(s, at);
        else
            at = &(*at)->next;
}

void segment_shelf_expire(struct segment_shelf *s, uint64_t idle_us)
{
    mutex_lock(&s->lock);
    expire(s, idle_us);
    mutex_unlock(&s->lock);
}

uint64_t segment_shelf_bytes(struct segment_shelf *s)
{
    uint64_t bytes;
    mutex_lock(&s->lock);
    bytes = s->bytes;
    mutex_unlock(&s->lock);
    return bytes;
}

/* What is here, referenced; or NULL, and the caller has to sort it: whoever
 * comes meanwhile waits for settle(). */
static struct sorted_segment *take_or_begin(struct segment_shelf *s,
                                            const char *path)
{
    struct sorted_segment *found = NULL;
    struct item *i;
    mutex_lock(&s->lock);
    while ((i = *find(s, path)) != NULL && !i->segment)
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
static bool settle(struct segment_shelf *s,
                   const char *path,
                   struct sorted_segment *segment)
{
    struct item **at;
    bool fits = false;
    mutex_lock(&s->lock);
    if (segment) {
        size_t bytes = sorted_segment_bytes(segment);
        if (s->bytes + bytes > s->bytes_max)
            expire(s, IDLE_US);
        fits = s->bytes + bytes <= s->bytes_max;
    }
    at = find(s, path);
    if (fits) {
        (*at)->segment = sorted_segment_ref(segment);
        (*at)->used_ns = world_mono_ns(s->world);
        s->bytes += sorted_segment_bytes(segment);
    } else if (!segment) {
        drop(s, at);
    }
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    return fits;
}

/* Sort it, onto the shelf or into its file. */
static int sort(struct segment_shelf *s,
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
    if (segment && settle(s, path, segment)) {
        *out = segment;
        return 0;
    }
    if (segment)
        rc = log_sorted_write(fs, dir, name, who, segment, err);
    sorted_segment_unref(segment);
    (void)settle(s, path, NULL);
    return rc;
}

int segment_shelf_get(struct segment_shelf *s,
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
        rc = sort(s, fs, dir, name, who, buf_cstr(&path), out, err);
    buf_close(&path);
    return rc;
}
