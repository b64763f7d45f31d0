/* Values of a view's rows, and the data (sawzall-lite/values/datum.h) that the
 * view's own table has of them.
 *
 * Pure.
 */
#ifndef BIGTABLE_VIEW_VIEW_VALUES_H
#define BIGTABLE_VIEW_VIEW_VALUES_H

#include <stdbool.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_view.h"

/* The value that @datum is; a text is of @arena. @scratch is cleared.
 * ERR_CORRUPT. */
MUST_CHECK int view_value_read(struct slice datum,
                               struct arena *arena,
                               struct buf *scratch,
                               struct quarry_view_value *out,
                               struct err *err);
/* Field @at of a tuple, or the value itself. Empty: there is none. */
struct slice view_value_field(struct slice datum, unsigned at);
/* Append a column of an index with the value @v. Of the @last one a text has no
 * end: the bytes are not behind those of any text that begins with it. */
void view_value_bound(struct buf *out,
                      const struct quarry_view_value *v,
                      enum quarry_view_type type,
                      bool last);

#endif /* BIGTABLE_VIEW_VIEW_VALUES_H */
