/* The settings of a view's follower: {"program": …, "sql": …}.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_VIEW_VIEW_SETTINGS_H
#define BIGTABLE_VIEW_VIEW_SETTINGS_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct view_settings {
    struct buf program; /* Owned: view_settings_close(). */
    struct buf sql;     /* Empty: it is not by SQL. */
};

/* Append them as JSON. ERR_INVALID: a text is not UTF-8. */
MUST_CHECK int view_settings_put(const struct view_settings *s,
                                 struct buf *out,
                                 struct err *err);
/* On failure nothing is owned. ERR_CORRUPT. */
MUST_CHECK int view_settings_parse(struct slice text,
                                   struct view_settings *out,
                                   struct err *err);
void view_settings_close(struct view_settings *s);

#endif /* BIGTABLE_VIEW_VIEW_SETTINGS_H */
