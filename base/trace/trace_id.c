/* Names of traces as text. A traceparent comes from outside: one that is not
 * exactly of its form is none, so that a malformed one begins a trace of its
 * own instead of joining another by chance. */
#include "base/trace/trace_id.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/hex.h"

/* Where the fields of a traceparent are. */
enum {
    PARENT_AT_TRACE = 3,
    PARENT_AT_SPAN = 36,
    PARENT_AT_FLAGS = 53,
    PARENT_BYTES = 55,
};

#define VERSION_INVALID 0xff
#define FLAG_SAMPLED    1

void trace_id_print(struct trace_id id, char out[TRACE_ID_TEXT_BYTES])
{
    snprintf(out, TRACE_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high,
             id.low);
}

/* @count digits at @text; false: some are none, or upper-case where that is
 * not allowed. */
static bool
parse_digits(const char *text, size_t count, bool upper, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        int value = hex_value(text[i]);
        if (value < 0 || (!upper && text[i] >= 'A' && text[i] <= 'F'))
            return false;
        *out = *out << 4 | (uint64_t)value;
    }
    return true;
}

bool trace_id_parse(struct slice text, struct trace_id *out)
{
    struct trace_id id;
    if (text.len != TRACE_ID_TEXT_BYTES - 1 ||
        !parse_digits(text.data, 16, true, &id.high) ||
        !parse_digits(text.data + 16, 16, true, &id.low) ||
        !trace_id_is_set(id))
        return false;
    *out = id;
    return true;
}

static bool has_dashes(const char *text)
{
    return text[PARENT_AT_TRACE - 1] == '-' &&
           text[PARENT_AT_SPAN - 1] == '-' && text[PARENT_AT_FLAGS - 1] == '-';
}

bool traceparent_parse(struct slice text, struct traceparent *out)
{
    struct traceparent p;
    uint64_t version;
    uint64_t flags;
    if (text.len < PARENT_BYTES || !has_dashes(text.data) ||
        !parse_digits(text.data, 2, false, &version) ||
        version == VERSION_INVALID)
        return false;
    if (text.len > PARENT_BYTES &&
        (version == 0 || text.data[PARENT_BYTES] != '-'))
        return false;
    if (!parse_digits(text.data + PARENT_AT_TRACE, 16, false, &p.trace.high) ||
        !parse_digits(text.data + PARENT_AT_TRACE + 16, 16, false,
                      &p.trace.low) ||
        !parse_digits(text.data + PARENT_AT_SPAN, 16, false, &p.span_id) ||
        !parse_digits(text.data + PARENT_AT_FLAGS, 2, false, &flags))
        return false;
    if (!trace_id_is_set(p.trace) || p.span_id == 0)
        return false;
    p.sampled = (flags & FLAG_SAMPLED) != 0;
    *out = p;
    return true;
}

void traceparent_print(const struct traceparent *p,
                       char out[TRACEPARENT_TEXT_BYTES])
{
    snprintf(out, TRACEPARENT_TEXT_BYTES,
             "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-%02x",
             p->trace.high, p->trace.low, p->span_id, p->sampled ? 1 : 0);
}
