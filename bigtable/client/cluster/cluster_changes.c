/* Changes of a cluster's tables: not yet to be had. */
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"

static int refuse_changes(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "tables of a cluster keep no changes: only those of a "
                   "directory do");
}

int cluster_changes_place(struct quarry_table *t,
                          int64_t us,
                          struct change_partition *p,
                          struct change_partition *rest,
                          bool *cut,
                          struct err *err)
{
    (void)t;
    (void)us;
    (void)p;
    (void)rest;
    *cut = false;
    return refuse_changes(err);
}

int cluster_changes_read(struct quarry_table *t,
                         size_t batch_bytes,
                         uint64_t wait_us,
                         struct change_partition *p,
                         struct change_partition *rest,
                         bool *cut,
                         struct change_result *out,
                         struct err *err)
{
    (void)t;
    (void)batch_bytes;
    (void)wait_us;
    (void)p;
    (void)rest;
    (void)out;
    *cut = false;
    return refuse_changes(err);
}

uint64_t cluster_changes_moment(struct quarry_table *t)
{
    (void)t;
    return 0;
}

void cluster_changes_wait(struct quarry_table *t, uint64_t moment, uint64_t us)
{
    (void)moment;
    world_sleep_us(t->quarry->world, us);
}
