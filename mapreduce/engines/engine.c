/* Choosing the engine of a program. */
#include "mapreduce/engines/engine.h"

#include <dlfcn.h>

#include "base/core/panic.h"
#include "mapreduce/task/task.h"
#include "sawzall-lite/sawzall.h"

static int engine_load_program(struct engine *e, struct err *err)
{
    const struct mr_program *p = e->program;
    if (p->job || p->object)
        return native_load(e, err);
    if (p->mapper || p->reducer)
        return streaming_load(e, err);
    if (p->saw)
        return sawzall_load(e, err);
    return err_set(err, ERR_INVALID, "no program to run");
}

int engine_load(const struct mr_program *program,
                struct engine **out,
                struct err *err)
{
    struct engine *e = mem_zalloc(1, sizeof(*e));
    int code;
    e->program = program;
    code = engine_load_program(e, err);
    if (code) {
        engine_free(e);
        e = NULL;
    }
    *out = e;
    return code;
}

const struct engine *mr_task_engine(const struct mr_task *t)
{
    return t->setup->job->engine;
}

const struct mr_job *engine_job(const struct engine *e)
{
    return e->job;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    saw_program_free(e->saw);
    mem_free(e->mapper);
    if (e->library)
        dlclose(e->library);
    mem_free(e);
}
