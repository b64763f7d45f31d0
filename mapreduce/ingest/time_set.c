/* Distinct times for captures of one row: an open-addressing hash set of hashes
 * of (row, time). A false match moves a time by a microsecond, which harms
 * nothing. */
#include "mapreduce/ingest/time_set.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
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
    POST(s->count == 0);
}

static bool slot_is_free(const uint64_t *slot)
{
    return *slot == 0;
}

static uint64_t slot_hash(const uint64_t *slot)
{
    return *slot;
}

HASH_SLOTS_DEFINE(time_slots, uint64_t, slot_is_free, slot_hash);

static void time_set_grow(struct time_set *s)
{
    PRE((s->cap & (s->cap - 1)) == 0);
    size_t cap = s->cap ? s->cap * 2 : SLOTS_MIN;
    uint64_t *slots = mem_zalloc(cap, sizeof(*slots));
    time_slots_move(s->slots, s->cap, slots, cap);
    mem_free(s->slots);
    s->slots = slots;
    s->cap = cap;
}

bool time_set_add(struct time_set *s, uint64_t hash)
{
    size_t at;
    bool is_new;
    if (s->count * 2 >= s->cap)
        time_set_grow(s);
    hash = hash ? hash : 1;
    HASH_SLOTS_SEEK(at, s->cap, hash, !s->slots[at] || s->slots[at] == hash);
    is_new = !s->slots[at];
    s->slots[at] = hash;
    s->count += is_new;
    INVARIANT(s->count * 2 <= s->cap);
    return is_new;
}

int64_t time_set_claim(struct time_set *s, struct slice row, int64_t us)
{
    PRE(row.len == 0 || row.data);
    while (!time_set_add(s, hash64(row.data, row.len, (uint64_t)us)))
        us++;
    return us;
}
