/* Headers are secrets as a rule (tokens of the receiver), so that the
 * configuration names a file of them instead of having them. */
#define _XOPEN_SOURCE 700

#include "cli/trace_export.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "cli/cli.h"
#include "cli/remote_call.h"

#define HOST_NAME_BYTES 256

/* "name: value" a line, as "name=value" with %-codes. */
static bool
add_header_line(struct otlp_settings *s, struct slice line, struct buf *one)
{
    const char *colon = memchr(line.data, ':', line.len);
    size_t at = colon ? (size_t)(colon - line.data) : line.len;
    struct slice value = slice_trim(slice_sub(line, at + 1, line.len));
    buf_clear(one);
    buf_append_slice(one, slice_trim(slice_sub(line, 0, at)));
    buf_append_byte(one, '=');
    for (size_t i = 0; i < value.len; i++)
        buf_printf(one, "%%%02x", (unsigned char)value.data[i]);
    return colon && otlp_settings_add_headers(s, buf_slice(one));
}

static int
add_headers(struct otlp_settings *s, const char *path, struct err *err)
{
    struct buf text = BUF_INIT;
    struct buf one = BUF_INIT;
    int rc = cli_read_file(path, &text, err);
    struct slice rest = buf_slice(&text);
    for (unsigned number = 1; rc == 0 && rest.len; number++) {
        const char *end = memchr(rest.data, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.data) : rest.len;
        struct slice line = slice_trim(slice_sub(rest, 0, len));
        rest = slice_sub(rest, len + 1, rest.len);
        if (line.len && line.data[0] != '#' && !add_header_line(s, line, &one))
            rc = err_set(err, ERR_INVALID,
                         "%s:%u: no header: \"name: value\" is one", path,
                         number);
    }
    buf_close(&one);
    buf_close(&text);
    return rc;
}

static int apply_options(struct otlp_settings *s,
                         const struct trace_export_options *o,
                         struct err *err)
{
    if (*o->url && !otlp_settings_set_url(s, o->url))
        return err_set(err, ERR_INVALID,
                       "trace-export \"%s\": a URL, as "
                       "http://collector:4318; none: nowhere",
                       o->url);
    if (*o->authority) {
        mem_free(s->authority);
        s->authority = mem_strdup(o->authority);
    }
    return *o->headers_file ? add_headers(s, o->headers_file, err) : 0;
}

static void describe_process(struct otlp_settings *s,
                             const struct trace_export_options *o)
{
    char host[HOST_NAME_BYTES] = "";
    char pid[32];
    (void)gethostname(host, sizeof(host) - 1);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    otlp_settings_describe(s, "service.name", "quarry");
    otlp_settings_describe(s, "service.version", QUARRY_VERSION);
    otlp_settings_describe(s, "service.namespace", o->cluster);
    otlp_settings_describe(s, "service.instance.id", o->node);
    otlp_settings_describe(s, "host.name", host);
    otlp_settings_describe(s, "process.pid", pid);
    otlp_settings_describe(s, "telemetry.sdk.name", "quarry");
    otlp_settings_describe(s, "telemetry.sdk.language", "c");
    otlp_settings_describe(s, "telemetry.sdk.version", QUARRY_VERSION);
}

static void log_warnings(struct world *w, const struct buf *warnings)
{
    struct slice rest = buf_slice(warnings);
    while (rest.len) {
        const char *end = memchr(rest.data, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.data) : rest.len;
        log_warn(w, "trace", "environment: %.*s", (int)len, rest.data);
        rest = slice_sub(rest, len + 1, rest.len);
    }
}

int trace_export_open(struct world *w,
                      struct tracer *t,
                      const struct trace_export_options *o,
                      struct otlp_exporter **out,
                      struct otlp_sampler *sampler,
                      struct err *err)
{
    struct otlp_settings s;
    int rc;
    *out = NULL;
    otlp_settings_read(&s, remote_variable);
    rc = apply_options(&s, o, err);
    *sampler = s.sampler;
    if (rc == 0 && *o->node)
        log_warnings(w, &s.warnings);
    if (rc == 0 && s.url) {
        describe_process(&s, o);
        if (*o->node)
            log_info(w, "trace", "spans are exported url=%s", s.url);
        rc = otlp_exporter_open(w, t, &s, out, err);
    }
    otlp_settings_close(&s);
    return rc;
}
