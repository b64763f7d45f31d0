/* A line of a web server's access log. Pure. Inside mapreduce/ingest only.
 *
 *     client ident user [06/Nov/1994:08:49:37 +0100] "GET /a HTTP/1.1" 200 512
 * is Apache's common format; two quoted fields more, referrer and agent, make
 * the combined one, which is nginx's default too. A virtual host may come
 * first.
 */
#ifndef MAPREDUCE_INGEST_LOG_LINE_H
#define MAPREDUCE_INGEST_LOG_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

struct log_line {
    struct slice vhost; /* "" when the line has none. */
    struct slice client;
    struct slice user; /* "" for "-", as everywhere below. */
    int64_t time_us;
    struct slice request; /* Everything between its quotes. */
    struct slice method;
    struct slice path;
    struct slice protocol;
    struct slice status;
    struct slice bytes;
    struct slice referer; /* Still escaped. */
    struct slice agent;
};

/* False when @line is not of that form. Slices are borrowed from @line. */
bool log_line_parse(struct slice line, struct log_line *out);

#endif /* MAPREDUCE_INGEST_LOG_LINE_H */
