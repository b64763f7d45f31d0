/* A scrape is summed up by names and labels, histograms give quantiles, and a
 * text that is no scrape is refused in bounded memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "cli/monitor/node_metrics.h"
#include "tests/lib/check_main.h"

static struct node_metrics metrics;
static struct err err;

static int parse(const char *text)
{
    err = ERR_INIT;
    return node_metrics_parse(slice_str(text), &metrics, &err);
}

static double sum_of(const char *name, const char *labels)
{
    double out = -1;
    if (!node_metrics_sum(&metrics, name, labels, &out))
        return NAN;
    return out;
}

/* Samples with and without labels are added up by those that are asked for. */
START_TEST(test_sums)
{
    ck_assert_int_eq(parse("# HELP up x\n# TYPE up gauge\n"
                           "rows_total{table=\"a\",kind=\"read\"} 3\n"
                           "rows_total{table=\"b\",kind=\"read\"} 4.5\n"
                           "rows_total{table=\"b\",kind=\"write\"} 10 1700000\n"
                           "rows_totals 100\n"
                           "\n"
                           "up 1e3\n"),
                     0);
    ck_assert_uint_eq(metrics.count, 5);
    ck_assert(sum_of("rows_total", NULL) == 17.5);
    ck_assert(sum_of("rows_total", "kind=read") == 7.5);
    ck_assert(sum_of("rows_total", "kind=read,table=b") == 4.5);
    ck_assert(sum_of("up", NULL) == 1000);
    ck_assert(isnan(sum_of("rows_total", "table=c")));
    ck_assert(isnan(sum_of("rows", NULL)));
    ck_assert(isnan(sum_of("", NULL)));
    node_metrics_close(&metrics);
}

END_TEST

/* Braces, commas and quotes inside of a value do not end it. */
START_TEST(test_values_with_marks)
{
    struct slice rest;
    struct slice name;
    struct slice value;
    ck_assert_int_eq(parse("x{a=\"}\\\"{,b=\",c=\"d\"} 2\n"), 0);
    ck_assert(sum_of("x", "c=d") == 2);
    rest = metrics.at[0].labels;
    ck_assert(node_label_next(&rest, &name, &value));
    ck_assert(slice_eq_str(value, "}\\\"{,b="));
    ck_assert(node_label_next(&rest, &name, &value));
    ck_assert(slice_eq_str(name, "c"));
    ck_assert(!node_label_next(&rest, &name, &value));
    node_metrics_close(&metrics);
}

END_TEST

/* A text that is no scrape is refused, and the line is named. */
START_TEST(test_malformed)
{
    static const char *const texts[] = {
        "ok 1\nx\n",        "ok 1\nx{a=\"b\" 1\n", "ok 1\nx{a=\"b\"}\n",
        "ok 1\nx one\n",    "ok 1\n{a=\"b\"} 1\n", "ok 1\nx 1x\n",
        "ok 1\nx{a=\"b} 1", "ok 1\n<html>\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        ck_assert_int_eq(parse(texts[i]), ERR_CORRUPT);
        ck_assert_str_eq(err.text, "line 2 of the metrics cannot be read");
        node_metrics_close(&metrics);
    }
}

END_TEST

/* A text that is too long, or has too many lines, costs no memory. */
START_TEST(test_too_much)
{
    struct buf b = BUF_INIT;
    buf_append_fill(&b, '\n', NODE_METRICS_SAMPLES_MAX);
    ck_assert_int_eq(node_metrics_parse(buf_slice(&b), &metrics, &err),
                     ERR_TOOBIG);
    ck_assert_ptr_null(metrics.at);
    buf_clear(&b);
    buf_append_fill(&b, 'x', NODE_METRICS_BYTES_MAX + 1);
    ck_assert_int_eq(node_metrics_parse(buf_slice(&b), &metrics, &err),
                     ERR_TOOBIG);
    buf_close(&b);
}

END_TEST

/* Any bytes are read without a fault, whatever comes of them. */
START_TEST(test_any_bytes)
{
    static const char alphabet[] = "x{}\"\\=,1. \n\xff";
    struct rand_gen r;
    struct buf b = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        size_t n = rand_below(&r, 60);
        buf_clear(&b);
        for (size_t k = 0; k < n; k++)
            buf_append_byte(&b, alphabet[rand_below(&r, sizeof(alphabet) - 1)]);
        if (node_metrics_parse(buf_slice(&b), &metrics, NULL) == 0) {
            struct metric_spread h = {.size = 0};
            double out;
            (void)!node_metrics_sum(&metrics, "x", "x=1", &out);
            metric_spread_add(&h, &metrics, "x", NULL, 1);
        }
        node_metrics_close(&metrics);
    }
    buf_close(&b);
}

END_TEST

static const char before[] = "t_bucket{table=\"a\",le=\"0.001\"} 10\n"
                             "t_bucket{table=\"a\",le=\"0.002\"} 10\n"
                             "t_bucket{table=\"a\",le=\"+Inf\"} 10\n";
static const char after[] = "t_bucket{table=\"a\",le=\"0.001\"} 10\n"
                            "t_bucket{table=\"a\",le=\"0.002\"} 110\n"
                            "t_bucket{table=\"a\",le=\"+Inf\"} 110\n"
                            "t_bucket{table=\"b\",le=\"0.001\"} 0\n"
                            "t_bucket{table=\"b\",le=\"0.002\"} 0\n"
                            "t_bucket{table=\"b\",le=\"0.004\"} 100\n"
                            "t_bucket{table=\"b\",le=\"+Inf\"} 100\n";

/* Quantiles are those of the interval: what was recorded before does not count,
 * and tables are put together. */
START_TEST(test_quantiles_of_an_interval)
{
    struct metric_spread h = {.size = 0};
    double q = 0;
    ck_assert(!metric_spread_quantile(&h, 0.5, &q));
    ck_assert_int_eq(parse(after), 0);
    metric_spread_add(&h, &metrics, "t", NULL, 1);
    node_metrics_close(&metrics);
    ck_assert_int_eq(parse(before), 0);
    metric_spread_add(&h, &metrics, "t", NULL, -1);
    node_metrics_close(&metrics);
    ck_assert(metric_spread_count(&h) == 200);
    ck_assert(metric_spread_quantile(&h, 0.25, &q));
    ck_assert(fabs(q - 0.0015) < 1e-9);
    ck_assert(metric_spread_quantile(&h, 0.99, &q));
    ck_assert(fabs(q - 0.00396) < 1e-9);
}

END_TEST

/* Times beyond the last bound are at least that long. */
START_TEST(test_quantile_without_end)
{
    struct metric_spread h = {.size = 0};
    double q = 0;
    ck_assert_int_eq(parse("t_bucket{le=\"1\"} 1\nt_bucket{le=\"+Inf\"} 100\n"),
                     0);
    metric_spread_add(&h, &metrics, "t", NULL, 1);
    node_metrics_close(&metrics);
    ck_assert(metric_spread_quantile(&h, 0.99, &q));
    ck_assert(q == 1);
}

END_TEST

TEST_MAIN("node_metrics",
          test_sums,
          test_values_with_marks,
          test_malformed,
          test_too_much,
          test_any_bytes,
          test_quantiles_of_an_interval,
          test_quantile_without_end)
