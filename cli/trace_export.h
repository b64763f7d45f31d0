/* Export of spans by OpenTelemetry's protocol, of servers and commands: joins
 * settings of the configuration, the environment and what the process knows of
 * itself. */
#ifndef CLI_TRACE_EXPORT_H
#define CLI_TRACE_EXPORT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/otlp/otlp_exporter.h"
#include "base/otlp/otlp_settings.h"

/* Texts are borrowed; "": none. */
struct trace_export_options {
    const char *url;          /* Before the environment's; "none": nowhere. */
    const char *headers_file; /* With a header a line, "name: value". */
    const char *authority;    /* Of certificates that sign the receiver's. */
    const char *cluster;
    const char *node; /* Its name; "" of a command. */
};

/* Export what @t keeps, if @o or the environment says where to; else *@out is
 * NULL. *@sampler is the environment's. Warnings of the environment are logged
 * (of a server), or ignored. Parks. Errors: ERR_INVALID (a setting of @o),
 * ERR_UNSUPPORTED (no libcurl), and those of reading the file. */
MUST_CHECK int trace_export_open(struct world *w,
                                 struct tracer *t,
                                 const struct trace_export_options *o,
                                 struct otlp_exporter **out,
                                 struct otlp_sampler *sampler,
                                 struct err *err);

#endif /* CLI_TRACE_EXPORT_H */
