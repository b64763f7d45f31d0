/* Counters of a client of a cluster: its calls, retries and bytes, each with a
 * few words on its meaning. They are read on the loop, which owns them.
 */
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/lock_files.h"
#include "bigtable/client/cluster/shared_calls.h"

struct list {
    struct cluster *cluster;
    struct quarry_counter *at;
    size_t count;
};

static void cluster_counters_add(struct list *l,
                                 const char *name,
                                 uint64_t value,
                                 const char *about)
{
    PRE(l->count < QUARRY_COUNTERS_MAX);
    l->at[l->count++] = (struct quarry_counter){name, value, about};
}

static int count_on_loop(void *arg, struct err *err)
{
    struct list *l = arg;
    const struct cluster *c = l->cluster;
    const struct cluster_counts *n = c->counts;
    struct locator_counts where;
    size_t known;
    (void)err;
    locator_get_counts(c->locator, &where, &known);
    cluster_counters_add(l, "server_calls", n->calls,
                         "calls of tablet servers");
    cluster_counters_add(l, "server_retries", n->retries,
                         "pauses before trying again");
    cluster_counters_add(l, "server_bytes_sent", n->bytes_sent, "to them");
    cluster_counters_add(l, "server_bytes_received", n->bytes_received,
                         "and from them");
    cluster_counters_add(l, "reads_shared", shared_calls_count(c->reads),
                         "rows that were read in calls of others");
    cluster_counters_add(l, "writes_shared", shared_calls_count(c->writes),
                         "changes that went along in calls of others");
    cluster_counters_add(l, "servers", channel_set_count(c->channels),
                         "that were called");
    cluster_counters_add(l, "master_calls", n->master_calls,
                         "to change tables");
    cluster_counters_add(l, "lock_calls", lock_files_calls(c->files),
                         "of the lock service");
    cluster_counters_add(l, "locations", known,
                         "tablets whose server is remembered");
    cluster_counters_add(l, "location_hits", where.hits,
                         "tablets found at once");
    cluster_counters_add(l, "location_misses", where.misses,
                         "and those that were not");
    cluster_counters_add(l, "location_calls", where.calls,
                         "of tablets of METADATA");
    cluster_counters_add(l, "location_shared", where.shared,
                         "look-ups that shared such a call");
    cluster_counters_add(l, "location_stale", where.forgotten,
                         "tablets that were elsewhere");
    return 0;
}

size_t cluster_counters(struct quarry *q,
                        struct quarry_counter out[QUARRY_COUNTERS_MAX])
{
    struct list l = {q->cluster, out, 0};
    if (cluster_do(q->cluster, "tables counters", CLUSTER_NO_TIMEOUT,
                   count_on_loop, &l, NULL))
        PANIC("counting does not fail");
    return l.count;
}
