/* Numbers, sizes and durations as people write them. Own parsers, because
 * strtol() and its family skip spaces, accept signs and hexadecimal, and
 * depend on the locale. Sums and products are checked for overflow; the
 * integer part never passes through a double. */
#include "base/core/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/buf.h"

/* Longest number text_parse_double() looks at: longer than any sensible one. */
#define NUMBER_BYTES_MAX 128

static int text_malformed(struct err *err,
                          const char *what,
                          struct slice s,
                          const char *want)
{
    return err_set(err, ERR_INVALID, "%s \"%.*s\": expected %s", what,
                   (int)MIN_OF(s.len, (size_t)80), s.data ? s.data : "", want);
}

/* --- numbers ------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Consume the digits at the start of *s; false when there are none or too
 * many. */
static bool take_digits(struct slice *s, uint64_t *out)
{
    uint64_t v = 0;
    size_t n = 0;
    for (; n < s->len && is_digit(s->data[n]); n++)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(s->data[n] - '0'), &v))
            return false;
    *s = slice_sub(*s, n, s->len);
    *out = v;
    return n > 0;
}

int text_parse_u64(struct slice s, uint64_t *out, struct err *err)
{
    struct slice rest = s;
    uint64_t v;
    if (!take_digits(&rest, &v) || rest.len)
        return text_malformed(err, "number", s, "decimal digits below 2^64");
    *out = v;
    return 0;
}

int text_parse_i64(struct slice s, int64_t *out, struct err *err)
{
    struct slice rest = s;
    bool negative = s.len > 0 && s.data[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t v;
    if (s.len > 0 && (negative || s.data[0] == '+'))
        rest = slice_sub(s, 1, s.len);
    if (!take_digits(&rest, &v) || rest.len || v > limit)
        return text_malformed(err, "number", s, "an integer of 64 bits");
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

int text_parse_bool(struct slice s, bool *out, struct err *err)
{
    static const char *const yes[] = {"on", "true", "yes", "1"};
    static const char *const no[] = {"off", "false", "no", "0"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (slice_eq_str(s, yes[i]) || slice_eq_str(s, no[i])) {
            *out = slice_eq_str(s, yes[i]);
            return 0;
        }
    }
    return text_malformed(err, "switch", s, "on or off");
}

void text_put_count(struct buf *b, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf_append_byte(b, ',');
        buf_append_byte(b, digits[i]);
    }
}

/* --- numbers with units -------------------------------------------------- */

struct unit {
    const char *name;
    uint64_t factor;
};

/* Consume "12" or "12.5"; the fraction is separate because a double would
 * lose the low digits of the integer part. */
static bool take_decimal(struct slice *s, uint64_t *whole, double *fraction)
{
    double scale = 0.1;
    *fraction = 0;
    if (!take_digits(s, whole))
        return false;
    if (s->len < 2 || s->data[0] != '.' || !is_digit(s->data[1]))
        return true;
    *s = slice_sub(*s, 1, s->len);
    while (s->len && is_digit(s->data[0])) {
        *fraction += scale * (s->data[0] - '0');
        scale /= 10;
        *s = slice_sub(*s, 1, s->len);
    }
    return true;
}

/* whole.fraction of @factor, rounded; false when over 64 bits. */
static bool
scale_to(uint64_t whole, double fraction, uint64_t factor, uint64_t *out)
{
    uint64_t v;
    if (__builtin_mul_overflow(whole, factor, &v))
        return false;
    return !__builtin_add_overflow(
        v, (uint64_t)llround(fraction * (double)factor), out);
}

static const struct unit *
find_unit(const struct unit *units, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(units[i].name) == name.len &&
            strncasecmp(units[i].name, name.data, name.len) == 0)
            return &units[i];
    return NULL;
}

static size_t text_count_letters(struct slice s)
{
    size_t n = 0;
    while (n < s.len && ((s.data[n] | 32) >= 'a' && (s.data[n] | 32) <= 'z'))
        n++;
    return n;
}

/* --- sizes --------------------------------------------------------------- */

static const struct unit byte_units[] = {
    {"", 1},
    {"b", 1},
    {"k", UINT64_C(1) << 10},
    {"kib", UINT64_C(1) << 10},
    {"kb", 1000},
    {"m", UINT64_C(1) << 20},
    {"mib", UINT64_C(1) << 20},
    {"mb", 1000000},
    {"g", UINT64_C(1) << 30},
    {"gib", UINT64_C(1) << 30},
    {"gb", 1000000000},
    {"t", UINT64_C(1) << 40},
    {"tib", UINT64_C(1) << 40},
    {"tb", UINT64_C(1000000000000)},
    {"p", UINT64_C(1) << 50},
    {"pib", UINT64_C(1) << 50},
    {"pb", UINT64_C(1000000000000000)},
    {"e", UINT64_C(1) << 60},
    {"eib", UINT64_C(1) << 60},
    {"eb", UINT64_C(1000000000000000000)},
};

int text_parse_bytes(struct slice s, uint64_t *out, struct err *err)
{
    struct slice rest = s;
    const struct unit *u = NULL;
    uint64_t whole;
    uint64_t v;
    double fraction;
    if (take_decimal(&rest, &whole, &fraction)) {
        if (rest.len > 1 && rest.data[0] == ' ')
            rest = slice_sub(rest, 1, rest.len);
        u = find_unit(byte_units, ARRAY_LEN(byte_units), rest);
    }
    if (!u || !scale_to(whole, fraction, u->factor, &v))
        return text_malformed(err, "size", s,
                              "bytes such as 4096, 64KiB or 1.5GiB");
    *out = v;
    return 0;
}

void text_put_bytes(struct buf *b, uint64_t bytes)
{
    static const char names[] = "KMGTPE";
    int power = 0;
    double v = (double)bytes;
    if (bytes < 1024) {
        buf_printf(b, "%llu B", (unsigned long long)bytes);
        return;
    }
    /* 1023.95 would print as 1024.0. */
    while (v >= 1023.95 && power < 6) {
        v /= 1024;
        power++;
    }
    buf_printf(b,
               bytes % 1024 == 0 && v < 1024 && v >= 1 && !(v > floor(v))
                   ? "%.0f %ciB"
                   : "%.1f %ciB",
               v, names[power - 1]);
}

/* --- durations ----------------------------------------------------------- */

#define US_PER_S UINT64_C(1000000)

static const struct unit time_units[] = {
    {"us", 1},
    {"ms", 1000},
    {"s", US_PER_S},
    {"m", 60 * US_PER_S},
    {"h", 3600 * US_PER_S},
    {"d", 86400 * US_PER_S},
    {"w", 7 * 86400 * US_PER_S},
};

/* Consume one "90m" and add it to *sum. */
static bool take_duration(struct slice *s, uint64_t *sum)
{
    const struct unit *u;
    uint64_t whole;
    uint64_t v;
    double fraction;
    size_t n;
    if (!take_decimal(s, &whole, &fraction))
        return false;
    n = text_count_letters(*s);
    u = find_unit(time_units, ARRAY_LEN(time_units), slice_sub(*s, 0, n));
    *s = slice_sub(*s, n, s->len);
    return u && scale_to(whole, fraction, u->factor, &v) &&
           !__builtin_add_overflow(*sum, v, sum);
}

int text_parse_duration(struct slice s, uint64_t *us, struct err *err)
{
    struct slice rest = s;
    uint64_t sum = 0;
    bool good = s.len > 0;
    if (slice_eq_str(s, "0"))
        rest = SLICE_EMPTY;
    while (good && rest.len)
        good = take_duration(&rest, &sum);
    if (!good)
        return text_malformed(err, "duration", s,
                              "a time such as 500ms, 90s, 1h30m or 7d");
    *us = sum;
    return 0;
}

static void put_two(struct buf *b,
                    uint64_t us,
                    uint64_t major,
                    const char *major_name,
                    uint64_t minor,
                    const char *minor_name)
{
    buf_printf(b, "%llu%s%02llu%s", (unsigned long long)(us / major),
               major_name, (unsigned long long)(us % major / minor),
               minor_name);
}

void text_put_duration(struct buf *b, uint64_t us)
{
    const uint64_t minute = 60 * US_PER_S;
    if (us < 1000)
        buf_printf(b, "%lluus", (unsigned long long)us);
    else if (us < US_PER_S)
        buf_printf(b, "%.4gms", (double)us / 1000);
    else if (us < minute)
        buf_printf(b, "%.4gs", (double)us / (double)US_PER_S);
    else if (us < 60 * minute)
        put_two(b, us, minute, "m", US_PER_S, "s");
    else if (us < 24 * 60 * minute)
        put_two(b, us, 60 * minute, "h", minute, "m");
    else
        put_two(b, us, 24 * 60 * minute, "d", 60 * minute, "h");
}
