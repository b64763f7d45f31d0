/* Versions, states, and how a state is pinned without a lock.
 *
 * A reader that loads a shared pointer and then counts a reference may lose the
 * object between the two steps. Here one word holds both the pointer and a
 * count of pins, so that a single addition pins (split reference counting). The
 * state's own count starts at a bias that pins never reach; unpinning subtracts
 * from it. When the state leaves the slot, the pins counted there are added,
 * the bias is subtracted, and the thread that brings the count to zero frees
 * the state.
 */
#include "bigtable/lsm/version.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_reader.h"

#define POINTER_BITS 48
#define POINTER_MASK ((UINT64_C(1) << POINTER_BITS) - 1)
#define ONE_PIN      (UINT64_C(1) << POINTER_BITS)
#define STATE_BIAS   (INT64_C(1) << 60)
/* At this many pins they are moved into the state's own count: the upper bits
 * hold 65,535, and fewer threads than the difference pin at the same time. */
#define PINS_FOLD UINT64_C(0x8000)

/* --- SSTables ------------------------------------------------------------ */

static struct slice copy_key(struct slice key)
{
    return slice_make(mem_strndup(key.data, key.len), key.len);
}

static void free_key(struct slice key)
{
    char *p;

    memcpy(&p, &key.data, sizeof(p)); /* Drop the const: it is ours. */
    mem_free(p);
}

struct sstable_file *sstable_file_new(const struct lsm_table *info,
                                      struct sstable_reader *reader,
                                      const struct lsm_hooks *hooks)
{
    struct sstable_file *f = mem_zalloc(1, sizeof(*f));

    PRE(reader);
    atomic_init(&f->refs, 1);
    f->info = *info;
    f->info.first_key = copy_key(info->first_key);
    f->info.last_key = copy_key(info->last_key);
    f->reader = reader;
    f->hooks = *hooks;
    if (sstable_reader_properties(reader)->sequence_max == 0)
        f->given_sequence = info->sequence_max;
    return f;
}

struct sstable_file *sstable_file_ref(struct sstable_file *f)
{
    PRE(f->refs > 0);
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void sstable_file_unref(struct sstable_file *f)
{
    unsigned before =
        atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel);

    INVARIANT(before > 0);
    if (before > 1)
        return;
    sstable_reader_unref(f->reader);
    if (atomic_load(&f->removed) && f->hooks.unlink)
        f->hooks.unlink(f->hooks.ctx, f->info.number);
    free_key(f->info.first_key);
    free_key(f->info.last_key);
    mem_free(f);
}

/* --- versions ------------------------------------------------------------ */

/* Newest run first, inside a run by key. */
static int compare_files(const void *a, const void *b)
{
    const struct lsm_table *x = &(*(struct sstable_file *const *)a)->info;
    const struct lsm_table *y = &(*(struct sstable_file *const *)b)->info;

    if (x->run != y->run)
        return x->run > y->run ? -1 : 1;
    return slice_cmp(x->first_key, y->first_key);
}

static void add_to_run(struct run *r, const struct sstable_file *f)
{
    const struct sstable_properties *p = sstable_reader_properties(f->reader);
    PRE(r->tables);

    r->table_count++;
    r->has_scope_deletions |= p->scope_count > 0;
    r->time_max_us =
        p->tombstone_count ? INT64_MAX : MAX_OF(r->time_max_us, p->time_max_us);
}

static void group_runs(struct version *v)
{
    for (size_t i = 0; i < v->table_count; i++) {
        struct sstable_file *f = v->tables[i];
        struct run *r = v->run_count ? &v->runs[v->run_count - 1] : NULL;
        if (!r || r->number != f->info.run) {
            INVARIANT(!r || r->number > f->info.run); /* INV-4 */
            r = &v->runs[v->run_count++];
            *r = (struct run){.number = f->info.run,
                              .tables = v->tables + i,
                              .time_max_us = INT64_MIN};
        } else {
            INVARIANT(slice_cmp(v->tables[i - 1]->info.last_key,
                                f->info.first_key) < 0);
        }
        add_to_run(r, f);
    }
}

struct version *version_new(struct sstable_file *const *files, size_t count)
{
    struct version *v = mem_zalloc(1, sizeof(*v));
    PRE(files || count == 0);

    atomic_init(&v->refs, 1);
    v->table_count = count;
    v->tables = mem_alloc(count * sizeof(struct sstable_file *));
    v->runs = mem_zalloc(count + 1, sizeof(*v->runs));
    for (size_t i = 0; i < count; i++)
        v->tables[i] = sstable_file_ref(files[i]);
    if (count > 0)
        qsort(v->tables, count, sizeof(struct sstable_file *), compare_files);
    group_runs(v);
    POST(v->run_count <= v->table_count);
    return v;
}

struct version *version_ref(struct version *v)
{
    PRE(v->refs > 0);
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void version_unref(struct version *v)
{
    unsigned before =
        atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel);

    INVARIANT(before > 0);
    if (before > 1)
        return;
    for (size_t i = 0; i < v->table_count; i++)
        sstable_file_unref(v->tables[i]);
    mem_free(v->tables);
    mem_free(v->runs);
    mem_free(v);
}

uint32_t run_find(const struct run *r, struct slice key)
{
    uint32_t low = 0;
    uint32_t high = r->table_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(r->tables[middle]->info.last_key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    POST(low <= r->table_count);
    return low;
}

/* --- states -------------------------------------------------------------- */

struct lsm_snapshot *state_new(struct lsm *lsm,
                               struct version *version,
                               struct memtable *const *mems,
                               size_t mem_count)
{
    struct lsm_snapshot *s =
        mem_alloc(sizeof(*s) + mem_count * sizeof(struct memtable *));

    PRE(version);
    PRE(mem_count > 0);
    for (size_t i = 2; i < mem_count; i++) /* INV-3: [0] is not frozen. */
        INVARIANT(mems[i - 1]->sequence >= mems[i]->sequence);
    atomic_init(&s->refs, STATE_BIAS);
    s->lsm = lsm;
    s->version = version_ref(version);
    s->mem_count = mem_count;
    for (size_t i = 0; i < mem_count; i++)
        s->mems[i] = memtable_ref(mems[i]);
    return s;
}

static void state_free(struct lsm_snapshot *s)
{
    PRE(s->mem_count > 0);
    PRE(s->version);
    version_unref(s->version);
    for (size_t i = 0; i < s->mem_count; i++)
        memtable_unref(s->mems[i]);
    mem_free(s);
}

static void add_refs(struct lsm_snapshot *s, int64_t count)
{
    int64_t before =
        atomic_fetch_add_explicit(&s->refs, count, memory_order_acq_rel);

    INVARIANT(before + count >= 0);
    if (before + count == 0)
        state_free(s);
}

static struct lsm_snapshot *state_of(uint64_t word)
{
    return (struct lsm_snapshot *)(uintptr_t)(word & POINTER_MASK);
}

static uint64_t word_of(struct lsm_snapshot *s)
{
    uint64_t word = (uintptr_t)s;

    INVARIANT((word & ~POINTER_MASK) == 0);
    return word;
}

void state_slot_init(struct state_slot *slot, struct lsm_snapshot *s)
{
    atomic_init(&slot->word, word_of(s));
    PRE(s);
}

static void version_retire(uint64_t word)
{
    PRE(state_of(word));
    add_refs(state_of(word), (int64_t)(word >> POINTER_BITS) - STATE_BIAS);
}

void state_slot_close(struct state_slot *slot)
{
    PRE(atomic_load(&slot->word));
    version_retire(atomic_exchange(&slot->word, 0));
}

void state_publish(struct state_slot *slot, struct lsm_snapshot *s)
{
    PRE(s);
    version_retire(atomic_exchange(&slot->word, word_of(s)));
}

/* Move the pins counted in the slot into the state, which we hold. */
static void fold_pins(struct state_slot *slot, struct lsm_snapshot *s)
{
    uint64_t word = atomic_load(&slot->word);
    PRE(s);

    while (state_of(word) == s && (word >> POINTER_BITS) >= PINS_FOLD) {
        if (atomic_compare_exchange_weak(&slot->word, &word, word_of(s))) {
            add_refs(s, (int64_t)(word >> POINTER_BITS));
            return;
        }
    }
}

struct lsm_snapshot *state_pin(struct state_slot *slot)
{
    uint64_t word =
        atomic_fetch_add_explicit(&slot->word, ONE_PIN, memory_order_acq_rel);
    struct lsm_snapshot *s = state_of(word);

    if (UNLIKELY((word >> POINTER_BITS) + 1 >= PINS_FOLD))
        fold_pins(slot, s);
    POST(s);
    return s;
}

struct lsm_snapshot *state_with_tables(const struct lsm_snapshot *s,
                                       struct sstable_file *const *more,
                                       size_t count)
{
    const struct version *old = s->version;
    uint32_t run = old->run_count ? old->runs[0].number : 0;
    struct sstable_file **files = mem_alloc((old->table_count + count + 1) *
                                            sizeof(struct sstable_file *));
    struct state_slot slot;
    struct lsm_snapshot *pinned;
    struct version *v;

    PRE(count < UINT32_MAX - run);
    for (size_t i = 0; i < old->table_count; i++)
        files[i] = old->tables[i];
    for (size_t i = 0; i < count; i++) {
        more[i]->info.run = ++run;
        files[old->table_count + i] = more[i];
    }
    v = version_new(files, old->table_count + count);
    state_slot_init(&slot, state_new(s->lsm, v, s->mems, s->mem_count));
    pinned = state_pin(&slot);
    state_slot_close(&slot);
    version_unref(v);
    mem_free(files);
    return pinned;
}

struct lsm_snapshot *state_ref(struct lsm_snapshot *s)
{
    PRE(s);
    add_refs(s, 1);
    return s;
}

void state_unpin(struct lsm_snapshot *s)
{
    PRE(s);
    add_refs(s, -1);
}
