/* Places of an input that could not be read and were skipped: how many, and the
 * first of them in words.
 *
 * Invariant INV-1: texts holds at most DAMAGE_KEPT_MAX sentences, and `places`
 * counts them all (damage_add() and damage_merge() keep it).
 *
 * One thread. Nothing here parks.
 */
#ifndef MAPREDUCE_RECORDS_DAMAGE_H
#define MAPREDUCE_RECORDS_DAMAGE_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"

/* Kept in words; the others are only counted. */
#define DAMAGE_KEPT_MAX 16
/* A reader fails on an input that has more. */
#define DAMAGE_PLACES_MAX 10000

struct damage {
    uint64_t places;
    uint64_t records; /* Lost with them, where that is known. */
    /* The format is read as far as it can be (web archives): damage is reported
     * and does not count as a record that a job skipped. */
    bool expected;
    struct buf texts; /* lslices: "FILE: byte 17: why". */
    unsigned kept;
};

void damage_close(struct damage *d); /* Also of a zeroed one. */

/* Count one more place, with which @records were lost. The text names file and
 * place. */
void damage_add(struct damage *d, uint64_t records, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Add what @from counted to @into. */
void damage_merge(struct damage *d, const struct damage *from);

#endif /* MAPREDUCE_RECORDS_DAMAGE_H */
