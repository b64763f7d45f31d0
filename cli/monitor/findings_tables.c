/* Rules about tables: tablets without a server, load, the engine's background
 * work, the public API.
 */
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "cli/monitor/finding.h"
#include "cli/monitor/trend.h"

#define HOT_SHARE     0.6
#define HOT_ROWS      50.0 /* A second; */
#define HOT_ROW_SHARE 0.5
#define BUSY_ROWS     1000.0
#define BUSY_CORES    0.5
#define UNEVEN_TIMES  3.0
#define UNEVEN_ROWS   1000.0
#define DEBT_BYTES    (1024.0 * 1024 * 1024)
#define DEBT_TOO_MUCH (20 * DEBT_BYTES)
#define STALL_SHARE   0.05
#define API_CALLS_MIN 1.0 /* A second. */
#define API_SHARE     0.01

/* The metric of the master that leads; false: there is none. */
static bool
of_master(const struct finding_facts *f, const char *name, double *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_look *l = &f->nodes[i].now;
        if (fact_sum_or(l, "quarry_master_active", NULL, 0) > 0)
            return fact_sum(l, name, NULL, out);
    }
    return false;
}

void rule_tablets_unserved(const struct finding_facts *f,
                           struct finding_list *out)
{
    double count;
    if (!of_master(f, "quarry_master_unassigned_tablets", &count) || count < 1)
        return;
    finding_add(out, FINDING_FAILURE, "tables");
    finding_say(out,
                "%s tablet%s no server: rows of %s can be neither read "
                "nor written.",
                finding_number(out, count), count < 2 ? " has" : "s have",
                count < 2 ? "it" : "them");
}

void rule_recovery_long(const struct finding_facts *f, struct finding_list *out)
{
    double count;
    if (!of_master(f, "quarry_master_recovering_logs", &count) || count < 1)
        return;
    finding_add(out, FINDING_WARNING, "tables");
    finding_say(out,
                "The log%s of %s dead server%s still being read for the "
                "tablets it had.",
                count < 2 ? "" : "s", finding_number(out, count),
                count < 2 ? " is" : "s are");
}

static void say_unsplittable(const struct fact_node *n,
                             const struct fact_sample *x,
                             struct finding_list *out)
{
    PRE(x->value > 0);
    finding_add(out, FINDING_WARNING, "node %s table %.*s", n->name,
                SLICE_ARG(x->first));
    finding_say(out,
                "A tablet of table %.*s on node %s cannot be split: one row "
                "has most of its %s.",
                SLICE_ARG(x->first), n->name, finding_bytes(out, x->value));
    finding_link(out, "/tables/%.*s", SLICE_ARG(x->first));
}

void rule_tablet_unsplittable(const struct finding_facts *f,
                              struct finding_list *out)
{
    const char *name = "quarry_tablet_unsplittable_bytes";
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0; fact_sample(&f->nodes[i].now, name, k, &x); k++)
            if (x.value > 0)
                say_unsplittable(&f->nodes[i], &x, out);
}

/* Files of changes go whole, so that a bound that holds leaves some room. */
#define CHANGES_FULL 0.9

static void say_cut(const struct fact_node *n,
                    const struct fact_sample *x,
                    double limit,
                    struct finding_list *out)
{
    PRE(limit > 0);
    finding_add(out, FINDING_WARNING, "node %s table %.*s", n->name,
                SLICE_ARG(x->first));
    finding_say(out,
                "The changes of table %.*s on node %s have %s of %s: the "
                "oldest go before their time.",
                SLICE_ARG(x->first), n->name, finding_bytes(out, x->value),
                finding_bytes(out, limit));
    finding_link(out, "/tables/%.*s", SLICE_ARG(x->first));
}

static double changes_limit(const struct fact_look *l, struct slice table)
{
    struct fact_sample x;
    for (size_t k = 0;
         fact_sample(l, "quarry_tablet_changes_limit_bytes", k, &x); k++)
        if (slice_eq(x.first, table))
            return x.value;
    return 0;
}

void rule_changes_cut(const struct finding_facts *f, struct finding_list *out)
{
    const char *name = "quarry_tablet_changes_bytes";
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0; fact_sample(&f->nodes[i].now, name, k, &x); k++) {
            double limit = changes_limit(&f->nodes[i].now, x.first);
            if (limit > 0 && x.value >= CHANGES_FULL * limit)
                say_cut(&f->nodes[i], &x, limit, out);
        }
}

/* --- load ---------------------------------------------------------------- */

static double load_of(const struct fact_tablet *t)
{
    return t->reads_per_s + t->writes_per_s;
}

/* A hot tablet on a server that has little to do costs nobody anything. */
static bool is_busy(const struct finding_facts *f, const struct fact_tablet *t)
{
    const struct fact_node *node = fact_node_at(f, t->address);
    double cores = 0;
    if (node)
        (void)fact_rate(node, "process_cpu_seconds_total", NULL, &cores);
    return load_of(t) >= BUSY_ROWS || cores >= BUSY_CORES;
}

/* Has one row most of the load of @t? */
static bool has_hot_row(const struct fact_tablet *t)
{
    return t->hot_row && t->hot_row_per_s >= HOT_ROWS &&
           t->hot_row_per_s > HOT_ROW_SHARE * load_of(t);
}

static void say_hot(const struct finding_facts *f,
                    const struct fact_tablet *t,
                    double all,
                    struct finding_list *out)
{
    const struct fact_node *node = fact_node_at(f, t->address);
    PRE(t->address);
    PRE(all > 0);
    finding_add(out, FINDING_WARNING, "table %s tablet %s", t->table, t->id);
    finding_say(out,
                "The tablet of table %s with the rows %s%s%s to %s%s%s, "
                "on %s, takes %.0f %% of the table's load (%s rows a "
                "second).",
                t->table, *t->start ? "\"" : "",
                *t->start ? t->start : "from the first", *t->start ? "\"" : "",
                *t->end ? "\"" : "", *t->end ? t->end : "the last",
                *t->end ? "\"" : "", node ? node->name : t->address,
                100 * load_of(t) / all, finding_number(out, load_of(t)));
    finding_link(out, "/heat/%s", t->table);
    if (has_hot_row(t))
        finding_remedy(out, "one row of it has most of the load, and no split "
                            "helps: see the finding about that row");
}

/* The table of tablets [from, end). */
static void look_for_hot(const struct finding_facts *f,
                         size_t from,
                         size_t end,
                         struct finding_list *out)
{
    const struct fact_tablet *hottest = &f->tablets.at[from];
    double all = 0;
    PRE(from < end);
    PRE(end <= f->tablets.count);
    for (size_t i = from; i < end; i++) {
        all += load_of(&f->tablets.at[i]);
        if (load_of(&f->tablets.at[i]) > load_of(hottest))
            hottest = &f->tablets.at[i];
    }
    if (hottest->address && load_of(hottest) >= HOT_ROWS &&
        load_of(hottest) > HOT_SHARE * all && is_busy(f, hottest))
        say_hot(f, hottest, all, out);
}

/* A table's only tablet takes all: that is no news while it is the only one of
 * its server that works. */
void rule_tablet_hot(const struct finding_facts *f, struct finding_list *out)
{
    size_t from = 0;
    for (size_t i = 1; i <= f->tablets.count; i++) {
        if (i < f->tablets.count &&
            strcmp(f->tablets.at[i].table, f->tablets.at[from].table) == 0)
            continue;
        if (i - from > 1)
            look_for_hot(f, from, i, out);
        from = i;
    }
}

void rule_row_hot(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->tablets.count; i++) {
        const struct fact_tablet *t = &f->tablets.at[i];
        const struct fact_node *node;
        if (!t->address || !has_hot_row(t) || !is_busy(f, t))
            continue;
        node = fact_node_at(f, t->address);
        finding_add(out, FINDING_WARNING, "table %s row %s", t->table,
                    t->hot_row);
        finding_say(out,
                    "One row of table %s, \"%s\", takes %.0f %% of the load "
                    "of its tablet on %s (%s rows a second).",
                    t->table, t->hot_row,
                    100 * MIN_OF(t->hot_row_per_s / load_of(t), 1.0),
                    node ? node->name : t->address,
                    finding_number(out, t->hot_row_per_s));
        finding_link(out, "/heat/%s", t->table);
    }
}

/* Rows a second that a tablet server reads and writes. */
static bool rows_rate(const struct fact_node *n, double *per_s)
{
    double reads = 0;
    double writes = 0;
    bool found = fact_rate(n, "quarry_tablet_read_rows_total", NULL, &reads);
    found |= fact_rate(n, "quarry_tablet_written_rows_total", NULL, &writes);
    *per_s = reads + writes;
    return found;
}

void rule_load_uneven(const struct finding_facts *f, struct finding_list *out)
{
    const struct fact_node *busiest = NULL;
    double most = 0;
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < f->node_count; i++) {
        double rate;
        if (!fact_has_role(&f->nodes[i], "tablet"))
            continue;
        count++;
        if (!rows_rate(&f->nodes[i], &rate))
            continue;
        sum += rate;
        if (rate > most) {
            most = rate;
            busiest = &f->nodes[i];
        }
    }
    if (!busiest || count <= UNEVEN_TIMES || most < UNEVEN_ROWS ||
        most <= UNEVEN_TIMES * sum / (double)count)
        return;
    finding_add(out, FINDING_NOTE, "node %s role tablet", busiest->name);
    finding_link_node(out, busiest);
    finding_say(out,
                "Node %s serves %s rows a second, the mean of %zu servers "
                "is %s.",
                busiest->name, finding_number(out, most), count,
                finding_number(out, sum / (double)count));
}

/* --- the engine ---------------------------------------------------------- */

void rule_compaction_debt(const struct finding_facts *f,
                          struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        const struct fact_series *s = fact_series(n, "compaction_debt_bytes");
        double per_s = 0;
        double debt = fact_sum_or(
            &n->now, "quarry_engine_compaction_debt_bytes", NULL, 0);
        bool grows = s && trend_slope(s->points, s->count, &per_s) && per_s > 0;
        if (debt <= DEBT_BYTES || (!grows && debt <= DEBT_TOO_MUCH))
            continue;
        finding_add(out, FINDING_WARNING, "node %s role tablet", n->name);
        finding_link_node(out, n);
        finding_say(out, "Compactions of node %s are behind by %s%s%s%s.",
                    n->name, finding_bytes(out, debt),
                    grows ? ", and it grows by " : "",
                    grows ? finding_bytes(out, per_s * 3600) : "",
                    grows ? " an hour" : "");
    }
}

void rule_writes_stall(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double share;
        if (!fact_rate(n, "quarry_engine_stalled_seconds_total", "cause=memory",
                       &share) ||
            share <= STALL_SHARE)
            continue;
        finding_add(out, FINDING_WARNING, "node %s role tablet", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "Writers of node %s wait %.0f ms of each second for "
                    "flushes.",
                    n->name, 1000 * share);
    }
}

void rule_flushes_fail(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double count;
        if (!fact_growth(n, "quarry_engine_flush_failures_total", NULL,
                         &count) ||
            count < 1)
            continue;
        finding_add(out, FINDING_FAILURE, "node %s role tablet", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "Node %s cannot write its memtables to files: %s "
                    "flush%s failed within %s.",
                    n->name, finding_number(out, count), count < 2 ? "" : "es",
                    finding_duration(
                        out, (double)(n->now.at_us - n->before.at_us) / 1e6));
    }
}

void rule_log_long(const struct finding_facts *f, struct finding_list *out)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double bytes;
        double limit;
        if (!fact_sum(&n->now, "quarry_engine_log_bytes", NULL, &bytes) ||
            !fact_sum(&n->now, "quarry_engine_log_limit_bytes", NULL, &limit) ||
            limit <= 0 || bytes <= 2 * limit)
            continue;
        finding_add(out, FINDING_WARNING, "node %s role tablet", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "The commit log of node %s has %s, where %s are "
                    "wanted: a recovery reads all of it.",
                    n->name, finding_bytes(out, bytes),
                    finding_bytes(out, limit));
    }
}

/* --- the public API ------------------------------------------------------ */

void rule_api_errors(const struct finding_facts *f, struct finding_list *out)
{
    static const char *const bad[] = {"status=INTERNAL", "status=UNAVAILABLE",
                                      "status=UNKNOWN", "status=DATA_LOSS"};
    const char *name = "quarry_gateway_calls_total";
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double all;
        double failed = 0;
        if (!fact_rate(n, name, NULL, &all) || all < API_CALLS_MIN)
            continue;
        for (size_t b = 0; b < ARRAY_LEN(bad); b++) {
            double rate = 0;
            (void)fact_rate(n, name, bad[b], &rate);
            failed += rate;
        }
        if (failed <= API_SHARE * all)
            continue;
        finding_add(out, FINDING_WARNING, "node %s role gateway", n->name);
        finding_link_node(out, n);
        finding_say(out,
                    "%.1f %% of the calls of the public API fail at node "
                    "%s (%.1f of %.1f a second).",
                    100 * failed / all, n->name, failed, all);
    }
}
