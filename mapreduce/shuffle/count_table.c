/* The hash table of counting jobs.
 *
 * Layout of the memory: [slots] free [long keys]. A key's home is given by the
 * upper bits of its hash, so doubling the table moves the slot at i to about 2
 * i: it is done in place, from the end down. Before sorting, the taken slots
 * are moved together at the beginning, which leaves room for two references to
 * each (INV-1).
 *
 * INV-1. 64 bytes for each key and a slack are below the floor.
 * INV-2. No key is DISPLACED_MAX slots or more after its home. Doubling keeps
 *        that: the keys whose homes were in n slots have theirs in 2 n
 *        afterwards.
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
#define SLOTS_MAX ((uint32_t)1 << 30)
/* A slot, and two references of 16 bytes for sorting. */
#define BYTES_PER_KEY (sizeof(struct count_slot) + 32)
/* Always free: room for the next long key, and for the queue. */
#define SLACK_BYTES (MR_KEY_BYTES_MAX + 2 * COUNT_QUEUE * BYTES_PER_KEY)
/* With keys that are not an attack, fewer than one table in ten thousand gets
 * there. */
#define DISPLACED_MAX ((uint32_t)512)
/* Keys moved at a time. */
#define BLOCK_SLOTS (2 * DISPLACED_MAX)

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

static uint64_t count_table_mix128(uint64_t a, uint64_t b)
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

/* Most bytes a table of this many slots takes, without long keys. */
static size_t table_bytes(uint32_t slot_count)
{
    size_t slots = slot_count * sizeof(struct count_slot);
    size_t sorting = used_max(slot_count) * BYTES_PER_KEY;
    return MAX_OF(slots, sorting) + SLACK_BYTES;
}

static void table_size(struct count_table *t, uint32_t slot_count)
{
    t->slot_mask = slot_count - 1;
    t->shift = 32 - (unsigned)__builtin_ctz(slot_count);
    t->used_max = used_max(slot_count);
}

void count_table_init(struct count_table *t, char *memory, size_t bytes)
{
    PRE(((uintptr_t)memory & 63) == 0);
    PRE(bytes >= COUNT_TABLE_BYTES_MIN);
    *t = (struct count_table){.memory = memory,
                              .floor = bytes,
                              .memory_bytes = bytes,
                              .slots = (struct count_slot *)(void *)memory};
    table_size(t, SLOTS_MIN);
    memset(t->slots, 0, SLOTS_MIN * sizeof(*t->slots));
}

static uint32_t home_of(const struct count_table *t, uint32_t hash)
{
    return hash >> t->shift;
}

static struct count_slot *slot_free(struct count_table *t, uint32_t hash)
{
    uint32_t i = home_of(t, hash);
    while (t->slots[i].len1 != 0)
        i = (i + 1) & t->slot_mask;
    return &t->slots[i];
}

/* Take the keys of a block out of the table. */
static void block_take(struct count_slot *at, struct count_slot *out)
{
    memcpy(out, at, BLOCK_SLOTS * sizeof(*at));
    memset(at, 0, BLOCK_SLOTS * sizeof(*at));
}

/* Keys keep their order: those that came first are the frequent ones, and stay
 * at their homes. */
static void block_put(struct count_table *t, const struct count_slot *block)
{
    for (uint32_t i = 0; i < BLOCK_SLOTS; i++)
        if (block[i].len1 != 0)
            *slot_free(t, block[i].hash) = block[i];
}

/* Double the table if its memory allows, else mark it full. Blocks move from
 * the last one down; no new home is below the block (INV-2), so keys that have
 * not moved yet are not in the way. The first block, where the table's end
 * continues, is put aside first. */
static void table_grow(struct count_table *t)
{
    uint32_t count = t->slot_mask + 1;
    struct count_slot *aside;
    struct count_slot *first;
    if (count >= SLOTS_MAX || table_bytes(2 * count) > t->floor) {
        t->full = true;
        return;
    }
    aside = mem_alloc(2 * BLOCK_SLOTS * sizeof(*aside));
    first = aside + BLOCK_SLOTS;
    block_take(t->slots, first);
    memset(t->slots + count, 0, count * sizeof(*t->slots));
    table_size(t, 2 * count);
    for (uint32_t at = count - BLOCK_SLOTS; at > 0; at -= BLOCK_SLOTS) {
        block_take(t->slots + at, aside);
        block_put(t, aside);
    }
    block_put(t, first);
    mem_free(aside);
}

static void slot_take(struct count_table *t,
                      struct count_slot *s,
                      const struct count_pending *p)
{
    uint32_t home = home_of(t, p->hash);
    uint32_t at = (uint32_t)(s - t->slots);
    *s = (struct count_slot){p->lo, p->hi, p->by, p->len1, p->hash};
    if (((at - home) & t->slot_mask) >= DISPLACED_MAX - 2 * COUNT_QUEUE)
        t->full = true;
    if (++t->used >= t->used_max && !t->full)
        table_grow(t);
}

static bool slot_is(const struct count_slot *s, const struct count_pending *p)
{
    return ((s->lo ^ p->lo) | (s->hi ^ p->hi) | (s->len1 ^ p->len1)) == 0;
}

static void add_short(struct count_table *t, const struct count_pending *p)
{
    uint32_t i = home_of(t, p->hash);
    for (;; i = (i + 1) & t->slot_mask) {
        struct count_slot *s = &t->slots[i];
        if (LIKELY(slot_is(s, p))) {
            s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)p->by);
            return;
        }
        if (s->len1 == 0) {
            slot_take(t, s, p);
            return;
        }
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
    uint32_t i = home_of(t, p.hash);
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

/* Add the half of the queue that is not being filled. */
static void settle_half(struct count_table *t, unsigned half)
{
    const struct count_pending *p = t->queue + half * COUNT_QUEUE;
    for (uint32_t i = 0; i < t->waiting; i++)
        add_short(t, &p[i]);
    t->waiting = 0;
}

/* Let the half of the queue that was filled wait for its slots, and add the
 * other one, which has waited long enough. The slots are prefetched together:
 * finding their pages takes longest, and the processor finds many at once. */
static void count_table_turn(struct count_table *t)
{
    const struct count_pending *p = t->queue + t->half * COUNT_QUEUE;
    for (uint32_t i = 0; i < t->queued; i++)
        __builtin_prefetch(&t->slots[home_of(t, p[i].hash)], 1);
    settle_half(t, !t->half);
    t->waiting = t->queued;
    t->half = !t->half;
    t->queued = 0;
}

void count_table_settle(struct count_table *t)
{
    count_table_turn(t);
    count_table_turn(t);
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
/* Sixteen bytes inside one page can be loaded whatever the key's length, and
 * the rest masked off: a branch on the lengths of short keys is mispredicted.
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
    struct count_pending *p;
    uint64_t hash;
    if (UNLIKELY(key.len > 16)) {
        add_long(t, key, hash64(key.data, key.len, 0), by);
        /* The next long key must find room (INV-1). */
        t->full = t->full || table_bytes(t->slot_mask + 1) > t->floor;
        return;
    }
    p = &t->queue[t->half * COUNT_QUEUE + t->queued];
    load_short(p, key);
    hash = count_table_mix128(p->lo, p->hi);
    p->by = by;
    p->len1 = (uint32_t)key.len + 1;
    p->hash = (uint32_t)(hash >> 32) ^ (uint32_t)hash;
    if (UNLIKELY(++t->queued == COUNT_QUEUE))
        count_table_turn(t);
}

uint32_t count_table_pack(struct count_table *t)
{
    uint32_t count = 0;
    count_table_settle(t);
    for (uint32_t i = 0; i <= t->slot_mask; i++)
        if (t->slots[i].len1 != 0)
            t->slots[count++] = t->slots[i];
    INVARIANT(count == t->used);
    return count;
}

void *count_table_sort_room(struct count_table *t, size_t each)
{
    size_t slots = t->used * sizeof(*t->slots);
    PRE(t->waiting == 0 && t->queued == 0);
    INVARIANT(2 * each * t->used <= t->floor - slots);
    return t->memory + slots;
}

void count_table_clear(struct count_table *t)
{
    PRE(t->waiting == 0 && t->queued == 0);
    memset(t->slots, 0, ((size_t)t->slot_mask + 1) * sizeof(*t->slots));
    t->floor = t->memory_bytes;
    t->used = 0;
    t->full = false;
}
