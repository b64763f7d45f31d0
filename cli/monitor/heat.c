/* The document `heat`: how much each range of rows of a table was read or
 * written, in steps of time. Every tablet server is asked, also those that have
 * no tablet of the table any more: they remember what they had.
 *
 * First all tell the bounds of the ranges they counted; of these at most
 * HEAT_RANGES_MAX are drawn. Then all add up what they counted in those.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/heat_calls.h"
#include "bigtable/wire/methods.h"
#include "cli/monitor/subject.h"
#include "cli/text_form.h"

#define MINUTE_US UINT64_C(60000000)
#define US_PER_S  UINT64_C(1000000)

#define HEAT_DAY_MINUTES 1440U
#define HEAT_TIMES_MAX   1440U
/* Unless steps are asked for: five minutes of a day. */
#define HEAT_TIMES_DEFAULT 288U
#define HEAT_DOC_RANGES    256U
/* Bounds of one server. */
#define HEAT_BOUNDS_WANTED 4096U
#define HEAT_HOTTEST       20U

struct heat_question {
    struct heat_request request;
    const char *what;
    struct buf start;
    struct buf end;
    uint64_t now_us;
};

/* The document while it is made. */
struct heat_picture {
    struct arena arena;   /* Of the bounds' bytes. */
    struct slice *bounds; /* Owned: ranges + 1. */
    size_t count;         /* Of bounds. */
    size_t cap;
    double *values; /* Owned: per second; times * ranges of them. */
    size_t ranges;
};

/* --- parameters ---------------------------------------------------------- */

static int read_what(const char *text, struct heat_question *q, struct err *err)
{
    static const char *const names[] = {"reads", "writes", "bytes"};
    q->what = text && *text ? text : names[0];
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(q->what, names[i]) == 0) {
            q->request.what = i; /* In the order of enum load_kind. */
            return 0;
        }
    return err_set(err, ERR_INVALID,
                   "parameter what=%s is none of reads, writes, bytes",
                   q->what);
}

static int read_heat_times(const struct monitor_param *params,
                           size_t count,
                           struct heat_question *q,
                           struct err *err)
{
    uint64_t now = q->now_us / MINUTE_US;
    uint64_t day_us = HEAT_DAY_MINUTES * MINUTE_US;
    uint64_t from_us = q->now_us - MIN_OF(q->now_us, day_us);
    uint64_t to_us = q->now_us, step_s = 0, from, to, step;
    int rc =
        monitor_param_time(params, count, "from", q->now_us, &from_us, err);
    if (rc == 0)
        rc = monitor_param_time(params, count, "to", q->now_us, &to_us, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "step", 60, 86400, &step_s,
                                  err);
    if (rc == 0 && from_us > to_us)
        rc = err_set(err, ERR_INVALID, "parameter from is later than to");
    if (rc)
        return rc;
    to = MIN_OF(to_us / MINUTE_US, now);
    from = MIN_OF(MAX_OF(from_us / MINUTE_US, now - MIN_OF(now, 1440)), to);
    step = (to - from + HEAT_TIMES_DEFAULT - 1) / HEAT_TIMES_DEFAULT;
    step = step_s ? (step_s + 59) / 60 : MAX_OF(step, (uint64_t)1);
    from = from / step * step;
    q->request.from = (uint32_t)from;
    q->request.step = (uint32_t)step;
    q->request.times = (uint32_t)((to - from) / step + 1);
    POST(q->request.times <= HEAT_TIMES_MAX + 1);
    q->request.times = MIN_OF(q->request.times, HEAT_TIMES_MAX);
    return 0;
}

static void read_key(const struct monitor_param *params,
                     size_t count,
                     const char *name,
                     struct buf *key,
                     struct slice *out)
{
    const char *text = monitor_param_value(params, count, name);
    argument_unescape(key, slice_str(text ? text : ""));
    *out = buf_slice(key);
}

static int read_heat_question(const struct monitor_param *params,
                              size_t count,
                              struct heat_question *q,
                              struct err *err)
{
    const char *table;
    int rc = monitor_param_need(params, count, "table", &table, err);
    if (rc == 0)
        rc = read_what(monitor_param_value(params, count, "what"), q, err);
    if (rc == 0)
        rc = read_heat_times(params, count, q, err);
    if (rc)
        return rc;
    q->request.table = slice_str(table);
    read_key(params, count, "start", &q->start, &q->request.start);
    read_key(params, count, "end", &q->end, &q->request.end);
    if (q->end.len && slice_cmp(buf_slice(&q->start), buf_slice(&q->end)) >= 0)
        return err_set(err, ERR_INVALID,
                       "parameter start is not before parameter end");
    return 0;
}

/* ERR_NOTFOUND: there is no such table. */
static int
check_table(struct monitor *m, const struct heat_question *q, struct err *err)
{
    struct quarry_table *t;
    struct quarry *tables;
    int rc;
    if (slice_eq_str(q->request.table, METADATA_TABLE))
        return 0;
    rc = monitor_tables(m, &tables, err);
    if (rc == 0)
        rc = quarry_table_open(tables, q->request.table.data, &t, err);
    if (rc == 0)
        quarry_table_close(t);
    return rc;
}

/* --- bounds -------------------------------------------------------------- */

static void add_bound(struct heat_picture *p, struct slice key)
{
    if (p->count == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 512;
        p->bounds = mem_realloc(p->bounds, p->cap * sizeof(*p->bounds));
    }
    p->bounds[p->count++] = arena_dup(&p->arena, key);
}

static int compare_bounds(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sort, and drop what is there twice and what is outside of (start, end). */
static void sort_bounds(struct heat_picture *p, const struct heat_question *q)
{
    size_t kept = 0;
    if (p->count)
        qsort(p->bounds, p->count, sizeof(*p->bounds), compare_bounds);
    for (size_t i = 0; i < p->count; i++) {
        struct slice key = p->bounds[i];
        struct slice before = kept ? p->bounds[kept - 1] : q->request.start;
        if (slice_cmp(before, key) < 0 &&
            (q->request.end.len == 0 || slice_cmp(key, q->request.end) < 0))
            p->bounds[kept++] = key;
    }
    p->count = kept;
}

/* Make ranges of the bounds: neighbours are put together until there are few
 * enough, each of about as many. */
static void choose_ranges(struct heat_picture *p, const struct heat_question *q)
{
    size_t inner = MIN_OF(p->count, (size_t)HEAT_DOC_RANGES - 1);
    struct slice *chosen = mem_alloc((inner + 2) * sizeof(*chosen));
    chosen[0] = q->request.start;
    for (size_t i = 0; i < inner; i++)
        chosen[i + 1] = p->bounds[(i + 1) * p->count / (inner + 1)];
    chosen[inner + 1] = q->request.end;
    mem_free(p->bounds);
    p->bounds = chosen;
    p->count = inner + 2;
    p->cap = p->count;
    p->ranges = inner + 1;
}

/* --- asking -------------------------------------------------------------- */

/* The nodes that have tablets. */
static void keep_tablet_servers(const struct monitor_nodes *all,
                                struct monitor_nodes *out)
{
    struct slice pairs;
    *out = *all;
    out->at = mem_zalloc(all->count + 1, sizeof(*out->at));
    out->count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].state == NODE_UP &&
            node_role(&all->at[i], "tablet", &pairs))
            out->at[out->count++] = all->at[i];
}

static void warn_answer(const struct node_call *c, int rc, json_t *doc)
{
    if (rc)
        doc_warn(doc, "node %s: its heat could not be read: %s", c->node->name,
                 c->err.text);
}

static int take_bounds(struct heat_picture *p, struct node_call *c)
{
    struct heat_reply reply;
    struct slice *keys;
    size_t count = 0;
    struct arena a;
    int rc =
        c->rc ? c->rc : heat_reply_get(buf_slice(&c->reply), &reply, &c->err);
    arena_init(&a);
    if (rc == 0 && reply.count)
        rc = keys_get(buf_slice(&c->reply_attachment), &a, &keys, &count,
                      &c->err);
    for (size_t i = 0; i < count && rc == 0; i++)
        add_bound(p, keys[i]);
    arena_close(&a);
    return rc;
}

static int take_values(struct heat_picture *p,
                       const struct heat_question *q,
                       struct node_call *c)
{
    struct heat_reply reply;
    int rc =
        c->rc ? c->rc : heat_reply_get(buf_slice(&c->reply), &reply, &c->err);
    if (rc || reply.count == 0)
        return rc;
    if (reply.count != p->ranges)
        return err_set(&c->err, ERR_CORRUPT, "it answers for other ranges");
    return heat_values_add(buf_slice(&c->reply_attachment), q->request.times,
                           p->ranges, p->values, &c->err);
}

static void ask_bounds(struct monitor *m,
                       const struct monitor_nodes *servers,
                       struct heat_question *q,
                       struct heat_picture *p,
                       json_t *doc)
{
    struct node_calls calls;
    struct buf body = BUF_INIT;
    q->request.bounds_max = HEAT_BOUNDS_WANTED;
    heat_request_put(&q->request, &body);
    node_calls_make(m, servers, TABLET_HEAT, buf_slice(&body), SLICE_EMPTY,
                    &calls);
    for (size_t i = 0; i < calls.count; i++)
        warn_answer(&calls.at[i], take_bounds(p, &calls.at[i]), doc);
    node_calls_close(&calls);
    buf_close(&body);
    sort_bounds(p, q);
    choose_ranges(p, q);
}

static void ask_values(struct monitor *m,
                       const struct monitor_nodes *servers,
                       struct heat_question *q,
                       struct heat_picture *p,
                       json_t *doc)
{
    struct node_calls calls;
    struct buf body = BUF_INIT, keys = BUF_INIT;
    q->request.bounds_max = 0;
    heat_request_put(&q->request, &body);
    keys_put(p->bounds, p->count, &keys);
    p->values = mem_zalloc(q->request.times * p->ranges, sizeof(*p->values));
    node_calls_make(m, servers, TABLET_HEAT, buf_slice(&body), buf_slice(&keys),
                    &calls);
    for (size_t i = 0; i < calls.count; i++)
        warn_answer(&calls.at[i], take_values(p, q, &calls.at[i]), doc);
    node_calls_close(&calls);
    buf_close(&keys);
    buf_close(&body);
}

/* --- the document -------------------------------------------------------- */

static uint64_t step_at_us(const struct heat_question *q, size_t step)
{
    return (q->request.from + step * q->request.step) * MINUTE_US;
}

/* Of counts, rates: the last step has only begun. */
static void make_rates(struct heat_picture *p, const struct heat_question *q)
{
    double whole_s = (double)q->request.step * 60;
    for (size_t t = 0; t < q->request.times; t++) {
        uint64_t at_us = step_at_us(q, t);
        double passed_s = q->now_us > at_us
                              ? (double)(q->now_us - at_us) / (double)US_PER_S
                              : 1;
        double seconds = MAX_OF(MIN_OF(passed_s, whole_s), 1.0);
        for (size_t i = 0; i < p->ranges; i++)
            p->values[t * p->ranges + i] /= seconds;
    }
}

static json_t *heat_number(double value)
{
    double rounded = (double)(uint64_t)(value * 100 + 0.5) / 100;
    return value >= 1000 || rounded < 0.005
               ? json_integer((json_int_t)(value + 0.5))
               : json_real(rounded);
}

static void heat_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value))
        PANIC("a document has no memory for a value");
}

static void put_values(const struct heat_picture *p,
                       const struct heat_question *q,
                       json_t *doc)
{
    json_t *rows = doc_put_array(doc, "values");
    for (size_t t = 0; t < q->request.times; t++) {
        json_t *row = json_array();
        for (size_t i = 0; i < p->ranges; i++)
            heat_append(row, heat_number(p->values[t * p->ranges + i]));
        heat_append(rows, row);
    }
}

static void put_axes(const struct heat_picture *p,
                     const struct heat_question *q,
                     json_t *doc)
{
    json_t *keys = doc_put_array(doc, "keys");
    json_t *times;
    for (size_t i = 0; i < p->count; i++) {
        json_t *o = json_object();
        doc_put_key(o, "key", p->bounds[i]);
        heat_append(keys, json_incref(json_object_get(o, "key")));
        json_decref(o);
    }
    times = doc_put_array(doc, "times");
    for (size_t t = 0; t < q->request.times; t++)
        heat_append(times, json_integer((json_int_t)step_at_us(q, t)));
}

struct heat_sum {
    size_t range;
    double mean;
    double most;
    size_t most_at;
};

static int compare_sums(const void *a, const void *b)
{
    const struct heat_sum *x = a, *y = b;
    return (x->mean < y->mean) - (x->mean > y->mean);
}

static struct heat_sum sum_range(const struct heat_picture *p,
                                 const struct heat_question *q,
                                 size_t range)
{
    struct heat_sum s = {.range = range};
    for (size_t t = 0; t < q->request.times; t++) {
        double value = p->values[t * p->ranges + range];
        s.mean += value / q->request.times;
        if (value > s.most) {
            s.most = value;
            s.most_at = t;
        }
    }
    return s;
}

static void put_hottest(const struct heat_picture *p,
                        const struct heat_question *q,
                        json_t *doc)
{
    json_t *list = doc_put_array(doc, "hottest");
    struct heat_sum *sums = mem_alloc(p->ranges * sizeof(*sums));
    for (size_t i = 0; i < p->ranges; i++)
        sums[i] = sum_range(p, q, i);
    qsort(sums, p->ranges, sizeof(*sums), compare_sums);
    for (size_t i = 0; i < MIN_OF(p->ranges, HEAT_HOTTEST); i++) {
        const struct heat_sum *s = &sums[i];
        json_t *o;
        if (!(s->most > 0))
            break;
        o = doc_append_object(list);
        doc_put_key(o, "start", p->bounds[s->range]);
        doc_put_key(o, "end", p->bounds[s->range + 1]);
        doc_put_double(o, "mean_per_s", s->mean);
        doc_put_double(o, "most_per_s", s->most);
        doc_put_u64(o, "most_at_us", step_at_us(q, s->most_at));
        doc_put_double(
            o, "now_per_s",
            p->values[(q->request.times - 1) * p->ranges + s->range]);
    }
    mem_free(sums);
}

static void put_heat(const struct heat_picture *p,
                     const struct heat_question *q,
                     json_t *doc)
{
    doc_put_text(doc, "table", q->request.table);
    doc_put_str(doc, "what", q->what);
    doc_put_str(doc, "unit", q->request.what == 2 ? "bytes_per_s" : "per_s");
    doc_put_key(doc, "start", q->request.start);
    doc_put_key(doc, "end", q->request.end);
    doc_put_u64(doc, "step_us", q->request.step * MINUTE_US);
    put_axes(p, q, doc);
    put_values(p, q, doc);
    put_hottest(p, q, doc);
}

int subject_heat(struct monitor *m,
                 const struct monitor_param *params,
                 size_t count,
                 json_t *doc,
                 struct err *err)
{
    struct heat_question q = {.now_us =
                                  world_now_us(monitor_source_of(m)->world)};
    struct heat_picture p = {.count = 0};
    struct monitor_nodes *all = NULL, servers = {.count = 0};
    int rc = read_heat_question(params, count, &q, err);
    arena_init(&p.arena);
    if (rc == 0)
        rc = check_table(m, &q, err);
    if (rc == 0)
        rc = monitor_nodes_get(m, &all, err);
    if (rc == 0) {
        monitor_nodes_warn(all, doc);
        keep_tablet_servers(all, &servers);
        ask_bounds(m, &servers, &q, &p, doc);
        ask_values(m, &servers, &q, &p, doc);
        make_rates(&p, &q);
        put_heat(&p, &q, doc);
    }
    mem_free(servers.at);
    monitor_nodes_unref(all);
    mem_free(p.bounds);
    mem_free(p.values);
    arena_close(&p.arena);
    buf_close(&q.start);
    buf_close(&q.end);
    return rc;
}
