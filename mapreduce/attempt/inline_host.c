/* Attempts in the job master's own thread: one slot, no limits, no protection.
 * A debugger and a sanitizer see the whole job in one process, and a simulated
 * machine can run it. */
#include "mapreduce/attempt/inline_host.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "mapreduce/attempt/attempt.h"
#include "mapreduce/engines/engine.h"
#include "mapreduce/task/host.h"

struct inline_host {
    struct attempt_host base;
    struct job_setup setup;
    struct engine *engine;
    struct quarry *store;
    struct task_status status;
    char *memory; /* Owned; kept between attempts. */
    bool ended;   /* An attempt has ended, and its event was not fetched. */
    struct task_report report;
};

static int inline_start(struct attempt_host *base,
                        uint32_t worker,
                        const struct task_spec *spec,
                        unsigned *slot,
                        struct err *err)
{
    struct inline_host *h = (struct inline_host *)base;
    struct attempt_resources res = {h->memory, (size_t)h->setup.slot_bytes,
                                    &h->status, h->store};
    (void)err;
    PRE(worker == 0);
    *slot = 0;
    PRE(!h->ended);
    task_report_init(&h->report);
    attempt_run(&h->setup, spec, &res, &h->report);
    h->ended = true;
    return 0;
}

static int inline_wait(struct attempt_host *base,
                       uint64_t timeout_us,
                       struct attempt_event *event,
                       bool *got,
                       struct err *err)
{
    struct inline_host *h = (struct inline_host *)base;
    (void)timeout_us;
    (void)err;
    *got = h->ended;
    *event = (struct attempt_event){.slot = 0, .reported = true};
    event->report = h->report;
    h->ended = false;
    return 0;
}

static void inline_kill(struct attempt_host *base, unsigned slot)
{
    (void)base;
    (void)slot;
}

static struct task_status *inline_status(struct attempt_host *base,
                                         unsigned slot)
{
    (void)slot;
    return &((struct inline_host *)base)->status;
}

static void inline_close(struct attempt_host *base)
{
    struct inline_host *h = (struct inline_host *)base;
    if (h->ended)
        task_report_close(&h->report);
    job_traits_close(&base->traits);
    engine_free(h->engine);
    free(h->memory);
    mem_free(h);
}

int inline_host_open(const struct job_setup *setup,
                     struct attempt_host **out,
                     struct err *err)
{
    struct inline_host *h = mem_zalloc(1, sizeof(*h));
    void *memory = NULL;
    int rc;
    h->base = (struct attempt_host){.start = inline_start,
                                    .wait = inline_wait,
                                    .kill = inline_kill,
                                    .status = inline_status,
                                    .close = inline_close,
                                    .slot_count = 1};
    h->setup = *setup;
    rc = engine_load(&setup->opts->program, &h->engine, err);
    if (rc == 0 && posix_memalign(&memory, 4096, setup->slot_bytes) != 0)
        rc = err_set(err, ERR_NOMEM, "no memory for %llu bytes of pairs",
                     (unsigned long long)setup->slot_bytes);
    if (rc) {
        inline_close(&h->base);
        *out = NULL;
        return rc;
    }
    h->memory = memory;
    h->setup.job = engine_job(h->engine);
    job_traits_of(&h->base.traits, h->setup.job);
    *out = &h->base;
    return 0;
}

void inline_host_set_store(struct attempt_host *base, struct quarry *store)
{
    ((struct inline_host *)base)->store = store;
}
