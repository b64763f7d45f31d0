/* The latest events: a ring of short lines with a time each.
 *
 * Old lines are overwritten; the hash covers all that were ever added, so that
 * two runs can be compared. One thread.
 */
#ifndef BASE_CORE_TRACE_H
#define BASE_CORE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"

struct buf;
struct trace_line;

struct trace {
    struct trace_line *lines; /* Owned; a ring. */
    size_t cap;               /* Lines the ring holds. */
    uint64_t count;           /* Lines ever added. */
    uint64_t hash;            /* Of all of them, in order. */
};

/* Keep the newest @cap lines; 0 keeps none and still counts and hashes. */
void trace_init(struct trace *t, size_t cap);
void trace_close(struct trace *t);
/* Add a line; it is cut at TRACE_LINE_BYTES. */
void trace_add(struct trace *t, uint64_t time_us, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Append the newest @max lines, oldest first: "[seconds.µs] text". */
void trace_print(const struct trace *t, size_t max, struct buf *out);

#define TRACE_LINE_BYTES 104

#endif /* BASE_CORE_TRACE_H */
