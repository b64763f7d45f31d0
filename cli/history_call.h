/* The call SERVER_HISTORY: what a process remembers of its metrics
 * (base/metrics/metric_history.h), for a monitor that shows it beside that of
 * other nodes. The one who asks chooses the points, so that all nodes answer
 * for the same times.
 *
 *     request   [names, from_us, step_us, count]     names with commas; "": all
 *     reply     [now_us, [[name, points], …]]        points: 32-bit floats,
 *                                                    little-endian; NAN: a gap
 *
 * A node leaves out series of which it has no value in the span.
 *
 * Threads: any.
 */
#ifndef CLI_HISTORY_CALL_H
#define CLI_HISTORY_CALL_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/metrics/metric_history.h"

/* Points of one series, and of all series of an answer. */
#define HISTORY_POINTS_MAX       1441
#define HISTORY_REPLY_POINTS_MAX 90000 /* Of four bytes: less than 360 kB. */

struct history_request {
    bool wanted[HISTORY_COUNT];
    struct history_span span;
};

/* A series of an answer; points borrowed from it. */
struct history_points {
    enum history_id id;
    struct slice bytes; /* history_point() */
};

/* Want the series in @names, separated by commas; "": all. ERR_NOTFOUND. */
MUST_CHECK int history_request_want(struct history_request *r,
                                    struct slice names,
                                    struct err *err);
void history_request_put(const struct history_request *r, struct buf *out);
/* Errors: ERR_CORRUPT; ERR_INVALID (the span); ERR_TOOBIG (too many points);
 * ERR_NOTFOUND (a series). */
MUST_CHECK int history_request_get(struct slice body,
                                   struct history_request *r,
                                   struct err *err);
/* Answer @r from @h. */
void history_reply_put(const struct metric_history *h,
                       const struct history_request *r,
                       uint64_t now_us,
                       struct buf *out);
/* The series of the answer to @r, of at most HISTORY_COUNT; those that this
 * program does not know are skipped. ERR_CORRUPT. */
MUST_CHECK int history_reply_get(struct slice body,
                                 const struct history_request *r,
                                 struct history_points *out,
                                 size_t *count,
                                 struct err *err);
/* Point @index of them; NAN: a gap. PRE: the span has it. */
float history_point(const struct history_points *p, size_t index);

#endif /* CLI_HISTORY_CALL_H */
