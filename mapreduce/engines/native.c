/* Jobs in C: those built into the program, and those of shared objects. An
 * object is refused when it was built for another version of mapreduce.h, since
 * its struct mr_job would be read at the wrong offsets. */
#include <dlfcn.h>

#include "mapreduce/engines/engine.h"

static int
check_job(const struct mr_job *job, const char *where, struct err *err)
{
    if (job->abi_version != MR_ABI_VERSION) {
        err_set(err, ERR_UNSUPPORTED,
                "%s: built for version %u of mapreduce.h, this program has %u",
                where, job->abi_version, (unsigned)MR_ABI_VERSION);
        err_hint(err, "compile it again with this version's headers");
        return ERR_UNSUPPORTED;
    }
    if (!job->map && !job->reduce)
        return err_set(err, ERR_INVALID,
                       "%s: the job has neither a map nor a reduce function",
                       where);
    if (job->total_order && (job->partition || !job->reduce))
        return err_set(err, ERR_INVALID,
                       "%s: total_order needs reduce and excludes partition",
                       where);
    return 0;
}

static int native_load(struct engine *e, struct err *err)
{
    const struct mr_job *const *found;
    const char *path = e->program->object;
    if (e->program->job) {
        e->job = e->program->job;
        return check_job(e->job, e->job->name ? e->job->name : "job", err);
    }
    e->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!e->library)
        return err_set(err, ERR_NOTFOUND, "load job: %s", dlerror());
    found = (const struct mr_job *const *)dlsym(e->library, MR_JOB_SYMBOL);
    if (!found || !*found) {
        err_set(err, ERR_INVALID, "%s: no job in this shared object", path);
        err_hint(err, "its source needs MAPREDUCE_JOB(name)");
        return ERR_INVALID;
    }
    e->job = *found;
    return check_job(e->job, path, err);
}

static bool native_takes(const struct mr_program *p)
{
    return p->job || p->object;
}

const struct engine_kind engine_native = {native_takes, native_load};
