/* Zones read from TZif files. Private to builtins/. */
#ifndef SAWZALL_LITE_BUILTINS_TZIF_H
#define SAWZALL_LITE_BUILTINS_TZIF_H

#include <stddef.h>

#include "sawzall-lite/builtins/zone_rule.h"

struct saw_zone_type {
    int32_t seconds;
    bool dst;
    uint8_t name; /* Index in names. */
};

struct saw_zone {
    struct saw_zone *next; /* Of the run's list. */
    char *name;            /* Owned. */
    bool known;            /* False: there is no zone of this name. */
    const char *us;        /* Built in: its POSIX name; the rest is empty. */
    int64_t *changes;      /* UTC seconds, ascending; owned. */
    uint8_t *change_types; /* Type from each change on; owned. */
    size_t change_count;
    struct saw_zone_type *types; /* Owned. */
    size_t type_count;
    char *names;               /* Owned; NUL-terminated strings. */
    struct saw_zone_rule rule; /* After the last change. */
    bool has_rule;
};

struct saw_zone_offset saw_tzif_at(const struct saw_zone *z, int64_t utc);

#endif /* SAWZALL_LITE_BUILTINS_TZIF_H */
