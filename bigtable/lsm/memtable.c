/* Memtables: see memtable.h. */
#include "bigtable/lsm/memtable.h"

#include "base/core/panic.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/cell_key.h"

struct memtable *memtable_new(struct chunk_pool *pool)
{
    struct memtable *m = mem_zalloc(1, sizeof(*m));

    atomic_init(&m->refs, 1);
    skip_list_init(&m->list, pool);
    return m;
}

struct memtable *memtable_ref(struct memtable *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void memtable_unref(struct memtable *m)
{
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    skip_list_close(&m->list);
    mem_free(m);
}

/* Takes note of @key. Returns how much of it is the same in all versions of its
 * cell; 0: it is of no cell. */
static size_t memtable_note(struct memtable *m, struct slice key)
{
    enum entry_kind kind = cell_key_kind(key);

    if (kind == ENTRY_DELETE_ROW || kind == ENTRY_DELETE_FAMILY)
        atomic_store_explicit(&m->has_scope_deletions, true,
                              memory_order_relaxed);
    return entry_kind_has_column(kind) && key.len > CELL_KEY_VERSION_BYTES
               ? key.len - CELL_KEY_VERSION_BYTES
               : 0;
}

void memtable_insert(struct memtable *m, struct slice key, struct slice value)
{
    skip_list_insert(&m->list, key, memtable_note(m, key), value);
}

void memtable_insert_with(struct memtable *m,
                          struct skip_batch *b,
                          struct slice key,
                          struct slice value)
{
    skip_batch_insert(b, &m->list, key, memtable_note(m, key), value);
}
