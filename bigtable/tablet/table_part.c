/* Parts of tables, and their views.
 *
 * Readers take the view's reference under the part's lock, for a few
 * instructions: a view must not be freed between reading the pointer and
 * counting. Writers compare pointers instead (table_part_view_is_current),
 * since the turn they hold keeps the view in place.
 */
#include "bigtable/tablet/table_part.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/tablet.h"

/* INV-2. An empty end has no bound: only the last tablet may have it. */
static void table_part_view_check(const struct table_part_view *v)
{
    for (size_t i = 1; i < v->tablet_count; i++) {
        struct slice start = buf_slice(&v->tablets[i]->start);
        INVARIANT(start.len > 0);
        INVARIANT(slice_eq(buf_slice(&v->tablets[i - 1]->end), start));
    }
}

struct table_part_view *table_part_view_new(const struct schema *schema,
                                            uint64_t generation,
                                            struct tablet *const *tablets,
                                            size_t count)
{
    struct table_part_view *v =
        mem_zalloc(1, sizeof(*v) + count * sizeof(struct tablet *));
    PRE(tablets || count == 0);
    atomic_init(&v->references, 1);
    v->schema = schema_copy(schema);
    v->generation = generation;
    v->tablet_count = count;
    if (count)
        memcpy(v->tablets, tablets, count * sizeof(struct tablet *));
    table_part_view_check(v);
    return v;
}

void table_part_view_unref(struct table_part_view *v)
{
    unsigned before = v ? atomic_fetch_sub(&v->references, 1) : 0;
    if (!v || before > 1)
        return;
    INVARIANT(before == 1);
    for (size_t i = 0; i < v->tablet_count; i++)
        tablet_unref(v->tablets[i]);
    schema_free(v->schema);
    mem_free(v);
}

struct tablet *table_part_view_find(const struct table_part_view *v,
                                    struct slice row,
                                    size_t *index)
{
    size_t low = 0;
    size_t high = v->tablet_count;
    PRE(high > 0);
    while (high - low > 1) { /* Find the last start that is not above @row. */
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

size_t table_part_view_group(const struct table_part_view *v, uint32_t id)
{
    const struct locality_group *g = schema_group_by_id(v->schema, id);
    PRE(g != NULL);
    return (size_t)(g - v->schema->groups);
}

int64_t table_part_stamp_us(const struct table_part *t, int64_t wall_us)
{
    return MAX_OF(wall_us, (int64_t)atomic_load(&t->stamped_us));
}

void table_part_note_stamp(struct table_part *t, int64_t us)
{
    long long old = atomic_load_explicit(&t->stamped_us, memory_order_relaxed);
    while (old < us && !atomic_compare_exchange_weak(&t->stamped_us, &old, us))
        continue;
    POST(atomic_load(&t->stamped_us) >= us); /* INV-1 */
}

struct table_part *
table_part_new(uint64_t id, const char *name, struct done_changes *done)
{
    struct table_part *t = mem_zalloc(1, sizeof(*t));
    PRE(strlen(name) <= TABLE_NAME_BYTES_MAX);
    atomic_init(&t->references, 1);
    t->id = id;
    snprintf(t->name, sizeof(t->name), "%s", name);
    mutex_init(&t->change_lock);
    mutex_init(&t->lock);
    cond_init(&t->opened);
    t->done = done;
    return t;
}

struct table_part *table_part_ref(struct table_part *t)
{
    unsigned before = atomic_fetch_add(&t->references, 1);
    PRE(before > 0);
    return t;
}

void table_part_unref(struct table_part *t)
{
    unsigned before = t ? atomic_fetch_sub(&t->references, 1) : 0;
    if (!t || before > 1)
        return;
    INVARIANT(before == 1);
    INVARIANT(t->view == NULL); /* INV-3 */
    done_changes_free(t->done);
    cond_close(&t->opened);
    mutex_close(&t->lock);
    mutex_close(&t->change_lock);
    mem_free(t);
}

struct table_part_view *table_part_get_view(struct table_part *t)
{
    struct table_part_view *v;
    mutex_lock(&t->lock);
    v = t->view;
    INVARIANT(!v || atomic_load(&v->references) > 0);
    if (v)
        atomic_fetch_add(&v->references, 1);
    mutex_unlock(&t->lock);
    return v;
}

bool table_part_view_is_current(const struct table_part *t,
                                const struct table_part_view *v)
{
    return t->view == v;
}

void table_part_set_view(struct table_part *t, struct table_part_view *v)
{
    struct table_part_view *old;
    mutex_lock(&t->lock);
    old = t->view;
    PRE(!v || v != old);
    t->view = v;
    if (v && v->schema->txn_count)
        atomic_store(&t->has_transactions, true);
    mutex_unlock(&t->lock);
    table_part_view_unref(old);
}

void table_part_close_writes(struct table_part *t)
{
    mutex_lock(&t->lock);
    t->closed = true; /* It may be closed already: INV-4. */
    mutex_unlock(&t->lock);
}

void table_part_open_writes(struct table_part *t)
{
    mutex_lock(&t->lock);
    PRE(t->closed); /* INV-4 */
    t->closed = false;
    cond_broadcast(&t->opened);
    mutex_unlock(&t->lock);
}

void table_part_wait_open(struct table_part *t)
{
    mutex_lock(&t->lock);
    while (t->closed)
        cond_wait(&t->opened, &t->lock);
    mutex_unlock(&t->lock);
}

int table_part_gone(const struct table_part *t, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "table %s was dropped", t->name);
}
