/* The rule for backups: nothing waits, the attempt has had half a typical
 * task's time, and at its pace it will take longer than a fresh attempt, with a
 * fifth to spare against the noise of the estimate (MapReduce, OSDI 2004,
 * section 3.6). */
#include "mapreduce/master/straggler.h"

#include "mapreduce/master/task_table.h"

#define PPM ((uint64_t)1000000)

/* The whole time of an attempt at its pace; 0: it has none yet. */
static uint64_t projected_us(const struct task_attempt *a, uint64_t now_us)
{
    uint64_t age = now_us - a->started_us;
    if (a->done_ppm == 0 || age < STRAGGLER_AGE_US)
        return 0;
    return age * PPM / a->done_ppm;
}

uint64_t straggler_typical_us(const struct task_table *t, uint64_t now_us)
{
    uint64_t best = 0;
    if (t->took_count > 0)
        return t->took_us / t->took_count;
    for (uint32_t i = t->first_live; i != TASK_NONE; i = t->tasks[i].next)
        for (uint32_t k = 0; k < t->tasks[i].live_count; k++) {
            uint64_t us = projected_us(&t->tasks[i].live[k], now_us);
            if (us > 0 && (best == 0 || us < best))
                best = us;
        }
    return best;
}

uint64_t straggler_left_us(const struct task_attempt *a,
                           uint64_t typical_us,
                           uint64_t now_us)
{
    uint64_t age = now_us - a->started_us;
    uint64_t still = now_us - a->moved_us;
    if (a->done_ppm > 0)
        return MAX_OF(age * (PPM - a->done_ppm) / a->done_ppm, still);
    /* An attempt that reports no progress may still be as fast as the others.
     */
    return age < typical_us + typical_us / 2 ? typical_us - age / 2 : age;
}

static bool
is_slow(const struct task_attempt *a, uint64_t typical, uint64_t now_us)
{
    uint64_t age = now_us - a->started_us;
    if (a->state != ATTEMPT_RUNNING || a->backup || age < STRAGGLER_AGE_US ||
        age < typical / 2)
        return false;
    return straggler_left_us(a, typical, now_us) > typical + typical / 5;
}

bool straggler_find(const struct task_table *t, uint64_t now_us, uint32_t *task)
{
    uint32_t backups_max = t->count / STRAGGLER_SHARE;
    uint64_t typical;
    uint64_t most = 0;
    if (t->waiting > 0 || t->running == 0)
        return false;
    if (t->backups >= (backups_max > 0 ? backups_max : 1))
        return false;
    typical = straggler_typical_us(t, now_us);
    if (typical == 0)
        return false;
    for (uint32_t i = t->first_live; i != TASK_NONE; i = t->tasks[i].next) {
        const struct task_entry *e = &t->tasks[i];
        uint64_t left;
        if (e->state != TASK_RUNNING || e->live_count != 1 ||
            !is_slow(&e->live[0], typical, now_us))
            continue;
        left = straggler_left_us(&e->live[0], typical, now_us);
        if (left > most) {
            most = left;
            *task = i;
        }
    }
    return most > 0;
}
