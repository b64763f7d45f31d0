/* Spans of the running work: who called what, for how long, with which outcome.
 *
 *     struct span s;
 *     span_begin(&s, "log sync");
 *     rc = sync(…);                    what it calls becomes a child of it
 *     span_number(&s, "bytes", bytes);
 *     span_end(&s, rc);
 *
 * The innermost span is the running fiber's context (fiber.h), and the thread's
 * while it works for a fiber that waits. Where nothing is traced, span_begin()
 * and span_end() do nothing.
 *
 * The rule of what is kept
 *     - All spans of a sampled trace. Whether it is sampled is decided where it
 *       begins, one in trace_settings.one_in, or by the traceparent that the
 *       caller gave, and travels with the calls.
 *     - Of other traces, calls that were slow: at least slow_us at the process
 *       where the trace began or came from outside of the cluster, a tenth of
 *       that where the call is a part of another. With them their parts in the
 *       same process that took at least a hundredth of slow_us, which were
 *       collected meanwhile. A server keeps by its own clock, so that of a slow
 *       call those servers have spans where a tenth of the time was spent.
 *     - Parts that may outlive their call (trace_copy_context()), by
 *       themselves, from a tenth of slow_us.
 *     - Calls that wait for an event by their nature are never slow.
 *
 * Threads: a span belongs to one fiber or thread at a time. Several may work
 * below one span at once.
 */
#ifndef BASE_TRACE_SPAN_H
#define BASE_TRACE_SPAN_H

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "base/trace/span_record.h"

struct tracer;
struct world;

/* Parts of a call that are collected until it ends. */
struct span_parts {
    struct mutex mutex; /* Threads may work for one call side by side. */
    struct buf spans;   /* Encoded. */
    unsigned count;
    unsigned left_out;
};

/* The place of the running work in a trace. */
struct trace_context {
    struct trace_id trace;
    uint64_t span_id; /* 0: its caller recorded none. */
    bool sampled;
    bool is_span;             /* It is the first member of a struct span. */
    struct tracer *tracer;    /* NULL: ids travel, nothing is recorded. */
    struct span_parts *parts; /* NULL: nothing is collected. Borrowed. */
};

#define SPAN_ROOM_BYTES 160

struct span {
    struct trace_context self; /* Without a tracer: it is not recorded. */
    struct trace_context *outer;
    bool is_current; /* It is the context, until it ends. */
    bool owns_parts;
    uint8_t flags;
    enum span_kind kind;
    uint64_t parent;
    uint64_t start_ns;
    uint64_t limit_ns; /* It is kept if it takes as long. */
    const char *name;  /* Both borrowed until it ends. */
    const char *peer;
    struct span_parts own; /* If it owns them. */
    unsigned attribute_count;
    unsigned room_used;
    struct span_attribute attributes[SPAN_ATTRIBUTES_MAX];
    char room[SPAN_ROOM_BYTES]; /* Texts of attributes. */
};

/* The innermost span that is recorded; NULL: none. Borrowed until it ends. */
struct span *span_here(void);

/* Begin a part of the running work. @name is a literal. */
void span_begin(struct span *s, const char *name);
/* Begin a call to be made to @peer (borrowed until it ends), or an other part
 * that does not become the context: *@s is then to be sent. Without a context
 * it begins a trace. @now_ns: monotonic; 0: it is read if it is needed. */
void span_begin_call(struct span *s,
                     struct world *w,
                     const char *name,
                     const char *peer,
                     uint64_t now_ns);
/* Begin what came from outside of this process, as its context: a call to be
 * handled, a request, a job. @caller: the context that it came with (its
 * tracer and parts do not count); without a trace id one is made. @now_ns as
 * above. */
void span_begin_root(struct span *s,
                     struct world *w,
                     enum span_kind kind,
                     const char *name,
                     const struct trace_context *caller,
                     uint64_t now_ns);
/* End it, with the outcome @status, and keep it if that is due. */
void span_end(struct span *s, int status);

/* A part that was measured otherwise: it ends now and began at monotonic
 * @start_ns. */
void span_note(const char *name, uint64_t start_ns, int status);

/* Give @s (NULL: nothing happens) an attribute; beyond SPAN_ATTRIBUTES_MAX none
 * are added. @key is a literal. */
void span_add_number(struct span *s, const char *key, int64_t value);
void span_add_text(struct span *s, const char *key, struct slice text);

/* For span_end_at(). */
void span_end_begun(struct span *s, uint64_t end_ns, int status);

static inline bool span_is_recorded(const struct span *s)
{
    return s && s->self.tracer;
}

/* True if it will be kept when it ends at @end_ns. Attributes that are known
 * only at the end are for such spans alone. */
static inline bool span_is_due(const struct span *s, uint64_t end_ns)
{
    return span_is_recorded(s) && end_ns - s->start_ns >= s->limit_ns;
}

/* As span_end(), at monotonic @end_ns, which the caller knows. */
static inline void span_end_at(struct span *s, uint64_t end_ns, int status)
{
    if (s->is_current || s->self.tracer)
        span_end_begun(s, end_ns, status);
}

/* @s waits for an event by its nature: it is never slow. */
void span_set_waits(struct span *s);

static inline void span_number(struct span *s, const char *key, int64_t value)
{
    if (span_is_recorded(s))
        span_add_number(s, key, value);
}

/* @text is copied, cut where there is no room. */
static inline void span_text(struct span *s, const char *key, struct slice text)
{
    if (span_is_recorded(s))
        span_add_text(s, key, text);
}

/* Monotonic ns if @s is recorded, else 0; and the µs since then, added to the
 * attribute @key. */
uint64_t span_clock(const struct span *s);
void span_elapsed(struct span *s, const char *key, uint64_t since_ns);

/* A copy of the running context for work that may outlive it: *@out has the ids
 * and the decision, and collects nothing. Without one it has no trace id. */
void trace_copy_context(struct trace_context *out);
/* Make @c (borrowed until the fiber ends, or sets another) the running fiber's
 * context, if it has a trace id. */
void trace_use_context(struct trace_context *c);

/* The 32 digits of the running work's trace; 0 if there is none: their number
 * otherwise. For logger_set_request(). */
size_t trace_request_text(char *out);

#endif /* BASE_TRACE_SPAN_H */
