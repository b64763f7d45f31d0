/* Rules about followers: one that fails, is behind, or that nobody runs. All
 * hosts see the same records, so a finding is reported once. */
#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "cli/monitor/finding.h"

#define BEHIND_S 300.0

/* "observer links", from labels (name, kind). */
static struct finding *add_follower(struct finding_list *out,
                                    enum finding_severity severity,
                                    const struct fact_sample *x)
{
    return finding_add(out, severity, "follower %.*s/%.*s",
                       SLICE_ARG(x->second), SLICE_ARG(x->first));
}

void rule_follower_fails(const struct finding_facts *f,
                         struct finding_list *out)
{
    static const char name[] = "quarry_follower_failures_total";
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0; fact_sample(&f->nodes[i].now, name, k, &x); k++) {
            struct buf labels = BUF_INIT;
            double by = 0;
            buf_printf(&labels, "name=%.*s,kind=%.*s", SLICE_ARG(x.first),
                       SLICE_ARG(x.second));
            if (fact_growth(&f->nodes[i], name, buf_cstr(&labels), &by) &&
                by > 0) {
                add_follower(out, FINDING_FAILURE, &x);
                finding_say(out, "It fails on node %s, %s times so far.",
                            f->nodes[i].name, finding_number(out, x.value));
            }
            buf_close(&labels);
        }
}

void rule_follower_behind(const struct finding_facts *f,
                          struct finding_list *out)
{
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0; fact_sample(&f->nodes[i].now,
                                       "quarry_follower_lag_seconds", k, &x);
             k++)
            if (x.value > BEHIND_S) {
                add_follower(out, FINDING_WARNING, &x);
                finding_say(out, "It is %s behind the changes of its table.",
                            finding_duration(out, x.value));
            }
}

/* Did one of the first @count nodes report the same follower? */
static bool is_told(const struct finding_facts *f,
                    size_t count,
                    const struct fact_sample *x)
{
    struct fact_sample y;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now, "quarry_follower_waiting", k, &y);
             k++)
            if (slice_eq(x->first, y.first) && slice_eq(x->second, y.second))
                return true;
    return false;
}

/* All hosts see the same: one finding. */
void rule_follower_waits(const struct finding_facts *f,
                         struct finding_list *out)
{
    struct fact_sample x;
    for (size_t i = 0; i < f->node_count; i++)
        for (size_t k = 0;
             fact_sample(&f->nodes[i].now, "quarry_follower_waiting", k, &x);
             k++)
            if (x.value > 0 && !is_told(f, i, &x)) {
                add_follower(out, FINDING_FAILURE, &x);
                finding_say(out, "Nobody runs it.");
            }
}
