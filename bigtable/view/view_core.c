/* A view at work: its source, program and own table, opened together, and
 * reading the state of groups and of the whole from that table. */
#include "bigtable/view/view_core.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/view/group.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_txn.h"

/* --- its own table ------------------------------------------------------- */

char *view_state_name(const char *view)
{
    struct buf name = BUF_INIT;
    buf_printf(&name, ".view.%s", view);
    return buf_take(&name);
}

int view_state_create(struct quarry *q, const char *view, struct err *err)
{
    struct quarry_family_spec families[1 + QUARRY_TXN_FAMILIES] = {
        {VIEW_FAMILY, "versions=1"}};
    struct quarry_group_spec group;
    char *name = view_state_name(view);
    int rc;

    quarry_txn_specs(&families[1], &group);
    rc = quarry_table_create(q, name, families, ARRAY_LEN(families), &group, 1,
                             err);
    mem_free(name);
    return rc;
}

/* --- life ---------------------------------------------------------------- */

int view_core_open(struct quarry *q,
                   const char *name,
                   const char *table,
                   struct slice source,
                   struct view_core *out,
                   struct err *err)
{
    char *state = view_state_name(name);
    int rc;

    *out = (struct view_core){.quarry = q};
    rc = view_program_open(&out->program, source, err);
    if (rc == 0)
        rc = view_source_open(q, table, &out->source, err);
    if (rc == 0)
        rc = quarry_table_open(q, state, &out->state, err);
    if (rc)
        view_core_close(out);
    mem_free(state);
    return rc;
}

void view_core_close(struct view_core *v)
{
    if (v->state)
        quarry_table_close(v->state);
    view_source_close(&v->source);
    view_program_close(&v->program);
    *v = (struct view_core){.state = NULL};
}

int64_t view_core_now_us(const struct view_core *v)
{
    return (int64_t)world_now_us(quarry_world(v->quarry));
}

/* --- reading ------------------------------------------------------------- */

static int take_meta(struct view_txn *t, void *ctx, struct err *err)
{
    struct view_meta *out = ctx;
    (void)err;
    view_meta_close(out);
    *out = t->meta;
    t->meta = (struct view_meta){.phase = VIEW_PHASE_ROWS};
    return 0;
}

int view_meta_read(struct view_core *v, struct view_meta *out, struct err *err)
{
    *out = (struct view_meta){.phase = VIEW_PHASE_ROWS};
    return view_txn_look(v, take_meta, out, err);
}

struct load {
    struct view_txn *txn;
    struct saw_run *run;
    struct group group; /* The one at hand. */
};

static int load_part(void *ctx,
                     struct slice key,
                     struct slice value,
                     bool *stop,
                     struct err *err)
{
    const struct load *l = ctx;
    (void)key;
    (void)stop;
    return saw_run_merge_state(l->run, l->group.table, l->group.key, value,
                               err);
}

static int load_parts(struct load *l, struct err *err)
{
    struct buf prefix = BUF_INIT;
    int rc;
    view_key_parts(&prefix, l->group.number);
    rc = view_txn_scan(l->txn, buf_slice(&prefix), SLICE_EMPTY, load_part, l,
                       err);
    buf_close(&prefix);
    return rc;
}

static int load_group(void *ctx,
                      struct slice key,
                      struct slice value,
                      bool *stop,
                      struct err *err)
{
    struct load *l = ctx;
    int rc;
    (void)stop;
    if (!group_parse_key(key, &l->group))
        return err_set(err, ERR_CORRUPT, "a group of the view has a bad key");
    rc = group_parse(value, &l->group, err);
    if (rc)
        return rc;
    if (l->group.kind == GROUP_ORDER)
        return load_parts(l, err);
    return saw_run_merge_state(l->run, l->group.table, l->group.key,
                               buf_slice(&l->group.state), err);
}

int view_load_group(struct view_txn *t,
                    struct saw_run *run,
                    struct slice key,
                    struct slice value,
                    struct err *err)
{
    struct load l = {.txn = t, .run = run};
    bool stop;
    int rc;
    saw_run_clear(run);
    rc = load_group(&l, key, value, &stop, err);
    group_close(&l.group);
    return rc;
}

int view_load_in(struct view_txn *t, struct saw_run *run, struct err *err)
{
    struct load l = {.txn = t, .run = run};
    const char prefix = VIEW_KEY_GROUP;
    int rc;
    saw_run_clear(run);
    rc = view_txn_scan(t, slice_make(&prefix, 1), SLICE_EMPTY, load_group, &l,
                       err);
    group_close(&l.group);
    return rc;
}

static int load_groups(struct view_txn *t, void *ctx, struct err *err)
{
    return view_load_in(t, ctx, err);
}

int view_load(struct view_core *v, struct saw_run *run, struct err *err)
{
    return view_txn_look(v, load_groups, run, err);
}
