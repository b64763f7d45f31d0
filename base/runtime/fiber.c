/* Fibers: starting and ending them, the switch, parking and waking. A
 * fiber's struct and stack are pooled by its loop, because every request of
 * a server starts one. The only state per thread is the running fiber; all
 * else belongs to a loop and is touched by its thread alone, except for the
 * atomics by which other threads wake and cancel. */
#include "base/runtime/fiber.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/heap.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/sanitize.h"
#include "base/runtime/waiter.h"

/* Stacks kept for reuse by one loop: 256 MiB of address space, as much of it in
 * memory as was ever touched. */
#define FIBER_POOL_MAX 1024
/* How long a sleep lasts if its fiber is cancelled before it begins. */
#define CANCELLED_SLEEP_NS UINT64_C(100000)

/* Boost.Context's C ABI. A context is a stack pointer; jumping to one returns,
 * on the other side, the context jumped from. */
struct context_transfer {
    void *from;
    void *data;
};
struct context_transfer jump_fcontext(void *to, void *data);
void *
make_fcontext(void *top, size_t bytes, void (*fn)(struct context_transfer t));

/* The one piece of state per thread: the fiber that runs on it. */
static _Thread_local struct fiber *running;
static _Thread_local struct loop *running_loop;
static _Thread_local const void *thread_home;
/* The context of a plain thread. */
static _Thread_local void *thread_context;

struct fiber *fiber_self(void)
{
    return running;
}

const void *fiber_or_thread(void)
{
    return running ? (const void *)running : (const void *)&running;
}

const char *fiber_name(const struct fiber *f)
{
    return f->name;
}

struct loop *fiber_loop(const struct fiber *f)
{
    return f->loop;
}

struct loop *loop_self(void)
{
    return running_loop;
}

const void *loop__enter(const void *home)
{
    const void *old = thread_home;
    thread_home = home;
    return old;
}

/* --- the switch ---------------------------------------------------------- */

/* Switch from the scheduler to @f, until it parks or ends. */
static void switch_in(struct fiber *f)
{
    struct loop *l = f->loop;
    struct context_transfer t;
    l->tsan_fiber = tsan_self();
    asan_leave(&l->asan_fake_stack, f->stack, FIBER_STACK_BYTES);
    tsan_switch(f->tsan_fiber);
    t = jump_fcontext(f->context, f);
    asan_arrive(l->asan_fake_stack, NULL, NULL);
    f->context = t.from;
}

/* Switch from @f to the scheduler; returns when @f is switched to again. */
static void switch_out(struct fiber *f, bool for_good)
{
    struct context_transfer t;
    asan_leave(for_good ? NULL : &f->asan_fake_stack, f->asan_back_stack,
               f->asan_back_bytes);
    tsan_switch(f->loop->tsan_fiber);
    t = jump_fcontext(f->back, NULL);
    asan_arrive(f->asan_fake_stack, &f->asan_back_stack, &f->asan_back_bytes);
    f->back = t.from;
}

/* The first frame of every fiber. */
static void fiber_main(struct context_transfer t)
{
    struct fiber *f = t.data;
    asan_arrive(NULL, &f->asan_back_stack, &f->asan_back_bytes);
    f->back = t.from;
    f->fn(f->arg);
    f->state = FIBER_ENDED;
    switch_out(f, true);
    PANIC("fiber %s ran after its end", f->name);
}

/* --- start and end ------------------------------------------------------- */

static struct fiber *take_free(struct loop *l)
{
    struct fiber *f = l->pool;
    if (f) {
        l->pool = f->next_free;
        l->pool_count--;
    } else if (l->bare) {
        f = l->bare;
        l->bare = f->next_free;
    } else {
        f = mem_zalloc(1, sizeof(*f));
        f->loop = l;
        f->post.fiber = f;
        f->timer_index = SIZE_MAX;
        atomic_init(&f->cancelled, false);
        atomic_init(&f->posted, false);
    }
    INVARIANT(f->state == FIBER_FREE && f->timer_index == SIZE_MAX); /* INV-1 */
    if (!f->stack)
        f->stack = fiber_stack_map();
    asan_fresh_stack(f->stack, FIBER_STACK_BYTES);
    return f;
}

static void link_live(struct loop *l, struct fiber *f)
{
    f->prev_live = NULL;
    f->next_live = l->live;
    if (l->live)
        l->live->prev_live = f;
    l->live = f;
    l->live_count++;
}

static void unlink_live(struct loop *l, struct fiber *f)
{
    if (f->prev_live)
        f->prev_live->next_live = f->next_live;
    else
        l->live = f->next_live;
    if (f->next_live)
        f->next_live->prev_live = f->prev_live;
    INVARIANT(l->live_count > 0); /* INV-2 */
    l->live_count--;
}

/* Copy @name, cut to the room there is. No printf() here: every call of a
 * server starts a fiber. */
static void copy_name(struct fiber *f, const char *name)
{
    size_t len = strnlen(name, FIBER_NAME_BYTES - 1);
    memcpy(f->name, name, len);
    f->name[len] = '\0';
}

struct fiber *
fiber_start(struct loop *loop, const char *name, fiber_fn fn, void *arg)
{
    struct fiber *f = take_free(loop);
    copy_name(f, name);
    f->fn = fn;
    f->arg = arg;
    f->notified = false;
    f->detached = false;
    f->joiner = NULL;
    f->deadline_ns = 0;
    f->owner_context = NULL;
    f->started_ns = loop->ops->now_ns(loop);
    atomic_store(&f->cancelled, loop->stopping);
    f->tsan_fiber = tsan_new();
    f->context = make_fcontext(f->stack + FIBER_STACK_BYTES, FIBER_STACK_BYTES,
                               fiber_main);
    link_live(loop, f);
    f->state = FIBER_READY;
    loop->ops->ready(loop, f);
    return f;
}

/* The struct stays until its loop is freed, even beyond the pool's bound,
 * because another thread may still be about to wake it. Only the stack is
 * freed. */
static void fiber_recycle(struct fiber *f)
{
    struct loop *l = f->loop;
    PRE(f->state == FIBER_ENDED);
    unlink_live(l, f);
    f->state = FIBER_FREE;
    if (l->pool_count >= FIBER_POOL_MAX) {
        fiber_stack_unmap(f->stack);
        f->stack = NULL;
        f->next_free = l->bare;
        l->bare = f;
        return;
    }
    f->next_free = l->pool;
    l->pool = f;
    l->pool_count++;
}

static void end_fiber(struct fiber *f)
{
    INVARIANT(f->timer_index == SIZE_MAX); /* INV-1 */
    tsan_free(f->tsan_fiber);
    f->tsan_fiber = NULL;
    if (f->joiner)
        waiter_wake(f->joiner);
    else if (f->detached)
        fiber_recycle(f);
}

void loop__run_fiber(struct fiber *f)
{
    struct fiber *outer = running;
    struct loop *outer_loop = running_loop;
    INVARIANT(f->state == FIBER_READY);
    f->state = FIBER_RUNNING;
    running = f;
    running_loop = f->loop;
    switch_in(f);
    running = outer;
    running_loop = outer_loop;
    if (f->state == FIBER_ENDED)
        end_fiber(f);
}

void fiber_detach(struct fiber *f)
{
    PRE(!f->joiner && !f->detached);
    f->detached = true;
    if (f->state == FIBER_ENDED)
        fiber_recycle(f);
}

void fiber_join(struct fiber *f)
{
    struct sync_waiter w;
    PRE(f != running);
    PRE(!f->detached && !f->joiner);
    if (f->state != FIBER_ENDED) {
        waiter_init(&w);
        f->joiner = &w;
        waiter_wait(&w);
    }
    fiber_recycle(f);
}

/* --- parking ------------------------------------------------------------- */

void fiber_park(void)
{
    struct fiber *f = running;
    PRE(f);
    if (f->notified) {
        f->notified = false;
        return;
    }
    INVARIANT(f->state == FIBER_RUNNING);
    f->state = FIBER_PARKED;
    switch_out(f, false);
    f->notified = false; /* The caller's test sees what changed since. */
}

void fiber_yield(void)
{
    struct fiber *f = running;
    PRE(f);
    f->state = FIBER_READY;
    f->loop->ops->ready(f->loop, f);
    switch_out(f, false);
}

/* --- timers -------------------------------------------------------------- */

static bool
timer_before(struct loop *l, struct fiber *const *a, struct fiber *const *b)
{
    (void)l;
    return (*a)->wake_at_ns < (*b)->wake_at_ns;
}

static void timer_placed(struct loop *l, struct fiber **f, size_t at)
{
    (void)l;
    (*f)->timer_index = at;
}

HEAP_DEFINE_PLACED(timer_heap,
                   struct fiber *,
                   struct loop *,
                   timer_before,
                   timer_placed);

static void add_timer(struct fiber *f, uint64_t at_ns)
{
    struct loop *l = f->loop;
    PRE(f->timer_index == SIZE_MAX);
    if (l->timer_count == l->timer_cap) {
        l->timer_cap = l->timer_cap ? l->timer_cap * 2 : 16;
        l->timers = mem_realloc(l->timers, l->timer_cap * sizeof(*l->timers));
    }
    f->wake_at_ns = at_ns;
    l->timers[l->timer_count] = f;
    timer_heap_sift_up(l, l->timers, l->timer_count++);
}

static void remove_timer(struct fiber *f)
{
    struct loop *l = f->loop;
    size_t at = f->timer_index;
    if (at == SIZE_MAX)
        return;
    INVARIANT(at < l->timer_count && l->timers[at] == f); /* INV-3 */
    f->timer_index = SIZE_MAX;
    timer_heap_take_out(l, l->timers, &l->timer_count, at);
}

uint64_t loop__next_timer_ns(const struct loop *l)
{
    return l->timer_count ? l->timers[0]->wake_at_ns : UINT64_MAX;
}

/* --- waking -------------------------------------------------------------- */

void fiber__wake_here(struct fiber *f)
{
    switch (f->state) {
    case FIBER_PARKED:
        remove_timer(f);
        f->state = FIBER_READY;
        f->loop->ops->ready(f->loop, f);
        break;
    case FIBER_RUNNING:
    case FIBER_READY: f->notified = true; break;
    case FIBER_FREE:
    case FIBER_ENDED: break;
    }
}

void loop__expire_timers(struct loop *l, uint64_t now_ns)
{
    while (l->timer_count && l->timers[0]->wake_at_ns <= now_ns) {
        struct fiber *f = l->timers[0];
        f->timed_out = true;
        fiber__wake_here(f);
    }
}

void fiber_wake(struct fiber *f)
{
    struct loop *l = f->loop;
    if (thread_home == l->home) /* The loop's own thread. */
        fiber__wake_here(f);
    else if (!atomic_exchange(&f->posted, true))
        loop__push(l, &f->post);
}

bool fiber_park_until(uint64_t mono_ns)
{
    struct fiber *f = running;
    PRE(f);
    if (mono_ns == UINT64_MAX || f->notified) {
        fiber_park();
        return true;
    }
    f->timed_out = false;
    add_timer(f, mono_ns);
    fiber_park();
    return !f->timed_out;
}

int fiber_park_checked(struct err *err)
{
    struct fiber *f = running;
    int rc = fiber_check(err);
    if (rc)
        return rc;
    fiber_park_until(f->deadline_ns ? f->deadline_ns : UINT64_MAX);
    return fiber_check(err);
}

void fiber_sleep_us(uint64_t us)
{
    struct fiber *f = running;
    struct loop *l = f->loop;
    uint64_t now = l->ops->now_ns(l);
    uint64_t until =
        us > (UINT64_MAX - now) / 1000 ? UINT64_MAX : now + us * 1000;
    if (us == 0)
        fiber_yield();
    if (atomic_load(&f->cancelled)) /* A caller that polls in a loop must let
                                       others run. */
        fiber_park_until(MIN_OF(until, now + CANCELLED_SLEEP_NS));
    while (now < until && !atomic_load(&f->cancelled)) {
        fiber_park_until(until);
        now = l->ops->now_ns(l);
    }
}

/* --- cancellation and deadlines ------------------------------------------ */

void fiber_cancel(struct fiber *f)
{
    atomic_store(&f->cancelled, true);
    fiber_wake(f);
}

uint64_t fiber_set_deadline(uint64_t mono_ns)
{
    struct fiber *f = running;
    uint64_t old;
    PRE(f);
    old = f->deadline_ns;
    f->deadline_ns = mono_ns;
    return old;
}

uint64_t fiber_deadline(void)
{
    return running ? running->deadline_ns : 0;
}

void *fiber_context(void)
{
    return running ? running->owner_context : thread_context;
}

void *fiber_set_context(void *context)
{
    void **at = running ? &running->owner_context : &thread_context;
    void *old = *at;
    *at = context;
    return old;
}

int fiber_check(struct err *err)
{
    struct fiber *f = running;
    if (!f)
        return 0;
    if (atomic_load(&f->cancelled))
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (f->deadline_ns && f->loop->ops->now_ns(f->loop) >= f->deadline_ns)
        return err_set(err, ERR_DEADLINE, "deadline exceeded");
    return 0;
}

/* --- dump ---------------------------------------------------------------- */

static const char *state_name(enum fiber_state s)
{
    switch (s) {
    case FIBER_FREE: return "free";
    case FIBER_READY: return "ready";
    case FIBER_RUNNING: return "running";
    case FIBER_PARKED: return "parked";
    case FIBER_ENDED: return "ended";
    }
    return "?";
}

void fiber_dump(struct loop *loop, struct buf *out)
{
    uint64_t now = loop->ops->now_ns(loop);
    for (const struct fiber *f = loop->live; f; f = f->next_live) {
        buf_printf(out, "%-16s %-24s %-8s age ", loop->name, f->name,
                   state_name(f->state));
        text_put_duration(out, (now - f->started_ns) / 1000);
        if (f->timer_index != SIZE_MAX) {
            buf_append_str(out, ", wakes in ");
            text_put_duration(
                out, f->wake_at_ns > now ? (f->wake_at_ns - now) / 1000 : 0);
        }
        buf_append_str(out,
                       atomic_load(&f->cancelled) ? ", cancelled\n" : "\n");
    }
}
