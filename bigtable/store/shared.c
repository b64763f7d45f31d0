/* A store of a tablet server: opening it over what its server gives it, and
 * serving, closing and giving up single tablets. A tablet that is given up is
 * retired, so that no flush of ours changes its record any more; what it has in
 * memory alone is left to the log, from which its next server reads it.
 */
#include "bigtable/store/shared.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/store/maintain.h"
#include "bigtable/tablet/tablet.h"

int store_open_shared(struct world *world,
                      const struct store_options *opts,
                      const struct store_sharing *sharing,
                      struct store **out,
                      struct err *err)
{
    PRE(sharing->fs);
    PRE(sharing->registry);
    PRE(sharing->log);

    struct store *s = store__new(world, opts);
    (void)err; /* Nothing is read yet. */
    s->sharing = mem_zalloc(1, sizeof(*s->sharing));
    *s->sharing = *sharing;
    s->env.dir = s->dir = mem_strdup("");
    s->fs = sharing->fs;
    s->registry = sharing->registry;
    s->env.log = sharing->log;
    file_numbers_begin_at(&s->numbers, sharing->first_id);
    atomic_store(&s->next_tablet, sharing->first_id);
    write_queue_init(&s->queue, 0);
    store__make_caches(s);
    s->tables = mem_zalloc(1, sizeof(struct table_part *));
    background_start(s);
    *out = s;
    return 0;
}

void store_add_table(struct store *s, struct table_part *t)
{
    PRE(s->sharing);
    mutex_lock(&s->lock);
    s->tables = mem_realloc(s->tables,
                            (s->table_count + 2) * sizeof(struct table_part *));
    s->tables[s->table_count++] = table_part_ref(t);
    mutex_unlock(&s->lock);
    background_wake(s);
}

void store_remove_table(struct store *s, struct table_part *t)
{
    bool found = false;
    PRE(t);
    mutex_lock(&s->lock);
    for (size_t i = 0; i < s->table_count && !found; i++) {
        found = s->tables[i] == t;
        if (found)
            s->tables[i] = s->tables[--s->table_count];
    }
    mutex_unlock(&s->lock);
    if (found)
        table_part_unref(t);
}

static bool is_clean(const struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (!tablet_group_is_clean(t->groups[i]))
            return false;
    return true;
}

void store_give_up(struct store *s, struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    struct tablet *tablet;
    PRE(s->sharing);
    if (!v)
        return;
    INVARIANT(v->tablet_count == 1);
    tablet = v->tablets[0];
    atomic_store(&tablet->lost, true);
    write_turn_close_table(&s->env, t);
    tablet_retire(tablet);
    background_pause(s, tablet);
    if (!is_clean(tablet))
        atomic_store(&s->log_kept, true);
    table_part_view_unref(v);
    store_remove_table(s, t);
    write_turn_open_table(&s->env, t, true, NULL);
    background_count_memory(s);
    store_release_log(s);
}

int store_flush_table(struct store *s, struct table_part *t, struct err *err)
{
    struct table_part_view *v = table_part_get_view(t);
    int rc;
    if (!v)
        return table_part_gone(t, err);
    INVARIANT(v->tablet_count == 1);
    rc = flush_tablet(s, v->tablets[0], err);
    table_part_view_unref(v);
    if (rc == 0)
        store_release_log(s);
    return rc;
}

int store_close_table(struct store *s, struct table_part *t, struct err *err)
{
    struct table_part_view *v = table_part_get_view(t);
    int rc;
    if (!v)
        return table_part_gone(t, err);
    INVARIANT(v->tablet_count == 1);
    write_turn_close_table(&s->env, t);
    rc = flush_tablet(s, v->tablets[0], err);
    table_part_view_unref(v);
    if (rc)
        store_reopen_table(s, t);
    return rc;
}

void store_reopen_table(struct store *s, struct table_part *t)
{
    PRE(s->sharing);
    write_turn_open_table(&s->env, t, false, NULL);
}
