/* The leader's state as metrics. Figures that take a walk over all chunks are
 * those of the last scan (re_replication.c), which is seconds ago.
 */
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "gfs-lite/namenode/namenode_state.h"

static void
namenode_metrics_put(struct metric_set *out, enum metric_id id, uint64_t value)
{
    metric_put(out, id, NULL, (double)value);
}

static void put_servers(const struct namenode *nn, struct metric_set *out)
{
    size_t alive = 0;
    for (size_t i = 0; i < nn->servers.count; i++)
        alive += nn->servers.servers[i].alive;
    INVARIANT(alive <= nn->servers.count);
    metric_put(out, METRIC_fs_chunk_servers, METRIC_LABELS("alive"),
               (double)alive);
    metric_put(out, METRIC_fs_chunk_servers, METRIC_LABELS("dead"),
               (double)(nn->servers.count - alive));
}

static void put_chunks(const struct namenode *nn, struct metric_set *out)
{
    static const char *const reasons[COPY_REASONS] = {[COPY_REPAIR] = "repair",
                                                      [COPY_DRAIN] = "drain",
                                                      [COPY_BALANCE] =
                                                          "balance"};
    uint64_t waiting = 0;
    for (size_t i = 0; i < REPAIR_LEVELS; i++)
        waiting += nn->repairs.counts[i];
    PRE(nn->leading_since_ns); /* INV-1 */
    namenode_metrics_put(out, METRIC_fs_chunks,
                         nn->catalog.names.chunks.by_handle.count);
    namenode_metrics_put(out, METRIC_fs_lost_chunks,
                         namenode_is_early(nn) ? 0 : nn->lost_count);
    namenode_metrics_put(out, METRIC_fs_under_replicated_chunks,
                         nn->under_count);
    if (nn->under_since_us)
        metric_put(out, METRIC_fs_under_replicated_since_seconds, NULL,
                   (double)nn->under_since_us / 1e6);
    namenode_metrics_put(out, METRIC_fs_over_replicated_chunks, nn->over_count);
    namenode_metrics_put(out, METRIC_fs_repair_queue, waiting);
    namenode_metrics_put(out, METRIC_fs_copies_running, nn->copies.count);
    for (size_t i = 0; i < COPY_REASONS; i++)
        metric_put_counter(out, METRIC_fs_copies_ordered,
                           METRIC_LABELS(reasons[i]), &nn->copies_ordered[i]);
}

void namenode_gather(const struct namenode *nn, struct metric_set *out)
{
    const struct directory *root;
    if (nn->leading_since_ns == 0)
        return; /* INV-1 */
    root = nn->catalog.names.root->u.directory;
    INVARIANT(root->entry_count >= root->file_count);
    namenode_metrics_put(out, METRIC_fs_files, root->file_count);
    namenode_metrics_put(out, METRIC_fs_directories,
                         root->entry_count - root->file_count);
    namenode_metrics_put(out, METRIC_fs_open_files,
                         nn->catalog.names.open_files.count);
    namenode_metrics_put(out, METRIC_fs_safe_mode, namenode_in_safe_mode(nn));
    put_servers(nn, out);
    put_chunks(nn, out);
}
