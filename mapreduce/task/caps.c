/* Refusals of what a job asks for, each with the setting that is responsible:
 * the user can only ask the administrator for a change by its name. */
#include "mapreduce/task/caps.h"

#include "base/core/buf.h"
#include "base/core/text.h"
#include "mapreduce/job.h"

static int caps_refuse(const char *what, const char *setting, struct err *err)
{
    err_set(err, ERR_DENIED, "the job asks for %s", what);
    err_hint(err,
             "the administrator of the cluster does not allow it: %s in "
             "section [worker] of the servers' configuration",
             setting);
    return ERR_DENIED;
}

static int
check_memory(const struct job_caps *caps, uint64_t bytes, struct err *err)
{
    struct buf asked = BUF_INIT;
    struct buf most = BUF_INIT;
    if (caps->memory_max == 0 || bytes <= caps->memory_max)
        return 0;
    text_put_bytes(&asked, bytes);
    text_put_bytes(&most, caps->memory_max);
    err_set(err, ERR_DENIED,
            "the job asks for %s of memory in an attempt, of %s at most",
            buf_cstr(&asked), buf_cstr(&most));
    err_hint(err, "ask for less by --heap, or have the administrator raise "
                  "max-memory in section [worker] of the servers' "
                  "configuration");
    buf_close(&asked);
    buf_close(&most);
    return ERR_DENIED;
}

int job_caps_check(const struct job_caps *caps,
                   const struct mr_options *o,
                   struct err *err)
{
    int rc = check_memory(caps, o->heap_bytes, err);
    if (rc)
        return rc;
    if (caps->processes_max && o->processes_max > caps->processes_max) {
        err_set(err, ERR_DENIED,
                "the job asks for %u processes of an attempt, of %u at most",
                o->processes_max, caps->processes_max);
        err_hint(err, "ask for fewer by --processes, or have the administrator "
                      "raise max-processes in section [worker] of the servers' "
                      "configuration");
        return ERR_DENIED;
    }
    if (caps->no_network && o->network)
        return caps_refuse("the network", "network = no", err);
    if (caps->sandbox_always && o->no_sandbox)
        return caps_refuse("attempts without a sandbox", "no-sandbox = no",
                           err);
    if (caps->no_objects && o->program.object)
        return caps_refuse("a shared object to be loaded", "objects = no", err);
    return 0;
}
