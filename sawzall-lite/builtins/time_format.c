/* strftime in English for any zone. The C library's reads a global zone and
 * locale, which neither several threads nor runs with zones of their own can
 * use. */
#include <string.h>

#include "sawzall-lite/builtins/time.h"

struct moment {
    struct saw_civil c;
    struct saw_zone_offset at;
    uint64_t t;
};

/* ISO 8601 week: the one with the year's first Thursday is week 1. */
static int64_t iso_week(const struct saw_civil *c, int64_t *year)
{
    int64_t monday = (c->weekday + 6) % 7;
    int64_t thursday = c->year_day - monday + 3;
    int64_t length;
    *year = c->year;
    if (thursday < 0) {
        (*year)--;
        thursday += 365 + saw_civil_is_leap(*year);
    } else {
        length = 365 + saw_civil_is_leap(c->year);
        if (thursday >= length) {
            (*year)++;
            thursday -= length;
        }
    }
    return thursday / 7 + 1;
}

static void time_format_number(struct buf *out, int width, int64_t v)
{
    buf_printf(out, "%0*lld", width, (long long)v);
}

static void zone_offset(struct buf *out, int32_t seconds)
{
    int32_t v = seconds < 0 ? -seconds : seconds;
    buf_printf(out, "%c%02d%02d", seconds < 0 ? '-' : '+', v / 3600,
               v / 60 % 60);
}

static int64_t time_format_hour12(const struct saw_civil *c)
{
    return c->hour % 12 ? c->hour % 12 : 12;
}

static void format_moment(struct buf *out,
                          const char *f,
                          size_t len,
                          const struct moment *m);

/* Verbs made of others, as in the C locale. */
static const char *time_format_shorthand(char verb)
{
    switch (verb) {
    case 'c': return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x': return "%m/%d/%y";
    case 'F': return "%Y-%m-%d";
    case 'r': return "%I:%M:%S %p";
    case 'R': return "%H:%M";
    case 'T':
    case 'X': return "%H:%M:%S";
    default: return NULL;
    }
}

static bool format_date(struct buf *out, char verb, const struct moment *m)
{
    const struct saw_civil *c = &m->c;
    int64_t year;
    int64_t week = iso_week(c, &year);
    switch (verb) {
    case 'a': buf_append(out, saw_day_names[c->weekday], 3); break;
    case 'A': buf_append_str(out, saw_day_names[c->weekday]); break;
    case 'b':
    case 'h': buf_append(out, saw_month_names[c->month], 3); break;
    case 'B': buf_append_str(out, saw_month_names[c->month]); break;
    case 'C': time_format_number(out, 2, c->year / 100); break;
    case 'd': time_format_number(out, 2, c->day); break;
    case 'e': buf_printf(out, "%2lld", (long long)c->day); break;
    case 'g': time_format_number(out, 2, year % 100); break;
    case 'G': time_format_number(out, 1, year); break;
    case 'j': time_format_number(out, 3, c->year_day + 1); break;
    case 'm': time_format_number(out, 2, c->month + 1); break;
    case 'u': time_format_number(out, 1, c->weekday ? c->weekday : 7); break;
    case 'U':
        time_format_number(out, 2, (c->year_day + 7 - c->weekday) / 7);
        break;
    case 'V': time_format_number(out, 2, week); break;
    case 'w': time_format_number(out, 1, c->weekday); break;
    case 'W':
        time_format_number(out, 2,
                           (c->year_day + 7 - (c->weekday + 6) % 7) / 7);
        break;
    case 'y': time_format_number(out, 2, c->year % 100); break;
    case 'Y': time_format_number(out, 1, c->year); break;
    default: return false;
    }
    return true;
}

static bool format_clock(struct buf *out, char verb, const struct moment *m)
{
    const struct saw_civil *c = &m->c;
    switch (verb) {
    case 'H': time_format_number(out, 2, c->hour); break;
    case 'I': time_format_number(out, 2, time_format_hour12(c)); break;
    case 'k': buf_printf(out, "%2lld", (long long)c->hour); break;
    case 'l': buf_printf(out, "%2lld", (long long)time_format_hour12(c)); break;
    case 'M': time_format_number(out, 2, c->minute); break;
    case 'n': buf_append_byte(out, '\n'); break;
    case 'p': buf_append_str(out, c->hour < 12 ? "AM" : "PM"); break;
    case 'P': buf_append_str(out, c->hour < 12 ? "am" : "pm"); break;
    case 's': time_format_number(out, 1, (int64_t)(m->t / 1000000)); break;
    case 'S': time_format_number(out, 2, c->second); break;
    case 't': buf_append_byte(out, '\t'); break;
    case 'z': zone_offset(out, m->at.seconds); break;
    case 'Z': buf_append_str(out, m->at.name); break;
    case '%': buf_append_byte(out, '%'); break;
    default: return false;
    }
    return true;
}

static void format_verb(struct buf *out, char verb, const struct moment *m)
{
    const char *as = time_format_shorthand(verb);
    if (as) {
        format_moment(out, as, strlen(as), m);
    } else if (!format_date(out, verb, m) && !format_clock(out, verb, m)) {
        buf_append_byte(out, '%');
        buf_append_byte(out, verb);
    }
}

/* Recurses once at most: shorthands hold no shorthands. */
static void format_moment(struct buf *out,
                          const char *f,
                          size_t len,
                          const struct moment *m)
{
    for (size_t i = 0; i < len; i++) {
        if (f[i] != '%' || i + 1 == len) {
            buf_append_byte(out, f[i]);
            continue;
        }
        i++;
        /* %E and %O ask for other calendars and digits; English has none. */
        if ((f[i] == 'E' || f[i] == 'O') && i + 1 < len)
            i++;
        format_verb(out, f[i], m);
    }
}

bool saw_time_format(struct saw_ctx *ctx,
                     struct slice format,
                     uint64_t t,
                     struct slice tz,
                     struct buf *out)
{
    struct moment m = {.t = t};
    if (!saw_time_to_local(ctx, t, tz, &m.c, &m.at))
        return false;
    format_moment(out, format.data, format.len, &m);
    return true;
}
