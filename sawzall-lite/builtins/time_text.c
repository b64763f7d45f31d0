/* Times to and from text in the language's notation, with the leniency of the
 * published interpreter: weekday and zone may be missing; see time.h. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "sawzall-lite/builtins/time.h"

#define FIELD_COUNT_MAX 6
#define TEXT_BYTES_MAX  200

const char *const saw_day_names[7] = {"Sunday",    "Monday",   "Tuesday",
                                      "Wednesday", "Thursday", "Friday",
                                      "Saturday"};
const char *const saw_month_names[12] = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

bool saw_time_to_local(struct saw_ctx *ctx,
                       uint64_t t,
                       struct slice tz,
                       struct saw_civil *c,
                       struct saw_zone_offset *at)
{
    static const uint64_t end = (uint64_t)SAW_TIME_SECONDS_END * 1000000;
    struct saw_zone_use use;
    struct saw_zone_offset offset;
    int64_t seconds = (int64_t)(t / 1000000);

    if (t >= end || !saw_zone_find(ctx, tz, &use))
        return false;
    offset = saw_zone_at(&use, seconds);
    saw_civil_from_seconds(seconds + offset.seconds, c);
    c->microsecond = (int64_t)(t % 1000000);
    if (at)
        *at = offset;
    return true;
}

static bool time_text_reasonable(int64_t v)
{
    return v > -1000000000 && v < 1000000000;
}

bool saw_time_from_local(struct saw_ctx *ctx,
                         const struct saw_civil *c,
                         struct slice tz,
                         int dst,
                         bool literally,
                         uint64_t *t)
{
    struct saw_zone_use use;
    int64_t local;
    int64_t utc;

    if (!time_text_reasonable(c->year) || !time_text_reasonable(c->month) ||
        !time_text_reasonable(c->day) || !time_text_reasonable(c->hour) ||
        !saw_zone_find(ctx, tz, &use))
        return false;
    local = saw_civil_seconds(c);
    if (!use.zone || (literally && use.named_dst >= 0))
        utc = local - use.offset;
    else
        utc = saw_zone_to_utc(&use, local,
                              use.named_dst >= 0 ? use.named_dst : dst);
    if (utc < 0 || utc >= SAW_TIME_SECONDS_END)
        return false;
    *t = (uint64_t)utc * 1000000 + (uint64_t)c->microsecond;
    return true;
}

bool saw_time_print(struct saw_ctx *ctx,
                    uint64_t t,
                    struct slice tz,
                    struct buf *out)
{
    return saw_time_format(ctx, slice_str("%a %b %e %H:%M:%S %Z %Y"), t, tz,
                           out);
}

/* --- parsing ------------------------------------------------------------- */

struct fields {
    struct slice v[FIELD_COUNT_MAX];
    size_t count;
};

static bool time_text_split(struct slice text, struct fields *f)
{
    f->count = 0;
    for (;;) {
        size_t n = 0;
        text = slice_trim(text);
        if (text.len == 0)
            return true;
        if (f->count == FIELD_COUNT_MAX)
            return false;
        while (n < text.len && !strchr(" \t\r\n", text.data[n]))
            n++;
        f->v[f->count++] = slice_sub(text, 0, n);
        text = slice_sub(text, n, text.len);
    }
}

/* Index of the name with these three letters, or -1. */
static int index_of(struct slice s, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (s.len == 3 && strncasecmp(s.data, names[i], 3) == 0)
            return i;
    }
    return -1;
}

/* The digits at the beginning; 0 when there are none. */
static int64_t leading_number(struct slice *s)
{
    int64_t v = 0;
    while (s->len > 0 && isdigit((unsigned char)s->data[0])) {
        if (v < 1000000)
            v = v * 10 + (s->data[0] - '0');
        *s = slice_sub(*s, 1, s->len);
    }
    return v;
}

static bool skip_char(struct slice *s, char c)
{
    if (s->len == 0 || s->data[0] != c)
        return false;
    *s = slice_sub(*s, 1, s->len);
    return true;
}

/* hh[:mm[:ss[.fraction]]]; the fraction is rounded to microseconds. */
static void parse_clock(struct slice s, struct saw_civil *c)
{
    int64_t scale = 100000;
    c->hour = leading_number(&s);
    if (!skip_char(&s, ':'))
        return;
    c->minute = leading_number(&s);
    if (!skip_char(&s, ':'))
        return;
    c->second = leading_number(&s);
    if (!skip_char(&s, '.'))
        return;
    for (; s.len > 0 && isdigit((unsigned char)s.data[0]);
         s = slice_sub(s, 1, s.len)) {
        if (scale > 0)
            c->microsecond += (s.data[0] - '0') * scale;
        else if (scale == 0)
            c->microsecond += s.data[0] >= '5';
        scale = scale > 0 ? scale / 10 : -1;
    }
    if (c->microsecond == 1000000) {
        c->microsecond = 0;
        c->second++;
    }
}

static bool parse_year(struct slice s, struct saw_civil *c)
{
    size_t digits = s.len;
    c->year = leading_number(&s);
    if (digits == 2)
        c->year += 1900;
    return digits >= 2;
}

/* "Mon DD clock [zone] year", or "DD Mon year clock [zone]". */
static bool parse_fields(const struct slice *f,
                         size_t n,
                         struct saw_civil *c,
                         struct slice *zone)
{
    struct slice day;
    int month;
    if (n < 4 || n > 5)
        return false;
    month = index_of(f[0], saw_month_names, 12);
    if (month >= 0) {
        day = f[1];
        parse_clock(f[2], c);
        if (n == 5)
            *zone = f[3];
        c->month = month;
        c->day = leading_number(&day);
        return parse_year(f[n - 1], c);
    }
    day = f[0];
    c->day = leading_number(&day);
    c->month = index_of(f[1], saw_month_names, 12);
    parse_clock(f[3], c);
    if (n == 5)
        *zone = f[4];
    return c->month >= 0 && parse_year(f[2], c);
}

bool saw_time_parse(struct saw_ctx *ctx,
                    struct slice text,
                    struct slice tz,
                    uint64_t *t)
{
    struct fields f;
    struct saw_civil c = {.year = 1970, .day = 1};
    struct slice first;
    struct slice zone = SLICE_EMPTY;
    size_t skip;

    if (text.len > TEXT_BYTES_MAX || !time_text_split(text, &f) || f.count < 4)
        return false;
    first = slice_sub(f.v[0], 0, slice_find_byte(f.v[0], ','));
    skip = index_of(first, saw_day_names, 7) >= 0;
    if (!parse_fields(f.v + skip, f.count - skip, &c, &zone))
        return false;
    return saw_time_from_local(ctx, &c, zone.len ? zone : tz, -1, true, t);
}
