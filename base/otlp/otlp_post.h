/* A connection to a receiver of spans: requests by HTTP or HTTPS, one after the
 * other, by libcurl, which the program loads when somebody wants to export (it
 * brings twenty libraries along, and nothing else needs it).
 *
 * Threads: one at a time. Requests block the thread, so that it is one of its
 * own.
 */
#ifndef BASE_OTLP_OTLP_POST_H
#define BASE_OTLP_OTLP_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct otlp_post;
struct otlp_settings;

/* Of an answer, more is not read. */
#define OTLP_ANSWER_BYTES_MAX ((size_t)64 << 10)

struct otlp_answer {
    long status;             /* Of HTTP. */
    uint64_t retry_after_us; /* 0: it does not say. */
    struct buf body;
};

/* Ready for requests to @s->url. @s is borrowed for its life. Owned. Errors:
 * ERR_UNSUPPORTED (no libcurl, at build or now; @err says what to do). */
MUST_CHECK int otlp_post_open(const struct otlp_settings *s,
                              struct otlp_post **out,
                              struct err *err);
void otlp_post_close(struct otlp_post *p); /* NULL is allowed. */

/* Send @body, and wait at most @timeout_us for the answer, less when
 * @stop(@ctx) says so. @out->body is cleared first. Errors: ERR_UNAVAILABLE (no
 * answer). */
MUST_CHECK int otlp_post_send(struct otlp_post *p,
                              struct slice body,
                              uint64_t timeout_us,
                              bool (*stop)(void *ctx),
                              void *ctx,
                              struct otlp_answer *out,
                              struct err *err);

#endif /* BASE_OTLP_OTLP_POST_H */
