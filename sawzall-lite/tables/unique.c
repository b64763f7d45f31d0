/* unique(n): how many distinct values there were.
 *
 * Keeps the n smallest of the values' 64-bit hashes ("k minimum values"). Up to
 * n distinct values the count is exact; above, the n-th smallest hash h says
 * how densely hashes lie, and the estimate (n - 1) * 2^64 / h has a standard
 * error of 1/sqrt(n - 2) of the count: 1 % for n = 10,000. The n smallest of a
 * union are among the n smallest of its parts, so merging loses nothing.
 *
 * The hashes lie in an open-addressing set of at most 2n, thinned to n when
 * full: an emit costs one hash and one probe, or nothing when over the
 * threshold. Probes of large sets are made in groups, whose waits for memory
 * overlap.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"
#include "sawzall-lite/tables/impl.h"

#define SLOT_COUNT_MIN 16
/* From this size on slots are mostly not in the processor's near caches: hashes
 * are placed some at a time, when their slots have arrived. */
#define SLOT_COUNT_FAR 4096
#define PENDING_MAX    16

struct unique {
    uint64_t *slots; /* Power of two of hashes; 0 is free. */
    size_t slot_count;
    size_t count;       /* Hashes kept. */
    uint64_t threshold; /* Hashes above it do not matter; 0: none yet. */
    uint64_t total;     /* Values emitted: no estimate is above it. */
    uint64_t *pending;  /* Hashes to be placed, or NULL. */
    uint32_t pending_count;
    bool inexact; /* Hashes were dropped, here or in a part. */
};

static void unique_close(struct saw_table *t, void *state)
{
    struct unique *s = state;
    saw_table__resize(t, s->slots, s->slot_count * sizeof(uint64_t), 0);
    if (s->pending)
        saw_table__resize(t, s->pending, PENDING_MAX * sizeof(uint64_t), 0);
}

/* False when it is there already. PRE: a free slot. */
static bool unique_place(struct unique *s, uint64_t hash)
{
    size_t at;
    HASH_SLOTS_SEEK(at, s->slot_count, hash_mix(hash),
                    !s->slots[at] || s->slots[at] == hash);
    if (s->slots[at])
        return false;
    s->slots[at] = hash;
    s->count++;
    return true;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* All hashes ascending; the caller frees them. */
static uint64_t *unique_sorted(const struct unique *s)
{
    uint64_t *v = mem_alloc((s->count + 1) * sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i])
            v[n++] = s->slots[i];
    }
    INVARIANT(n == s->count);
    qsort(v, n, sizeof(*v), by_value);
    return v;
}

static void unique_refill(struct saw_table *t,
                          struct unique *s,
                          const uint64_t *hashes,
                          size_t count,
                          size_t slot_count)
{
    s->slots = saw_table__resize(t, s->slots, s->slot_count * sizeof(uint64_t),
                                 slot_count * sizeof(uint64_t));
    s->slot_count = slot_count;
    s->count = 0;
    memset(s->slots, 0, slot_count * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++)
        unique_place(s, hashes[i]);
}

/* Keep the n smallest. */
static void unique_thin(struct saw_table *t, struct unique *s)
{
    size_t n = saw_table__param(t);
    uint64_t *v;
    if (s->count <= n)
        return;
    v = unique_sorted(s);
    s->threshold = v[n - 1];
    s->inexact = true;
    unique_refill(t, s, v, n, s->slot_count);
    mem_free(v);
    POST(s->count == n && s->threshold > 0);
}

static void unique_grow(struct saw_table *t, struct unique *s)
{
    uint64_t *old = s->slots;
    size_t old_count = s->slot_count;
    s->slot_count = old_count ? old_count * 2 : SLOT_COUNT_MIN;
    s->slots = saw_table__resize(t, NULL, 0, s->slot_count * sizeof(uint64_t));
    s->count = 0;
    memset(s->slots, 0, s->slot_count * sizeof(uint64_t));
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            unique_place(s, old[i]);
    }
    saw_table__resize(t, old, old_count * sizeof(uint64_t), 0);
}

static void make_room(struct saw_table *t, struct unique *s)
{
    if ((s->count + 1) * 4 <= s->slot_count * 3)
        return;
    if (s->count >= 2 * saw_table__param(t)) {
        unique_thin(t, s);
        return;
    }
    unique_grow(t, s);
}

static void unique_put_now(struct saw_table *t, struct unique *s, uint64_t hash)
{
    if (s->threshold && hash > s->threshold)
        return;
    make_room(t, s);
    INVARIANT(s->count < s->slot_count); /* The search ends. */
    unique_place(s, hash);
}

/* Place the hashes that wait. To be called before anything but a put. */
static void unique_settle(struct saw_table *t, struct unique *s)
{
    uint32_t n = s->pending_count;
    s->pending_count = 0;
    for (uint32_t i = 0; i < n; i++)
        unique_put_now(t, s, s->pending[i]);
}

static void
unique_put_later(struct saw_table *t, struct unique *s, uint64_t hash)
{
    if (!s->pending)
        s->pending =
            saw_table__resize(t, NULL, 0, PENDING_MAX * sizeof(uint64_t));
    __builtin_prefetch(&s->slots[hash_mix(hash) & (s->slot_count - 1)], 1);
    s->pending[s->pending_count++] = hash;
    if (s->pending_count == PENDING_MAX)
        unique_settle(t, s);
}

static void unique_put(struct saw_table *t, struct unique *s, uint64_t hash)
{
    hash += hash == 0; /* 0 marks free slots. */
    if (saw_table__param(t) == 0 || (s->threshold && hash > s->threshold))
        return;
    if (s->slot_count >= SLOT_COUNT_FAR)
        unique_put_later(t, s, hash);
    else
        unique_put_now(t, s, hash);
}

static int unique_add(struct saw_table *t,
                      void *state,
                      struct slice element,
                      struct slice weight,
                      saw_emit_origin origin,
                      struct err *err)
{
    struct unique *s = state;
    (void)weight;
    (void)origin;
    (void)err;
    s->total++;
    unique_put(t, s, hash64(element.data, element.len, 0));
    return 0;
}

static void unique_encode(struct saw_table *t, void *state, struct buf *out)
{
    struct unique *s = state;
    uint64_t *v;
    unique_settle(t, s);
    unique_thin(t, s);
    v = unique_sorted(s);
    buf_put_u8(out, s->inexact);
    buf_put_varint(out, s->total);
    buf_put_varint(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        buf_put_be64(out, v[i]);
    mem_free(v);
}

static int unique_merge(struct saw_table *t,
                        void *state,
                        struct cursor *c,
                        struct err *err)
{
    struct unique *s = state;
    uint8_t inexact = cursor_u8(c);
    uint64_t total = cursor_varint(c);
    size_t n = cursor_count(c, 8);
    if (c->bad || inexact > 1 || n > saw_table__param(t) || n > total)
        return saw_table__corrupt(t, err);
    for (size_t i = 0; i < n; i++)
        unique_put(t, s, cursor_be64(c));
    s->total += total;
    s->inexact |= inexact != 0;
    return 0;
}

static int unique_absorb(struct saw_table *t,
                         void *state,
                         struct saw_table *from,
                         void *other,
                         struct err *err)
{
    struct unique *s = state;
    struct unique *o = other;
    (void)err;
    unique_settle(from, o);
    for (size_t i = 0; i < o->slot_count; i++) {
        if (o->slots[i])
            unique_put(t, s, o->slots[i]);
    }
    s->total += o->total;
    s->inexact |= o->inexact;
    return 0;
}

static uint64_t unique_estimate(struct saw_table *t, struct unique *s)
{
    size_t n = saw_table__param(t);
    double count;
    uint64_t *v;

    unique_settle(t, s);
    unique_thin(t, s);
    if (!s->inexact || s->count < n || n == 0)
        return s->count;
    v = unique_sorted(s);
    count = (double)(n - 1) * 0x1p64 / (double)v[n - 1];
    mem_free(v);
    if (count < (double)n)
        return n;
    return count < (double)s->total ? (uint64_t)(count + 0.5) : s->total;
}

static void
unique_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    struct slice datum;
    uint64_t n = unique_estimate(t, state);
    struct buf *b = saw_table__scratch(t);
    saw_datum_put_int(b, (int64_t)n);
    datum = buf_slice(b);
    out->line(out, &datum, 1);
}

const struct saw_kind_ops saw_ops_unique = {
    .traits = {.name = "unique",
               .number = 6,
               .param = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .estimates = true,
               .indexed = true},
    .state_bytes = sizeof(struct unique),
    .close = unique_close,
    .add = unique_add,
    .encode = unique_encode,
    .merge = unique_merge,
    .absorb = unique_absorb,
    .results = unique_results,
    .column_count = 1,
};
