/* Authorized views in the data API: a request that names one instead of a table
 * sees and changes what the view has of the table, and nothing else.
 *
 * A view has the rows of its prefixes and, of each family that it names, some
 * qualifiers and some prefixes of qualifiers. A read gives what lies within; a
 * change that touches anything else is refused as a whole.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_GATEWAY_AUTHORIZED_VIEW_H
#define BIGTABLE_GATEWAY_AUTHORIZED_VIEW_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct authorized_view;
struct gateway;
struct quarry_filter;
struct quarry_mutation;
struct request_rows;

/* Open the view @name of a request; if it is empty, *@out is NULL, which all
 * functions below take for all of the table. *@table becomes the name of the
 * view's table, borrowed from @name, which the view borrows, too. Parks. Owned:
 * authorized_view_close(). Errors: ERR_INVALID, ERR_NOTFOUND. */
MUST_CHECK int authorized_view_open(struct gateway *g,
                                    struct slice name,
                                    struct slice *table,
                                    struct authorized_view **out,
                                    struct err *err);
void authorized_view_close(struct authorized_view *v);

/* Is @row in the view? */
bool authorized_view_has_row(const struct authorized_view *v, struct slice row);
/* Leave of @rows those of the view. */
void authorized_view_limit_rows(const struct authorized_view *v,
                                struct request_rows *rows);
/* A filter that passes what the view has to *@filter (NULL: passes all), which
 * it takes over: *@filter becomes that filter. */
void authorized_view_limit_filter(const struct authorized_view *v,
                                  struct quarry_filter **filter);

/* 0 if the view has all that @m changes, or the column. ERR_DENIED. */
MUST_CHECK int authorized_view_check(const struct authorized_view *v,
                                     const struct quarry_mutation *m,
                                     struct err *err);
MUST_CHECK int authorized_view_check_column(const struct authorized_view *v,
                                            struct slice row,
                                            struct slice family,
                                            struct slice qualifier,
                                            struct err *err);

#endif /* BIGTABLE_GATEWAY_AUTHORIZED_VIEW_H */
