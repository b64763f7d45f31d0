/* Finding zones by name and reading clocks in them: see zone.h. Zones of files
 * are kept with the run, misses too, because programs look one up for every
 * record. */
#include "sawzall-lite/builtins/zone.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "sawzall-lite/builtins/civil.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/tzif.h"
#include "sawzall-lite/sawzall.h"

#define NAME_BYTES_MAX 64
#define ZONE_DIR       "/usr/share/zoneinfo/"
/* Kept by a run, found or not: names that a program makes up use no more
 * memory. There are about 600 zones. */
#define ZONE_COUNT_MAX 1000

/* --- the United States --------------------------------------------------- */

#define LAST_SUNDAY(m)                                                         \
    {                                                                          \
        'M', (m), 5, 0, 2 * 3600                                               \
    }
#define SUNDAY(nth, m)                                                         \
    {                                                                          \
        'M', (m), (nth), 0, 2 * 3600                                           \
    }
#define DAY_OF_YEAR(d)                                                         \
    {                                                                          \
        'J', 0, 0, (d), 2 * 3600                                               \
    }

/* Summer time by federal law; 1974 and 1975 began early to save oil. */
static const struct {
    int64_t from_year;
    struct saw_zone_date start;
    struct saw_zone_date end;
} us_eras[] = {
    {1970, LAST_SUNDAY(4), LAST_SUNDAY(10)},
    {1974, DAY_OF_YEAR(6), LAST_SUNDAY(10)},
    {1975, DAY_OF_YEAR(54), LAST_SUNDAY(10)},
    {1976, LAST_SUNDAY(4), LAST_SUNDAY(10)},
    {1987, SUNDAY(1, 4), LAST_SUNDAY(10)},
    {2007, SUNDAY(2, 3), SUNDAY(1, 11)},
};

/* By hours west of UTC, from 5. */
static const struct saw_zone us_zones[] = {
    {.us = "EST5EDT"},
    {.us = "CST6CDT"},
    {.us = "MST7MDT"},
    {.us = SAW_ZONE_DEFAULT},
};

static struct saw_zone_offset us_at(const char *us, int64_t utc)
{
    struct saw_zone_rule rule = {.has_dst = true};
    struct saw_civil c;
    size_t era = 0;

    memcpy(rule.std_name, us, 3);
    memcpy(rule.dst_name, us + 4, 3);
    rule.std_offset = -(us[3] - '0') * 3600;
    rule.dst_offset = rule.std_offset + 3600;
    saw_civil_from_seconds(utc + rule.std_offset, &c);
    while (era + 1 < ARRAY_LEN(us_eras) && c.year >= us_eras[era + 1].from_year)
        era++;
    rule.start = us_eras[era].start;
    rule.end = us_eras[era].end;
    return saw_zone_rule_at(&rule, utc);
}

/* --- names of RFC 822 ---------------------------------------------------- */

struct rfc_name {
    const char *name;
    int us;  /* Index in us_zones, or -1. */
    int dst; /* As named_dst. */
    int hours;
};

static const struct rfc_name rfc_names[] = {
    {"GMT", -1, 0, 0}, {"UT", -1, 0, 0},  {"UTC", -1, 0, 0},
    {"EST", 0, 0, -5}, {"EDT", 0, 1, -4}, {"EST5EDT", 0, -1, -5},
    {"CST", 1, 0, -6}, {"CDT", 1, 1, -5}, {"CST6CDT", 1, -1, -6},
    {"MST", 2, 0, -7}, {"MDT", 2, 1, -6}, {"MST7MDT", 2, -1, -7},
    {"PST", 3, 0, -8}, {"PDT", 3, 1, -7}, {"PST8PDT", 3, -1, -8},
};

static bool same_name(struct slice a, const char *b)
{
    return a.len == strlen(b) && strncasecmp(a.data, b, a.len) == 0;
}

/* A to I are 1 to 9 hours west, K to M 10 to 12, N to Y 1 to 12 east. */
static bool zone_military(char letter, int *hours)
{
    char c = (char)toupper((unsigned char)letter);
    if (c >= 'A' && c <= 'I')
        *hours = -(c - 'A' + 1);
    else if (c >= 'K' && c <= 'M')
        *hours = -(c - 'K' + 10);
    else if (c >= 'N' && c <= 'Y')
        *hours = c - 'N' + 1;
    else if (c == 'Z')
        *hours = 0;
    else
        return false;
    return true;
}

static bool find_rfc(struct slice name, struct saw_zone_use *use)
{
    int hours;
    if (name.len == 1 && zone_military(name.data[0], &hours)) {
        use->offset = hours * 3600;
        use->named_dst = 0;
        if (hours == 0)
            memcpy(use->name, "GMT", 4);
        else
            use->name[0] = (char)toupper((unsigned char)name.data[0]);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(rfc_names); i++) {
        const struct rfc_name *r = &rfc_names[i];
        if (!same_name(name, r->name))
            continue;
        use->zone = r->us >= 0 ? &us_zones[r->us] : NULL;
        use->offset = r->hours * 3600;
        use->named_dst = r->dst;
        memcpy(use->name, "GMT", 4);
        return true;
    }
    return false;
}

/* "+0130": hours and minutes in decimal, as many digits as there are. */
static bool find_offset(struct slice name, struct saw_zone_use *use)
{
    int v = 0;
    bool west = name.len > 0 && name.data[0] == '-';
    if (name.len < 2 || name.len > 5 || (!west && name.data[0] != '+'))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        if (!isdigit((unsigned char)name.data[i]))
            return false;
        v = v * 10 + (name.data[i] - '0');
    }
    v = v / 100 * 3600 + v % 100 * 60;
    use->offset = west ? -v : v;
    use->named_dst = 0;
    if (v == 0)
        memcpy(use->name, "GMT", 4);
    else
        snprintf(use->name, sizeof(use->name), "GMT%c%02d:%02d",
                 west ? '-' : '+', v / 3600 % 100, v / 60 % 60);
    return true;
}

/* --- zones from files ---------------------------------------------------- */

/* A path below the zone directory, and nothing else. */
static bool safe_name(struct slice name)
{
    if (name.len == 0 || name.len > NAME_BYTES_MAX || name.data[0] == '/' ||
        name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (!isalnum(c) && c != '/' && c != '_' && c != '-' && c != '+')
            return false;
    }
    return true;
}

/* Of the process; see sawzall.h. */
static int (*zone_reader)(const char *name, struct buf *out, struct err *err);

void saw_zones_from(int (*read)(const char *name,
                                struct buf *out,
                                struct err *err))
{
    zone_reader = read;
}

static bool read_zone(struct saw_ctx *ctx, struct slice name, struct buf *out)
{
    char path[sizeof(ZONE_DIR) + NAME_BYTES_MAX];
    struct err ignored = ERR_INIT;

    snprintf(path, sizeof(path), ZONE_DIR "%.*s", SLICE_ARG(name));
    if (zone_reader)
        return zone_reader(path + strlen(ZONE_DIR), out, &ignored) == 0;
    return ctx->read_file &&
           ctx->read_file(ctx->hook_ctx, slice_str(path), out, &ignored) == 0;
}

static const struct saw_zone *zone_load(struct saw_ctx *ctx, struct slice name)
{
    struct saw_extra *x = saw_extra_of(ctx);
    struct buf text = BUF_INIT;
    struct saw_zone *z;
    size_t count = 0;

    for (z = x->zones; z; z = z->next, count++) {
        if (slice_eq_str(name, z->name))
            return z->known ? z : NULL;
    }
    if (count >= ZONE_COUNT_MAX)
        return NULL;
    if (read_zone(ctx, name, &text))
        z = saw_zone_parse(name, buf_slice(&text));
    if (!z) { /* Remember that there is none: programs look it up for every
                 record. */
        z = mem_zalloc(1, sizeof(*z));
        z->name = mem_strndup(name.data, name.len);
    }
    buf_close(&text);
    z->next = x->zones;
    x->zones = z;
    return z->known ? z : NULL;
}

bool saw_zone_find(struct saw_ctx *ctx,
                   struct slice name,
                   struct saw_zone_use *use)
{
    *use = (struct saw_zone_use){.named_dst = -1};
    if (name.len == 0) {
        use->zone = &us_zones[3];
        return true;
    }
    if (find_rfc(name, use) || find_offset(name, use))
        return true;
    if (!ctx || !safe_name(name))
        return false;
    use->zone = zone_load(ctx, name);
    return use->zone != NULL;
}

struct saw_zone_offset saw_zone_at(const struct saw_zone_use *use, int64_t utc)
{
    if (!use->zone) {
        struct saw_zone_offset at = {.seconds = use->offset};
        memcpy(at.name, use->name, sizeof(at.name));
        return at;
    }
    if (use->zone->us)
        return us_at(use->zone->us, utc);
    return saw_tzif_at(use->zone, utc);
}

int64_t saw_zone_to_utc(const struct saw_zone_use *use, int64_t local, int dst)
{
    /* Offsets a day before and after: at most one change lies between. */
    int32_t a = saw_zone_at(use, local - SAW_DAY_SECONDS).seconds;
    int32_t b = saw_zone_at(use, local + SAW_DAY_SECONDS).seconds;
    struct saw_zone_offset at_a = saw_zone_at(use, local - a);
    struct saw_zone_offset at_b = saw_zone_at(use, local - b);
    bool a_fits = at_a.seconds == a;
    bool b_fits = at_b.seconds == b;

    if (a_fits && b_fits && a != b)
        return local - (at_a.dst == (dst == 1) ? a : b);
    if (b_fits && !a_fits)
        return local - b;
    return local - a;
}
