/* Data: order-preserving, self-describing bytes; see datum.h for the layout.
 *
 * The readers of this file check everything, because states of tables come
 * from other processes; the functions that add and print take data that a
 * reader has accepted, and assert what they rely on.
 */
#include "sawzall-lite/values/datum.h"

#include <math.h>
#include <string.h>

#include "base/core/panic.h"

#define SIGN_BIT (UINT64_C(1) << 63)

static void put_word(struct buf *b, uint8_t tag, uint64_t v)
{
    char *p = buf_extend(b, SAW_DATUM_WORD_BYTES);
    p[0] = (char)tag;
    put_be64(p + 1, v);
}

/* NaN becomes 0, which no other number maps to: it sorts first. */
static uint64_t float_to_word(double v)
{
    uint64_t u;
    if (isnan(v))
        return 0;
    memcpy(&u, &v, sizeof(u));
    return u & SIGN_BIT ? ~u : u | SIGN_BIT;
}

static double word_to_float(uint64_t u)
{
    double v;
    if (u == 0)
        return (double)NAN;
    u = u & SIGN_BIT ? u & ~SIGN_BIT : ~u;
    memcpy(&v, &u, sizeof(v));
    return v;
}

void saw_datum_put_bool(struct buf *b, bool v)
{
    char *p = buf_extend(b, 2);
    p[0] = SAW_DATUM_BOOL;
    p[1] = v;
}

void saw_datum_put_int(struct buf *b, int64_t v)
{
    put_word(b, SAW_DATUM_INT, (uint64_t)v ^ SIGN_BIT);
}

void saw_datum_put_float(struct buf *b, double v)
{
    put_word(b, SAW_DATUM_FLOAT, float_to_word(v));
}

void saw_datum_put_word(struct buf *b, enum saw_datum_tag tag, uint64_t v)
{
    PRE(tag == SAW_DATUM_UINT || tag == SAW_DATUM_TIME ||
        tag == SAW_DATUM_FINGERPRINT);
    put_word(b, (uint8_t)tag, v);
}

/* A byte of @w is zero. */
static bool has_zero(uint64_t w)
{
    return ((w - UINT64_C(0x0101010101010101)) & ~w &
            UINT64_C(0x8080808080808080)) != 0;
}

/* Copy @n bytes, eight at a time. False: one of them is zero, and what was
 * copied means nothing. */
static bool copy_nonzero(char *to, const char *from, size_t n)
{
    uint64_t w;
    if (n < sizeof(w)) {
        for (size_t i = 0; i < n; i++) {
            if (from[i] == '\0')
                return false;
            to[i] = from[i];
        }
        return true;
    }
    for (size_t i = 0;; i += sizeof(w)) {
        if (i > n - sizeof(w)) /* The last ones again. */
            i = n - sizeof(w);
        memcpy(&w, from + i, sizeof(w));
        if (has_zero(w))
            return false;
        memcpy(to + i, &w, sizeof(w));
        if (i == n - sizeof(w))
            return true;
    }
}

/* Text with zeros in it. */
static void put_escaped(struct buf *b, struct slice s)
{
    for (;;) {
        size_t n = slice_find_byte(s, '\0');
        buf_append(b, s.data, n);
        if (n == s.len)
            break;
        buf_append(b, "\0\xff", 2);
        s = slice_sub(s, n + 1, s.len);
    }
    buf_append(b, "\0\x01", 2);
}

void saw_datum_put_text(struct buf *b, enum saw_datum_tag tag, struct slice s)
{
    char *p = buf_reserve(b, s.len + 3);
    PRE(tag == SAW_DATUM_STRING || tag == SAW_DATUM_BYTES);
    *p = (char)tag;
    if (UNLIKELY(!copy_nonzero(p + 1, s.data, s.len))) {
        b->len++;
        put_escaped(b, s);
        return;
    }
    p[s.len + 1] = '\0';
    p[s.len + 2] = '\x01';
    b->len += s.len + 3;
}

void saw_datum_put_open(struct buf *b, enum saw_datum_tag tag)
{
    PRE(tag == SAW_DATUM_ARRAY || tag == SAW_DATUM_TUPLE ||
        tag == SAW_DATUM_MAP);
    buf_append_byte(b, (char)tag);
}

void saw_datum_put_end(struct buf *b)
{
    buf_append_byte(b, SAW_DATUM_END);
}

static bool datum_fail(struct cursor *c)
{
    c->bad = true;
    c->p = c->end;
    return false;
}

static bool skip_text(struct cursor *c)
{
    for (;;) {
        const char *z = NULL;
        if (c->p < c->end)
            z = memchr(c->p, 0, cursor_left(c));
        if (!z || z + 1 >= c->end)
            return datum_fail(c);
        c->p = z + 2;
        if (z[1] == 1)
            return true;
        if ((uint8_t)z[1] != 0xff)
            return datum_fail(c);
    }
}

static bool skip_value(struct cursor *c, int depth);

/* Skip to the terminator; a map has an even number of data, keys ascending. */
static bool skip_items(struct cursor *c, bool map, int depth)
{
    struct slice last = SLICE_EMPTY;
    while (c->p < c->end && *c->p != SAW_DATUM_END) {
        const char *begin = c->p;
        struct slice key;
        if (!skip_value(c, depth))
            return false;
        if (!map)
            continue;
        key = slice_make(begin, (size_t)(c->p - begin));
        if (slice_cmp(last, key) >= 0 || !skip_value(c, depth))
            return datum_fail(c);
        last = key;
    }
    if (c->p >= c->end)
        return datum_fail(c);
    c->p++;
    return true;
}

static bool skip_value(struct cursor *c, int depth)
{
    uint8_t tag = cursor_u8(c);
    if (c->bad || depth >= SAW_DATUM_DEPTH_MAX)
        return datum_fail(c);
    switch (tag) {
    case SAW_DATUM_BOOL:
        if (cursor_u8(c) > 1)
            return datum_fail(c);
        return !c->bad;
    case SAW_DATUM_INT:
    case SAW_DATUM_UINT:
    case SAW_DATUM_FLOAT:
    case SAW_DATUM_TIME:
    case SAW_DATUM_FINGERPRINT: cursor_bytes(c, 8); return !c->bad;
    case SAW_DATUM_STRING:
    case SAW_DATUM_BYTES: return skip_text(c);
    case SAW_DATUM_ARRAY:
    case SAW_DATUM_TUPLE: return skip_items(c, false, depth + 1);
    case SAW_DATUM_MAP: return skip_items(c, true, depth + 1);
    default: return datum_fail(c);
    }
}

struct slice saw_datum_skip(struct cursor *c)
{
    const char *begin = c->p;
    if (!skip_value(c, 0))
        return SLICE_EMPTY;
    return slice_make(begin, (size_t)(c->p - begin));
}

bool saw_datum_valid(struct slice s)
{
    struct cursor c = cursor_make(s);
    saw_datum_skip(&c);
    return !c.bad && c.p == c.end;
}

uint64_t saw_datum_word(struct slice d)
{
    PRE(d.len >= SAW_DATUM_WORD_BYTES);
    return get_be64(d.data + 1);
}

int64_t saw_datum_int(struct slice d)
{
    return (int64_t)(saw_datum_word(d) ^ SIGN_BIT);
}

double saw_datum_float(struct slice d)
{
    return word_to_float(saw_datum_word(d));
}

double saw_datum_number(struct slice d)
{
    switch (saw_datum_tag(d)) {
    case SAW_DATUM_INT: return (double)saw_datum_int(d);
    case SAW_DATUM_FLOAT: return saw_datum_float(d);
    case SAW_DATUM_UINT:
    case SAW_DATUM_TIME: return (double)saw_datum_word(d);
    default: return 0;
    }
}

void saw_datum_text(struct slice d, struct buf *out)
{
    struct slice s = slice_sub(d, 1, d.len);
    for (;;) {
        size_t n = slice_find_byte(s, '\0');
        INVARIANT(n + 1 < s.len);
        buf_append(out, s.data, n);
        if (s.data[n + 1] == 1)
            return;
        buf_append_byte(out, '\0');
        s = slice_sub(s, n + 2, s.len);
    }
}

/* --- adding -------------------------------------------------------------- */

static bool add_value(struct cursor *a, struct cursor *b, struct buf *out);

static bool at_end(const struct cursor *c)
{
    return *c->p == SAW_DATUM_END;
}

static struct slice datum_take(struct cursor *c)
{
    struct slice s = saw_datum_skip(c);
    INVARIANT(!c->bad);
    return s;
}

static bool
add_words(uint8_t tag, struct slice a, struct slice b, struct buf *out)
{
    uint64_t x = saw_datum_word(a);
    uint64_t y = saw_datum_word(b);
    switch (tag) {
    case SAW_DATUM_INT: put_word(out, tag, x + (y ^ SIGN_BIT)); return true;
    case SAW_DATUM_UINT:
    case SAW_DATUM_TIME: put_word(out, tag, x + y); return true;
    case SAW_DATUM_FLOAT:
        saw_datum_put_float(out, word_to_float(x) + word_to_float(y));
        return true;
    default: return false;
    }
}

static bool add_fields(struct cursor *a, struct cursor *b, struct buf *out)
{
    while (!at_end(a) && !at_end(b)) {
        if (!add_value(a, b, out))
            return false;
    }
    if (!at_end(a) || !at_end(b))
        return false;
    a->p++;
    b->p++;
    saw_datum_put_end(out);
    return true;
}

/* Both maps have ascending keys: a merge, adding where keys meet. */
static bool add_maps(struct cursor *a, struct cursor *b, struct buf *out)
{
    while (!at_end(a) || !at_end(b)) {
        struct cursor at_a = *a;
        struct cursor at_b = *b;
        struct slice ka = at_end(a) ? SLICE_EMPTY : datum_take(a);
        struct slice kb = at_end(b) ? SLICE_EMPTY : datum_take(b);
        int order = slice_cmp(ka, kb);
        if (kb.len == 0 || (ka.len != 0 && order < 0)) {
            *b = at_b;
            buf_append_slice(out, ka);
            buf_append_slice(out, datum_take(a));
        } else if (ka.len == 0 || order > 0) {
            *a = at_a;
            buf_append_slice(out, kb);
            buf_append_slice(out, datum_take(b));
        } else {
            buf_append_slice(out, ka);
            if (!add_value(a, b, out))
                return false;
        }
    }
    a->p++;
    b->p++;
    saw_datum_put_end(out);
    return true;
}

static bool add_value(struct cursor *a, struct cursor *b, struct buf *out)
{
    uint8_t tag = (uint8_t)*a->p;
    if (tag != (uint8_t)*b->p)
        return false;
    if (tag < SAW_DATUM_ARRAY) {
        struct slice x = datum_take(a);
        struct slice y = datum_take(b);
        if (tag < SAW_DATUM_INT || tag > SAW_DATUM_TIME)
            return false;
        return add_words(tag, x, y, out);
    }
    a->p++;
    b->p++;
    buf_append_byte(out, (char)tag);
    return tag == SAW_DATUM_MAP ? add_maps(a, b, out) : add_fields(a, b, out);
}

bool saw_datum_add(struct slice a, struct slice b, struct buf *out)
{
    size_t before = out->len;
    struct cursor ca = cursor_make(a);
    struct cursor cb = cursor_make(b);
    PRE(a.len > 0 && b.len > 0);
    if (add_value(&ca, &cb, out))
        return true;
    buf_truncate(out, before);
    return false;
}

static void zero_value(struct cursor *c, struct buf *out)
{
    uint8_t tag = (uint8_t)*c->p;
    if (tag == SAW_DATUM_ARRAY || tag == SAW_DATUM_TUPLE) {
        c->p++;
        buf_append_byte(out, (char)tag);
        while (!at_end(c))
            zero_value(c, out);
        c->p++;
        saw_datum_put_end(out);
        return;
    }
    datum_take(c);
    if (tag == SAW_DATUM_MAP) {
        buf_append_byte(out, (char)tag);
        saw_datum_put_end(out);
    } else if (tag == SAW_DATUM_FLOAT) {
        saw_datum_put_float(out, 0);
    } else if (tag == SAW_DATUM_INT) {
        saw_datum_put_int(out, 0);
    } else if (tag >= SAW_DATUM_STRING) {
        saw_datum_put_text(out, (enum saw_datum_tag)tag, SLICE_EMPTY);
    } else if (tag == SAW_DATUM_BOOL) {
        saw_datum_put_bool(out, false);
    } else {
        put_word(out, tag, 0);
    }
}

void saw_datum_zero(struct slice d, struct buf *out)
{
    struct cursor c = cursor_make(d);
    zero_value(&c, out);
}

/* PRE: what is left of @c begins with a valid datum. */
static bool negate_value(struct cursor *c, struct buf *out)
{
    uint8_t tag = (uint8_t)*c->p;
    struct slice d;

    if (tag == SAW_DATUM_TUPLE) {
        c->p++;
        buf_append_byte(out, (char)tag);
        while (!at_end(c)) {
            if (!negate_value(c, out))
                return false;
        }
        c->p++;
        buf_append_byte(out, SAW_DATUM_END);
        return true;
    }
    d = saw_datum_skip(c);
    if (tag == SAW_DATUM_INT)
        saw_datum_put_int(out, (int64_t)(0 - (uint64_t)saw_datum_int(d)));
    else if (tag == SAW_DATUM_UINT || tag == SAW_DATUM_TIME)
        saw_datum_put_word(out, (enum saw_datum_tag)tag, 0 - saw_datum_word(d));
    else
        return false;
    return true;
}

bool saw_datum_negate(struct slice d, struct buf *out)
{
    struct cursor c = cursor_make(d);
    return saw_datum_valid(d) && negate_value(&c, out);
}

/* --- printing ------------------------------------------------------------ */

static void print_value(struct cursor *c, struct buf *out);

static void print_items(struct cursor *c, bool map, struct buf *out)
{
    const char *before = "";
    while (!at_end(c)) {
        buf_append_str(out, before);
        print_value(c, out);
        if (map) {
            buf_append_str(out, ": ");
            print_value(c, out);
        }
        before = ", ";
    }
    c->p++;
}

static void print_composite(struct cursor *c, uint8_t tag, struct buf *out)
{
    c->p++;
    if (tag == SAW_DATUM_MAP && at_end(c)) {
        buf_append_str(out, "{:}");
        c->p++;
        return;
    }
    buf_append_str(out, "{ ");
    print_items(c, tag == SAW_DATUM_MAP, out);
    buf_append_str(out, " }");
}

/* The language knows no sign of NaN. */
static void print_float(double v, struct buf *out)
{
    if (isnan(v))
        buf_append_str(out, "nan");
    else
        buf_printf(out, "%.15g", v);
}

static void print_value(struct cursor *c, struct buf *out)
{
    uint8_t tag = (uint8_t)*c->p;
    struct slice d;
    if (tag >= SAW_DATUM_ARRAY) {
        print_composite(c, tag, out);
        return;
    }
    d = datum_take(c);
    switch (tag) {
    case SAW_DATUM_BOOL:
        buf_append_str(out, d.data[1] ? "true" : "false");
        break;
    case SAW_DATUM_INT:
        buf_printf(out, "%lld", (long long)saw_datum_int(d));
        break;
    case SAW_DATUM_FLOAT: print_float(saw_datum_float(d), out); break;
    case SAW_DATUM_STRING:
    case SAW_DATUM_BYTES: saw_datum_text(d, out); break;
    default:
        buf_printf(out, "%llu", (unsigned long long)saw_datum_word(d));
        break;
    }
}

void saw_datum_print(struct slice d, struct buf *out)
{
    struct cursor c = cursor_make(d);
    PRE(d.len > 0);
    if (saw_datum_tag(d) == SAW_DATUM_TUPLE) {
        c.p++;
        print_items(&c, false, out);
    } else {
        print_value(&c, out);
    }
}
