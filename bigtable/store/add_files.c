/* Adding files of a bulk load to the tablets of a table. An lsm that is open
 * gets files from its own flushes and compactions alone, so a tablet that takes
 * files is replaced by one with the same id and more files, as in a split. The
 * work is done in this order: the tablets are flushed, the files get their
 * numbers, the table is closed to writers, flushed again, and one edit replaces
 * all tablets.
 *
 * Files that overlap lie in runs of their own above all that the tablet has,
 * each with a fresh sequence number, so that later files hide earlier ones.
 */
#include "bigtable/store/add_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/manifest_state.h"
#include "bigtable/store/open_tablet.h"
#include "bigtable/store/registry.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"

/* A tablet that takes files. */
struct taker {
    size_t index; /* In the view. */
    struct tablet *old;
    struct tablet *fresh;
};

struct adding {
    struct store *store;
    struct table_part *table;
    struct table_part_view *view;
    uint64_t load;
    struct new_file *files;
    size_t count;
    uint32_t run_count;
    uint64_t sequence; /* Of run 0; the others follow. */
    struct taker *takers;
    size_t taker_count;
    uint64_t before;
    bool committed;   /* Or in doubt. */
    struct buf fresh; /* Edit that makes only the new tablets, */
    struct buf edit;  /* and the one that puts them in place of the old. */
};

/* --- runs ---------------------------------------------------------------- */

static int compare_by_key(const void *a, const void *b)
{
    const struct new_file *x = *(struct new_file *const *)a;
    const struct new_file *y = *(struct new_file *const *)b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return slice_cmp(x->first_key, y->first_key);
}

/* Files of one group do not overlap: one run holds them all. */
static bool are_apart(const struct adding *a)
{
    struct new_file **sorted =
        mem_alloc((a->count + 1) * sizeof(struct new_file *));
    bool apart = true;
    PRE(a->files || a->count == 0);
    for (size_t i = 0; i < a->count; i++)
        sorted[i] = &a->files[i];
    qsort(sorted, a->count, sizeof(struct new_file *), compare_by_key);
    for (size_t i = 1; i < a->count && apart; i++)
        apart = sorted[i - 1]->group != sorted[i]->group ||
                slice_cmp(sorted[i - 1]->last_key, sorted[i]->first_key) < 0;
    mem_free(sorted);
    return apart;
}

/* Else each file has a run of its own, above those before it in the list. */
static void choose_runs(struct adding *a)
{
    bool apart = are_apart(a);
    for (size_t i = 0; i < a->count; i++)
        a->files[i].run = apart ? 0 : (uint32_t)i;
    a->run_count = apart ? 1 : (uint32_t)a->count;
    POST(a->run_count > 0 || a->count == 0);
}

/* --- the edits ----------------------------------------------------------- */

static bool is_in(const struct new_file *f, const struct tablet *t)
{
    return slice_cmp(f->last_key, buf_slice(&t->start_key)) >= 0 &&
           (t->end_key.len == 0 ||
            slice_cmp(f->first_key, buf_slice(&t->end_key)) < 0);
}

static uint32_t highest_run(const struct manifest_group *g)
{
    uint32_t run = 0;
    for (size_t i = 0; g && i < g->file_count; i++)
        run = MAX_OF(run, g->files[i].run);
    return run;
}

/* Group @id of @old with the files that @t takes; out->files is owned, its keys
 * are not. */
static void fill_group(const struct adding *a,
                       const struct tablet *t,
                       const struct manifest_tablet *old,
                       uint32_t id,
                       struct manifest_group *out)
{
    const struct manifest_group *g = manifest_tablet_group(old, id);
    uint32_t base = highest_run(g) + 1;
    size_t n = g ? g->file_count : 0;
    PRE(a->sequence > 0);
    *out = (struct manifest_group){.id = id};
    out->flushed_sequence = g ? g->flushed_sequence : 0;
    out->files = mem_alloc((n + a->count + 1) * sizeof(*out->files));
    for (size_t i = 0; i < n; i++)
        out->files[out->file_count++] = g->files[i];
    for (size_t i = 0; i < a->count; i++) {
        const struct new_file *f = &a->files[i];
        if (f->group != id || !is_in(f, t))
            continue;
        out->files[out->file_count++] =
            (struct lsm_table){.number = f->number,
                               .bytes = f->bytes,
                               .entry_count = f->entries,
                               .sequence_min = a->sequence + f->run,
                               .sequence_max = a->sequence + f->run,
                               .run = base + f->run,
                               .first_key = f->first_key,
                               .last_key = f->last_key};
    }
    POST(out->file_count <= n + a->count);
}

static void put_loads(struct adding *a, const struct manifest_tablet *old)
{
    uint64_t loads[TABLET_LOADS_MAX];
    size_t skip = old->load_count == TABLET_LOADS_MAX;
    size_t n = old->load_count - skip;
    PRE(old->load_count <= TABLET_LOADS_MAX);
    memcpy(loads, old->loads + skip, n * sizeof(*loads));
    loads[n++] = a->load;
    INVARIANT(n <= TABLET_LOADS_MAX);
    edit_put_loads(&a->fresh, old->id, loads, n);
    edit_put_stamp(&a->fresh, old->id, old->stamped_us);
    edit_put_done(&a->fresh, old->id, buf_slice(&old->done), true);
    edit_put_changes_of(&a->fresh, old->id, &old->changes, SLICE_EMPTY,
                        SLICE_EMPTY);
}

static void put_taker(struct adding *a,
                      const struct taker *k,
                      const struct manifest_tablet *old)
{
    const struct schema *schema = a->view->schema;
    struct manifest_group groups[GROUP_COUNT_MAX];
    PRE(k->old->id == old->id);
    for (size_t i = 0; i < schema->group_count; i++)
        fill_group(a, k->old, old, schema->groups[i].id, &groups[i]);
    edit_put_tablet(&a->fresh, old->id, old->table, buf_slice(&old->start),
                    buf_slice(&old->end), groups, schema->group_count);
    put_loads(a, old);
    for (size_t i = 0; i < schema->group_count; i++)
        mem_free(groups[i].files);
}

static void build_edits(void *ctx, const struct manifest_state *state)
{
    struct adding *a = ctx;
    size_t head;
    PRE(a->taker_count > 0);
    PRE(a->edit.len == 0);
    edit_put_table(&a->fresh, a->table->id, a->table->name, a->view->schema);
    head = a->fresh.len;
    for (size_t i = 0; i < a->taker_count; i++) {
        const struct manifest_tablet *old =
            manifest_state_tablet(state, a->takers[i].old->id);
        if (!old)
            continue;
        edit_drop_tablet(&a->edit, old->id);
        put_taker(a, &a->takers[i], old);
    }
    buf_append(&a->edit, a->fresh.data + head, a->fresh.len - head);
}

/* --- who takes ----------------------------------------------------------- */

static bool has_load(const struct manifest_tablet *t, uint64_t load)
{
    PRE(!t || t->loads || t->load_count == 0);
    for (size_t i = 0; t && i < t->load_count; i++)
        if (t->loads[i] == load)
            return true;
    return false;
}

static void
choose_taker(struct adding *a, const struct manifest_state *state, size_t index)
{
    struct tablet *t = a->view->tablets[index];
    bool wanted = a->count == 0;
    PRE(a->taker_count <= index);
    PRE(index < a->view->tablet_count);
    for (size_t i = 0; i < a->count && !wanted; i++)
        wanted = is_in(&a->files[i], t);
    if (!wanted)
        return;
    if (has_load(manifest_state_tablet(state, t->id), a->load))
        a->before++;
    else if (a->count > 0)
        a->takers[a->taker_count++] = (struct taker){index, t, NULL};
}

static void choose_takers(void *ctx, const struct manifest_state *state)
{
    struct adding *a = ctx;
    PRE(a->view);
    PRE(a->taker_count == 0);
    for (size_t i = 0; i < a->view->tablet_count; i++)
        choose_taker(a, state, i);
}

static bool is_taken(const struct adding *a, const struct new_file *f)
{
    PRE(a->taker_count <= a->view->tablet_count);
    for (size_t i = 0; i < a->taker_count; i++)
        if (is_in(f, a->takers[i].old))
            return true;
    return false;
}

/* --- the change ---------------------------------------------------------- */

static int open_takers(struct adding *a, struct err *err)
{
    struct manifest_state state;
    size_t opened = 0;
    int rc;
    manifest_state_init(&state);
    rc = manifest_state_apply(&state, buf_slice(&a->fresh), err);
    if (rc == 0 && state.tablet_count != a->taker_count)
        rc = err_set(err, ERR_CANCELLED, "a tablet is not here any more");
    while (rc == 0 && opened < a->taker_count) {
        const struct manifest_tablet *t = &state.tablets[opened];
        rc = tablet_open(a->store, a->table, t->id, buf_slice(&t->start),
                         buf_slice(&t->end), a->view->schema, t->groups,
                         t->group_count, &t->changes, &a->takers[opened].fresh,
                         err);
        opened += rc == 0;
    }
    INVARIANT(rc || opened == a->taker_count);
    manifest_state_close(&state);
    while (rc && opened > 0)
        tablet_unref(a->takers[--opened].fresh);
    return rc;
}

static struct table_part_view *new_view(const struct adding *a)
{
    size_t count = a->view->tablet_count;
    struct tablet **tablets = mem_alloc((count + 1) * sizeof(struct tablet *));
    struct table_part_view *v;
    PRE(a->committed);
    for (size_t i = 0; i < count; i++)
        tablets[i] = a->view->tablets[i];
    for (size_t i = 0; i < a->taker_count; i++)
        tablets[a->takers[i].index] = a->takers[i].fresh;
    for (size_t i = 0, k = 0; i < count; i++) {
        if (k < a->taker_count && a->takers[k].index == i)
            k++; /* Its reference moves in. */
        else
            tablet_ref(tablets[i]);
    }
    v = table_part_view_new(a->view->schema, a->view->generation, tablets,
                            count);
    mem_free(tablets);
    return v;
}

static int flush_takers(struct adding *a, struct err *err)
{
    int rc = 0;
    PRE(a->takers || a->taker_count == 0);
    for (size_t i = 0; i < a->taker_count && rc == 0; i++)
        rc = flush_tablet(a->store, a->takers[i].old, err);
    return rc;
}

/* PRE: the files are placed, and writers are out. */
static int add_files_commit(struct adding *a, struct err *err)
{
    uint64_t id = a->takers[0].old->id;
    int rc = flush_takers(a, err);
    PRE(!a->committed);
    if (rc)
        return rc;
    /* Transactions that have read what is about to change begin again. */
    a->sequence = write_turn_stamp_many(&a->store->env, a->run_count);
    registry_look(a->store->registry, id, build_edits, a);
    rc = open_takers(a, err);
    if (rc)
        return rc;
    a->committed = true;
    rc = store_commit(a->store, id, &a->edit, err);
    for (size_t i = 0; i < a->taker_count; i++) {
        if (rc)
            tablet_unref(a->takers[i].fresh);
        else
            tablet_retire(a->takers[i].old);
    }
    return rc;
}

static int place_files(struct adding *a,
                       const struct file_mover *mover,
                       size_t *placed,
                       uint64_t *count,
                       struct err *err)
{
    int rc = 0;
    PRE(mutex_is_held(&a->table->change_lock));
    for (*placed = 0; *placed < a->count && rc == 0; ++*placed) {
        struct new_file *f = &a->files[*placed];
        f->number = 0;
        if (!is_taken(a, f))
            continue;
        f->number = file_numbers_take(&a->store->numbers);
        rc = mover->place(mover->ctx, f, err);
        if (rc)
            break;
        ++*count;
    }
    POST(*placed <= a->count);
    return rc;
}

/* PRE: no background job works on the takers. */
static int add_files_change(struct adding *a,
                            const struct file_mover *mover,
                            uint64_t *files,
                            struct err *err)
{
    struct table_part_view *view = NULL;
    size_t placed = 0;
    int rc = flush_takers(a, err);
    PRE(mutex_is_held(&a->table->change_lock));
    PRE(a->taker_count > 0);
    if (rc)
        return rc;
    rc = place_files(a, mover, &placed, files, err);
    if (rc == 0) {
        write_turn_close_table(&a->store->env, a->table);
        rc = add_files_commit(a, err);
        if (rc == 0)
            view = new_view(a);
        write_turn_open_table(&a->store->env, a->table, rc == 0, view);
    }
    /* METADATA may name the files, whatever the answer was: the master sweeps
     * those that it does not. */
    while (rc && placed > 0 && !(a->committed && a->store->sharing))
        if (a->files[--placed].number)
            mover->take_back(mover->ctx, &a->files[placed]);
    for (size_t i = 0; i < a->count; i++)
        file_numbers_decide(&a->store->numbers, a->files[i].number);
    return rc;
}

/* PRE: the table's change_lock is held. */
static int add_files_run(struct adding *a,
                         const struct file_mover *mover,
                         uint64_t *files,
                         struct err *err)
{
    int rc = 0;
    PRE(mutex_is_held(&a->table->change_lock));
    PRE(!a->takers);
    PRE(a->view->tablet_count > 0);
    a->takers = mem_alloc((a->view->tablet_count + 1) * sizeof(*a->takers));
    registry_look(a->store->registry, a->view->tablets[0]->id, choose_takers,
                  a);
    for (size_t i = 0; i < a->taker_count; i++)
        background_pause(a->store, a->takers[i].old);
    if (a->taker_count > 0)
        rc = add_files_change(a, mover, files, err);
    for (size_t i = 0; i < a->taker_count; i++)
        background_resume(a->store, a->takers[i].old);
    buf_close(&a->fresh);
    buf_close(&a->edit);
    mem_free(a->takers);
    return rc;
}

int add_files(struct store *s,
              struct table_part *t,
              uint64_t load,
              struct new_file *files,
              size_t count,
              const struct file_mover *mover,
              struct add_counts *counts,
              struct err *err)
{
    struct adding a = {
        .store = s, .table = t, .load = load, .files = files, .count = count};
    int rc = tablet_env_check_writable(&s->env, err);
    PRE(files || count == 0);
    *counts = (struct add_counts){.tablets = 0};
    if (rc)
        return rc;
    choose_runs(&a);
    mutex_lock(&t->change_lock);
    a.view = table_part_get_view(t);
    rc = a.view ? add_files_run(&a, mover, &counts->files, err)
                : table_part_gone(t, err);
    table_part_view_unref(a.view);
    mutex_unlock(&t->change_lock);
    counts->tablets = a.taker_count;
    counts->before = a.before;
    store_release_log(s);
    background_wake(s);
    return rc;
}
