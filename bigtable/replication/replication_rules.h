/* The part of a change that a stream sends, with the names of the other end.
 *
 * Threads: immutable once made.
 */
#ifndef BIGTABLE_REPLICATION_REPLICATION_RULES_H
#define BIGTABLE_REPLICATION_REPLICATION_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_replication.h"

struct regex;

struct replication_rules {
    struct quarry_replication_family *families; /* Owned, with the names. */
    size_t family_count;                        /* 0: all. */
    char *qualifiers;                           /* Owned; NULL: all. */
    struct regex *expression;                   /* Of it; owned. */
    bool no_deletions;
};

/* ERR_INVALID: a bad pattern, or two families that become one. */
MUST_CHECK int replication_rules_init(struct replication_rules *r,
                                      const struct quarry_replication_spec *s,
                                      struct err *err);
void replication_rules_close(struct replication_rules *r);

/* The name of @family at the other end, and NULL if it is not sent; borrowed
 * from the rules, or from @room, which has FAMILY_NAME_BYTES_MAX + 1 bytes. */
const char *replication_rules_family(const struct replication_rules *r,
                                     struct slice family,
                                     char *room);
bool replication_rules_column(const struct replication_rules *r,
                              struct slice qualifier);
/* Add what is sent of @c to @m. False: nothing is. */
bool replication_rules_apply(const struct replication_rules *r,
                             const struct quarry_change *c,
                             struct quarry_mutation *m);

#endif /* BIGTABLE_REPLICATION_REPLICATION_RULES_H */
