/* Answers about heat: from the log of the server, and from the counters of its
 * tablets, which have what is in no record yet. Computed on a reader thread.
 *
 * A record that a tablet appends between the two is missing from one answer; it
 * is in the next.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "bigtable/tablet/heat_matrix.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/reader_pool.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/tablet_server_state.h"

struct heat_job {
    struct tablet_server *server;
    struct heat_request request;
    struct served **list; /* Owned, with references: tablets of the table. */
    size_t count;
    struct heat_bounds *bounds; /* Gathered; NULL: values are wanted. */
    struct heat_matrix matrix;
};

static int check_heat_request(const struct heat_request *r, struct err *err)
{
    if (r->what < LOAD_KIND_COUNT && r->step > 0 && r->step <= HEAT_DAY &&
        r->times > 0 && r->times <= HEAT_MATRIX_TIMES_MAX &&
        r->from < HEAT_MINUTE_MAX - HEAT_MATRIX_TIMES_MAX * HEAT_DAY &&
        r->bounds_max <= HEAT_BOUNDS_MAX)
        return 0;
    return err_set(err, ERR_INVALID,
                   "a picture of heat has at most %u steps of up to %u "
                   "minutes, of reads, writes or bytes",
                   HEAT_MATRIX_TIMES_MAX, HEAT_DAY);
}

static bool is_of_table(const struct served *t, struct slice table)
{
    return atomic_load(&t->phase) == TABLET_SERVING && t->table &&
           slice_eq_str(table, t->table->name);
}

/* Keep of all tablets those of the table. */
static void list_tablets(struct heat_job *j)
{
    size_t count;
    PRE(!j->list);
    j->list = served_list(&j->server->served, &count);
    for (size_t i = 0; i < count; i++)
        if (is_of_table(j->list[i], j->request.table))
            j->list[j->count++] = j->list[i];
        else
            served_unref(j->list[i]);
}

/* May @principal see it? False: nothing is known to decide by. */
static int check_rights(struct heat_job *j,
                        struct slice principal,
                        bool *may,
                        struct err *err)
{
    int rc;
    PRE(j->list);
    *may = j->count > 0;
    if (j->count == 0) {
        *may = cluster_roles_has(j->server->options.roles, principal);
        return 0;
    }
    rc = rules_refresh(j->server, j->list[0], err);
    return rc ? rc : rules_may_look(j->server, j->list[0], principal, err);
}

/* --- the thread ---------------------------------------------------------- */

static void look_at_tablet(struct served *s,
                           struct heat_log *log,
                           void (*fn)(void *, const struct heat_record *),
                           void *ctx)
{
    struct table_part_view *v = table_part_get_view(s->table);
    for (size_t i = 0; v && i < v->tablet_count; i++) {
        struct tablet *t = v->tablets[i];
        const struct heat_place place = {s->table->name, buf_slice(&t->start),
                                         buf_slice(&t->end)};
        if (fn == heat_bounds_add) {
            heat_bounds_add_key(ctx, place.start);
            heat_bounds_add_key(ctx, place.end);
        }
        tablet_heat_look(&t->heat, log, &place, fn, ctx);
    }
    table_part_view_unref(v);
}

static void run_heat(void *arg)
{
    struct heat_job *j = arg;
    const struct heat_request *r = &j->request;
    void (*fn)(void *, const struct heat_record *) =
        j->bounds ? heat_bounds_add : heat_matrix_add;
    void *ctx = j->bounds ? (void *)j->bounds : (void *)&j->matrix;
    PRE(j->list || j->count == 0);
    for (size_t i = 0; i < j->count; i++)
        look_at_tablet(j->list[i], j->server->heat, fn, ctx);
    heat_log_each(j->server->heat, r->from, r->from + r->step * r->times, fn,
                  ctx);
}

/* --- the call ------------------------------------------------------------ */

static int serve_bounds(struct heat_job *j, struct rpc_call *call)
{
    const struct heat_request *r = &j->request;
    struct heat_reply reply;
    const struct slice *keys;
    size_t count;
    PRE(r->bounds_max > 0);
    PRE(r->bounds_max <= HEAT_BOUNDS_MAX);
    j->bounds = heat_bounds_new(r->table, r->start, r->end);
    reader_pool_run(j->server->readers, run_heat, j);
    keys = heat_bounds_list(j->bounds, r->bounds_max, &count);
    keys_put(keys, count, call->reply_attachment);
    reply.count = (uint32_t)count;
    heat_reply_put(&reply, call->reply_body);
    heat_bounds_free(j->bounds);
    return 0;
}

static int serve_values(struct heat_job *j,
                        struct rpc_call *call,
                        const struct slice *bounds,
                        size_t count)
{
    const struct heat_request *r = &j->request;
    struct heat_reply reply = {.count = (uint32_t)(count - 1)};
    j->matrix = (struct heat_matrix){.table = r->table,
                                     .what = (enum load_kind)r->what,
                                     .from = r->from,
                                     .step = r->step,
                                     .times = r->times,
                                     .bounds = bounds,
                                     .ranges = count - 1};
    PRE(count >= 2); /* check_bounds() */
    heat_matrix_init(&j->matrix);
    reader_pool_run(j->server->readers, run_heat, j);
    heat_values_put(j->matrix.values, r->times, count - 1,
                    call->reply_attachment);
    heat_reply_put(&reply, call->reply_body);
    heat_matrix_close(&j->matrix);
    return 0;
}

static int check_bounds(const struct slice *keys, size_t count, struct err *err)
{
    bool ascend = count >= 2 && count <= HEAT_MATRIX_RANGES_MAX + 1;
    for (size_t i = 1; i < count && ascend; i++)
        ascend = slice_cmp(keys[i - 1], keys[i]) < 0 ||
                 (i + 1 == count && keys[i].len == 0);
    return ascend ? 0
                  : err_set(err, ERR_INVALID,
                            "the bounds of a picture of heat ascend, for at "
                            "most %u ranges",
                            HEAT_MATRIX_RANGES_MAX);
}

static int
serve_heat(struct heat_job *j, struct rpc_call *call, struct err *err)
{
    struct arena a;
    struct slice *keys;
    size_t count;
    int rc;
    if (j->request.bounds_max)
        return serve_bounds(j, call);
    arena_init(&a);
    rc = keys_get(call->attachment, &a, &keys, &count, err);
    if (rc == 0)
        rc = check_bounds(keys, count, err);
    if (rc == 0)
        rc = serve_values(j, call, keys, count);
    arena_close(&a);
    return rc;
}

int handle_heat(struct tablet_server *s, struct rpc_call *call, struct err *err)
{
    struct heat_job j = {.server = s};
    const struct heat_reply nothing = {.count = 0};
    bool may = false;
    int rc = heat_request_get(call->body, &j.request, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = check_heat_request(&j.request, err);
    if (rc)
        return rc;
    list_tablets(&j);
    rc = check_rights(&j, call->principal, &may, err);
    if (rc == 0 && may)
        rc = serve_heat(&j, call, err);
    else if (rc == 0)
        heat_reply_put(&nothing, call->reply_body);
    for (size_t i = 0; i < j.count; i++)
        served_unref(j.list[i]);
    mem_free(j.list);
    return rc;
}
