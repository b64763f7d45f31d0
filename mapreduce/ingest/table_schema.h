/* The schema of a table as a file that goes with its export: one JSON object,
 *
 *     {"quarry_schema": 1, "table": "webtable", "changes": "off",
 *      "groups": [{"name": …, "options": …}, …],
 *      "families": [{"name": …, "options": "group=…,gc=…"}, …]}
 *
 * with options as `quarry table create` takes them. Public header of
 * mapreduce/ingest.
 *
 * Threads: any. table_schema_create() parks.
 */
#ifndef MAPREDUCE_INGEST_TABLE_SCHEMA_H
#define MAPREDUCE_INGEST_TABLE_SCHEMA_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct quarry;
struct quarry_table_info;

/* The file of a schema has the name of the export and this. */
#define TABLE_SCHEMA_SUFFIX ".schema"

/* Append the schema of @info and a line feed. */
void table_schema_put(struct buf *out, const struct quarry_table_info *info);

/* Make @table as @schema says. Errors: ERR_INVALID (not such an object),
 * ERR_EXISTS, and others of quarry_table_create(). */
MUST_CHECK int table_schema_create(struct quarry *q,
                                   const char *table,
                                   struct slice schema,
                                   struct err *err);

#endif /* MAPREDUCE_INGEST_TABLE_SCHEMA_H */
