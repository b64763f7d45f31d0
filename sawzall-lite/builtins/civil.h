/* The Gregorian calendar: days since 1970-01-01 and back, for any year. */
#ifndef SAWZALL_LITE_BUILTINS_CIVIL_H
#define SAWZALL_LITE_BUILTINS_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define SAW_DAY_SECONDS 86400

/* A time on some clock. */
struct saw_civil {
    int64_t year;  /* 1970, … */
    int64_t month; /* 0 to 11; any value where it is input. */
    int64_t day;   /* 1 to 31; any value where it is input. */
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t microsecond;
    int weekday;  /* 0 is Sunday. */
    int year_day; /* 0 is the first of January. */
};

/* Days from 1970-01-01 to the date; month and day may be out of range and count
 * on. PRE: |year| and |month| below 10^9. */
int64_t saw_civil_days(int64_t year, int64_t month, int64_t day);
/* The date @days after 1970-01-01; the time of day stays as it is. */
void saw_civil_from_days(int64_t days, struct saw_civil *c);
/* Seconds since 1970-01-01 00:00:00 on the same clock, and back. */
int64_t saw_civil_seconds(const struct saw_civil *c);
void saw_civil_from_seconds(int64_t seconds, struct saw_civil *c);
bool saw_civil_is_leap(int64_t year);

/* Rounds towards minus infinity. */
static inline int64_t saw_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

#endif /* SAWZALL_LITE_BUILTINS_CIVIL_H */
