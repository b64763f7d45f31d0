/* Tables and their views. */
#include "bigtable/store/store_table.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/store/store.h"
#include "bigtable/store/tablet.h"
#include "bigtable/write/done_changes.h"

struct store_table_view *store_table_view_new(const struct schema *schema,
                                              uint64_t generation,
                                              struct tablet *const *tablets,
                                              size_t count)
{
    struct store_table_view *v =
        mem_zalloc(1, sizeof(*v) + count * sizeof(struct tablet *));
    atomic_init(&v->references, 1);
    v->schema = schema_copy(schema);
    v->generation = generation;
    v->tablet_count = count;
    if (count)
        memcpy(v->tablets, tablets, count * sizeof(struct tablet *));
    return v;
}

void store_table_view_unref(struct store_table_view *v)
{
    if (!v || atomic_fetch_sub(&v->references, 1) != 1)
        return;
    for (size_t i = 0; i < v->tablet_count; i++)
        tablet_unref(v->tablets[i]);
    schema_free(v->schema);
    mem_free(v);
}

struct tablet *store_table_view_find(const struct store_table_view *v,
                                     struct slice row,
                                     size_t *index)
{
    size_t low = 0;
    size_t high = v->tablet_count;
    PRE(high > 0);
    while (high - low > 1) { /* The last one whose start is not above @row. */
        size_t mid = low + (high - low) / 2;
        if (slice_cmp(buf_slice(&v->tablets[mid]->start), row) <= 0)
            low = mid;
        else
            high = mid;
    }
    if (index)
        *index = low;
    return v->tablets[low];
}

size_t store_table_view_group(const struct store_table_view *v, uint32_t id)
{
    const struct locality_group *g = schema_group_by_id(v->schema, id);
    PRE(g != NULL);
    return (size_t)(g - v->schema->groups);
}

int64_t store_table_stamp_us(const struct store_table *t, int64_t wall_us)
{
    return MAX_OF(wall_us, (int64_t)atomic_load(&t->stamped_us));
}

void store_table_note_stamp(struct store_table *t, int64_t us)
{
    long long old = atomic_load_explicit(&t->stamped_us, memory_order_relaxed);
    while (old < us && !atomic_compare_exchange_weak(&t->stamped_us, &old, us))
        continue;
}

struct store_table *
store_table_new(struct store *store, uint64_t id, const char *name)
{
    struct store_table *t = mem_zalloc(1, sizeof(*t));
    atomic_init(&t->references, 1);
    t->store = store;
    t->id = id;
    snprintf(t->name, sizeof(t->name), "%s", name);
    mutex_init(&t->change_lock);
    mutex_init(&t->lock);
    cond_init(&t->opened);
    if (store && store->sharing)
        t->done = done_changes_new(store->world);
    return t;
}

struct store_table *store_table_ref(struct store_table *t)
{
    atomic_fetch_add(&t->references, 1);
    return t;
}

void store_table_unref(struct store_table *t)
{
    if (!t || atomic_fetch_sub(&t->references, 1) != 1)
        return;
    INVARIANT(t->view == NULL);
    done_changes_free(t->done);
    cond_close(&t->opened);
    mutex_close(&t->lock);
    mutex_close(&t->change_lock);
    mem_free(t);
}

struct store_table_view *store_table_get_view(struct store_table *t)
{
    struct store_table_view *v;
    mutex_lock(&t->lock);
    v = t->view;
    if (v)
        atomic_fetch_add(&v->references, 1);
    mutex_unlock(&t->lock);
    return v;
}

bool store_table_view_is_current(const struct store_table *t,
                                 const struct store_table_view *v)
{
    return t->view == v;
}

void store_table_set_view(struct store_table *t, struct store_table_view *v)
{
    struct store_table_view *old;
    mutex_lock(&t->lock);
    old = t->view;
    t->view = v;
    mutex_unlock(&t->lock);
    store_table_view_unref(old);
}

void store_table_close_writes(struct store_table *t)
{
    mutex_lock(&t->lock);
    t->closed = true;
    mutex_unlock(&t->lock);
}

void store_table_open_writes(struct store_table *t)
{
    mutex_lock(&t->lock);
    t->closed = false;
    cond_broadcast(&t->opened);
    mutex_unlock(&t->lock);
}

void store_table_wait_open(struct store_table *t)
{
    mutex_lock(&t->lock);
    while (t->closed)
        cond_wait(&t->opened, &t->lock);
    mutex_unlock(&t->lock);
}

int store_table_gone(const struct store_table *t, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "table %s was dropped", t->name);
}
