/* The thread that asks, see top_fetch.h. It opens the cluster again only after
 * a failure of the target itself; a document that cannot be made is told, and
 * asked for again.
 */
#include "cli/top/top_fetch.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"

/* Until somebody of the cluster answers; then again. */
#define REACH_US UINT64_C(2000000)
#define RETRY_US UINT64_C(1000000)

/* The latest wish, kept. */
struct kept_wish {
    enum top_view_id view;
    char *params[TOP_PARAMS_MAX]; /* Owned. */
    uint64_t place_number;
    uint64_t delay_us;
    bool is_paused;
};

/* INV-1 All below `lock` is used with it held. */
struct top_fetch {
    struct cli *cli;
    const struct args *args;
    struct task *task;
    struct mutex lock;
    struct cond changed; /* Of a wish, or the end. */
    struct kept_wish wish;
    struct top_answer answer;
    bool has_answer;
    bool is_ending;
    bool has_ended;
    struct cond ended;
};

void top_answer_close(struct top_answer *a)
{
    json_decref(a->overview);
    json_decref(a->document);
    *a = (struct top_answer){0};
}

static void kept_wish_close(struct kept_wish *w)
{
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        mem_free(w->params[i]);
    *w = (struct kept_wish){0};
}

static void kept_wish_copy(struct kept_wish *to, const struct top_wish *from)
{
    kept_wish_close(to);
    *to = (struct kept_wish){.view = from->view,
                             .place_number = from->place_number,
                             .delay_us = from->delay_us,
                             .is_paused = from->is_paused};
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        to->params[i] = from->params[i] ? mem_strdup(from->params[i]) : NULL;
}

static void answer_fail(struct top_answer *a, const struct err *err)
{
    if (err->hint[0])
        snprintf(a->failure, sizeof(a->failure), "%.300s (%.200s)", err->text,
                 err->hint);
    else
        snprintf(a->failure, sizeof(a->failure), "%.500s", err->text);
}

/* Make both documents. Parks. The error is that of the view's. */
static int make_answer(struct monitor *m,
                       const struct top_wish *wish,
                       struct top_answer *a,
                       struct err *err)
{
    const struct top_view *v = top_view(wish->view);
    struct monitor_param params[TOP_PARAMS_MAX];
    struct err ignored = ERR_INIT;
    size_t count = 0;
    int rc;
    a->place_number = wish->place_number;
    while (count < TOP_PARAMS_MAX && v->params[count]) {
        params[count].name = v->params[count];
        params[count].value = wish->params[count] ? wish->params[count] : "";
        count++;
    }
    rc = monitor_make(m, v->subject, params, count, &a->document, err);
    if (rc)
        a->document = NULL;
    /* The sentence over a view that fails is worth having too. */
    if (monitor_make(m, "overview", NULL, 0, &a->overview, &ignored))
        a->overview = NULL;
    return rc;
}

/* --- once ---------------------------------------------------------------- */

struct once {
    const struct top_wish *wish;
    struct top_answer *answer;
};

static int
monitor_open_remote(const struct remote *r, struct monitor **m, struct err *err)
{
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    return monitor_open(&source, m, err);
}

static int once_on_fiber(struct remote *r, struct err *err)
{
    struct once *o = r->ctx;
    struct monitor *m;
    int rc = monitor_open_remote(r, &m, err);
    if (rc)
        return rc;
    rc = make_answer(m, o->wish, o->answer, err);
    monitor_close(m);
    return rc;
}

int top_fetch_once(struct cli *cli,
                   const struct args *args,
                   const struct top_wish *wish,
                   struct top_answer *out,
                   struct err *err)
{
    struct once o = {wish, out};
    *out = (struct top_answer){0};
    return remote_run(cli, args, once_on_fiber, &o, err);
}

/* --- again and again ----------------------------------------------------- */

/* Wait until something is to be asked: a new place, or the end of the delay.
 * False: it ends. */
static bool await_turn(struct top_fetch *f, uint64_t last_place)
{
    struct world *w = f->cli->world;
    uint64_t begin_ns = world_mono_ns(w);
    bool goes_on;
    mutex_lock(&f->lock);
    while (!f->is_ending && f->wish.place_number == last_place) {
        uint64_t waited_us = (world_mono_ns(w) - begin_ns) / 1000;
        if (!f->wish.is_paused && waited_us >= f->wish.delay_us)
            break;
        (void)cond_wait_us(&f->changed, &f->lock, w,
                           f->wish.is_paused ? RETRY_US
                                             : f->wish.delay_us - waited_us);
    }
    goes_on = !f->is_ending;
    mutex_unlock(&f->lock);
    return goes_on;
}

/* The newest wish; the caller closes it. */
static void
read_wish(struct top_fetch *f, struct kept_wish *own, struct top_wish *out)
{
    mutex_lock(&f->lock);
    *out = (struct top_wish){.view = f->wish.view,
                             .place_number = f->wish.place_number};
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        out->params[i] = f->wish.params[i];
    kept_wish_copy(own, out);
    mutex_unlock(&f->lock);
    for (size_t i = 0; i < TOP_PARAMS_MAX; i++)
        out->params[i] = own->params[i];
}

/* *@a is moved from. */
static void top_fetch_publish(struct top_fetch *f, struct top_answer *a)
{
    mutex_lock(&f->lock);
    if (f->has_answer)
        top_answer_close(&f->answer);
    f->answer = *a;
    f->has_answer = true;
    mutex_unlock(&f->lock);
    *a = (struct top_answer){0};
}

static int fetch_on_fiber(struct remote *r, struct err *err)
{
    struct top_fetch *f = r->ctx;
    struct monitor *m;
    uint64_t last_place;
    int rc = monitor_open_remote(r, &m, err);
    if (rc)
        return rc;
    do {
        struct kept_wish own = {0};
        struct top_wish wish;
        struct top_answer a = {0};
        struct err why = ERR_INIT;
        read_wish(f, &own, &wish);
        last_place = wish.place_number;
        if (make_answer(m, &wish, &a, &why))
            answer_fail(&a, &why);
        top_fetch_publish(f, &a);
        kept_wish_close(&own);
    } while (await_turn(f, last_place));
    monitor_close(m);
    return 0;
}

static bool fetch_is_ending(struct top_fetch *f)
{
    bool is_ending;
    mutex_lock(&f->lock);
    is_ending = f->is_ending;
    mutex_unlock(&f->lock);
    return is_ending;
}

/* Nobody answered: say so, and wait a little. */
static void fetch_failed(struct top_fetch *f, const struct err *why)
{
    struct top_answer a = {0};
    answer_fail(&a, why);
    mutex_lock(&f->lock);
    a.place_number = f->wish.place_number;
    mutex_unlock(&f->lock);
    top_fetch_publish(f, &a);
    mutex_lock(&f->lock);
    if (!f->is_ending)
        (void)cond_wait_us(&f->changed, &f->lock, f->cli->world, RETRY_US);
    mutex_unlock(&f->lock);
}

static void fetch_thread(void *arg)
{
    struct top_fetch *f = arg;
    while (!fetch_is_ending(f)) {
        struct err why = ERR_INIT;
        if (remote_run(f->cli, f->args, fetch_on_fiber, f, &why))
            fetch_failed(f, &why);
    }
    mutex_lock(&f->lock);
    f->has_ended = true;
    cond_broadcast(&f->ended);
    mutex_unlock(&f->lock);
}

struct top_fetch *top_fetch_start(struct cli *cli, const struct args *args)
{
    struct top_fetch *f = mem_zalloc(1, sizeof(*f));
    f->cli = cli;
    f->args = args;
    cli->reach_us = REACH_US;
    mutex_init(&f->lock);
    cond_init(&f->changed);
    cond_init(&f->ended);
    return f;
}

void top_fetch_wish(struct top_fetch *f, const struct top_wish *wish)
{
    mutex_lock(&f->lock);
    kept_wish_copy(&f->wish, wish);
    cond_broadcast(&f->changed);
    mutex_unlock(&f->lock);
    if (!f->task)
        f->task = task_start(f->cli->world, "top", fetch_thread, f);
}

bool top_fetch_take(struct top_fetch *f, struct top_answer *out)
{
    bool has;
    mutex_lock(&f->lock);
    has = f->has_answer;
    if (has)
        *out = f->answer;
    f->has_answer = false;
    mutex_unlock(&f->lock);
    return has;
}

bool top_fetch_stop(struct top_fetch *f, uint64_t us)
{
    bool has_ended;
    mutex_lock(&f->lock);
    f->is_ending = true;
    cond_broadcast(&f->changed);
    if (f->task && !f->has_ended)
        (void)cond_wait_us(&f->ended, &f->lock, f->cli->world, us);
    has_ended = f->has_ended || !f->task;
    mutex_unlock(&f->lock);
    if (!has_ended)
        return false;
    if (f->task)
        task_join(f->task);
    if (f->has_answer)
        top_answer_close(&f->answer);
    kept_wish_close(&f->wish);
    cond_close(&f->ended);
    cond_close(&f->changed);
    mutex_close(&f->lock);
    mem_free(f);
    return true;
}
