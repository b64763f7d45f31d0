/* Counters of one tablet, and the sample that cuts it into ranges.
 *
 * The sample is a reservoir of the operations that were counted since the last
 * record or cut: each is in it with the same chance. When a tablet is cut, what
 * its old ranges counted in this minute is put into the new ones by the sample,
 * reads by reads and writes by writes.
 */
#include "bigtable/tablet/tablet_heat.h"

#include <string.h>

#include "base/core/panic.h"

/* Charged for a sample with the layout it makes: its keys are mostly short. */
#define SAMPLE_BYTES ((size_t)3 << 10)
/* Fewer say nothing about what is hot. */
#define SAMPLES_MIN 8U
#define UNEVEN_MIN  32U

struct heat_sample {
    size_t count;
    uint64_t offered;
    uint64_t random;
    struct slice keys[HEAT_SAMPLES]; /* Owned. */
    uint8_t kinds[HEAT_SAMPLES];     /* LOAD_READS or LOAD_WRITES. */
};

struct heat_counter {
    struct heat_layout *layout; /* Referenced. */
    struct heat_sample *sample; /* Owned; NULL: there is no room for one. */
    uint32_t minute;            /* First and last that is counted: INV-1. */
    uint32_t last;
    bool is_cut;
    unsigned cuts; /* Lately: one more with each cut, one less a minute. */
    uint64_t rows; /* Of all ranges. */
    heat_counts counts[HEAT_RANGES_MAX];
};

/* --- the sample ---------------------------------------------------------- */

static struct heat_sample *sample_new(struct heat_log *log)
{
    struct heat_sample *s;
    if (!heat_log_charge(log, sizeof(*s) + SAMPLE_BYTES))
        return NULL;
    s = mem_zalloc(1, sizeof(*s));
    return s;
}

static void sample_clear(struct heat_sample *s)
{
    PRE(s->count <= HEAT_SAMPLES);
    for (size_t i = 0; i < s->count; i++)
        mem_free((char *)(uintptr_t)s->keys[i].data);
    s->count = 0;
    s->offered = 0;
}

static void sample_free(struct heat_sample *s, struct heat_log *log)
{
    if (!s)
        return;
    sample_clear(s);
    mem_free(s);
    heat_log_uncharge(log, sizeof(*s) + SAMPLE_BYTES);
}

static uint64_t sample_random(struct heat_sample *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + 1;
    return s->random >> 33;
}

static void
sample_offer(struct heat_sample *s, struct slice key, enum load_kind kind)
{
    size_t at = s->count;
    PRE(at <= HEAT_SAMPLES);
    s->offered++;
    if (at == HEAT_SAMPLES) {
        at = sample_random(s) % s->offered;
        if (at >= HEAT_SAMPLES)
            return;
        mem_free((char *)(uintptr_t)s->keys[at].data);
    } else {
        s->count++;
    }
    key = heat_key(key);
    s->keys[at] = slice_make(mem_strndup(key.data, key.len), key.len);
    s->kinds[at] = (uint8_t)kind;
}

/* --- ranges -------------------------------------------------------------- */

/* How many of the sample are in an old range and in each new one. */
struct heat_shares {
    unsigned by[HEAT_RANGES_MAX];
    unsigned all;
};

/* Those of the old range @old; @kind: LOAD_BYTES for all. */
static void share_range(const struct heat_counter *c,
                        const struct heat_layout *to,
                        size_t old,
                        enum load_kind kind,
                        struct heat_shares *out)
{
    const struct heat_sample *s = c->sample;
    PRE(old < c->layout->count);
    *out = (struct heat_shares){.all = 0};
    for (size_t i = 0; i < s->count; i++) {
        if ((kind != LOAD_BYTES && s->kinds[i] != kind) ||
            heat_layout_find(c->layout, s->keys[i]) != old)
            continue;
        out->by[heat_layout_find(to, s->keys[i])]++;
        out->all++;
    }
    if (out->all)
        return;
    out->by[heat_layout_find(to, c->layout->bounds[old])] = 1;
    out->all = 1;
}

/* Put the counts of the present ranges into those of @to. */
static void spread_counts(struct heat_counter *c, const struct heat_layout *to)
{
    heat_counts spread[HEAT_RANGES_MAX] = {{0}};
    for (size_t old = 0; old < c->layout->count; old++)
        for (unsigned k = 0; k < LOAD_KIND_COUNT; k++) {
            uint64_t left = c->counts[old][k];
            struct heat_shares shares;
            if (left == 0)
                continue;
            share_range(c, to, old, (enum load_kind)k, &shares);
            for (size_t i = 0; i < to->count && left; i++) {
                uint64_t part = left * shares.by[i] / shares.all;
                spread[i][k] += part;
                left -= part;
                shares.all -= shares.by[i]; /* Of what is left now. */
            }
            INVARIANT(left == 0);
        }
    memcpy(c->counts, spread, sizeof(spread));
}

/* Cut the tablet by its sample. */
static void heat_cut(struct heat_counter *c, const struct heat_place *place)
{
    struct slice keys[HEAT_SAMPLES];
    struct heat_layout *to;
    PRE(c->sample->count > 0);
    memcpy(keys, c->sample->keys, sizeof(keys));
    to = heat_layout_new(place, keys, c->sample->count, c->layout);
    spread_counts(c, to);
    heat_layout_unref(c->layout);
    c->layout = to;
    c->is_cut = true;
    c->cuts++;
    sample_clear(c->sample);
}

/* One range again, and no sample, so that there is room for hotter ones. PRE:
 * nothing is counted. */
static void heat_uncut(struct heat_counter *c,
                       struct heat_log *log,
                       const struct heat_place *place)
{
    PRE(c->rows == 0);
    sample_free(c->sample, log);
    c->sample = NULL;
    c->is_cut = false; /* INV-2 */
    if (c->layout->count == 1)
        return;
    heat_layout_unref(c->layout);
    c->layout = heat_layout_new(place, NULL, 0, NULL);
    POST(c->layout->count == 1); /* INV-2 */
}

/* Could the range be cut, as one that has more than one key? */
static bool has_keys_between(struct slice start, struct slice end)
{
    bool is_one = end.len == start.len + 1 && end.data[start.len] == '\0' &&
                  memcmp(start.data, end.data, start.len) == 0;
    return !is_one;
}

static bool can_be_cut(const struct heat_layout *l, size_t range)
{
    PRE(range < l->count);
    return l->bounds[range].len == 0 ||
           has_keys_between(l->bounds[range], l->bounds[range + 1]);
}

/* Has a range that could be cut a third of the rows read, or of those written?
 */
static bool is_uneven(const struct heat_counter *c)
{
    const struct heat_layout *l = c->layout;
    PRE(l->count >= 1);
    PRE(l->count <= HEAT_RANGES_MAX);
    for (unsigned k = LOAD_READS; k <= LOAD_WRITES; k++) {
        uint64_t sum = 0, most = 0;
        for (size_t i = 0; i < l->count; i++) {
            sum += c->counts[i][k];
            if (can_be_cut(l, i))
                most = MAX_OF(most, c->counts[i][k]);
        }
        if (sum >= UNEVEN_MIN && most * 3 > sum)
            return true;
    }
    return false;
}

/* Is the tablet to be cut by the sample there is? */
static bool should_cut(const struct heat_counter *c)
{
    PRE(!c->sample || c->sample->count <= HEAT_SAMPLES);
    return c->sample && c->sample->count >= SAMPLES_MIN &&
           c->cuts < HEAT_CUTS_MAX && (!c->is_cut || is_uneven(c));
}

/* --- minutes ------------------------------------------------------------- */

static void heat_fill(const struct heat_counter *c, struct heat_record *r)
{
    PRE(c->last >= c->minute);
    r->layout = c->layout;
    r->minute = c->minute;
    r->span = c->last - c->minute + 1;
    memcpy(r->counts, c->counts, sizeof(r->counts));
}

/* Put all ranges into one. */
static void heat_join(struct heat_counter *c,
                      struct heat_log *log,
                      const struct heat_place *place)
{
    heat_counts sum = {0};
    PRE(c->layout->count >= 1);
    for (size_t i = 0; i < c->layout->count; i++)
        for (size_t k = 0; k < LOAD_KIND_COUNT; k++)
            sum[k] += c->counts[i][k];
    memset(c->counts, 0, sizeof(c->counts));
    c->rows = 0;
    heat_uncut(c, log, place);
    memcpy(c->counts[0], sum, sizeof(sum));
    c->rows = sum[LOAD_READS] + sum[LOAD_WRITES];
}

static bool is_used_little(const struct heat_counter *c,
                           const struct heat_log *log)
{
    uint64_t minutes = c->last - c->minute + 1;
    PRE(c->last >= c->minute); /* INV-1 */
    return c->rows < heat_log_threshold(log) * minutes;
}

/* Append a record of what is counted, and begin with nothing. */
static void heat_flush(struct heat_counter *c,
                       struct heat_log *log,
                       const struct heat_place *place)
{
    struct heat_record r;
    INVARIANT(c->layout->count <= HEAT_RANGES_MAX);
    if (c->rows == 0)
        return;
    if (is_used_little(c, log))
        heat_join(c, log, place);
    else if (should_cut(c))
        heat_cut(c, place);
    heat_fill(c, &r);
    heat_log_append(log, &r);
}

static void
heat_begin(struct heat_counter *c, struct heat_log *log, uint32_t minute)
{
    uint32_t passed = minute > c->minute ? minute - c->minute : 0;
    PRE(c->sample || c->layout->count == 1); /* INV-2 */
    memset(c->counts, 0, sizeof(c->counts));
    c->rows = 0;
    c->cuts -= MIN_OF(c->cuts, passed);
    c->minute = c->last = minute;
    if (!c->sample)
        c->sample = sample_new(log);
    if (c->sample)
        sample_clear(c->sample);
}

/* A minute other than the last is being counted. A tablet that is used little
 * waits, so that ten minutes make one record. */
static void heat_turn(struct heat_counter *c,
                      struct heat_log *log,
                      const struct heat_place *place,
                      uint32_t minute)
{
    bool waits;
    PRE(minute != c->last);
    INVARIANT(c->minute <= c->last); /* INV-1 */
    waits = minute > c->last && minute - c->minute < HEAT_SPAN_MAX &&
            is_used_little(c, log);
    if (waits) {
        c->last = minute;
        return;
    }
    heat_flush(c, log, place);
    heat_begin(c, log, minute);
}

/* --- the tablet ---------------------------------------------------------- */

void tablet_heat_init(struct tablet_heat *h)
{
    mutex_init(&h->lock);
    h->counter = NULL;
}

static struct heat_counter *counter_new(struct heat_log *log,
                                        const struct heat_place *place,
                                        uint32_t minute)
{
    struct heat_counter *c = mem_zalloc(1, sizeof(*c));
    PRE(log);
    PRE(place->table);
    c->layout = heat_layout_new(place, NULL, 0, NULL);
    heat_begin(c, log, minute);
    return c;
}

void tablet_heat_close(struct tablet_heat *h, struct heat_log *log)
{
    struct heat_counter *c = h->counter;
    PRE(!c || log);
    if (c) {
        const struct heat_place place = {c->layout->table, c->layout->bounds[0],
                                         c->layout->bounds[c->layout->count]};
        struct heat_layout *layout = heat_layout_ref(c->layout);
        heat_flush(c, log, &place);
        sample_free(c->sample, log);
        heat_layout_unref(c->layout);
        heat_layout_unref(layout);
        mem_free(c);
    }
    h->counter = NULL;
    mutex_close(&h->lock);
}

static void counter_add(struct heat_counter *c,
                        const struct heat_place *place,
                        const struct heat_operation *op)
{
    size_t range = heat_layout_find(c->layout, op->key);
    INVARIANT(c->minute <= c->last);    /* INV-1 */
    INVARIANT(c->sample || !c->is_cut); /* INV-2 */
    c->counts[range][op->kind] += op->rows;
    c->counts[range][LOAD_BYTES] += op->bytes;
    c->rows += op->rows;
    if (!c->sample)
        return;
    sample_offer(c->sample, op->key, op->kind);
    if (c->sample->offered % HEAT_SAMPLES == 0 && should_cut(c))
        heat_cut(c, place);
}

void tablet_heat_add(struct tablet_heat *h,
                     struct heat_log *log,
                     const struct heat_place *place,
                     const struct heat_operation *op,
                     uint64_t now_us)
{
    uint32_t minute = (uint32_t)(now_us / HEAT_MINUTE_US);
    PRE(op->kind != LOAD_BYTES);
    mutex_lock(&h->lock);
    if (!h->counter)
        h->counter = counter_new(log, place, minute);
    if (h->counter->last != minute)
        heat_turn(h->counter, log, place, minute);
    INVARIANT(h->counter->last == minute); /* INV-1 */
    counter_add(h->counter, place, op);
    mutex_unlock(&h->lock);
}

void tablet_heat_look(struct tablet_heat *h,
                      struct heat_log *log,
                      const struct heat_place *place,
                      void (*fn)(void *ctx, const struct heat_record *r),
                      void *ctx)
{
    struct heat_counter *c;
    mutex_lock(&h->lock);
    c = h->counter;
    INVARIANT(!c || c->minute <= c->last); /* INV-1 */
    if (c && c->rows) {
        struct heat_record r;
        if (should_cut(c) && !is_used_little(c, log))
            heat_cut(c, place);
        heat_fill(c, &r);
        fn(ctx, &r);
    }
    mutex_unlock(&h->lock);
}
