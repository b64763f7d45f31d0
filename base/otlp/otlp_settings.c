/* The environment, variable by variable. Those of traces come before those of
 * all signals. A value that the specification does not know is warned of and
 * skipped, since a misspelt variable of the environment must not stop a
 * server. */
#include "base/otlp/otlp_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hex.h"
#include "base/core/panic.h"
#include "base/core/text.h"

#define PATH              "v1/traces"
#define TIMEOUT_MS        10000
#define DELAY_MS          5000
#define QUEUE_SPANS       2048
#define BATCH_SPANS       512
#define QUEUE_SPANS_MAX   1000000
#define MILLISECONDS_MAX  UINT64_C(3600000)
#define VALUE_BYTES_SHOWN 60

static void
otlp_settings_warn(struct otlp_settings *s, const char *name, const char *value)
{
    buf_printf(&s->warnings, "%s: '%.*s' is not understood, and is ignored\n",
               name, VALUE_BYTES_SHOWN, value);
}

/* --- pairs --------------------------------------------------------------- */

/* Append @in with its %-codes replaced; false: one is malformed, or a control
 * character. */
static bool decode_percent(struct slice in, struct buf *out)
{
    for (size_t i = 0; i < in.len; i++) {
        unsigned char c = (unsigned char)in.data[i];
        if (c == '%') {
            int high = i + 2 < in.len ? hex_value(in.data[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_value(in.data[i + 2]);
            if (low < 0)
                return false;
            c = (unsigned char)(high << 4 | low);
            i += 2;
        }
        if (c < ' ' || c == 0x7f)
            return false;
        buf_append_byte(out, (char)c);
    }
    return true;
}

static struct otlp_pair *
find_pair(struct otlp_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return &pairs[i];
    return NULL;
}

/* Both are taken. False: there are too many. */
static bool set_pair(struct otlp_pair *pairs,
                     size_t *count,
                     size_t max,
                     char *name,
                     char *value)
{
    struct otlp_pair *p = find_pair(pairs, *count, name);
    if (!p && *count == max) {
        mem_free(name);
        mem_free(value);
        return false;
    }
    if (!p) {
        pairs[(*count)++] = (struct otlp_pair){name, value};
        return true;
    }
    mem_free(p->value);
    p->value = value;
    mem_free(name);
    return true;
}

/* One "name=value" of a list. */
static bool
take_pair(struct slice text, struct otlp_pair *pairs, size_t *count, size_t max)
{
    const char *equals = memchr(text.data, '=', text.len);
    size_t at = equals ? (size_t)(equals - text.data) : 0;
    struct slice name = slice_trim(slice_sub(text, 0, at));
    struct slice value =
        equals ? slice_trim(slice_sub(text, at + 1, text.len)) : SLICE_EMPTY;
    struct buf n = BUF_INIT;
    struct buf v = BUF_INIT;
    bool good =
        name.len && decode_percent(name, &n) && decode_percent(value, &v);
    if (!good || !utf8_valid(buf_slice(&n)) || !utf8_valid(buf_slice(&v))) {
        buf_close(&n);
        buf_close(&v);
        return false;
    }
    return set_pair(pairs, count, max, buf_take(&n), buf_take(&v));
}

/* "name=value,name=value". */
static bool take_pairs(struct slice list,
                       struct otlp_pair *pairs,
                       size_t *count,
                       size_t max)
{
    while (list.len) {
        const char *comma = memchr(list.data, ',', list.len);
        size_t end = comma ? (size_t)(comma - list.data) : list.len;
        struct slice one = slice_trim(slice_sub(list, 0, end));
        if (one.len && !take_pair(one, pairs, count, max))
            return false;
        list = slice_sub(list, comma ? end + 1 : end, list.len);
    }
    return true;
}

bool otlp_settings_add_headers(struct otlp_settings *s, struct slice list)
{
    return take_pairs(list, s->headers, &s->header_count, OTLP_HEADERS_MAX);
}

void otlp_settings_describe(struct otlp_settings *s,
                            const char *name,
                            const char *value)
{
    if (*value && !find_pair(s->resource, s->resource_count, name))
        (void)set_pair(s->resource, &s->resource_count, OTLP_RESOURCES_MAX,
                       mem_strdup(name), mem_strdup(value));
}

/* --- variables ----------------------------------------------------------- */

struct otlp_reading {
    struct otlp_settings *settings;
    otlp_variable variable;
};

/* The variable of traces, else that of all signals. */
static const char *exporter_variable(const struct otlp_reading *r,
                                     const char *name)
{
    struct buf b = BUF_INIT;
    const char *value;
    buf_printf(&b, "OTEL_EXPORTER_OTLP_TRACES_%s", name);
    value = r->variable(buf_cstr(&b));
    buf_clear(&b);
    buf_printf(&b, "OTEL_EXPORTER_OTLP_%s", name);
    if (!value)
        value = r->variable(buf_cstr(&b));
    buf_close(&b);
    return value;
}

static bool is_url(const char *url)
{
    const char *rest = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : "";
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return false;
    return *rest && *rest != '/';
}

/* Set @url, with the path of traces after it if it is a @base. */
static bool set_url(struct otlp_settings *s, const char *url, bool base)
{
    struct buf b = BUF_INIT;
    if (!is_url(url))
        return false;
    buf_append_str(&b, url);
    if (base)
        buf_append_str(&b, url[strlen(url) - 1] == '/' ? PATH : "/" PATH);
    mem_free(s->url);
    s->url = buf_take(&b);
    return true;
}

bool otlp_settings_set_url(struct otlp_settings *s, const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    if (strcmp(url, "none") == 0) {
        mem_free(s->url);
        s->url = NULL;
        return true;
    }
    return set_url(s, url, !path || path[1] == '\0');
}

static void read_endpoint(const struct otlp_reading *r)
{
    static const char traces[] = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    static const char all[] = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const char *url = r->variable(traces);
    const char *base = r->variable(all);
    if (url && !set_url(r->settings, url, false))
        otlp_settings_warn(r->settings, traces, url);
    if (!url && base && !set_url(r->settings, base, true))
        otlp_settings_warn(r->settings, all, base);
}

static bool is_true(const char *value)
{
    return value && strlen(value) == 4 && (value[0] | 0x20) == 't' &&
           (value[1] | 0x20) == 'r' && (value[2] | 0x20) == 'u' &&
           (value[3] | 0x20) == 'e';
}

/* Variables that keep an endpoint from being used. */
static void read_exporter(const struct otlp_reading *r)
{
    struct otlp_settings *s = r->settings;
    const char *exporter = r->variable("OTEL_TRACES_EXPORTER");
    const char *protocol = exporter_variable(r, "PROTOCOL");
    bool is_off = is_true(r->variable("OTEL_SDK_DISABLED"));
    if (exporter && strcmp(exporter, "otlp") != 0) {
        if (strcmp(exporter, "none") != 0)
            otlp_settings_warn(s, "OTEL_TRACES_EXPORTER", exporter);
        is_off = true;
    }
    if (protocol && strcmp(protocol, "http/protobuf") != 0)
        otlp_settings_warn(
            s, "OTEL_EXPORTER_OTLP_PROTOCOL (it is http/protobuf here)",
            protocol);
    if (is_off) {
        mem_free(s->url);
        s->url = NULL;
    }
}

static uint64_t read_number(const struct otlp_reading *r,
                            const char *name,
                            const char *value,
                            uint64_t otherwise,
                            uint64_t max)
{
    uint64_t n;
    if (!value)
        return otherwise;
    if (text_parse_u64(slice_str(value), &n, NULL) == 0 && n > 0 && n <= max)
        return n;
    otlp_settings_warn(r->settings, name, value);
    return otherwise;
}

static void read_limits(const struct otlp_reading *r)
{
    static const char queue[] = "OTEL_BSP_MAX_QUEUE_SIZE";
    static const char batch[] = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE";
    static const char delay[] = "OTEL_BSP_SCHEDULE_DELAY";
    struct otlp_settings *s = r->settings;
    s->timeout_us = 1000 * read_number(r, "OTEL_EXPORTER_OTLP_TIMEOUT",
                                       exporter_variable(r, "TIMEOUT"),
                                       TIMEOUT_MS, MILLISECONDS_MAX);
    s->delay_us = 1000 * read_number(r, delay, r->variable(delay), DELAY_MS,
                                     MILLISECONDS_MAX);
    s->queue_max = (size_t)read_number(r, queue, r->variable(queue),
                                       QUEUE_SPANS, QUEUE_SPANS_MAX);
    s->batch_max = (size_t)read_number(r, batch, r->variable(batch),
                                       BATCH_SPANS, QUEUE_SPANS_MAX);
    s->batch_max = MIN_OF(s->batch_max, s->queue_max);
}

static void read_compression(const struct otlp_reading *r)
{
    const char *value = exporter_variable(r, "COMPRESSION");
    r->settings->gzip = value && strcmp(value, "gzip") == 0;
    if (value && !r->settings->gzip && strcmp(value, "none") != 0)
        otlp_settings_warn(r->settings, "OTEL_EXPORTER_OTLP_COMPRESSION",
                           value);
}

static char *copy_variable(const char *value)
{
    return value ? mem_strdup(value) : NULL;
}

static void read_connection(const struct otlp_reading *r)
{
    struct otlp_settings *s = r->settings;
    const char *headers = r->variable("OTEL_EXPORTER_OTLP_HEADERS");
    const char *traces = r->variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
    s->authority = copy_variable(exporter_variable(r, "CERTIFICATE"));
    s->certificate = copy_variable(exporter_variable(r, "CLIENT_CERTIFICATE"));
    s->certificate_key = copy_variable(exporter_variable(r, "CLIENT_KEY"));
    /* Their values are secrets. */
    if (headers && !otlp_settings_add_headers(s, slice_str(headers)))
        otlp_settings_warn(s, "OTEL_EXPORTER_OTLP_HEADERS", "…");
    if (traces && !otlp_settings_add_headers(s, slice_str(traces)))
        otlp_settings_warn(s, "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "…");
}

static void read_resource(const struct otlp_reading *r)
{
    struct otlp_settings *s = r->settings;
    const char *list = r->variable("OTEL_RESOURCE_ATTRIBUTES");
    const char *name = r->variable("OTEL_SERVICE_NAME");
    if (name) /* Before that of the list. */
        otlp_settings_describe(s, "service.name", name);
    if (list) {
        struct otlp_pair pairs[OTLP_RESOURCES_MAX];
        size_t count = 0;
        if (!take_pairs(slice_str(list), pairs, &count, ARRAY_LEN(pairs)))
            otlp_settings_warn(s, "OTEL_RESOURCE_ATTRIBUTES", list);
        for (size_t i = 0; i < count; i++) {
            otlp_settings_describe(s, pairs[i].name, pairs[i].value);
            mem_free(pairs[i].name);
            mem_free(pairs[i].value);
        }
    }
}

/* A number from 0 to 1. */
static bool parse_ratio(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0 && *out <= 1;
}

static void read_sampler(const struct otlp_reading *r)
{
    static const char based[] = "parentbased_";
    struct otlp_settings *s = r->settings;
    const char *value = r->variable("OTEL_TRACES_SAMPLER");
    const char *arg = r->variable("OTEL_TRACES_SAMPLER_ARG");
    bool is_based = value && strncmp(value, based, sizeof(based) - 1) == 0;
    const char *kind = is_based ? value + sizeof(based) - 1 : value;
    if (!value)
        return;
    s->sampler = (struct otlp_sampler){
        .is_set = true, .ignores_parent = !is_based, .ratio = 1};
    if (strcmp(kind, "always_on") == 0)
        return;
    if (strcmp(kind, "always_off") == 0) {
        s->sampler.ratio = 0;
    } else if (strcmp(kind, "traceidratio") == 0) {
        if (arg && !parse_ratio(arg, &s->sampler.ratio)) {
            otlp_settings_warn(s, "OTEL_TRACES_SAMPLER_ARG", arg);
            s->sampler.ratio = 1;
        }
    } else {
        otlp_settings_warn(s, "OTEL_TRACES_SAMPLER", value);
        s->sampler.is_set = false;
    }
}

void otlp_settings_read(struct otlp_settings *out, otlp_variable variable)
{
    struct otlp_reading r = {out, variable};
    *out = (struct otlp_settings){.url = NULL};
    read_endpoint(&r);
    read_exporter(&r);
    read_connection(&r);
    read_compression(&r);
    read_limits(&r);
    read_resource(&r);
    read_sampler(&r);
}

static void close_pairs(struct otlp_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(pairs[i].name);
        mem_free(pairs[i].value);
    }
}

void otlp_settings_close(struct otlp_settings *s)
{
    close_pairs(s->headers, s->header_count);
    close_pairs(s->resource, s->resource_count);
    mem_free(s->url);
    mem_free(s->authority);
    mem_free(s->certificate);
    mem_free(s->certificate_key);
    buf_close(&s->warnings);
    *s = (struct otlp_settings){.url = NULL};
}
