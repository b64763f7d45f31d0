/* Metrics of a tablet server: of its tables, and of the engine beneath them.
 */
#include "base/metrics/metrics.h"
#include "bigtable/log/write_log.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet_server/tablet_server_state.h"

void tablet_server_gather(struct tablet_server *s, struct metric_set *out)
{
    bool is_ready = atomic_load(&s->ready);
    metric_put(out, METRIC_tablet_ready, NULL, is_ready);
    metric_put(out, METRIC_tablet_lost, NULL,
               (double)atomic_load(&s->lost_count));
    metric_put(out, METRIC_tablet_request_bytes, NULL,
               (double)atomic_load(&s->request_bytes));
    if (!is_ready)
        return;
    metric_put(out, METRIC_engine_memtable_bytes, NULL,
               (double)atomic_load(&s->store->env.memory_bytes));
    metric_put(out, METRIC_engine_log_bytes, NULL,
               (double)write_log_bytes(s->log));
}
