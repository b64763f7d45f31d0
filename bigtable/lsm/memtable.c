/* Memtables: reference counts over a skip list, and notes of the entries'
 * kinds.
 *
 * Deletions of rows and families are noted because they are rare: a point read
 * searches for them only where there is one (lsm_get.c).
 */
#include "bigtable/lsm/memtable.h"

#include "base/core/panic.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/cell_key.h"

struct memtable *memtable_new(struct chunk_pool *pool, bool ordered)
{
    struct memtable *m = mem_zalloc(1, sizeof(*m));

    if (ordered)
        m->order = change_order_new();

    atomic_init(&m->refs, 1);
    skip_list_init(&m->list, pool);
    POST(memtable_count(m) == 0);
    return m;
}

struct memtable *memtable_ref(struct memtable *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    PRE(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0);
    return m;
}

void memtable_unref(struct memtable *m)
{
    unsigned before =
        atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel);

    INVARIANT(before > 0);
    if (before > 1)
        return;
    change_order_free(m->order);
    skip_list_close(&m->list);
    mem_free(m);
}

static void memtable_order(struct memtable *m, const struct skip_node *n)
{
    size_t grown;

    PRE(m->order);
    grown = change_order_add(m->order, n);
    if (UNLIKELY(grown))
        atomic_fetch_add_explicit(&m->list.memory, grown, memory_order_relaxed);
}

/* Note the kind of @key. Returns the length of the part that all versions of
 * its cell share; 0: it is not a cell's key. */
static size_t memtable_note(struct memtable *m, struct slice key)
{
    enum entry_kind kind = cell_key_kind(key);
    PRE(key.len > 0);

    if (kind == ENTRY_DELETE_ROW || kind == ENTRY_DELETE_FAMILY)
        atomic_store_explicit(&m->has_scope_deletions, true,
                              memory_order_relaxed);
    return entry_kind_has_column(kind) && key.len > CELL_KEY_VERSION_BYTES
               ? key.len - CELL_KEY_VERSION_BYTES
               : 0;
}

void memtable_insert(struct memtable *m, struct slice key, struct slice value)
{
    const struct skip_node *n;

    PRE(m->sequence == 0); /* INV-3 of lsm.h */
    n = skip_list_insert(&m->list, key, memtable_note(m, key), value);
    if (m->order)
        memtable_order(m, n);
}

void memtable_insert_with(struct memtable *m,
                          struct skip_batch *b,
                          struct slice key,
                          struct slice value)
{
    const struct skip_node *n;

    PRE(m->sequence == 0); /* INV-3 of lsm.h */
    n = skip_batch_insert(b, &m->list, key, memtable_note(m, key), value);
    if (m->order)
        memtable_order(m, n);
}
