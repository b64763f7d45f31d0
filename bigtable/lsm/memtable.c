/* Memtables: see memtable.h. */
#include "bigtable/lsm/memtable.h"

#include "base/core/panic.h"
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

void memtable_insert(struct memtable *m, struct slice key, struct slice value)
{
    enum entry_kind kind = cell_key_kind(key);

    if (kind == ENTRY_DELETE_ROW || kind == ENTRY_DELETE_FAMILY)
        atomic_store_explicit(&m->has_scope_deletions, true,
                              memory_order_relaxed);
    if (entry_kind_has_column(kind) && key.len >= CELL_KEY_VERSION_BYTES)
        skip_list_insert_version(&m->list, key,
                                 key.len - CELL_KEY_VERSION_BYTES, value);
    else
        skip_list_insert(&m->list, key, value);
}
