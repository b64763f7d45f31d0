/* The histories of nodes, as far as rules need them: the last two hours in
 * points of a minute. Gaps are left out.
 */
#include "cli/monitor/finding_trends.h"

#include <math.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "cli/history_call.h"

#define ASK_NS      UINT64_C(60000000000)
#define SPAN_US     UINT64_C(7200000000)
#define POINT_COUNT 121
#define SERIES      "disk_free_bytes,compaction_debt_bytes,elections_per_s"
#define SERIES_MAX  3

/* Of one node. */
struct node_trends {
    const char *address;
    struct fact_series series[SERIES_MAX];
    size_t count;
};

struct finding_trends {
    struct mutex asking;
    uint64_t at_ns; /* 0: never asked. */
    struct arena arena;
    struct node_trends *at;
    size_t count;
};

struct finding_trends *finding_trends_new(void)
{
    struct finding_trends *t = mem_zalloc(1, sizeof(*t));
    mutex_init(&t->asking);
    arena_init(&t->arena);
    return t;
}

void finding_trends_free(struct finding_trends *t)
{
    if (!t)
        return;
    arena_close(&t->arena);
    mutex_close(&t->asking);
    mem_free(t);
}

static void take_points(struct finding_trends *t,
                        const struct history_points *from,
                        const struct history_span *span,
                        struct fact_series *out)
{
    struct fact_point *points =
        arena_alloc(&t->arena, span->count * sizeof(*points));
    *out = (struct fact_series){.name = history_info(from->id)->name,
                                .points = points};
    for (size_t i = 0; i < span->count; i++) {
        double value = (double)history_point(from, i);
        if (!isnan(value))
            points[out->count++] =
                (struct fact_point){span->from_us + i * span->step_us, value};
    }
    POST(out->count <= span->count);
}

static void take_answer(struct finding_trends *t,
                        const struct history_request *r,
                        const struct node_call *c,
                        struct node_trends *out)
{
    struct history_points series[HISTORY_COUNT];
    size_t count = 0;
    *out = (struct node_trends){.address =
                                    arena_strdup(&t->arena, c->node->address)};
    if (c->rc ||
        history_reply_get(buf_slice(&c->reply), r, series, &count, NULL))
        return;
    for (size_t i = 0; i < count && out->count < SERIES_MAX; i++)
        take_points(t, &series[i], &r->span, &out->series[out->count++]);
}

static void trends_ask(struct finding_trends *t,
                       struct monitor *m,
                       const struct monitor_nodes *n)
{
    uint64_t now_us = world_now_us(monitor_source_of(m)->world);
    struct history_request r = {
        .span = history_span_make(now_us - SPAN_US, now_us, HISTORY_MINUTE_US,
                                  now_us, POINT_COUNT)};
    struct node_calls calls;
    struct buf body = BUF_INIT;
    if (history_request_want(&r, slice_str(SERIES), NULL))
        PANIC("no such series: %s", SERIES);
    history_request_put(&r, &body);
    node_calls_make(m, n, SERVER_HISTORY, buf_slice(&body), SLICE_EMPTY,
                    &calls);
    arena_reset(&t->arena);
    t->at = arena_zalloc(&t->arena, (calls.count + 1) * sizeof(*t->at));
    t->count = calls.count;
    for (size_t i = 0; i < calls.count; i++)
        take_answer(t, &r, &calls.at[i], &t->at[i]);
    node_calls_close(&calls);
    buf_close(&body);
}

void finding_trends_ask(struct finding_trends *t,
                        struct monitor *m,
                        const struct monitor_nodes *n)
{
    struct world *w = monitor_source_of(m)->world;
    mutex_lock(&t->asking);
    if (t->at_ns == 0 || world_mono_ns(w) - t->at_ns >= ASK_NS) {
        trends_ask(t, m, n);
        t->at_ns = world_mono_ns(w);
    }
    mutex_unlock(&t->asking);
}

const struct fact_series *finding_trends_of(const struct finding_trends *t,
                                            const char *address,
                                            size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->at[i].address, address) == 0) {
            *count = t->at[i].count;
            return t->at[i].series;
        }
    return NULL;
}
