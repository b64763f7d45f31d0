/* Materialized views that the store keeps up to date: which ones, under which
 * names, and making and dropping what they need. A view whose query the store's
 * views cannot have (bigtable/googlesql/gsql_program.h) is executed instead
 * whenever it is read.
 *
 * Threads: any but a fiber's, unless a function says otherwise: programs are
 * compiled. Everything blocks.
 */
#ifndef BIGTABLE_GATEWAY_KEPT_VIEW_H
#define BIGTABLE_GATEWAY_KEPT_VIEW_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct gateway;
struct quarry_view_scan;

/* Append the store's name of the view @id of @instance: as that of a table, or
 * "mv-" and a number where no view can have that name. */
void kept_view_name(struct gateway *g,
                    struct slice instance,
                    struct slice id,
                    struct buf *out);
/* Keep the view up to date if that can be done; the reason is logged else.
 * Its table keeps its changes for a day from then on, if it kept none.
 * @instance: "projects/P/instances/I". */
void kept_view_create(struct gateway *g,
                      struct slice instance,
                      struct slice id,
                      struct slice query);
/* Drop what is kept of the view, if anything is, and let the table forget its
 * changes if it keeps them for such views alone. @instance: its id. */
MUST_CHECK int kept_view_drop(struct gateway *g,
                              struct slice instance,
                              struct slice id,
                              struct err *err);
/* Drop all that is kept of views of @instance. */
MUST_CHECK int
kept_view_drop_all(struct gateway *g, struct slice instance, struct err *err);
/* Read all rows of the store's table @table again: some went without a
 * change that tells it. Reads execute the queries meanwhile. */
MUST_CHECK int
kept_view_refresh(struct gateway *g, const char *table, struct err *err);
/* Which materialized view is kept of the store's table @table? ERR_DENIED:
 * there is one, which has to go first. May be a fiber's. */
MUST_CHECK int
kept_view_check_none(struct gateway *g, const char *table, struct err *err);
/* Read what is kept. *@out is owned: quarry_view_scan_close(). ERR_NOTFOUND:
 * nothing is, it is not built yet, nobody maintains it, or the caller may not
 * read it. May be a fiber's; parks. */
MUST_CHECK int kept_view_open(struct gateway *g,
                              struct slice instance,
                              struct slice id,
                              struct quarry_view_scan **out,
                              struct err *err);

#endif /* BIGTABLE_GATEWAY_KEPT_VIEW_H */
