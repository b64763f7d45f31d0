/* Places of an input that could not be read and were passed over: how many,
 * and the first of them in words. One thread. Nothing waits. */
#ifndef MAPREDUCE_RECORDS_DAMAGE_H
#define MAPREDUCE_RECORDS_DAMAGE_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"

/* Told in words; the rest is counted. */
#define DAMAGE_KEPT_MAX 16
/* A reader gives up on an input that has more. */
#define DAMAGE_PLACES_MAX 10000

struct damage {
    uint64_t places;
    uint64_t records; /* Lost with them, where that is known. */
    /* The format lives with damage (web archives): it is told, and does not
     * count as a record that a job skipped. */
    bool expected;
    struct buf texts; /* lslices: "FILE: byte 17: why". */
    unsigned kept;
};

void damage_close(struct damage *d); /* Also of a zeroed one. */

/* One place more, with which @records were lost. The text names file and place.
 */
void damage_add(struct damage *d, uint64_t records, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* What @from has, too. */
void damage_merge(struct damage *d, const struct damage *from);

#endif /* MAPREDUCE_RECORDS_DAMAGE_H */
