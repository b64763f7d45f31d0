/* Replacing tablets by others: splits, and the dropping of row ranges. The new
 * tablets share the files of the old one, which live on while readers hold it;
 * rows outside of a tablet's range go away with compactions.
 */
#include "bigtable/store/split.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/mutation.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/manifest_state.h"
#include "bigtable/store/open_tablet.h"
#include "bigtable/store/registry.h"
#include "bigtable/store/shared.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"

/* A tablet to be: its rows, and whether it starts with those it has now. */
struct piece {
    struct slice start;
    struct slice end;
    bool empty;
};

#define PIECES_MAX 2

/* A replacement: tablets [first, end) of a view by pieces. While it is made,
 * the table is closed to writers. */
struct replacement {
    struct store *store;
    struct table_part *table;
    struct table_part_view *view;
    size_t first;
    size_t end;
    const struct piece *pieces;
    size_t piece_count;
    uint64_t sequence; /* Of the last entry there is. */
    uint64_t first_id; /* Of the new tablets. */
    struct buf fresh;  /* Edit that makes only the new tablets, */
    struct buf edit;   /* and the one that replaces the old ones. */
    /* The parts of the pieces: the old one, or, where each tablet has a part of
     * its own, new ones. Referenced. */
    struct table_part *owners[PIECES_MAX];
};

/* --- the edit ------------------------------------------------------------ */

struct key_range {
    struct buf lower; /* Encoded; an empty upper is no bound. */
    struct buf upper;
};

static bool split_overlaps(const struct lsm_table *f, const struct key_range *r)
{
    PRE(slice_cmp(f->first_key, f->last_key) <= 0);
    return slice_cmp(f->last_key, buf_slice(&r->lower)) >= 0 &&
           (r->upper.len == 0 ||
            slice_cmp(f->first_key, buf_slice(&r->upper)) < 0);
}

/* The share of @g that the piece takes over; out->files is owned, its keys are
 * not. */
static void cut_group(const struct manifest_group *g,
                      const struct key_range *range,
                      struct manifest_group *out)
{
    *out = (struct manifest_group){.id = g->id,
                                   .flushed_sequence = g->flushed_sequence};
    out->files = mem_alloc((g->file_count + 1) * sizeof(*out->files));
    for (size_t i = 0; i < g->file_count; i++)
        if (split_overlaps(&g->files[i], range))
            out->files[out->file_count++] = g->files[i];
    POST(out->file_count <= g->file_count);
}

static void put_filled_piece(struct replacement *r,
                             const struct piece *p,
                             uint64_t id,
                             const struct manifest_tablet *old)
{
    struct manifest_group groups[GROUP_COUNT_MAX] = {{.id = 0}};
    struct key_range range = {BUF_INIT, BUF_INIT};
    size_t count = old ? old->group_count : 0;
    PRE(!p->empty);
    PRE(count <= GROUP_COUNT_MAX);
    if (p->start.len)
        cell_key_append_row(&range.lower, p->start);
    if (p->end.len)
        cell_key_append_row(&range.upper, p->end);
    for (size_t i = 0; i < count; i++)
        cut_group(&old->groups[i], &range, &groups[i]);
    edit_put_tablet(&r->fresh, id, r->table->id, p->start, p->end, groups,
                    count);
    if (old) {
        edit_put_loads(&r->fresh, id, old->loads, old->load_count);
        edit_put_changes_of(&r->fresh, id, &old->changes,
                            buf_slice(&range.lower), buf_slice(&range.upper));
    }
    for (size_t i = 0; i < count; i++)
        mem_free(groups[i].files);
    buf_close(&range.lower);
    buf_close(&range.upper);
}

static void add_change_file(struct changes_record *all,
                            const struct change_file_info *f)
{
    PRE(f->file.table.number > 0);
    for (size_t i = 0; i < all->file_count; i++)
        if (all->files[i].file.table.number == f->file.table.number &&
            change_file_is_past(&all->files[i]) == change_file_is_past(f))
            return; /* Two tablets had it. */
    all->files =
        mem_realloc(all->files, (all->file_count + 1) * sizeof(*all->files));
    change_file_info_copy(f, &all->files[all->file_count++]);
}

/* Changes of @t, whose rows go, can still be read, and so can its state before
 * the table's last stamp. */
static void gather_changes(const struct tablet *t,
                           const struct manifest_tablet *from,
                           struct changes_record *all)
{
    const struct change_extent past = {
        0, (int64_t)from->changes.floor,
        (int64_t)atomic_load(&t->table->stamped_us)};
    struct change_file_info *tables;
    size_t count;
    PRE(from->id == t->id);
    tablet_change_tables(t, &tables, &count);
    for (size_t i = 0; i < count; i++)
        if (tables[i].file.extent.end_sequence > from->changes.floor)
            add_change_file(all, &tables[i]);
    for (size_t i = 0; i < from->changes.file_count; i++)
        add_change_file(all, &from->changes.files[i]);
    for (size_t i = 0; i < from->group_count; i++)
        for (size_t k = 0; k < from->groups[i].file_count; k++) {
            const struct change_file_info f = {
                from->groups[i].id, {from->groups[i].files[k], past}};
            add_change_file(all, &f);
        }
    all->on |= from->changes.on;
    all->floor = MAX_OF(all->floor, from->changes.floor);
    all->floor_us = MAX_OF(all->floor_us, from->changes.floor_us);
    mem_free(tables);
    POST(all->floor >= from->changes.floor);
}

static void put_gathered_changes(struct replacement *r,
                                 const struct manifest_state *state,
                                 uint64_t id)
{
    struct changes_record all = {0};
    PRE(r->first <= r->end);
    PRE(r->end <= r->view->tablet_count);
    for (size_t i = r->first; i < r->end; i++) {
        const struct tablet *t = r->view->tablets[i];
        const struct manifest_tablet *from =
            manifest_state_tablet(state, t->id);
        if (from && from->changes.on)
            gather_changes(t, from, &all);
    }
    edit_put_changes_of(&r->fresh, id, &all, SLICE_EMPTY, SLICE_EMPTY);
    changes_record_close(&all);
}

/* An empty tablet whose part of the log is over. */
static void
put_empty_piece(struct replacement *r, const struct piece *p, uint64_t id)
{
    struct manifest_group groups[GROUP_COUNT_MAX];
    const struct schema *schema = r->view->schema;
    PRE(p->empty);
    PRE(schema->group_count <= GROUP_COUNT_MAX);
    for (size_t i = 0; i < schema->group_count; i++)
        groups[i] = (struct manifest_group){.id = schema->groups[i].id,
                                            .flushed_sequence = r->sequence};
    edit_put_tablet(&r->fresh, id, r->table->id, p->start, p->end, groups,
                    schema->group_count);
}

static void build_edit(void *ctx, const struct manifest_state *state)
{
    struct replacement *r = ctx;
    size_t head;
    int64_t stamped_us = (int64_t)atomic_load(&r->table->stamped_us);
    struct buf done = BUF_INIT;
    PRE(r->fresh.len == 0);
    PRE(r->edit.len == 0);
    PRE(r->first < r->end);
    PRE(r->first_id > 0);
    edit_put_table(&r->fresh, r->table->id, r->table->name, r->view->schema);
    head = r->fresh.len;
    if (r->table->done)
        done_changes_encode(r->table->done, &done);
    for (size_t i = r->first; i < r->end; i++)
        edit_drop_tablet(&r->edit, r->view->tablets[i]->id);
    for (size_t i = 0; i < r->piece_count; i++) {
        uint64_t id = r->first_id + i;
        if (r->pieces[i].empty) {
            put_empty_piece(r, &r->pieces[i], id);
            put_gathered_changes(r, state, id);
        } else {
            put_filled_piece(
                r, &r->pieces[i], id,
                manifest_state_tablet(state, r->view->tablets[r->first]->id));
        }
        edit_put_stamp(&r->fresh, id, stamped_us);
        edit_put_done(&r->fresh, id, buf_slice(&done), true);
    }
    buf_append(&r->edit, r->fresh.data + head, r->fresh.len - head);
    buf_close(&done);
}

/* --- the tablets --------------------------------------------------------- */

/* Do the halves become tables of their own? */
static bool come_apart(const struct replacement *r)
{
    PRE(r->piece_count > 0);
    return r->store->sharing && r->piece_count > 1;
}

/* Open the new tablets from the edit that makes them. */
static int
open_pieces(struct replacement *r, struct tablet **out, struct err *err)
{
    struct manifest_state state;
    size_t opened = 0;
    int rc;
    manifest_state_init(&state);
    rc = manifest_state_apply(&state, buf_slice(&r->fresh), err);
    INVARIANT(rc || state.tablet_count == r->piece_count);
    while (rc == 0 && opened < r->piece_count) {
        const struct manifest_tablet *t = &state.tablets[opened];
        rc = tablet_open(r->store, r->owners[opened], t->id,
                         buf_slice(&t->start), buf_slice(&t->end),
                         r->view->schema, t->groups, t->group_count,
                         &t->changes, &out[opened], err);
        opened += rc == 0;
    }
    manifest_state_close(&state);
    while (rc && opened > 0)
        tablet_unref(out[--opened]);
    return rc;
}

/* The view with the new tablets (moved in) in place of the old ones. */
static struct table_part_view *new_view(const struct replacement *r,
                                        struct tablet *const *pieces)
{
    size_t count = r->view->tablet_count - (r->end - r->first) + r->piece_count;
    struct tablet **tablets = mem_alloc(count * sizeof(struct tablet *));
    struct table_part_view *v;
    size_t n = 0;
    for (size_t i = 0; i < r->first; i++)
        tablets[n++] = tablet_ref(r->view->tablets[i]);
    for (size_t i = 0; i < r->piece_count; i++)
        tablets[n++] = pieces[i];
    for (size_t i = r->end; i < r->view->tablet_count; i++)
        tablets[n++] = tablet_ref(r->view->tablets[i]);
    INVARIANT(n == count);
    v = table_part_view_new(r->view->schema, r->view->generation, tablets,
                            count);
    mem_free(tablets);
    return v;
}

static void make_owners(struct replacement *r)
{
    PRE(r->piece_count <= PIECES_MAX);
    for (size_t i = 0; i < r->piece_count; i++)
        r->owners[i] = come_apart(r)
                           ? table_part_new(r->table->id, r->table->name,
                                            done_changes_new(r->store->world))
                           : table_part_ref(r->table);
}

/* Each half's table beside the others, and the one that was split away. */
static void put_apart(struct replacement *r, struct tablet *const *pieces)
{
    const struct store_sharing *sharing = r->store->sharing;
    PRE(come_apart(r));
    for (size_t i = 0; i < r->piece_count; i++) {
        r->owners[i]->is_system = r->table->is_system;
        done_changes_copy(r->owners[i]->done, r->table->done);
        table_part_note_stamp(r->owners[i],
                              (int64_t)atomic_load(&r->table->stamped_us));
        table_part_set_view(r->owners[i],
                            table_part_view_new(r->view->schema,
                                                r->view->generation, &pieces[i],
                                                1));
        store_add_table(r->store, r->owners[i]);
    }
    sharing->replaced(sharing->ctx, r->table, r->owners, r->piece_count);
    store_remove_table(r->store, r->table);
}

/* Replace tablets. PRE: the table is closed to writers, the view is in force,
 * the old tablets are paused and, unless they are to be empty, flushed. The
 * table is open afterwards. */
static int split_replace(struct replacement *r, struct err *err)
{
    struct table_part_view *view = NULL;
    struct tablet *pieces[PIECES_MAX];
    uint64_t old = r->view->tablets[r->first]->id;
    int rc;
    PRE(mutex_is_held(&r->table->change_lock));
    PRE(r->end <= r->view->tablet_count);
    PRE(r->piece_count > 0);
    PRE(r->piece_count <= PIECES_MAX);
    r->first_id =
        r->store->sharing && r->piece_count == 1
            ? old /* It stays what it is for others. */
            : atomic_fetch_add(&r->store->next_tablet, r->piece_count);
    make_owners(r);
    registry_look(r->store->registry, old, build_edit, r);
    rc = open_pieces(r, pieces, err);
    if (rc == 0) {
        rc = store_commit(r->store, old, &r->edit, err);
        for (size_t i = 0; rc && i < r->piece_count; i++)
            tablet_unref(pieces[i]);
    }
    for (size_t i = r->first; rc == 0 && i < r->end; i++)
        tablet_retire(r->view->tablets[i]);
    if (rc == 0 && come_apart(r))
        put_apart(r, pieces);
    else if (rc == 0)
        view = new_view(r, pieces);
    write_turn_open_table(&r->store->env, r->table, rc == 0, view);
    for (size_t i = 0; i < r->piece_count; i++)
        table_part_unref(r->owners[i]);
    buf_close(&r->fresh);
    buf_close(&r->edit);
    return rc;
}

/* --- splitting ----------------------------------------------------------- */

/* Index of @t in the view in force; false when it is not in it any more. */
static bool
index_of(const struct table_part_view *v, const struct tablet *t, size_t *index)
{
    for (size_t i = 0; v && i < v->tablet_count; i++)
        if (v->tablets[i] == t) {
            *index = i;
            return true;
        }
    return false;
}

/* Without writers: flush the rest, and replace @t by its halves. */
static int split_now(struct store *s,
                     struct tablet *t,
                     struct table_part_view *view,
                     size_t index,
                     struct slice row,
                     struct err *err)
{
    const struct piece halves[2] = {
        {buf_slice(&t->start), row, false},
        {row, buf_slice(&t->end), false},
    };
    struct replacement r = {.store = s,
                            .table = t->table,
                            .view = view,
                            .first = index,
                            .end = index + 1,
                            .pieces = halves,
                            .piece_count = 2};
    int rc;
    PRE(mutex_is_held(&t->table->change_lock));
    PRE(index < view->tablet_count);
    PRE(tablet_contains(t, row));
    PRE(!slice_eq(buf_slice(&t->start), row));
    r.sequence = write_turn_close_table(&s->env, t->table);
    rc = flush_tablet(s, t, err);
    if (rc == 0)
        return split_replace(&r, err);
    write_turn_open_table(&s->env, t->table, false, NULL);
    return rc;
}

/* *@did is false when @t was replaced by another before. PRE: the table's
 * change_lock is held. */
static int split_tablet(struct store *s,
                        struct tablet *t,
                        struct slice row,
                        bool *did,
                        struct err *err)
{
    struct table_part_view *view = table_part_get_view(t->table);
    size_t index = 0;
    int rc = 0;
    PRE(mutex_is_held(&t->table->change_lock));
    PRE(row.len > 0);
    *did = index_of(view, t, &index);
    if (*did) {
        background_pause(s, t);
        rc = flush_tablet(s, t, err);
        if (rc == 0)
            rc = split_now(s, t, view, index, row, err);
        background_resume(s, t);
    }
    table_part_view_unref(view);
    if (rc)
        err_wrap(err, "split of table %s", t->table->name);
    return rc;
}

/* PRE: the table's change_lock is held. */
static int split_cut(struct store *s,
                     struct table_part *t,
                     struct slice row,
                     struct err *err)
{
    struct table_part_view *v = table_part_get_view(t);
    struct tablet *tablet;
    bool did;
    int rc = 0;
    PRE(mutex_is_held(&t->change_lock));
    if (!v)
        return table_part_gone(t, err);
    tablet = tablet_ref(table_part_view_find(v, row, NULL));
    table_part_view_unref(v);
    if (!slice_eq(buf_slice(&tablet->start), row))
        rc = split_tablet(s, tablet, row, &did, err);
    tablet_unref(tablet);
    return rc;
}

int split_at(struct store *s,
             struct table_part *t,
             struct slice row,
             struct err *err)
{
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc == 0)
        rc = row_name_check(row, err);
    if (rc)
        return rc;
    mutex_lock(&t->change_lock);
    rc = split_cut(s, t, row, err);
    mutex_unlock(&t->change_lock);
    return rc;
}

/* The row in the middle of the largest group of @t; empty when there is none.
 */
static int middle_row(struct tablet *t, struct buf *row, struct err *err)
{
    struct tablet_group *largest = NULL;
    uint64_t bytes = 0;
    struct buf keys = BUF_INIT;
    struct buf scratch = BUF_INIT;
    size_t count = 0;
    int rc = 0;
    PRE(row->len == 0);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        if (stats.table_bytes > bytes) {
            bytes = stats.table_bytes;
            largest = t->groups[i];
        }
    }
    if (largest)
        rc = lsm_split_points(largest->lsm, 2, &keys, &count, err);
    if (rc == 0 && count > 0) {
        struct cursor c = cursor_make(buf_slice(&keys));
        struct slice plain = cell_key_plain_row(cursor_lslice(&c), &scratch);
        if (tablet_contains(t, plain) && !slice_eq(plain, buf_slice(&t->start)))
            buf_append_slice(row, plain);
    }
    buf_close(&keys);
    buf_close(&scratch);
    return rc;
}

int split_in_middle(struct store *s,
                    struct tablet *t,
                    bool *did,
                    struct err *err)
{
    struct buf row = BUF_INIT;
    int rc = middle_row(t, &row, err);
    *did = false;
    if (rc == 0 && row.len > 0) {
        mutex_lock(&t->table->change_lock);
        rc = split_tablet(s, t, buf_slice(&row), did, err);
        mutex_unlock(&t->table->change_lock);
    }
    buf_close(&row);
    return rc;
}

/* --- dropping rows ------------------------------------------------------- */

/* The tablets of @v that lie in [start, end). PRE: there are cuts at both, or
 * they are the ends of the view. */
static void find_range(const struct table_part_view *v,
                       struct slice start,
                       struct slice end,
                       size_t *first,
                       size_t *behind)
{
    table_part_view_find(v, start, first);
    *behind = v->tablet_count;
    if (end.len) {
        const struct tablet *t = table_part_view_find(v, end, behind);
        if (!slice_eq(buf_slice(&t->start), end))
            ++*behind; /* The view, of one tablet, ends there. */
    }
    POST(*first < *behind);
    POST(*behind <= v->tablet_count);
}

/* Changes that are in memtables alone, and about to go with them, can still be
 * read. PRE: they are paused, and writers are out. */
static int flush_changes(const struct replacement *r, struct err *err)
{
    int rc = 0;
    PRE(r->end <= r->view->tablet_count);
    for (size_t i = r->first; i < r->end && rc == 0; i++)
        if (atomic_load(&r->view->tablets[i]->changes->on))
            rc = flush_tablet(r->store, r->view->tablets[i], err);
    return rc;
}

/* PRE: the table's change_lock is held, there are cuts at both ends. */
static int drop_now(struct store *s,
                    struct table_part *t,
                    const struct piece *empty,
                    struct err *err)
{
    struct replacement r = {
        .store = s, .table = t, .pieces = empty, .piece_count = 1};
    int rc;
    PRE(mutex_is_held(&t->change_lock));
    PRE(empty->empty);
    r.view = table_part_get_view(t);
    if (!r.view)
        return table_part_gone(t, err);
    find_range(r.view, empty->start, empty->end, &r.first, &r.end);
    for (size_t i = r.first; i < r.end; i++)
        background_pause(s, r.view->tablets[i]);
    write_turn_close_table(&s->env, t);
    rc = flush_changes(&r, err);
    if (rc == 0) {
        /* Of a time of its own: before it the rows are there. */
        table_part_note_stamp(t,
                              MAX_OF((int64_t)atomic_load(&t->stamped_us) + 1,
                                     (int64_t)world_now_us(s->world)));
        /* Transactions that have read such rows begin again. */
        r.sequence = write_turn_stamp_all(&s->env);
        rc = split_replace(&r, err);
    } else {
        write_turn_open_table(&s->env, t, false, NULL);
    }
    for (size_t i = r.first; i < r.end; i++)
        background_resume(s, r.view->tablets[i]);
    table_part_view_unref(r.view);
    return rc;
}

int drop_rows(struct store *s,
              struct table_part *t,
              struct slice start,
              struct slice end,
              struct err *err)
{
    const struct piece empty = {start, end, true};
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc == 0 && end.len && slice_cmp(start, end) >= 0)
        rc = err_set(err, ERR_INVALID, "the range of rows is empty");
    if (rc == 0 && start.len)
        rc = row_name_check(start, err);
    if (rc == 0 && end.len)
        rc = row_name_check(end, err);
    if (rc)
        return rc;
    mutex_lock(&t->change_lock);
    if (start.len)
        rc = split_cut(s, t, start, err);
    if (rc == 0 && end.len)
        rc = split_cut(s, t, end, err);
    if (rc == 0)
        rc = drop_now(s, t, &empty, err);
    mutex_unlock(&t->change_lock);
    return rc;
}

int drop_tablet_rows(struct store *s, struct table_part *t, struct err *err)
{
    struct table_part_view *v;
    struct piece empty = {.empty = true};
    int rc;
    PRE(s->sharing);
    mutex_lock(&t->change_lock);
    v = table_part_get_view(t);
    if (v) {
        empty.start = buf_slice(&v->tablets[0]->start);
        empty.end = buf_slice(&v->tablets[0]->end);
        rc = drop_now(s, t, &empty, err);
    } else {
        rc = table_part_gone(t, err);
    }
    table_part_view_unref(v);
    mutex_unlock(&t->change_lock);
    return rc;
}
