/* The history of a process: what it answers is what a plain list of all samples
 * says, whatever the clock did.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/metrics/metric_history.h"
#include "base/metrics/metrics.h"
#include "tests/lib/check_main.h"

#define NS_PER_US UINT64_C(1000)
#define START_US  (UINT64_C(1700000040) * 1000000)

/* --- Fixture ------------------------------------------------------------- */

static struct metrics *metrics;
static struct metric_history *history;
static uint64_t wall_us;
static uint64_t mono_ns;

static void before(void)
{
    metrics = metrics_new();
    history = metric_history_new();
    wall_us = START_US;
    mono_ns = 1000;
}

static void after(void)
{
    metric_history_free(history);
    metrics_free(metrics);
}

/* --- Helpers ------------------------------------------------------------- */

static void pass(uint64_t us)
{
    wall_us += us;
    mono_ns += us * NS_PER_US;
}

/* Sample the registry, and fds as @fds (negative: unknown). */
static void sample(double fds)
{
    struct metric_set *set = metric_set_new(metrics);
    metrics_gather(metrics, set);
    if (fds >= 0)
        metric_put(set, METRIC_process_open_fds, NULL, fds);
    metric_history_sample(history, set, wall_us, mono_ns);
    metric_set_free(set);
}

static float point(enum history_id id, uint64_t at_us, uint64_t step_us)
{
    struct history_span span = {at_us / step_us * step_us, step_us, 1};
    float out;
    metric_history_read(history, id, &span, &out);
    return out;
}

static void expect(float got, double want)
{
    ck_assert_msg(fabs((double)got - want) <= fabs(want) * 1e-5 + 1e-9,
                  "%.9g, not %.9g", (double)got, want);
}

static struct metric_counter *rows(const char *table)
{
    return metrics_counter(metrics, METRIC_tablet_read_rows,
                           METRIC_LABELS(table));
}

/* The model: every sample that was taken and not forgotten. */
struct kept {
    uint64_t at_us;
    double value;
};

static struct kept *kept;
static size_t kept_count;

static void model_add(uint64_t at_us, double value)
{
    uint64_t slot = at_us / HISTORY_STEP_US;
    size_t n = 0;
    for (size_t i = 0; i < kept_count; i++) { /* None ahead, none too old. */
        uint64_t of = kept[i].at_us / HISTORY_STEP_US;
        if (of < slot && of + HISTORY_STEP_COUNT > slot)
            kept[n++] = kept[i];
    }
    kept[n] = (struct kept){at_us, value};
    kept_count = n + 1;
}

/* The mean of the slots in [@from, @from + @step). */
static double model_mean(uint64_t from, uint64_t step)
{
    double sum = 0;
    unsigned count = 0;
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i].at_us / step * step == from && kept[i].value >= 0) {
            sum += kept[i].value;
            count++;
        }
    return count ? sum / count : (double)NAN;
}

static void compare_hour(void)
{
    uint64_t now = wall_us / HISTORY_STEP_US;
    for (uint64_t k = 0; k < HISTORY_STEP_COUNT; k++) {
        uint64_t at = (now - k) * HISTORY_STEP_US;
        double want = model_mean(at, HISTORY_STEP_US);
        float got = point(HISTORY_fds, at, HISTORY_STEP_US);
        if (isnan(want))
            ck_assert_msg(isnan(got), "%llu steps ago: %g, not a gap",
                          (unsigned long long)k, (double)got);
        else
            expect(got, want);
    }
}

/* --- Tests --------------------------------------------------------------- */

/* Every line has a name of its own, a unit that its name says, and a kind that
 * its metric allows. */
START_TEST(test_table)
{
    for (int i = 0; i < HISTORY_COUNT; i++) {
        const struct history_info *s = history_info((enum history_id)i);
        enum metric_type type = metric_info(s->metric)->type;
        enum history_id found;
        ck_assert(history_find(slice_str(s->name), &found));
        ck_assert_msg((int)found == i, "%s is there twice", s->name);
        if (s->kind == HISTORY_GAUGE)
            ck_assert_msg(type == METRIC_GAUGE, "%s", s->name);
        else if (s->kind == HISTORY_RATE)
            ck_assert_msg(type != METRIC_GAUGE, "%s", s->name);
        else
            ck_assert_msg(type == METRIC_HISTOGRAM, "%s", s->name);
        if (strcmp(s->unit, "us") == 0)
            ck_assert_msg(strstr(s->name, "_us") != NULL, "%s", s->name);
        if (*s->label)
            ck_assert(metric_label_count(s->metric) > 0);
    }
    ck_assert(!history_find(SLICE_LIT("nonsense"), &(enum history_id){0}));
}

END_TEST

/* A gauge is what it was; a slot without a sample is a gap, and a minute the
 * mean of its samples. */
START_TEST(test_gauges)
{
    before();
    sample(10);
    pass(HISTORY_STEP_US);
    sample(20);
    pass(2 * HISTORY_STEP_US);
    sample(60);
    expect(point(HISTORY_fds, START_US, HISTORY_STEP_US), 10);
    expect(point(HISTORY_fds, START_US + 5000000, HISTORY_STEP_US), 20);
    ck_assert(isnan(point(HISTORY_fds, START_US + 10000000, HISTORY_STEP_US)));
    expect(point(HISTORY_fds, START_US + 15000000, HISTORY_STEP_US), 60);
    expect(point(HISTORY_fds, START_US, HISTORY_MINUTE_US), 30);
    ck_assert(isnan(point(HISTORY_rss_bytes, START_US, HISTORY_STEP_US)));
    after();
}

END_TEST

/* A rate is the growth over all labels, divided by the time that passed on the
 * clock that nobody sets; the first sample has none. A label that appears later
 * has grown from 0. */
START_TEST(test_rates)
{
    before();
    metric_add(rows("a"), 1000);
    sample(-1);
    ck_assert(isnan(point(HISTORY_reads_per_s, wall_us, HISTORY_STEP_US)));
    pass(HISTORY_STEP_US);
    metric_add(rows("a"), 50);
    metric_add(rows("b"), 25);
    sample(-1);
    expect(point(HISTORY_reads_per_s, wall_us, HISTORY_STEP_US), 15);
    wall_us += HISTORY_STEP_US; /* The clock was set forward: */
    pass(HISTORY_STEP_US);      /* five seconds passed, not ten. */
    metric_add(rows("a"), 50);
    sample(-1);
    expect(point(HISTORY_reads_per_s, wall_us, HISTORY_STEP_US), 10);
    pass(HISTORY_STEP_US);
    sample(-1);
    expect(point(HISTORY_reads_per_s, wall_us, HISTORY_STEP_US), 0);
    after();
}

END_TEST

/* Quantiles are those of the interval alone: within the right bucket, and none
 * when nothing happened. A minute has those of all its times. */
START_TEST(test_quantiles)
{
    before();
    struct metric_histogram *h = metrics_histogram(
        metrics, METRIC_tablet_read_seconds, METRIC_LABELS("t"));
    float p50, p99;
    sample(-1);
    pass(HISTORY_STEP_US);
    for (int i = 0; i < 1000; i++)
        metric_observe(h, UINT64_C(100) * NS_PER_US);
    sample(-1);
    p50 = point(HISTORY_read_p50_us, wall_us, HISTORY_STEP_US);
    ck_assert_msg(p50 > 64 && p50 <= 128, "%g", (double)p50);
    pass(HISTORY_STEP_US);
    sample(-1);
    ck_assert(isnan(point(HISTORY_read_p50_us, wall_us, HISTORY_STEP_US)));
    pass(HISTORY_STEP_US);
    for (int i = 0; i < 100; i++)
        metric_observe(h, UINT64_C(10000) * NS_PER_US);
    sample(-1);
    p50 = point(HISTORY_read_p50_us, wall_us, HISTORY_STEP_US);
    ck_assert_msg(p50 > 8192 && p50 <= 16384, "%g", (double)p50);
    p50 = point(HISTORY_read_p50_us, wall_us, HISTORY_MINUTE_US);
    p99 = point(HISTORY_read_p99_us, wall_us, HISTORY_MINUTE_US);
    ck_assert_msg(p50 > 64 && p50 <= 128, "%g", (double)p50);
    ck_assert_msg(p99 > 8192 && p99 <= 16384, "%g", (double)p99);
    /* Of a step of two minutes, the greatest. */
    pass(HISTORY_MINUTE_US);
    for (int i = 0; i < 100; i++)
        metric_observe(h, UINT64_C(10) * NS_PER_US);
    sample(-1);
    p50 = point(HISTORY_read_p50_us, wall_us, HISTORY_MINUTE_US);
    ck_assert_msg(p50 > 8 && p50 <= 16, "%g", (double)p50);
    p50 = point(HISTORY_read_p50_us, wall_us, 10 * HISTORY_MINUTE_US);
    ck_assert_msg(p50 > 64 && p50 <= 128, "%g", (double)p50);
    after();
}

END_TEST

/* Whatever the clock does, the hour is that of a plain list of the samples, of
 * which those ahead of a clock that was set back are forgotten. */
START_TEST(test_hour_is_that_of_the_model)
{
    before();
    uint64_t seed = test_seed();
    struct rand_gen r;
    rand_init(&r, seed);
    kept = mem_zalloc(20000, sizeof(*kept));
    kept_count = 0;
    for (int i = 0; i < 6000; i++) {
        double value = (double)rand_below(&r, 100000);
        uint64_t dice = rand_below(&r, 400);
        pass(1000000 + rand_below(&r, 300000));
        if (dice == 0)
            wall_us += rand_below(&r, 4000) * 1000000;
        else if (dice == 1)
            wall_us -= rand_below(&r, 4000) * 1000000;
        else if (dice == 2)
            pass(rand_below(&r, 600) * 1000000);
        if (!metric_history_is_due(history, wall_us))
            continue;
        if (dice > 300)
            value = -1;
        sample(value);
        model_add(wall_us, value);
        if (i % 500 == 499)
            compare_hour();
    }
    mem_free(kept);
    after();
}

END_TEST

/* Minutes of the last day are the means of their samples; older ones are gone
 * though their places in the ring were not written again. */
START_TEST(test_day)
{
    before();
    uint64_t end;
    for (int i = 0; i < 1500 * 12; i++) {
        sample(i / 12);
        pass(HISTORY_STEP_US);
    }
    end = wall_us;
    for (uint64_t k = 1; k < 1440; k++)
        expect(
            point(HISTORY_fds, end - k * HISTORY_MINUTE_US, HISTORY_MINUTE_US),
            1500.0 - (double)k);
    ck_assert(isnan(
        point(HISTORY_fds, end - 1441 * HISTORY_MINUTE_US, HISTORY_MINUTE_US)));
    pass(600 * HISTORY_MINUTE_US); /* Away for ten hours. */
    sample(7);
    expect(point(HISTORY_fds, wall_us, HISTORY_MINUTE_US), 7);
    for (uint64_t k = 1; k < 600; k++)
        ck_assert(isnan(point(HISTORY_fds, wall_us - k * HISTORY_MINUTE_US,
                              HISTORY_MINUTE_US)));
    expect(point(HISTORY_fds, end - HISTORY_MINUTE_US, HISTORY_MINUTE_US),
           1499);
    ck_assert(isnan(
        point(HISTORY_fds, end - 900 * HISTORY_MINUTE_US, HISTORY_MINUTE_US)));
    after();
}

END_TEST

/* A minute that was begun before the clock was set back is forgotten; the one
 * it was set back to begins with what is sampled from then on. */
START_TEST(test_minutes_when_the_clock_goes_back)
{
    before();
    for (int i = 0; i < 36; i++) {
        sample(100);
        pass(HISTORY_STEP_US);
    }
    wall_us = START_US + HISTORY_MINUTE_US; /* Two minutes back. */
    sample(5);
    expect(point(HISTORY_fds, START_US, HISTORY_MINUTE_US), 100);
    expect(point(HISTORY_fds, START_US + HISTORY_MINUTE_US, HISTORY_MINUTE_US),
           5);
    ck_assert(isnan(point(HISTORY_fds, START_US + 2 * HISTORY_MINUTE_US,
                          HISTORY_MINUTE_US)));
    after();
}

END_TEST

/* A span is bounded, covers what was asked for, and has steps that there are
 * samples of. */
START_TEST(test_spans)
{
    before();
    uint64_t seed = test_seed();
    struct rand_gen r;
    uint64_t now = START_US;
    rand_init(&r, seed);
    for (int i = 0; i < 20000; i++) {
        uint64_t from = now - rand_below(&r, UINT64_C(100000000000));
        uint64_t to = from + rand_below(&r, UINT64_C(90000000000));
        uint64_t step = rand_below(&r, UINT64_C(700000000));
        size_t max = 2 + (size_t)rand_below(&r, 1440);
        struct history_span s = history_span_make(from, to, step, now, max);
        uint64_t last = s.from_us + (s.count - 1) * s.step_us;
        uint64_t begin = MAX_OF(from, now - UINT64_C(86400000000));
        ck_assert_uint_ge(s.count, 1);
        ck_assert_uint_le(s.count, max);
        ck_assert_uint_eq(s.step_us % HISTORY_STEP_US, 0);
        if (begin + UINT64_C(3600000000) < now)
            ck_assert_uint_eq(s.step_us % HISTORY_MINUTE_US, 0);
        ck_assert_uint_eq(s.from_us % s.step_us, 0);
        to = MIN_OF(to, now);
        begin = MIN_OF(begin, to);
        ck_assert(s.from_us <= begin && begin < s.from_us + s.step_us);
        ck_assert(last <= to && to < last + s.step_us);
    }
    after();
}

END_TEST

/* It takes no more than it says, and a series without values takes none. */
START_TEST(test_memory)
{
    before();
    size_t empty = metric_history_bytes(history);
    sample(-1);
    ck_assert_uint_eq(metric_history_bytes(history), empty);
    pass(HISTORY_STEP_US);
    sample(3);
    ck_assert_uint_eq(metric_history_bytes(history), empty + 8640);
    ck_assert_uint_le(empty + HISTORY_COUNT * 8640, 1536 << 10);
    after();
}

END_TEST

TEST_MAIN("metric history",
          test_table,
          test_gauges,
          test_rates,
          test_quantiles,
          test_hour_is_that_of_the_model,
          test_day,
          test_minutes_when_the_clock_goes_back,
          test_spans,
          test_memory)
