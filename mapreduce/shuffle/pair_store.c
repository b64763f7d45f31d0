/* The plain and the folding store of emitted pairs.
 *
 * A value that outgrows its room moves to the end as a new pair; the old one
 * stays as a hole (key_bytes == HOLE), which a walk skips by its sizes. Room
 * doubles with every move, so that the holes of a value have together about as
 * much room for it as the pair.
 */
#include "mapreduce/shuffle/pair_store.h"

#include "base/core/hash.h"
#include "base/core/panic.h"

/* Two arrays of 16-byte references for every pair. */
#define SORT_BYTES_PER_PAIR ((size_t)32)
#define HOLE                UINT32_MAX
#define BUCKETS_MIN         ((uint32_t)1 << 12)
#define NONE                UINT32_MAX

static struct pair *pair_at(const struct pair_store *s, uint32_t pair)
{
    return (struct pair *)(void *)(s->memory + (size_t)pair * 8);
}

static size_t pair_bytes(size_t key, size_t room)
{
    return (sizeof(struct pair) + key + room + 7) & ~(size_t)7;
}

void pair_store_init(struct pair_store *s,
                     char *memory,
                     size_t bytes,
                     pair_fold_fn fold,
                     void *fold_ctx)
{
    PRE(((uintptr_t)memory & 7) == 0);
    PRE(bytes <= UINT32_MAX);
    *s = (struct pair_store){.memory = memory,
                             .memory_bytes = bytes & ~(size_t)7,
                             .fold = fold,
                             .fold_ctx = fold_ctx};
    if (fold) {
        s->bucket_mask = BUCKETS_MIN - 1;
        s->buckets = mem_alloc(BUCKETS_MIN * sizeof(*s->buckets));
        memset(s->buckets, 0xff, BUCKETS_MIN * sizeof(*s->buckets));
    }
}

void pair_store_close(struct pair_store *s)
{
    mem_free(s->buckets);
    buf_close(&s->acc);
    s->buckets = NULL;
}

struct slice pair_store_key(const struct pair_store *s, uint32_t pair)
{
    const struct pair *p = pair_at(s, pair);
    return slice_make(p + 1, p->key_bytes);
}

struct slice pair_store_value(const struct pair_store *s, uint32_t pair)
{
    const struct pair *p = pair_at(s, pair);
    return slice_make((const char *)(p + 1) + p->key_bytes, p->value_bytes);
}

/* Append a pair with @room for its value; NONE: it does not fit. */
static uint32_t pair_append(struct pair_store *s,
                            struct slice key,
                            struct slice value,
                            size_t room)
{
    size_t bytes = pair_bytes(key.len, room);
    size_t sort = ((size_t)s->pairs + 1) * SORT_BYTES_PER_PAIR;
    struct pair *p = pair_at(s, (uint32_t)(s->top / 8));
    char *data = (char *)(p + 1);
    if (bytes > s->memory_bytes - s->top ||
        sort > s->memory_bytes - s->top - bytes)
        return NONE;
    *p = (struct pair){(uint32_t)key.len, (uint32_t)value.len, (uint32_t)room,
                       NONE};
    if (key.len > 0)
        memcpy(data, key.data, key.len);
    if (value.len > 0)
        memcpy(data + key.len, value.data, value.len);
    s->top += bytes;
    s->pairs++;
    INVARIANT(s->top <= s->memory_bytes);
    return (uint32_t)((size_t)((char *)p - s->memory) / 8);
}

static uint32_t *bucket_of(const struct pair_store *s, struct slice key)
{
    return &s->buckets[hash64_slice(key) & s->bucket_mask];
}

static void buckets_grow(struct pair_store *s)
{
    uint32_t count = 2 * (s->bucket_mask + 1);
    uint32_t at = 0;
    uint32_t pair;
    mem_free(s->buckets);
    s->buckets = mem_alloc(count * sizeof(*s->buckets));
    memset(s->buckets, 0xff, count * sizeof(*s->buckets));
    s->bucket_mask = count - 1;
    while (pair_store_next(s, &at, &pair)) {
        uint32_t *head = bucket_of(s, pair_store_key(s, pair));
        pair_at(s, pair)->next = *head;
        *head = pair;
    }
}

/* Store the folded value, in place or at the end; false: no room. */
static bool pair_replace(struct pair_store *s, uint32_t *link)
{
    struct pair *p = pair_at(s, *link);
    struct slice value = buf_slice(&s->acc);
    uint32_t moved;
    if (value.len <= p->room) {
        memcpy((char *)(p + 1) + p->key_bytes, value.data, value.len);
        p->value_bytes = (uint32_t)value.len;
        return true;
    }
    if (value.len > s->memory_bytes)
        return false;
    moved = pair_append(s, pair_store_key(s, *link), value, 2 * value.len);
    if (moved == NONE)
        return false;
    pair_at(s, moved)->next = p->next;
    /* A hole keeps its size in room: a walk skips key and value. */
    p->room += p->key_bytes;
    p->key_bytes = HOLE;
    s->pairs--;
    *link = moved;
    return true;
}

static bool fold_add(struct pair_store *s, struct slice key, struct slice value)
{
    uint32_t *head = bucket_of(s, key);
    uint32_t *link = head;
    uint32_t pair;
    for (; *link != NONE; link = &pair_at(s, *link)->next)
        if (slice_eq(pair_store_key(s, *link), key))
            break;
    if (*link != NONE) {
        buf_clear(&s->acc);
        buf_append_slice(&s->acc, pair_store_value(s, *link));
        s->fold(s->fold_ctx, key, &s->acc, value);
        return pair_replace(s, link);
    }
    pair = pair_append(s, key, value, value.len + 8);
    if (pair == NONE)
        return false;
    pair_at(s, pair)->next = *head;
    *head = pair;
    if (s->pairs > s->bucket_mask)
        buckets_grow(s);
    return true;
}

bool pair_store_add(struct pair_store *s, struct slice key, struct slice value)
{
    if (value.len > s->memory_bytes)
        return false;
    if (s->fold)
        return fold_add(s, key, value);
    return pair_append(s, key, value, value.len) != NONE;
}

bool pair_store_next(const struct pair_store *s, uint32_t *at, uint32_t *pair)
{
    while ((size_t)*at * 8 < s->top) {
        const struct pair *p = pair_at(s, *at);
        bool hole = p->key_bytes == HOLE;
        *pair = *at;
        *at += (uint32_t)(pair_bytes(hole ? 0 : p->key_bytes, p->room) / 8);
        if (!hole)
            return true;
    }
    return false;
}

void *pair_store_sort_room(struct pair_store *s, size_t each)
{
    size_t need = 2 * each * s->pairs;
    INVARIANT(need <= s->memory_bytes - s->top);
    return s->memory + s->top;
}

void pair_store_clear(struct pair_store *s)
{
    s->top = 0;
    s->pairs = 0;
    if (s->fold)
        memset(s->buckets, 0xff,
               ((size_t)s->bucket_mask + 1) * sizeof(*s->buckets));
}
