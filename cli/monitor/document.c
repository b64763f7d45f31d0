/* Parameters and JSON of documents. Makers state what they need and put
 * fields; missing memory, text that is not UTF-8 and numbers that JSON has
 * not are dealt with here. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/monitor/subject.h"
#include "cli/text_form.h"

/* --- parameters ---------------------------------------------------------- */

const char *monitor_param_value(const struct monitor_param *params,
                                size_t count,
                                const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(params[i].name, name) == 0)
            return params[i].value;
    return NULL;
}

int monitor_param_need(const struct monitor_param *params,
                       size_t count,
                       const char *name,
                       const char **value,
                       struct err *err)
{
    *value = monitor_param_value(params, count, name);
    if (*value && **value)
        return 0;
    return err_set(err, ERR_INVALID, "parameter %s is missing", name);
}

int monitor_param_number(const struct monitor_param *params,
                         size_t count,
                         const char *name,
                         uint64_t min,
                         uint64_t max,
                         uint64_t *out,
                         struct err *err)
{
    const char *text = monitor_param_value(params, count, name);
    uint64_t value;
    PRE(min <= max);
    if (!text)
        return 0;
    if (text_parse_u64(slice_str(text), &value, NULL) || value < min ||
        value > max)
        return err_set(err, ERR_INVALID,
                       "parameter %s=%s is no number from %llu to %llu", name,
                       text, (unsigned long long)min, (unsigned long long)max);
    *out = value;
    return 0;
}

int monitor_param_time(const struct monitor_param *params,
                       size_t count,
                       const char *name,
                       uint64_t now_us,
                       uint64_t *out,
                       struct err *err)
{
    const char *text = monitor_param_value(params, count, name);
    uint64_t value;
    bool before = text && *text == '-';
    if (!text || !*text)
        return 0;
    if (text_parse_u64(slice_str(text + before), &value, NULL) ||
        (before && value > now_us / UINT64_C(1000000)))
        return err_set(err, ERR_INVALID,
                       "parameter %s=%s is neither microseconds since the "
                       "epoch nor, as -3600, seconds before now",
                       name, text);
    *out = before ? now_us - value * UINT64_C(1000000) : value;
    return 0;
}

int monitor_param_limit(const struct monitor_param *params,
                        size_t count,
                        size_t otherwise,
                        size_t *limit,
                        struct err *err)
{
    uint64_t value = otherwise;
    int rc = monitor_param_number(params, count, "limit", 1, MONITOR_ROWS_MAX,
                                  &value, err);
    *limit = (size_t)value;
    return rc;
}

/* --- JSON ---------------------------------------------------------------- */

/* json_object_set_new() fails for want of memory alone, or of a value. */
static void doc_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value))
        PANIC("a document has no memory for %s", name);
}

/* Owned. */
static json_t *text_value(struct slice text)
{
    struct buf clean = BUF_INIT;
    json_t *out;
    if (utf8_valid(text) && !memchr(text.data ? text.data : "", 0, text.len))
        return json_stringn(text.data ? text.data : "", text.len);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        buf_append_byte(&clean, c >= 0x20 && c < 0x7f ? text.data[i] : '?');
    }
    out = json_string(buf_cstr(&clean));
    buf_close(&clean);
    return out;
}

void doc_put_text(json_t *object, const char *name, struct slice text)
{
    doc_set(object, name, text_value(text));
}

void doc_append_text(json_t *array, struct slice text)
{
    if (json_array_append_new(array, text_value(text)))
        PANIC("a document has no memory for a text");
}

void doc_append_str(json_t *array, const char *text)
{
    doc_append_text(array, slice_str(text));
}

void doc_put_str(json_t *object, const char *name, const char *text)
{
    doc_put_text(object, name, slice_str(text));
}

void doc_put_u64(json_t *object, const char *name, uint64_t value)
{
    doc_set(object, name,
            json_integer((json_int_t)MIN_OF(value, (uint64_t)INT64_MAX)));
}

void doc_put_i64(json_t *object, const char *name, int64_t value)
{
    doc_set(object, name, json_integer(value));
}

void doc_put_double(json_t *object, const char *name, double value)
{
    double rounded = round(value * 1000) / 1000;
    if (isnan(value) || isinf(value))
        return;
    if (fabs(rounded) < 1e15 && !(fabs(rounded - trunc(rounded)) > 0))
        doc_set(object, name, json_integer((json_int_t)rounded));
    else
        doc_set(object, name, json_real(isinf(rounded) ? value : rounded));
}

void doc_put_bool(json_t *object, const char *name, bool value)
{
    doc_set(object, name, json_boolean(value));
}

void doc_put_key(json_t *object, const char *name, struct slice key)
{
    struct buf text = BUF_INIT;
    text_put_escaped(&text, key, 0);
    doc_put_text(object, name, buf_slice(&text));
    buf_close(&text);
}

json_t *doc_put_array(json_t *object, const char *name)
{
    doc_set(object, name, json_array());
    return json_object_get(object, name);
}

json_t *doc_put_object(json_t *object, const char *name)
{
    doc_set(object, name, json_object());
    return json_object_get(object, name);
}

json_t *doc_append_object(json_t *array)
{
    json_t *o = json_object();
    if (json_array_append_new(array, o))
        PANIC("a document has no memory for a row");
    return o;
}

void doc_warn(json_t *doc, const char *fmt, ...)
{
    json_t *warnings = json_object_get(doc, "warnings");
    struct buf text = BUF_INIT;
    va_list ap;
    PRE(warnings);
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    doc_append_text(warnings, buf_slice(&text));
    buf_close(&text);
}

void doc_warn_lines(json_t *doc, struct slice lines)
{
    while (lines.len) {
        size_t end = slice_find_byte(lines, '\n');
        doc_append_text(json_object_get(doc, "warnings"),
                        slice_sub(lines, 0, end));
        lines = slice_sub(lines, end + 1, lines.len);
    }
}
