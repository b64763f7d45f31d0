/* Events of a master, logged and counted.
 *
 * One table has the name of each event, which is that of its lines in the log
 * and the label of its counter. */
#include "bigtable/master/events.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"

#define EVENT_TEXT_BYTES 512

static const char *const events[EVENT_COUNT] = {
    [EVENT_TERM] = "term",
    [EVENT_SERVER_JOIN] = "server_join",
    [EVENT_SERVER_DEATH] = "server_death",
    [EVENT_ASSIGNMENT] = "assignment",
    [EVENT_MOVE] = "move",
    [EVENT_SPLIT] = "split",
    [EVENT_MERGE] = "merge",
    [EVENT_RECOVERY] = "recovery",
    [EVENT_SWEEP] = "sweep",
    [EVENT_TABLE_CREATE] = "table_create",
    [EVENT_TABLE_DROP] = "table_drop",
    [EVENT_SNAPSHOT] = "snapshot",
    [EVENT_SNAPSHOT_DROP] = "snapshot_drop",
    [EVENT_RESTORE] = "restore",
    [EVENT_REPLICATION] = "replication",
};

void master_events_init(struct master_events *e, struct metrics *m)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        e->counters[i] =
            metrics_counter(m, METRIC_master_events, METRIC_LABELS(events[i]));
}

void master_note(struct master_term *r,
                 enum master_event e,
                 const char *fmt,
                 ...)
{
    char text[EVENT_TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    PRE(e < EVENT_COUNT);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    metric_add(r->master->events.counters[e], 1);
    log_info(r->world, "master", "%s %s", events[e], text);
}
