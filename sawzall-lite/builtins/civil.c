/* The calendar, in years that begin in March so that the leap day comes last;
 * an era is 400 years (see "chrono-compatible low-level date algorithms"). */
#include "sawzall-lite/builtins/civil.h"

#include "base/core/panic.h"

#define ERA_DAYS       146097
#define EPOCH_DAYS     719468 /* From 0000-03-01 to 1970-01-01. */
#define MARCH_IS_MONTH 2

int64_t saw_civil_days(int64_t year, int64_t month, int64_t day)
{
    int64_t months = year * 12 + month - MARCH_IS_MONTH;
    int64_t y = saw_floor_div(months, 12);
    int64_t m = months - y * 12; /* 0 is March. */
    int64_t era = saw_floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t year_day = (153 * m + 2) / 5;
    int64_t era_day =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + year_day;
    return era * ERA_DAYS + era_day - EPOCH_DAYS + day - 1;
}

bool saw_civil_is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

void saw_civil_from_days(int64_t days, struct saw_civil *c)
{
    int64_t z = days + EPOCH_DAYS;
    int64_t era = saw_floor_div(z, ERA_DAYS);
    int64_t d = z - era * ERA_DAYS;
    int64_t year = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t year_day = d - (365 * year + year / 4 - year / 100);
    int64_t m = (5 * year_day + 2) / 153;

    c->day = year_day - (153 * m + 2) / 5 + 1;
    c->month = m < 10 ? m + 2 : m - 10;
    c->year = year + era * 400 + (m >= 10);
    c->weekday = (int)(days + 4 - saw_floor_div(days + 4, 7) * 7);
    c->year_day = (int)(days - saw_civil_days(c->year, 0, 1));
    POST(c->month >= 0 && c->month < 12 && c->day >= 1 && c->day <= 31);
    POST(c->weekday >= 0 && c->weekday < 7);
    POST(c->year_day >= 0 && c->year_day < 366);
}

int64_t saw_civil_seconds(const struct saw_civil *c)
{
    return saw_civil_days(c->year, c->month, c->day) * SAW_DAY_SECONDS +
           c->hour * 3600 + c->minute * 60 + c->second;
}

void saw_civil_from_seconds(int64_t seconds, struct saw_civil *c)
{
    int64_t days = saw_floor_div(seconds, SAW_DAY_SECONDS);
    int64_t rest = seconds - days * SAW_DAY_SECONDS;
    saw_civil_from_days(days, c);
    c->hour = rest / 3600;
    c->minute = rest / 60 % 60;
    c->second = rest % 60;
    POST(rest >= 0 && c->hour < 24);
}
