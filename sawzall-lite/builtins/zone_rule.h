/* A rule for summer time in the notation of POSIX's TZ variable:
 * "PST8PDT,M3.2.0,M11.1.0" (see tzset(3)). */
#ifndef SAWZALL_LITE_BUILTINS_ZONE_RULE_H
#define SAWZALL_LITE_BUILTINS_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

#define SAW_ZONE_NAME_BYTES 16

/* When in a year the clock changes. */
struct saw_zone_date {
    char form;      /* 'M' month.week.day, 'J' day without leap day, 'n' day. */
    int month;      /* 1 to 12. */
    int week;       /* 1 to 5; 5 is the last. */
    int day;        /* Weekday of 'M', 0 is Sunday; or the day. */
    int32_t second; /* Of the clock before the change. */
};

struct saw_zone_rule {
    char std_name[SAW_ZONE_NAME_BYTES];
    char dst_name[SAW_ZONE_NAME_BYTES];
    int32_t std_offset; /* Seconds east of UTC. */
    int32_t dst_offset;
    bool has_dst;
    struct saw_zone_date start; /* Of summer time. */
    struct saw_zone_date end;
};

/* The offset of a zone from UTC at a time, and its name. */
struct saw_zone_offset {
    int32_t seconds;
    bool dst;
    char name[SAW_ZONE_NAME_BYTES];
};

/* False when @text is not of that notation. */
bool saw_zone_rule_parse(struct slice text, struct saw_zone_rule *rule);
/* The offset at @utc seconds. */
struct saw_zone_offset saw_zone_rule_at(const struct saw_zone_rule *rule,
                                        int64_t utc);

#endif /* SAWZALL_LITE_BUILTINS_ZONE_RULE_H */
