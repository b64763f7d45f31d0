/* Records in blocks of bytes: a record is its layout's address, its minutes,
 * and three numbers for each range, of which most are small. The first record
 * of a block and the last tell nothing about its minutes when clocks are set,
 * so a block keeps the least and the greatest.
 *
 * Each minute, the bytes that were appended in it are compared with the part of
 * the log that a minute of a day may have; the threshold of tablets that are
 * used little follows from that.
 */
#include "bigtable/tablet/heat_log.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"

#define BLOCK_BYTES ((size_t)32 << 10)
/* Of a record: address, minute, span, number of ranges; then the counts. */
#define RECORD_BYTES_MAX                                                       \
    (sizeof(struct heat_layout *) + 3 * VARINT64_BYTES_MAX +                   \
     HEAT_RANGES_MAX * LOAD_KIND_COUNT * VARINT64_BYTES_MAX)
/* The least threshold above 0. */
#define THRESHOLD_MIN 16U
#define THRESHOLD_MAX (UINT64_C(1) << 40)

struct heat_block {
    size_t len;
    uint32_t low; /* Minutes that its records touch: [low, high). */
    uint32_t high;
    size_t charged; /* For layouts that came with its records. */
    char bytes[BLOCK_BYTES];
};

struct heat_log {
    struct mutex lock;
    size_t bytes_max;
    atomic_size_t record_bytes;
    atomic_size_t counter_bytes;
    atomic_ullong threshold;
    struct heat_block **blocks; /* Owned, oldest first. */
    size_t first;               /* Of the blocks in use, */
    size_t count;               /* and their number. */
    size_t cap;
    uint64_t dropped;    /* Blocks, since the beginning. */
    uint32_t minute;     /* Of the record appended last. */
    size_t minute_bytes; /* Appended in it. */
};

STATIC_ASSERT(RECORD_BYTES_MAX < BLOCK_BYTES, "a record fits into a block");

struct heat_log *heat_log_new(size_t bytes_max)
{
    struct heat_log *l = mem_zalloc(1, sizeof(*l));
    PRE(bytes_max >= 4 * BLOCK_BYTES);
    mutex_init(&l->lock);
    l->bytes_max = bytes_max;
    return l;
}

/* A quarter is for the counters of tablets. */
static size_t counters_max(const struct heat_log *l)
{
    return l->bytes_max / 4;
}

static size_t records_max(const struct heat_log *l)
{
    return l->bytes_max - counters_max(l);
}

/* --- records ------------------------------------------------------------- */

static char *record_put(char *p, const struct heat_record *r)
{
    PRE(r->layout->count <= HEAT_RANGES_MAX);
    memcpy(p, &r->layout, sizeof(r->layout));
    p += sizeof(r->layout);
    p = put_varint(p, r->minute);
    p = put_varint(p, r->span);
    p = put_varint(p, r->layout->count);
    for (size_t i = 0; i < r->layout->count; i++)
        for (size_t k = 0; k < LOAD_KIND_COUNT; k++)
            p = put_varint(p, r->counts[i][k]);
    return p;
}

static const char *take_number(const char *p, const char *end, uint64_t *out)
{
    p = get_varint(p, end, out);
    INVARIANT(p); /* record_put() wrote it. */
    return p;
}

/* Read the record at @p; returns the next one. */
static const char *
record_get(const char *p, const char *end, struct heat_record *r)
{
    uint64_t minute, span, count;
    memcpy(&r->layout, p, sizeof(r->layout));
    p = take_number(p + sizeof(r->layout), end, &minute);
    p = take_number(p, end, &span);
    p = take_number(p, end, &count);
    INVARIANT(count == r->layout->count);
    r->minute = (uint32_t)minute;
    r->span = (uint32_t)span;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < LOAD_KIND_COUNT; k++)
            p = take_number(p, end, &r->counts[i][k]);
    return p;
}

/* --- blocks -------------------------------------------------------------- */

static struct heat_block *block_at(const struct heat_log *l, size_t i)
{
    PRE(i < l->count);
    return l->blocks[l->first + i];
}

/* Forget the oldest block. PRE: the lock is held. */
static void drop_block(struct heat_log *l)
{
    struct heat_block *b = block_at(l, 0);
    const char *p = b->bytes, *end = b->bytes + b->len;
    struct heat_record r;
    PRE(b->len <= BLOCK_BYTES);
    while (p < end) {
        p = record_get(p, end, &r);
        heat_layout_unref(r.layout); /* INV-2 */
    }
    INVARIANT(atomic_load(&l->record_bytes) >= sizeof(*b) + b->charged);
    atomic_fetch_sub(&l->record_bytes, sizeof(*b) + b->charged);
    mem_free(b);
    l->first++;
    l->count--;
    l->dropped++;
}

void heat_log_free(struct heat_log *l)
{
    if (!l)
        return;
    while (l->count)
        drop_block(l);
    INVARIANT(heat_log_bytes(l) == 0); /* INV-1 */
    mem_free(l->blocks);
    mutex_close(&l->lock);
    mem_free(l);
}

static void add_block(struct heat_log *l)
{
    struct heat_block *b = mem_alloc(sizeof(*b));
    if (l->first + l->count == l->cap && l->first > l->count) {
        memmove(l->blocks, l->blocks + l->first,
                l->count * sizeof(struct heat_block *));
        l->first = 0;
    } else if (l->first + l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->blocks =
            mem_realloc(l->blocks, l->cap * sizeof(struct heat_block *));
    }
    b->len = 0;
    b->low = HEAT_MINUTE_MAX;
    b->high = 0;
    b->charged = 0;
    INVARIANT(l->first + l->count < l->cap);
    l->blocks[l->first + l->count++] = b;
    atomic_fetch_add(&l->record_bytes, sizeof(*b));
}

/* Forget blocks that are a day older than @minute, and the oldest ones while
 * there are too many bytes. The newest stays. */
static void drop_old(struct heat_log *l, uint32_t minute)
{
    PRE(mutex_is_held(&l->lock));
    while (l->count > 1 &&
           (block_at(l, 0)->high + HEAT_DAY <= minute ||
            atomic_load(&l->record_bytes) > records_max(l))) /* INV-1 */
        drop_block(l);
}

/* --- the threshold ------------------------------------------------------- */

/* A minute has ended in which minute_bytes were appended. */
static void set_threshold(struct heat_log *l)
{
    size_t share = records_max(l) / HEAT_DAY;
    uint64_t t = atomic_load(&l->threshold);
    INVARIANT(t <= THRESHOLD_MAX);
    if (l->minute_bytes > share)
        t = MIN_OF(MAX_OF(t * 2, (uint64_t)THRESHOLD_MIN), THRESHOLD_MAX);
    else if (l->minute_bytes < share / 2)
        t = t / 2 < THRESHOLD_MIN ? 0 : t / 2;
    atomic_store(&l->threshold, t);
    l->minute_bytes = 0;
}

uint64_t heat_log_threshold(const struct heat_log *l)
{
    return atomic_load_explicit(&l->threshold, memory_order_relaxed);
}

/* --- appending and reading ----------------------------------------------- */

/* The first record of a layout that nobody but its tablet holds pays for it. */
static size_t layout_charge(const struct heat_layout *layout)
{
    PRE(atomic_load(&layout->references) > 0);
    return atomic_load(&layout->references) == 2 ? heat_layout_bytes(layout)
                                                 : 0;
}

void heat_log_append(struct heat_log *l, const struct heat_record *r)
{
    struct heat_block *b;
    size_t before, charge;
    PRE(r->span > 0);
    PRE(r->layout->count > 0);
    mutex_lock(&l->lock);
    if (l->count == 0 ||
        block_at(l, l->count - 1)->len + RECORD_BYTES_MAX > BLOCK_BYTES)
        add_block(l);
    if (r->minute + r->span != l->minute) {
        set_threshold(l);
        l->minute = r->minute + r->span;
    }
    b = block_at(l, l->count - 1);
    before = b->len;
    heat_layout_ref(r->layout); /* INV-2 */
    charge = layout_charge(r->layout);
    b->len = (size_t)(record_put(b->bytes + b->len, r) - b->bytes);
    b->charged += charge;
    b->low = MIN_OF(b->low, r->minute);
    b->high = MAX_OF(b->high, r->minute + r->span);
    l->minute_bytes += b->len - before + charge;
    atomic_fetch_add(&l->record_bytes, charge);
    drop_old(l, r->minute);
    mutex_unlock(&l->lock);
}

struct heat_walk {
    uint32_t from;
    uint32_t to;
    void (*fn)(void *ctx, const struct heat_record *r);
    void *ctx;
};

static void block_each(const struct heat_block *b, const struct heat_walk *w)
{
    const char *p = b->bytes, *end = b->bytes + b->len;
    struct heat_record r;
    INVARIANT(b->len <= BLOCK_BYTES);
    if (b->low >= w->to || b->high <= w->from)
        return;
    while (p < end) {
        p = record_get(p, end, &r);
        if (r.minute < w->to && r.minute + r.span > w->from)
            w->fn(w->ctx, &r);
    }
}

/* The lock is held for one block at a time: writers wait for none of it. */
void heat_log_each(struct heat_log *l,
                   uint32_t from,
                   uint32_t to,
                   void (*fn)(void *ctx, const struct heat_record *r),
                   void *ctx)
{
    const struct heat_walk w = {from, to, fn, ctx};
    uint64_t number, end;
    PRE(fn);
    PRE(from <= to);
    mutex_lock(&l->lock);
    number = l->dropped;
    end = number + l->count;
    while (number < end) {
        number = MAX_OF(number, l->dropped);
        if (number - l->dropped < l->count)
            block_each(block_at(l, number - l->dropped), &w);
        number++;
        mutex_unlock(&l->lock);
        mutex_lock(&l->lock);
    }
    mutex_unlock(&l->lock);
}

bool heat_log_charge(struct heat_log *l, size_t bytes)
{
    size_t held = atomic_fetch_add(&l->counter_bytes, bytes);
    PRE(bytes > 0);
    if (held + bytes <= counters_max(l))
        return true;
    atomic_fetch_sub(&l->counter_bytes, bytes);
    return false;
}

void heat_log_uncharge(struct heat_log *l, size_t bytes)
{
    size_t held = atomic_fetch_sub(&l->counter_bytes, bytes);
    PRE(held >= bytes);
}

size_t heat_log_bytes(const struct heat_log *l)
{
    return atomic_load(&l->record_bytes) + atomic_load(&l->counter_bytes);
}
