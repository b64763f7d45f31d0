/* The settings of a view's follower: {"program": …, "sql": …}, and of one that
 * was translated elsewhere "items" (view_items.h) and "resource".
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
    struct buf sql;     /* The text it was translated from; empty: none. */
    struct buf items;   /* Empty: those of the SQL, if there is one. */
    struct buf resource;
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
