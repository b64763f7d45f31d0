/* A reader of JSON that keeps only the path's last name, on an explicit stack:
 * the text comes from unauthenticated peers. */
#include "mapreduce/warc/json_query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hex.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* Longer numbers are none that a double tells apart. */
#define NUMBER_BYTES_MAX 400

struct json_level {
    bool is_object;
    size_t name; /* Where the name of its values begins in `names`. */
    size_t name_len;
};

struct json_query {
    struct slice json;
    size_t at;
    size_t bytes_max;
    struct buf *out;
    size_t began;       /* out->len at the beginning. */
    struct buf names;   /* Of the levels that are open, in order. */
    struct buf text;    /* Of the value at hand. */
    struct buf escaped; /* Of the name at hand, for the form. */
    struct json_level levels[JSON_QUERY_DEPTH_MAX];
    size_t depth;
};

void json_query_escape(struct slice s, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c >= '0' && c <= '9') || (c && strchr("_.-~", c)))
            buf_append_byte(out, (char)c);
        else if (c == ' ')
            buf_append_byte(out, '+');
        else
            buf_printf(out, "%%%02X", c);
    }
}

/* --- fields -------------------------------------------------------------- */

/* How often the field @name is in @form. */
static size_t count_fields(struct slice form, struct slice name)
{
    size_t count = 0;
    while (form.len) {
        size_t n = slice_find_byte(form, '&');
        struct slice field = slice_sub(form, 0, n);
        count +=
            slice_eq(slice_sub(field, 0, slice_find_byte(field, '=')), name);
        form = slice_sub(form, n + 1, form.len);
    }
    return count;
}

/* "name", or for a later one "name.2_" */
static void put_name(struct json_query *q, struct slice name)
{
    struct slice form =
        slice_make(q->out->data + q->began, q->out->len - q->began);
    buf_clear(&q->escaped);
    json_query_escape(name, &q->escaped);
    if (count_fields(form, buf_slice(&q->escaped))) {
        size_t base = q->escaped.len;
        size_t n = 1;
        do {
            q->escaped.len = base;
            buf_printf(&q->escaped, ".%zu_", ++n);
        } while (count_fields(form, buf_slice(&q->escaped)));
    }
    if (form.len)
        buf_append_byte(q->out, '&');
    buf_append_slice(q->out, buf_slice(&q->escaped));
}

/* Add the value of the innermost name, if there is one and room for it. */
static void put_field(struct json_query *q, struct slice value)
{
    const struct json_level *l = q->depth ? &q->levels[q->depth - 1] : NULL;
    if (!l || l->name_len == 0 || q->out->len - q->began >= q->bytes_max)
        return;
    put_name(q, slice_make(q->names.data + l->name, l->name_len));
    buf_append_byte(q->out, '=');
    json_query_escape(value, q->out);
}

/* --- tokens -------------------------------------------------------------- */

static char byte_at(const struct json_query *q, size_t at)
{
    return at < q->json.len ? q->json.data[at] : '\0';
}

static void skip_blanks(struct json_query *q)
{
    while (q->at < q->json.len && strchr(" \t\r\n", byte_at(q, q->at)) &&
           byte_at(q, q->at))
        q->at++;
}

static bool take_byte(struct json_query *q, char c)
{
    skip_blanks(q);
    if (q->at == q->json.len || byte_at(q, q->at) != c)
        return false;
    q->at++;
    return true;
}

/* The four digits at q->at, or -1. */
static int take_hex(struct json_query *q)
{
    int code = 0;
    for (int i = 0; i < 4; i++, q->at++) {
        int digit = hex_value(byte_at(q, q->at));
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Behind "\u". A half of a pair alone is no character of UTF-8. */
static bool take_code(struct json_query *q, struct buf *out)
{
    char bytes[4];
    int code = take_hex(q);
    if (code >= 0xd800 && code < 0xdc00 && byte_at(q, q->at) == '\\' &&
        byte_at(q, q->at + 1) == 'u') {
        int low;
        q->at += 2;
        low = take_hex(q);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0 || (code >= 0xd800 && code < 0xe000))
        return false;
    buf_append(out, bytes, utf8_encode(bytes, (uint32_t)code));
    return true;
}

static bool take_escape(struct json_query *q, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = byte_at(q, q->at++);
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return take_code(q, out);
    if (!found)
        return false;
    buf_append_byte(out, to[found - from]);
    return true;
}

/* Behind the opening quote; append the text to @out. */
static bool take_string(struct json_query *q, struct buf *out)
{
    while (q->at < q->json.len) {
        char c = q->json.data[q->at++];
        if (c == '"')
            return true;
        if (c == '\\') {
            if (!take_escape(q, out))
                return false;
        } else if ((unsigned char)c < 0x20) {
            return false;
        } else {
            buf_append_byte(out, c);
        }
    }
    return false;
}

/* A number that is none of whole ones, as Python writes it: without a fraction
 * if it has none, else with the fewest digits that mean the same. */
static bool put_real(struct slice digits, struct buf *out)
{
    char text[NUMBER_BYTES_MAX + 1];
    char shown[512];
    double value;
    memcpy(text, digits.data, digits.len);
    text[digits.len] = '\0';
    value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    for (int precision = 1; precision <= 17; precision++) {
        double again;
        snprintf(shown, sizeof(shown), "%.*g", precision, value);
        again = strtod(shown, NULL);
        if (memcmp(&again, &value, sizeof(value)) == 0)
            break;
    }
    if (floor(value) >= value)
        snprintf(shown, sizeof(shown), "%.0f", value);
    buf_append_str(out, strcmp(shown, "-0") == 0 ? "0" : shown);
    return true;
}

static size_t count_digits(const struct json_query *q, size_t at)
{
    size_t n = 0;
    while (byte_at(q, at + n) >= '0' && byte_at(q, at + n) <= '9')
        n++;
    return n;
}

/* -? digits [. digits] [e digits] */
static bool take_number(struct json_query *q, struct buf *out)
{
    size_t from = q->at;
    size_t n;
    bool is_real = false;
    struct slice digits;
    q->at += byte_at(q, q->at) == '-';
    n = count_digits(q, q->at);
    if (n == 0 || (n > 1 && byte_at(q, q->at) == '0'))
        return false;
    q->at += n;
    if (byte_at(q, q->at) == '.') {
        n = count_digits(q, q->at + 1);
        is_real = true;
        q->at += n + 1;
        if (n == 0)
            return false;
    }
    if ((byte_at(q, q->at) | 0x20) == 'e') {
        q->at++;
        q->at += byte_at(q, q->at) == '-' || byte_at(q, q->at) == '+';
        n = count_digits(q, q->at);
        is_real = true;
        q->at += n;
        if (n == 0)
            return false;
    }
    digits = slice_sub(q->json, from, q->at);
    if (digits.len > NUMBER_BYTES_MAX)
        return false;
    if (is_real)
        return put_real(digits, out);
    buf_append_slice(out, slice_eq_str(digits, "-0") ? SLICE_LIT("0") : digits);
    return true;
}

/* true, false, null: their names are their texts. */
static bool take_word(struct json_query *q, struct buf *out)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct slice word = slice_str(words[i]);
        if (slice_starts_with(slice_sub(q->json, q->at, q->json.len), word)) {
            q->at += word.len;
            buf_append_slice(out, word);
            return true;
        }
    }
    return false;
}

/* --- values -------------------------------------------------------------- */

/* Open an array or object; what is in an array has the name around it. */
static bool push_level(struct json_query *q, bool is_object)
{
    const struct json_level *outer = q->depth ? &q->levels[q->depth - 1] : NULL;
    if (q->depth == JSON_QUERY_DEPTH_MAX)
        return false;
    q->levels[q->depth] = outer ? *outer : (struct json_level){.name_len = 0};
    q->levels[q->depth++].is_object = is_object;
    return true;
}

/* "name": of the next value. */
static bool take_name(struct json_query *q)
{
    struct json_level *l = &q->levels[q->depth - 1];
    size_t outer = 0;
    if (!take_byte(q, '"'))
        return false;
    /* Names of outer levels are kept, those of values before in this one not.
     */
    if (q->depth > 1) {
        const struct json_level *o = &q->levels[q->depth - 2];
        outer = o->name + o->name_len;
    }
    q->names.len = MIN_OF(outer, q->names.len);
    l->name = q->names.len;
    if (!take_string(q, &q->names) || !take_byte(q, ':'))
        return false;
    l->name_len = q->names.len - l->name;
    return true;
}

static bool take_scalar(struct json_query *q)
{
    bool ok;
    buf_clear(&q->text);
    if (take_byte(q, '"'))
        ok = take_string(q, &q->text);
    else if (byte_at(q, q->at) == '-' || count_digits(q, q->at))
        ok = take_number(q, &q->text);
    else
        ok = take_word(q, &q->text);
    if (ok)
        put_field(q, buf_slice(&q->text));
    return ok;
}

/* A value from its first byte on; of an array or object, to the first value in
 * it. *@is_whole: it ended. */
static bool begin_value(struct json_query *q, bool *is_whole)
{
    bool is_object;
    *is_whole = true;
    skip_blanks(q);
    is_object = byte_at(q, q->at) == '{';
    if (!is_object && byte_at(q, q->at) != '[')
        return take_scalar(q);
    q->at++;
    if (!push_level(q, is_object))
        return false;
    if (take_byte(q, is_object ? '}' : ']')) {
        q->depth--;
        return true;
    }
    *is_whole = false;
    return !is_object || take_name(q);
}

/* Behind a value: the next one of its level, or the ends of levels. */
static bool end_value(struct json_query *q)
{
    while (q->depth) {
        bool is_object = q->levels[q->depth - 1].is_object;
        if (take_byte(q, ','))
            return !is_object || take_name(q);
        if (!take_byte(q, is_object ? '}' : ']'))
            return false;
        q->depth--;
    }
    return true;
}

static bool read_json(struct json_query *q)
{
    bool is_whole;
    do {
        if (!begin_value(q, &is_whole) || (is_whole && !end_value(q)))
            return false;
    } while (q->depth);
    skip_blanks(q);
    return q->at == q->json.len;
}

bool json_query_put(struct slice json, size_t bytes_max, struct buf *out)
{
    struct json_query *q = mem_zalloc(1, sizeof(*q));
    bool ok;
    q->json = json;
    q->bytes_max = bytes_max;
    q->out = out;
    q->began = out->len;
    ok = utf8_valid(json) && read_json(q);
    if (!ok)
        out->len = q->began;
    buf_close(&q->names);
    buf_close(&q->text);
    buf_close(&q->escaped);
    mem_free(q);
    return ok;
}
