/* POSIX TZ rules: parsing, and the offset at a time; see zone_rule.h. Dates of
 * change are computed for the year asked about, so the rule holds for ever. */
#include "sawzall-lite/builtins/zone_rule.h"

#include <ctype.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/civil.h"

/* Most hours a rule's offset or time may have (RFC 8536). */
#define RULE_HOURS_MAX 167

struct scan {
    const char *p;
    const char *end;
    bool bad;
};

static bool next_is(struct scan *s, char c)
{
    if (s->p < s->end && *s->p == c) {
        s->p++;
        return true;
    }
    return false;
}

static int zone_rule_number(struct scan *s, int max)
{
    int v = 0;
    const char *begin = s->p;
    while (s->p < s->end && isdigit((unsigned char)*s->p) && v <= max)
        v = v * 10 + (*s->p++ - '0');
    if (s->p == begin || v > max)
        s->bad = true;
    return v;
}

/* "PST", or "<+0330>". */
static void zone_rule_name(struct scan *s, char *out)
{
    bool quoted = next_is(s, '<');
    const char *begin = s->p;
    size_t n;
    while (s->p < s->end &&
           (quoted ? *s->p != '>' : isalpha((unsigned char)*s->p) != 0))
        s->p++;
    n = (size_t)(s->p - begin);
    if (n < 3 || n >= SAW_ZONE_NAME_BYTES || (quoted && !next_is(s, '>'))) {
        s->bad = true;
        return;
    }
    memcpy(out, begin, n);
    out[n] = '\0';
}

/* [+-]hh[:mm[:ss]] as seconds. */
static int32_t clock_time(struct scan *s)
{
    bool minus = next_is(s, '-');
    int32_t v;
    if (!minus)
        next_is(s, '+');
    v = zone_rule_number(s, RULE_HOURS_MAX) * 3600;
    if (next_is(s, ':'))
        v += zone_rule_number(s, 59) * 60;
    if (next_is(s, ':'))
        v += zone_rule_number(s, 59);
    return minus ? -v : v;
}

static void zone_rule_date(struct scan *s, struct saw_zone_date *d)
{
    d->second = 2 * 3600;
    if (next_is(s, 'M')) {
        d->form = 'M';
        d->month = zone_rule_number(s, 12);
        s->bad |= !next_is(s, '.');
        d->week = zone_rule_number(s, 5);
        s->bad |= !next_is(s, '.');
        d->day = zone_rule_number(s, 6);
        s->bad |= d->month == 0 || d->week == 0;
    } else {
        d->form = next_is(s, 'J') ? 'J' : 'n';
        d->day = zone_rule_number(s, 365);
        s->bad |= d->form == 'J' && d->day == 0;
    }
    if (next_is(s, '/'))
        d->second = clock_time(s);
}

bool saw_zone_rule_parse(struct slice text, struct saw_zone_rule *r)
{
    struct scan s = {text.data, text.data + text.len, false};
    *r = (struct saw_zone_rule){0};
    zone_rule_name(&s, r->std_name);
    r->std_offset = -clock_time(&s);
    if (s.bad || s.p == s.end)
        return !s.bad;
    zone_rule_name(&s, r->dst_name);
    r->has_dst = true;
    r->dst_offset = r->std_offset + 3600;
    if (s.p < s.end && *s.p != ',')
        r->dst_offset = -clock_time(&s);
    s.bad |= !next_is(&s, ',');
    zone_rule_date(&s, &r->start);
    s.bad |= !next_is(&s, ',');
    zone_rule_date(&s, &r->end);
    return !s.bad && s.p == s.end;
}

/* Days since 1970 of the date in @year. */
static int64_t day_in(const struct saw_zone_date *d, int64_t year)
{
    struct saw_civil first;
    int64_t day;
    if (d->form == 'J')
        return saw_civil_days(year, 0, d->day) +
               (saw_civil_is_leap(year) && d->day >= 60);
    if (d->form == 'n')
        return saw_civil_days(year, 0, 1) + d->day;
    day = saw_civil_days(year, d->month - 1, 1);
    saw_civil_from_days(day, &first);
    day += (d->day - first.weekday + 7) % 7 + 7 * (d->week - 1);
    if (day >= saw_civil_days(year, d->month, 1))
        day -= 7; /* Week 5 of a month that has four. */
    POST(day >= saw_civil_days(year, d->month - 1, 1));
    return day;
}

struct saw_zone_offset saw_zone_rule_at(const struct saw_zone_rule *r,
                                        int64_t utc)
{
    struct saw_zone_offset at = {.seconds = r->std_offset};
    struct saw_civil c;
    int64_t start;
    int64_t end;

    memcpy(at.name, r->std_name, SAW_ZONE_NAME_BYTES);
    if (!r->has_dst)
        return at;
    saw_civil_from_seconds(utc + r->std_offset, &c);
    start = day_in(&r->start, c.year) * SAW_DAY_SECONDS + r->start.second -
            r->std_offset;
    end = day_in(&r->end, c.year) * SAW_DAY_SECONDS + r->end.second -
          r->dst_offset;
    /* South of the equator summer spans the new year. */
    at.dst =
        start < end ? utc >= start && utc < end : utc >= start || utc < end;
    if (at.dst) {
        at.seconds = r->dst_offset;
        memcpy(at.name, r->dst_name, SAW_ZONE_NAME_BYTES);
    }
    return at;
}
