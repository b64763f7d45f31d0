/* The table that a view is of: its rows as they are now, and when one of them
 * will be another without being written, because cells get too old.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_SOURCE_H
#define BIGTABLE_VIEW_VIEW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"
#include "bigtable/row/gc_rule.h"

struct view_source_family {
    char *name;           /* Owned. */
    struct gc_rule *rule; /* Owned; NULL: none. */
};

struct view_source {
    struct quarry_table *table; /* Owned. */
    struct view_source_family *families;
    size_t family_count;
    bool transactions; /* The table keeps overwritten cells for a time. */
    struct buf rules;  /* All of this as text, to see that it has changed. */
};

/* On failure nothing is owned. Errors: as quarry_table_open(). */
MUST_CHECK int view_source_open(struct quarry *q,
                                const char *table,
                                struct view_source *out,
                                struct err *err);
void view_source_close(struct view_source *s);

/* When @row, as it was read at @now_us, is to be looked at again; 0: not
 * before it is written. A cell that should be gone by @now_us and was still
 * shown (clocks differ) is looked at a second later. */
int64_t view_source_due(const struct view_source *s,
                        const struct quarry_row *row,
                        int64_t now_us);

#endif /* BIGTABLE_VIEW_VIEW_SOURCE_H */
