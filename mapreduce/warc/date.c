/* Dates of archives as microseconds since 1970. The calendar is the proleptic
 * Gregorian one, counted in eras of 400 years. WARC/1.1 (ISO 28500, section
 * 5.4) allows a date to end at any component, so each form is parsed part by
 * part. */
#include "mapreduce/warc/date.h"

#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"

#define SECOND_US ((int64_t)1000000)
#define DAY_S     ((int64_t)86400)

struct parts {
    int year, month, day, hour, minute, second;
    int64_t fraction_us;
    int64_t span_us;
    int offset_minutes;
};

static int64_t days_from_civil(int y, int m, int d)
{
    int64_t yy = y - (m <= 2);
    int64_t era = (yy >= 0 ? yy : yy - 399) / 400;
    int64_t yoe = yy - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static int days_in_month(int y, int m)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m == 2 && leap ? 29 : days[m - 1];
}

static bool date_finish(const struct parts *p, int64_t *us)
{
    int64_t s;
    if (p->year < 1 || p->month < 1 || p->month > 12 || p->day < 1 ||
        p->day > days_in_month(p->year, p->month) || p->hour > 23 ||
        p->minute > 59 || p->second > 60)
        return false;
    s = days_from_civil(p->year, p->month, p->day) * DAY_S + p->hour * 3600 +
        p->minute * 60 + p->second - p->offset_minutes * 60;
    *us = s * SECOND_US + p->fraction_us;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly @count digits from *@s into *@v. */
static bool date_digits(struct slice *s, size_t count, int *v)
{
    int n = 0;
    if (s->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(s->data[i]))
            return false;
        n = n * 10 + (s->data[i] - '0');
    }
    *v = n;
    *s = slice_sub(*s, count, s->len);
    return true;
}

static bool date_eat(struct slice *s, char c)
{
    if (s->len == 0 || s->data[0] != c)
        return false;
    *s = slice_sub(*s, 1, s->len);
    return true;
}

/* Digits of a fraction of a second; those beyond the sixth are dropped. */
static bool date_fraction(struct slice *s, struct parts *p)
{
    int64_t unit = SECOND_US;
    size_t n = 0;
    for (; s->len && is_digit(s->data[0]); n++) {
        unit /= 10;
        p->fraction_us += (s->data[0] - '0') * unit;
        p->span_us = unit > 1 ? unit : 1;
        *s = slice_sub(*s, 1, s->len);
    }
    return n > 0;
}

/* "Z", "+01:00", "-0130", or nothing. */
static bool date_zone(struct slice *s, struct parts *p)
{
    bool west;
    int h;
    int m = 0;
    if (s->len == 0 || date_eat(s, 'Z') || date_eat(s, 'z'))
        return s->len == 0;
    west = s->data[0] == '-';
    if (!date_eat(s, '+') && !date_eat(s, '-'))
        return false;
    if (!date_digits(s, 2, &h))
        return false;
    date_eat(s, ':');
    if (s->len && !date_digits(s, 2, &m))
        return false;
    p->offset_minutes = (h * 60 + m) * (west ? -1 : 1);
    return s->len == 0 && h < 24 && m < 60;
}

/* After the day: "T20:06:24.123Z" in any of its lengths. */
static bool clock_part(struct slice *s, struct parts *p)
{
    if (!date_eat(s, 'T') && !date_eat(s, 't') && !date_eat(s, ' '))
        return date_zone(s, p);
    if (!date_digits(s, 2, &p->hour))
        return false;
    p->span_us = 3600 * SECOND_US;
    if (!date_eat(s, ':'))
        return date_zone(s, p);
    if (!date_digits(s, 2, &p->minute))
        return false;
    p->span_us = 60 * SECOND_US;
    if (!date_eat(s, ':'))
        return date_zone(s, p);
    if (!date_digits(s, 2, &p->second))
        return false;
    p->span_us = SECOND_US;
    if ((date_eat(s, '.') || date_eat(s, ',')) && !date_fraction(s, p))
        return false;
    return date_zone(s, p);
}

static bool date_iso(struct slice s, struct parts *p)
{
    p->span_us = 366 * DAY_S * SECOND_US;
    if (!date_digits(&s, 4, &p->year))
        return false;
    if (!date_eat(&s, '-'))
        return s.len == 0;
    if (!date_digits(&s, 2, &p->month))
        return false;
    p->span_us = 31 * DAY_S * SECOND_US;
    if (!date_eat(&s, '-'))
        return s.len == 0;
    if (!date_digits(&s, 2, &p->day))
        return false;
    p->span_us = DAY_S * SECOND_US;
    return clock_part(&s, p);
}

/* "20140126200624", 6 to 14 digits, or more: a fraction. */
static bool date_compact(struct slice s, struct parts *p)
{
    static const int64_t spans[] = {31 * 86400, 86400, 3600, 60, 1};
    int *const to[] = {&p->month, &p->day, &p->hour, &p->minute, &p->second};
    if (s.len < 6 || s.len > 23 || !date_digits(&s, 4, &p->year))
        return false;
    for (size_t i = 0; i < 5 && s.len >= 2; i++) {
        if (!date_digits(&s, 2, to[i]))
            return false;
        p->span_us = spans[i] * SECOND_US;
    }
    date_eat(&s, '.');
    if (s.len && !date_fraction(&s, p))
        return false;
    date_eat(&s, 'Z');
    return s.len == 0;
}

bool date_parse_span(struct slice s, int64_t *us, int64_t *span_us)
{
    struct parts p = {.month = 1, .day = 1};
    bool ok;
    s = slice_trim(s);
    ok = s.len > 4 && is_digit(s.data[4]) ? date_compact(s, &p)
                                          : date_iso(s, &p);
    ok = ok && date_finish(&p, us);
    if (ok)
        *span_us = p.span_us;
    return ok;
}

bool date_parse(struct slice s, int64_t *us)
{
    int64_t span;
    return date_parse_span(s, us, &span);
}

/* --- HTTP and logs ------------------------------------------------------- */

static bool month_name(struct slice *s, int *month)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (s->len < 3)
        return false;
    for (int m = 0; m < 12; m++) {
        int i = 0;
        while (i < 3 && (s->data[i] | 0x20) == names[m * 3 + i])
            i++;
        if (i == 3) {
            *month = m + 1;
            *s = slice_sub(*s, 3, s->len);
            return true;
        }
    }
    return false;
}

static void date_blanks(struct slice *s)
{
    while (s->len && (s->data[0] == ' ' || s->data[0] == '-'))
        *s = slice_sub(*s, 1, s->len);
}

static bool clock_hms(struct slice *s, struct parts *p)
{
    return date_digits(s, 2, &p->hour) && date_eat(s, ':') &&
           date_digits(s, 2, &p->minute) && date_eat(s, ':') &&
           date_digits(s, 2, &p->second);
}

static bool day_of_month(struct slice *s, int *day)
{
    return date_digits(s, s->len > 1 && is_digit(s->data[1]) ? 2 : 1, day);
}

/* "Nov  6 08:49:37 1994" */
static bool asctime_form(struct slice s, struct parts *p)
{
    if (!month_name(&s, &p->month))
        return false;
    date_blanks(&s);
    if (!day_of_month(&s, &p->day))
        return false;
    date_blanks(&s);
    if (!clock_hms(&s, p))
        return false;
    date_blanks(&s);
    return date_digits(&s, 4, &p->year);
}

bool date_parse_http(struct slice s, int64_t *us)
{
    struct parts p = {0};
    s = slice_trim(s);
    /* The day of the week is ignored. */
    while (s.len && !is_digit(s.data[0]) && s.data[0] != ' ')
        s = slice_sub(s, 1, s.len);
    date_blanks(&s);
    if (s.len && !is_digit(s.data[0]))
        return asctime_form(s, &p) && date_finish(&p, us);
    if (!day_of_month(&s, &p.day))
        return false;
    date_blanks(&s);
    if (!month_name(&s, &p.month))
        return false;
    date_blanks(&s);
    if (s.len >= 4 && is_digit(s.data[2])) {
        if (!date_digits(&s, 4, &p.year))
            return false;
    } else if (date_digits(&s, 2, &p.year)) {
        p.year += p.year < 70 ? 2000 : 1900;
    } else {
        return false;
    }
    date_blanks(&s);
    return clock_hms(&s, &p) && date_finish(&p, us);
}

bool date_parse_log(struct slice s, int64_t *us)
{
    struct parts p = {0};
    if (!date_digits(&s, 2, &p.day) || !date_eat(&s, '/') ||
        !month_name(&s, &p.month) || !date_eat(&s, '/') ||
        !date_digits(&s, 4, &p.year) || !date_eat(&s, ':') ||
        !clock_hms(&s, &p))
        return false;
    date_eat(&s, ' ');
    return date_zone(&s, &p) && date_finish(&p, us);
}

/* --- back ---------------------------------------------------------------- */

static void date_split(int64_t us, struct parts *p)
{
    int64_t s = us / SECOND_US - (us % SECOND_US < 0);
    int64_t days = s / DAY_S - (s % DAY_S < 0);
    int64_t rest = s - days * DAY_S;
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    p->day = (int)(doy - (153 * mp + 2) / 5 + 1);
    p->month = (int)(mp < 10 ? mp + 3 : mp - 9);
    p->year = (int)(yoe + era * 400 + (p->month <= 2));
    p->hour = (int)(rest / 3600);
    p->minute = (int)(rest / 60 % 60);
    p->second = (int)(rest % 60);
    p->fraction_us = us - s * SECOND_US;
}

static size_t date_format_parts(const struct parts *p,
                                bool fraction,
                                char out[DATE_TEXT_BYTES])
{
    char text[128] = "";
    int n = snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d",
                     p->year, p->month, p->day, p->hour, p->minute, p->second);
    if (fraction)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ".%06d",
                      (int)p->fraction_us);
    n = MIN_OF(n, DATE_TEXT_BYTES - 2);
    memcpy(out, text, (size_t)n);
    out[n++] = 'Z';
    out[n] = '\0';
    return (size_t)n;
}

size_t date_format(int64_t us, char out[DATE_TEXT_BYTES])
{
    struct parts p = {0};
    date_split(us, &p);
    return date_format_parts(&p, p.fraction_us != 0, out);
}

size_t date_format_us(int64_t us, char out[DATE_TEXT_BYTES])
{
    struct parts p = {0};
    date_split(us, &p);
    return date_format_parts(&p, true, out);
}

void date_format_14(int64_t us, char out[DATE_TEXT_BYTES])
{
    struct parts p = {0};
    char text[128] = "";
    date_split(us, &p);
    snprintf(text, sizeof(text), "%04d%02d%02d%02d%02d%02d", p.year, p.month,
             p.day, p.hour, p.minute, p.second);
    memcpy(out, text, DATE_TEXT_BYTES - 1);
    out[DATE_TEXT_BYTES - 1] = '\0';
}
