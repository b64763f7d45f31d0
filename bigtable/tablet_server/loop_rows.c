/* Records whose owner belongs to the loop, made callable from any thread: each
 * call runs as a task of the loop, and fails once the server ends. METADATA's
 * client and the root tablet's record both live on the loop, while loads and
 * splits run on threads. */
#include "base/core/panic.h"
#include "bigtable/tablet_server/loop_task.h"
#include "bigtable/tablet_server/tablet_rows.h"

struct loop_rows {
    struct tablet_rows base;
    struct tablet_rows *kept; /* Owned. */
    struct loop_tasks *loop_tasks;
};

struct call {
    struct tablet_rows *rows;
    struct slice key; /* Of a read, */
    struct tablet_row *out;
    const struct tablet_row_change *change; /* or of a change; */
    uint64_t *version;                      /* without it, of a creation. */
    bool *done;
    struct err *err;
    int rc;
};

static void run_call(void *arg)
{
    struct call *k = arg;
    if (k->out)
        k->rc = tablet_rows_read(k->rows, k->key, k->out, k->err);
    else if (k->version)
        k->rc =
            tablet_rows_change(k->rows, k->change, k->done, k->version, k->err);
    else
        k->rc = tablet_rows_create(k->rows, k->change, k->done, k->err);
}

static int loop_rows_run(struct tablet_rows *r, struct call *k)
{
    struct loop_rows *l = (struct loop_rows *)r;
    PRE(!k->out || !k->change); /* A read, or a change. */
    k->rows = l->kept;
    loop_task_call(l->loop_tasks, run_call, k);
    return k->rc;
}

static int loop_read(struct tablet_rows *r,
                     struct slice key,
                     struct tablet_row *out,
                     struct err *err)
{
    struct call k = {.key = key, .out = out, .err = err};
    return loop_rows_run(r, &k);
}

static int loop_change(struct tablet_rows *r,
                       const struct tablet_row_change *c,
                       bool *done,
                       uint64_t *version,
                       struct err *err)
{
    struct call k = {.change = c, .done = done, .version = version, .err = err};
    return loop_rows_run(r, &k);
}

static int loop_create(struct tablet_rows *r,
                       const struct tablet_row_change *c,
                       bool *done,
                       struct err *err)
{
    struct call k = {.change = c, .done = done, .err = err};
    return loop_rows_run(r, &k);
}

static void loop_free(struct tablet_rows *r)
{
    struct loop_rows *l = (struct loop_rows *)r;

    PRE(l->kept);
    tablet_rows_free(l->kept);
    mem_free(l);
}

struct tablet_rows *loop_rows_new(struct tablet_rows *kept,
                                  struct loop_tasks *e)
{
    static const struct tablet_rows_ops ops = {loop_read, loop_change,
                                               loop_create, loop_free};
    struct loop_rows *l = mem_zalloc(1, sizeof(*l));
    PRE(kept);
    l->base.ops = &ops;
    l->kept = kept;
    l->loop_tasks = e;
    return &l->base;
}
