/* format(): printf with the language's types.
 *
 * The format is a constant, so a wrong verb, a missing argument or one of the
 * wrong type is an error of the compiler. Widths and precisions count
 * characters.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/time.h"

/* A width or precision over this is refused: it would only waste memory. */
#define WIDTH_MAX 9999

struct spec {
    struct slice literal; /* Text before it. */
    char verb;            /* 0: the format ends. */
    bool minus;
    bool plus;
    bool space;
    bool sharp;
    bool zero;
    int width;     /* 0: none. */
    int precision; /* -1: none. */
};

static const char *number_at(const char *p, const char *end, int *value)
{
    *value = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (*value <= WIDTH_MAX)
            *value = *value * 10 + (*p - '0');
    }
    return p;
}

static bool take_flag(struct spec *s, char c)
{
    switch (c) {
    case '-': s->minus = true; return true;
    case '+': s->plus = true; return true;
    case ' ': s->space = true; return true;
    case '#': s->sharp = true; return true;
    case '0': s->zero = true; return true;
    default: return false;
    }
}

/* Parse up to and including the next directive of @fmt, which loses what was
 * parsed. "%%" comes out as the literal it is. */
static struct spec next_spec(struct slice *fmt)
{
    struct spec s = {.precision = -1};
    size_t n = slice_find_byte(*fmt, '%');
    const char *p = fmt->data + n;
    const char *end = fmt->data + fmt->len;

    s.literal = slice_make(fmt->data, n);
    if (p == end) {
        *fmt = SLICE_EMPTY;
        return s;
    }
    p++;
    while (p < end && take_flag(&s, *p))
        p++;
    p = number_at(p, end, &s.width);
    if (p < end && *p == '.')
        p = number_at(p + 1, end, &s.precision);
    s.verb = p < end ? *p++ : '?';
    if (s.verb == '%')
        s.literal.len += 1; /* The '%' itself is the next byte. */
    *fmt = slice_make(p, (size_t)(end - p));
    return s;
}

/* --- checking ------------------------------------------------------------ */

/* The kind of argument @verb takes; SAW_BAD any, SAW_VOID unknown. */
static enum saw_kind verb_kind(char verb)
{
    if (!verb)
        return SAW_VOID;
    if (verb == 'b')
        return SAW_BOOL;
    if (strchr("ckidouxX", verb))
        return SAW_INT;
    if (strchr("eEfgG", verb))
        return SAW_FLOAT;
    if (verb == 'p')
        return SAW_FINGERPRINT;
    if (strchr("sq", verb))
        return SAW_STRING;
    if (verb == 't')
        return SAW_TIME;
    return verb == 'T' ? SAW_BAD : SAW_VOID;
}

static const struct saw_type *
check_arg(struct saw_check *c, const struct spec *s, size_t i)
{
    enum saw_kind want = verb_kind(s->verb);
    enum saw_kind have;
    struct buf b = BUF_INIT;

    if (want == SAW_VOID)
        return saw_check_fail(c, 0, "there is no format verb %%%c", s->verb);
    if (s->width > WIDTH_MAX || s->precision > WIDTH_MAX)
        return saw_check_fail(c, 0, "a width over %d", WIDTH_MAX);
    if (i >= c->arg_count)
        return saw_check_fail(c, -1, "too few arguments for the format");
    have = c->arg_types[i]->kind;
    if (have == SAW_VOID)
        return saw_check_fail(c, (int)i, "this has no value");
    if (have == want || have == SAW_BAD || want == SAW_BAD ||
        (want == SAW_INT && have == SAW_UINT))
        return &saw_type_string;
    saw_check_fail(c, (int)i, "%%%c does not print a value of type %s", s->verb,
                   saw_type_name(c->arg_types[i], &b));
    buf_close(&b);
    return NULL;
}

const struct saw_type *saw_format_arg_type(struct slice format, size_t index)
{
    static const struct saw_type *const types[] = {
        &saw_type_bool, &saw_type_int,         &saw_type_float,
        &saw_type_time, &saw_type_fingerprint, &saw_type_string};
    size_t i;

    while (format.len > 0) {
        struct spec s = next_spec(&format);
        if (s.verb == '\0' || s.verb == '%' || index-- > 0)
            continue;
        for (i = 0; i < ARRAY_LEN(types); i++) {
            if (types[i]->kind == verb_kind(s.verb))
                return types[i];
        }
        return NULL;
    }
    return NULL;
}

static const struct saw_type *check_format(struct saw_check *c)
{
    struct slice fmt;
    size_t i = 1;
    if (c->arg_count == 0)
        return saw_check_fail(c, -1, "format() needs a format string");
    if (c->arg_types[0]->kind == SAW_BAD)
        return &saw_type_string;
    if (c->arg_types[0]->kind != SAW_STRING)
        return saw_check_fail(c, 0, "the format must be a string");
    if (!c->constants[0])
        return saw_check_fail(c, 0, "the format must be a constant");
    fmt = saw_str_slice(c->constants[0]->s);
    while (fmt.len > 0) {
        struct spec s = next_spec(&fmt);
        if (s.verb == '\0' || s.verb == '%')
            continue;
        if (!check_arg(c, &s, i++))
            return NULL;
    }
    if (i < c->arg_count)
        return saw_check_fail(c, (int)i, "too many arguments for the format");
    return &saw_type_string;
}

/* --- printing ------------------------------------------------------------ */

static void
pad_text(const struct spec *s, struct slice text, size_t chars, struct buf *out)
{
    size_t pad = (size_t)s->width > chars ? (size_t)s->width - chars : 0;
    if (!s->minus)
        buf_append_fill(out, ' ', pad);
    buf_append_slice(out, text);
    if (s->minus)
        buf_append_fill(out, ' ', pad);
}

static void
print_string(const struct spec *s, const struct saw_str *v, struct buf *out)
{
    struct slice text = saw_str_slice(v);
    size_t chars = v->chars;
    if (s->precision >= 0 && (size_t)s->precision < chars) {
        chars = (size_t)s->precision;
        text.len = saw_str_offset(v, chars);
    }
    pad_text(s, text, chars, out);
}

static void print_rune(const struct spec *s, union saw_slot v, struct buf *out)
{
    char bytes[4];
    bool valid = v.u > 0 && v.u <= 0x10ffff;
    size_t n = saw_utf8_encode(valid ? (uint32_t)v.u : 0xfffd, bytes);
    if (n == 0)
        n = saw_utf8_encode(0xfffd, bytes);
    if (s->verb == 'k')
        saw_print_quoted(slice_make(bytes, n), 1, '\'', s->sharp, out);
    else
        pad_text(s, slice_make(bytes, n), 1, out);
}

/* The directive for C's printf, with @length before the verb. */
static void c_directive(const struct spec *s, const char *length, char *out)
{
    *out++ = '%';
    if (s->minus)
        *out++ = '-';
    if (s->plus)
        *out++ = '+';
    if (s->space)
        *out++ = ' ';
    if (s->sharp)
        *out++ = '#';
    if (s->zero)
        *out++ = '0';
    if (s->width)
        out += snprintf(out, 12, "%d", s->width);
    if (s->precision >= 0)
        out += snprintf(out, 13, ".%d", s->precision);
    while (*length)
        *out++ = *length++;
    *out++ = s->verb == 'i' ? 'd' : s->verb;
    *out = '\0';
}

/* Digits of %e that say all about a double. */
#define DIGITS_MAX 17

/* %f where C would print digits that a double does not hold, because the
 * number is large or many places are wanted: 0 in their place. */
static void print_fixed(const struct spec *s, double v, struct buf *out)
{
    int places = s->precision < 0 ? 6 : s->precision;
    char digits[40];
    char text[WIDTH_MAX + 400];
    struct spec as = {.width = s->width, .minus = s->minus};
    const char *p = digits;
    size_t n = 0;
    int exponent;

    snprintf(digits, sizeof(digits), "%.*e", DIGITS_MAX - 1, fabs(v));
    exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (signbit(v))
        text[n++] = '-';
    else if (s->plus)
        text[n++] = '+';
    for (int at = exponent < 0 ? 0 : exponent; at >= -places; at--) {
        bool have = at <= exponent && *p != 'e';
        if (at == -1)
            text[n++] = '.';
        text[n++] = have ? *p++ : '0';
        p += *p == '.';
    }
    INVARIANT(n < sizeof(text));
    pad_text(&as, slice_make(text, n), n, out);
}

/* Whether more digits are wanted than a double has. */
static bool beyond_double(const struct spec *s, double v)
{
    int places = s->precision < 0 ? 6 : s->precision;
    return s->verb == 'f' && isfinite(v) && !s->zero &&
           (fabs(v) >= 1e17 ||
            (fabs(v) > 0 && log10(fabs(v)) + places + 1 > 17));
}

static void print_number(const struct spec *s,
                         const struct saw_type *t,
                         union saw_slot v,
                         struct buf *out)
{
    char directive[48]; /* "%", flags, two numbers, "ll", verb. */
    char *p;
    int n;
    struct spec as = *s;
    size_t room = (size_t)MAX_OF(s->width, s->precision) + 400;
    bool real = t->kind == SAW_FLOAT;

    if (real && isnan(v.f)) {
        pad_text(s, SLICE_LIT("nan"), 3, out);
        return;
    }
    if (real && beyond_double(s, v.f)) {
        print_fixed(s, v.f, out);
        return;
    }
    if (t->kind == SAW_UINT && (s->verb == 'd' || s->verb == 'i'))
        as.verb = 'u';
    c_directive(&as, real ? "" : "ll", directive);
    p = buf_reserve(out, room);
    /* The directive was made above from checked parts. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n = real ? snprintf(p, room, directive, v.f)
             : snprintf(p, room, directive, (long long)v.i);
#pragma GCC diagnostic pop
    INVARIANT(n >= 0 && (size_t)n < room);
    out->len += (size_t)n;
}

static void print_type(const struct saw_type *t, bool expand, struct buf *out)
{
    saw_type_print_as(t, expand ? SAW_TYPE_EXPANDED : SAW_TYPE_NAMES, out);
}

static void print_arg(struct saw_ctx *ctx,
                      const struct spec *s,
                      const struct saw_type *t,
                      union saw_slot v,
                      struct buf *out)
{
    switch (s->verb) {
    case 'b': buf_append_str(out, v.i ? "true" : "false"); break;
    case 'c':
    case 'k': print_rune(s, v, out); break;
    case 's': print_string(s, v.s, out); break;
    case 'q':
        saw_print_quoted(saw_str_slice(v.s),
                         s->precision >= 0 ? (size_t)s->precision : SIZE_MAX,
                         '"', s->sharp, out);
        break;
    case 'p': buf_printf(out, "0x%.16llx", (unsigned long long)v.u); break;
    case 't':
        if (!saw_time_print(ctx, v.u, SLICE_EMPTY, out))
            buf_append_str(out, SAW_TIME_INVALID);
        break;
    case 'T': print_type(t, s->sharp, out); break;
    default: print_number(s, t, v, out); break;
    }
}

static enum saw_status fn_format(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 const union saw_slot *args,
                                 union saw_slot *result)
{
    struct slice fmt = saw_str_slice(args[0].s);
    struct buf *out = &ctx->scratch;
    size_t i = 1;
    buf_clear(out);
    while (fmt.len > 0) {
        struct spec s = next_spec(&fmt);
        buf_append_slice(out, s.literal);
        if (s.verb == '\0' || s.verb == '%')
            continue;
        INVARIANT(i < call->arg_count);
        print_arg(ctx, &s, call->arg_types[i], args[i], out);
        i++;
    }
    return saw_give_text(saw_string_dup(ctx, buf_slice(out)), result);
}

const struct saw_builtin saw_builtins_format[] = {
    {.name = "format",
     .flags = SAW_BUILTIN_PURE,
     .fn = fn_format,
     .check = check_format,
     .help = "format(fmt, …): text by a format like printf's; also %b bool, %q "
             "quoted, %p fingerprint, %t time, %T type"},
    {.name = NULL},
};
