/* Loops of the real world: a uv_loop_t for sockets and for sleeping, our own
 * run queue for fibers, a timerfd for timers finer than uv's milliseconds. */
#define _GNU_SOURCE

#include "base/runtime/world_uv_loop.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/waiter.h"

/* Fibers that run between two polls of the sockets. */
#define BATCH_FIBERS_MAX 256

struct uv_loop *uv_loop_of(struct loop *l)
{
    return (struct uv_loop *)l;
}

/* --- run queue ----------------------------------------------------------- */

static void make_ready(struct loop *base, struct fiber *f)
{
    struct uv_loop *l = uv_loop_of(base);
    f->next_ready = NULL;
    *l->ready_end = f;
    l->ready_end = &f->next_ready;
}

static void run_batch(struct uv_loop *l)
{
    for (int i = 0; l->ready && i < BATCH_FIBERS_MAX; i++) {
        struct fiber *f = l->ready;
        l->ready = f->next_ready;
        if (!l->ready)
            l->ready_end = &l->ready;
        loop__run_fiber(f);
    }
}

/* --- sleeping and waking ------------------------------------------------- */

static uint64_t now_ns(struct loop *base)
{
    (void)base;
    return real_mono_ns();
}

/* A loop sets `asleep` before it checks its queue for the last time, so
 * either it sees a post or the poster sees `asleep`. */
static void world_uv_loop_wakeup(struct loop *base)
{
    struct uv_loop *l = uv_loop_of(base);
    if (atomic_exchange(&l->asleep, false))
        if (eventfd_write(l->wake_fd, 1) < 0)
            PANIC("wake loop %s: %s", base->name, strerror(errno));
}

static void on_wake(uv_poll_t *handle, int status, int events)
{
    struct uv_loop *l = handle->data;
    eventfd_t count;
    (void)status;
    (void)events;
    if (eventfd_read(l->wake_fd, &count) < 0 && errno != EAGAIN)
        PANIC("loop %s: %s", l->base.name, strerror(errno));
}

static void on_timer(uv_poll_t *handle, int status, int events)
{
    struct uv_loop *l = handle->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    if (read(l->timer_fd, &ticks, sizeof(ticks)) > 0)
        l->armed_ns = UINT64_MAX;
}

static void arm_timer(struct uv_loop *l)
{
    uint64_t next = loop__next_timer_ns(&l->base);
    struct itimerspec spec = {.it_value = {0, 0}};
    if (next == l->armed_ns)
        return;
    if (next != UINT64_MAX) {
        spec.it_value.tv_sec = (time_t)(next / 1000000000);
        spec.it_value.tv_nsec = (long)(next % 1000000000);
    }
    timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
    l->armed_ns = next;
}

static bool must_look(struct uv_loop *l)
{
    return l->ready || atomic_load(&l->base.posts) ||
           (atomic_load(&l->base.stop_asked) && !l->base.stopping);
}

/* Poll for events without sleeping, as long as busy_poll.h allows. */
static bool look_for_events(struct uv_loop *l)
{
    if (!busy_poll_begin(&l->busy_poll))
        return false;
    do {
        uv_run(&l->uv, UV_RUN_NOWAIT);
        if (must_look(l))
            return true;
    } while (busy_poll_again(&l->busy_poll) &&
             loop__next_timer_ns(&l->base) > l->busy_poll.looked_ns);
    return false;
}

static void sleep_for_events(struct uv_loop *l)
{
    atomic_store(&l->asleep, true);
    if (must_look(l)) {
        uv_run(&l->uv, UV_RUN_NOWAIT);
    } else {
        arm_timer(l);
        uv_run(&l->uv, UV_RUN_ONCE);
    }
    atomic_store(&l->asleep, false);
}

/* Let uv deliver events, and wait for them when no fiber is ready. */
static void poll_events(struct uv_loop *l)
{
    bool caught;
    if (must_look(l)) {
        uv_run(&l->uv, UV_RUN_NOWAIT);
        return;
    }
    caught = look_for_events(l);
    if (!caught)
        sleep_for_events(l);
    busy_poll_end(&l->busy_poll, caught);
}

/* --- run ----------------------------------------------------------------- */

static void run_started(void *arg)
{
    struct loop *base = arg;
    struct uv_loop *l = uv_loop_of(base);
    const void *home = loop__enter(base);
    while (!base->stopping || base->live_count) {
        loop__drain_posts(base);
        if (base->timer_count)
            loop__expire_timers(base, real_mono_ns());
        run_batch(l);
        if (atomic_load(&base->stop_asked) && !base->stopping)
            loop__cancel_fibers(base);
        if (!base->stopping || base->live_count)
            poll_events(l);
    }
    loop__enter(home);
}

static void world_uv_loop_start(struct loop *base)
{
    uv_loop_of(base)->thread =
        task_start(base->world, base->name, run_started, base);
}

static void world_uv_loop_join(struct loop *base)
{
    task_join(uv_loop_of(base)->thread);
    uv_loop_of(base)->thread = NULL;
}

static void run_offload(struct loop *base, loop_fn fn, void *arg)
{
    offload_pool_run(real_world(base->world)->pool, fn, arg);
}

/* --- start and end ------------------------------------------------------- */

static void free_loop(struct loop *base)
{
    struct uv_loop *l = uv_loop_of(base);
    PRE(!l->thread);
    loop__close(base);
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->timer, NULL);
    while (uv_run(&l->uv, UV_RUN_DEFAULT))
        ;
    if (uv_loop_close(&l->uv))
        PANIC("loop %s: freed while a stream was open", base->name);
    close(l->timer_fd);
    close(l->wake_fd);
    mem_free(l);
}

static const struct loop_ops uv_ops = {
    .free = free_loop,
    .start = world_uv_loop_start,
    .join = world_uv_loop_join,
    .now_ns = now_ns,
    .wakeup = world_uv_loop_wakeup,
    .ready = make_ready,
    .offload = run_offload,
};

static int init_handles(struct uv_loop *l)
{
    int rc = uv_poll_init(&l->uv, &l->wake, l->wake_fd);
    if (rc == 0)
        rc = uv_poll_init(&l->uv, &l->timer, l->timer_fd);
    l->wake.data = l;
    l->timer.data = l;
    if (rc == 0)
        rc = uv_poll_start(&l->wake, UV_READABLE, on_wake);
    if (rc == 0)
        rc = uv_poll_start(&l->timer, UV_READABLE, on_timer);
    return rc;
}

int real_loop_new(struct world *w,
                  const char *name,
                  struct loop **out,
                  struct err *err)
{
    struct uv_loop *l = mem_zalloc(1, sizeof(*l));
    int rc;
    loop__init(&l->base, &uv_ops, w, name);
    l->ready_end = &l->ready;
    l->armed_ns = UINT64_MAX;
    atomic_init(&l->asleep, false);
    l->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->timer_fd < 0) {
        err_set_errno(err, errno, "loop %s: timer", name);
        goto fail;
    }
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->wake_fd < 0) {
        err_set_errno(err, errno, "loop %s: eventfd", name);
        goto fail_timer;
    }
    rc = uv_loop_init(&l->uv);
    if (rc) {
        err_set_errno(err, -rc, "loop %s", name);
        goto fail_wake;
    }
    rc = init_handles(l);
    if (rc)
        PANIC("loop %s: %s", name, uv_strerror(rc));
    *out = &l->base;
    return 0;
fail_wake:
    close(l->wake_fd);
fail_timer:
    close(l->timer_fd);
fail:
    loop__close(&l->base);
    mem_free(l);
    return ERR_EXHAUSTED;
}
