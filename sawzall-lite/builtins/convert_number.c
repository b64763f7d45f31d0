/* Numbers to and from text and bytes, with the rules of the published
 * interpreter: what C's strtoull and strtod accept, all of the text, no
 * overflow. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "sawzall-lite/builtins/convert_internal.h"
#include "sawzall-lite/builtins/private.h"

/* --- text to integer ----------------------------------------------------- */

enum digits {
    DIGITS_OK,
    DIGITS_NONE,
    DIGITS_OVERFLOW,
    DIGITS_EXTRA
};

static unsigned digit_value(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

/* Skip "0x" or tell what base the digits are in. */
static unsigned find_base(const char **p, const char *end, int64_t base)
{
    bool zero = end - *p >= 2 && **p == '0';
    bool hex = zero && ((*p)[1] | 0x20) == 'x' && end - *p > 2 &&
               digit_value((unsigned char)(*p)[2]) < 16;
    if ((base == 0 || base == 16) && hex) {
        *p += 2;
        return 16;
    }
    if (base != 0)
        return (unsigned)base;
    return zero ? 8 : 10;
}

/* [space] [sign] digits, all of @s; what strtoull accepts. */
static enum digits
parse_digits(struct slice s, int64_t base, bool *minus, uint64_t *value)
{
    const char *p = s.data;
    const char *end = s.data + s.len;
    const char *begin;
    unsigned in_base;
    bool overflow = false;

    while (p < end && isspace((unsigned char)*p))
        p++;
    *minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    in_base = find_base(&p, end, base);
    begin = p;
    *value = 0;
    for (; p < end; p++) {
        unsigned d = digit_value((unsigned char)*p);
        if (d >= in_base)
            break;
        overflow |= __builtin_mul_overflow(*value, in_base, value);
        overflow |= __builtin_add_overflow(*value, d, value);
    }
    if (p == begin)
        return DIGITS_NONE;
    if (overflow)
        return DIGITS_OVERFLOW;
    return p < end ? DIGITS_EXTRA : DIGITS_OK;
}

static enum saw_status not_a_number(struct saw_ctx *ctx,
                                    enum digits why,
                                    struct slice s,
                                    const char *type)
{
    if (s.len > 60)
        s.len = 60;
    if (why == DIGITS_NONE)
        return saw_undef(ctx, "string \"%.*s\" contains no %s", SLICE_ARG(s),
                         type);
    if (why == DIGITS_OVERFLOW)
        return saw_undef(ctx, "string \"%.*s\" overflows when converting to %s",
                         SLICE_ARG(s), type);
    return saw_undef(ctx, "string \"%.*s\" contains extra chars", SLICE_ARG(s));
}

static bool bad_base(int64_t base)
{
    return base != 0 && (base < 2 || base > 36);
}

/* The usual case: at most 18 decimal digits and nothing else. */
static bool plain_decimal(struct slice s, int64_t *value)
{
    int64_t v = 0;
    if (s.len == 0 || s.len > 18)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned d = (unsigned char)s.data[i] - (unsigned)'0';
        if (d > 9)
            return false;
        v = v * 10 + (int64_t)d;
    }
    *value = v;
    return true;
}

enum saw_status saw_text_to_int(struct saw_ctx *ctx,
                                const struct saw_conversion *c,
                                union saw_slot v,
                                union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    uint64_t value;
    bool minus;
    enum digits got;

    if (LIKELY((c->base == 10 ||
                (c->base == 0 && s.len > 0 && s.data[0] != '0')) &&
               plain_decimal(s, &result->i)))
        return SAW_OK;
    if (bad_base(c->base))
        return saw_undef(ctx, "illegal base");
    got = parse_digits(s, c->base, &minus, &value);
    if (got == DIGITS_OK && value > (uint64_t)INT64_MAX + minus)
        got = DIGITS_OVERFLOW;
    if (got != DIGITS_OK)
        return not_a_number(ctx, got, s, "int");
    result->u = minus ? 0 - value : value;
    return SAW_OK;
}

/* Also to fingerprint. A minus sign wraps, as in C. */
enum saw_status saw_text_to_uint(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    uint64_t value;
    bool minus;
    enum digits got;

    if (bad_base(c->base))
        return saw_undef(ctx, "illegal base");
    got = parse_digits(s, c->base, &minus, &value);
    if (got != DIGITS_OK)
        return not_a_number(ctx, got, s,
                            c->to->kind == SAW_UINT ? "uint" : "fingerprint");
    result->u = minus ? 0 - value : value;
    return SAW_OK;
}

enum saw_status saw_text_to_float(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    char text[400];
    char *end;
    double d;

    (void)c;
    if (s.len >= sizeof(text))
        return not_a_number(ctx, DIGITS_EXTRA, s, "float");
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    errno = 0;
    d = strtod(text, &end);
    if (end == text)
        return not_a_number(ctx, DIGITS_NONE, s, "float");
    /* A subnormal result is fine; nothing left of it is not. */
    if (errno == ERANGE && (fabs(d) > 1 || fpclassify(d) == FP_ZERO))
        return not_a_number(ctx, DIGITS_OVERFLOW, s, "float");
    if (*end)
        return not_a_number(ctx, DIGITS_EXTRA, s, "float");
    result->f = d;
    return SAW_OK;
}

enum saw_status saw_int_to_text(struct saw_ctx *ctx,
                                const struct saw_conversion *c,
                                union saw_slot v,
                                union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    bool minus = c->from->kind == SAW_INT && v.i < 0;
    struct slice copy;
    char *p;
    if (c->base < 2 || c->base > 36)
        return saw_undef(ctx, "illegal base");
    buf_clear(b);
    if (minus)
        buf_append_byte(b, '-');
    saw_print_uint(minus ? 0 - v.u : v.u, (unsigned)c->base, b);
    p = saw_alloc(ctx, b->len);
    if (!p)
        return SAW_FAIL;
    memcpy(p, b->data, b->len);
    copy = slice_make(p, b->len);
    return saw_give_text(saw_string_of(ctx, copy, copy.len), result);
}

/* --- bytes --------------------------------------------------------------- */

static enum saw_status
wrong_length(struct saw_ctx *ctx, size_t length, int should)
{
    return saw_undef(ctx,
                     "length of bytes value (%zu) wrong for conversion to int; "
                     "should be %d",
                     length, should);
}

static enum saw_status
varint_value(struct saw_ctx *ctx, struct slice s, uint64_t *value)
{
    struct cursor c = cursor_make(s);
    *value = cursor_varint(&c);
    if (c.bad || c.p != c.end)
        return saw_undef(ctx, "invalid varint value for decoding");
    return SAW_OK;
}

/* To int or uint: of 4 bytes, sign-extended for int. */
enum saw_status saw_bytes_to_int(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    enum saw_encoding e = c->encoding;
    uint32_t half;

    if (e == SAW_ENCODING_VARINT || e == SAW_ENCODING_ZIGZAG) {
        enum saw_status status = varint_value(ctx, s, &result->u);
        if (status == SAW_OK && e == SAW_ENCODING_ZIGZAG)
            result->i = zigzag_decode(result->u);
        return status;
    }
    if (e == SAW_ENCODING_FIXED64_LITTLE || e == SAW_ENCODING_FIXED64_BIG) {
        if (s.len != 8)
            return wrong_length(ctx, s.len, 8);
        result->u =
            e == SAW_ENCODING_FIXED64_BIG ? get_be64(s.data) : get_le64(s.data);
        return SAW_OK;
    }
    if (s.len != 4)
        return wrong_length(ctx, s.len, 4);
    half = e == SAW_ENCODING_FIXED32_BIG ? get_be32(s.data) : get_le32(s.data);
    if (c->to->kind == SAW_INT)
        result->i = (int32_t)half;
    else
        result->u = half;
    return SAW_OK;
}

static bool fits_32(const struct saw_conversion *c, union saw_slot v)
{
    if (c->from->kind == SAW_INT)
        return v.i >= INT32_MIN && v.i <= INT32_MAX;
    return v.u <= UINT32_MAX;
}

enum saw_status saw_int_to_bytes(struct saw_ctx *ctx,
                                 const struct saw_conversion *c,
                                 union saw_slot v,
                                 union saw_slot *result)
{
    char bytes[VARINT64_BYTES_MAX];
    enum saw_encoding e = c->encoding;
    size_t n = 8;

    if (e == SAW_ENCODING_ZIGZAG || e == SAW_ENCODING_VARINT) {
        uint64_t u = e == SAW_ENCODING_ZIGZAG ? zigzag_encode(v.i) : v.u;
        n = (size_t)(put_varint(bytes, u) - bytes);
    } else if (e == SAW_ENCODING_FIXED64_BIG) {
        put_be64(bytes, v.u);
    } else if (e == SAW_ENCODING_FIXED64_LITTLE) {
        put_le64(bytes, v.u);
    } else {
        if (!fits_32(c, v))
            return saw_undef(ctx, "value %lld out of range for 32-bit encoding",
                             (long long)v.i);
        n = 4;
        if (e == SAW_ENCODING_FIXED32_BIG)
            put_be32(bytes, (uint32_t)v.u);
        else
            put_le32(bytes, (uint32_t)v.u);
    }
    return saw_give_text(saw_bytes_dup(ctx, slice_make(bytes, n)), result);
}
