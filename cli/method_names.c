/* Made of the tables in which services register their methods. It is asked only
 * for spans that are kept, so that a list is fast enough. */
#include "cli/method_names.h"

#include <stddef.h>

#include "base/core/macros.h"
#include "base/rpc/call_tables.h"
#include "bigtable/wire/methods.h"
#include "chubby-lite/lock_wire.h"
#include "gfs-lite/gfs_wire.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/cluster/job_wire.h"

#define NAME_ROW(NAME, number, name, handler, gate) {number, name},

static const struct {
    uint32_t number;
    const char *name;
} names[] = {
    CHUBBY_METHODS(NAME_ROW)   /* */
    NAMENODE_METHODS(NAME_ROW) /* */
    CHUNK_METHODS(NAME_ROW)    /* */
    TABLET_METHODS(NAME_ROW)   /* */
    MASTER_METHODS(NAME_ROW)   /* */
    {JOB_SUBMIT, "job.submit"},
    {JOB_WATCH, "job.watch"},
    {JOB_LIST, "job.list"},
    {JOB_KILL, "job.kill"},
    {JOB_WORKERS, "job.workers"},
    {JOB_ATTEMPTS, "job.attempts"},
    {JOB_LOG, "job.log"},
    {WORKER_PREPARE, "worker.prepare"},
    {WORKER_ORDER, "worker.order"},
    {WORKER_WATCH, "worker.watch"},
    {WORKER_FORGET, "worker.forget"},
    {WORKER_SPILL_INDEX, "worker.spill_index"},
    {WORKER_SPILL_READ, "worker.spill_read"},
};

const char *method_name(uint32_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}
