/* The tables of an embedded store: finding, creating, changing and dropping
 * them. A change is committed to the registry first, with writers kept out, and
 * put in force afterwards. Tablet servers put schemas in force here, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/row/index_set.h"
#include "bigtable/store/background.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/open_tablet.h"
#include "bigtable/store/split.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/wire/snapshot_record.h"

/* Index of table @name, or of where it belongs. PRE: the lock is held. */
static size_t
store_catalog_find(const struct store *s, const char *name, bool *found)
{
    size_t i = 0;
    while (i < s->table_count && strcmp(s->tables[i]->name, name) < 0)
        i++;
    *found = i < s->table_count && strcmp(s->tables[i]->name, name) == 0;
    POST(i <= s->table_count);
    return i;
}

static int no_table(const struct store *s, const char *name, struct err *err)
{
    struct buf list = BUF_INIT;
    for (size_t i = 0; i < s->table_count; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", s->tables[i]->name);
    if (s->table_count)
        err_set(err, ERR_NOTFOUND, "no table %s; there are: %s", name,
                buf_cstr(&list));
    else
        err_set(err, ERR_NOTFOUND, "no table %s; there are none yet", name);
    err_set_detail(err, ERR_DETAIL_NO_TABLE, name);
    buf_close(&list);
    return ERR_NOTFOUND;
}

int store_find_table(struct store *s,
                     const char *name,
                     struct table_part **out,
                     struct err *err)
{
    bool found;
    size_t i;
    int rc = 0;
    mutex_lock(&s->lock);
    i = store_catalog_find(s, name, &found);
    *out = found ? table_part_ref(s->tables[i]) : NULL;
    if (!found)
        rc = no_table(s, name, err);
    mutex_unlock(&s->lock);
    return rc;
}

void table_part_names(struct store *s, char ***names, size_t *count)
{
    mutex_lock(&s->lock);
    *names = mem_alloc((s->table_count + 1) * sizeof(char *));
    for (size_t i = 0; i < s->table_count; i++)
        (*names)[i] = mem_strdup(s->tables[i]->name);
    *count = s->table_count;
    mutex_unlock(&s->lock);
}

static void insert_table(struct store *s, struct table_part *t)
{
    bool found;
    size_t i;
    mutex_lock(&s->lock);
    i = store_catalog_find(s, t->name, &found);
    PRE(!found);
    s->tables = mem_realloc(s->tables,
                            (s->table_count + 2) * sizeof(struct table_part *));
    memmove(&s->tables[i + 1], &s->tables[i],
            (s->table_count - i) * sizeof(struct table_part *));
    s->tables[i] = t;
    s->table_count++;
    INVARIANT(i < s->table_count);
    mutex_unlock(&s->lock);
}

/* Take @name out; its reference is the caller's. NULL when it is not there. */
static struct table_part *remove_table(struct store *s, const char *name)
{
    struct table_part *t = NULL;
    bool found;
    size_t i;
    mutex_lock(&s->lock);
    i = store_catalog_find(s, name, &found);
    if (found) {
        t = s->tables[i];
        s->table_count--;
        memmove(&s->tables[i], &s->tables[i + 1],
                (s->table_count - i) * sizeof(struct table_part *));
    }
    mutex_unlock(&s->lock);
    return t;
}

/* The changes of a tablet to be of @schema: those from now on. */
static struct changes_record changes_from_now(const struct store *s,
                                              const struct schema *schema)
{
    return (struct changes_record){.on = schema->changes_us > 0,
                                   .floor = atomic_load(&s->env.visible)};
}

/* PRE: the catalog is locked. */
static int store_catalog_create(struct store *s,
                                const char *name,
                                const struct schema *schema,
                                struct err *err)
{
    struct table_part *t = table_part_new(s->next_table, name, NULL);
    uint64_t id = atomic_fetch_add(&s->next_tablet, 1);
    struct changes_record changes = changes_from_now(s, schema);
    struct buf edit = BUF_INIT;
    struct tablet *tablet;
    int rc = tablet_open(s, t, id, SLICE_EMPTY, SLICE_EMPTY, schema, NULL, 0,
                         &changes, &tablet, err);
    PRE(s->manifest);
    PRE(s->next_table > 0);
    if (rc == 0) {
        edit_put_table(&edit, t->id, name, schema);
        edit_put_tablet(&edit, tablet->id, t->id, SLICE_EMPTY, SLICE_EMPTY,
                        NULL, 0);
        edit_put_changes_of(&edit, tablet->id, &changes, SLICE_EMPTY,
                            SLICE_EMPTY);
        rc = store_commit(s, tablet->id, &edit, err);
        if (rc)
            tablet_unref(tablet);
    }
    buf_close(&edit);
    if (rc) {
        table_part_unref(t);
        return rc;
    }
    s->next_table++;
    table_part_set_view(t, table_part_view_new(schema, 1, &tablet, 1));
    insert_table(s, t);
    return 0;
}

static bool table_exists(struct store *s, const char *name)
{
    bool found;
    mutex_lock(&s->lock);
    store_catalog_find(s, name, &found);
    mutex_unlock(&s->lock);
    return found;
}

int store_create_table(struct store *s,
                       const char *name,
                       const struct schema *schema,
                       struct err *err)
{
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc == 0)
        rc = schema_check_table_name(slice_str(name), err);
    if (rc)
        return rc;
    mutex_lock(&s->catalog_lock);
    if (table_exists(s, name))
        rc = err_set(err, ERR_EXISTS, "table %s exists already", name);
    else
        rc = store_catalog_create(s, name, schema, err);
    mutex_unlock(&s->catalog_lock);
    return rc;
}

/* --- tables of snapshots ------------------------------------------------- */

/* The edit that makes table @id of what @r says. */
static void put_tablets(struct store *s,
                        uint64_t id,
                        const char *name,
                        const struct schema *schema,
                        const struct snapshot_record *r,
                        struct buf *edit)
{
    const struct changes_record changes = changes_from_now(s, schema);
    edit_put_table(edit, id, name, schema);
    for (size_t i = 0; i < r->tablet_count; i++) {
        const struct snapshot_tablet *t = &r->tablets[i];
        uint64_t tablet = atomic_fetch_add(&s->next_tablet, 1);
        edit_put_tablet_of(edit, tablet, id, t->start, t->end, t->groups);
        edit_put_stamp(edit, tablet, t->stamped_us);
        edit_put_changes_of(edit, tablet, &changes, SLICE_EMPTY, SLICE_EMPTY);
    }
}

static int open_tablets(struct store *s,
                        struct table_part *t,
                        const struct manifest_state *state,
                        struct tablet **out,
                        struct err *err)
{
    size_t opened = 0;
    int rc = 0;
    while (rc == 0 && opened < state->tablet_count) {
        const struct manifest_tablet *from = &state->tablets[opened];
        table_part_note_stamp(t, from->stamped_us);
        rc = tablet_open(s, t, from->id, buf_slice(&from->start),
                         buf_slice(&from->end), state->tables[0].schema,
                         from->groups, from->group_count, &from->changes,
                         &out[opened], err);
        opened += rc == 0;
    }
    while (rc && opened > 0)
        tablet_unref(out[--opened]);
    POST(rc || opened == state->tablet_count);
    return rc;
}

/* Put the table that @edit makes, and @state has, into the store. */
static int put_table(struct store *s,
                     const char *name,
                     const struct manifest_state *state,
                     struct buf *edit,
                     struct err *err)
{
    struct table_part *t = table_part_new(state->tables[0].id, name, NULL);
    struct tablet **tablets =
        mem_alloc((state->tablet_count + 1) * sizeof(struct tablet *));
    int rc = open_tablets(s, t, state, tablets, err);
    PRE(state->table_count > 0);
    if (rc == 0) {
        rc = store_commit(s, 0, edit, err);
        for (size_t i = 0; rc && i < state->tablet_count; i++)
            tablet_unref(tablets[i]);
    }
    if (rc == 0) {
        s->next_table++;
        table_part_set_view(t,
                            table_part_view_new(state->tables[0].schema, 1,
                                                tablets, state->tablet_count));
        insert_table(s, t);
    } else {
        table_part_unref(t);
    }
    mem_free(tablets);
    return rc;
}

int store__make_table(struct store *s,
                      const char *name,
                      const struct snapshot_record *r,
                      struct err *err)
{
    struct manifest_state state;
    struct buf edit = BUF_INIT;
    struct schema *schema = NULL;
    int rc = schema_check_table_name(slice_str(name), err);
    if (rc == 0 && table_exists(s, name))
        rc = err_set(err, ERR_EXISTS, "table %s exists already", name);
    if (rc == 0)
        rc = schema_decode(r->schema, &schema, err);
    if (rc)
        return rc;
    schema_forget_indexes(schema);
    manifest_state_init(&state);
    put_tablets(s, s->next_table, name, schema, r, &edit);
    rc = manifest_state_apply(&state, buf_slice(&edit), err);
    if (rc == 0)
        rc = put_table(s, name, &state, &edit, err);
    manifest_state_close(&state);
    schema_free(schema);
    buf_close(&edit);
    return rc;
}

static void retire_tablets(struct store *s, struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    PRE(v);
    for (size_t i = 0; i < v->tablet_count; i++) {
        tablet_retire(v->tablets[i]);
        background_pause(s, v->tablets[i]);
    }
    table_part_view_unref(v);
}

/* A flush that ends meanwhile commits before that, or not at all: the manifest
 * takes nothing about tablets that are gone. */
static int commit_drop(struct store *s, struct table_part *t, struct err *err)
{
    struct table_part_view *v = table_part_get_view(t);
    struct buf edit = BUF_INIT;
    int rc;
    PRE(v);
    edit_drop_table(&edit, t->id);
    for (size_t i = 0; i < v->tablet_count; i++)
        tablet_hold_edits(v->tablets[i]);
    rc = store_commit(s, 0, &edit, err);
    for (size_t i = v->tablet_count; i-- > 0;)
        tablet_release_edits(v->tablets[i], rc == 0);
    table_part_view_unref(v);
    buf_close(&edit);
    return rc;
}

/* PRE: the catalog is locked. */
static int store_catalog_drop(struct store *s,
                              const char *name,
                              struct table_part *t,
                              struct err *err)
{
    int rc;
    mutex_lock(&t->change_lock);
    write_turn_close_table(&s->env, t);
    rc = commit_drop(s, t, err);
    if (rc == 0) {
        retire_tablets(s, t);
        table_part_unref(remove_table(s, name));
    }
    write_turn_open_table(&s->env, t, rc == 0, NULL);
    mutex_unlock(&t->change_lock);
    return rc;
}

int store_drop_table(struct store *s, const char *name, struct err *err)
{
    struct table_part *t;
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc)
        return rc;
    mutex_lock(&s->catalog_lock);
    rc = store_find_table(s, name, &t, err);
    if (rc == 0) {
        rc = store_catalog_drop(s, name, t, err);
        table_part_unref(t);
    }
    mutex_unlock(&s->catalog_lock);
    if (rc == 0)
        background_note_freed(s);
    return rc;
}

/* --- changes kept -------------------------------------------------------- */

/* Does @t begin, or end, to keep its changes with @schema? */
static bool switches_changes(const struct tablet *t,
                             const struct schema *schema)
{
    return atomic_load(&t->changes->on) != (schema->changes_us > 0);
}

static bool put_switch(const struct tablet *t,
                       const struct schema *schema,
                       uint64_t sequence,
                       struct buf *edit)
{
    const struct changes_edit begin = {
        .floor = sequence,
        .floor_us = (int64_t)atomic_load(&t->table->stamped_us)};
    if (!switches_changes(t, schema))
        return false;
    if (schema->changes_us)
        edit_put_changes(edit, t->id, &begin);
    else
        edit_drop_changes(edit, t->id);
    return true;
}

/* PRE: the table is closed to writers. */
static void freeze_all(struct store *s, const struct tablet *t)
{
    struct writer *turn;
    write_turn_take(&s->env, &turn);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        tablet_group_freeze(t->groups[i], tablet_last_sequence(t));
    write_turn_give(&s->env, turn);
}

/* PRE: the edit is durable; the table is closed to writers. */
static void switch_changes(struct store *s,
                           const struct tablet *t,
                           const struct schema *schema,
                           uint64_t sequence)
{
    bool on = schema->changes_us > 0;
    struct writer *turn;
    if (!switches_changes(t, schema))
        return;
    freeze_all(s, t);
    write_turn_take(&s->env, &turn);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        lsm_keep_changes(t->groups[i]->lsm, on);
    write_turn_give(&s->env, turn);
    tablet_changes_reset(t->changes, on, sequence,
                         (int64_t)atomic_load(&t->table->stamped_us));
}

int store_put_schema(struct store *s,
                     struct table_part *t,
                     struct table_part_view *v,
                     const struct schema *schema,
                     uint64_t generation,
                     struct err *err)
{
    struct tablet **tablets =
        mem_alloc((v->tablet_count + 1) * sizeof(struct tablet *));
    struct buf edit = BUF_INIT;
    uint64_t sequence;
    bool switches = false;
    int rc = 0;
    PRE(v->schema->group_count <= schema->group_count); /* INV-1 of tablet.h */
    sequence = write_turn_close_table(&s->env, t);
    if (schema->changes_us && !v->schema->changes_us)
        /* Commits at times of their own have left no stamp. */
        table_part_note_stamp(
            t, table_part_stamp_us(t, (int64_t)world_now_us(s->world)));
    for (size_t i = 0; i < v->tablet_count && rc == 0; i++)
        rc = tablet_add_groups(v->tablets[i], schema, err);
    if (rc == 0) {
        edit_put_table(&edit, t->id, t->name, schema);
        for (size_t i = 0; i < v->tablet_count; i++)
            switches |= put_switch(v->tablets[i], schema, sequence, &edit);
        /* In a tablet server the part is one tablet; the master has recorded
         * the schema. */
        rc = store_commit(s, s->sharing && switches ? v->tablets[0]->id : 0,
                          &edit, err);
    }
    for (size_t i = 0; i < v->tablet_count && rc == 0; i++) {
        tablets[i] = tablet_ref(v->tablets[i]);
        switch_changes(s, tablets[i], schema, sequence);
        tablet_set_options(tablets[i], schema);
    }
    write_turn_open_table(
        &s->env, t, rc == 0,
        rc ? NULL
           : table_part_view_new(schema, generation, tablets, v->tablet_count));
    mem_free(tablets);
    buf_close(&edit);
    return rc;
}

int store_alter_table(struct store *s,
                      struct table_part *t,
                      schema_change_fn change,
                      void *ctx,
                      struct err *err)
{
    struct table_part_view *v;
    struct schema *schema;
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc)
        return rc;
    mutex_lock(&t->change_lock);
    v = table_part_get_view(t);
    if (!v) {
        mutex_unlock(&t->change_lock);
        return table_part_gone(t, err);
    }
    schema = schema_copy(v->schema);
    rc = change(ctx, schema, err);
    if (rc == 0)
        rc = store_put_schema(s, t, v, schema, v->generation + 1, err);
    schema_free(schema);
    table_part_view_unref(v);
    mutex_unlock(&t->change_lock);
    return rc;
}
