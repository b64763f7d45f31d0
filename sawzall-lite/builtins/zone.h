/* Time zones by name.
 *
 * Built in: the names of RFC 822 (UT, GMT, EST, PDT, military letters), the
 * four zones of the United States (PST8PDT and so on, with the rules of each
 * year since 1970), and offsets (+0130). Others are read as TZif files (RFC
 * 8536) through ctx->read_zone and kept with the run.
 */
#ifndef SAWZALL_LITE_BUILTINS_ZONE_H
#define SAWZALL_LITE_BUILTINS_ZONE_H

#include "base/core/slice.h"
#include "sawzall-lite/builtins/zone_rule.h"

struct saw_ctx;
struct saw_zone;

/* The language's zone where none is named. */
#define SAW_ZONE_DEFAULT "PST8PDT"

/* A zone, and the name it was found by. */
struct saw_zone_use {
    const struct saw_zone *zone; /* NULL: a fixed offset. */
    int32_t offset;              /* Of the name, where it says so. */
    int named_dst; /* Name of summer time 1, of winter 0, else -1. */
    char name[SAW_ZONE_NAME_BYTES]; /* Of a fixed offset. */
};

/* Find @name ("" is the default). @ctx NULL: built-in zones only. False when
 * there is no such zone. */
bool saw_zone_find(struct saw_ctx *ctx,
                   struct slice name,
                   struct saw_zone_use *use);
/* The offset of clocks at @utc seconds. */
struct saw_zone_offset saw_zone_at(const struct saw_zone_use *use, int64_t utc);
/* UTC seconds when clocks show @local. Of a time that occurs twice: the one in
 * summer time if @dst is 1, else the other. Of a time that clocks skip: as if
 * they had not been changed. */
int64_t saw_zone_to_utc(const struct saw_zone_use *use, int64_t local, int dst);

/* Parse a TZif file; NULL when it is malformed. Owned: saw_zones_free(). */
struct saw_zone *saw_zone_parse(struct slice name, struct slice tzif);

#endif /* SAWZALL_LITE_BUILTINS_ZONE_H */
