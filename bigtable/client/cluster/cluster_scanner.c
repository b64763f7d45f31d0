/* Scanners: rows in order, read ahead by a fiber of the loop while the caller
 * looks at those of the answer before.
 *
 * The fiber and the caller, who may be another thread, meet in a queue of few
 * answers under a lock. Without read-ahead the fiber waits to be asked.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/rows_reader.h"
#include "bigtable/row/explain.h"

/* Answers that wait, beside the one in the caller's hand. */
#define QUEUE_MAX 2
/* How long one is waited for before the caller's own end is looked at. */
#define TURN_US UINT64_C(100000)

struct cluster_scanner {
    struct quarry_scanner base;
    struct cluster *cluster;
    struct rows_reader reader; /* The fiber's. */
    struct fiber *fiber;
    bool read_ahead;
    struct trace_context trace; /* Of who opened it. */

    struct mutex lock; /* Of what follows. */
    struct cond changed;
    struct buf queue[QUEUE_MAX];
    unsigned queued;
    bool asked; /* The caller waits. */
    bool ended; /* Nothing will be queued any more. */
    bool closing;
    struct err err; /* Why it ended, if it has a code. */

    /* The caller's. Of the record of an explained scan (NULL: it is not), the
     * fiber has the tablets and stages, and the caller the rest. */
    struct quarry_explain *explain;
    struct buf rows;
    struct row_decoder decoder;
};

/* --- the fiber ----------------------------------------------------------- */

/* Wait until an answer is wanted; false: none is any more. */
static bool wait_for_room(struct cluster_scanner *s)
{
    bool go;
    mutex_lock(&s->lock);
    while (!s->closing &&
           !(s->read_ahead ? s->queued < QUEUE_MAX : s->asked && !s->queued))
        cond_wait(&s->changed, &s->lock);
    go = !s->closing;
    mutex_unlock(&s->lock);
    return go;
}

static void cluster_scanner_enqueue(struct cluster_scanner *s, struct buf rows)
{
    mutex_lock(&s->lock);
    s->queue[s->queued++] = rows;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static void end_queue(struct cluster_scanner *s, const struct err *err)
{
    mutex_lock(&s->lock);
    s->ended = true;
    if (err)
        s->err = *err;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static void run_scan(void *arg)
{
    struct cluster_scanner *s = arg;
    struct cluster *c = s->cluster;
    struct err err = ERR_INIT;
    int rc = 0;
    trace_use_context(&s->trace);
    while (rc == 0 && !s->reader.done && wait_for_room(s)) {
        struct buf rows = BUF_INIT;
        (void)fiber_set_deadline(world_mono_ns(c->world) +
                                 c->timeout_us * 1000);
        rc = rows_reader_next(&s->reader, &rows, &err);
        if (rc == 0 && rows.len > 0)
            cluster_scanner_enqueue(s, rows);
        else
            buf_close(&rows);
    }
    end_queue(s, rc ? &err : NULL);
}

/* --- the caller ---------------------------------------------------------- */

/* Take the next answer; *@more is false behind the last. */
static int take_answer(struct cluster_scanner *s, bool *more, struct err *err)
{
    int rc = 0;
    row_decoder_close(&s->decoder);
    buf_close(&s->rows);
    mutex_lock(&s->lock);
    s->asked = true;
    cond_broadcast(&s->changed);
    while (s->queued == 0 && !s->ended && rc == 0) {
        (void)cond_wait_us(&s->changed, &s->lock, s->cluster->world, TURN_US);
        if (s->queued == 0 && !s->ended)
            rc = fiber_check(err);
    }
    s->asked = false;
    *more = s->queued > 0;
    if (*more) {
        s->rows = s->queue[0];
        for (unsigned i = 1; i < s->queued; i++)
            s->queue[i - 1] = s->queue[i];
        s->queued--;
        cond_broadcast(&s->changed);
    } else if (rc == 0 && s->err.code) {
        rc = err_copy(err, &s->err);
    }
    mutex_unlock(&s->lock);
    row_decoder_init(&s->decoder, buf_slice(&s->rows));
    return rc;
}

static int next_of_scanner(struct cluster_scanner *s,
                           const struct quarry_row **row,
                           struct err *err)
{
    bool more = true;
    int rc = row_decoder_next(&s->decoder, row, err);
    while (rc == 0 && !*row && more) {
        rc = take_answer(s, &more, err);
        if (rc == 0 && more)
            rc = row_decoder_next(&s->decoder, row, err);
    }
    return rc;
}

int cluster_scanner_next(struct quarry_scanner *base,
                         const struct quarry_row **row,
                         struct err *err)
{
    struct cluster_scanner *s =
        CONTAINER_OF(base, struct cluster_scanner, base);
    int rc;
    if (LIKELY(!s->explain))
        return next_of_scanner(s, row, err);
    explain_enter(s->explain);
    rc = next_of_scanner(s, row, err);
    explain_leave(s->explain);
    return rc;
}

/* --- opening and closing ------------------------------------------------- */

struct opening {
    struct cluster_scanner *scanner;
    struct cluster_table *table;
    const struct quarry_read_options *opts;
};

static int open_on_loop(void *arg, struct err *err)
{
    struct opening *o = arg;
    struct cluster_scanner *s = o->scanner;
    int rc = rows_reader_init(&s->reader, o->table, o->opts, err);
    if (rc)
        return rc;
    trace_copy_context(&s->trace);
    s->reader.explain = s->explain;
    s->fiber = fiber_start(s->cluster->loop, "tables scan", run_scan, s);
    return 0;
}

static void free_scanner(struct cluster_scanner *s)
{
    for (unsigned i = 0; i < s->queued; i++)
        buf_close(&s->queue[i]);
    row_decoder_close(&s->decoder);
    buf_close(&s->rows);
    mutex_close(&s->lock);
    cond_close(&s->changed);
    mem_free(s);
}

static uint64_t world_clock(void *world)
{
    return world_mono_ns(world);
}

static void begin_explained(struct cluster_scanner *s,
                            const struct quarry_read_options *opts)
{
    if (!opts || !opts->explain)
        return;
    s->explain = opts->explain;
    explain_begin(s->explain, opts->filter, opts->program != NULL, world_clock,
                  s->cluster->world);
}

int cluster_scan(struct quarry_table *t,
                 const struct quarry_read_options *opts,
                 struct quarry_scanner **out,
                 struct err *err)
{
    struct cluster_scanner *s = mem_zalloc(1, sizeof(*s));
    struct opening o = {s, t->remote, opts};
    int rc;
    *out = NULL;
    s->base.ops = t->ops;
    s->cluster = t->quarry->cluster;
    s->read_ahead = !(opts && opts->read_ahead_off);
    mutex_init(&s->lock);
    cond_init(&s->changed);
    row_decoder_init(&s->decoder, SLICE_EMPTY);
    begin_explained(s, opts);
    rc = cluster_do(s->cluster, "tables scan", 0, open_on_loop, &o, err);
    if (rc)
        free_scanner(s);
    else
        *out = &s->base;
    return rc;
}

static int close_on_loop(void *arg, struct err *err)
{
    struct cluster_scanner *s = arg;
    (void)err;
    mutex_lock(&s->lock);
    s->closing = true;
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    fiber_cancel(s->fiber);
    fiber_join(s->fiber);
    rows_reader_close(&s->reader);
    return 0;
}

void cluster_scanner_close(struct quarry_scanner *base)
{
    struct cluster_scanner *s =
        CONTAINER_OF(base, struct cluster_scanner, base);
    if (cluster_do(s->cluster, "tables scan", CLUSTER_NO_TIMEOUT, close_on_loop,
                   s, NULL))
        PANIC("closing does not fail");
    if (s->explain)
        explain_end(s->explain);
    free_scanner(s);
}
