/* OpenTelemetry's environment variables mean what its specification says, and a
 * value that is none is warned of. */
#include <string.h>

#include "base/core/macros.h"
#include "base/otlp/otlp_settings.h"
#include "tests/lib/check_main.h"

/* Pairs of names and values, up to a NULL. */
static const char *const *environment;

static const char *variable(const char *name)
{
    for (const char *const *e = environment; *e; e += 2)
        if (strcmp(e[0], name) == 0)
            return e[1];
    return NULL;
}

#define READ(out, ...)                                                         \
    do {                                                                       \
        static const char *const set[] = {__VA_ARGS__ NULL};                   \
        environment = set;                                                     \
        otlp_settings_read(out, variable);                                     \
    } while (0)

static const char *
value_of(const struct otlp_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return "";
}

static const char *resource(const struct otlp_settings *s, const char *name)
{
    return value_of(s->resource, s->resource_count, name);
}

/* Nothing is exported unless it is asked for; the numbers are the
 * specification's. */
START_TEST(test_defaults)
{
    struct otlp_settings s;
    READ(&s, );
    ck_assert_ptr_null(s.url);
    ck_assert(!s.sampler.is_set && !s.gzip);
    ck_assert_uint_eq(s.timeout_us, 10000000);
    ck_assert_uint_eq(s.delay_us, 5000000);
    ck_assert_uint_eq(s.queue_max, 2048);
    ck_assert_uint_eq(s.batch_max, 512);
    ck_assert_uint_eq(s.warnings.len, 0);
    otlp_settings_close(&s);
}

END_TEST

/* The endpoint of all signals is a base, that of traces is used as it is and
 * comes first. */
START_TEST(test_endpoints)
{
    struct otlp_settings s;
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318", );
    ck_assert_str_eq(s.url, "http://c:4318/v1/traces");
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/a/", );
    ck_assert_str_eq(s.url, "https://c/a/v1/traces");
    ck_assert(otlp_settings_set_url(&s, "http://d:4318/"));
    ck_assert_str_eq(s.url, "http://d:4318/v1/traces");
    ck_assert(otlp_settings_set_url(&s, "http://d/x"));
    ck_assert_str_eq(s.url, "http://d/x");
    ck_assert(!otlp_settings_set_url(&s, "d:4318"));
    ck_assert_str_eq(s.url, "http://d/x");
    ck_assert(otlp_settings_set_url(&s, "none"));
    ck_assert_ptr_null(s.url);
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318",
         "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x", );
    ck_assert_str_eq(s.url, "http://t/x");
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://c", );
    ck_assert_ptr_null(s.url);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&s.warnings), "ftp://c"));
    otlp_settings_close(&s);
}

END_TEST

/* The whole SDK, or its exporter, is turned off. */
START_TEST(test_off)
{
    struct otlp_settings s;
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_SDK_DISABLED",
         "True", );
    ck_assert_ptr_null(s.url);
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_SDK_DISABLED",
         "1", );
    ck_assert_ptr_nonnull(s.url); /* The specification: true alone is true. */
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_TRACES_EXPORTER",
         "none", );
    ck_assert_ptr_null(s.url);
    ck_assert_uint_eq(s.warnings.len, 0);
    otlp_settings_close(&s);
}

END_TEST

/* Lists have %-codes; those of traces come last; control characters, which
 * would make a header two, are refused. */
START_TEST(test_lists)
{
    struct otlp_settings s;
    READ(&s, "OTEL_EXPORTER_OTLP_HEADERS", " a=1, b = x%20y%2c ,a=2",
         "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "b=z", "OTEL_SERVICE_NAME", "me",
         "OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a%C3%A9", );
    ck_assert_uint_eq(s.header_count, 2);
    ck_assert_str_eq(value_of(s.headers, 2, "a"), "2");
    ck_assert_str_eq(value_of(s.headers, 2, "b"), "z");
    ck_assert_str_eq(resource(&s, "service.name"), "me");
    ck_assert_str_eq(resource(&s, "team"), "a\xc3\xa9");
    otlp_settings_describe(&s, "service.name", "ignored");
    otlp_settings_describe(&s, "host.name", "h");
    ck_assert_str_eq(resource(&s, "service.name"), "me");
    ck_assert_str_eq(resource(&s, "host.name"), "h");
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("c=x%0d%0aevil: 1")));
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("c=%4")));
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("c=%")));
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("nothing")));
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("=x")));
    ck_assert(!otlp_settings_add_headers(&s, SLICE_LIT("c=\xff")));
    ck_assert_uint_eq(s.header_count, 2);
    otlp_settings_close(&s);
    READ(&s, "OTEL_EXPORTER_OTLP_HEADERS", "secret", );
    ck_assert_ptr_null(strstr(buf_cstr(&s.warnings), "secret"));
    ck_assert_uint_gt(s.warnings.len, 0);
    otlp_settings_close(&s);
}

END_TEST

static void expect_sampler(const char *name,
                           const char *arg,
                           bool is_set,
                           bool ignores_parent,
                           double ratio)
{
    const char *set[] = {"OTEL_TRACES_SAMPLER", name,
                         arg ? "OTEL_TRACES_SAMPLER_ARG" : NULL, arg, NULL};
    struct otlp_settings s;
    environment = set;
    otlp_settings_read(&s, variable);
    ck_assert_int_eq(s.sampler.is_set, is_set);
    if (is_set) {
        ck_assert_int_eq(s.sampler.ignores_parent, ignores_parent);
        ck_assert(s.sampler.ratio == ratio);
    }
    otlp_settings_close(&s);
}

/* All samplers of the specification; one that is unknown is none. */
START_TEST(test_samplers)
{
    expect_sampler("always_on", NULL, true, true, 1);
    expect_sampler("always_off", NULL, true, true, 0);
    expect_sampler("traceidratio", "0.25", true, true, 0.25);
    expect_sampler("traceidratio", NULL, true, true, 1);
    expect_sampler("parentbased_always_on", NULL, true, false, 1);
    expect_sampler("parentbased_always_off", NULL, true, false, 0);
    expect_sampler("parentbased_traceidratio", "0.5", true, false, 0.5);
    expect_sampler("traceidratio", "2", true, true, 1);
    expect_sampler("traceidratio", "nan", true, true, 1);
    expect_sampler("jaeger_remote", NULL, false, false, 0);
}

END_TEST

/* Numbers that are none, or of no use, are the defaults. */
START_TEST(test_numbers)
{
    struct otlp_settings s;
    READ(&s, "OTEL_EXPORTER_OTLP_TIMEOUT", "250", "OTEL_BSP_SCHEDULE_DELAY",
         "soon", "OTEL_BSP_MAX_QUEUE_SIZE", "10",
         "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0",
         "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", );
    ck_assert_uint_eq(s.timeout_us, 250000);
    ck_assert_uint_eq(s.delay_us, 5000000);
    ck_assert_uint_eq(s.queue_max, 10);
    ck_assert_uint_eq(s.batch_max, 10); /* Never more than wait. */
    ck_assert(s.gzip);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&s.warnings), "'soon'"));
    otlp_settings_close(&s);
}

END_TEST

TEST_MAIN("otlp_settings",
          test_defaults,
          test_endpoints,
          test_off,
          test_lists,
          test_samplers,
          test_numbers)
