/* Times as people write them: local times of a zone, and text. */
#ifndef SAWZALL_LITE_BUILTINS_TIME_H
#define SAWZALL_LITE_BUILTINS_TIME_H

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "sawzall-lite/builtins/civil.h"
#include "sawzall-lite/builtins/zone.h"

struct saw_ctx;

#define SAW_TIME_INVALID "[invalid time value]"

/* First second that is not a valid time: year 10,000. */
#define SAW_TIME_SECONDS_END INT64_C(253402300800)

/* The local time in zone @tz at @t. @ctx NULL: built-in zones only. False:
 * there is no such zone, or @t is out of range. @at may be NULL. */
bool saw_time_to_local(struct saw_ctx *ctx,
                       uint64_t t,
                       struct slice tz,
                       struct saw_civil *c,
                       struct saw_zone_offset *at);
/* The other way. Fields of @c may be out of range and carry over. @dst: which
 * of two equal times (see saw_zone_to_utc). @literally: "PDT" in winter means
 * its offset, as in a text; else the zone decides. */
bool saw_time_from_local(struct saw_ctx *ctx,
                         const struct saw_civil *c,
                         struct slice tz,
                         int dst,
                         bool literally,
                         uint64_t *t);

/* Append "Wed Dec 31 16:16:40 PST 1969". */
bool saw_time_print(struct saw_ctx *ctx,
                    uint64_t t,
                    struct slice tz,
                    struct buf *out);
/* Read that, and "[Wed,] 31 Dec 1969 16:16:40[.25] [PST]"; @tz counts where the
 * text names no zone. */
bool saw_time_parse(struct saw_ctx *ctx,
                    struct slice text,
                    struct slice tz,
                    uint64_t *t);
/* Append @t in the notation of strftime(3), in English. */
bool saw_time_format(struct saw_ctx *ctx,
                     struct slice format,
                     uint64_t t,
                     struct slice tz,
                     struct buf *out);

extern const char *const saw_day_names[7];
extern const char *const saw_month_names[12];

#endif /* SAWZALL_LITE_BUILTINS_TIME_H */
