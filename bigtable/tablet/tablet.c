/* Tablets in memory: references, entries and snapshots. Opening one, and what
 * its lsm calls back, is the store's (open_tablet.c).
 */
#include "bigtable/tablet/tablet.h"

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/version.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"

void tablet_set_options(struct tablet *t, const struct schema *schema)
{
    PRE(schema->group_count <= atomic_load(&t->group_count));
    for (size_t i = 0; i < schema->group_count; i++) {
        const struct group_options *o = &schema->groups[i].options;
        INVARIANT(t->groups[i]->id == schema->groups[i].id); /* INV-1 */
        t->groups[i]->memtable_bytes = o->memtable_bytes;
        lsm_set_options(t->groups[i]->lsm, o);
    }
    tablet_changes_configure(t->changes, schema);
}

struct tablet *tablet_ref(struct tablet *t)
{
    unsigned before = atomic_fetch_add(&t->references, 1);
    PRE(before > 0);
    return t;
}

void tablet_unref(struct tablet *t)
{
    unsigned before = t ? atomic_fetch_sub(&t->references, 1) : 0;
    if (!t || before > 1)
        return;
    INVARIANT(before == 1);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        t->env->ops->close_group(t->groups[i]);
    tablet_changes_free(t->changes);
    tablet_heat_close(&t->heat, t->env->heat);
    table_part_unref(t->table);
    buf_close(&t->start);
    buf_close(&t->end);
    buf_close(&t->start_key);
    buf_close(&t->end_key);
    mem_free(t);
}

void tablet_retire(struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct tablet_group *g = t->groups[i];
        INVARIANT(g->tablet == t);
        lsm_cancel(g->lsm);
        mutex_lock(&g->edit_lock);
        atomic_store(&g->retired, true);
        mutex_unlock(&g->edit_lock);
    }
}

void tablet_hold_edits(struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        INVARIANT(t->groups[i]->tablet == t);
        mutex_lock(&t->groups[i]->edit_lock);
    }
}

void tablet_release_edits(struct tablet *t, bool retired)
{
    for (size_t i = atomic_load(&t->group_count); i-- > 0;) {
        PRE(mutex_is_held(&t->groups[i]->edit_lock));
        if (retired)
            atomic_store(&t->groups[i]->retired, true);
        mutex_unlock(&t->groups[i]->edit_lock);
    }
}

bool tablet_contains(const struct tablet *t, struct slice row)
{
    return slice_cmp(buf_slice(&t->start), row) <= 0 &&
           (t->end.len == 0 || slice_cmp(row, buf_slice(&t->end)) < 0);
}

uint64_t tablet_last_sequence(const struct tablet *t)
{
    uint64_t last = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        const struct tablet_group *g = t->groups[i];
        last = MAX_OF(last, atomic_load(&g->last_sequence));
    }
    return last;
}

static void add_change_tables(const struct tablet_group *g,
                              struct change_file_info **out,
                              size_t *count)
{
    struct lsm_snapshot *s = lsm_snapshot_new(g->lsm);
    const struct version *v = s->version;
    PRE(v->tables || v->table_count == 0);
    *out = mem_realloc(*out, (*count + v->table_count + 1) * sizeof(**out));
    for (size_t i = 0; i < v->table_count; i++) {
        const struct sstable_properties *p =
            sstable_reader_properties(v->tables[i]->reader);
        if (p->changes.end_sequence)
            (*out)[(*count)++] = (struct change_file_info){
                g->id, {v->tables[i]->info, p->changes}};
    }
    lsm_snapshot_free(s);
}

void tablet_change_tables(const struct tablet *t,
                          struct change_file_info **out,
                          size_t *count)
{
    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        add_change_tables(t->groups[i], out, count);
}

uint64_t tablet_table_bytes(const struct tablet *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        bytes += atomic_load(&t->groups[i]->crossing_count)
                     ? stats.table_bytes / 2
                     : stats.table_bytes;
    }
    return bytes;
}

size_t tablet_crossing_files(const struct tablet *t)
{
    size_t count = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        count += atomic_load(&t->groups[i]->crossing_count);
    return count;
}

void tablet_add_heat(struct tablet *t,
                     const struct heat_operation *op,
                     unsigned weight)
{
    const struct heat_place place = {t->table->name, buf_slice(&t->start),
                                     buf_slice(&t->end)};
    struct heat_operation weighted = *op;
    PRE(weight > 0);
    if (!t->env->heat)
        return;
    weighted.rows *= weight;
    weighted.bytes *= weight;
    tablet_heat_add(&t->heat, t->env->heat, &place, &weighted,
                    world_now_us(t->env->world));
}

/* --- memtables ----------------------------------------------------------- */

static void note_commit(const struct tablet_group *g,
                        const struct tablet_changes *c)
{
    PRE(c->commit_sequence > 0);
    if (UNLIKELY(c->is_loose))
        lsm_note_loose_commit(g->lsm, c->commit_sequence, c->commit_us);
    else
        lsm_note_commit(g->lsm, c->commit_sequence, c->commit_us,
                        c->commit_again);
}

void tablet_group_insert(struct tablet_group *g,
                         struct skip_batch *batch,
                         struct slice key,
                         struct slice value,
                         uint64_t sequence)
{
    const struct tablet_changes *c = g->tablet->changes;
    ASSERT_SLOW(sequence > 0);
    if (UNLIKELY(tablet_group_is_clean(g)))
        atomic_store(&g->low_sequence, sequence);
    if (atomic_load_explicit(&c->on, memory_order_relaxed))
        note_commit(g, c);
    if (batch)
        lsm_insert_with(g->lsm, batch, key, value);
    else
        lsm_insert(g->lsm, key, value);
    atomic_store_explicit(&g->last_sequence, sequence, memory_order_release);
}

void tablet_group_freeze(struct tablet_group *g, uint64_t sequence)
{
    struct tablet *t = g->tablet;
    uint64_t before = atomic_fetch_add(&t->freeze_epoch, 1);
    INVARIANT(before % 2 == 0); /* INV-4 */
    lsm_freeze(g->lsm, sequence);
    atomic_fetch_add(&t->freeze_epoch, 1);
}

/* The order matters. A snapshot pins what is stored; entries written later than
 * the sequence number read afterwards are hidden by it, so that all groups show
 * the same moment, unless a memtable was frozen in between: its successor would
 * be missing. Then it is all done again. */
void tablet_snapshot_take(struct tablet *t, struct tablet_snapshot *s)
{
    const struct tablet_env *env = t->env;
    uint64_t epoch;
    s->tablet = tablet_ref(t);
    for (;;) {
        epoch = atomic_load(&t->freeze_epoch);
        s->group_count = atomic_load(&t->group_count);
        INVARIANT(s->group_count <= GROUP_COUNT_MAX);
        for (size_t i = 0; i < s->group_count; i++)
            s->groups[i] = lsm_snapshot_new(t->groups[i]->lsm);
        s->sequence = atomic_load(&env->visible);
        if (LIKELY(epoch % 2 == 0 && epoch == atomic_load(&t->freeze_epoch)))
            return;
        for (size_t i = 0; i < s->group_count; i++)
            lsm_snapshot_free(s->groups[i]);
    }
}

void tablet_snapshot_drop(struct tablet_snapshot *s)
{
    PRE(s->tablet);
    for (size_t i = 0; i < s->group_count; i++)
        lsm_snapshot_free(s->groups[i]);
    tablet_unref(s->tablet);
}
