/* Rules about quotas of tables and rates of principals: what is refused, and
 * what soon will be.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "cli/monitor/finding.h"

#define NEAR_SHARE     0.9
#define REFUSALS_PER_S 1.0

/* The master alone reports them. */
void rule_quota_over(const struct finding_facts *f, struct finding_list *out)
{
    double count = 0;
    for (size_t i = 0; i < f->node_count; i++)
        count += fact_sum_or(&f->nodes[i].now,
                             "quarry_master_over_quota_tables", NULL, 0);
    if (count < 1)
        return;
    finding_add(out, FINDING_WARNING, "tables");
    finding_say(out, "%s table%s over a quota of size and take%s no writes.",
                finding_number(out, count), count < 2 ? " is" : "s are",
                count < 2 ? "s" : "");
}

/* --- near a quota -------------------------------------------------------- */

/* A quota of a table, and what is used of it. */
struct quota_use {
    struct slice table;
    struct slice quota; /* Its name. */
    const char *rate;   /* The counter of what it bounds; NULL: it is a size. */
    double limit;
    double used;
};

/* The counter that the quota @name bounds a second; NULL: it bounds a size. */
static const char *counter_of(struct slice name)
{
    static const char *const rates[][2] = {
        {"reads", "quarry_tablet_read_rows_total"},
        {"writes", "quarry_tablet_written_rows_total"},
        {"bytes", "quarry_tablet_row_bytes_total"}};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++)
        if (slice_eq_str(name, rates[i][0]))
            return rates[i][1];
    return NULL;
}

/* Add up over all nodes what is used. */
static void sum_use(const struct finding_facts *f, struct quota_use *u)
{
    struct buf labels = BUF_INIT;
    buf_printf(&labels, "table=%.*s", SLICE_ARG(u->table));
    if (!u->rate)
        buf_printf(&labels, ",quota=%.*s", SLICE_ARG(u->quota));
    for (size_t i = 0; i < f->node_count; i++) {
        const struct fact_node *n = &f->nodes[i];
        double part = 0;
        if (u->rate)
            (void)fact_rate(n, u->rate, buf_cstr(&labels), &part);
        else
            (void)fact_sum(&n->now, "quarry_tablet_quota_used",
                           buf_cstr(&labels), &part);
        u->used += part;
    }
    buf_close(&labels);
}

/* Did one of the first @count nodes report the same quota? */
static bool
is_known(const struct finding_facts *f, size_t count, const struct quota_use *u)
{
    struct fact_sample x;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now, "quarry_tablet_quota_limit", k, &x);
             k++)
            if (slice_eq(x.first, u->table) && slice_eq(x.second, u->quota))
                return true;
    return false;
}

static void say_near(const struct quota_use *u, struct finding_list *out)
{
    bool is_bytes = !u->rate || slice_eq_str(u->quota, "bytes");
    PRE(u->limit > 0);
    finding_add(out, FINDING_WARNING, "table %.*s quota %.*s",
                SLICE_ARG(u->table), SLICE_ARG(u->quota));
    finding_say(
        out, "Table %.*s %s %.0f %% of its quota \"%.*s\": %s of %s%s.",
        SLICE_ARG(u->table), u->rate ? "takes" : "has",
        100 * u->used / u->limit, SLICE_ARG(u->quota),
        is_bytes ? finding_bytes(out, u->used) : finding_number(out, u->used),
        is_bytes ? finding_bytes(out, u->limit) : finding_number(out, u->limit),
        u->rate ? " a second" : "");
    finding_link(out, "/tables/%.*s", SLICE_ARG(u->table));
}

void rule_quota_near(const struct finding_facts *f, struct finding_list *out)
{
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now, "quarry_tablet_quota_limit", k, &x);
             k++) {
            struct quota_use u = {.table = x.first,
                                  .quota = x.second,
                                  .rate = counter_of(x.second),
                                  .limit = x.value};
            if (x.value <= 0 || is_known(f, i, &u))
                continue;
            sum_use(f, &u);
            /* Above a size is rule_quota_over()'s. */
            if (u.used > NEAR_SHARE * u.limit && (u.rate || u.used <= u.limit))
                say_near(&u, out);
        }
}

/* --- principals ---------------------------------------------------------- */

static double refusals_of(const struct finding_facts *f, struct slice principal)
{
    struct buf label = BUF_INIT;
    double sum = 0;
    buf_printf(&label, "principal=%.*s", SLICE_ARG(principal));
    for (size_t i = 0; i < f->node_count; i++) {
        double per_s = 0;
        (void)fact_rate(&f->nodes[i], "quarry_tablet_principal_refusals_total",
                        buf_cstr(&label), &per_s);
        sum += per_s;
    }
    buf_close(&label);
    return sum;
}

/* Did one of the first @count nodes report @principal? */
static bool is_known_principal(const struct finding_facts *f,
                               size_t count,
                               struct slice principal)
{
    struct fact_sample x;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now,
                         "quarry_tablet_principal_refusals_total", k, &x);
             k++)
            if (slice_eq(x.first, principal))
                return true;
    return false;
}

void rule_principal_limited(const struct finding_facts *f,
                            struct finding_list *out)
{
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now,
                         "quarry_tablet_principal_refusals_total", k, &x);
             k++) {
            double per_s;
            if (is_known_principal(f, i, x.first))
                continue;
            per_s = refusals_of(f, x.first);
            if (per_s < REFUSALS_PER_S)
                continue;
            finding_add(out, FINDING_NOTE, "principal %.*s",
                        SLICE_ARG(x.first));
            finding_say(out,
                        "%s calls a second of principal %.*s are refused: "
                        "its rate is used up.",
                        finding_number(out, per_s), SLICE_ARG(x.first));
        }
}
