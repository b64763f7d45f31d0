/* Choosing the engine of a program from their table: the first that takes it.
 */
#include "mapreduce/engines/engine.h"

#include <dlfcn.h>

#include "base/core/panic.h"
#include "mapreduce/task/task.h"
#include "sawzall-lite/sawzall.h"

#define ENGINE_ADDRESS(name) &engine_##name,
static const struct engine_kind *const engine_kinds[] = {
    ENGINES(ENGINE_ADDRESS)};
#undef ENGINE_ADDRESS

static int engine_load_program(struct engine *e, struct err *err)
{
    PRE(e->program);
    for (size_t i = 0; i < ARRAY_LEN(engine_kinds); i++)
        if (engine_kinds[i]->takes(e->program))
            return engine_kinds[i]->load(e, err);
    return err_set(err, ERR_INVALID, "no program to run");
}

int engine_load(const struct mr_program *program,
                struct engine **out,
                struct err *err)
{
    PRE(program != NULL);
    struct engine *e = mem_zalloc(1, sizeof(*e));
    int rc;
    e->program = program;
    rc = engine_load_program(e, err);
    if (rc) {
        engine_free(e);
        e = NULL;
    }
    POST(rc != 0 || e->job != NULL);
    *out = e;
    return rc;
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
