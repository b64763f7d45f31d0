/* Inside of the client library: what stands behind the names of quarry.h.
 *
 * A target is either a directory ("file:DIR"), served by the store in this
 * process, or a cluster, which quarry_open() refuses until there is one. What
 * is below reads and writes through struct store; a second kind of target adds
 * its own functions beside those of store.h, chosen in quarry.c and table.c.
 */
#ifndef BIGTABLE_CLIENT_CLIENT_H
#define BIGTABLE_CLIENT_CLIENT_H

#include "bigtable/client/quarry.h"
#include "bigtable/tablet/read_options.h"
#include "bigtable/tablet/scan.h"
#include "bigtable/tablet/write_queue.h"

struct async_pool;
struct store;
struct table;

struct quarry {
    struct world *world;
    bool owns_world;
    struct store *store;
    struct async_pool *async; /* Started by the first asynchronous call. */
};

struct quarry_table {
    struct quarry *quarry; /* Borrowed. */
    struct table *table;   /* Referenced. */
};

/* A read whose options have been understood: it may outlive them. */
struct prepared_read {
    struct quarry_table *table; /* Borrowed. */
    struct table_view *view;    /* Referenced; NULL after an error. */
    struct read_spec spec;
    struct err err; /* Of the preparation. */
};

void prepared_read_init(struct prepared_read *r,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts);
void prepared_read_close(struct prepared_read *r);
/* Read @row as prepared; *@out is owned, NULL when there is nothing. */
MUST_CHECK int prepared_read_row(struct prepared_read *r,
                                 struct slice row,
                                 struct quarry_row **out,
                                 struct err *err);

enum write_durability durability_of(const struct quarry_write_options *opts);

#endif /* BIGTABLE_CLIENT_CLIENT_H */
