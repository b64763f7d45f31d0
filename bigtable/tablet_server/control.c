/* The orders of the master that concern tablets, schemas and the server's
 * state.
 *
 * An order reaches a handler after its gate (tablet_methods.c) has checked the
 * sequencer and the server's number. Loads and unloads are in load.c and
 * unload.c; splits, compactions, flushes and drops of rows are jobs on one
 * tablet, each on a thread, because they wait for files and may wait for
 * METADATA, which may be served here. */

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/family_use.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/shared.h"
#include "bigtable/store/split.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/log_replay.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/write/row_delete.h"

/* Sorted segments of dead servers' logs are dropped when they have not been
 * read for this time. */
#define SEGMENT_IDLE_US UINT64_C(60000000)

/* --- work on one tablet, on a thread ------------------------------------- */

struct job;
typedef int (*job_fn)(struct job *j, struct tablet *t, struct err *err);

struct job {
    struct tablet_server *server;
    job_fn fn;
    struct table_part *table;
    bool is_root;
    const struct tablet_order *order;
    struct err err;
    int rc;
};

static struct tablet *only_tablet(struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    struct tablet *tablet = v ? tablet_ref(v->tablets[0]) : NULL;
    INVARIANT(!v || v->tablet_count == 1);
    table_part_view_unref(v);
    return tablet;
}

static int split_tablet(struct job *j, struct tablet *t, struct err *err)
{
    struct slice row = j->order->row;
    bool did;
    if (j->is_root)
        return err_set(err, ERR_INVALID, "the root tablet is never split");
    if (row.len == 0)
        return split_in_middle(j->server->store, t, &did, err);
    if (!tablet_contains(t, row) || row.len > SPLIT_ROW_BYTES_MAX)
        return err_set(err, ERR_INVALID, "it cannot be split at that row");
    return split_at(j->server->store, j->table, row, err);
}

static int flush_tablet(struct job *j, struct tablet *t, struct err *err)
{
    (void)t;
    return store_flush_table(j->server->store, j->table, err);
}

static int compact_tablet(struct job *j, struct tablet *t, struct err *err)
{
    PRE(j->table);
    int rc = store_flush_table(j->server->store, j->table, err);
    for (size_t i = 0; i < atomic_load(&t->group_count) && rc == 0; i++)
        rc = background_compact_major(j->server->store, t->groups[i], err);
    return rc == ERR_CANCELLED ? 0 : rc; /* The tablet was split, or left,
                                          * meanwhile. */
}

static bool control_covers(const struct tablet_order *o, const struct tablet *t)
{
    return slice_cmp(o->row, buf_slice(&t->start)) <= 0 &&
           (o->row_end.len == 0 ||
            (t->end.len && slice_cmp(o->row_end, buf_slice(&t->end)) >= 0));
}

static int drop_rows_of(struct job *j, struct tablet *t, struct err *err)
{
    PRE(j->table);
    PRE(j->order);
    if (control_covers(j->order, t))
        return drop_tablet_rows(j->server->store, j->table, err);
    return delete_rows(&j->server->store->env, j->table, j->order->row,
                       j->order->row_end, err);
}

static void run_job(void *arg)
{
    struct job *j = arg;
    struct tablet *t = only_tablet(j->table);

    PRE(j->fn);
    PRE(j->table);
    if (!t) {
        j->rc = not_here(j->order->tablet, &j->err);
        return;
    }
    j->rc = j->fn(j, t, &j->err);
    tablet_unref(t);
}

static int work_on(struct tablet_server *s,
                   job_fn fn,
                   const struct tablet_order *o,
                   struct err *err)
{
    struct job j = {.server = s, .fn = fn, .order = o};
    struct served *t;
    int rc = find_tablet(s, o->tablet, &t, err);

    PRE(fn);
    PRE(o);
    if (rc)
        return rc;
    INVARIANT(t->table); /* INV-2 of struct served. */
    j.table = t->table;
    j.is_root = t->is_root;
    server_in_thread(s, run_job, &j);
    served_unref(t);
    return j.rc ? err_copy(err, &j.err) : 0;
}

/* Flush all tablets, one after the other. */
static int flush_all(struct tablet_server *s, struct err *err)
{
    size_t count;
    struct served **list = served_list(&s->served, &count);
    int rc = 0;

    PRE(atomic_load(&s->ready));
    for (size_t i = 0; i < count; i++) {
        struct tablet_order o = {.tablet = list[i]->id};
        if (rc == 0 && atomic_load(&list[i]->phase) == TABLET_SERVING)
            rc = work_on(s, flush_tablet, &o, err);
        if (rc == ERR_NOTFOUND || rc == ERR_CANCELLED)
            rc = 0; /* The tablet left meanwhile. */
        served_unref(list[i]);
    }
    mem_free(list);
    return rc;
}

/* An order on a fiber of its own: once begun it is finished, although the call
 * that brought it may be cancelled. */
struct order_task {
    struct tablet_server *server;
    struct tablet_order order;
    int (*obey)(struct order_task *t);
    job_fn fn;          /* Of orders that are jobs. */
    uint64_t closed_us; /* Of an unload. */
    struct err *err;
    int rc;
};

static void run_order(void *arg)
{
    struct order_task *t = arg;
    t->rc = t->obey(t);
}

static int take_order(struct tablet_server *s,
                      const struct rpc_call *call,
                      struct order_task *t,
                      struct err *err)
{
    int rc = tablet_order_get(call->body, &t->order, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc)
        return rc;
    PRE(t->obey);
    t->server = s;
    t->err = err;
    loop_task_run(&s->loop_tasks, run_order, t);
    return t->rc;
}

static int obey_load(struct order_task *t)
{
    return load_tablet(t->server, &t->order, t->err);
}

static int obey_unload(struct order_task *t)
{
    return unload_tablet(t->server, &t->order, &t->closed_us, t->err);
}

static int obey_job(struct order_task *t)
{
    PRE(t->fn);
    return work_on(t->server, t->fn, &t->order, t->err);
}

static int obey_flush(struct order_task *t)
{
    return t->order.tablet ? obey_job(t) : flush_all(t->server, t->err);
}

int handle_load(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct order_task t = {.obey = obey_load};
    return take_order(s, call, &t, err);
}

int handle_unload(struct tablet_server *s,
                  struct rpc_call *call,
                  struct err *err)
{
    struct order_task t = {.obey = obey_unload};
    int rc = take_order(s, call, &t, err);
    if (rc == 0)
        unload_reply_put(&(struct unload_reply){t.closed_us}, call->reply_body);
    return rc;
}

int handle_split(struct tablet_server *s,
                 struct rpc_call *call,
                 struct err *err)
{
    struct order_task t = {.obey = obey_job, .fn = split_tablet};
    return take_order(s, call, &t, err);
}

int handle_compact(struct tablet_server *s,
                   struct rpc_call *call,
                   struct err *err)
{
    struct order_task t = {.obey = obey_job, .fn = compact_tablet};
    return take_order(s, call, &t, err);
}

int handle_flush(struct tablet_server *s,
                 struct rpc_call *call,
                 struct err *err)
{
    struct order_task t = {.obey = obey_flush, .fn = flush_tablet};
    return take_order(s, call, &t, err);
}

int handle_drop_rows(struct tablet_server *s,
                     struct rpc_call *call,
                     struct err *err)
{
    struct order_task t = {.obey = obey_job, .fn = drop_rows_of};
    return take_order(s, call, &t, err);
}

/* --- schemas ------------------------------------------------------------- */

static int apply_schema(struct tablet_server *s,
                        const struct table_record *r,
                        struct err *err)
{
    struct schema *schema;
    size_t count;
    struct served **list;
    int rc = schema_decode(r->schema, &schema, err);
    if (rc)
        return rc;
    list = served_list(&s->served, &count);
    for (size_t i = 0; i < count; i++) {
        INVARIANT(!list[i]->table || list[i]->table->id == list[i]->table_id);
        if (rc == 0 && list[i]->table && list[i]->table_id == r->id)
            rc = schemas_apply(s, list[i]->table, schema, r->generation, err);
        served_unref(list[i]);
    }
    mem_free(list);
    schema_free(schema);
    return rc;
}

int handle_schema(struct tablet_server *s,
                  struct rpc_call *call,
                  struct err *err)
{
    struct schema_order o;
    int rc = schema_order_get(call->body, &o, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    return rc ? rc : apply_schema(s, &o.table, err);
}

/* --- status -------------------------------------------------------------- */

static void fill_load(const struct served *t, struct tablet_load *out)
{
    struct table_part_view *v = t->table ? table_part_get_view(t->table) : NULL;
    INVARIANT(!v || v->tablet_count == 1);

    *out = (struct tablet_load){.id = t->id,
                                .table = t->table_id,
                                .epoch = t->epoch,
                                .phase = atomic_load(&t->phase),
                                .reads = atomic_load(&t->reads),
                                .writes = atomic_load(&t->writes),
                                .cpu_us = atomic_load(&t->cpu_us)};
    if (v) {
        out->bytes = tablet_table_bytes(v->tablets[0]);
        out->memory_bytes = tablet_memory_bytes(v->tablets[0], v->schema);
    }
    table_part_view_unref(v);
}

static void put_status(struct tablet_server *s,
                       const struct status_order *o,
                       struct buf *out)
{
    size_t max =
        o->max && o->max < STATUS_TABLETS_MAX ? o->max : STATUS_TABLETS_MAX;
    struct server_status status = {.number = s->number};
    size_t count;
    struct served **list = served_list(&s->served, &count);

    PRE(s->number != 0);
    status.memory_bytes = atomic_load(&s->store->env.memory_bytes);
    status.memory_max = s->store->options.memtable_bytes;
    status.log_bytes = write_log_bytes(s->store->env.log);
    status.files_decided = file_numbers_decided(&s->store->numbers);
    status.tablet_total = count;
    status.tablets =
        mem_zalloc(MIN_OF(count, max) + 1, sizeof(struct tablet_load));
    for (size_t i = 0; i < count; i++) {
        if (list[i]->id > o->after && status.tablet_count < max)
            fill_load(list[i], &status.tablets[status.tablet_count++]);
        else if (list[i]->id > o->after)
            status.more = true;
        served_unref(list[i]);
    }
    POST(status.tablet_count <= max);
    server_status_put(&status, out);
    mem_free(status.tablets);
    mem_free(list);
}

int handle_status(struct tablet_server *s,
                  struct rpc_call *call,
                  struct err *err)
{
    struct status_order o;
    int rc = status_order_get(call->body, &o, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = check_number(s, o.server, err);
    if (rc)
        return rc;
    segment_cache_expire(s->segments, SEGMENT_IDLE_US);
    put_status(s, &o, call->reply_body);
    return 0;
}
