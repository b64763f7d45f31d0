/* Where rows of a table are served: for those who would work beside them.
 *
 * Threads: any. Parks a fiber or blocks a thread.
 */
#ifndef BIGTABLE_CLIENT_PLACE_H
#define BIGTABLE_CLIENT_PLACE_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_table;

/* The tablet server of the tablet with @row, as "host:port", appended to
 * @server; nothing for a directory. It may be another one at any time. Errors:
 * ERR_UNAVAILABLE: nobody serves it now. */
QUARRY_EXPORT MUST_CHECK int quarry_table_locate(struct quarry_table *t,
                                                 struct slice row,
                                                 struct buf *server,
                                                 struct err *err);

#endif /* BIGTABLE_CLIENT_PLACE_H */
