/* Distinct times for captures of one row within a file: many crawls date to the
 * second, and a redirect from http to https is two captures of one row in one
 * second. The later in the file gets the next free microsecond, so that a rerun
 * gives the same times. One thread. */
#ifndef MAPREDUCE_INGEST_TIME_SET_H
#define MAPREDUCE_INGEST_TIME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* Also used as a plain set of 64-bit hashes. */
struct time_set {
    uint64_t *slots; /* Owned; 0 is free. */
    size_t count;
    size_t cap; /* A power of two, or 0. */
};

/* Free the slots; @s is empty again. */
void time_set_close(struct time_set *s);
/* Remove all hashes, and keep the memory. */
void time_set_clear(struct time_set *s);
/* Add @hash; false: it is there already. */
bool time_set_add(struct time_set *s, uint64_t hash);
/* The first time from @us on that @row has not used; marks it as used. */
int64_t time_set_claim(struct time_set *s, struct slice row, int64_t us);

#endif /* MAPREDUCE_INGEST_TIME_SET_H */
