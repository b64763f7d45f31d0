/* Tables: a hash map from index keys to states of aggregates.
 *
 * Entries (key and state side by side) live in the table's arena and never
 * move; the map is open addressing over (hash, entry) pairs. A key is hashed
 * once per emit, and an unindexed table does not hash at all.
 */
#include "sawzall-lite/tables/saw_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"
#include "sawzall-lite/tables/impl.h"
#include "sawzall-lite/tables/table_state.h"

#define SLOT_COUNT_MIN 16

/* --- memory -------------------------------------------------------------- */

void *saw_table__resize(struct saw_table *t, void *p, size_t old, size_t bytes)
{
    /* INV-1 of impl.h, INV-2 of table_state.h. */
    INVARIANT(t->owned_bytes >= old);
    INVARIANT(t->budget->bytes >= old);
    t->budget->bytes = t->budget->bytes - old + bytes;
    t->owned_bytes = t->owned_bytes - old + bytes;
    if (bytes == 0) {
        mem_free(p);
        return NULL;
    }
    return mem_realloc(p, bytes);
}

/* The arena grows by itself; count what it holds after each use. */
static void *arena_take(struct saw_table *t, size_t bytes)
{
    size_t before = t->arena.reserved_bytes;
    void *p = arena_alloc(&t->arena, bytes);
    t->budget->bytes += t->arena.reserved_bytes - before;
    return p;
}

const struct saw_kind_ops *saw_table__ops(const struct saw_table *t)
{
    return t->ops;
}

size_t saw_table__param(const struct saw_table *t)
{
    return t->decl.param > 0 ? (size_t)t->decl.param : 0;
}

struct buf *saw_table__scratch(struct saw_table *t)
{
    buf_clear(&t->scratch);
    return &t->scratch;
}

int saw_table__corrupt(struct saw_table *t, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "table %s: malformed state", t->decl.name);
}

/* --- life ---------------------------------------------------------------- */

struct saw_table *saw_table_new(const struct saw_table_decl *decl,
                                struct saw_table_budget *budget)
{
    struct saw_table *t = mem_zalloc(1, sizeof(*t));

    PRE(decl->kind && decl->name);
    t->decl = *decl;
    t->ops = (const struct saw_kind_ops *)decl->kind;
    t->own_budget.bytes_max = SIZE_MAX;
    t->budget = budget ? budget : &t->own_budget;
    arena_init(&t->arena);
    buf_init(&t->scratch);
    return t;
}

static void close_states(struct saw_table *t)
{
    if (t->ops->close) {
        for (struct saw_entry *e = t->newest; e; e = e->older)
            t->ops->close(t, e->state);
    }
    INVARIANT(t->owned_bytes == t->slot_count * sizeof(*t->slots));
}

void saw_table_clear(struct saw_table *t)
{
    close_states(t);
    saw_table__resize(t, t->slots, t->slot_count * sizeof(*t->slots), 0);
    t->slots = NULL;
    t->slot_count = 0;
    t->count = 0;
    t->newest = NULL;
    t->last = NULL;
    INVARIANT(t->budget->bytes >= t->arena.reserved_bytes);
    t->budget->bytes -= t->arena.reserved_bytes;
    arena_close(&t->arena);
    POST(t->owned_bytes == 0); /* INV-2 */
}

void saw_table_free(struct saw_table *t)
{
    if (!t)
        return;
    saw_table_clear(t);
    buf_close(&t->scratch);
    mem_free(t);
}

const struct saw_table_decl *saw_table_decl(const struct saw_table *t)
{
    return &t->decl;
}

size_t saw_table_key_count(const struct saw_table *t)
{
    return t->count;
}

bool saw_table_wants_origin(const struct saw_table *t)
{
    return t->ops->wants_origin;
}

/* --- keys ---------------------------------------------------------------- */

static bool slot_is_free(const struct saw_slot_ref *s)
{
    return !s->entry;
}

static uint64_t slot_hash(const struct saw_slot_ref *s)
{
    return s->hash;
}

HASH_SLOTS_DEFINE(key_slots, struct saw_slot_ref, slot_is_free, slot_hash);

static void grow_slots(struct saw_table *t)
{
    size_t n = t->slot_count ? t->slot_count * 2 : SLOT_COUNT_MIN;
    struct saw_slot_ref *slots =
        saw_table__resize(t, NULL, 0, n * sizeof(*slots));
    memset(slots, 0, n * sizeof(*slots));
    key_slots_move(t->slots, t->slot_count, slots, n);
    saw_table__resize(t, t->slots, t->slot_count * sizeof(*slots), 0);
    t->slots = slots;
    t->slot_count = n;
    POST((t->count + 1) * 4 <= n * 3); /* INV-1 */
}

static struct saw_entry *new_entry(struct saw_table *t, struct slice key)
{
    size_t state_bytes = t->ops->state_bytes;
    struct saw_entry *e = arena_take(t, sizeof(*e) + state_bytes + key.len);
    memset(e, 0, sizeof(*e) + state_bytes);
    e->key_len = key.len;
    e->older = t->newest;
    t->newest = e;
    if (key.len)
        memcpy((char *)e->state + state_bytes, key.data, key.len);
    t->count++;
    return e;
}

static struct slice entry_key(const struct saw_table *t,
                              const struct saw_entry *e)
{
    return slice_make((const char *)e->state + t->ops->state_bytes, e->key_len);
}

/* The slot of @key: with its entry, or the free one where it belongs. */
static struct saw_slot_ref *
find_slot(struct saw_table *t, struct slice key, uint64_t hash)
{
    const struct saw_slot_ref *slots = t->slots;
    size_t at;
    HASH_SLOTS_SEEK(at, t->slot_count, hash,
                    !slots[at].entry ||
                        (slots[at].hash == hash &&
                         slice_eq(entry_key(t, slots[at].entry), key)));
    return &t->slots[at];
}

bool saw_table__full(const struct saw_table *t)
{
    return t->budget->bytes >= t->budget->bytes_max;
}

int saw_table__refuse(struct saw_table *t, struct err *err)
{
    int rc = err_set(err, ERR_EXHAUSTED,
                     "table %s: the tables of this run hold %zu bytes, their "
                     "limit",
                     t->decl.name, t->budget->bytes_max);
    err_hint(err, "raise the memory limit, or aggregate by fewer keys");
    return rc;
}

static bool is_last(const struct saw_table *t, struct slice key)
{
    return t->last && slice_eq(entry_key(t, t->last), key);
}

/* The state of @key, made when absent; ERR_EXHAUSTED when there is no room. */
static int
state_of(struct saw_table *t, struct slice key, void **state, struct err *err)
{
    struct saw_slot_ref *slot;
    uint64_t hash;

    if (is_last(t, key)) {
        *state = t->last->state;
        return 0;
    }
    if (t->decl.index_count == 0) {
        if (!t->newest) {
            if (saw_table__full(t))
                return saw_table__refuse(t, err);
            new_entry(t, key);
        }
        INVARIANT(t->count == 1 && !t->slots); /* INV-1 */
        t->last = t->newest;
        *state = t->newest->state;
        return 0;
    }
    if ((t->count + 1) * 4 > t->slot_count * 3)
        grow_slots(t);
    hash = hash64_slice(key);
    slot = find_slot(t, key, hash);
    if (!slot->entry) {
        if (saw_table__full(t))
            return saw_table__refuse(t, err);
        slot->entry = new_entry(t, key);
        slot->hash = hash;
    }
    t->last = slot->entry;
    *state = slot->entry->state;
    return 0;
}

int saw_table_emit(struct saw_table *t,
                   struct slice key,
                   struct slice element,
                   struct slice weight,
                   saw_emit_origin origin,
                   struct err *err)
{
    void *state;
    int rc;

    PRE(element.len > 0);
    if (UNLIKELY(saw_table__full(t)) && !t->ops->fixed_size)
        return saw_table__refuse(t, err);
    rc = state_of(t, key, &state, err);
    if (UNLIKELY(rc))
        return rc;
    return t->ops->add(t, state, element, weight, origin, err);
}

bool saw_table_takes_ints(const struct saw_table_decl *decl)
{
    return !decl->weighted &&
           ((const struct saw_kind_ops *)decl->kind)->add_int != NULL;
}

bool saw_table_takes_weights(const struct saw_table_decl *decl)
{
    return decl->weighted &&
           ((const struct saw_kind_ops *)decl->kind)->add_weight != NULL;
}

int saw_table_emit_int(struct saw_table *t,
                       struct slice key,
                       int64_t element,
                       struct err *err)
{
    void *state;
    int rc;

    if (UNLIKELY(saw_table__full(t)) && !t->ops->fixed_size)
        return saw_table__refuse(t, err);
    rc = state_of(t, key, &state, err);
    return UNLIKELY(rc) ? rc : t->ops->add_int(t, state, element, err);
}

int saw_table_emit_weight(struct saw_table *t,
                          struct slice key,
                          struct slice element,
                          int64_t weight,
                          struct err *err)
{
    void *state;
    int rc;

    if (UNLIKELY(saw_table__full(t)) && !t->ops->fixed_size)
        return saw_table__refuse(t, err);
    rc = state_of(t, key, &state, err);
    return UNLIKELY(rc) ? rc
                        : t->ops->add_weight(t, state, element, weight, err);
}

/* --- partial states ------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    const struct saw_sorted *x = a;
    const struct saw_sorted *y = b;
    return slice_cmp(x->key, y->key);
}

/* All entries, keys ascending; the caller frees the array. */
static struct saw_sorted *sorted_entries(struct saw_table *t)
{
    struct saw_sorted *v = mem_alloc((t->count + 1) * sizeof(*v));
    size_t n = 0;
    for (struct saw_entry *e = t->newest; e; e = e->older)
        v[n++] = (struct saw_sorted){entry_key(t, e), e->state};
    INVARIANT(n == t->count);
    qsort(v, n, sizeof(*v), by_key);
    return v;
}

void saw_table_encode(struct saw_table *t, struct buf *out)
{
    struct saw_sorted *v = sorted_entries(t);
    struct buf state = BUF_INIT;

    buf_put_u8(out, t->decl.kind->number);
    buf_put_varint(out, saw_table__param(t));
    buf_put_varint(out, t->decl.index_count);
    buf_put_varint(out, t->count);
    for (size_t i = 0; i < t->count; i++) {
        buf_clear(&state);
        t->ops->encode(t, v[i].state, &state);
        buf_put_lslice(out, v[i].key);
        buf_put_lslice(out, buf_slice(&state));
    }
    buf_close(&state);
    mem_free(v);
}

static bool valid_key(const struct saw_table *t, struct slice key)
{
    struct cursor c = cursor_make(key);
    for (size_t i = 0; i < t->decl.index_count; i++)
        saw_datum_skip(&c);
    return !c.bad && c.p == c.end;
}

int saw_table_merge_key(struct saw_table *t,
                        struct slice key,
                        struct slice bytes,
                        struct err *err)
{
    struct cursor sub = cursor_make(bytes);
    void *state;
    int rc;

    if (!valid_key(t, key))
        return saw_table__corrupt(t, err);
    if (saw_table__full(t))
        return saw_table__refuse(t, err);
    rc = state_of(t, key, &state, err);
    if (rc)
        return rc;
    rc = t->ops->merge(t, state, &sub, err);
    if (rc)
        return rc;
    if (sub.bad || sub.p != sub.end)
        return saw_table__corrupt(t, err);
    return 0;
}

static int merge_entry(struct saw_table *t, struct cursor *c, struct err *err)
{
    struct slice key = cursor_lslice(c);
    struct slice bytes = cursor_lslice(c);

    if (c->bad)
        return saw_table__corrupt(t, err);
    return saw_table_merge_key(t, key, bytes, err);
}

int saw_table_states(struct saw_table *t,
                     saw_key_state_fn fn,
                     void *ctx,
                     struct err *err)
{
    struct saw_sorted *v = sorted_entries(t);
    struct buf state = BUF_INIT;
    int rc = 0;

    for (size_t i = 0; i < t->count && rc == 0; i++) {
        buf_clear(&state);
        t->ops->encode(t, v[i].state, &state);
        rc = fn(ctx, v[i].key, buf_slice(&state), err);
    }
    buf_close(&state);
    mem_free(v);
    return rc;
}

bool saw_traits_negate(const struct saw_table_traits *kind,
                       struct slice state,
                       struct buf *out)
{
    const struct saw_kind_ops *ops = (const struct saw_kind_ops *)kind;
    return ops->negate && ops->negate(state, out);
}

bool saw_traits_names_column(const struct saw_table_traits *kind, size_t i)
{
    const struct saw_kind_ops *ops = (const struct saw_kind_ops *)kind;
    return i >= ops->column_count || (ops->columns && ops->columns[i]);
}

struct slice saw_traits_first(const struct saw_table_traits *kind,
                              struct slice state)
{
    const struct saw_kind_ops *ops = (const struct saw_kind_ops *)kind;
    return ops->first ? ops->first(state) : SLICE_EMPTY;
}

int saw_table_merge(struct saw_table *t, struct cursor *c, struct err *err)
{
    uint8_t kind = cursor_u8(c);
    uint64_t param = cursor_varint(c);
    uint64_t index_count = cursor_varint(c);
    size_t count = cursor_count(c, 2);
    int rc = 0;

    if (c->bad)
        return saw_table__corrupt(t, err);
    if (kind != t->decl.kind->number || param != saw_table__param(t) ||
        index_count != t->decl.index_count)
        return err_set(err, ERR_INVALID,
                       "table %s: state of another declaration", t->decl.name);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = merge_entry(t, c, err);
    return rc;
}

/* --- absorbing ----------------------------------------------------------- */

/* Everything of @from becomes @t's, which is empty. */
static void table_take_over(struct saw_table *t, struct saw_table *from)
{
    size_t bytes = from->owned_bytes + from->arena.reserved_bytes;

    PRE(t->count == 0);
    saw_table_clear(t);
    INVARIANT(from->budget->bytes >= bytes); /* INV-2 */
    from->budget->bytes -= bytes;
    t->budget->bytes += bytes;
    t->owned_bytes = from->owned_bytes;
    t->arena = from->arena;
    t->newest = from->newest;
    t->last = from->last;
    t->slots = from->slots;
    t->slot_count = from->slot_count;
    t->count = from->count;
    from->owned_bytes = 0;
    arena_init(&from->arena);
    from->newest = NULL;
    from->last = NULL;
    from->slots = NULL;
    from->slot_count = 0;
    from->count = 0;
}

/* Add one state of @from by its bytes. */
static int absorb_bytes(struct saw_table *t,
                        void *state,
                        struct saw_table *from,
                        void *other,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct cursor c;
    int rc;

    from->ops->encode(from, other, &bytes);
    c = cursor_make(buf_slice(&bytes));
    rc = t->ops->merge(t, state, &c, err);
    buf_close(&bytes);
    return rc;
}

static int absorb_entry(struct saw_table *t,
                        struct saw_table *from,
                        struct saw_entry *e,
                        struct err *err)
{
    void *state;
    int rc;

    if (saw_table__full(t))
        return saw_table__refuse(t, err);
    rc = state_of(t, entry_key(from, e), &state, err);
    if (rc)
        return rc;
    if (t->ops->absorb)
        return t->ops->absorb(t, state, from, e->state, err);
    return absorb_bytes(t, state, from, e->state, err);
}

int saw_table_absorb(struct saw_table *t,
                     struct saw_table *from,
                     struct err *err)
{
    int rc = 0;

    PRE(t != from && t->ops == from->ops &&
        t->decl.index_count == from->decl.index_count);
    if (t->count == 0 && from->budget->bytes_max >= t->budget->bytes_max)
        table_take_over(t, from);
    for (struct saw_entry *e = from->newest; e && rc == 0; e = e->older)
        rc = absorb_entry(t, from, e, err);
    saw_table_clear(from);
    return rc;
}

/* --- walking, for table_results.c ---------------------------------------- */

void saw_table__walk(struct saw_table *t, struct saw_walk *walk)
{
    struct saw_sorted *v = sorted_entries(t);
    for (size_t i = 0; i < t->count && !walk->lines.stopped; i++) {
        walk->key = v[i].key;
        walk->had_line = false;
        t->ops->results(t, v[i].state, &walk->lines);
        if (!walk->had_line && walk->none)
            walk->none(walk);
    }
    mem_free(v);
}
