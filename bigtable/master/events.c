/* Events of a master, logged and counted.
 *
 * One table has, for each event, its name in the log and the name of its
 * counter, so that neither exists without the other. */
#include "bigtable/master/events.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "base/rpc/vars.h"
#include "base/runtime/log.h"
#include "bigtable/master/master_term.h"

#define EVENT_TEXT_BYTES 512

static const struct {
    const char *name;
    const char *counter;
} events[EVENT_COUNT] = {
    [EVENT_TERM] = {"term", "master.terms"},
    [EVENT_SERVER_JOIN] = {"server_join", "master.server_joins"},
    [EVENT_SERVER_DEATH] = {"server_death", "master.server_deaths"},
    [EVENT_ASSIGNMENT] = {"assignment", "master.assignments"},
    [EVENT_MOVE] = {"move", "master.moves"},
    [EVENT_SPLIT] = {"split", "master.splits"},
    [EVENT_MERGE] = {"merge", "master.merges"},
    [EVENT_RECOVERY] = {"recovery", "master.recoveries"},
    [EVENT_SWEEP] = {"sweep", "master.sweeps"},
    [EVENT_TABLE_CREATE] = {"table_create", "master.table_creates"},
    [EVENT_TABLE_DROP] = {"table_drop", "master.table_drops"},
    [EVENT_SNAPSHOT] = {"snapshot", "master.snapshots"},
    [EVENT_SNAPSHOT_DROP] = {"snapshot_drop", "master.snapshot_drops"},
    [EVENT_RESTORE] = {"restore", "master.restores"},
    [EVENT_REPLICATION] = {"replication", "master.replications"},
};

void master_events_init(struct master_events *e, struct vars *vars)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        e->counters[i] = vars ? vars_get(vars, events[i].counter) : NULL;
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
    if (r->master->events.counters[e])
        var_add(r->master->events.counters[e], 1);
    log_info(r->world, "master", "%s %s", events[e].name, text);
}
