/* Distinct times for captures of one row: a hash set of (row, time). */
#include "mapreduce/ingest/time_set.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"

#define SLOTS_MIN ((size_t)256)

void time_set_close(struct time_set *s)
{
    mem_free(s->slots);
    *s = (struct time_set){0};
}

void time_set_clear(struct time_set *s)
{
    if (s->count)
        memset(s->slots, 0, s->cap * sizeof(*s->slots));
    s->count = 0;
}

static bool put(struct time_set *s, uint64_t hash)
{
    size_t i = (size_t)hash & (s->cap - 1);
    while (s->slots[i]) {
        if (s->slots[i] == hash)
            return false;
        i = (i + 1) & (s->cap - 1);
    }
    s->slots[i] = hash;
    s->count++;
    return true;
}

static void grow(struct time_set *s)
{
    struct time_set old = *s;
    s->cap = old.cap ? old.cap * 2 : SLOTS_MIN;
    s->slots = mem_zalloc(s->cap, sizeof(*s->slots));
    s->count = 0;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i])
            put(s, old.slots[i]);
    mem_free(old.slots);
}

bool time_set_add(struct time_set *s, uint64_t hash)
{
    if (s->count * 2 >= s->cap)
        grow(s);
    return put(s, hash ? hash : 1);
}

int64_t time_set_claim(struct time_set *s, struct slice row, int64_t us)
{
    while (!time_set_add(s, hash64(row.data, row.len, (uint64_t)us)))
        us++;
    return us;
}
