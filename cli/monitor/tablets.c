/* Tablets of all tablet servers: each server is asked once, all at the same
 * time, for what it serves. So a table is shown as it is served, which is what
 * METADATA says but for moments; rows that no server reports are gaps.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "cli/monitor/monitor_private.h"
#include "cli/status_text.h"

#define SURVEY_US UINT64_C(2000000)
#define FRESH_NS  UINT64_C(1000000000)

/* The question to one server. */
struct server_survey {
    struct monitor *monitor;
    struct monitor_tablets *to;
    const struct monitor_node *node;
    struct fiber *fiber;
    struct err err;
};

static void add_tablets(struct monitor_tablets *to,
                        const struct monitor_node *node,
                        const struct survey *s)
{
    size_t count = s->tablet_count;
    PRE(to->count <= MONITOR_TABLETS_MAX);
    if (to->count + count > MONITOR_TABLETS_MAX)
        count = MONITOR_TABLETS_MAX - to->count;
    if (count < s->tablet_count)
        to->is_complete = false;
    to->at = mem_realloc(to->at, (to->count + count + 1) * sizeof(*to->at));
    for (size_t i = 0; i < count; i++) {
        struct monitor_tablet *t = &to->at[to->count++];
        *t = (struct monitor_tablet){s->tablets[i], node};
        t->t.table = arena_dup(&to->arena, t->t.table);
        t->t.start = arena_dup(&to->arena, t->t.start);
        t->t.end = arena_dup(&to->arena, t->t.end);
    }
}

/* One page of its tablets; *@after moves on. */
static int
ask_page(struct server_survey *x, uint64_t *after, bool *more, struct err *err)
{
    const struct survey_request r = {.after = *after};
    struct monitor_question q = {.method = TABLET_SURVEY,
                                 .timeout_us = SURVEY_US};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct survey s;
    struct arena a;
    int rc;
    arena_init(&a);
    survey_request_put(&r, &body);
    q.body = buf_slice(&body);
    rc = monitor_call(x->monitor, x->node, &q, &reply, NULL, err);
    if (rc == 0)
        rc = survey_get(buf_slice(&reply), &a, &s, err);
    *more = rc == 0 && s.more && s.tablet_count &&
            s.tablets[s.tablet_count - 1].id > *after;
    if (rc == 0) {
        add_tablets(x->to, x->node, &s);
        if (s.tablet_count)
            *after = s.tablets[s.tablet_count - 1].id;
    }
    arena_close(&a);
    buf_close(&reply);
    buf_close(&body);
    return rc;
}

static void survey_server(void *arg)
{
    struct server_survey *x = arg;
    struct world *w = x->monitor->source.world;
    uint64_t after = 0;
    bool more = true;
    fiber_set_deadline(world_mono_ns(w) + SURVEY_US * 1000);
    while (more && x->to->count < MONITOR_TABLETS_MAX)
        if (ask_page(x, &after, &more, &x->err))
            break;
}

static bool serves_tablets(const struct monitor_node *n)
{
    struct slice pairs;
    return node_role(n, "tablet", &pairs) &&
           !slice_eq_str(status_value(pairs, "ready"), "no");
}

/* All servers at once. */
static void survey_servers(struct monitor *m, struct monitor_tablets *to)
{
    struct monitor_nodes *n = to->nodes;
    struct server_survey *x = mem_zalloc(n->count + 1, sizeof(*x));
    for (size_t i = 0; i < n->count; i++) {
        if (n->at[i].state != NODE_UP)
            to->is_complete = false; /* It may have served some. */
        if (!serves_tablets(&n->at[i]))
            continue;
        x[i] =
            (struct server_survey){.monitor = m, .to = to, .node = &n->at[i]};
        x[i].fiber = fiber_start(loop_self(), "survey", survey_server, &x[i]);
    }
    for (size_t i = 0; i < n->count; i++) {
        if (!x[i].fiber)
            continue;
        fiber_join(x[i].fiber);
        if (x[i].err.code) {
            to->is_complete = false;
            buf_printf(&to->warnings,
                       "the tablets of node %s are not known: %s\n",
                       n->at[i].name, x[i].err.text);
        }
    }
    if (to->count == MONITOR_TABLETS_MAX)
        buf_printf(&to->warnings,
                   "there are more than %d tablets: not all are counted\n",
                   MONITOR_TABLETS_MAX);
    mem_free(x);
}

static int compare_tablets(const void *a, const void *b)
{
    const struct monitor_tablet *x = a;
    const struct monitor_tablet *y = b;
    int c = slice_cmp(x->t.table, y->t.table);
    if (c == 0)
        c = slice_cmp(x->t.start, y->t.start);
    if (c == 0)
        c = (x->t.loaded_at_us < y->t.loaded_at_us) -
            (x->t.loaded_at_us > y->t.loaded_at_us);
    return c;
}

/* A tablet that moved or was split meanwhile was told of twice: the one that
 * was loaded last counts. */
static void drop_outdated(struct monitor_tablets *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct surveyed_tablet *x = &t->at[i].t;
        const struct surveyed_tablet *before = kept ? &t->at[kept - 1].t : NULL;
        if (before && slice_eq(before->table, x->table) &&
            (before->end.len == 0 || slice_cmp(x->start, before->end) < 0)) {
            if (x->loaded_at_us > before->loaded_at_us)
                t->at[kept - 1] = t->at[i];
            continue;
        }
        t->at[kept++] = t->at[i];
    }
    t->count = kept;
}

/* Those without a name are being loaded, and not served by now. */
static void drop_loading(struct monitor_tablets *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->at[i].t.table.len)
            t->at[kept++] = t->at[i];
    t->count = kept;
}

static int survey_tablets(struct monitor *m, struct err *err)
{
    uint64_t from = world_mono_ns(m->source.world);
    struct monitor_tablets *t;
    struct monitor_nodes *n;
    int rc = monitor_nodes_get(m, &n, err);
    if (rc)
        return rc;
    t = mem_zalloc(1, sizeof(*t));
    t->references = 1;
    t->nodes = n;
    t->is_complete = true;
    arena_init(&t->arena);
    survey_servers(m, t);
    drop_loading(t);
    if (t->count)
        qsort(t->at, t->count, sizeof(*t->at), compare_tablets);
    drop_outdated(t);
    t->at_mono_ns = world_mono_ns(m->source.world);
    t->took_ns = t->at_mono_ns - from;
    monitor_tablets_unref(m->tablets);
    m->tablets = t;
    return fiber_check(err);
}

int monitor_tablets_get(struct monitor *m,
                        struct monitor_tablets **out,
                        struct err *err)
{
    uint64_t now;
    int rc = 0;
    *out = NULL;
    mutex_lock(&m->surveying);
    now = world_mono_ns(m->source.world);
    if (!m->tablets || now - m->tablets->at_mono_ns >=
                           MAX_OF(FRESH_NS, 10 * m->tablets->took_ns))
        rc = survey_tablets(m, err);
    if (rc == 0) {
        m->tablets->references++;
        *out = m->tablets;
    }
    mutex_unlock(&m->surveying);
    return rc;
}

void monitor_tablets_unref(struct monitor_tablets *t)
{
    PRE(!t || t->references > 0);
    if (!t || --t->references)
        return;
    monitor_nodes_unref(t->nodes);
    mem_free(t->at);
    buf_close(&t->warnings);
    arena_close(&t->arena);
    mem_free(t);
}

size_t monitor_tablets_of(const struct monitor_tablets *t,
                          struct slice table,
                          const struct monitor_tablet **first)
{
    size_t low = 0;
    size_t high = t->count;
    size_t end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(t->at[middle].t.table, table) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < t->count && slice_eq(t->at[end].t.table, table);
         end++)
        ;
    *first = &t->at[low];
    return end - low;
}

void monitor_tablets_warn(const struct monitor_tablets *t, json_t *doc)
{
    monitor_nodes_warn(t->nodes, doc);
    doc_warn_lines(doc, buf_slice(&t->warnings));
}

/* --- sums ---------------------------------------------------------------- */

static double in_units(uint64_t thousandths)
{
    return (double)thousandths / 1000;
}

static uint64_t heat_of(const struct monitor_tablet *t)
{
    return t->t.milli_reads_per_s + t->t.milli_writes_per_s;
}

struct tablet_totals tablet_totals_of(const struct monitor_tablet *first,
                                      size_t count)
{
    struct tablet_totals sum = {.served = count};
    struct slice end = SLICE_EMPTY;
    for (size_t i = 0; i < count; i++) {
        const struct surveyed_tablet *t = &first[i].t;
        sum.gaps += !slice_eq(t->start, end) || (i > 0 && end.len == 0);
        end = t->end;
        sum.bytes += t->bytes;
        sum.reads_per_s += in_units(t->milli_reads_per_s);
        sum.writes_per_s += in_units(t->milli_writes_per_s);
        sum.bytes_per_s += in_units(t->milli_bytes_per_s);
        if (heat_of(&first[i]) > (sum.hottest ? heat_of(sum.hottest) : 0))
            sum.hottest = &first[i];
    }
    sum.gaps += end.len != 0 || count == 0;
    return sum;
}

const char *tablet_totals_state(const struct tablet_totals *t, bool complete)
{
    if (t->gaps == 0)
        return "well";
    return complete ? "not all rows are served"
                    : "not all servers have told what they serve";
}

static const char *phase_name(enum tablet_phase phase)
{
    switch (phase) {
    case TABLET_LOADING: return "loading";
    case TABLET_SERVING: return "serving";
    case TABLET_UNLOADING: return "unloading";
    }
    return "?";
}

void doc_put_tablet(json_t *row, const struct monitor_tablet *x)
{
    const struct surveyed_tablet *t = &x->t;
    doc_put_u64(row, "id", t->id);
    doc_put_key(row, "start", t->start);
    doc_put_key(row, "end", t->end);
    doc_put_str(row, "server", x->node->address);
    doc_put_str(row, "node", x->node->name);
    doc_put_str(row, "state", phase_name(t->phase));
    doc_put_u64(row, "bytes", t->bytes);
    doc_put_u64(row, "memory_bytes", t->memory_bytes);
    doc_put_u64(row, "files", t->file_count);
    doc_put_u64(row, "debt_bytes", t->debt_bytes);
    doc_put_bool(row, "is_compacting", t->is_busy);
    doc_put_double(row, "reads_per_s", in_units(t->milli_reads_per_s));
    doc_put_double(row, "writes_per_s", in_units(t->milli_writes_per_s));
    doc_put_double(row, "bytes_per_s", in_units(t->milli_bytes_per_s));
    if (t->loaded_at_us)
        doc_put_u64(row, "loaded_at_us", t->loaded_at_us);
}
