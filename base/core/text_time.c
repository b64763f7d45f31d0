/* Points in time as text: RFC 3339, and the proleptic Gregorian calendar by
 * arithmetic on days (Howard Hinnant's algorithms). gmtime() and mktime()
 * are not used: they depend on the time zone and on the width of time_t. */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/text.h"

#define US_PER_S   INT64_C(1000000)
#define US_PER_DAY (86400 * US_PER_S)

/* --- calendar ------------------------------------------------------------ */

/* Years are counted from March, so that the leap day is the last of its year,
 * in eras of 400 years, which all have the same number of days. */
#define DAYS_PER_ERA 146097
/* Days from 0000-03-01 to 1970-01-01. */
#define DAYS_TO_1970 719468

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t text_days_from_date(int64_t year, unsigned month, unsigned day)
{
    int64_t y = year - (month <= 2);
    int64_t era = floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 -
           year_of_era / 100 + day_of_year - DAYS_TO_1970;
}

void text_date_from_days(int64_t days,
                         int64_t *year,
                         unsigned *month,
                         unsigned *day)
{
    int64_t era = floor_div(days + DAYS_TO_1970, DAYS_PER_ERA);
    int64_t doe = days + DAYS_TO_1970 - era * DAYS_PER_ERA;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t m = (5 * doy + 2) / 153;
    *day = (unsigned)(doy - (153 * m + 2) / 5 + 1);
    *month = (unsigned)(m < 10 ? m + 3 : m - 9);
    *year = yoe + era * 400 + (*month <= 2);
}

/* --- printing ------------------------------------------------------------ */

/* Exact also for the lowest value: works on quotient and remainder. */
static void put_seconds(struct buf *b, int64_t us)
{
    int64_t s = us / US_PER_S;
    long long fraction = llabs((long long)(us % US_PER_S));
    buf_printf(b, "@%s%lld", us < 0 && s == 0 ? "-" : "", (long long)s);
    if (fraction)
        buf_printf(b, ".%06lld", fraction);
}

void text_put_time(struct buf *b, int64_t us)
{
    int64_t days = floor_div(us, US_PER_DAY);
    int64_t rest;
    int64_t year;
    unsigned month;
    unsigned day;
    text_date_from_days(days, &year, &month, &day);
    if (year < 0 || year > 9999) {
        put_seconds(b, us);
        return;
    }
    rest = us - days * US_PER_DAY;
    buf_printf(b, "%04d-%02u-%02uT%02d:%02d:%02d", (int)year, month, day,
               (int)(rest / (3600 * US_PER_S)),
               (int)(rest / (60 * US_PER_S) % 60), (int)(rest / US_PER_S % 60));
    if (rest % US_PER_S)
        buf_printf(b, ".%06d", (int)(rest % US_PER_S));
    buf_append_byte(b, 'Z');
}

/* --- parsing ------------------------------------------------------------- */

/* Exactly @count digits. */
static bool take_number(struct slice *s, size_t count, unsigned *out)
{
    unsigned v = 0;
    if (s->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        char c = s->data[i];
        if (c < '0' || c > '9')
            return false;
        v = v * 10 + (unsigned)(c - '0');
    }
    *s = slice_sub(*s, count, s->len);
    *out = v;
    return true;
}

static bool take_char(struct slice *s, const char *any_of)
{
    for (; s->len && *any_of; any_of++) {
        if (s->data[0] == *any_of) {
            *s = slice_sub(*s, 1, s->len);
            return true;
        }
    }
    return false;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
                                         31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

static bool take_date(struct slice *s, int64_t *us)
{
    unsigned year;
    unsigned month;
    unsigned day;
    if (!take_number(s, 4, &year) || !take_char(s, "-") ||
        !take_number(s, 2, &month) || !take_char(s, "-") ||
        !take_number(s, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *us = text_days_from_date(year, month, day) * US_PER_DAY;
    return true;
}

/* ".25" in µs; digits past the sixth are cut off. */
static bool take_fraction(struct slice *s, int64_t *us)
{
    int64_t scale = US_PER_S / 10;
    unsigned digit;
    *us = 0;
    if (!take_char(s, ".,"))
        return true;
    if (!take_number(s, 1, &digit))
        return false;
    do {
        *us += (int64_t)digit * scale;
        scale /= 10;
    } while (take_number(s, 1, &digit));
    return true;
}

static bool take_clock(struct slice *s, int64_t *us)
{
    unsigned hour;
    unsigned minute;
    unsigned second = 0;
    int64_t fraction = 0;
    if (!take_number(s, 2, &hour) || !take_char(s, ":") ||
        !take_number(s, 2, &minute))
        return false;
    if (take_char(s, ":") &&
        (!take_number(s, 2, &second) || !take_fraction(s, &fraction)))
        return false;
    *us = (int64_t)(hour * 3600 + minute * 60 + second) * US_PER_S + fraction;
    return hour < 24 && minute < 60 && second <= 60; /* A leap second. */
}

static bool take_zone(struct slice *s, int64_t *us)
{
    unsigned hour;
    unsigned minute;
    bool west = s->len && s->data[0] == '-';
    *us = 0;
    if (take_char(s, "Zz"))
        return true;
    if (!take_char(s, "+-") || !take_number(s, 2, &hour) ||
        !take_char(s, ":") || !take_number(s, 2, &minute) || hour > 23 ||
        minute > 59)
        return false;
    *us = (int64_t)(hour * 60 + minute) * 60 * US_PER_S * (west ? -1 : 1);
    return true;
}

static bool parse_seconds(struct slice s, int64_t *us)
{
    bool negative = s.len && s.data[0] == '-';
    size_t whole = slice_find_byte(s, '.');
    struct slice rest = slice_sub(s, whole, s.len);
    int64_t seconds;
    int64_t fraction;
    if (text_parse_i64(slice_sub(s, 0, whole), &seconds, NULL) ||
        !take_fraction(&rest, &fraction) || rest.len)
        return false;
    return !__builtin_mul_overflow(seconds, US_PER_S, us) &&
           !__builtin_add_overflow(*us, negative ? -fraction : fraction, us);
}

static bool parse_rfc3339(struct slice s, int64_t *us)
{
    int64_t date;
    int64_t clock = 0;
    int64_t zone = 0;
    if (!take_date(&s, &date))
        return false;
    if (s.len && (!take_char(&s, "Tt ") || !take_clock(&s, &clock) ||
                  !take_zone(&s, &zone) || s.len))
        return false;
    *us = date + clock - zone;
    return true;
}

int text_parse_time(struct slice s, int64_t *us, struct err *err)
{
    int64_t v;
    bool good = s.len && s.data[0] == '@'
                    ? parse_seconds(slice_sub(s, 1, s.len), &v)
                    : parse_rfc3339(s, &v);
    if (!good)
        return err_set(err, ERR_INVALID,
                       "time \"%.*s\": expected 2024-01-31T12:00:00Z, "
                       "2024-01-31 or @seconds",
                       (int)MIN_OF(s.len, (size_t)80), s.data ? s.data : "");
    *us = v;
    return 0;
}
