/* Named counters of one task attempt, and their sums over a job.
 *
 * Invariants
 *
 * INV-1. A counter never moves while the list lives: jobs keep pointers. INV-2.
 * Names differ, and count is at most COUNTERS_MAX and one ("other"). Both kept
 * by counters_get().
 *
 * One thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_TASK_COUNTERS_H
#define MAPREDUCE_TASK_TASK_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct cursor;

struct counter {
    struct counter *next; /* In order of first use. */
    int64_t value;
    char name[];
};

struct counters {
    struct counter *first; /* Owned; never moved, so that jobs keep pointers. */
    struct counter *last;
    size_t count;
};

/* A job that derives counter names from its keys reaches this bound instead of
 * the end of memory; the rest is counted in "other". */
#define COUNTERS_MAX           1000
#define COUNTER_NAME_BYTES_MAX 128

/* How the job's own code was confined, by attempts that reported: in a cage, in
 * one without namespaces, or not at all. */
#define COUNTERS_SANDBOX      "sandbox."
#define COUNTERS_SANDBOX_CAGE COUNTERS_SANDBOX "cage"
#define COUNTERS_SANDBOX_WEAK COUNTERS_SANDBOX "weak"
#define COUNTERS_SANDBOX_NONE COUNTERS_SANDBOX "none"

/* No counters. counters_close() frees all of them. */
void counters_init(struct counters *c);
void counters_close(struct counters *c);

/* The counter @name, made on first use at 0. Lives as long as @c. */
int64_t *counters_get(struct counters *c, const char *name);

/* Add all of @from to @into. */
void counters_merge(struct counters *into, const struct counters *from);
/* Add the counters of @from whose names begin with @prefix. */
void counters_merge_some(struct counters *into,
                         const struct counters *from,
                         const char *prefix);
/* The value of @name, 0 if there is none. */
int64_t counters_value(const struct counters *c, const char *name);

/* Append all counters to @out; counters_decode() reads them. */
void counters_encode(const struct counters *c, struct buf *out);
/* Add the counters encoded in @in; sets in->bad when malformed. */
void counters_decode(struct counters *c, struct cursor *in);

#endif /* MAPREDUCE_TASK_TASK_COUNTERS_H */
