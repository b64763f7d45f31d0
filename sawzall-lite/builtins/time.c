/* Intrinsics on times: arithmetic on the calendar of a zone, its fields, the
 * beginnings of its periods, and text. */
#include "sawzall-lite/builtins/time.h"

#include "sawzall-lite/builtins/private.h"

#define US_PER_SECOND 1000000
/* As in the published interpreter; programs test for it. */
#define FORMATTED_BYTES_MAX 200

/* The time zone argument at @i, or the default. */
static struct slice
zone_arg(const struct saw_call *call, const union saw_slot *args, size_t i)
{
    return call->arg_count > i ? saw_str_slice(args[i].s) : SLICE_EMPTY;
}

static enum saw_status
bad_zone(struct saw_ctx *ctx, const char *function, struct slice tz)
{
    return saw_undef(ctx, "%s: invalid time or time zone \"%.*s\"", function,
                     SLICE_ARG(tz));
}

/* Return @c as a time in the zone it was taken from; @dst as it was then. */
static enum saw_status time_builtin_give(struct saw_ctx *ctx,
                                         const char *function,
                                         const struct saw_civil *c,
                                         struct slice tz,
                                         bool dst,
                                         union saw_slot *result)
{
    if (!saw_time_from_local(ctx, c, tz, dst, false, &result->u))
        return saw_undef(ctx, "%s: the result is out of range", function);
    return SAW_OK;
}

/* --- addday and its like ------------------------------------------------- */

static enum saw_status time_builtin_add(struct saw_ctx *ctx,
                                        const struct saw_call *call,
                                        const union saw_slot *args,
                                        int64_t years,
                                        int64_t months,
                                        int64_t days,
                                        union saw_slot *result)
{
    const char *name = call->builtin->name;
    struct slice tz = zone_arg(call, args, 2);
    int64_t n = call->arg_count > 1 ? args[1].i : 1;
    struct saw_civil c;
    struct saw_zone_offset at;

    if (!saw_time_to_local(ctx, args[0].u, tz, &c, &at))
        return bad_zone(ctx, name, tz);
    if (n > 10000000 || n < -10000000)
        return saw_undef(ctx, "%s: the result is out of range", name);
    c.year += n * years;
    c.month += n * months;
    c.day += n * days;
    return time_builtin_give(ctx, name, &c, tz, at.dst, result);
}

static enum saw_status fn_addday(struct saw_ctx *ctx,
                                 const struct saw_call *call,
                                 const union saw_slot *args,
                                 union saw_slot *result)
{
    return time_builtin_add(ctx, call, args, 0, 0, 1, result);
}

static enum saw_status fn_addweek(struct saw_ctx *ctx,
                                  const struct saw_call *call,
                                  const union saw_slot *args,
                                  union saw_slot *result)
{
    return time_builtin_add(ctx, call, args, 0, 0, 7, result);
}

static enum saw_status fn_addmonth(struct saw_ctx *ctx,
                                   const struct saw_call *call,
                                   const union saw_slot *args,
                                   union saw_slot *result)
{
    return time_builtin_add(ctx, call, args, 0, 1, 0, result);
}

static enum saw_status fn_addyear(struct saw_ctx *ctx,
                                  const struct saw_call *call,
                                  const union saw_slot *args,
                                  union saw_slot *result)
{
    return time_builtin_add(ctx, call, args, 1, 0, 0, result);
}

/* --- fields -------------------------------------------------------------- */

static int64_t day_of_month(const struct saw_civil *c)
{
    return c->day;
}

static int64_t day_of_week(const struct saw_civil *c)
{
    return c->weekday ? c->weekday : 7; /* Sunday ends the week. */
}

static int64_t day_of_year(const struct saw_civil *c)
{
    return c->year_day + 1;
}

static int64_t hour_of(const struct saw_civil *c)
{
    return c->hour;
}

static int64_t minute_of(const struct saw_civil *c)
{
    return c->minute;
}

static int64_t month_of(const struct saw_civil *c)
{
    return c->month + 1;
}

static int64_t second_of(const struct saw_civil *c)
{
    return c->second;
}

static int64_t year_of(const struct saw_civil *c)
{
    return c->year;
}

static enum saw_status
time_builtin_field(struct saw_ctx *ctx,
                   const struct saw_call *call,
                   const union saw_slot *args,
                   int64_t (*of)(const struct saw_civil *c),
                   union saw_slot *result)
{
    struct slice tz = zone_arg(call, args, 1);
    struct saw_civil c;
    if (!saw_time_to_local(ctx, args[0].u, tz, &c, NULL))
        return bad_zone(ctx, call->builtin->name, tz);
    result->i = of(&c);
    return SAW_OK;
}

#define FIELD(name, of)                                                        \
    static enum saw_status fn_##name(                                          \
        struct saw_ctx *ctx, const struct saw_call *call,                      \
        const union saw_slot *args, union saw_slot *result)                    \
    {                                                                          \
        return time_builtin_field(ctx, call, args, of, result);                \
    }

FIELD(dayofmonth, day_of_month)
FIELD(dayofweek, day_of_week)
FIELD(dayofyear, day_of_year)
FIELD(hourof, hour_of)
FIELD(minuteof, minute_of)
FIELD(monthof, month_of)
FIELD(secondof, second_of)
FIELD(yearof, year_of)

/* --- truncation ---------------------------------------------------------- */

enum period {
    PERIOD_MINUTE,
    PERIOD_HOUR,
    PERIOD_DAY,
    PERIOD_MONTH,
    PERIOD_YEAR
};

static enum saw_status time_builtin_truncate(struct saw_ctx *ctx,
                                             const struct saw_call *call,
                                             const union saw_slot *args,
                                             enum period period,
                                             union saw_slot *result)
{
    struct slice tz = zone_arg(call, args, 1);
    struct saw_civil c;
    struct saw_zone_offset at;
    if (!saw_time_to_local(ctx, args[0].u, tz, &c, &at))
        return bad_zone(ctx, call->builtin->name, tz);
    c.microsecond = 0;
    c.second = 0;
    if (period >= PERIOD_HOUR)
        c.minute = 0;
    if (period >= PERIOD_DAY)
        c.hour = 0;
    if (period >= PERIOD_MONTH)
        c.day = 1;
    if (period >= PERIOD_YEAR)
        c.month = 0;
    return time_builtin_give(ctx, call->builtin->name, &c, tz, at.dst, result);
}

#define TRUNCATE(name, period)                                                 \
    static enum saw_status fn_##name(                                          \
        struct saw_ctx *ctx, const struct saw_call *call,                      \
        const union saw_slot *args, union saw_slot *result)                    \
    {                                                                          \
        return time_builtin_truncate(ctx, call, args, period, result);         \
    }

TRUNCATE(trunctominute, PERIOD_MINUTE)
TRUNCATE(trunctohour, PERIOD_HOUR)
TRUNCATE(trunctoday, PERIOD_DAY)
TRUNCATE(trunctomonth, PERIOD_MONTH)
TRUNCATE(trunctoyear, PERIOD_YEAR)

/* The same in every zone: offsets are whole seconds. */
static enum saw_status fn_trunctosecond(struct saw_ctx *ctx,
                                        const struct saw_call *call,
                                        const union saw_slot *args,
                                        union saw_slot *result)
{
    (void)ctx;
    (void)call;
    result->u = args[0].u - args[0].u % US_PER_SECOND;
    return SAW_OK;
}

/* --- text and the clock -------------------------------------------------- */

static enum saw_status fn_formattime(struct saw_ctx *ctx,
                                     const struct saw_call *call,
                                     const union saw_slot *args,
                                     union saw_slot *result)
{
    struct slice tz = zone_arg(call, args, 2);
    struct buf *out = &ctx->scratch;
    buf_clear(out);
    if (!saw_time_format(ctx, saw_str_slice(args[0].s), args[1].u, tz, out))
        return bad_zone(ctx, "formattime", tz);
    if (out->len >= FORMATTED_BYTES_MAX)
        return saw_undef(ctx, "formattime: result too long");
    return saw_give_text(saw_string_dup(ctx, buf_slice(out)), result);
}

static enum saw_status fn_now(struct saw_ctx *ctx,
                              const struct saw_call *call,
                              const union saw_slot *args,
                              union saw_slot *result)
{
    (void)call;
    (void)args;
    if (!ctx->now_us)
        return saw_undef(ctx, "now: there is no clock here");
    result->u = (uint64_t)ctx->now_us(ctx->hook_ctx);
    return SAW_OK;
}

#define ADD(n, text)                                                           \
    {                                                                          \
        .name = #n,                                                            \
        .signature = "function(t: time, n: int, tz: string): time",            \
        .args_min = 1, .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,          \
        .fn = fn_##n, .help = text                                             \
    }
#define OF(n, text)                                                            \
    {                                                                          \
        .name = #n, .signature = "function(t: time, tz: string): int",         \
        .args_min = 1, .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,          \
        .fn = fn_##n, .help = text                                             \
    }
#define TO(n, text)                                                            \
    {                                                                          \
        .name = #n, .signature = "function(t: time, tz: string): time",        \
        .args_min = 1, .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,          \
        .fn = fn_##n, .help = text                                             \
    }

const struct saw_builtin saw_builtins_time[] = {
    ADD(addday, "addday(t, n, tz): t and n days (1), by the calendar"),
    ADD(addweek, "addweek(t, n, tz): t and n weeks (1)"),
    ADD(addmonth, "addmonth(t, n, tz): t and n months (1)"),
    ADD(addyear, "addyear(t, n, tz): t and n years (1)"),
    OF(dayofmonth, "dayofmonth(t, tz): 1 to 31"),
    OF(dayofweek, "dayofweek(t, tz): Monday is 1, Sunday 7"),
    OF(dayofyear, "dayofyear(t, tz): 1 to 366"),
    OF(hourof, "hourof(t, tz): 0 to 23"),
    OF(minuteof, "minuteof(t, tz): 0 to 59"),
    OF(monthof, "monthof(t, tz): 1 to 12"),
    OF(secondof, "secondof(t, tz): 0 to 59"),
    OF(yearof, "yearof(t, tz): the year"),
    TO(trunctosecond, "trunctosecond(t, tz): the beginning of the second"),
    TO(trunctominute, "trunctominute(t, tz): the beginning of the minute"),
    TO(trunctohour, "trunctohour(t, tz): the beginning of the hour"),
    TO(trunctoday, "trunctoday(t, tz): the beginning of the day"),
    TO(trunctomonth, "trunctomonth(t, tz): the beginning of the month"),
    TO(trunctoyear, "trunctoyear(t, tz): the beginning of the year"),
    {.name = "formattime",
     .signature = "function(fmt: string, t: time, tz: string): string",
     .args_min = 2,
     .flags = SAW_BUILTIN_PURE | SAW_BUILTIN_UNDEF,
     .fn = fn_formattime,
     .help = "formattime(fmt, t, tz): text by a format like strftime's"},
    {.name = "now",
     .signature = "function(): time",
     .flags = SAW_BUILTIN_UNDEF | SAW_BUILTIN_MOMENT,
     .fn = fn_now,
     .help = "now(): the present time"},
    {.name = NULL},
};
