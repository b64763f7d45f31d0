/* Changes of a table of a directory, read in the caller's thread.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/store/store.h"

/* The tablet that has the first rows of @p, referenced with its view; the rows
 * of others are cut off. */
static int find_tablet(struct quarry_table *t,
                       struct change_partition *p,
                       struct change_partition *rest,
                       bool *cut,
                       struct table_part_view **view,
                       struct tablet **out,
                       struct err *err)
{
    struct slice end;
    *view = table_part_get_view(t->table);
    if (!*view)
        return table_part_gone(t->table, err);
    *out = table_part_view_find(*view, buf_slice(&p->start), NULL);
    end = buf_slice(&(*out)->end);
    *cut =
        end.len && (p->end.len == 0 || slice_cmp(end, buf_slice(&p->end)) < 0);
    if (*cut)
        change_partition_cut(p, end, rest);
    return 0;
}

int embedded_changes_place(struct quarry_table *t,
                           int64_t us,
                           struct change_partition *p,
                           struct change_partition *rest,
                           bool *cut,
                           struct err *err)
{
    struct table_part_view *view = NULL;
    struct tablet *tablet;
    int rc = find_tablet(t, p, rest, cut, &view, &tablet, err);
    if (rc == 0)
        rc = change_place(tablet, us, &p->at, err);
    table_part_view_unref(view);
    return rc;
}

int embedded_changes_read(struct quarry_table *t,
                          size_t batch_bytes,
                          uint64_t wait_us,
                          struct change_partition *p,
                          struct change_partition *rest,
                          bool *cut,
                          struct change_result *out,
                          struct err *err)
{
    struct table_part_view *view = NULL;
    struct tablet *tablet;
    int rc = find_tablet(t, p, rest, cut, &view, &tablet, err);
    (void)wait_us; /* The reader waits for all partitions. */
    if (rc == 0) {
        const struct change_request request = {.start = buf_slice(&p->start),
                                               .end = buf_slice(&p->end),
                                               .schema = view->schema,
                                               .batch_bytes = batch_bytes};
        rc = change_read(tablet, &request, &p->at, out, err);
    }
    table_part_view_unref(view);
    return rc;
}

uint64_t embedded_changes_moment(struct quarry_table *t)
{
    return atomic_load(&t->quarry->store->env.visible);
}

void embedded_changes_wait(struct quarry_table *t, uint64_t moment, uint64_t us)
{
    struct tablet_env *env = &t->quarry->store->env;
    change_bell_wait(&env->bell, env->world, &env->visible, moment, us);
}
