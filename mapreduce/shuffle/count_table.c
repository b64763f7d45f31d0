/* The hash table of counting jobs.
 *
 * Layout of the memory:
 *     [table 0][table 1, twice as big] … top   free   floor[long keys]
 * Only the newest table is in use. The ones before it are free room, together
 * nearly its size, which does for sorting its contents; while it is the first
 * one, the free middle must do (I1).
 */
#include "mapreduce/shuffle/count_table.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "mapreduce/mapreduce.h"

#define SLOTS_MIN ((uint32_t)1 << 13)
/* Two arrays of 16-byte references for every slot in use. */
#define SORT_BYTES_PER_KEY ((size_t)32)
/* Always free: the next long key, and what is queued. */
#define SLACK_BYTES (MR_KEY_BYTES_MAX + 4096)

static uint64_t load_up_to_8(const char *p, size_t n)
{
    uint64_t v = 0;
    if (n >= 4)
        return get_le32(p) | (uint64_t)get_le32(p + n - 4) << (8 * (n - 4));
    if (n >= 2)
        v = get_le16(p + n - 2);
    if (n == 3)
        v <<= 8;
    return n == 0 ? 0 : v | (unsigned char)p[0];
}

static uint64_t mix128(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 m =
        (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
        (b ^ UINT64_C(0xa0761d6478bd642f));
    uint64_t x = (uint64_t)m ^ (uint64_t)(m >> 64);
    return (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static uint32_t used_max(uint32_t slot_count)
{
    return slot_count / 8 * 5;
}

static void table_place(struct count_table *t, size_t at, uint32_t slot_count)
{
    t->slots = (struct count_slot *)(void *)(t->memory + at);
    t->slot_mask = slot_count - 1;
    t->used_max = used_max(slot_count);
    memset(t->slots, 0, slot_count * sizeof(*t->slots));
    t->top = at + slot_count * sizeof(*t->slots);
}

void count_table_init(struct count_table *t, char *memory, size_t bytes)
{
    PRE(((uintptr_t)memory & 63) == 0);
    PRE(bytes >= COUNT_TABLE_BYTES_MIN);
    *t = (struct count_table){
        .memory = memory, .memory_bytes = bytes, .floor = bytes};
    table_place(t, 0, SLOTS_MIN);
}

static size_t bytes_below(const struct count_table *t)
{
    return (size_t)((char *)t->slots - t->memory);
}

static struct count_slot *slot_free(struct count_table *t, uint32_t hash)
{
    uint32_t i = hash & t->slot_mask;
    while (t->slots[i].len1 != 0)
        i = (i + 1) & t->slot_mask;
    return &t->slots[i];
}

/* Double the table if its memory allows that, else call it full. */
static void table_grow(struct count_table *t)
{
    struct count_slot *old = t->slots;
    uint32_t old_count = t->slot_mask + 1;
    size_t bytes = 2 * (size_t)old_count * sizeof(*old);
    if (bytes + SLACK_BYTES > t->floor - t->top || old_count > UINT32_C(1)
                                                                   << 29) {
        t->full = true;
        return;
    }
    table_place(t, t->top, 2 * old_count);
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].len1 != 0)
            *slot_free(t, old[i].hash) = old[i];
}

static void slot_take(struct count_table *t,
                      struct count_slot *s,
                      const struct count_pending *p)
{
    *s = (struct count_slot){p->lo, p->hi, p->by, p->len1, p->hash};
    if (++t->used >= t->used_max)
        table_grow(t);
}

static void add_short(struct count_table *t, const struct count_pending *p)
{
    uint32_t i = p->hash & t->slot_mask;
    for (;;) {
        struct count_slot *s = &t->slots[i];
        if (s->lo == p->lo && s->hi == p->hi && s->len1 == p->len1) {
            s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)p->by);
            return;
        }
        if (s->len1 == 0) {
            slot_take(t, s, p);
            return;
        }
        i = (i + 1) & t->slot_mask;
    }
}

struct slice count_slot_key(const struct count_slot *s)
{
    size_t len = s->len1 - 1;
    if (len <= 16)
        return slice_make(&s->lo, len);
    return slice_make((const char *)(uintptr_t)s->lo, len);
}

static void
add_long(struct count_table *t, struct slice key, uint64_t hash, int64_t by)
{
    struct count_pending p = {0, hash, by, (uint32_t)key.len + 1,
                              (uint32_t)hash};
    uint32_t i = p.hash & t->slot_mask;
    for (;; i = (i + 1) & t->slot_mask) {
        struct count_slot *s = &t->slots[i];
        if (s->len1 == 0)
            break;
        if (s->hi == hash && s->len1 == p.len1 &&
            memcmp(count_slot_key(s).data, key.data, key.len) == 0) {
            s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)by);
            return;
        }
    }
    t->floor -= key.len;
    memcpy(t->memory + t->floor, key.data, key.len);
    p.lo = (uint64_t)(uintptr_t)(t->memory + t->floor);
    slot_take(t, &t->slots[i], &p);
}

/* The next long key must find room, and sorting too (I1). */
static void check_room(struct count_table *t)
{
    size_t sort = bytes_below(t) ? 0 : t->used_max * SORT_BYTES_PER_KEY;
    if (t->floor - t->top < sort + SLACK_BYTES)
        t->full = true;
}

void count_table_settle(struct count_table *t)
{
    while (t->queue_done != t->queue_next)
        add_short(t, &t->queue[t->queue_done++ % COUNT_QUEUE]);
}

static void load_short_bytes(struct count_pending *p, struct slice key)
{
    if (key.len >= 8) {
        p->lo = get_le64(key.data);
        p->hi = key.len == 8
                    ? 0
                    : get_le64(key.data + key.len - 8) >> (8 * (16 - key.len));
    } else {
        p->lo = load_up_to_8(key.data, key.len);
        p->hi = 0;
    }
}

#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__)
/* Sixteen bytes that lie in one page can be loaded whatever the key's length,
 * and the rest masked off: lengths of short keys are what no branch predicts.
 */
static void load_short(struct count_pending *p, struct slice key)
{
    static const unsigned char ones[32] = {
        255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255,
    };
    __m128i v;
    __m128i mask;
    if (UNLIKELY(key.len == 0 || ((uintptr_t)key.data & 4095) > 4096 - 16)) {
        load_short_bytes(p, key);
        return;
    }
    v = _mm_loadu_si128((const __m128i *)(const void *)key.data);
    mask =
        _mm_loadu_si128((const __m128i *)(const void *)(ones + 16 - key.len));
    v = _mm_and_si128(v, mask);
    _mm_storeu_si128((__m128i *)(void *)&p->lo, v);
}
#else
static void load_short(struct count_pending *p, struct slice key)
{
    load_short_bytes(p, key);
}
#endif

void count_table_add(struct count_table *t, struct slice key, int64_t by)
{
    struct count_pending *p = &t->queue[t->queue_next % COUNT_QUEUE];
    uint64_t hash;
    if (UNLIKELY(key.len > 16)) {
        hash = hash64(key.data, key.len, 0);
        add_long(t, key, hash, by);
        check_room(t);
        return;
    }
    if (t->queue_next - t->queue_done == COUNT_QUEUE) {
        add_short(t, p);
        t->queue_done++;
    }
    load_short(p, key);
    hash = mix128(p->lo, p->hi);
    p->by = by;
    p->len1 = (uint32_t)key.len + 1;
    p->hash = (uint32_t)(hash >> 32) ^ (uint32_t)hash;
    __builtin_prefetch(&t->slots[p->hash & t->slot_mask], 1);
    t->queue_next++;
}

void *count_table_sort_room(struct count_table *t, size_t each)
{
    size_t need = 2 * each * t->used;
    PRE(t->queue_done == t->queue_next);
    if (need <= bytes_below(t))
        return t->memory;
    INVARIANT(need <= t->floor - t->top);
    return t->memory + t->top;
}

void count_table_clear(struct count_table *t)
{
    PRE(t->queue_done == t->queue_next);
    table_place(t, bytes_below(t), t->slot_mask + 1);
    t->floor = t->memory_bytes;
    t->used = 0;
    t->full = false;
}
