/* A program that waits for the next job, so that a job's first attempt need not
 * wait until the program is loaded.
 *
 * A thread of the worker's own starts it, some time after the one before was
 * taken, when that one's attempts have begun; the thread lives as long as the
 * programs that it started (process_host_spare()).
 */
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "mapreduce/attempt/process_host.h"
#include "mapreduce/cluster/worker_state.h"

#define AFTER_US UINT64_C(300000)
#define IDLE_US  UINT64_C(10000000)

static void start_one(struct worker *k)
{
    struct attempt_host *h = NULL;
    struct err err = ERR_INIT;
    int rc;
    mutex_unlock(&k->lock);
    rc = process_host_spare(k->options.command, k->slots, &h, &err);
    mutex_lock(&k->lock);
    k->spare = h;
    /* Jobs start their own, and report the error. */
    if (rc)
        log_info(k->world, "worker", "no program in reserve: %s", err.text);
}

static void run_spare(void *arg)
{
    struct worker *k = arg;
    mutex_lock(&k->lock);
    while (!k->stopping) {
        uint64_t now = world_mono_ns(k->world);
        if (!k->spare && now >= k->spare_due_ns) {
            start_one(k);
            k->spare_due_ns = world_mono_ns(k->world) + AFTER_US * 1000;
        }
        (void)cond_wait_us(&k->spare_wake, &k->lock, k->world,
                           k->spare ? IDLE_US : AFTER_US);
    }
    mutex_unlock(&k->lock);
}

void worker_spare_start(struct worker *k)
{
    if (!k->options.open_host && k->options.command)
        k->spare_task = task_start(k->world, "worker-spare", run_spare, k);
}

struct attempt_host *worker_spare_take(struct worker *k)
{
    struct attempt_host *h;
    mutex_lock(&k->lock);
    h = k->spare;
    k->spare = NULL;
    k->spare_due_ns = world_mono_ns(k->world) + AFTER_US * 1000;
    cond_signal(&k->spare_wake);
    mutex_unlock(&k->lock);
    if (!h || process_host_is_alive(h))
        return h;
    h->close(h);
    return NULL;
}

void worker_spare_stop(struct worker *k)
{
    if (!k->spare_task)
        return;
    mutex_lock(&k->lock);
    cond_signal(&k->spare_wake);
    mutex_unlock(&k->lock);
    task_join(k->spare_task);
    k->spare_task = NULL;
    if (k->spare)
        k->spare->close(k->spare);
    k->spare = NULL;
}
