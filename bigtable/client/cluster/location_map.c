/* Locations of tablets: an array sorted by table and end, searched by halving.
 * When it is full, a clock hand removes the first location that was not used
 * since the hand passed it last.
 */
#include "bigtable/client/cluster/location_map.h"

#include <string.h>

#include "base/core/panic.h"

/* --- locations ----------------------------------------------------------- */

static struct slice location_map_put_slice(char **p, struct slice s)
{
    struct slice copy = slice_make(*p, s.len);
    if (s.len)
        memcpy(*p, s.data, s.len);
    *p += s.len;
    return copy;
}

struct location *location_new(const struct location *l)
{
    size_t bytes = l->start.len + l->end.len + l->address.len;
    struct location *copy = mem_alloc(sizeof(*copy) + bytes + 1);
    char *p = (char *)(copy + 1);
    *copy = *l;
    copy->references = 1;
    copy->used = false;
    copy->start = location_map_put_slice(&p, l->start);
    copy->end = location_map_put_slice(&p, l->end);
    copy->address = location_map_put_slice(&p, l->address);
    return copy;
}

struct location *location_ref(struct location *l)
{
    PRE(l->references > 0);
    l->references++;
    return l;
}

void location_unref(struct location *l)
{
    if (!l)
        return;
    PRE(l->references > 0);
    if (--l->references == 0)
        mem_free(l);
}

bool location_holds(const struct location *l, struct slice row)
{
    return slice_cmp(l->start, row) <= 0 &&
           (l->end.len == 0 || slice_cmp(row, l->end) < 0);
}

/* --- the map ------------------------------------------------------------- */

void location_map_init(struct location_map *m, size_t max)
{
    PRE(max > 0);
    *m = (struct location_map){.max = max};
}

void location_map_close(struct location_map *m)
{
    for (size_t i = 0; i < m->count; i++)
        location_unref(m->items[i]);
    mem_free(m->items);
    *m = (struct location_map){.items = NULL};
}

/* Does @l end behind @row of @table, or in a later table? */
static bool
ends_behind(const struct location *l, uint64_t table, struct slice row)
{
    if (l->table != table)
        return l->table > table;
    return l->end.len == 0 || slice_cmp(l->end, row) > 0;
}

/* The first that ends behind @row of @table. */
static size_t location_map_search(const struct location_map *m,
                                  uint64_t table,
                                  struct slice row)
{
    size_t low = 0;
    size_t high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends_behind(m->items[middle], table, row))
            high = middle;
        else
            low = middle + 1;
    }
    POST(low <= m->count);
    return low;
}

struct location *
location_map_find(struct location_map *m, uint64_t table, struct slice row)
{
    size_t i = location_map_search(m, table, row);
    struct location *l = i < m->count ? m->items[i] : NULL;
    if (!l || l->table != table || !location_holds(l, row))
        return NULL;
    l->used = true;
    return l;
}

/* Take out [@begin, @end). */
static void location_map_cut(struct location_map *m, size_t begin, size_t end)
{
    PRE(begin <= end && end <= m->count);
    if (begin == end)
        return;
    for (size_t i = begin; i < end; i++)
        location_unref(m->items[i]);
    memmove(m->items + begin, m->items + end,
            (m->count - end) * sizeof(struct location *));
    m->count -= end - begin;
}

/* Make room for one more. */
static void make_room(struct location_map *m)
{
    while (m->count >= m->max) {
        m->hand = m->hand < m->count ? m->hand : 0;
        if (m->items[m->hand]->used)
            m->items[m->hand++]->used = false;
        else
            location_map_cut(m, m->hand, m->hand + 1);
    }
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 64;
        m->items = mem_realloc(m->items, m->cap * sizeof(struct location *));
    }
    POST(m->count < m->cap);
}

bool location_map_put(struct location_map *m, struct location *l)
{
    size_t begin = location_map_search(m, l->table, l->start);
    size_t end = begin;
    for (; end < m->count && m->items[end]->table == l->table; end++) {
        const struct location *old = m->items[end];
        if (l->end.len && slice_cmp(old->start, l->end) >= 0)
            break;
        if (old->tablet == l->tablet && old->epoch > l->epoch)
            return false;
    }
    location_map_cut(m, begin, end);
    make_room(m);
    begin = location_map_search(m, l->table, l->start);
    memmove(m->items + begin + 1, m->items + begin,
            (m->count - begin) * sizeof(struct location *));
    m->items[begin] = location_ref(l);
    m->count++;
    INVARIANT(m->count <= m->cap && m->count <= m->max); /* INV-1. */
    INVARIANT(begin == 0 ||                              /* INV-2. */
              !ends_behind(m->items[begin - 1], l->table, l->start));
    return true;
}

void location_map_forget(struct location_map *m, const struct location *l)
{
    size_t i = location_map_search(m, l->table, l->start);
    if (i < m->count && m->items[i]->table == l->table &&
        m->items[i]->tablet == l->tablet && m->items[i]->epoch == l->epoch)
        location_map_cut(m, i, i + 1);
}

void location_map_forget_table(struct location_map *m, uint64_t table)
{
    size_t begin = location_map_search(m, table, SLICE_EMPTY);
    size_t end = begin;
    while (end < m->count && m->items[end]->table == table)
        end++;
    location_map_cut(m, begin, end);
}
