/* Choosing cuts from a sample: each sixteenth of the sorted sample begins a
 * range. A key that fills a sixteenth alone comes up twice in a row: then the
 * second cut is just behind it.
 */
#include "bigtable/tablet/heat_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

/* Cuts inside of a tablet, in memory of heat_layout_new(). */
struct heat_cuts {
    char bytes[HEAT_RANGES_MAX][HEAT_KEY_BYTES_MAX];
    struct slice keys[HEAT_RANGES_MAX];
    size_t count;
};

struct slice heat_key(struct slice key)
{
    return slice_make(key.data, MIN_OF(key.len, (size_t)HEAT_KEY_BYTES_MAX));
}

static int compare_samples(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Is @key inside of the place, behind the cuts there are? */
static bool is_next_cut(const struct heat_cuts *c,
                        const struct heat_place *place,
                        struct slice key)
{
    struct slice last = c->count ? c->keys[c->count - 1] : place->start;
    return slice_cmp(last, key) < 0 &&
           (place->end.len == 0 || slice_cmp(key, place->end) < 0);
}

static void
add_cut(struct heat_cuts *c, const struct heat_place *place, struct slice key)
{
    char *to = c->bytes[c->count];
    PRE(c->count < HEAT_RANGES_MAX);
    PRE(key.len <= HEAT_KEY_BYTES_MAX);
    if (c->count == HEAT_RANGES_MAX - 1 || !is_next_cut(c, place, key))
        return;
    memcpy(to, key.data, key.len);
    c->keys[c->count++] = slice_make(to, key.len);
}

/* The first key behind @key; there is none to compare by that is longer. */
static void add_cut_behind(struct heat_cuts *c,
                           const struct heat_place *place,
                           struct slice key)
{
    char next[HEAT_KEY_BYTES_MAX] = "";
    PRE(key.len <= HEAT_KEY_BYTES_MAX);
    if (key.len == HEAT_KEY_BYTES_MAX)
        return;
    memcpy(next, key.data, key.len);
    add_cut(c, place, slice_make(next, key.len + 1));
}

static void choose_cuts(struct heat_cuts *c,
                        const struct heat_place *place,
                        struct slice *samples,
                        size_t count)
{
    size_t parts = MIN_OF(count, (size_t)HEAT_RANGES_MAX);
    struct slice before = SLICE_EMPTY;
    PRE(count > 0);
    qsort(samples, count, sizeof(*samples), compare_samples);
    for (size_t i = 0; i < parts; i++) {
        struct slice key = heat_key(samples[i * count / parts]);
        if (i > 0 && slice_eq(key, before))
            add_cut_behind(c, place, key);
        else
            add_cut(c, place, key);
        before = key;
    }
}

static bool has_cut(const struct heat_cuts *c, struct slice key)
{
    for (size_t i = 0; i < c->count; i++)
        if (slice_eq(c->keys[i], key))
            return true;
    return false;
}

/* Fill up with cuts of @before, from all over it. Their bytes stay there. */
static void keep_cuts(struct heat_cuts *c, const struct heat_layout *before)
{
    size_t room = HEAT_RANGES_MAX - 1 - c->count;
    size_t inner = before->count - 1;
    size_t kept = MIN_OF(room, inner);
    for (size_t i = 0; i < kept; i++) {
        struct slice key = before->bounds[1 + i * inner / kept];
        if (!has_cut(c, key))
            c->keys[c->count++] = key;
    }
    qsort(c->keys, c->count, sizeof(*c->keys), compare_samples);
    POST(c->count < HEAT_RANGES_MAX);
}

static struct slice put_bytes(char **at, struct slice s)
{
    struct slice out = slice_make(*at, s.len);
    if (s.len)
        memcpy(*at, s.data, s.len);
    *at += s.len;
    return out;
}

struct heat_layout *heat_layout_new(const struct heat_place *place,
                                    struct slice *samples,
                                    size_t count,
                                    const struct heat_layout *before)
{
    struct heat_cuts cuts;
    struct heat_layout *l;
    size_t bytes = place->start.len + place->end.len + strlen(place->table) + 1;
    char *at;
    cuts.count = 0;
    if (count)
        choose_cuts(&cuts, place, samples, count);
    if (before)
        keep_cuts(&cuts, before);
    for (size_t i = 0; i < cuts.count; i++)
        bytes += cuts.keys[i].len;
    l = mem_zalloc(1, sizeof(*l) + bytes);
    atomic_init(&l->references, 1);
    l->count = cuts.count + 1;
    at = l->bytes;
    l->bounds[0] = put_bytes(&at, place->start);
    for (size_t i = 0; i < cuts.count; i++)
        l->bounds[i + 1] = put_bytes(&at, cuts.keys[i]);
    l->bounds[l->count] = put_bytes(&at, place->end);
    l->table = at;
    memcpy(at, place->table, strlen(place->table) + 1);
    POST(l->count <= HEAT_RANGES_MAX);
    return l;
}

struct heat_layout *heat_layout_ref(struct heat_layout *l)
{
    unsigned before = atomic_fetch_add(&l->references, 1);
    PRE(before > 0);
    return l;
}

void heat_layout_unref(struct heat_layout *l)
{
    unsigned before = l ? atomic_fetch_sub(&l->references, 1) : 0;
    INVARIANT(!l || before > 0);
    if (before == 1)
        mem_free(l);
}

size_t heat_layout_bytes(const struct heat_layout *l)
{
    const char *end = l->table + strlen(l->table) + 1;
    return (size_t)(end - (const char *)l);
}

size_t heat_layout_find(const struct heat_layout *l, struct slice key)
{
    size_t low = 0, high = l->count;
    PRE(l->count >= 1);
    PRE(l->count <= HEAT_RANGES_MAX);
    while (high - low > 1) { /* bounds[low] <= key, or low is 0. */
        size_t middle = (low + high) / 2;
        if (slice_cmp(l->bounds[middle], key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}
