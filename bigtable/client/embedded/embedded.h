/* A directory as a target: the store in this process. Operations are those of
 * target_ops.def, and call the engine on the caller's thread.
 */
#ifndef BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H
#define BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H

#include "bigtable/client/client.h"
#include "bigtable/read/scan.h"

/* Open the directory @dir into @q, whose world is set. Errors: those of
 * quarry_open(). */
MUST_CHECK int embedded_target_open(struct quarry *q,
                                    const char *dir,
                                    const struct quarry_options *opts,
                                    struct err *err);

/* The source of timestamps: embedded_timestamps.c. */
struct local_oracle *local_oracle_new(void);
/* Before the store is closed; also after an open that failed. */
void local_oracle_close(struct quarry *q);

/* A read whose options have been parsed and copied: it may outlive them. */
struct prepared_read {
    struct quarry_table *table;   /* Borrowed. */
    struct table_part_view *view; /* Referenced; NULL after an error. */
    struct read_spec spec;
    struct err err; /* Of the preparation. */
};

/* Parse @opts and take a reference to the table's current view. An error is
 * kept for prepared_read_row(). */
void prepared_read_init(struct prepared_read *r,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts);
/* Release what @r holds. */
void prepared_read_close(struct prepared_read *r);
/* Read @row as prepared; *@out is owned, NULL when there is nothing. */
MUST_CHECK int prepared_read_row(struct prepared_read *r,
                                 struct slice row,
                                 struct quarry_row **out,
                                 struct err *err);

/* The operations: embedded_NAME() for each OP of the list. */
#define OP(type, name, parameters) type embedded_##name parameters;
#define OP_OF_CLUSTER(type, name, parameters)
#include "bigtable/client/target_ops.def"

#endif /* BIGTABLE_CLIENT_EMBEDDED_EMBEDDED_H */
