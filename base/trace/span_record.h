/* A span that has ended, and its bytes: how it is kept in memory, sent between
 * processes and given to exporters.
 *
 *     span       = bytes(u32, of what follows) version kind status(i32)
 *                  trace(2 × u64) id(u64) parent(u64) start_us(u64)
 *                  duration_us(u64) flags name peer count { attribute }
 *     attribute  = key 0 i64 | key 1 text
 *     name, peer, key, text = u8 length, bytes
 *
 * Integers are little-endian. Reading trusts nothing: bytes come from other
 * processes. Pure. Threads: any.
 */
#ifndef BASE_TRACE_SPAN_RECORD_H
#define BASE_TRACE_SPAN_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/trace/trace_id.h"

struct buf;

#define SPAN_ATTRIBUTES_MAX 12
#define SPAN_TEXT_BYTES_MAX 255
/* Of a beginning and a duration: the sums of as many as there are processes fit
 * into 64 bits. */
#define SPAN_TIME_US_MAX (UINT64_C(1) << 52)
/* Of an encoded span. */
#define SPAN_BYTES_MAX ((size_t)8192)

enum span_kind {
    SPAN_INTERNAL,
    SPAN_SERVER, /* A call that was handled, */
    SPAN_CLIENT, /* and one that was made. */
};

#define SPAN_KIND_COUNT 3

enum span_flags {
    SPAN_SAMPLED = 1, /* Kept because its trace is sampled, */
    SPAN_SLOW = 2,    /* or because it, or what it is a part of, was slow. */
    SPAN_WAITS = 4,   /* A call that waits for an event by its nature. */
};

struct span_attribute {
    const char *key; /* Not terminated when it was read. */
    uint8_t key_bytes;
    bool is_text;
    int64_t number;
    struct slice text;
};

/* Slices are borrowed. */
struct span_record {
    struct trace_id trace;
    uint64_t id;
    uint64_t parent; /* 0: it is the root. */
    enum span_kind kind;
    uint8_t flags;
    int32_t status;    /* 0 or ERR_*. */
    uint64_t start_us; /* Since the epoch, by the clock of its process. */
    uint64_t duration_us;
    struct slice name;
    struct slice peer; /* "": none. */
    unsigned attribute_count;
    struct span_attribute attributes[SPAN_ATTRIBUTES_MAX];
};

/* "internal", "server" or "client". */
const char *span_kind_name(enum span_kind kind);

/* Append @r; texts are cut at SPAN_TEXT_BYTES_MAX. PRE: at most
 * SPAN_ATTRIBUTES_MAX attributes. */
void span_record_put(const struct span_record *r, struct buf *out);
/* Read the span at the front of *@in, whose slices point into it, and move
 * *@in past it. Errors: ERR_CORRUPT. PRE: *@in is not empty. */
MUST_CHECK int
span_record_get(struct slice *in, struct span_record *out, struct err *err);

#endif /* BASE_TRACE_SPAN_RECORD_H */
