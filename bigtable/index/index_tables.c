/* The tables of entries that a store has open: an index's is opened at its
 * first use, and stays open until the store is closed.
 */
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index.h"
#include "bigtable/index/index_write.h"
#include "bigtable/row/schema.h" /* TABLE_NAME_BYTES_MAX */

/* A handle is made when the store's first index is used. */
struct index_handles {
    struct mutex lock;
    struct hash_map by_name; /* To struct quarry_table, owned. */
};

/* Only one of those that race to make it puts it there. */
static struct index_handles *handles_of(struct quarry *q)
{
    struct index_handles *h = atomic_load(&q->indexes);
    struct index_handles *mine;
    if (h)
        return h;
    mine = mem_zalloc(1, sizeof(*mine));
    mutex_init(&mine->lock);
    hash_map_init(&mine->by_name, HASH_KEYS_COPIED);
    if (atomic_compare_exchange_strong(&q->indexes, &h, mine))
        return mine;
    hash_map_close(&mine->by_name);
    mutex_close(&mine->lock);
    mem_free(mine);
    return h;
}

static struct quarry_table *find_open(struct index_handles *h, const char *name)
{
    PRE(*name);
    union hash_value *v;
    struct quarry_table *t;
    mutex_lock(&h->lock);
    v = hash_map_get(&h->by_name, slice_str(name));
    t = v ? v->pointer : NULL;
    mutex_unlock(&h->lock);
    return t;
}

/* Another may have opened it meanwhile: then its handle is taken. */
static struct quarry_table *
put_open(struct index_handles *h, const char *name, struct quarry_table *t)
{
    PRE(t);
    union hash_value *v;
    struct quarry_table *spare = NULL;
    bool added;
    mutex_lock(&h->lock);
    v = hash_map_put(&h->by_name, slice_str(name), &added);
    if (added) {
        v->pointer = t;
    } else {
        spare = t;
        t = v->pointer;
    }
    mutex_unlock(&h->lock);
    quarry_table_close(spare);
    POST(t);
    return t;
}

int index_table(struct quarry *q,
                const struct index_def *d,
                struct quarry_table **out,
                struct err *err)
{
    struct index_handles *h = handles_of(q);
    char name[TABLE_NAME_BYTES_MAX + 1];
    int rc = 0;
    index_table_name(d, name);
    *out = find_open(h, name);
    if (*out)
        return 0;
    rc = quarry_table_open(q, name, out, err);
    if (rc)
        err_wrap(err, "index %s", d->name);
    else
        *out = put_open(h, name, *out);
    POST(rc || *out);
    return rc;
}

void index_tables_close(struct quarry *q)
{
    struct index_handles *h = atomic_load(&q->indexes);
    struct hash_slot *slot;
    size_t at = 0;
    if (!h)
        return;
    while ((slot = hash_map_next(&h->by_name, &at)) != NULL)
        quarry_table_close(slot->value.pointer);
    hash_map_close(&h->by_name);
    mutex_close(&h->lock);
    mem_free(h);
    atomic_store(&q->indexes, NULL);
}

int index_take_set(struct quarry *q, const char *table, struct index_set **out)
{
    struct quarry_table *t;
    PRE(q->ops);
    *out = NULL;
    if (strncmp(table, INDEX_TABLE_PREFIX, strlen(INDEX_TABLE_PREFIX)) == 0 ||
        quarry_table_open(q, table, &t, NULL))
        return 0;
    if (q->ops->table_indexes(t, out, NULL))
        *out = NULL;
    quarry_table_close(t);
    return 0;
}

void index_drop_tables(struct quarry *q, const struct index_set *set)
{
    char name[TABLE_NAME_BYTES_MAX + 1];
    for (size_t i = 0; set && i < set->count; i++) {
        index_table_name(&set->defs[i], name);
        /* It stays, hidden, and is nobody's. */
        IGNORE_RESULT(quarry_table_drop(q, name, NULL));
    }
}

/* The log of a directory is one: what was logged before a row is there when
 * the row is. */
struct quarry_write_options index_durability(const struct quarry *q)
{
    return (struct quarry_write_options){
        quarry_is_directory(q) ? QUARRY_LOGGED : QUARRY_SYNCED};
}
