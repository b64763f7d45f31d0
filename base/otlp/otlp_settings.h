/* Where spans are exported to, and how: OpenTelemetry's environment variables
 * (its specification "OpenTelemetry Environment Variable Specification" and
 * "OpenTelemetry Protocol Exporter"), under settings of the program, which come
 * first.
 *
 * Nothing is exported unless an endpoint is named. Of a variable that cannot be
 * read a warning is noted, and it counts as unset, as the specification asks.
 *
 * Pure, but for `variable`. Threads: none of its own.
 */
#ifndef BASE_OTLP_OTLP_SETTINGS_H
#define BASE_OTLP_OTLP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define OTLP_RESOURCES_MAX 64
#define OTLP_HEADERS_MAX   32

struct otlp_pair {
    char *name; /* Both owned. */
    char *value;
};

/* Which traces that begin here are sampled. */
struct otlp_sampler {
    bool is_set;
    bool ignores_parent; /* Not even a caller's decision counts. */
    double ratio;        /* Of all traces: 0 to 1. */
};

/* Texts are owned. */
struct otlp_settings {
    char *url; /* NULL: nothing is exported. */
    struct otlp_pair headers[OTLP_HEADERS_MAX];
    size_t header_count;
    char *authority;       /* File of certificates to trust; NULL: the */
    char *certificate;     /* system's. NULL: no certificate of ours. */
    char *certificate_key; /* NULL: it is in the same file. */
    bool gzip;
    uint64_t timeout_us; /* Of one request. */
    uint64_t delay_us;   /* A span waits as long for others. */
    size_t queue_max;    /* Spans that wait. */
    size_t batch_max;    /* Spans of one request. */
    struct otlp_pair resource[OTLP_RESOURCES_MAX];
    size_t resource_count;
    struct otlp_sampler sampler;
    struct buf warnings; /* Sentences, a line each. */
};

/* The value of an environment variable; NULL: unset or empty. Borrowed. */
typedef const char *(*otlp_variable)(const char *name);

/* Read the environment. The caller closes *@out. */
void otlp_settings_read(struct otlp_settings *out, otlp_variable variable);
void otlp_settings_close(struct otlp_settings *s);

/* Export to @url, whatever the environment says: a base, to which "v1/traces"
 * is added if it has no path; "none": nowhere. False: it is no URL of HTTP, and
 * nothing has changed. */
bool otlp_settings_set_url(struct otlp_settings *s, const char *url);
/* Add headers, "name=value,name=value" with %-codes, or replace those of the
 * same names. False: @list is malformed; headers before that count. */
bool otlp_settings_add_headers(struct otlp_settings *s, struct slice list);
/* An attribute of all spans of the process, unless it is set. */
void otlp_settings_describe(struct otlp_settings *s,
                            const char *name,
                            const char *value);

#endif /* BASE_OTLP_OTLP_SETTINGS_H */
