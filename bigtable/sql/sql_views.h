/* Views that the store keeps, in the table SQL_VIEWS_TABLE.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_SQL_SQL_VIEWS_H
#define BIGTABLE_SQL_SQL_VIEWS_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry;

struct sql_view {
    char *name;
    char *sql;    /* CREATE OR REPLACE VIEW … AS SELECT … */
    char *select; /* The SELECT. */
};

struct sql_views {
    struct sql_view *list; /* Owned. */
    size_t count;
};

/* Read them; a store without the table has none. */
MUST_CHECK int
sql_views_read(struct sql_views *v, struct quarry *q, struct err *err);
void sql_views_close(struct sql_views *v);
/* The view @name, in any case of letters; or NULL. */
const struct sql_view *sql_views_find(const struct sql_views *v,
                                      const char *name);

/* Keep a view, in @q and in @v; the table is made if it is not there. */
MUST_CHECK int sql_views_keep(struct sql_views *v,
                              struct quarry *q,
                              const char *name,
                              struct slice sql,
                              struct slice select,
                              struct err *err);
/* Forget it in both. */
MUST_CHECK int sql_views_drop(struct sql_views *v,
                              struct quarry *q,
                              const char *name,
                              struct err *err);

#endif /* BIGTABLE_SQL_SQL_VIEWS_H */
