/* The reason that tasks wait, in a sentence with the figures that tell whether
 * more workers would help. */
#include "base/core/buf.h"
#include "base/core/text.h"
#include "mapreduce/master/schedule.h"

/* The workers that are up. */
struct sched_crowd {
    uint32_t count;
    uint32_t silent;
    uint32_t slots;
    uint32_t fewest; /* Slots of one of them. */
    uint32_t most;
    uint64_t free_bytes; /* The most that one of them has. */
};

static struct sched_crowd sched_crowd_of(const struct sched *s)
{
    struct sched_crowd c = {.fewest = UINT32_MAX};
    for (uint32_t i = 0; i < s->worker_count; i++) {
        const struct sched_worker *w = &s->workers[i];
        if (!w->up)
            continue;
        c.count++;
        c.silent += w->silent;
        c.slots += w->all_slots;
        c.fewest = MIN_OF(c.fewest, w->all_slots);
        c.most = MAX_OF(c.most, w->all_slots);
        c.free_bytes = MAX_OF(c.free_bytes, w->memory_bytes - w->used_bytes);
    }
    return c;
}

static const char *plural_of(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void describe_slots(const struct sched_crowd *c, struct buf *out)
{
    if (c->slots == 0) /* One machine, whose slots are the workers. */
        buf_printf(out, "all slots are taken (%u)", c->count);
    else if (c->fewest == c->most)
        buf_printf(out, "%u worker%s with %u slot%s%s %s busy", c->count,
                   plural_of(c->count), c->most, plural_of(c->most),
                   c->count > 1 ? " each" : "", c->count > 1 ? "are" : "is");
    else
        buf_printf(out, "%u workers with %u slots are busy", c->count,
                   c->slots);
    if (c->silent > 0)
        buf_printf(out, ", or silent (%u)", c->silent);
}

static void describe_memory(const struct sched_crowd *c,
                            const struct sched_job *j,
                            struct buf *out)
{
    buf_append_str(out, "no worker has the memory an attempt needs (");
    text_put_bytes(out, j->attempt_bytes);
    buf_append_str(out, "; at most ");
    text_put_bytes(out, c->free_bytes);
    buf_append_str(out, " are free)");
}

static void describe_banned(const struct sched_job *j, struct buf *out)
{
    buf_printf(out,
               "the free workers are those on which it fails (%u failures)",
               j->failure_sum);
}

void sched_describe_wait(const struct sched *s,
                         uint32_t job,
                         const char *kind,
                         uint64_t now_us,
                         struct buf *out)
{
    const struct sched_job *j = &s->jobs[job];
    const struct sched_crowd c = sched_crowd_of(s);
    enum sched_wait why = sched_why(s, job, now_us);
    uint32_t n = j->tasks ? j->tasks->waiting : 0;
    if (why == SCHED_WAIT_NOTHING)
        return;
    buf_printf(out, "%u %s attempt%s %s", n, kind, plural_of(n),
               n == 1 ? "waits" : "wait");
    buf_append_str(out, why == SCHED_WAIT_SLOT    ? " for a free slot: "
                        : why == SCHED_WAIT_PLACE ? " "
                                                  : ": ");
    switch (why) {
    case SCHED_WAIT_NOTHING: break;
    case SCHED_WAIT_WORKER: buf_append_str(out, "no worker is up"); break;
    case SCHED_WAIT_SLOT: describe_slots(&c, out); break;
    case SCHED_WAIT_MEMORY: describe_memory(&c, j, out); break;
    case SCHED_WAIT_QUOTA:
        buf_printf(out, "the job has all the slots it may have (%u)", j->quota);
        break;
    case SCHED_WAIT_BANNED: describe_banned(j, out); break;
    case SCHED_WAIT_PLACE:
        buf_append_str(out, "for a slot near its input");
        break;
    case SCHED_WAIT_MAPS:
        buf_append_str(out, "maps whose output is gone run again");
        break;
    }
}
