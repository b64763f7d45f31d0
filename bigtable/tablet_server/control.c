/* Orders of the master. */

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/log.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/family_use.h"
#include "bigtable/recovery/segment_cache.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/shared.h"
#include "bigtable/store/split.h"
#include "bigtable/store/tablet.h"
#include "bigtable/tablet_server/replay.h"
#include "bigtable/tablet_server/server.h"
#include "bigtable/write/row_delete.h"

/* Segments of dead servers' logs that nobody has read for so long are not kept.
 */
#define SEGMENT_IDLE_US UINT64_C(60000000)

int check_ready(const struct tablet_server *s, struct err *err)
{
    if (atomic_load(&s->over))
        return err_set(err, ERR_CLOSED, "this tablet server is ending");
    if (!atomic_load(&s->ready))
        return err_set(err, ERR_UNAVAILABLE,
                       "this tablet server has not joined the cluster yet");
    return 0;
}

int check_order(struct tablet_server *s,
                struct slice sequencer,
                uint64_t number,
                struct err *err)
{
    int rc = check_ready(s, err);
    if (rc)
        return rc;
    if (number != s->number)
        return err_set(err, ERR_CLOSED, "this is tablet server %llu, not %llu",
                       (unsigned long long)s->number,
                       (unsigned long long)number);
    if (s->stopping)
        return err_set(err, ERR_UNAVAILABLE, "this tablet server is ending");
    return session_check_master(s->session, sequencer, err);
}

/* --- work on one tablet, on a thread ------------------------------------- */

enum job_kind {
    JOB_SPLIT,
    JOB_COMPACT,
    JOB_FLUSH,
    JOB_DROP_ROWS,
};

struct job {
    struct tablet_server *server;
    enum job_kind kind;
    struct table_part *table;
    const struct tablet_order *order;
    struct err err;
    int rc;
};

static struct tablet *only_tablet(struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    struct tablet *tablet = v ? tablet_ref(v->tablets[0]) : NULL;
    table_part_view_unref(v);
    return tablet;
}

static int split_tablet(struct job *j, struct tablet *t, struct err *err)
{
    struct slice row = j->order->row;
    bool did;
    int rc;
    if (row.len == 0)
        return split_in_middle(j->server->store, t, &did, err);
    if (!tablet_contains(t, row) || row.len > SPLIT_ROW_BYTES_MAX)
        return err_set(err, ERR_INVALID, "it cannot be split at that row");
    rc = split_at(j->server->store, j->table, row, err);
    return rc;
}

static int compact_tablet(struct job *j, struct tablet *t, struct err *err)
{
    int rc = store_flush_table(j->server->store, j->table, err);
    for (size_t i = 0; i < atomic_load(&t->group_count) && rc == 0; i++)
        rc = background_compact_major(j->server->store, t->groups[i], err);
    return rc == ERR_CANCELLED ? 0 : rc; /* It was split, or went. */
}

static bool control_covers(const struct tablet_order *o, const struct tablet *t)
{
    return slice_cmp(o->row, buf_slice(&t->start)) <= 0 &&
           (o->row_end.len == 0 ||
            (t->end.len && slice_cmp(o->row_end, buf_slice(&t->end)) >= 0));
}

static int drop_rows_of(struct job *j, struct tablet *t, struct err *err)
{
    if (control_covers(j->order, t))
        return drop_tablet_rows(j->server->store, j->table, err);
    return delete_rows(j->server->store, j->table, j->order->row,
                       j->order->row_end, err);
}

static void run_job(void *arg)
{
    struct job *j = arg;
    struct tablet *t = only_tablet(j->table);
    if (!t) {
        j->rc = not_here(j->order->tablet, &j->err);
        return;
    }
    switch (j->kind) {
    case JOB_SPLIT: j->rc = split_tablet(j, t, &j->err); break;
    case JOB_COMPACT: j->rc = compact_tablet(j, t, &j->err); break;
    case JOB_FLUSH:
        j->rc = store_flush_table(j->server->store, j->table, &j->err);
        break;
    case JOB_DROP_ROWS: j->rc = drop_rows_of(j, t, &j->err); break;
    }
    tablet_unref(t);
}

static int work_on(struct tablet_server *s,
                   enum job_kind kind,
                   const struct tablet_order *o,
                   struct err *err)
{
    struct job j = {.server = s, .kind = kind, .order = o};
    struct served *t;
    int rc = find_tablet(s, o->tablet, &t, err);
    if (rc)
        return rc;
    if (kind == JOB_SPLIT && t->is_root) {
        rc = err_set(err, ERR_INVALID, "the root tablet is never split");
    } else {
        j.table = t->table;
        server_in_thread(s, run_job, &j);
        rc = j.rc ? err_copy(err, &j.err) : 0;
    }
    served_unref(t);
    return rc;
}

/* Flush all tablets, one after the other. */
static int flush_all(struct tablet_server *s, struct err *err)
{
    size_t count;
    struct served **list = served_list(&s->served, &count);
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        struct tablet_order o = {.tablet = list[i]->id};
        if (rc == 0 && atomic_load(&list[i]->phase) == TABLET_SERVING)
            rc = work_on(s, JOB_FLUSH, &o, err);
        if (rc == ERR_NOTFOUND || rc == ERR_CANCELLED)
            rc = 0; /* It went. */
        served_unref(list[i]);
    }
    mem_free(list);
    return rc;
}

/* An order that was begun is finished, whoever still waits for it. */
struct ordered {
    struct tablet_server *server;
    uint32_t method;
    struct tablet_order order;
    uint64_t closed_us; /* Of an unload. */
    struct err *err;
    int rc;
};

static int control_obey(struct ordered *x)
{
    struct tablet_server *s = x->server;
    const struct tablet_order *o = &x->order;
    switch (x->method) {
    case TABLET_LOAD: return load_tablet(s, o, x->err);
    case TABLET_UNLOAD: return unload_tablet(s, o, &x->closed_us, x->err);
    case TABLET_SPLIT: return work_on(s, JOB_SPLIT, o, x->err);
    case TABLET_COMPACT: return work_on(s, JOB_COMPACT, o, x->err);
    case TABLET_DROP_ROWS: return work_on(s, JOB_DROP_ROWS, o, x->err);
    default: break;
    }
    return o->tablet ? work_on(s, JOB_FLUSH, o, x->err) : flush_all(s, x->err);
}

static void run_ordered(void *arg)
{
    struct ordered *x = arg;
    x->rc = control_obey(x);
}

static int
order_tablet(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct ordered x = {.server = s, .method = call->method, .err = err};
    int rc = tablet_order_get(call->body, &x.order, err);
    if (rc == 0)
        rc = check_order(s, x.order.sequencer, x.order.server, err);
    if (rc)
        return rc;
    loop_task_run(&s->loop_tasks, run_ordered, &x);
    if (x.rc == 0 && call->method == TABLET_UNLOAD)
        unload_reply_put(&(struct unload_reply){x.closed_us}, call->reply_body);
    return x.rc;
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
        if (rc == 0 && list[i]->table && list[i]->table_id == r->id)
            rc = schemas_apply(s, list[i]->table, schema, r->generation, err);
        served_unref(list[i]);
    }
    mem_free(list);
    schema_free(schema);
    return rc;
}

static int
order_schema(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct schema_order o;
    int rc = schema_order_get(call->body, &o, err);
    if (rc == 0)
        rc = check_order(s, o.sequencer, o.server, err);
    return rc ? rc : apply_schema(s, &o.table, err);
}

/* --- status -------------------------------------------------------------- */

static void fill_load(const struct served *t, struct tablet_load *out)
{
    struct table_part_view *v = t->table ? table_part_get_view(t->table) : NULL;
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
    status.memory_bytes = atomic_load(&s->store->memory_bytes);
    status.memory_max = s->store->options.memtable_bytes;
    status.log_bytes = write_log_bytes(s->store->log);
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
    server_status_put(&status, out);
    mem_free(status.tablets);
    mem_free(list);
}

static int
order_status(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct status_order o;
    int rc = status_order_get(call->body, &o, err);
    if (rc == 0)
        rc = check_ready(s, err);
    if (rc == 0 && o.server != s->number)
        rc = err_set(err, ERR_CLOSED, "this is tablet server %llu, not %llu",
                     (unsigned long long)s->number,
                     (unsigned long long)o.server);
    if (rc == 0) {
        segment_cache_expire(s->segments, SEGMENT_IDLE_US);
        put_status(s, &o, call->reply_body);
    }
    return rc;
}

int handle_control(void *ctx, struct rpc_call *call, struct err *err)
{
    struct tablet_server *s = ctx;
    if (!cluster_roles_may_order(s->options.roles, call->principal))
        return err_set(err, ERR_DENIED,
                       "\"%.*s\" is no role of this cluster, and gives its "
                       "tablet servers no orders",
                       SLICE_ARG(call->principal));
    switch (call->method) {
    case TABLET_SCHEMA: return order_schema(s, call, err);
    case TABLET_STATUS: return order_status(s, call, err);
    case TABLET_CAPTURE: return order_capture(s, call, err);
    case TABLET_LOG_SORT: return order_log_sort(s, call, err);
    case TABLET_LOG_READ: return order_log_read(s, call, err);
    default: return order_tablet(s, call, err);
    }
}
