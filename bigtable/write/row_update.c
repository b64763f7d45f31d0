/* Row transactions: a latch keeps those of one row apart, so that they do not
 * make each other begin again; other writers take no latch, and are noticed by
 * the row's stamp when the write is numbered. These are the single-row
 * transactions of the Bigtable paper (section 3).
 */
#include "bigtable/write/row_update.h"

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/cell_check.h"

/* Is @view not in force any more? What was written since may be in tablets it
 * does not know, with numbers that a snapshot taken through it covers. */
static bool is_outdated(struct table_part *t,
                        const struct table_part_view *view)
{
    struct table_part_view *now = table_part_get_view(t);
    bool outdated = now != view;
    table_part_view_unref(now);
    return outdated;
}

/* Once through: read, decide, write if the row is still the same. */
static int try_once(struct tablet_env *env,
                    struct table_part *t,
                    const struct read_spec *spec,
                    struct slice row,
                    row_decide_fn decide,
                    void *ctx,
                    enum write_durability durability,
                    struct err *err)
{
    struct write_condition condition = {row, 0};
    struct table_part_view *view = table_part_get_view(t);
    const struct quarry_mutation *m = NULL;
    const struct quarry_row *found;
    int64_t now_us = table_part_stamp_us(t, (int64_t)world_now_us(env->world));
    struct scan *scan;
    int rc;
    if (!view)
        return table_part_gone(t, err);
    rc = scan_new(view, spec, tablet_env_age_us(env), &scan, err);
    if (rc) {
        table_part_view_unref(view);
        return rc;
    }
    condition.sequence = scan_sequence(scan);
    rc = is_outdated(t, view) ? ERR_ABORTED : 0;
    table_part_view_unref(view);
    if (rc == 0)
        rc = scan_next(scan, &found, err);
    if (rc == 0)
        rc = decide(ctx, found, now_us, &m, err);
    scan_free(scan);
    INVARIANT(rc || !m || slice_eq(buf_slice(&m->row), row));
    if (rc == 0 && m)
        rc = write_apply(env, t, &m, 1, durability, now_us, &condition, NULL,
                         err);
    return rc;
}

/* The same by single cells. The number that the write depends on is taken
 * before they are read: a write that one of them shows or misses is later. */
static int try_cells(struct tablet_env *env,
                     struct table_part *t,
                     const struct cell_check *cells,
                     struct slice row,
                     row_decide_fn decide,
                     void *ctx,
                     enum write_durability durability,
                     struct err *err)
{
    struct write_condition condition = {row, atomic_load(&env->visible)};
    const struct quarry_row shown = {.key = row};
    const struct quarry_mutation *m = NULL;
    int64_t now_us = table_part_stamp_us(t, (int64_t)world_now_us(env->world));
    bool matched;
    int rc = cell_check_run(cells, t, row, &matched, err);
    if (rc == 0)
        rc = decide(ctx, matched ? &shown : NULL, now_us, &m, err);
    INVARIANT(rc || !m || slice_eq(buf_slice(&m->row), row));
    if (rc == 0 && m)
        rc = write_apply(env, t, &m, 1, durability, now_us, &condition, NULL,
                         err);
    return rc;
}

int row_update(struct tablet_env *env,
               struct table_part *t,
               struct read_spec *spec,
               const struct cell_check *cells,
               struct slice row,
               row_decide_fn decide,
               void *ctx,
               enum write_durability durability,
               struct err *err)
{
    struct mutex *latch =
        &env->row_latches[t->is_system][hash64_slice(row) % ROW_LATCH_COUNT];
    int rc = tablet_env_check_writable(env, err);
    PRE(spec && decide);
    if (rc)
        return rc;
    read_spec_set_row(spec, row);
    mutex_lock(latch);
    do {
        rc = cells ? try_cells(env, t, cells, row, decide, ctx, durability, err)
                   : try_once(env, t, spec, row, decide, ctx, durability, err);
    } while (rc == ERR_ABORTED);
    mutex_unlock(latch);
    return rc;
}
