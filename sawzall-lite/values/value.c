/* Allocation, text, arrays and tuples; see value.h. Maps are in map.c.
 *
 * UTF-8 is checked once, where bytes become a string; everything after that
 * relies on it. ASCII, by far the most frequent text, is recognised by its
 * counts and indexed in constant time.
 */
#include "sawzall-lite/values/value.h"

#include <stdarg.h>
#include <stdio.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/core/hash.h"
#include "base/core/panic.h"

/* Above this size an allocation is tried first: the system may refuse it. */
#define LARGE_BYTES ((size_t)256 << 20)

enum saw_status saw_undef(struct saw_ctx *ctx, const char *fmt, ...)
{
    va_list ap;
    char text[ERR_TEXT_BYTES];

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(&ctx->err, ERR_INVALID, "%s", text);
    return SAW_UNDEF;
}

enum saw_status saw_fail(struct saw_ctx *ctx, int code, const char *fmt, ...)
{
    va_list ap;
    char text[ERR_TEXT_BYTES];

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(&ctx->err, code, "%s", text);
    return SAW_FAIL;
}

bool saw_work_refused(struct saw_ctx *ctx)
{
    saw_fail(ctx, ERR_EXHAUSTED,
             "the program ran for over %llu instructions on this record",
             (unsigned long long)ctx->work_max);
    return false;
}

void *saw_alloc_slow(struct saw_ctx *ctx, size_t size)
{
    if (size >= ctx->bytes_max || ctx->arena->bytes > ctx->bytes_max - size) {
        saw_fail(ctx, ERR_EXHAUSTED, "memory limit of %zu bytes reached",
                 ctx->bytes_max);
        return NULL;
    }
    if (size > LARGE_BYTES) { /* The system may refuse. */
        void *p = mem_try_alloc(size);
        mem_free(p);
        if (!p) {
            saw_fail(ctx, ERR_EXHAUSTED, "no memory for %zu bytes", size);
            return NULL;
        }
    }
    return arena_alloc_block(ctx->arena, size);
}

/* --- text ---------------------------------------------------------------- */

const struct saw_str saw_str_empty = {"", 0, 0};

/* Length of the run of ASCII at the beginning. */
static size_t ascii_run(struct slice s)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t w[4];
    size_t i = 0;

    for (; i + 32 <= s.len; i += 32) {
        memcpy(w, s.data + i, 32);
        if ((w[0] | w[1] | w[2] | w[3]) & high)
            break;
    }
    for (; i + 8 <= s.len; i += 8) {
        memcpy(w, s.data + i, 8);
        if (w[0] & high)
            break;
    }
    while (i < s.len && (unsigned char)s.data[i] < 0x80)
        i++;
    return i;
}

size_t saw_utf8_count(struct slice s)
{
    size_t n = ascii_run(s);
    size_t i;

    for (i = n; i < s.len; i++)
        n += (s.data[i] & 0xc0) != 0x80;
    return n;
}

/* Length of the valid sequence at @p, 0 if there is none. */
static size_t value_sequence(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || left < 2 || (p[1] & 0xc0) != 0x80)
        return 0;
    if (p[0] < 0xe0)
        return 2;
    if (left < 3 || (p[2] & 0xc0) != 0x80)
        return 0;
    if (p[0] < 0xf0) {
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0))
            return 0;
        return 3;
    }
    if (p[0] > 0xf4 || left < 4 || (p[3] & 0xc0) != 0x80 ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return 4;
}

bool saw_utf8_check(struct slice s, size_t *chars)
{
    size_t i = ascii_run(s);
    size_t n = i;

    while (i < s.len) {
        size_t len =
            value_sequence((const unsigned char *)s.data + i, s.len - i);
        if (len == 0)
            return false;
        i += len;
        n++;
    }
    *chars = n;
    return true;
}

bool saw_is_plain_ascii(struct slice s)
{
    size_t i = 0;

#ifdef __SSE2__
    __m128i bad = _mm_setzero_si128();
    for (; i + 16 <= s.len; i += 16) {
        __m128i v =
            _mm_loadu_si128((const __m128i *)(const void *)(s.data + i));
        bad = _mm_or_si128(
            bad, _mm_or_si128(v, _mm_cmpeq_epi8(v, _mm_setzero_si128())));
    }
    if (_mm_movemask_epi8(bad))
        return false;
#endif
    for (; i < s.len; i++) {
        if ((unsigned char)s.data[i] - 1U >= 0x7f)
            return false;
    }
    return true;
}

size_t saw_str_offset(const struct saw_str *s, size_t index)
{
    size_t i = 0;

    if (index >= s->chars)
        return s->len;
    if (saw_str_is_ascii(s))
        return index;
    while (index > 0) {
        i++;
        while ((s->data[i] & 0xc0) == 0x80)
            i++;
        index--;
        if (i >= s->len)
            break;
    }
    return i;
}

uint32_t saw_utf8_decode(const char *p, const char *end, size_t *len)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t left = (size_t)(end - p);

    if (u[0] < 0x80 || left < 2) {
        *len = 1;
        return u[0];
    }
    if (u[0] < 0xe0) {
        *len = 2;
        return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    }
    if (u[0] < 0xf0 && left >= 3) {
        *len = 3;
        return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 |
               (u[2] & 0x3f);
    }
    if (left < 4) {
        *len = left;
        return 0xfffd;
    }
    *len = 4;
    return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
           (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
}

static char value_byte(uint32_t v)
{
    return (char)(unsigned char)v;
}

size_t saw_utf8_encode(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = value_byte(cp);
        return 1;
    }
    if (cp < 0x800) {
        out[0] = value_byte(0xc0 | cp >> 6);
        out[1] = value_byte(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        if (cp >= 0xd800 && cp <= 0xdfff)
            return 0;
        out[0] = value_byte(0xe0 | cp >> 12);
        out[1] = value_byte(0x80 | (cp >> 6 & 0x3f));
        out[2] = value_byte(0x80 | (cp & 0x3f));
        return 3;
    }
    if (cp > 0x10ffff)
        return 0;
    out[0] = value_byte(0xf0 | cp >> 18);
    out[1] = value_byte(0x80 | (cp >> 12 & 0x3f));
    out[2] = value_byte(0x80 | (cp >> 6 & 0x3f));
    out[3] = value_byte(0x80 | (cp & 0x3f));
    return 4;
}

const struct saw_str *
saw_string_of(struct saw_ctx *ctx, struct slice data, size_t chars)
{
    struct saw_str *s = saw_alloc(ctx, sizeof(*s));

    INVARIANT(chars <= data.len); /* INV-3 */
    if (s)
        *s = (struct saw_str){data.data, data.len, chars};
    return s;
}

const struct saw_str *saw_bytes_of(struct saw_ctx *ctx, struct slice data)
{
    return saw_string_of(ctx, data, data.len);
}

const struct saw_str *saw_string_count(struct saw_ctx *ctx, struct slice data)
{
    return saw_string_of(ctx, data, saw_utf8_count(data));
}

static const struct saw_str *
value_dup(struct saw_ctx *ctx, struct slice data, size_t chars)
{
    struct saw_str *s = saw_alloc(ctx, sizeof(*s) + data.len);

    INVARIANT(chars <= data.len); /* INV-3 */
    if (!s)
        return NULL;
    if (data.len)
        memcpy(s + 1, data.data, data.len);
    *s = (struct saw_str){(const char *)(s + 1), data.len, chars};
    return s;
}

const struct saw_str *saw_bytes_dup(struct saw_ctx *ctx, struct slice data)
{
    return value_dup(ctx, data, data.len);
}

const struct saw_str *saw_string_dup(struct saw_ctx *ctx, struct slice data)
{
    return value_dup(ctx, data, saw_utf8_count(data));
}

/* --- arrays and tuples --------------------------------------------------- */

struct saw_array *saw_array_new(struct saw_ctx *ctx, size_t len)
{
    struct saw_array *a;

    if (len > SIZE_MAX / 16) {
        saw_fail(ctx, ERR_EXHAUSTED, "an array of %zu elements is too large",
                 len);
        return NULL;
    }
    a = saw_alloc(ctx, sizeof(*a) + len * sizeof(union saw_slot));
    if (a)
        *a = (struct saw_array){(union saw_slot *)(void *)(a + 1), len, len,
                                false};
    return a;
}

struct saw_array *saw_array_of_texts(struct saw_ctx *ctx,
                                     enum saw_kind kind,
                                     const struct slice *parts,
                                     size_t count)
{
    struct saw_array *a = saw_array_new(ctx, count);
    struct saw_str *s;
    size_t i;

    if (!a || count == 0)
        return a;
    s = saw_alloc(ctx, count * sizeof(*s));
    if (!s)
        return NULL;
    for (i = 0; i < count; i++) {
        struct slice p = parts[i].data ? parts[i] : SLICE_EMPTY;
        s[i] = (struct saw_str){p.data, p.len,
                                kind == SAW_STRING ? saw_utf8_count(p) : p.len};
        a->items[i].s = &s[i];
    }
    return a;
}

struct saw_array *saw_array_own(struct saw_ctx *ctx,
                                const struct saw_type *t,
                                struct saw_array *v)
{
    struct saw_array *a;
    size_t i;

    PRE(t->kind == SAW_ARRAY);
    INVARIANT(v->len <= v->cap); /* INV-4 */
    if (!v->shared)
        return v;
    a = saw_array_new(ctx, v->len);
    if (!a)
        return NULL;
    memcpy(a->items, v->items, v->len * sizeof(*a->items));
    if (t->elem->kind >= SAW_ARRAY) {
        for (i = 0; i < v->len; i++)
            saw_share(t->elem, a->items[i]);
    }
    return a;
}

/* @marked: with room for the bits of the fields present. */
static struct saw_tuple *
tuple_new(struct saw_ctx *ctx, const struct saw_type *t, bool marked)
{
    size_t words = marked ? (t->field_count + 63) / 64 : 0;
    size_t fields = t->field_count * sizeof(union saw_slot);
    struct saw_tuple *v = saw_alloc(ctx, sizeof(*v) + fields + words * 8);

    if (!v)
        return NULL;
    v->shared = false;
    v->present =
        words ? (uint64_t *)(void *)((char *)v->fields + fields) : NULL;
    if (words)
        memset(v->present, 0, words * 8);
    return v;
}

struct saw_tuple *saw_tuple_new(struct saw_ctx *ctx, const struct saw_type *t)
{
    PRE(t->kind == SAW_TUPLE && !t->open);
    return tuple_new(ctx, t, t->proto);
}

struct saw_tuple *saw_tuple_own(struct saw_ctx *ctx,
                                const struct saw_type *t,
                                struct saw_tuple *v)
{
    size_t marks = (t->field_count + 63) / 64 * 8;
    bool marked = t->proto || v->present;
    struct saw_tuple *c;
    size_t i;

    PRE(t->kind == SAW_TUPLE);
    if (!v->shared && (v->present || !marked))
        return v;
    c = tuple_new(ctx, t, marked);
    if (!c)
        return NULL;
    memcpy(c->fields, v->fields, t->field_count * sizeof(*c->fields));
    if (c->present && v->present)
        memcpy(c->present, v->present, marks);
    else if (c->present)
        memset(c->present, 0xff, marks);
    for (i = 0; i < t->field_count; i++)
        saw_share(t->fields[i].type, c->fields[i]);
    return c;
}

bool saw_value_zero(struct saw_ctx *ctx,
                    const struct saw_type *t,
                    union saw_slot *out)
{
    size_t i;

    out->u = 0;
    switch (t->kind) {
    case SAW_STRING:
    case SAW_BYTES: out->s = &saw_str_empty; return true;
    case SAW_ARRAY: out->a = saw_array_new(ctx, 0); return out->a != NULL;
    case SAW_MAP: out->m = saw_map_new(ctx, 0); return out->m != NULL;
    case SAW_TUPLE:
        out->t = saw_tuple_new(ctx, t);
        for (i = 0; out->t && i < t->field_count; i++) {
            const struct saw_field *f = &t->fields[i];
            if (f->init) /* A constant: shared already. */
                out->t->fields[i] = *f->init;
            else if (!saw_value_zero(ctx, f->type, &out->t->fields[i]))
                return false;
        }
        return out->t != NULL;
    case SAW_BOOL:
    case SAW_FINGERPRINT:
    case SAW_FLOAT:
    case SAW_INT:
    case SAW_TIME:
    case SAW_UINT:
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: return true;
    }
    return true;
}
