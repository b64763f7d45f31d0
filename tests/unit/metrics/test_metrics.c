/* Metrics: what is recorded comes out in both formats of Prometheus, and labels
 * from outside cannot make it grow without bound.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/metrics/metrics.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct metrics *metrics;
static struct metric_set *set;
static struct buf text;

static void before(void)
{
    metrics = metrics_new();
    set = metric_set_new(metrics);
    text = BUF_INIT;
}

static void after(void)
{
    buf_close(&text);
    metric_set_free(set);
    metrics_free(metrics);
}

static const char *printed(enum metric_text form)
{
    buf_clear(&text);
    metric_set_print(set, form, &text);
    return buf_cstr(&text);
}

static size_t count_lines(const char *all, const char *with)
{
    size_t count = 0;
    for (const char *p = all; (p = strstr(p, with)) != NULL; p++)
        count++;
    return count;
}

/* --- Tests --------------------------------------------------------------- */

/* Every line of the table is well made: the name ends in its unit, only a
 * counter may be called a total, labels have a bound, and help is there. */
START_TEST(test_table)
{
    static const char *const units[] = {"", "_seconds", "_bytes", "_ratio"};
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *m = metric_info((enum metric_id)i);
        size_t name = strlen(m->name);
        size_t unit = strlen(units[m->unit]);
        ck_assert(strncmp(m->name, "quarry_", 7) == 0 ||
                  strncmp(m->name, "process_", 8) == 0);
        ck_assert_msg(strcmp(m->name + name - unit, units[m->unit]) == 0,
                      "%s does not end in its unit", m->name);
        ck_assert_ptr_null(strstr(m->name, "_total"));
        ck_assert_msg((*m->labels != '\0') == (m->bound > 0),
                      "%s: labels without a bound, or the other way round",
                      m->name);
        ck_assert_msg(m->help[0] && m->help[strlen(m->help) - 1] != '.' &&
                          !strpbrk(m->help, "\n\\"),
                      "%s: help", m->name);
        if (m->type >= METRIC_HISTOGRAM)
            ck_assert_int_eq(m->unit, METRIC_SECONDS);
    }
}

END_TEST

/* A time is in the first bucket whose bound is not below it. */
START_TEST(test_buckets)
{
    uint64_t bound = METRIC_FIRST;
    ck_assert_uint_eq(metric_bucket(0), 0);
    for (size_t i = 0; i < METRIC_BUCKETS - 1; i++, bound *= 2) {
        ck_assert_uint_eq(metric_bucket(bound), i);
        ck_assert_uint_eq(metric_bucket(bound + 1), i + 1);
    }
    ck_assert_uint_eq(metric_bucket(UINT64_MAX), METRIC_BUCKETS - 1);
}

END_TEST

/* A counter and a histogram in OpenMetrics, to the letter. */
START_TEST(test_openmetrics)
{
    before();
    struct metric_histogram *h =
        metrics_histogram(metrics, METRIC_engine_flush_seconds, NULL);
    metric_add(metrics_counter(metrics, METRIC_rpc_received_bytes, NULL), 17);
    metric_observe_long(h, UINT64_C(5000000));        /* 5 ms */
    metric_observe_long(h, UINT64_C(40000000000000)); /* Beyond all. */
    metrics_gather(metrics, set);
    printed(METRIC_TEXT_OPENMETRICS);
    ck_assert_ptr_eq(
        strstr(buf_cstr(&text), "# HELP quarry_rpc_received_bytes "),
        buf_cstr(&text));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&text),
                                 "# TYPE quarry_rpc_received_bytes counter\n"
                                 "# UNIT quarry_rpc_received_bytes bytes\n"
                                 "quarry_rpc_received_bytes_total 17\n"));
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&text),
               "quarry_engine_flush_seconds_bucket{le=\"0.004\"} 0\n"
               "quarry_engine_flush_seconds_bucket{le=\"0.008\"} 1\n"
               "quarry_engine_flush_seconds_bucket{le=\"0.016\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(
        buf_cstr(&text), "quarry_engine_flush_seconds_bucket{le=\"+Inf\"} 2\n"
                         "quarry_engine_flush_seconds_count 2\n"
                         "quarry_engine_flush_seconds_sum 40000.005\n"
                         "# EOF\n"));
    after();
}

END_TEST

/* In the older format the counter's own name has the suffix, there are neither
 * units nor an end. */
START_TEST(test_text_format)
{
    before();
    metric_put(set, METRIC_tablet_read_rows, METRIC_LABELS("a\"b\\c\nd"), 1.5);
    metric_put(set, METRIC_engine_log_bytes, NULL, 1e12);
    ck_assert_str_eq(
        printed(METRIC_TEXT_PROMETHEUS),
        "# HELP quarry_tablet_read_rows_total Rows read, by table\n"
        "# TYPE quarry_tablet_read_rows_total counter\n"
        "quarry_tablet_read_rows_total{table=\"a\\\"b\\\\c?d\"} 1.5\n"
        "# HELP quarry_engine_log_bytes Bytes in the commit log that are not "
        "released yet: what a recovery reads\n"
        "# TYPE quarry_engine_log_bytes gauge\n"
        "quarry_engine_log_bytes 1000000000000\n");
    ck_assert_str_eq(
        printed(METRIC_TEXT_PLAIN),
        "quarry_tablet_read_rows_total{table=\"a\\\"b\\\\c?d\"} 1.5\n"
        "quarry_engine_log_bytes 1000000000000\n");
    after();
}

END_TEST

/* The same labels give the same instrument; samples of one are added up. */
START_TEST(test_same_labels)
{
    before();
    struct metric_counter *a = metrics_counter(
        metrics, METRIC_rpc_refused_connections, METRIC_LABELS("proof"));
    ck_assert_ptr_eq(a, metrics_counter(metrics, METRIC_rpc_refused_connections,
                                        METRIC_LABELS("proof")));
    ck_assert_ptr_ne(a, metrics_counter(metrics, METRIC_rpc_refused_connections,
                                        METRIC_LABELS("name")));
    metric_add(a, 2);
    metric_put(set, METRIC_rpc_refused_connections, METRIC_LABELS("proof"), 3);
    metrics_gather(metrics, set);
    ck_assert_str_eq(
        printed(METRIC_TEXT_PLAIN),
        "quarry_rpc_refused_connections_total{reason=\"name\"} 0\n"
        "quarry_rpc_refused_connections_total{reason=\"proof\"} 5\n");
    after();
}

END_TEST

/* Values of a label beyond its bound are counted together as "other", the ones
 * that came first stay what they are, in this scrape and in later ones; the
 * sum over all is what happened. */
START_TEST(test_bounded)
{
    before();
    unsigned bound = metric_info(METRIC_tablet_written_rows)->bound;
    char name[32];
    for (int scrape = 0; scrape < 2; scrape++) {
        for (unsigned i = 0; i < 10 * bound; i++) {
            snprintf(name, sizeof(name), "table%05u",
                     scrape ? 10 * bound - 1 - i : i);
            metric_put(set, METRIC_tablet_written_rows, METRIC_LABELS(name), 1);
            metric_add(metrics_counter(metrics, METRIC_tablet_read_rows,
                                       METRIC_LABELS(name)),
                       1);
        }
        printed(METRIC_TEXT_PLAIN);
        ck_assert_uint_eq(count_lines(buf_cstr(&text), "\n"), bound + 1);
        ck_assert_ptr_nonnull(strstr(buf_cstr(&text), "\"table00000\"} 1\n"));
        snprintf(name, sizeof(name), "\"other\"} %u\n", 9 * bound);
        ck_assert_ptr_nonnull(strstr(buf_cstr(&text), name));
        metric_set_free(set);
        set = metric_set_new(metrics);
    }
    metrics_gather(metrics, set);
    printed(METRIC_TEXT_PLAIN);
    ck_assert_uint_eq(count_lines(buf_cstr(&text), "\n"), bound + 1);
    snprintf(name, sizeof(name), "\"other\"} %u\n", 2 * 9 * bound);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&text), name));
    after();
}

END_TEST

/* Without a registry nothing is recorded, and nothing breaks. */
START_TEST(test_none)
{
    metric_add(metrics_counter(NULL, METRIC_rpc_bad_frames, NULL), 1);
    metric_observe(
        metrics_histogram(NULL, METRIC_engine_commit_sync_seconds, NULL), 1);
    metrics_free(NULL);
    metric_set_free(NULL);
}

END_TEST

enum {
    THREADS = 4,
    TIMES = 20000
};

static void record(void *arg)
{
    (void)arg;
    for (int i = 0; i < TIMES; i++) {
        metric_add(metrics_counter(metrics, METRIC_rpc_bad_frames, NULL), 1);
        metric_observe(
            metrics_histogram(metrics, METRIC_engine_commit_sync_seconds, NULL),
            1000);
    }
}

/* Nothing that threads record at the same time is lost. */
START_TEST(test_threads)
{
    before();
    struct world *w = world_real_new();
    struct task *tasks[THREADS];
    for (int i = 0; i < THREADS; i++)
        tasks[i] = task_start(w, "record", record, NULL);
    for (int i = 0; i < THREADS; i++)
        task_join(tasks[i]);
    ck_assert_uint_eq(
        metric_read(metrics_counter(metrics, METRIC_rpc_bad_frames, NULL)),
        THREADS * TIMES);
    ck_assert_uint_eq(metric_histogram_count(metrics_histogram(
                          metrics, METRIC_engine_commit_sync_seconds, NULL)),
                      THREADS * TIMES);
    world_free(w);
    after();
}

END_TEST

TEST_MAIN("metrics",
          test_table,
          test_buckets,
          test_openmetrics,
          test_text_format,
          test_same_labels,
          test_bounded,
          test_none,
          test_threads)
