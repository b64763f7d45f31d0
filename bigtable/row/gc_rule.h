/* Garbage-collection rules of a column family: which cells may go.
 *
 * A rule is versions=N (all but the newest N cells of a column), ttl=DURATION
 * (cells older than that), or a union (||) or intersection (&&) of rules:
 *
 *     versions=3
 *     ttl=7d
 *     (versions=1 && ttl=30d) || ttl=1y
 *
 * Durations are a number and one of us ms s m h d w y. `and`, `or`, and cbt's
 * names maxversions and maxage are understood too.
 *
 * Cells of a column are judged from the newest to the oldest. Every rule is
 * monotone in that order: once it collects a cell, it collects all older ones
 * (versions and age are, and both combinations keep it). Readers rely on that
 * to stop at the first.
 *
 * Threads: a rule is immutable.
 */
#ifndef BIGTABLE_ROW_GC_RULE_H
#define BIGTABLE_ROW_GC_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct cursor;

#define GC_RULE_DEPTH_MAX 16
#define GC_RULE_PARTS_MAX 64

enum gc_rule_kind {
    GC_RULE_VERSIONS = 1,
    GC_RULE_AGE = 2,
    GC_RULE_UNION = 3,
    GC_RULE_INTERSECTION = 4,
};

struct gc_rule {
    enum gc_rule_kind kind;
    uint32_t versions;      /* GC_RULE_VERSIONS: keep that many; at least 1. */
    uint64_t age_us;        /* GC_RULE_AGE: keep what is younger. */
    struct gc_rule **parts; /* Combinations: owned, at least one. */
    size_t part_count;
};

/* New rules, owned. Combinations take ownership of @parts' elements. */
struct gc_rule *gc_rule_versions(uint32_t versions);
struct gc_rule *gc_rule_age(uint64_t age_us);
struct gc_rule *gc_rule_combine(enum gc_rule_kind kind,
                                struct gc_rule *const *parts,
                                size_t count);
struct gc_rule *gc_rule_copy(const struct gc_rule *r); /* NULL allowed. */
void gc_rule_free(struct gc_rule *r);                  /* NULL allowed. */

/* May the cell go that has @newer cells of its column above it? NULL: never. */
bool gc_rule_collects(const struct gc_rule *r,
                      uint64_t newer,
                      int64_t timestamp_us,
                      int64_t now_us);

/* Parse the text form. *@out is owned. Errors: ERR_INVALID names the piece. */
MUST_CHECK int
gc_rule_parse(struct slice text, struct gc_rule **out, struct err *err);
/* Append the text form, which gc_rule_parse() reads back to an equal rule. */
void gc_rule_format(const struct gc_rule *r, struct buf *out);

/* A duration as above, "7d", to µs. */
MUST_CHECK int
gc_duration_parse(struct slice text, uint64_t *us, struct err *err);
/* Append @us as gc_duration_parse() takes it. */
void gc_duration_format(uint64_t us, struct buf *out);

/* Binary form; NULL is one byte. Decoding bounds depth and width, and sets
 * c->bad on malformed input, leaving *@out NULL. */
void gc_rule_encode(const struct gc_rule *r, struct buf *out);
void gc_rule_decode(struct cursor *c, struct gc_rule **out);

#endif /* BIGTABLE_ROW_GC_RULE_H */
