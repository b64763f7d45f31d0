/* Decoding of literals; see literal.h.
 *
 * Rules and messages follow the published compiler's scanner: integers are
 * decoded with overflow checks, \u and \U give code points, \x and octal
 * escapes bytes, and a string has neither zeros nor surrogates.
 */
#include "sawzall-lite/front/literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/values/value.h"

/* A position in the text of a source. */
struct reader {
    struct saw_diag *diag;
    struct saw_source *source;
    const char *p;
    const char *end;
};

static struct reader
reader_at(struct saw_diag *d, struct saw_source *s, size_t at)
{
    PRE(at <= s->text.len);
    return (struct reader){d, s, s->text.data + at, s->text.data + s->text.len};
}

static size_t literal_offset(const struct reader *r)
{
    return (size_t)(r->p - r->source->text.data);
}

/* The source from @from to here. */
static struct saw_pos literal_here(const struct reader *r, const char *from)
{
    const char *base = r->source->text.data;
    const char *end = r->p > from ? r->p : from + 1;
    return (struct saw_pos){r->source, (uint32_t)(from - base),
                            (uint32_t)(end - base)};
}

static char literal_peek(const struct reader *r)
{
    return r->p < r->end ? *r->p : '\0';
}

static int literal_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* --- numbers ------------------------------------------------------------- */

/* Digits of @base into *@value; the highest digit seen, -1 for none. */
static int
literal_digits(struct reader *r, int base, uint64_t *value, bool *overflow)
{
    int highest = -1;

    for (; r->p < r->end && literal_digit(*r->p) < base; r->p++) {
        int d = literal_digit(*r->p);
        if (d > highest)
            highest = d;
        if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
            __builtin_add_overflow(*value, (uint64_t)d, value))
            *overflow = true;
    }
    return highest;
}

static void
float_literal(struct reader *r, const char *from, struct saw_token *t)
{
    char text[400];
    size_t len;
    uint64_t ignored = 0;
    bool overflow = false;

    if (literal_peek(r) == '.') {
        r->p++;
        literal_digits(r, 10, &ignored, &overflow);
    }
    if (literal_peek(r) == 'e' || literal_peek(r) == 'E') {
        r->p++;
        if (literal_peek(r) == '+' || literal_peek(r) == '-')
            r->p++;
        if (literal_digits(r, 10, &ignored, &overflow) < 0)
            saw_error(r->diag, literal_here(r, from),
                      "digit expected in exponent");
    }
    t->kind = TOK_FLOAT;
    len = (size_t)(r->p - from);
    if (len >= sizeof(text)) {
        saw_error(r->diag, literal_here(r, from),
                  "floating-point literal too long");
        return;
    }
    memcpy(text, from, len);
    text[len] = '\0';
    errno = 0;
    t->v.real = strtod(text, NULL);
    if (errno == ERANGE &&
        (fpclassify(t->v.real) == FP_ZERO || isinf(t->v.real)))
        saw_error(r->diag, literal_here(r, from),
                  "%sflow in floating-point literal %s",
                  isinf(t->v.real) ? "over" : "under", text);
}

/* Read the letter after an integer, which sets its kind. */
static void literal_suffix(struct reader *r, struct saw_token *t)
{
    switch (literal_peek(r)) {
    case 'P':
    case 'p': t->kind = TOK_FINGERPRINT; break;
    case 'T':
    case 't': t->kind = TOK_TIME; break;
    case 'U':
    case 'u': t->kind = TOK_UINT; break;
    default: t->kind = TOK_INT; return;
    }
    r->p++;
}

size_t saw_literal_number(struct saw_diag *d,
                          struct saw_source *s,
                          size_t at,
                          struct saw_token *t)
{
    struct reader r = reader_at(d, s, at);
    const char *from = r.p;
    uint64_t value = 0;
    bool overflow = false;
    int base = 10;
    int highest;

    if (literal_peek(&r) == '0' && r.p + 1 < r.end) {
        char c = r.p[1];
        base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
        if (base != 8)
            r.p += 2;
    }
    highest = literal_digits(&r, base == 8 ? 10 : base, &value, &overflow);
    if ((base == 8 || base == 10) &&
        (literal_peek(&r) == '.' || literal_peek(&r) == 'e' ||
         literal_peek(&r) == 'E')) {
        float_literal(&r, from, t);
        return literal_offset(&r);
    }
    if (base == 8) {
        if (highest >= 8)
            saw_error(d, literal_here(&r, from),
                      "illegal digit %d in octal literal", highest);
        overflow = false;
        value = 0;
        r.p = from;
        literal_digits(&r, 8, &value, &overflow);
        while (r.p < r.end && literal_digit(*r.p) < 10)
            r.p++;
    } else if (highest < 0) {
        saw_error(d, literal_here(&r, from), "digit in base %d expected", base);
    }
    literal_suffix(&r, t);
    t->v.number = value;
    if (overflow || (t->kind == TOK_INT && value > (uint64_t)INT64_MAX + 1)) {
        saw_error(d, literal_here(&r, from), "overflow in %s",
                  saw_token_name(t->kind));
        t->v.number = 0;
    }
    return literal_offset(&r);
}

/* --- characters ---------------------------------------------------------- */

/* Digits of @base: @count of them when @exact, else one to @count. */
static uint32_t escape_digits(struct reader *r, int base, int count, bool exact)
{
    const char *from = r->p;
    uint32_t x = 0;
    int n = 0;

    for (; n < count && r->p < r->end && literal_digit(*r->p) < base; n++) {
        if (x <= 0x10ffff)
            x = x * (uint32_t)base + (uint32_t)literal_digit(*r->p);
        r->p++;
    }
    if (n == 0)
        saw_error(r->diag, literal_here(r, from), "digit in base %d expected",
                  base);
    else if (exact && n < count)
        saw_error(r->diag, literal_here(r, from),
                  "found %d digits in %d-digit escape", n, count);
    return x;
}

static uint32_t valid_unicode(struct reader *r, const char *from, uint32_t x)
{
    if (x == 0 || x > 0x10ffff) {
        saw_error(r->diag, literal_here(r, from),
                  "unicode value 0x%x out of range", x);
        return '?';
    }
    if (x >= 0xd800 && x <= 0xdfff) {
        saw_error(r->diag, literal_here(r, from),
                  "unicode value 0x%x is a surrogate code point", x);
        return '?';
    }
    return x;
}

static uint32_t valid_byte(struct reader *r, const char *from, uint32_t x)
{
    if (x > 0xff) {
        saw_error(r->diag, literal_here(r, from),
                  "byte value 0x%x out of range", x);
        return '?';
    }
    return x;
}

/* One code point of the text itself; a byte that is not UTF-8 is reported. */
static uint32_t plain_char(struct reader *r)
{
    const char *from = r->p;
    size_t len = 1;
    uint32_t c = (unsigned char)*r->p;
    size_t chars;

    if (c >= 0x80) {
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        struct slice piece = slice_make(r->p, want);
        if (want > (size_t)(r->end - r->p) || !saw_utf8_check(piece, &chars)) {
            r->p++;
            saw_error(r->diag, literal_here(r, from),
                      "text is not valid UTF-8");
            return '?';
        }
        c = saw_utf8_decode(r->p, r->end, &len);
    }
    r->p += len;
    return c;
}

/* A character, with escapes. PRE: not at the end. */
static uint32_t escaped_char(struct reader *r)
{
    static const char letters[] = "abfnrtv";
    static const char values[] = "\a\b\f\n\r\t\v";
    const char *from = r->p;
    const char *p;
    char c;

    if (*r->p != '\\')
        return plain_char(r);
    r->p++;
    c = literal_peek(r);
    if (r->p >= r->end || c == '\0') {
        saw_error(r->diag, literal_here(r, from),
                  "string or char not terminated");
        return 0;
    }
    if (c == 'u' || c == 'U') {
        r->p++;
        return valid_unicode(r, from,
                             escape_digits(r, 16, c == 'u' ? 4 : 8, true));
    }
    if (c >= '0' && c <= '7')
        return valid_byte(r, from, escape_digits(r, 8, 3, false));
    if (c == 'x') {
        r->p++;
        return valid_byte(r, from, escape_digits(r, 16, 1000000, false));
    }
    p = strchr(letters, c);
    if (p) {
        r->p++;
        return (unsigned char)values[p - letters];
    }
    return plain_char(r);
}

size_t saw_literal_char(struct saw_diag *d,
                        struct saw_source *s,
                        size_t at,
                        struct saw_token *t)
{
    struct reader r = reader_at(d, s, at);
    const char *from = r.p++;

    t->kind = TOK_INT;
    if (r.p >= r.end || *r.p == '\n')
        saw_error(d, literal_here(&r, from), "unterminated character constant");
    else if (*r.p == '\'')
        saw_error(d, literal_here(&r, from), "empty character constant");
    else
        t->v.number = escaped_char(&r);
    if (literal_peek(&r) == '\'')
        r.p++;
    else
        saw_error(
            d, literal_here(&r, from),
            "a single quote expected: 'x' is one character, \"xyz\" a string");
    return literal_offset(&r);
}

/* --- strings ------------------------------------------------------------- */

static char *
add_char(struct reader *r, const char *from, char *out, uint32_t c, bool bytes)
{
    if (!bytes)
        return out + saw_utf8_encode(c, out);
    if (c > 0xff)
        saw_error(r->diag, literal_here(r, from),
                  "character \\u%04x is out of range for bytes literal", c);
    *out = (char)(unsigned char)c;
    return out + 1;
}

size_t saw_literal_string(struct arena *a,
                          struct saw_diag *d,
                          struct saw_source *s,
                          size_t at,
                          bool bytes,
                          struct saw_token *t)
{
    struct reader r = reader_at(d, s, at);
    const char *from = r.p;
    char quote = *r.p++;
    const char *close = r.p;
    char *out;
    char *p;

    /* Decoding never makes text longer: \x80 takes four bytes of source and
     * two of result. */
    while (close < r.end && *close != '\n' && *close != quote)
        close += *close == '\\' && quote == '"' && close + 1 < r.end ? 2 : 1;
    p = out = arena_alloc(a, (size_t)(close - r.p) * 2 + 8);
    while (r.p < r.end && *r.p != quote && *r.p != '\n') {
        const char *begin = r.p;
        uint32_t c = quote == '"' ? escaped_char(&r) : plain_char(&r);
        if (c == 0 && !bytes)
            saw_error(d, literal_here(&r, begin),
                      "string literal contains a \\0");
        else
            p = add_char(&r, begin, p, c, bytes);
    }
    if (literal_peek(&r) == quote)
        r.p++;
    else
        saw_error(d, literal_here(&r, from), "unterminated string");
    INVARIANT((size_t)(p - out) <= (size_t)(close - from) * 2 + 8);
    t->v.text = slice_make(out, (size_t)(p - out));
    return literal_offset(&r);
}

size_t saw_literal_hex(struct arena *a,
                       struct saw_diag *d,
                       struct saw_source *s,
                       size_t at,
                       struct saw_token *t)
{
    struct reader r = reader_at(d, s, at);
    const char *from = r.p;
    char quote = *r.p++;
    const char *close = r.p;
    char *out;
    size_t n = 0;

    while (close < r.end && *close != '\n' && *close != quote)
        close++;
    out = arena_alloc(a, (size_t)(close - r.p) / 2 + 8);
    while (r.p < close) {
        int high = literal_digit(*r.p++);
        int low = r.p < close ? literal_digit(*r.p++) : 16;
        if (r.p == close && low == 16 && high < 16)
            saw_error(d, literal_here(&r, from),
                      "hexadecimal bytes literal needs pairs of digits");
        else if (high == 16 || low == 16)
            saw_error(d, literal_here(&r, r.p - 1),
                      "invalid character in hexadecimal bytes literal");
        out[n++] = (char)(unsigned char)((high << 4 | low) & 0xff);
    }
    if (literal_peek(&r) == quote)
        r.p++;
    else
        saw_error(d, literal_here(&r, from), "unterminated string");
    INVARIANT(n <= (size_t)(close - from) / 2 + 8);
    t->v.text = slice_make(out, n);
    return literal_offset(&r);
}
