/* Values as source text and as results of tables.
 *
 * One walk writes all composites; a style gives the text around the parts and
 * the form of a scalar, so string() in builtins/ shares the walk.
 */
#include "sawzall-lite/values/value_text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/values/datum.h"

void saw_print_uint(uint64_t v, unsigned base, struct buf *out)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char text[64];
    size_t at = sizeof(text);
    PRE(base >= 2 && base <= 36);
    do {
        text[--at] = digits[v % base];
        v /= base;
    } while (v);
    buf_append(out, text + at, sizeof(text) - at);
}

static void print_int(int64_t v, struct buf *out)
{
    if (v < 0)
        buf_append_byte(out, '-');
    saw_print_uint(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, out);
}

void saw_print_float(double x, struct buf *out)
{
    size_t before = out->len;
    if (isnan(x)) { /* The sign C may print means nothing. */
        buf_append_str(out, "nan");
        return;
    }
    buf_printf(out, "%.15g", x);
    if (isfinite(x) && !memchr(out->data + before, '.', out->len - before) &&
        !memchr(out->data + before, 'e', out->len - before))
        buf_append_str(out, ".0");
}

/* --- quoting ------------------------------------------------------------- */

static const char *escape_of(uint32_t c)
{
    switch (c) {
    case '\\': return "\\\\";
    case '\a': return "\\a";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\v': return "\\v";
    default: return NULL;
    }
}

/* One character, escaped where needed. @after_hex: the one before ended as \x
 * and digits, which a hex digit would extend. Returns whether this one does. */
static bool print_char(uint32_t c,
                       const char *bytes,
                       size_t len,
                       char quote,
                       bool ascii_only,
                       bool after_hex,
                       struct buf *out)
{
    const char *escape = escape_of(c);
    if (escape) {
        buf_append_str(out, escape);
        return false;
    }
    if (c == (uint32_t)quote) {
        buf_append_byte(out, '\\');
        buf_append_byte(out, quote);
        return false;
    }
    if (c < ' ' || (c >= 0x7f && c <= 0xa0) || (ascii_only && c >= 0x100) ||
        (after_hex && c < 0x80 && isxdigit((int)c))) {
        buf_printf(out, "\\x%x", (unsigned)c);
        return true;
    }
    buf_append(out, bytes, len);
    return false;
}

void saw_print_quoted(struct slice s,
                      size_t chars_max,
                      char quote,
                      bool ascii_only,
                      struct buf *out)
{
    const char *p = s.data;
    const char *end = s.data + s.len;
    bool hex = false;
    buf_append_byte(out, quote);
    while (p < end && chars_max-- > 0) {
        size_t n;
        uint32_t c = saw_utf8_decode(p, end, &n);
        hex = print_char(c, p, n, quote, ascii_only, hex, out);
        p += n;
    }
    buf_append_byte(out, quote);
}

/* --- scalars ------------------------------------------------------------- */

static void source_bytes(struct slice s, struct buf *out)
{
    buf_append_str(out, "bytes({");
    for (size_t i = 0; i < s.len; i++)
        buf_printf(out, "%s%d", i ? ", " : "", (int)(signed char)s.data[i]);
    buf_append_str(out, "})");
}

void saw_print_scalar(const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out)
{
    switch (t->kind) {
    case SAW_BOOL: buf_append_str(out, v.i ? "true" : "false"); break;
    case SAW_INT: print_int(v.i, out); break;
    case SAW_UINT: saw_print_uint(v.u, 10, out); break;
    case SAW_FLOAT: saw_print_float(v.f, out); break;
    case SAW_FINGERPRINT:
        buf_printf(out, "0x%.16llxP", (unsigned long long)v.u);
        break;
    case SAW_TIME:
        saw_print_uint(v.u, 10, out);
        buf_append_byte(out, 'T');
        break;
    case SAW_STRING:
        saw_print_quoted(saw_str_slice(v.s), SIZE_MAX, '"', false, out);
        break;
    case SAW_BYTES: source_bytes(saw_str_slice(v.s), out); break;
    case SAW_FUNCTION: buf_append_slice(out, v.c->callee->text); break;
    case SAW_ARRAY:
    case SAW_TUPLE:
    case SAW_MAP:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: break;
    }
}

/* --- composites ---------------------------------------------------------- */

static void print_at(const struct saw_print_style *style,
                     const struct saw_type *t,
                     union saw_slot v,
                     unsigned depth,
                     struct buf *out);

static void print_map(const struct saw_print_style *style,
                      const struct saw_type *t,
                      const struct saw_map *m,
                      unsigned depth,
                      struct buf *out)
{
    if (m->count == 0) {
        buf_append_str(out, style->empty_map);
        return;
    }
    buf_append_str(out, style->open);
    for (uint32_t i = 0; i < m->count; i++) {
        if (i)
            buf_append_str(out, ", ");
        print_at(style, t->key, m->entries[i].key, depth, out);
        buf_append_str(out, ": ");
        print_at(style, t->elem, m->entries[i].value, depth, out);
    }
    buf_append_str(out, style->close);
}

static void print_items(const struct saw_print_style *style,
                        const struct saw_type *t,
                        union saw_slot v,
                        unsigned depth,
                        struct buf *out)
{
    bool array = t->kind == SAW_ARRAY;
    size_t n = array ? v.a->len : t->field_count;
    buf_append_str(out, style->open);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_append_str(out, ", ");
        if (array)
            print_at(style, t->elem, v.a->items[i], depth, out);
        else
            print_at(style, t->fields[i].type, v.t->fields[i], depth, out);
    }
    buf_append_str(out, style->close);
}

static void print_at(const struct saw_print_style *style,
                     const struct saw_type *t,
                     union saw_slot v,
                     unsigned depth,
                     struct buf *out)
{
    if (depth > SAW_VALUE_DEPTH_MAX)
        buf_append_str(out, "…");
    else if (t->kind == SAW_ARRAY || t->kind == SAW_TUPLE)
        print_items(style, t, v, depth + 1, out);
    else if (t->kind == SAW_MAP)
        print_map(style, t, v.m, depth + 1, out);
    else
        style->scalar(t, v, out);
}

void saw_value_print_style(const struct saw_print_style *style,
                           const struct saw_type *t,
                           union saw_slot v,
                           struct buf *out)
{
    print_at(style, t, v, 0, out);
}

static void
print_result(const struct saw_type *t, union saw_slot v, struct buf *out)
{
    struct buf datum = BUF_INIT;
    saw_value_encode(t, v, &datum);
    saw_datum_print(buf_slice(&datum), out);
    buf_close(&datum);
}

static const struct saw_print_style source = {"{", "}", "{:}",
                                              saw_print_scalar};

void saw_value_print(const struct saw_type *t,
                     union saw_slot v,
                     enum saw_print_mode mode,
                     struct buf *out)
{
    if (mode == SAW_PRINT_SOURCE)
        print_at(&source, t, v, 0, out);
    else
        print_result(t, v, out);
}
