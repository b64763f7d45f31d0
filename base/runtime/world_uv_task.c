/* Tasks of the real world: a thread each, with the task's name, which
 * debuggers and perf show. */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world_uv.h"

/* The kernel's limit for a thread's name, its NUL included. */
#define THREAD_NAME_BYTES 16

struct real_task {
    struct task base;
    pthread_t thread;
    task_fn fn;
    void *arg;
    char name[THREAD_NAME_BYTES];
    struct mutex mutex;  /* Guards `ended`. */
    struct cond changed; /* `ended` became true. */
    bool ended;
};

static void *run_task(void *arg)
{
    struct real_task *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->fn(t->arg);
    mutex_lock(&t->mutex);
    t->ended = true;
    cond_broadcast(&t->changed);
    mutex_unlock(&t->mutex);
    return NULL;
}

struct task *
real_task_start(struct world *w, const char *name, task_fn fn, void *arg)
{
    struct real_task *t = mem_zalloc(1, sizeof(*t));
    int rc;
    t->base.world = w;
    t->fn = fn;
    t->arg = arg;
    snprintf(t->name, sizeof(t->name), "%.*s", THREAD_NAME_BYTES - 1, name);
    mutex_init(&t->mutex);
    cond_init(&t->changed);
    rc = pthread_create(&t->thread, NULL, run_task, t);
    if (rc)
        PANIC("start task %s: %s", name, strerror(rc));
    return &t->base;
}

/* Waiting for `ended` lets a fiber park; pthread_join() after it waits only
 * for the thread's last few instructions. */
void real_task_join(struct task *base)
{
    struct real_task *t = (struct real_task *)base;
    mutex_lock(&t->mutex);
    while (!t->ended)
        cond_wait(&t->changed, &t->mutex);
    mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    cond_close(&t->changed);
    mutex_close(&t->mutex);
    mem_free(t);
}
