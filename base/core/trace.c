/* A ring of fixed lines: adding never allocates, so that a trace can stay on
 * in every simulation, and a failure prints the newest lines. The hash
 * covers the lines that were overwritten too. */
#include "base/core/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"

struct trace_line {
    uint64_t time_us;
    char text[TRACE_LINE_BYTES];
};

void trace_init(struct trace *t, size_t cap)
{
    PRE(cap <= SIZE_MAX / sizeof(*t->lines));
    *t = (struct trace){.cap = cap};
    if (cap)
        t->lines = mem_zalloc(cap, sizeof(*t->lines));
}

void trace_close(struct trace *t)
{
    mem_free(t->lines);
    *t = (struct trace){.cap = 0};
}

void trace_add(struct trace *t, uint64_t time_us, const char *fmt, ...)
{
    struct trace_line line = {.time_us = time_us};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line.text, sizeof(line.text), fmt, ap);
    va_end(ap);
    if (t->cap)
        t->lines[t->count % t->cap] = line;
    t->count++;
    t->hash = hash64(line.text, strlen(line.text), t->hash ^ time_us);
}

void trace_print(const struct trace *t, size_t max, struct buf *out)
{
    uint64_t kept = MIN_OF(t->count, (uint64_t)MIN_OF(max, t->cap));
    for (uint64_t i = t->count - kept; i < t->count; i++) {
        const struct trace_line *line = &t->lines[i % t->cap];
        buf_printf(out, "[%6llu.%06llu] %s\n",
                   (unsigned long long)(line->time_us / 1000000),
                   (unsigned long long)(line->time_us % 1000000), line->text);
    }
}
